# SPDX-License-Identifier: Apache-2.0
"""Held pushes: each cause of a silence, and the push or the digest after its end.

`RelayDeliveryTests` proves the decisions: all causes, levels and ends of a hold.
"""

import json

import pytest

from api import call
from people import HOUR, now
from waiting import eventually

GRACE = 2
RELAY_OPTIONS = ("--presence-grace", GRACE)
#: The milliseconds for which a Focus still counts after its end.
SETTLE = 3_000


def held(circle, person, text="held", **fields):
    """Sends a message that is held on the person's phone."""
    sent = circle.send(text, **fields)
    circle.pass_due()
    assert person.phone.texts() == []
    return sent


#: Quiet hours that never end.
QUIET_HOURS = {"from": "00:00", "to": "00:00", "days": [1, 2, 3, 4, 5, 6, 7], "timeZone": "UTC", "mode": "hold"}


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
    """The reply to `join` contains the message. The recipient acknowledges it a moment later, or answers a ping."""
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


def test_a_focus_that_begins_again_within_the_settle_window_ends_no_hold(circle):
    """Between two Focus modes a device reports `false` for a moment."""
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
    assert circle.alice.received("presence", user=flickering.user) == []
    assert flickering.phone.texts() == []


def test_quiet_hours_hold_without_any_focus(circle):
    bob = circle.away("bob", quietHours=QUIET_HOURS)
    sent = held(circle, bob)
    # Senders see a Focus, but not quiet hours.
    assert sent["delivery"]["quiet"] == []
    bob.prefer(quietHours=None)
    bob.phone.ring("held")


def test_a_push_that_waits_for_the_grace_is_held_at_its_end(circle):
    bob = circle.live("bob")
    bob.focus(True)
    bob.session.drop()
    circle.send("held")
    bob.prefer(onFocus="hold")
    circle.alice.expect("presence", user=bob.user, online=False)
    circle.pass_due()
    assert bob.phone.texts() == []
    bob.prefer(onFocus="deliver")
    bob.phone.ring("held")


# What ends a hold


def test_a_softer_preference_ends_a_hold(circle):
    bob = circle.silenced("bob")
    held(circle, bob)
    bob.prefer(onFocus="passive")
    assert bob.phone.ring("held")["payload"]["aps"]["interruption-level"] == "passive"


FILTER_ENDS = {
    "a report of the filter": lambda bob: bob.filter(active=False),
    "a label of the device": lambda bob: bob.register(criteria="home"),
}


@pytest.mark.parametrize("end", FILTER_ENDS.values(), ids=FILTER_ENDS)
def test_a_hold_of_a_filter_ends_immediately(circle, end):
    bob = circle.away("bob", onFocus="hold")
    bob.filter("home")
    held(circle, bob, push={"criteria": "work"})
    end(bob)
    bob.phone.ring("held")


def test_a_filter_that_is_not_renewed_holds_for_12_hours(circle):
    bob = circle.away("bob", onFocus="hold")
    circle.pass_due()
    end = now() + 5_000
    bob.filter("home", at=end - 12 * HOUR)
    held(circle, bob, push={"criteria": "work"})
    assert bob.phone.ring("held")["time"] >= end


# What cancels a held push


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
}


@pytest.mark.parametrize("cancel", CANCELS.values(), ids=CANCELS)
def test_a_push_that_is_not_needed_is_cancelled(circle, cancel):
    bob, carol = circle.silenced("bob"), circle.silenced("carol")
    seq = held(circle, bob)["seq"]
    cancel(circle, bob, seq)
    for person in (bob, carol):
        person.prefer(onFocus="deliver")
    if cancel is not alice_deletes:
        carol.phone.ring("held")
    circle.pass_due()
    assert bob.phone.texts() == []


def test_a_push_has_the_edited_text(circle):
    bob = circle.silenced("bob")
    seq = held(circle, bob)["seq"]
    circle.alice.request("edit", room=circle.room, seq=seq, body="better")
    bob.prefer(onFocus="deliver")
    bob.phone.ring("better")
    circle.pass_due()
    assert bob.phone.texts() == ["better"]


# The digest


def test_held_pushes_become_one_digest_for_each_device(circle):
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
        # A digest has the newest message and the number of messages for each room.
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


def test_a_digest_has_more_pushes_than_the_relay_reads_at_once(gather):
    circle = gather("--presence-grace", 0, "--limits-send-rate", 0)
    other = f"{circle.room}-other"
    circle.alice.join(other)
    bob = circle.silenced("bob", circle.room, other)
    rooms = [other] * 10 + [circle.room] * 1_030
    for id in [circle.alice.begin("send", room=room, body="hi") for room in rooms]:
        circle.alice.reply(id)
    bob.prefer(onFocus="deliver")
    payload = bob.phone.nth(0)["payload"]
    assert {part["room"]: part["count"] for part in payload["digest"]} == {circle.room: 1_030, other: 10}
    circle.pass_due()
    assert len(bob.phone.notifications()) == 1


def test_a_message_after_the_silence_has_its_own_push(circle):
    bob = circle.silenced("bob")
    for text in ("one", "two"):
        circle.send(text)
    bob.prefer(onFocus="deliver")
    bob.phone.nth(0)
    circle.send("three")
    assert bob.phone.ring("three")["payload"].get("digest") is None
    assert len(bob.phone.notifications()) == 2
