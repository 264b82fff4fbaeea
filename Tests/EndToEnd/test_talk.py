# SPDX-License-Identifier: Apache-2.0
"""Two users in a room: `hello`, messages, signals and marks."""

import json
import time

import pytest

from client import Frame
from rfc6455 import SUBPROTOCOL
from wire import Wire

LIMITS = {
    "frame": 65536,
    "outgoingQueue": 1048576,
    "roomsPerSession": 128,
    "roomsPerUser": 1000,
    "invitations": 100,
    "newPeoplePerDay": 100,
    "sessionsPerUser": 32,
    "devicesPerUser": 16,
    "membersPerRoom": 10000,
    "pushedMembersPerRoom": 1000,
    "sendRate": 50,
    "sendBurst": 100,
    "requestRate": 50,
    "requestBurst": 200,
    "focusRate": 1,
    "focusBurst": 10,
    "watched": 1024,
    "nesting": 128,
    "helloTimeout": 10,
    "heartbeat": 25,
    "pongTimeout": 10,
    "history": 300,
    "memberList": 256,
}

BODIES = [
    r'{"a":1.0,"b":1e2,"c":"\u00e9/"}',
    r'"\/ and /"',
    r'"\ud83d\ude42 and 🙂"',
    r'"\u0000"',
    '"é"',
    '""',
    "-0",
    "1E+2",
    "0.1000",
    "123456789012345678901234567890",
    "1e400",
    "null",
    "true",
    "[ 1 ,\t2 ]",
    "[]",
    "{}",
    '{ "z": 1, "a" : 2 }',
    '{"type":"bye","id":3,"room":"elsewhere","body":{"body":1}}',
    "[" * 100 + "]" * 100,
    json.dumps("ж" * 20_000, ensure_ascii=False),
]

IDS = ["1", '"a"', "0", "-1", "9007199254740991", "-9007199254740991", '"' + "x" * 64 + '"', r'"\u00e9\n\"/"']


@pytest.fixture
def pair(connect, names):
    """Alice and Bob in a new room. Their inboxes are empty."""
    alice_name, bob_name, room = names("alice", "bob", "room")
    alice, bob = connect(alice_name, name="Alice"), connect(bob_name, name="Bob")
    alice.join(room)
    bob.join(room)
    alice.expect("presence", user=bob_name)
    alice.inbox.clear()
    return alice, bob, room


def test_welcome_contains_the_user_and_the_limits(connect, names):
    (user,) = names("alice")
    before = time.time()
    alice = connect(user, name="Alice", app="test", client={"name": "outside", "version": "1"}, unknown=[1])
    assert alice.subprotocol == SUBPROTOCOL
    welcome = alice.welcome
    assert welcome["type"] == "welcome"
    assert (welcome["user"], welcome["name"]) == (user, "Alice")
    assert isinstance(welcome["session"], str) and isinstance(welcome["server"], str)
    assert welcome["heartbeat"] == 25
    assert before - 60 < welcome["time"] / 1000 < time.time() + 60
    assert {name: welcome["limits"].get(name) for name in LIMITS} == LIMITS


def test_sessions_of_one_user_have_different_names(connect, names):
    (user,) = names("alice")
    assert connect(user).welcome["session"] != connect(user).welcome["session"]


def test_requests_right_behind_hello_are_served(names, relay):
    user, room = names("alice", "room")
    with Wire(relay) as wire:
        wire.open()
        wire.send_request("hello", user=user)
        wire.send_request("join", id="j", room=room)
        wire.send_request("send", id="s", room=room, body=1)
        assert wire.text()["type"] == "welcome"
        assert wire.reply("j")["seq"] == 0
        assert wire.reply("s")["seq"] == 1


def test_a_message_reaches_everybody_but_the_session_that_sent_it(connect, pair):
    alice, bob, room = pair
    other = connect(alice.user)
    other.join(room)
    before = time.time()
    sent = alice.send(room, {"text": "hi"})
    assert (sent["type"], sent["room"], sent["seq"]) == ("ok", room, 1)
    assert before - 60 < sent["time"] / 1000 < time.time() + 60
    for session in (bob, other):
        message = session.expect("message")
        assert {key: message[key] for key in ("room", "seq", "from", "time", "body")} == {
            "room": room,
            "seq": 1,
            "from": alice.user,
            "time": sent["time"],
            "body": {"text": "hi"},
        }
        assert "id" not in message
    assert alice.received("message") == []


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body[:20])
def test_a_body_arrives_and_is_kept_byte_for_byte(pair, body):
    alice, bob, room = pair
    alice.send_body_text(room, body)
    assert bob.expect("message").body_text == body
    assert bob.request("history", room=room).body_text == body
    assert bob.join(room, history=1).body_text == body


@pytest.mark.parametrize("id", IDS)
def test_an_id_is_echoed(pair, id):
    alice, _, room = pair
    wanted = json.loads(id)
    for request in ('"type":"ping"', f'"type":"send","room":"{room}","body":1', '"type":"no such type"'):
        alice.send_text(f'{{{request},"id":{id}}}')
        alice.expect({"p": "pong", "s": "ok", "n": "error"}[request[8]], id=wanted)


def test_requests_without_an_id_get_only_errors_and_pongs(pair):
    alice, bob, room = pair
    alice.post("send", room=room, body="quietly")
    bob.expect("message", body="quietly")
    alice.post("ping")
    assert "time" in alice.expect("pong")
    alice.post("send", room=room)
    error = alice.expect("error")
    assert error["code"] == "bad_request" and "id" not in error
    assert alice.inbox == []


def test_many_requests_at_once_get_one_reply_each(pair):
    alice, _, room = pair
    ids = [alice.begin("history", room=room) for _ in range(100)]
    for id in reversed(ids):
        alice.reply(id)
    assert alice.inbox == []


def test_requests_take_effect_in_the_order_sent(connect, names):
    user, room = names("alice", "room")
    alice = connect(user)
    kinds = ["join", "send", "leave", "send", "join"]
    ids = [alice.begin(kind, room=room, **({"body": 1} if kind == "send" else {})) for kind in kinds]
    assert alice.reply(ids[1])["seq"] == 1
    assert alice.expect("error", id=ids[3])["code"] == "not_joined"
    assert alice.reply(ids[4])["seq"] == 1


def test_live_order_is_seq_order_for_everybody(connect, names):
    *users, room = names("alice", "bob", "carol", "room")
    sessions = [connect(user) for user in users]
    for session in sessions:
        session.join(room)
    for number in range(30):
        for session in sessions:
            session.post("send", room=room, body=number)
    for session in sessions:
        seqs = [session.expect("message")["seq"] for _ in range(60)]
        assert seqs == sorted(set(seqs))
    kept = sessions[0].request("history", room=room, limit=300)["messages"]
    assert [message["seq"] for message in kept] == list(range(1, 91))
    for user in users:
        assert [message["body"] for message in kept if message["from"] == user] == list(range(30))


def test_the_same_key_is_one_message(connect, pair):
    alice, bob, room = pair
    first = alice.send(room, "once", key="k")
    again = connect(alice.user)
    again.join(room)
    second = again.send(room, "changed", key="k")
    assert (second["duplicate"], second["seq"], second["time"]) == (True, first["seq"], first["time"])
    assert "duplicate" not in first and "delivery" not in second
    assert bob.send(room, "mine", key="k")["seq"] == 2
    bob.expect("message", body="once")
    assert bob.received("message") == []


def test_a_key_in_a_race_is_one_message(pair):
    alice, bob, room = pair
    ids = [alice.begin("send", room=room, body="race", key="r") for _ in range(20)]
    replies = [alice.reply(id) for id in ids]
    assert {reply["seq"] for reply in replies} == {1}
    assert [reply.get("duplicate", False) for reply in replies].count(False) == 1
    bob.expect("message")
    assert bob.received("message") == []


def test_a_failed_send_frees_its_key(connect, names):
    user, room = names("alice", "room")
    alice = connect(user)
    assert alice.refusal("send", room=room, body=1, key="k")["code"] == "not_joined"
    alice.join(room)
    assert "duplicate" not in alice.send(room, 1, key="k")


@pytest.mark.parametrize("body", [None, "null", r'{"a":1.0,"b":"\u00e9"}'])
def test_a_signal_is_relayed_and_not_stored(pair, body):
    alice, bob, room = pair
    field = "" if body is None else f',"body":{body}'
    alice.send_text(f'{{"type":"signal","id":"s","room":"{room}","name":"typing"{field}}}')
    assert alice.reply("s")["type"] == "ok"
    signal = bob.expect("signal")
    assert (signal["room"], signal["from"], signal["name"]) == (room, alice.user, "typing")
    assert (signal.body_text if "body" in signal else None) == body
    assert bob.join(room, history=10)["seq"] == 0
    assert alice.received("signal") == []


def test_sending_and_reading_move_the_read_mark(pair):
    alice, bob, room = pair
    for body in ("one", "two", "three"):
        alice.send(room, body)
    assert bob.join(room)["read"] == 0
    assert bob.request("read", room=room, seq=2)["type"] == "ok"
    assert bob.request("read", room=room, seq=1)["type"] == "ok"
    assert bob.join(room)["read"] == 2
    assert bob.request("received", room=room, seq=3)["type"] == "ok"
    assert alice.join(room)["read"] == 3
    assert bob.refusal("read", room=room, seq=4)["code"] == "bad_request"
    assert bob.refusal("received", room=room, seq=4)["code"] == "bad_request"


def test_a_live_room_keeps_nothing(connect, names):
    alice_name, bob_name, stem = names("alice", "bob", "stage")
    room = f"live.{stem}"
    alice, bob = connect(alice_name), connect(bob_name)
    alice.join(room)
    bob.join(room)
    assert alice.send(room, "now")["seq"] == 1
    assert bob.expect("message")["body"] == "now"
    joined = bob.join(room, history=10)
    assert (joined["seq"], joined["messages"]) == (1, [])


def test_frames_carry_every_name_once(pair):
    """Python's parser keeps the last of two equal keys, so this test reads the pairs."""
    alice, bob, room = pair
    alice.send(room, {"body": {"type": "x"}}, key="k")

    def pairs(found: list[tuple[str, object]]) -> dict[str, object]:
        assert len({key for key, _ in found}) == len(found), found
        return dict(found)

    frames: list[Frame] = [alice.welcome, alice.join(room, history=1), bob.expect("message"), alice.request("ping")]
    for frame in frames:
        json.loads(frame.text, object_pairs_hook=pairs)
