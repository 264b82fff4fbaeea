# SPDX-License-Identifier: Apache-2.0
"""The payload of a message's push."""

import json
import re
import time

import pytest

APS_KEYS = {
    "alert",
    "badge",
    "sound",
    "thread-id",
    "category",
    "target-content-id",
    "filter-criteria",
    "content-available",
    "mutable-content",
    "interruption-level",
    "relevance-score",
    "timestamp",
}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
DAY = 86_400


@pytest.fixture
def talk(connect, names, relay, phone):
    """Alice in a room with Bob, who has closed his session: her session, the reply to her `join`, and his phone."""
    alice_name, bob_name, room = names("alice", "bob", "room")
    alice, bob = connect(alice_name, name="Alice Liddell"), connect(bob_name)
    joined = alice.join(room)
    bob.join(room)
    bobs = phone(relay, bob)
    bob.close(1000)
    alice.expect("presence", user=bob_name, online=False)
    return alice, joined, bobs


def pushed(talk, body):
    """Sends a body, and returns the reply and the notification."""
    alice, joined, phone = talk
    known = len(phone.notifications())
    sent = alice.send(joined["room"], body)
    return sent, phone.nth(known)


def test_a_text_becomes_a_communication_notification(talk):
    alice, joined, _ = talk
    sent, notification = pushed(talk, "Down the rabbit hole – 🐇")
    payload = notification["payload"]
    aps = payload["aps"]
    assert aps["alert"] == {"title": "Alice Liddell", "body": "Down the rabbit hole – 🐇"}
    assert aps["thread-id"] == joined["room"]
    assert aps["mutable-content"] == 1 and aps["mutable-content"] is not True
    assert aps["badge"] == 1
    assert aps.get("interruption-level", "active") == "active"
    assert set(aps) <= APS_KEYS
    assert payload["message"] == {"room": joined["room"], "epoch": joined["epoch"], "seq": sent["seq"]}
    communication = payload["communication"]
    assert communication["kind"] == "message"
    sender = communication["sender"]
    assert (sender["id"], sender["name"]) == (alice.user, "Alice Liddell")
    # iOS matches Allowed People with the handle. Without an address, the handle is the user.
    assert sender["handle"] == alice.user and "handleType" not in sender and "avatar" not in sender
    assert aps["sound"] == "default"
    assert communication["conversation"]["id"] == joined["room"]
    assert communication["conversation"]["group"] is False


def test_the_headers_are_those_of_apple(talk):
    before = time.time()
    _, notification = pushed(talk, "hi")
    headers = {name: str(value) for name, value in notification["headers"].items()}
    assert headers["apns-push-type"] == "alert"
    assert headers["apns-priority"] == "10"
    assert UUID.fullmatch(headers["apns-id"])
    assert 0 < len(headers["apns-collapse-id"].encode()) <= 64
    assert before + 27 * DAY < int(headers["apns-expiration"]) < time.time() + 29 * DAY
    assert before - 60 < notification["time"] / 1000 < time.time() + 60


def test_each_message_is_a_separate_notification_in_one_thread(talk):
    first, second = (pushed(talk, text)[1] for text in ("one", "two"))
    for name in ("apns-id", "apns-collapse-id"):
        assert first["headers"][name] != second["headers"][name]
    assert first["payload"]["aps"]["thread-id"] == second["payload"]["aps"]["thread-id"]


def test_the_badge_counts_unread_messages(talk):
    badges = [pushed(talk, text)[1]["payload"]["aps"]["badge"] for text in ("one", "two", "three")]
    assert badges == [1, 2, 3]


def test_a_group_has_its_member_count(talk, connect, names):
    _, joined, _ = talk
    for user in names("carol", "dave"):
        connect(user).join(joined["room"])
    _, notification = pushed(talk, "all")
    conversation = notification["payload"]["communication"]["conversation"]
    assert conversation["group"] is True
    assert conversation["recipientCount"] == 3


def test_the_text_may_be_a_member_of_the_body(talk):
    _, notification = pushed(talk, {"text": "from the object", "more": [1]})
    assert notification["payload"]["aps"]["alert"]["body"] == "from the object"


def test_without_a_text_the_phone_shows_a_localized_text(talk):
    """`PreviewTests` has the bodies without a text."""
    _, notification = pushed(talk, {"text": 5})
    alert = notification["payload"]["aps"]["alert"]
    assert alert["title"] == "Alice Liddell"
    assert isinstance(alert["loc-key"], str) and alert["loc-key"]
    assert "body" not in alert


@pytest.mark.parametrize("letter", ["🐇", "\u0001"])
def test_a_long_text_is_shortened_to_fit_the_payload(talk, letter):
    _, notification = pushed(talk, letter * 5_000)
    payload = notification["payload"]
    text = payload["aps"]["alert"]["body"]
    assert text.endswith("…") and set(text[:-1]) == {letter}
    size = len(json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode())
    assert size <= 4096
    assert size > 3900 or letter == "\u0001"


def test_a_sender_without_a_name_is_called_by_id(connect, names, relay, phone):
    alice_name, bob_name, room = names("alice", "bob", "room")
    alice, bob = connect(alice_name), connect(bob_name)
    alice.join(room)
    bob.join(room)
    bobs = phone(relay, bob)
    bob.close(1000)
    alice.expect("presence", user=bob_name, online=False)
    alice.send(room, "hi")
    alert = bobs.ring("hi")["payload"]["aps"]["alert"]
    assert alert["title"] == alice_name
