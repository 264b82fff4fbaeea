# SPDX-License-Identifier: Apache-2.0
"""Waiting pushes of one room become one push."""

import json
import threading
import time

import pytest

from api import call
from phone import Phone
from test_apple import apple, arrived, authority, key, pushed, reached, service  # noqa: F401  (fixtures, too)
from waiting import eventually

#: The maximum number of pushes from one sender to one recipient in a minute.
PACE = 20


@pytest.fixture
def circle(apple):
    """Alice in a room of a relay whose pushes go to the service."""
    return apple()


def refuse_until(service, allowed):
    """Makes the service answer that it is unavailable until the event is set."""

    def handle(request):
        if allowed.is_set():
            request.answer()
        else:
            request.refuse(503, "ServiceUnavailable")

    service.handle = handle


def held_up(circle, service):
    """Returns a person whose first push was rejected, its request, and the event that ends the rejections."""
    allowed = threading.Event()
    refuse_until(service, allowed)
    bob = reached(circle)
    circle.send("one")
    (refused,) = arrived(service, 1)
    return bob, refused, allowed


def jobs(circle, **query):
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    return call(circle.relay, "GET", f"/v1/pushes?{asked}").json["pushes"]


def payload(request):
    return json.loads(request.body)


def test_pushes_after_a_rejected_push_become_one_push_with_it(circle, service):
    bob, refused, allowed = held_up(circle, service)
    for text in ("two", "three"):
        circle.send(text)
    allowed.set()
    taken = eventually(lambda: [job for job in jobs(circle, user=bob.user) if job["state"] == "sent"])
    last = service.requests[-1]
    shown = payload(last)
    assert shown["digest"] == [{"room": circle.room, "seq": 3, "count": 3}]
    assert shown["aps"]["alert"]["title-loc-args"] == ["3"]
    assert shown["aps"]["alert"]["body"] == "Alice: three"
    assert shown["aps"]["thread-id"] == circle.room
    assert last.headers["apns-id"] == taken[0]["id"] != refused.headers["apns-id"]
    first = pushed(circle, refused)
    assert first["state"] == "merged" and first["mergedInto"] == taken[0]["id"]
    assert len(taken) == 1


def test_a_message_that_is_read_or_deleted_leaves_the_push(circle, service):
    bob, _, allowed = held_up(circle, service)
    for text in ("two", "three", "four"):
        circle.send(text)
    circle.alice.request("delete", room=circle.room, seq=4)
    assert call(circle.relay, "PUT", f"/v1/rooms/{circle.room}/read", {"seq": 1}, user=bob.user).status == 200
    allowed.set()
    ends = ("sent", "merged", "cancelled")
    eventually(lambda: all(job["state"] in ends for job in jobs(circle, user=bob.user)))
    states = {job["seq"]: job["state"] for job in jobs(circle, user=bob.user)}
    assert (states[1], states[3], states[4]) == ("cancelled", "sent", "cancelled")
    # One push or two pushes: the relay stores the read before or after the next attempt.
    payloads = [payload(request) for request in service.requests if pushed(circle, request, "sent")]
    assert sum(push["digest"][0]["count"] if "digest" in push else 1 for push in payloads[-2:]) in (2, 3)
    assert payloads[-1]["aps"]["alert"]["body"].endswith("three")


def test_another_level_is_another_push(circle, service):
    bob, _, allowed = held_up(circle, service)
    circle.send("hush", push={"level": "passive"})
    circle.send("two")
    allowed.set()
    eventually(lambda: not [job for job in jobs(circle, user=bob.user) if job["state"] not in ("sent", "merged")])
    states = {job["seq"]: job["state"] for job in jobs(circle, user=bob.user)}
    assert states[2] == "sent" and states[3] == "sent"


def test_five_messages_to_a_phone_within_reach_are_five_pushes_in_one_thread(circle, service):
    reached(circle)
    for number in range(5):
        circle.send(f"message {number}")
    requests = arrived(service, 5)
    assert [payload(request)["aps"]["alert"]["body"] for request in requests] == [f"message {n}" for n in range(5)]
    assert {payload(request)["aps"]["thread-id"] for request in requests} == {circle.room}
    assert len({request.headers["apns-collapse-id"] for request in requests}) == 5
    assert not any("digest" in payload(request) for request in requests)


def test_pushes_beyond_the_pace_wait_for_the_end_of_the_minute(circle):
    """`PushPaceTests` proves the pace, and `CoalescingTests` the digest at the end of the minute."""
    bob = circle.away("bob")
    screen: Phone = bob.register()

    def waiting_jobs():
        for number in range(PACE + 5):
            circle.send(f"message {number}")
        found = jobs(circle, user=bob.user, state="waiting", limit=100)
        return found if len(found) >= 5 else None

    # The minute may end during the loop. Then the digest contains the waiting messages.
    waiting = eventually(waiting_jobs)
    explained = call(circle.relay, "GET", f"/v1/pushes/{waiting[0]['id']}").json
    assert explained["due"] - time.time() * 1000 <= 60_000
    assert "`pace.messages`" in explained["summary"]
    # Pushes of other senders do not wait.
    circle.post("from another sender", **{"from": "shop"})
    screen.ring("from another sender")
