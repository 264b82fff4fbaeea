# SPDX-License-Identifier: Apache-2.0
"""Focus filters: their reports, their effect on a push, and their limits.

`FilterLedgerTests` proves the order and the end of reports, and `SilenceTests` the labels that pass a filter.
"""

import pytest

from api import call

RELAY_OPTIONS = ("--presence-grace", "0")

#: The longest label: its size in bytes is the limit.
LONGEST = "ü" * 64


@pytest.fixture
def bob(circle):
    """A member who is away. The relay holds pushes that the filter rejects."""
    return circle.away("bob", onFocus="hold")


def passes(circle, bob, criteria="work"):
    """Returns True if a message with these criteria is pushed to Bob."""
    text = f"text {len(bob.phone.notifications())}"
    push = {} if criteria is None else {"criteria": criteria}
    # A backend gets the filter in the reply. The sender does not.
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


def test_a_filter_passes_its_criteria(circle, bob):
    assert passes(circle, bob)
    assert bob.filter("work", "home") == {"applied": True}
    assert [passes(circle, bob, criteria) for criteria in ("work", "home", "club", None)] == [True, True, False, True]
    bob.filter("home")
    assert not passes(circle, bob)
    bob.filter("home", active=False)
    assert passes(circle, bob)


def test_a_filter_that_allows_nothing_passes_messages_without_criteria(circle, bob):
    bob.put("filter", {"active": True, "device": "phone"})
    assert not passes(circle, bob)
    assert passes(circle, bob, None)


def test_the_payload_names_the_label_that_counts(circle, bob):
    circle.send("one", push={"criteria": "sender"})
    assert bob.phone.ring("one")["payload"]["aps"]["filter-criteria"] == "sender"
    bob.register(criteria="device")
    circle.send("two", push={"criteria": "sender"})
    assert bob.phone.ring("two")["payload"]["aps"]["filter-criteria"] == "device"
    bob.prefer(rooms={circle.room: {"criteria": "room"}})
    circle.send("three", push={"criteria": "sender"})
    assert bob.phone.ring("three")["payload"]["aps"]["filter-criteria"] == "room"


def test_a_filter_concerns_its_own_device_alone(circle, bob):
    tablet = bob.register("tablet")
    bob.filter("home", device="tablet")
    circle.send("hi", push={"criteria": "work"})
    bob.phone.ring("hi")
    circle.pass_due()
    assert tablet.texts() == []


def test_the_device_of_hello_is_the_default(circle, bob):
    session = circle.back(bob, device="phone")
    assert session.request("filter", active=True, allow=["home"])["applied"] is True
    assert not passes(circle, bob)


def test_a_report_without_a_device_is_of_the_device_default(circle, bob):
    """HTTP and sessions use the same device."""
    session = circle.back(bob)
    session.request("filter", active=True, allow=["home"], number=7)
    answer = bob.ask("PUT", "filter", {"active": False, "number": 7})
    assert (answer.status, answer.json) == (200, {"applied": False, "number": 7})
    assert session.request("filter", active=False, number=8, device="default")["applied"] is True


# The order of reports


def test_focus_and_filter_have_numbers_of_their_own(bob):
    bob.focus(False, number=100)
    assert bob.filter("home", number=1)["applied"] is True
    assert bob.focus(False, number=100)["applied"] is False
    assert bob.filter("home", number=1)["applied"] is False
    assert bob.filter("home", number=1, device="tablet")["applied"] is True


def test_a_new_registration_resets_the_number_of_a_device(circle, bob):
    bob.filter("home", number=100)
    bob.register("tablet")
    assert bob.filter("work", number=1)["applied"] is False
    bob.register()
    assert not passes(circle, bob)
    assert bob.filter("work", number=1)["applied"] is True


def test_a_forgotten_device_has_no_filter(circle, bob):
    bob.filter("home")
    bob.forget()
    bob.register()
    assert passes(circle, bob)


# Limits


def test_the_longest_list_of_the_longest_labels(circle, bob):
    allow = [f"{LONGEST[:-2]}{number:02}" + "x" * 2 for number in range(63)] + [LONGEST]
    assert {len(label.encode()) for label in allow} == {128}
    assert bob.filter(*allow)["applied"] is True
    assert passes(circle, bob, LONGEST)
    assert passes(circle, bob, allow[0])
    assert not passes(circle, bob, "x" * 128)


def test_a_wrong_field_changes_nothing(circle, bob):
    """`BadFieldsTests` has all cases."""
    bob.filter("home")
    body = {"active": True, "allow": ["work", LONGEST + "x"], "device": "phone"}
    answer = bob.ask("PUT", "filter", body)
    assert (answer.status, answer.problem["code"]) == (422, "bad_request")
    assert answer.problem["at"].startswith("/allow")
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


def test_a_device_without_a_filter_gives_way_to_another(gather):
    circle = gather("--limits-devices-per-user", 2)
    bob = circle.away("bob")
    bob.filter("home", device="phone")
    bob.ask("PUT", "filter", {"active": False, "device": "tablet"})
    bob.filter("home", device="one-more")
    answer = bob.ask("PUT", "filter", {"active": True, "device": "tablet"})
    assert (answer.status, answer.problem["code"]) == (413, "too_large")


def test_a_user_does_not_set_the_filter_of_another(start, secret):
    relay = start(secret=secret)
    token = relay.token("bob")
    body = {"active": True, "allow": ["home"]}
    assert call(relay, "PUT", "/v1/users/me/filter", body, token=token).json == {"applied": True}
    for other in ("alice", "nobody"):
        answer = call(relay, "PUT", f"/v1/users/{other}/filter", body, token=token)
        assert (answer.status, answer.problem["code"]) == (403, "forbidden")
