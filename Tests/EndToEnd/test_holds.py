# SPDX-License-Identifier: Apache-2.0
"""Pushes that a silence holds back or softens: what does, until when, and what the phone is told then."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from api import call
from people import HOUR, now
from phone import Phone
from waiting import eventually

GRACE = 2
RELAY_OPTIONS = ("--presence-grace", GRACE)
#: For how long a yes that has become a no still counts, in milliseconds.
SETTLE = 3_000


def level(phone, text):
    return phone.ring(text)["payload"]["aps"]["interruption-level"]


def held(circle, person, text="held", **fields):
    """Sends a message that is held on the person's phone."""
    sent = circle.send(text, **fields)
    circle.pass_due()
    assert person.phone.texts() == []
    return sent


def hours(mode="hold", **fields):
    """Quiet hours that never end, unless the fields say otherwise."""
    return {"from": "00:00", "to": "00:00", "days": [1, 2, 3, 4, 5, 6, 7], "timeZone": "UTC", "mode": mode} | fields


# While the silence lasts


def test_a_hold_ends_with_the_focus_once_it_has_settled(circle):
    bob = circle.silenced("bob")
    held(circle, bob)
    before = circle.alice.request("ping")["time"]
    bob.focus(False)
    assert bob.phone.ring("held")["time"] - before >= SETTLE
    circle.pass_due()
    assert bob.phone.texts() == ["held"]


@pytest.mark.parametrize("acks", [True, False], ids=["acknowledging", "ponging"])
def test_a_hold_that_ends_waits_for_a_recipient_who_has_just_come_back(circle, acks):
    """They have the message from the reply to `join`, and say so a moment later, or answer a ping."""
    bob = circle.silenced("bob")
    sent = held(circle, bob)
    session = circle.back(bob, acks=acks)
    joined = session.join(circle.room, history=1)
    assert [message["body"] for message in joined["messages"]] == ["held"]
    bob.prefer(onFocus="deliver")
    circle.pass_due()
    assert bob.phone.texts() == []
    if acks:
        session.request("received", room=circle.room, seq=sent["seq"])
    (push,) = call(circle.relay, "GET", f"/v1/pushes?user={bob.user}").json["pushes"]
    path = f"/v1/pushes/{push['id']}"
    eventually(lambda: call(circle.relay, "GET", path).json["state"] == "cancelled")
    assert bob.phone.texts() == []


def test_a_hold_that_ends_waits_5_s_for_a_session_that_says_nothing(circle):
    bob = circle.silenced("bob")
    held(circle, bob)
    session = circle.back(bob, acks=True)
    before = session.request("ping")["time"]
    session.join(circle.room)
    bob.prefer(onFocus="deliver")
    assert bob.phone.ring("held")["time"] - before >= 5_000


def test_without_being_asked_to_nothing_is_held(circle):
    """Allowed People breaks through on the phone only, so the phone decides."""
    bob = circle.away("bob")
    assert bob.prefer()["onFocus"] == "deliver"
    bob.focus(True)
    bob.filter("home")
    circle.send("through", push={"criteria": "work"})
    assert level(bob.phone, "through") == "active"


@pytest.mark.parametrize("is_focused", [False, None])
def test_nothing_is_held_that_no_positive_fact_holds(circle, is_focused):
    bob = circle.away("bob", onFocus="hold")
    bob.focus(is_focused)
    circle.send("through")
    assert level(bob.phone, "through") == "active"


def test_the_focus_of_one_device_does_not_hold_the_push_of_another(circle):
    bob = circle.away("bob", onFocus="hold")
    phone, mac = bob.phone, bob.register("mac")
    bob.focus(True, device="mac")
    circle.send("hi")
    phone.ring("hi")
    circle.pass_due()
    assert mac.texts() == []
    bob.focus(False, device="mac")
    mac.ring("hi")
    assert phone.texts() == ["hi"]


def test_a_yes_within_the_settle_window_is_no_news(circle):
    """Between two Focus modes a device says no for a moment."""
    flickering, ending = circle.silenced("bob"), circle.silenced("carol")
    for person in (flickering, ending):
        circle.alice.expect("presence", user=person.user, isFocused=True)
    circle.send("held")
    flickering.focus(False)
    ending.focus(False)
    assert flickering.focus(True)["isFocused"] is True
    circle.alice.forget_events()
    ending.phone.ring("held")
    circle.alice.expect("presence", user=ending.user, isFocused=False)
    circle.pass_due()
    assert circle.alice.heard("presence", user=flickering.user) == []
    assert flickering.phone.texts() == []


def test_quiet_hours_hold_without_any_focus(circle):
    bob = circle.away("bob", quietHours=hours())
    sent = held(circle, bob)
    # They are no Focus: nobody is told of them.
    assert sent["delivery"]["quiet"] == []
    bob.prefer(quietHours=None)
    bob.phone.ring("held")


MODES = ["deliver", "passive", "hold"]


@pytest.mark.parametrize("quiet_hours", [None, "passive", "hold"])
@pytest.mark.parametrize("on_focus", MODES)
def test_of_several_causes_the_stronger_wish_counts(circle, on_focus, quiet_hours):
    bob = circle.silenced("bob", onFocus=on_focus, quietHours=quiet_hours and hours(quiet_hours))
    outcome = max(on_focus, quiet_hours or "deliver", key=MODES.index)
    circle.send("hi")
    if outcome == "hold":
        circle.pass_due()
        assert bob.phone.texts() == []
    else:
        assert level(bob.phone, "hi") == ("passive" if outcome == "passive" else "active")


def test_a_softened_push_disturbs_nobody(circle):
    bob = circle.silenced("bob", onFocus="passive")
    circle.send("softly")
    notification = bob.phone.ring("softly")
    assert notification["payload"]["aps"]["interruption-level"] == "passive"
    assert str(notification["headers"]["apns-priority"]) == "5"
    bob.focus(None)
    circle.send("aloud")
    assert level(bob.phone, "aloud") == "active"


@pytest.mark.parametrize("preferences", [{"onFocus": "hold"}, {"onFocus": "passive"}, {"quietHours": hours()}], ids=str)
def test_a_call_rings_whatever_the_silence(circle, preferences):
    bob = circle.silenced("bob", **preferences)
    bob.filter("home")
    bob.register("tablet", voipToken="bobs-tablet-voip")
    bob.focus(True, device="tablet")
    circle.send("ring ring", push={"kind": "call", "criteria": "work"})
    notification = bob.phone.ring("ring ring")
    assert notification["payload"]["communication"]["kind"] == "call"
    assert notification["payload"]["aps"]["interruption-level"] == "active"
    ringing = Phone(circle.relay, "bobs-tablet-voip").nth(0)
    assert ringing["headers"]["apns-push-type"] == "voip"
    assert ringing["payload"]["data"]["communication"]["kind"] == "call"


def test_what_is_urgent_is_not_held(circle):
    bob = circle.silenced("bob", quietHours=hours())
    for urgency, shown in (("timeSensitive", "time-sensitive"), ("critical", "critical")):
        circle.send(urgency, push={"level": urgency})
        assert level(bob.phone, urgency) == shown
    for urgency in ("active", "passive"):
        circle.send(urgency, push={"level": urgency})
    circle.pass_due()
    assert len(bob.phone.texts()) == 2


def test_what_the_device_does_not_allow_to_be_urgent_is_held(circle):
    bob = circle.silenced("bob")
    bob.register(settings={"timeSensitive": False})
    held(circle, bob, push={"level": "timeSensitive"})
    bob.prefer(onFocus="deliver")
    assert level(bob.phone, "held") == "active"


def test_a_hold_that_is_wished_for_while_a_push_waits_counts(circle):
    bob = circle.live("bob")
    bob.session.drop()
    circle.send("held")
    bob.prefer(onFocus="hold")
    bob.focus(True)
    circle.alice.expect("presence", user=bob.user, online=False)
    circle.pass_due()
    assert bob.phone.texts() == []
    bob.prefer(onFocus="deliver")
    bob.phone.ring("held")


# What ends a hold

ENDS = {
    "the Focus is not told any more": lambda bob, room: bob.focus(None),
    "the Focus may not be told any more": lambda bob, room: bob.focus(True, authorization="denied"),
    "the wish": lambda bob, room: bob.prefer(onFocus="deliver"),
    "a softer wish": lambda bob, room: bob.prefer(onFocus="passive"),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_hold_of_a_focus_ends_at_once(circle, end):
    bob = circle.silenced("bob")
    held(circle, bob)
    end(bob, circle.room)
    assert level(bob.phone, "held") == ("passive" if end is ENDS["a softer wish"] else "active")


FILTER_ENDS = {
    "it is not active": lambda bob, room: bob.filter(active=False),
    "it lets more through": lambda bob, room: bob.filter("home", "work"),
    "the room has another label": lambda bob, room: bob.prefer(rooms={room: {"criteria": "home"}}),
    "the device has another label": lambda bob, room: bob.register(criteria="home"),
    "the wish": lambda bob, room: bob.prefer(onFocus="deliver"),
}


@pytest.mark.parametrize("end", FILTER_ENDS.values(), ids=FILTER_ENDS)
def test_a_hold_of_a_filter_ends_at_once(circle, end):
    bob = circle.away("bob", onFocus="hold")
    bob.filter("home")
    held(circle, bob, push={"criteria": "work"})
    end(bob, circle.room)
    bob.phone.ring("held")


def elsewhere_today():
    """Another day of the week than it is, and was a moment ago, in UTC."""
    return (datetime.now(UTC) + timedelta(days=3)).isoweekday()


def past():
    """Hours of two minutes that are over, or are far from beginning."""
    begin = datetime.now(UTC) - timedelta(hours=12)
    return {"from": f"{begin:%H:%M}", "to": f"{begin + timedelta(minutes=2):%H:%M}"}


HOURS_ENDS = {
    "none": lambda: None,
    "softer": lambda: hours("passive"),
    "other days": lambda: hours(days=[elsewhere_today()]),
    "another time": lambda: hours(**past()),
}


@pytest.mark.parametrize("end", HOURS_ENDS.values(), ids=HOURS_ENDS)
def test_a_hold_of_quiet_hours_ends_at_once(circle, end):
    bob = circle.away("bob", quietHours=hours())
    held(circle, bob)
    bob.prefer(quietHours=end())
    assert level(bob.phone, "held") == ("passive" if end is HOURS_ENDS["softer"] else "active")


def test_one_of_two_causes_that_ends_ends_no_hold(circle):
    bob = circle.silenced("bob", quietHours=hours())
    bob.filter("home")
    held(circle, bob, push={"criteria": "work"})
    bob.focus(None)
    bob.filter(active=False)
    circle.pass_due()
    assert bob.phone.texts() == []
    bob.prefer(quietHours=None)
    bob.phone.ring("held")


def test_quiet_hours_end_by_themselves(circle):
    end = datetime.now(UTC) + timedelta(seconds=66)
    bob = circle.away("bob", quietHours=hours(**{"from": f"{end - timedelta(hours=1):%H:%M}", "to": f"{end:%H:%M}"}))
    held(circle, bob)
    notification = bob.phone.ring("held", within=90)
    assert datetime.fromtimestamp(notification["time"] / 1000, UTC) >= end.replace(second=0, microsecond=0)


@pytest.mark.parametrize("report", ["focus", "filter"])
def test_a_report_that_is_never_renewed_holds_for_12_hours(circle, report):
    bob = circle.away("bob", onFocus="hold")
    end = now() + 5_000
    if report == "focus":
        bob.focus(True, at=end - 12 * HOUR)
    else:
        bob.filter("home", at=end - 12 * HOUR)
    held(circle, bob, push={"criteria": "work"})
    # The clocks are the same, but for what a call takes to be read.
    assert bob.phone.ring("held")["time"] >= end
    circle.send("through", push={"criteria": "work"})
    assert level(bob.phone, "through") == "active"


@pytest.mark.parametrize("report", ["focus", "filter"])
def test_a_report_that_is_too_old_holds_nothing(circle, report):
    bob = circle.away("bob", onFocus="hold")
    for at in (now() - 12 * HOUR, 0):
        if report == "focus":
            assert bob.focus(True, at=at)["isFocused"] is None
        else:
            bob.filter("home", at=at)
        circle.send(f"of {at}", push={"criteria": "work"})
        bob.phone.ring(f"of {at}")
        # Nothing that is said without a time is older.
        bob.register()
        bob.forget()
        bob.register()


# What makes a held push needless


def alice_deletes(circle, bob, seq):
    circle.alice.request("delete", room=circle.room, seq=seq)


def bob_reads(circle, bob, seq):
    session = circle.back(bob)
    session.join(circle.room)
    session.request("read", room=circle.room, seq=seq)
    session.close(1000)


def bob_leaves(circle, bob, seq):
    session = circle.back(bob)
    session.join(circle.room)
    session.request("leave", room=circle.room)
    session.close(1000)


def bob_receives(circle, bob, seq):
    session = circle.back(bob, acks=True)
    session.join(circle.room)
    session.request("received", room=circle.room, seq=seq)
    session.close(1000)


CANCELS = {
    "read": bob_reads,
    "received": bob_receives,
    "deleted": alice_deletes,
    "not a member": bob_leaves,
    "muted": lambda circle, bob, seq: bob.prefer(rooms={circle.room: {"level": "none"}}),
    "mentions only": lambda circle, bob, seq: bob.prefer(rooms={circle.room: {"level": "mentions"}}),
    "blocked": lambda circle, bob, seq: bob.block(circle.alice),
    "no alerts": lambda circle, bob, seq: bob.register(settings={"alerts": False}),
    "no device": lambda circle, bob, seq: bob.forget(),
}


@pytest.mark.parametrize("cancel", CANCELS.values(), ids=CANCELS)
def test_what_is_needless_is_not_pushed_when_the_hold_ends(circle, cancel):
    bob, carol = circle.silenced("bob"), circle.silenced("carol")
    seq = held(circle, bob)["seq"]
    cancel(circle, bob, seq)
    for person in (bob, carol):
        person.prefer(onFocus="deliver")
    if cancel is not alice_deletes:
        carol.phone.ring("held")
    circle.pass_due()
    assert bob.phone.texts() == []


def test_an_edit_is_what_the_phone_is_told(circle):
    bob = circle.silenced("bob")
    seq = held(circle, bob)["seq"]
    circle.alice.request("edit", room=circle.room, seq=seq, body="better")
    bob.prefer(onFocus="deliver")
    bob.phone.ring("better")
    circle.pass_due()
    assert bob.phone.texts() == ["better"]


def test_nothing_is_pushed_after_its_time(circle):
    bob = circle.silenced("bob")
    short = circle.send("short", push={"expires": 2})
    held(circle, bob, "long")
    eventually(lambda: circle.alice.request("ping")["time"] > short["time"] + 2_000)
    bob.prefer(onFocus="deliver")
    bob.phone.ring("long")
    circle.pass_due()
    assert bob.phone.texts() == ["long"]


# The digest


def test_what_was_held_becomes_one_push(circle, names):
    other = f"{circle.room}-other"
    circle.alice.join(other)
    bob = circle.silenced("bob", circle.room, other)
    tablet = bob.register("tablet")
    bob.focus(True, device="tablet")
    rooms = [circle.room, other, circle.room, other, circle.room, circle.room, circle.room]
    sent = [circle.send(f"text {number}", room) for number, room in enumerate(rooms)]
    circle.pass_due()
    assert bob.phone.texts() == [] and tablet.texts() == []
    for device in ("phone", "tablet"):
        bob.focus(False, device=device)
    for phone in (bob.phone, tablet):
        payload = phone.nth(0)["payload"]
        # The newest of each room, and how many.
        assert sorted((part["room"], part["count"]) for part in payload["digest"]) == sorted(
            [(circle.room, 5), (other, 2)]
        )
        assert {part["seq"] for part in payload["digest"]} == {sent[6]["seq"], sent[3]["seq"]}
        alert = json.dumps(payload["aps"]["alert"])
        assert "text 6" in alert and "text 3" in alert and "7" in alert
        assert not any(f"text {number}" in alert for number in (0, 1, 2, 4, 5))
        assert payload["aps"]["thread-id"] and payload["aps"]["badge"] == 7
        assert payload["message"]["seq"] == sent[6]["seq"]
    circle.pass_due()
    assert len(bob.phone.notifications()) == len(tablet.notifications()) == 1


def test_of_one_room_a_digest_stays_in_its_thread(circle):
    bob = circle.silenced("bob")
    for text in ("one", "two", "three"):
        circle.send(text)
    bob.prefer(onFocus="deliver")
    payload = bob.phone.nth(0)["payload"]
    assert payload["aps"]["thread-id"] == circle.room
    assert [part["count"] for part in payload["digest"]] == [3]
    circle.pass_due()
    assert len(bob.phone.notifications()) == 1


def test_however_much_is_held_is_one_digest(gather):
    """More than the relay reads at once."""
    circle = gather("--presence-grace", 0, "--limits-send-rate", 0)
    other = f"{circle.room}-other"
    circle.alice.join(other)
    bob = circle.silenced("bob", circle.room, other)
    for number in range(1_040):
        circle.send(number, room=other if number < 10 else None)
    bob.prefer(onFocus="deliver")
    payload = bob.phone.nth(0)["payload"]
    assert {part["room"]: part["count"] for part in payload["digest"]} == {circle.room: 1_030, other: 10}
    circle.pass_due()
    assert len(bob.phone.notifications()) == 1


def test_a_single_message_is_pushed_as_itself(circle):
    bob, carol = circle.silenced("bob"), circle.away("carol")
    sent = circle.send("one")
    bob.focus(None)
    ours, theirs = bob.phone.ring("one"), carol.phone.ring("one")
    assert "digest" not in ours["payload"]
    assert ours["payload"]["aps"]["alert"] == theirs["payload"]["aps"]["alert"]
    assert ours["headers"]["apns-collapse-id"] == theirs["headers"]["apns-collapse-id"]
    assert ours["payload"]["message"]["seq"] == sent["seq"]


def test_a_digest_leaves_out_what_is_not_to_be_pushed(circle):
    bob = circle.silenced("bob")
    sent = [circle.send(text) for text in ("read", "deleted", "kept", "kept too")]
    bob_reads(circle, bob, sent[0]["seq"])
    alice_deletes(circle, bob, sent[1]["seq"])
    bob.prefer(onFocus="deliver")
    payload = bob.phone.nth(0)["payload"]
    assert [(part["seq"], part["count"]) for part in payload["digest"]] == [(sent[3]["seq"], 2)]
    assert "deleted" not in json.dumps(payload["aps"])


def test_what_comes_after_the_silence_is_a_push_of_its_own(circle):
    bob = circle.silenced("bob")
    for text in ("one", "two"):
        circle.send(text)
    bob.prefer(onFocus="deliver")
    bob.phone.nth(0)
    circle.send("three")
    assert bob.phone.ring("three")["payload"].get("digest") is None
    assert len(bob.phone.notifications()) == 2
