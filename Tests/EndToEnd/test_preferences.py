# SPDX-License-Identifier: Apache-2.0
"""Preferences: the effect of each field, and its limits.

`RelayDeliveryTests` proves the decisions: `DecisionTests` the levels of a room, `QuietHoursTests` days, times and zones.
"""

import itertools
import zoneinfo
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest

from api import call
from people import HOUR, now
from relay import Relay
from waiting import eventually

RELAY_OPTIONS = ("--presence-grace", "0")

DEFAULT = {
    "rooms": {}, "onFocus": "deliver", "quietHours": None, "breakThrough": {"users": [], "mentions": False}, "quietCalls": False,
    "quietTimeSensitive": False, "pushUnreadAfter": None, "shareFocus": "rooms", "shareOnline": "watchers",
}  # fmt: skip
WEEK = [1, 2, 3, 4, 5, 6, 7]
UNDER_WAY = ("waiting", "ready", "sending", "retrying")


@pytest.fixture
def bob(circle):
    return circle.away("bob")


def hours(**fields):
    return {"from": "22:00", "to": "07:30", "days": [1, 5], "timeZone": "Europe/Berlin", "mode": "hold"} | fields


def is_pushed(circle, bob, **fields):
    """Sends a message, and returns True if it is pushed to Bob."""
    text = f"text {circle.alice.request('ping')['time']} {len(bob.phone.notifications())}"
    circle.send(text, **fields)
    circle.pass_due()
    eventually(lambda: not any(push["state"] in UNDER_WAY for push in pushes_to(circle, bob)))
    return text in bob.phone.texts()


def pushes_to(circle, bob):
    return call(circle.relay, "GET", f"/v1/pushes?user={bob.user}").json["pushes"]


# Values that are kept


def test_a_new_user_has_the_defaults(circle, bob):
    assert bob.ask("GET", "preferences").json == DEFAULT
    assert bob.prefer() == DEFAULT
    reply = circle.back(bob).request("preferences")
    assert {key: reply[key] for key in DEFAULT} == DEFAULT


@pytest.mark.parametrize("over", ["http", "socket"])
def test_a_field_that_is_absent_keeps_its_value(circle, bob, over):
    session = circle.back(bob)

    def prefer(**fields):
        if over == "http":
            return bob.prefer(**fields)
        reply = session.request("preferences", **fields)
        return {key: reply[key] for key in DEFAULT}

    wanted = dict(DEFAULT)
    steps = [
        {"onFocus": "hold"},
        {"rooms": {"tea": {"level": "mentions", "criteria": "home"}}},
        {"quietHours": hours()},
        {"shareFocus": "watchers"},
        {"shareOnline": "none"},
        {"onFocus": "passive"},
        {"quietHours": None},
    ]
    for step in steps:
        wanted |= step
        assert prefer(**step) == wanted
    assert bob.ask("GET", "preferences").json == wanted


def test_an_absent_field_of_a_room_keeps_its_value(bob):
    def rooms(**wish):
        return bob.prefer(rooms={"tea": wish})["rooms"]

    until = now() + HOUR
    assert rooms(level="mentions", until=until) == {"tea": {"level": "mentions", "until": until}}
    assert rooms(criteria="home")["tea"] == {"level": "mentions", "until": until, "criteria": "home"}
    assert bob.prefer(rooms={"other": {"level": "none"}})["rooms"].keys() == {"tea", "other"}
    assert rooms(until=None)["tea"] == {"level": "mentions", "criteria": "home"}
    # A new level has no end unless the request has one.
    rooms(until=until)
    assert rooms(level="none")["tea"] == {"level": "none", "criteria": "home"}
    assert rooms(criteria=None)["tea"] == {"level": "none"}
    # An entry with the defaults is not kept.
    assert rooms(level="all").keys() == {"other"}
    assert bob.prefer(rooms={"other": None})["rooms"] == {}


# Effects of the fields


def test_a_level_ends_at_its_time(circle, bob):
    bob.prefer(rooms={circle.room: {"level": "none", "until": now() + HOUR}})
    assert not is_pushed(circle, bob)
    bob.prefer(rooms={circle.room: {"level": "none", "until": now() - 1}})
    assert is_pushed(circle, bob)


def test_a_badge_leaves_out_muted_rooms_and_messages_without_a_push(circle, bob):
    other = f"{circle.room}-other"
    circle.alice.join(other)
    circle.back(bob).join(other)
    bob.prefer(rooms={other: {"level": "none"}})
    for _ in range(3):
        circle.send("unheard", other)
    circle.send("unheard", push=False)
    circle.send("heard")
    assert bob.phone.ring("heard")["payload"]["aps"]["badge"] == 1


QUIET_NOW = {"from": "00:00", "to": "00:00", "days": WEEK, "timeZone": "UTC", "mode": "hold"}


def clock(hours_from_now, zone):
    return f"{datetime.now(zone) + timedelta(hours=hours_from_now):%H:%M}"


@pytest.mark.parametrize("days", [{}, {"days": None}])
def test_quiet_hours_without_days_are_those_of_every_day(bob, days):
    hours = {key: value for key, value in QUIET_NOW.items() if key != "days"}
    assert bob.prefer(quietHours=hours | days)["quietHours"]["days"] == WEEK


def test_quiet_hours_are_those_of_their_time_zone(circle, bob):
    zone = zoneinfo.ZoneInfo("Asia/Kathmandu")
    span = {"from": clock(-1, zone), "to": clock(1, zone)}
    bob.prefer(quietHours=QUIET_NOW | span | {"timeZone": zone.key})
    assert not is_pushed(circle, bob)
    bob.prefer(quietHours=QUIET_NOW | span | {"timeZone": "UTC"})
    assert is_pushed(circle, bob)


def test_quiet_hours_hold_or_soften(circle, bob):
    bob.prefer(quietHours=QUIET_NOW)
    assert not is_pushed(circle, bob)
    bob.prefer(quietHours=QUIET_NOW | {"mode": "passive"})
    circle.send("softly")
    assert bob.phone.ring("softly")["payload"]["aps"]["interruption-level"] == "passive"


# Limits

def test_a_wrong_field_changes_nothing(circle, bob):
    """`BadFieldsTests` has all cases."""
    kept = bob.prefer(onFocus="passive", quietHours=hours(), rooms={"kept": {"level": "none"}})
    wrong = {"quietHours": hours(timeZone="Mars/Olympus")}
    answer = bob.ask("PUT", "preferences", {"onFocus": "hold", "shareFocus": "none"} | wrong)
    assert (answer.status, answer.problem["code"], answer.problem["at"]) == (422, "bad_request", "/quietHours/timeZone")
    assert circle.back(bob).refusal("preferences", onFocus="hold", **wrong)["code"] == "bad_request"
    assert bob.ask("GET", "preferences").json == kept


def test_values_at_their_bounds_are_accepted(bob):
    wanted = {
        "rooms": {
            "r" * 255: {"level": "none", "until": 2**53 - 1, "criteria": "ü" * 64},
            "other": {"level": "mentions", "until": 0},
        },
        "quietHours": hours(**{"from": "00:00"}, to="23:59", days=WEEK, timeZone="America/Argentina/ComodRivadavia"),
    }
    assert bob.prefer(**wanted) == DEFAULT | wanted


def test_preferences_for_too_many_rooms_are_refused(gather):
    circle = gather("--limits-rooms-per-user", 10)
    bob = circle.away("bob")
    bob.prefer(rooms={f"room-{number}": {"level": "none"} for number in range(10)})
    answer = bob.ask("PUT", "preferences", {"rooms": {"one-more": {"level": "none"}}})
    assert (answer.status, answer.problem["code"], answer.problem["at"]) == (413, "too_large", "/rooms")
    changed = bob.prefer(rooms={"room-0": None, "one-more": {"level": "none"}, "room-1": {"level": "mentions"}})
    assert len(changed["rooms"]) == 10 and changed["rooms"]["room-1"] == {"level": "mentions"}


def test_a_user_has_no_access_to_the_preferences_of_another(start, secret):
    relay = start(secret=secret)
    token = relay.token("bob")
    assert call(relay, "PUT", "/v1/users/me/preferences", {"onFocus": "hold"}, token=token).json["onFocus"] == "hold"
    for method, body in ("GET", None), ("PUT", {"onFocus": "hold"}):
        answers = [
            call(relay, method, f"/v1/users/{other}/preferences", body, token=token) for other in ("alice", "nobody")
        ]
        assert [(answer.status, answer.problem["code"]) for answer in answers] == [(403, "forbidden")] * 2
        assert len({answer.body.replace(b"alice", b"nobody") for answer in answers}) == 1


# Many at once


def test_the_last_of_many_changes_counts(circle, bob):
    session = circle.back(bob)
    levels = itertools.cycle(["none", "mentions", "all"])
    wishes = itertools.cycle(["hold", "passive", "deliver"])
    bob.focus(True)
    ids = [
        session.begin("preferences", onFocus=next(wishes), rooms={circle.room: {"level": next(levels)}})
        for _ in range(150)
    ]
    replies = [session.reply(id) for id in ids]
    assert (replies[-1]["onFocus"], replies[-1]["rooms"]) == ("deliver", {})
    assert bob.ask("GET", "preferences").json == DEFAULT
    assert is_pushed(circle, bob)


def test_simultaneous_changes_are_all_kept(gather):
    circle = gather()
    bob = circle.away("bob")
    wishes = {f"room-{number}": {"level": "none", "criteria": f"label {number}"} for number in range(200)}
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda wish: bob.prefer(rooms=dict([wish])), wishes.items()))
    assert bob.ask("GET", "preferences").json["rooms"] == wishes
    circle.relay.kill()
    circle.relay.start()
    assert bob.ask("GET", "preferences").json["rooms"] == wishes


@pytest.mark.parametrize("end", [Relay.stop, Relay.kill], ids=["stop", "kill"])
def test_preferences_outlive_the_relay(gather, end):
    circle = gather("--presence-grace", 0)
    bob = circle.away("bob")
    kept = bob.prefer(onFocus="hold", shareFocus="none", rooms={circle.room: {"level": "mentions", "criteria": "home"}})
    circle.restart(end)
    assert bob.ask("GET", "preferences").json == kept
    circle.send("unheard")
    circle.send("heard", mentions=[bob.user])
    bob.phone.ring("heard")
    circle.pass_due()
    assert bob.phone.texts() == ["heard"]
