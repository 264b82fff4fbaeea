# SPDX-License-Identifier: Apache-2.0
"""Idempotency keys, in stored rooms and in live rooms, in sessions and over HTTP."""

import pytest

from api import call


@pytest.fixture(params=["", "live."], ids=["stored", "live"])
def trio(request, connect, names):
    """Two sessions of one user and one of another, in a stored room or in a live room."""
    user, other, room = names("alice", "bob", "room")
    room = request.param + room
    sessions = connect(user), connect(user), connect(other)
    for session in sessions:
        session.join(room)
    return *sessions, room


def is_duplicate_of(first, second):
    return (second.get("duplicate"), second["seq"], second["time"]) == (True, first["seq"], first["time"])


def test_a_key_is_a_duplicate_on_every_session_and_with_any_body(trio):
    phone, tablet, bob, room = trio
    first = phone.send(room, "once", key="k")
    assert "duplicate" not in first
    assert is_duplicate_of(first, phone.send(room, "once", key="k"))
    assert is_duplicate_of(first, tablet.send(room, {"another": "body"}, key="k"))
    for session in (tablet, bob):
        assert [message["body"] for message in session.received("message")] == ["once"]
    assert phone.received("message") == []


def test_a_key_belongs_to_one_user_in_one_room(trio, names):
    phone, _, bob, room = trio
    elsewhere = room.split("-")[0] + names("-else")[0]
    phone.join(elsewhere)
    replies = [phone.send(room, 1, key="k"), bob.send(room, 1, key="k"), phone.send(elsewhere, 1, key="k")]
    assert [(reply["seq"], "duplicate" in reply) for reply in replies] == [(1, False), (2, False), (1, False)]


def test_sends_with_and_without_a_key_keep_their_order(trio):
    phone, _, bob, room = trio
    ids = [
        phone.begin("send", room=room, body=number, **({"key": f"k{number}"} if number % 3 else {}))
        for number in range(60)
    ]
    assert [phone.reply(id)["seq"] for id in ids] == list(range(1, 61))
    received = [bob.expect("message")["body"] for _ in range(60)]
    assert received == list(range(60))


def test_a_key_without_an_id_is_remembered_too(trio):
    phone, _, bob, room = trio
    phone.post("send", room=room, body=1, key="k")
    assert phone.send(room, 2, key="k")["duplicate"] is True
    assert [message["body"] for message in bob.received("message")] == [1]


def test_a_key_is_the_same_over_http(trio, relay):
    phone, _, bob, room = trio
    first = phone.send(room, 1, key="k")
    path = f"/v1/rooms/{room}/messages"
    fields = {"body": 2, "from": phone.user}
    again = call(relay, "POST", path, fields, headers={"Idempotency-Key": "k"})
    assert again.status == 200 and is_duplicate_of(first, again.json)
    fresh = call(relay, "POST", path, fields | {"key": "l"})
    assert fresh.status == 201
    assert is_duplicate_of(fresh.json, phone.send(room, 3, key="l"))
    assert is_duplicate_of(fresh.json, call(relay, "POST", path, fields | {"key": "l"}).json)
    assert [message["body"] for message in bob.received("message")] == [1, 2]


def test_a_key_of_a_room_that_keeps_something_survives_a_kill(start, connect):
    relay = start()
    alice = connect(relay, "alice")
    alice.join("room")
    first = alice.send("room", 1, key="k")
    relay.kill()
    relay.start()
    alice = connect(relay, "alice")
    alice.join("room")
    assert is_duplicate_of(first, alice.send("room", 2, key="k"))


def test_a_key_of_a_room_that_keeps_nothing_ends_with_the_room(connect, names):
    user, room = names("alice", "room")
    room = "live." + room
    alice = connect(user)
    epoch = alice.join(room)["epoch"]
    assert alice.send(room, 1, key="k")["seq"] == 1
    alice.request("leave", room=room)
    assert alice.join(room)["epoch"] != epoch
    assert "duplicate" not in alice.send(room, 1, key="k")
