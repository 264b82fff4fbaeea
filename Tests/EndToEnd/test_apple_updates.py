# SPDX-License-Identifier: Apache-2.0
"""Pushes to Apple's service that show no message: calls, badges and silent pushes."""

import json

import pytest

from people import now
from test_apple import APP, apple, arrived, authority, key, reached, service  # noqa: F401
from waiting import eventually

CALLS = "cd" * 32


@pytest.fixture
def circle(apple):
    return apple(entitlements=["voip"])


def test_a_call_goes_to_its_own_token_under_its_own_topic(circle, service):
    reached(circle, voipToken=CALLS)
    sent = circle.send("Hello?", push={"kind": "call", "expires": 30})
    (request,) = arrived(service, 1)
    head = request.headers
    assert request.token == CALLS
    assert (head["apns-push-type"], head["apns-topic"]) == ("voip", f"{APP}.voip")
    assert (head["apns-expiration"], head["apns-priority"]) == ("0", "10")
    assert "apns-collapse-id" not in head
    payload = json.loads(request.body)
    assert set(payload) == {"call", "ringUntil", "ringFor", "data"}
    assert (payload["call"], payload["ringUntil"]) == (head["apns-id"], sent["time"] + 30_000)
    assert 0 < payload["ringFor"] <= 30_000
    circle.send("a message")
    assert arrived(service, 2)[1].token == "ab" * 32


def test_without_the_entitlement_a_call_is_an_alert(apple, service):
    circle = apple()
    reached(circle, voipToken=CALLS)
    circle.send("Hello?", push={"kind": "call"})
    (request,) = arrived(service, 1)
    assert (request.token, request.headers["apns-push-type"]) == ("ab" * 32, "alert")


def test_an_invalid_token_for_calls_does_not_remove_the_device(circle, service):
    reached(circle, voipToken=CALLS)

    def handle(request):
        if request.token == CALLS:
            request.refuse(410, "Unregistered", timestamp=now() + 60_000)
        else:
            request.answer()

    service.handle = handle
    circle.send("Hello?", push={"kind": "call"})
    first, second = arrived(service, 2)
    assert (first.token, second.token) == (CALLS, "ab" * 32)
    assert second.headers["apns-push-type"] == "alert"
    circle.send("Again?", push={"kind": "call"})
    assert arrived(service, 3)[2].token == "ab" * 32


def test_a_silent_push_wakes_the_app(circle, service):
    reached(circle)
    sent = circle.send({"state": 1}, push={"silent": True, "data": {"sync": True}})
    (request,) = arrived(service, 1)
    head = request.headers
    assert (head["apns-push-type"], head["apns-priority"], head["apns-topic"]) == ("background", "5", APP)
    payload = json.loads(request.body)
    assert payload["aps"] == {"content-available": 1}
    assert (payload["message"]["seq"], payload["sync"]) == (sent["seq"], True)
    # The next silent push must wait, but other pushes need not wait for it.
    circle.send({"state": 2}, push={"silent": True})
    circle.send("hi")
    assert arrived(service, 2)[1].headers["apns-push-type"] == "alert"


def test_a_read_on_another_device_is_pushed_as_a_badge(circle, service):
    bob = reached(circle)
    for text in ("one", "two"):
        circle.send(text)
    arrived(service, 2)
    session = circle.back(bob)
    session.join(circle.room)
    session.request("read", room=circle.room, seq=1)
    badge = arrived(service, 3)[2]
    assert json.loads(badge.body) == {
        "aps": {"badge": 1, "content-available": 1},
        "push": {"recipient": bob.user},
        "read": [{"room": circle.room, "seq": 1}],
    }
    # An older notification: Apple must keep the newest alert for a phone that is off.
    assert badge.headers["apns-expiration"] == "0"
    assert (badge.headers["apns-push-type"], badge.headers["apns-priority"]) == ("alert", "5")
    session.request("read", room=circle.room, seq=2)
    circle.send("three")
    eventually(lambda: session.received("message", seq=3))
    assert len(service.requests) == 3
