# SPDX-License-Identifier: Apache-2.0
"""A simulated phone that its gateway cannot reach: its pushes wait, and arrive when the phone is reachable again."""

import pytest

from api import call
from waiting import eventually

RELAY_OPTIONS = ("--presence-grace", "0")


@pytest.fixture
def bob(circle):
    return circle.away("bob")


def push_of(circle, person):
    (push,) = call(circle.relay, "GET", f"/v1/pushes?user={person.user}").json["pushes"]
    return call(circle.relay, "GET", f"/v1/pushes/{push['id']}").json


def is_reachable(circle, phone):
    return call(circle.relay, "GET", f"/v1/simulator/devices/{phone.token}").json["isReachable"]


def test_a_push_to_a_phone_out_of_reach_is_retried_until_it_is_reached(circle, bob):
    carol = circle.away("carol")
    bob.phone.reach(False)
    circle.send("hi")
    carol.phone.ring("hi")
    retrying = eventually(lambda: len((push := push_of(circle, bob))["attempts"]) > 1 and push)
    assert retrying["state"] in ("retrying", "sending")
    assert {attempt["reason"] for attempt in retrying["attempts"]} == {"ConnectFailed"}
    assert bob.phone.notifications() == []
    assert (is_reachable(circle, bob.phone), is_reachable(circle, carol.phone)) == (False, True)
    bob.phone.reach(True)
    bob.phone.ring("hi")
    sent = eventually(lambda: (push := push_of(circle, bob))["state"] == "sent" and push)
    assert [attempt.get("reason") for attempt in sent["attempts"][-2:]] == ["ConnectFailed", None]
    circle.pass_due()
    assert bob.phone.texts() == ["hi"] and len(carol.phone.notifications()) == 1


def test_a_phone_that_is_put_out_of_reach_keeps_its_lock_screen(circle, bob):
    circle.send("before")
    bob.phone.ring("before")
    bob.phone.reach(False)
    circle.send("meanwhile")
    eventually(lambda: call(circle.relay, "GET", f"/v1/pushes?user={bob.user}&state=retrying").json["pushes"])
    assert bob.phone.texts() == ["before"]


def test_a_restart_reaches_every_phone(circle, bob):
    bob.phone.reach(False)
    circle.send("hi")
    eventually(lambda: push_of(circle, bob)["attempts"])
    circle.restart()
    assert is_reachable(circle, bob.phone)
    bob.phone.ring("hi")


@pytest.mark.parametrize("body", [{}, {"isReachable": None}, {"isReachable": 0}, {"isReachable": "no"}])
def test_a_value_that_is_not_a_boolean_changes_nothing(circle, bob, body):
    answer = call(circle.relay, "PUT", f"/v1/simulator/devices/{bob.phone.token}", body)
    assert (answer.status, answer.problem["at"]) == (422, "/isReachable")
    assert is_reachable(circle, bob.phone)
    assert call(circle.relay, "PUT", "/v1/simulator/devices/a%22b", {"isReachable": False}).status == 422
