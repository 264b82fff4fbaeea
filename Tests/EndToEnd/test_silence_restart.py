# SPDX-License-Identifier: Apache-2.0
"""Silences, preferences and waits survive a restart of the relay: no push is lost, and none is sent twice."""

import sqlite3
from contextlib import closing

import pytest

from api import call
from database import rows
from people import HOUR, now
from relay import Relay
from waiting import eventually

ENDS = pytest.mark.parametrize("end", [Relay.stop, Relay.kill], ids=["stop", "kill"])


def entry(circle, person):
    return circle.alice.request("presence", users=[person.user])["presence"][0]


@ENDS
def test_a_hold_outlives_the_relay(gather, end):
    circle = gather("--presence-grace", 0)
    bob = circle.silenced("bob")
    circle.send("held")
    circle.restart(end)
    circle.pass_due()
    assert bob.phone.texts() == []
    # A message that is sent now does not change the hold.
    circle.send("held too")
    circle.pass_due()
    assert bob.phone.texts() == []
    bob.focus(False)
    payload = bob.phone.nth(0)["payload"]
    assert [part["count"] for part in payload["digest"]] == [2]
    circle.pass_due()
    assert len(bob.phone.notifications()) == 1
    circle.restart(end)
    circle.pass_due()
    assert bob.phone.texts() == []


@pytest.mark.parametrize("report, end", [("focus", Relay.kill), ("filter", Relay.stop)], ids=["focus-kill", "filter-stop"])
def test_a_report_that_expires_while_the_relay_is_down_ends_its_hold(gather, end, report):
    circle = gather("--presence-grace", 0)
    bob = circle.away("bob", onFocus="hold")
    expiry = now() + 4_000
    if report == "focus":
        bob.focus(True, at=expiry - 12 * HOUR)
    else:
        bob.filter("home", at=expiry - 12 * HOUR)
    circle.send("held", push={"criteria": "work"})
    circle.pass_due()
    assert bob.phone.texts() == []
    end(circle.relay)
    eventually(lambda: now() > expiry)
    circle.relay.start()
    bob.phone.ring("held")
    circle.alice = circle.back(circle.alice)
    circle.alice.join(circle.room)
    assert entry(circle, bob)["isFocused"] is None


def test_a_report_that_expires_after_a_restart_ends_its_hold(gather):
    circle = gather("--presence-grace", 0)
    bob = circle.away("bob", onFocus="hold")
    expiry = now() + 6_000
    bob.focus(True, at=expiry - 12 * HOUR)
    circle.send("held")
    circle.restart()
    eventually(lambda: entry(circle, bob)["isFocused"] is None)
    assert bob.phone.ring("held")["time"] >= expiry


def test_the_end_of_a_focus_settles_after_a_restart(gather):
    """The relay may be killed right after it has stored the report."""
    circle = gather("--presence-grace", 0)
    people = [circle.silenced(f"bob{number}") for number in range(10)]
    circle.send("held")
    for person in people:
        person.focus(False)
    circle.restart()
    for person in people:
        person.phone.ring("held")
    eventually(lambda: {entry(circle, person)["isFocused"] for person in people} == {False})
    circle.pass_due()
    assert {len(person.phone.notifications()) for person in people} == {1}


def test_a_focus_that_begins_again_within_the_settle_window_holds_after_a_restart(gather):
    circle = gather("--presence-grace", 0)
    flickering, ending = circle.silenced("bob"), circle.silenced("carol")
    circle.send("held")
    flickering.focus(False)
    ending.focus(False)
    flickering.focus(True)
    circle.restart()
    ending.phone.ring("held")
    circle.pass_due()
    assert flickering.phone.texts() == []
    assert entry(circle, flickering)["isFocused"] is True


def states(circle):
    """Returns the number of push jobs in each state."""
    return dict(rows(circle.relay, "SELECT state, count(*) FROM jobs WHERE kind = 'push' GROUP BY state"))


WISHES = {
    "a preference": lambda circle, bob: bob.prefer(onFocus="deliver"),
    "quiet hours": lambda circle, bob: bob.prefer(quietHours=None, onFocus="deliver"),
    "a filter": lambda circle, bob: (bob.filter(active=False), bob.focus(None)),
}


@pytest.mark.parametrize("wish", WISHES.values(), ids=WISHES)
def test_an_acknowledged_preference_counts_after_a_kill(gather, wish):
    circle = gather("--presence-grace", 0)
    people = [circle.silenced(f"bob{number}") for number in range(10)]
    for person in people:
        person.filter("home")
    circle.send("held", push={"criteria": "work"})
    for person in people:
        wish(circle, person)
    circle.restart()
    # The test counts jobs, because some pushes may have been sent before the end, and the start clears the phones.
    eventually(lambda: states(circle) == {"sent": 10})


NEEDLESS = {
    "blocked": lambda circle, bob: bob.block(circle.alice),
    "muted": lambda circle, bob: bob.prefer(rooms={circle.room: {"level": "none"}}),
    "forgotten": lambda circle, bob: bob.forget(),
}


@pytest.mark.parametrize("change", NEEDLESS.values(), ids=NEEDLESS)
def test_a_push_that_was_not_needed_before_a_kill_is_not_sent_afterwards(gather, change):
    circle = gather("--presence-grace", 0)
    people = [circle.silenced(f"bob{number}") for number in range(10)]
    circle.send("held")
    for person in people:
        change(circle, person)
    circle.restart()
    for person in people:
        person.prefer(onFocus="deliver")
    circle.pass_due()
    assert [person.phone.texts() for person in people] == [[]] * 10


def test_a_block_that_was_stored_before_a_kill_stops_unsent_pushes(gather):
    """The relay was killed after it had stored the block, and before it decided the push again."""
    circle = gather("--presence-grace", 0)
    bob, carol = circle.away("bob"), circle.away("carol")
    circle.send("hi")
    for person in (bob, carol):
        person.phone.ring("hi")
    eventually(lambda: states(circle) == {"sent": 2})
    circle.relay.kill()
    with closing(sqlite3.connect(f"{circle.relay.data}/stillwire.db")) as database, database:
        database.execute("UPDATE jobs SET state = 'ready', finished_at = NULL, is_next = 1, attempts = 0")
        database.execute(
            "INSERT INTO blocks SELECT bob.id, alice.name FROM users AS bob, users AS alice"
            " WHERE bob.name = ? AND alice.name = ?",
            [bob.user, circle.alice.user],
        )
        database.execute("UPDATE users SET changed = ? WHERE name = ?", [now(), bob.user])
    circle.relay.start()
    carol.phone.ring("hi")
    eventually(lambda: states(circle) == {"sent": 1, "cancelled": 1})
    assert bob.phone.texts() == []


@ENDS
def test_a_waiting_push_keeps_its_fields_through_a_restart(gather, end):
    """A waiting push keeps its mentions, criteria, level and kind. A message without a push still has none."""
    circle = gather("--presence-grace", 4)
    plain = circle.live("plain")
    filtered, mentioned, muted = (circle.live(stem) for stem in ("filtered", "mentioned", "muted"))
    filtered.filter("home")
    filtered.prefer(onFocus="hold")
    for person in (mentioned, muted):
        person.prefer(rooms={circle.room: {"level": "mentions"}})
    for person in (plain, filtered, mentioned, muted):
        person.session.drop()
    circle.send("unasked", push=False)
    circle.send("work", mentions=[mentioned.user], push={"criteria": "work", "level": "passive"})
    circle.send("home", push={"criteria": "home"})
    deleted = circle.send("deleted")["seq"]
    circle.alice.request("delete", room=circle.room, seq=deleted)
    blocked = circle.live("blocked")
    blocked.block(circle.alice)
    blocked.session.drop()
    circle.send("last")
    circle.restart(end)
    plain.phone.ring("last")
    filtered.phone.ring("last")
    mentioned.phone.ring("work")
    circle.pass_due()
    assert plain.phone.texts() == ["work", "home", "last"]
    assert plain.phone.ring("work")["payload"]["aps"]["interruption-level"] == "passive"
    assert filtered.phone.texts() == ["home", "last"]
    assert mentioned.phone.texts() == ["work"]
    assert mentioned.phone.ring("work")["payload"]["communication"]["mentionsMe"] is True
    assert muted.phone.texts() == blocked.phone.texts() == []


@ENDS
def test_a_silenced_member_is_notified_once_after_a_restart(gather, end):
    circle = gather("--presence-grace", 0)
    bob, carol = circle.silenced("bob"), circle.silenced("carol")
    seq = circle.send("hi")["seq"]
    circle.restart(end)
    assert circle.alice.request("notify", room=circle.room, seq=seq, users=[bob.user])["push"] == 1
    bob.phone.ring("hi")
    # A push whose result is not stored before the kill is sent once more.
    eventually(lambda: states(circle).get("sent") == 1)
    circle.restart(end)
    assert circle.alice.request("notify", room=circle.room, seq=seq, users=[bob.user])["push"] == 0
    assert circle.alice.request("notify", room=circle.room, seq=seq)["push"] == 1
    carol.phone.ring("hi")
    bob.focus(None)
    circle.pass_due()
    assert bob.phone.texts() == []


def test_the_rate_of_notify_anyway_outlives_a_kill(gather):
    circle = gather("--presence-grace", 0)
    bob = circle.silenced("bob")
    sent = [circle.send(number)["seq"] for number in range(6)]
    for seq in sent[:5]:
        circle.alice.request("notify", room=circle.room, seq=seq)
    circle.restart()
    assert circle.alice.refusal("notify", room=circle.room, seq=sent[5])["code"] == "rate_limited"
    assert bob.user


@ENDS
def test_reports_outlive_the_relay(gather, end):
    circle = gather("--presence-grace", 0)
    bob = circle.away("bob")
    bob.focus(True, number=7)
    bob.filter("home", number=9)
    bob.register("tablet", criteria="work", settings={"alerts": False}, voipToken="voip", locale="de", timeZone="UTC")
    device = bob.ask("GET", "devices/tablet").json
    before = entry(circle, bob)
    circle.restart(end)
    assert entry(circle, bob) == before
    assert bob.focus(None, number=7)["applied"] is False
    assert bob.filter("work", number=9)["applied"] is False
    assert bob.ask("GET", "devices/tablet").json == device
    assert circle.send("hi", push={"criteria": "work"})["delivery"]["quiet"] == [bob.user]
    answer = call(
        circle.relay,
        "POST",
        "/v1/decisions",
        {"room": circle.room, "from": circle.alice.user, "user": bob.user, "push": {"kind": "call"}},
    )
    kinds = {one["device"]: one["decision"]["outcome"]["kind"] for one in answer.json["devices"]}
    assert kinds == {"phone": "push", "tablet": "push"}
