# SPDX-License-Identifier: Apache-2.0
"""Focus filters: what a device lets through, whose label counts, and which report is the newest."""

import pytest

from api import call
from people import HOUR, now

RELAY_OPTIONS = ("--presence-grace", "0")

#: The longest label, which is longest in bytes.
LONGEST = "ü" * 64


@pytest.fixture
def bob(circle):
    """Somebody away whose refused pushes are held."""
    return circle.away("bob", onFocus="hold")


def passes(circle, bob, criteria="work"):
    """Whether a message with these criteria of the sender's is pushed to Bob."""
    text = f"text {len(bob.phone.notifications())}"
    push = {} if criteria is None else {"criteria": criteria}
    # The reply to a backend names the filter, the reply to the sender does not.
    asked = {"room": circle.room, "from": circle.alice.user, "user": bob.user, "push": push}
    devices = call(circle.relay, "POST", "/v1/decisions", asked).json["devices"]
    is_refused = any(reason["code"] == "filtered" for device in devices for reason in device["decision"]["reasons"])
    sent = circle.send(text, push=push)
    circle.pass_due()
    if is_refused:
        assert text not in bob.phone.texts()
        circle.alice.request("delete", room=circle.room, seq=sent["seq"])
        return False
    bob.phone.ring(text)
    return True


def test_a_filter_lets_through_what_it_allows(circle, bob):
    assert passes(circle, bob)
    assert bob.filter("work", "home") == {"applied": True}
    assert [passes(circle, bob, criteria) for criteria in ("work", "home", "club", None)] == [True, True, False, True]
    bob.filter("home")
    assert not passes(circle, bob)
    bob.filter("home", active=False)
    assert passes(circle, bob)


def test_a_filter_that_allows_nothing_lets_only_what_has_no_criteria_through(circle, bob):
    bob.put("filter", {"active": True, "device": "phone"})
    assert not passes(circle, bob)
    assert passes(circle, bob, None)


@pytest.mark.parametrize("criteria", ["", "Work", " work", "wörk"])
def test_criteria_are_equal_or_not(circle, bob, criteria):
    bob.filter("work")
    assert not passes(circle, bob, criteria)
    bob.filter(criteria)
    assert passes(circle, bob, criteria)
    assert not passes(circle, bob, "work")


def test_the_labels_of_the_recipient_come_first(circle, bob):
    """That of the room, that of the device, what the sender names."""
    bob.filter("device")
    assert not passes(circle, bob, "sender")
    bob.register(criteria="device")
    assert passes(circle, bob, "sender") and passes(circle, bob, None)
    bob.prefer(rooms={circle.room: {"criteria": "room"}})
    assert not passes(circle, bob, "device")
    bob.filter("room")
    assert passes(circle, bob, "sender")
    bob.prefer(rooms={circle.room: {"criteria": None}})
    assert not passes(circle, bob, "room")
    bob.register(criteria=None)
    assert passes(circle, bob, "room")


def test_the_payload_names_the_label_that_counts(circle, bob):
    circle.send("one", push={"criteria": "sender"})
    assert bob.phone.ring("one")["payload"]["aps"]["filter-criteria"] == "sender"
    bob.register(criteria="device")
    circle.send("two", push={"criteria": "sender"})
    assert bob.phone.ring("two")["payload"]["aps"]["filter-criteria"] == "device"
    bob.prefer(rooms={circle.room: {"criteria": "room"}})
    circle.send("three", push={"criteria": "sender"})
    assert bob.phone.ring("three")["payload"]["aps"]["filter-criteria"] == "room"


def test_a_filter_is_the_devices_own(circle, bob):
    tablet = bob.register("tablet")
    bob.filter("home", device="tablet")
    circle.send("hi", push={"criteria": "work"})
    bob.phone.ring("hi")
    circle.pass_due()
    assert tablet.texts() == []


def test_without_a_device_it_is_that_of_hello(circle, bob):
    session = circle.back(bob, device="phone")
    assert session.request("filter", active=True, allow=["home"])["applied"] is True
    assert not passes(circle, bob)


def test_without_any_device_it_is_the_default_one(circle, bob):
    """Over both ways the same."""
    session = circle.back(bob)
    session.request("filter", active=True, allow=["home"], number=7)
    answer = bob.ask("PUT", "filter", {"active": False, "number": 7})
    assert (answer.status, answer.json) == (200, {"applied": False})
    assert session.request("filter", active=False, number=8, device="default")["applied"] is True


# Which report counts


def test_a_number_that_is_not_above_the_newest_is_ignored(circle, bob):
    bob.filter("home", number=5)
    for number in (5, 4, 0):
        assert bob.filter("work", number=number) == {"applied": False}
    assert not passes(circle, bob)
    # The number decides, though this report is older by its time.
    assert bob.filter("work", number=6, at=now() - HOUR) == {"applied": True}
    assert passes(circle, bob)


def test_without_a_number_an_older_report_is_ignored(circle, bob):
    at = now() - 20_000
    assert bob.filter("home", at=at)["applied"] is True
    assert bob.filter("work", at=at - 1)["applied"] is False
    assert bob.filter("work", at=at - 1, number=9)["applied"] is False
    assert not passes(circle, bob)
    assert bob.filter("work", at=at)["applied"] is True
    assert passes(circle, bob)


def test_a_clock_that_is_far_ahead_blocks_nothing(circle, bob):
    assert bob.filter("home", at=now() + HOUR)["applied"] is True
    assert bob.filter("work")["applied"] is True
    assert bob.filter("home", at=now() + 50_000)["applied"] is True
    assert bob.filter("work")["applied"] is False
    assert not passes(circle, bob)


def test_focus_and_filter_count_apart(bob):
    bob.focus(False, number=100)
    assert bob.filter("home", number=1)["applied"] is True
    assert bob.focus(False, number=100)["applied"] is False
    assert bob.filter("home", number=1)["applied"] is False
    assert bob.filter("home", number=1, device="tablet")["applied"] is True


def test_registering_a_device_anew_forgets_its_number(circle, bob):
    bob.filter("home", number=100)
    bob.register("tablet")
    assert bob.filter("work", number=1)["applied"] is False
    bob.register()
    assert not passes(circle, bob)
    assert bob.filter("work", number=1)["applied"] is True


def test_a_filter_that_is_never_renewed_is_forgotten_with_its_number(circle, bob):
    bob.filter("home", number=100, at=now() - 12 * HOUR)
    assert passes(circle, bob)
    assert bob.filter("home", number=1)["applied"] is True
    assert not passes(circle, bob)


def test_a_forgotten_device_has_no_filter(circle, bob):
    bob.filter("home")
    bob.forget()
    bob.register()
    assert passes(circle, bob)


# Bounds


def test_the_longest_list_of_the_longest_labels(circle, bob):
    allow = [f"{LONGEST[:-2]}{number:02}" + "x" * 2 for number in range(63)] + [LONGEST]
    assert {len(label.encode()) for label in allow} == {128}
    assert bob.filter(*allow)["applied"] is True
    assert passes(circle, bob, LONGEST)
    assert passes(circle, bob, allow[0])
    assert not passes(circle, bob, "x" * 128)


WRONG = {
    "too many": ({"allow": [f"label {number}" for number in range(65)]}, "/allow"),
    "far too many": ({"allow": ["x"] * 10_000}, "/allow"),
    "too long": ({"allow": ["x" * 129]}, "/allow"),
    "too long in bytes": ({"allow": [LONGEST + "x"]}, "/allow"),
    "no list": ({"allow": "home"}, "/allow"),
    "no texts": ({"allow": ["home", 7]}, "/allow"),
    "not said whether": ({"active": None}, "/active"),
    "not yes or no": ({"active": "yes"}, "/active"),
    "of what": ({"device": "a phone"}, "/device"),
    "when": ({"at": "now"}, "/at"),
    "before all time": ({"at": -1}, "/at"),
    "after all time": ({"at": 2**53}, "/at"),
    "which": ({"number": 1.5}, "/number"),
    "below all numbers": ({"number": -1}, "/number"),
    "above all numbers": ({"number": 2**53}, "/number"),
}


@pytest.mark.parametrize("wrong, at", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_refused_and_changes_nothing(circle, bob, wrong, at):
    bob.filter("home")
    body = {"active": True, "allow": ["work"], "device": "phone"} | wrong
    answer = bob.ask("PUT", "filter", body)
    assert (answer.status, answer.problem["code"]) == (422, "bad_request")
    assert answer.problem["at"].startswith(at)
    assert circle.back(bob).refusal("filter", **body)["code"] == "bad_request"
    assert not passes(circle, bob)
    assert passes(circle, bob, "home")


def test_a_filter_that_is_larger_than_a_frame_is_refused(circle, bob):
    bob.filter("home")
    body = {"active": True, "allow": [f"label {number}" for number in range(10_000)], "device": "phone"}
    assert bob.ask("PUT", "filter", body).status == 413
    session = circle.back(bob)
    session.post("filter", **body)
    assert session.closed() == 4505
    assert not passes(circle, bob)


def test_more_devices_than_a_user_may_have_are_refused(gather):
    circle = gather("--limits-devices-per-user", 2)
    bob = circle.away("bob")
    for device in ("phone", "tablet", "phone"):
        bob.filter("home", device=device)
    answer = bob.ask("PUT", "filter", {"active": True, "device": "one-more"})
    assert (answer.status, answer.problem["code"]) == (413, "too_large")


def test_a_device_without_a_filter_makes_room_for_another(gather):
    circle = gather("--limits-devices-per-user", 2)
    bob = circle.away("bob")
    bob.filter("home", device="phone")
    bob.ask("PUT", "filter", {"active": False, "device": "tablet"})
    bob.filter("home", device="one-more")
    answer = bob.ask("PUT", "filter", {"active": True, "device": "tablet"})
    assert (answer.status, answer.problem["code"]) == (413, "too_large")


def test_anothers_filter_is_not_ones_own(start, secret):
    relay = start(secret=secret)
    token = relay.token("bob")
    body = {"active": True, "allow": ["home"]}
    assert call(relay, "PUT", "/v1/users/me/filter", body, token=token).json == {"applied": True}
    for other in ("alice", "nobody"):
        answer = call(relay, "PUT", f"/v1/users/{other}/filter", body, token=token)
        assert (answer.status, answer.problem["code"]) == (403, "forbidden")
