# SPDX-License-Identifier: Apache-2.0
"""The fields of `push`, with which a sender changes the look and the sound of a push."""

import copy
import json

import pytest

from api import call
from people import without_ids
from relay import Relay

RELAY_OPTIONS = ("--presence-grace", "0")
GONE = object()


@pytest.fixture(autouse=True)
def category(relay):
    assert call(relay, "PUT", "/v1/categories", {"categories": [{"id": "reply"}]}).status == 200


@pytest.fixture
def bob(circle):
    return circle.away("bob")


def pushed(circle, bob, /, **push):
    """Returns the notification of a message, without the values that differ in every notification."""
    known = len(bob.phone.notifications())
    sent = circle.send("hi", **({"push": push} if push else {}))
    notification = without_ids(bob.phone.nth(known))
    assert notification["payload"]["message"].pop("seq") == sent["seq"]
    for header in ("apns-expiration", "apns-collapse-id"):
        del notification["headers"][header]
    return notification


def with_changes(notification, changes):
    """Returns a copy of a notification with other values at these paths."""
    notification = copy.deepcopy(notification)
    for path, value in changes.items():
        *way, last = path.split("/")
        place = notification["payload"]
        for part in way:
            place = place[part]
        if value is GONE:
            place.pop(last)
        else:
            place[last] = value
    return notification


def refusal(circle, push):
    """Sends a message over HTTP that must fail. Returns status, code and position of the error."""
    body = {"from": circle.alice.user, "body": "hi", "push": push}
    answer = call(circle.relay, "POST", f"/v1/rooms/{circle.room}/messages", body, user=circle.alice.user)
    return answer.status, answer.json["code"], answer.json["at"]


ALERT = "aps/alert"
#: `PushFieldsTests` and `PayloadStyleTests` have all fields.
FIELDS = [
    (
        {"titleKey": "K", "titleArgs": ["a", "é"]},
        {f"{ALERT}/title": GONE, f"{ALERT}/title-loc-key": "K", f"{ALERT}/title-loc-args": ["a", "é"]},
    ),
    ({"subtitle": "S"}, {f"{ALERT}/subtitle": "S", "communication/conversation/name": "S"}),
    ({"communication": False}, {"communication": GONE, "push": {}}),
    ({"criteria": "work"}, {"aps/filter-criteria": "work"}),
    ({"data": {"own": [1.5, None, {"a": True}], "n": 2}}, {"own": [1.5, None, {"a": True}], "n": 2}),
    ({"level": "timeSensitive"}, {"aps/interruption-level": "time-sensitive"}),
]


@pytest.mark.parametrize("push,changes", FIELDS, ids=lambda one: "+".join(one) if isinstance(one, dict) else None)
def test_each_field_changes_its_part_of_the_push(circle, bob, push, changes):
    plain = pushed(circle, bob)
    asked = pushed(circle, bob, **push)
    if "aps/badge" not in changes:
        assert asked["payload"]["aps"].pop("badge") == 2
        del plain["payload"]["aps"]["badge"]
    assert asked == with_changes(plain, changes)


def test_each_message_makes_a_sound_unless_its_sender_wants_none(circle, bob):
    assert pushed(circle, bob)["payload"]["aps"]["sound"] == "default"
    urgent = pushed(circle, bob, level="timeSensitive")["payload"]["aps"]
    assert (urgent["interruption-level"], urgent["sound"]) == ("time-sensitive", "default")
    critical = pushed(circle, bob, level="critical")["payload"]["aps"]
    assert critical["sound"] == {"critical": 1, "name": "default", "volume": 1}
    assert pushed(circle, bob, kind="call")["payload"]["aps"]["sound"] == "default"
    assert "sound" not in pushed(circle, bob, level="passive")["payload"]["aps"]
    assert "sound" not in pushed(circle, bob, sound=None)["payload"]["aps"]


@pytest.mark.parametrize("name,meant", [("titel", "title"), ("mutable", None)])
def test_a_misspelled_field_is_refused_with_a_suggestion(circle, name, meant):
    status, code, at = refusal(circle, {name: "x"})
    assert (status, code, at) == (422, "bad_request", f"/push/{name}")
    body = {"from": circle.alice.user, "body": "hi", "push": {name: "x"}}
    answer = call(circle.relay, "POST", f"/v1/rooms/{circle.room}/messages", body, user=circle.alice.user)
    assert (f"did you mean {meant}?" in str(answer.json)) == (meant is not None)


def test_auto_is_the_usual_badge(circle, bob):
    assert pushed(circle, bob, badge="auto")["payload"]["aps"]["badge"] == 1


def test_a_passive_push_has_no_sound_and_a_low_priority(circle, bob):
    notification = pushed(circle, bob, level="passive", sound="whistle.caf")
    assert notification["headers"]["apns-priority"] == "5"
    assert "sound" not in notification["payload"]["aps"]


def test_a_critical_push_has_a_critical_sound(circle, bob):
    sound = {"name": "siren", "volume": 0.5, "critical": True}
    notification = pushed(circle, bob, level="critical", sound=sound)
    assert notification["payload"]["aps"]["sound"] == {"name": "siren", "volume": 0.5, "critical": 1}


def test_a_phone_shows_only_the_newest_push_of_a_room_if_requested(circle, bob):
    for text in ("one", "two", "three"):
        circle.send(text, push={"collapse": "room"})
        bob.phone.ring(text)
    circle.send("by itself")
    bob.phone.ring("by itself")
    assert bob.phone.texts() == ["three", "by itself"]


def test_expires_is_the_expiration_of_the_push(circle, bob):
    sent = circle.send("hi", push={"expires": 600})
    headers = bob.phone.ring("hi")["headers"]
    assert abs(int(headers["apns-expiration"]) - (sent["time"] / 1000 + 600)) <= 1


def test_a_backend_has_the_same_fields(circle, bob):
    circle.post("hi", push={"title": "T", "data": {"a": 1}})
    payload = bob.phone.ring("hi")["payload"]
    assert (payload["aps"]["alert"]["title"], payload["a"]) == ("T", 1)


def test_the_fields_survive_a_crash(gather):
    circle = gather("--presence-grace", "0")
    bob = circle.silenced("bob")
    circle.send("hi", push={"title": "T", "badge": None, "thread": None, "data": {"a": {"b": [1.50]}}})
    circle.restart(Relay.kill)
    bob.focus(False)
    payload = bob.phone.ring("hi")["payload"]
    assert payload["aps"]["alert"]["title"] == "T"
    assert "badge" not in payload["aps"] and "thread-id" not in payload["aps"]
    assert payload["a"] == {"b": [1.5]}


def test_a_wrong_field_is_rejected_with_its_position(circle):
    """`PushFieldsTests` has all cases."""
    push = {"sound": {"name": "a", "volume": 2}}
    error = circle.alice.refusal("send", room=circle.room, body="hi", push=push)
    assert error["code"] == "bad_request" and "volume" in error["message"]
    assert refusal(circle, push) == (422, "bad_request", "/push/sound/volume")


def test_a_push_that_cannot_fit_is_rejected_when_it_is_sent(circle, bob):
    push = {"data": {"a": "x" * 3_000}}
    error = circle.alice.refusal("send", room=circle.room, body="hi", push=push)
    assert error["code"] == "too_large" and "4096" in error["message"]
    assert refusal(circle, push) == (413, "too_large", "/push")
    circle.pass_due()
    assert bob.phone.notifications() == []


def test_a_long_text_of_the_push_is_shortened(circle, bob):
    circle.send("hi", push={"body": "é" * 2_048, "data": {"a": "x" * 1_500}})
    payload = bob.phone.nth(0)["payload"]
    text = payload["aps"]["alert"]["body"]
    assert text.endswith("…") and set(text[:-1]) == {"é"} and payload["a"] == "x" * 1_500
    assert len(json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()) in (4_095, 4_096)


# Rooms without a preview


@pytest.fixture
def closed(gather):
    """A circle whose rooms have no previews."""
    return gather("--presence-grace", "0", configuration={"rooms": [{"match": "*", "preview": "none"}]})


def all_of(person):
    return json.dumps(person.phone.notifications())


def test_without_a_preview_no_text_leaves_the_relay(closed):
    bob = closed.away("bob")
    closed.send("the secret", push={"bodyKey": "SENT_YOU", "data": {"cipher": "Zm9v"}})
    closed.send({"text": "the secret"})
    first, second = bob.phone.nth(0), bob.phone.nth(1)
    assert first["payload"]["aps"]["alert"] == {"title": "Alice", "loc-key": "SENT_YOU"}
    assert first["payload"]["cipher"] == "Zm9v"
    assert second["payload"]["aps"]["alert"] == {"title": "Alice", "loc-key": "New message"}
    assert "secret" not in all_of(bob)


def test_without_a_preview_a_digest_names_only_senders(closed):
    bob = closed.silenced("bob")
    for _ in range(3):
        closed.send("the secret")
    bob.focus(False)
    assert bob.phone.nth(0)["payload"]["aps"]["alert"]["body"] == "Alice"
    assert "secret" not in all_of(bob)


def test_without_a_preview_own_texts_are_refused(closed):
    push = {"bodyKey": "a", "bodyArgs": ["b"]}
    error = closed.alice.refusal("send", room=closed.room, body="hi", push=push)
    assert error["code"] == "forbidden"
    assert refusal(closed, push) == (403, "forbidden", f"/push/{list(push)[-1]}")
