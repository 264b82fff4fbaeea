# SPDX-License-Identifier: Apache-2.0
"""Pushes from a backend without a message in a room."""

import pytest

from api import call
from people import Circle
from waiting import eventually


@pytest.fixture
def circle(relay, connect, names):
    return Circle(connect, names, relay)


@pytest.fixture
def bob(circle):
    return circle.away("bob")


def notify(circle, person, push={"body": "on its way"}, *, headers=None, **fields):
    body = {"from": "shop", "push": push} | fields
    return call(circle.relay, "POST", f"/v1/users/{person.user}/notifications", body, headers=headers)


def explained(circle, push):
    return call(circle.relay, "GET", f"/v1/pushes/{push}").json


def test_a_notification_rings_without_a_room(circle, bob):
    answer = notify(circle, bob, {"title": "Shop", "body": "on its way", "data": {"order": 7}})
    assert answer.status == 201
    (device,) = answer.json["devices"]
    assert device["device"] == "phone" and device["decision"]["outcome"] == {"kind": "push", "level": "active"}
    payload = bob.phone.ring("on its way")["payload"]
    assert payload["aps"]["alert"] == {"title": "Shop", "body": "on its way"}
    assert "message" not in payload and "thread-id" not in payload["aps"] and payload["order"] == 7
    # A shop is not a person: iOS would show it as one, without the title.
    assert "communication" not in payload and payload["push"]["notification"] == device["push"]
    assert payload["push"]["receipt"] and payload["aps"]["mutable-content"] == 1
    assert payload["aps"]["sound"] == "default"
    push = eventually(lambda: (found := explained(circle, device["push"]))["state"] == "sent" and found)
    assert push["user"] == bob.user and "room" not in push and "seq" not in push
    assert push["explanation"]["decision"] == device["decision"]
    # The relay counts messages only, so it sets no badge for a notification.
    assert "badge" not in payload["aps"]


def test_a_notification_from_a_person_is_a_communication(circle, bob):
    title = {"title": "Tea", "body": "t"}
    cases = [
        (circle.alice.user, title, True),
        (circle.alice.user, title | {"communication": False}, False),
        ("shop", title, False),
        ("shop", title | {"communication": True}, True),
        ("shop", {"body": "t"}, True),
    ]
    for number, (sender, push, is_communication) in enumerate(cases):
        text = f"text {number}"
        assert notify(circle, bob, push | {"body": text}, **{"from": sender}).status == 201
        payload = bob.phone.ring(text)["payload"]
        assert ("communication" in payload, "push" in payload) == (is_communication, not is_communication), cases[number]
        if is_communication:
            # This id is not a valid name of a room.
            assert payload["communication"]["conversation"]["id"] == f"/from/{sender}"
            assert payload["communication"]["sender"]["handle"] == sender


def test_a_notification_sets_the_badge_only_if_requested(circle, bob):
    circle.send("unread")
    bob.phone.ring("unread")
    for number, (badge, shown) in enumerate([({}, None), ({"badge": 7}, 7), ({"badge": "auto"}, 1), ({"badge": None}, None)]):
        text = f"text {number}"
        assert notify(circle, bob, {"body": text} | badge).status == 201
        assert bob.phone.ring(text)["payload"]["aps"].get("badge") == shown


def test_a_plain_notification_arrives_and_is_answered(circle, bob):
    (device,) = notify(circle, bob, {"title": "Shop", "body": "receipt"}).json["devices"]
    ids = bob.phone.ring("receipt")["payload"]["push"]
    path = f"/v1/notifications/{ids['notification']}/received"
    assert call(circle.relay, "POST", path, {"receipt": ids["receipt"]}).status == 200
    assert eventually(lambda: explained(circle, device["push"]).get("received"))


def test_an_absent_text_is_localized(circle, bob):
    assert notify(circle, bob, {}).status == 201
    (shown,) = eventually(bob.phone.notifications)
    assert shown["payload"]["aps"]["alert"] == {"title": "shop", "loc-key": "New message"}


def test_a_notification_replaces_another_only_if_requested(circle, bob):
    for text in "one", "two":
        notify(circle, bob, {"body": text})
        bob.phone.ring(text)
    for text in "three", "four":
        notify(circle, bob, {"body": text, "collapse": "room"})
        bob.phone.ring(text)
    assert len(bob.phone.notifications()) == 3


def test_a_key_makes_a_second_attempt_harmless(circle, bob):
    first = notify(circle, bob, key="order 7")
    again = notify(circle, bob, {"body": "another"}, headers={"Idempotency-Key": "order 7"})
    assert (first.status, again.status) == (201, 200)
    assert again.json["duplicate"] and again.json["time"] == first.json["time"]
    assert again.json["devices"] == [{key: first.json["devices"][0][key] for key in ("device", "push")}]
    # The same key from another sender, or to another user, is a different notification.
    assert notify(circle, bob, key="order 7", **{"from": "bank"}).status == 201
    assert notify(circle, circle.away("carol"), key="order 7").status == 201


def test_a_session_does_not_delay_a_notification(circle):
    carol = circle.live("carol")
    assert notify(circle, carol).status == 201
    carol.phone.ring("on its way")


def test_a_user_without_a_device_is_not_pushed_to(circle, names):
    (user,) = names("nobody")
    answer = call(
        circle.relay, "POST", f"/v1/users/{user}/notifications", {"from": "shop", "push": {"body": "on its way"}}
    )
    (device,) = answer.json["devices"]
    assert answer.status == 201 and device["decision"]["outcome"] == {"kind": "none", "reason": "no_device"}
    assert device.keys() == {"decision"}


def test_a_notification_of_a_blocked_sender_is_not_pushed(circle, bob):
    call(circle.relay, "PUT", f"/v1/users/{bob.user}/blocks/shop")
    (device,) = notify(circle, bob).json["devices"]
    assert device["decision"]["outcome"]["reason"] == "blocked" and "push" not in device


def test_a_focus_holds_notifications_and_each_is_sent_separately_afterwards(circle):
    bob = circle.silenced("bob")
    held = [notify(circle, bob, {"body": text}).json["devices"][0] for text in ("one", "two")]
    assert [device["decision"]["outcome"]["kind"] for device in held] == ["hold", "hold"]
    assert [explained(circle, device["push"])["state"] for device in held] == ["held", "held"]
    assert notify(circle, bob, {"body": "now", "level": "timeSensitive"}).status == 201
    bob.phone.ring("now")
    bob.prefer(onFocus="deliver")
    for text in "one", "two":
        bob.phone.ring(text)


def test_a_held_notification_survives_a_kill(gather):
    circle = gather("--presence-grace", "0")
    bob = circle.silenced("bob")
    device = notify(circle, bob, {"body": "late"}).json["devices"][0]
    circle.restart()
    assert explained(circle, device["push"])["state"] == "held"
    bob.prefer(onFocus="deliver")
    bob.phone.ring("late")


def test_a_notification_cannot_be_read_as_a_room(circle, bob):
    notify(circle, bob)
    for name in f"%2Fuser%2F{bob.user}", f"/user/{bob.user}":
        assert call(circle.relay, "GET", f"/v1/rooms/{name}/messages").status in (404, 422)


def test_a_wrong_field_is_refused_with_its_position(circle, bob):
    """`PushFieldsTests` and `BadFieldsTests` have all cases."""
    answer = notify(circle, bob, {"data": {"aps": 1}})
    assert answer.status == 422 and answer.problem["at"] == "/push/data/aps", answer
    assert bob.phone.notifications() == []


def test_a_notification_that_is_too_large_is_rejected(circle, bob):
    answer = notify(circle, bob, {"data": {"a": "x" * 3_000}})
    assert (answer.status, answer.problem["at"]) == (413, "/push")


def test_notifications_are_for_backends(start, secret):
    relay = start(secret=secret)
    body = {"push": {"body": "hi"}}
    assert call(relay, "POST", "/v1/users/me/notifications", body).status == 401
    assert call(relay, "POST", "/v1/users/me/notifications", body, token=relay.token("bob")).status == 403
