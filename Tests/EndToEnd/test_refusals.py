# SPDX-License-Identifier: Apache-2.0
"""Requests that are JSON but wrong: each gets one `error` with its id, and the session stays open."""

import json

import pytest

LONG_ROOM = "r" * 256
LONG_NAME = "u" * 129
BEYOND = 2**53

#: Wrong requests, by their fault. ROOM is a room that the session has joined. It has one message.
BAD_REQUESTS = {
    "type missing": {},
    "type null": {"type": None},
    "type a number": {"type": 5},
    "type a list": {"type": ["ping"]},
    "join without room": {"type": "join"},
    "join, room null": {"type": "join", "room": None},
    "join, room a number": {"type": "join", "room": 5},
    "join, room an object": {"type": "join", "room": {"room": "x"}},
    "join, room empty": {"type": "join", "room": ""},
    "join, room too long": {"type": "join", "room": LONG_ROOM},
    "join, room with slash": {"type": "join", "room": "a/b"},
    "join, room with blank": {"type": "join", "room": "a b"},
    "join, room with percent": {"type": "join", "room": "a%2fb"},
    "join, room not ASCII": {"type": "join", "room": "café"},
    "join, room with NUL": {"type": "join", "room": "a\0b"},
    "join, room dot": {"type": "join", "room": "."},
    "join, room dot dot": {"type": "join", "room": ".."},
    "send, key with NUL": {"type": "send", "room": "ROOM", "body": 1, "key": "a\0b"},
    "device, app with NUL": {"type": "device", "device": "d", "platform": "simulator", "token": "t", "app": "a\0b"},
    "join, after a string": {"type": "join", "room": "ROOM", "after": "x"},
    "join, after a list": {"type": "join", "room": "ROOM", "after": ["x", 1]},
    "join, after without epoch": {"type": "join", "room": "ROOM", "after": {"seq": 0}},
    "join, after without seq": {"type": "join", "room": "ROOM", "after": {"epoch": "x"}},
    "join, epoch a number": {"type": "join", "room": "ROOM", "after": {"epoch": 5, "seq": 0}},
    "join, epoch too long": {"type": "join", "room": "ROOM", "after": {"epoch": "e" * 33, "seq": 0}},
    "join, seq negative": {"type": "join", "room": "ROOM", "after": {"epoch": "x", "seq": -1}},
    "join, seq a string": {"type": "join", "room": "ROOM", "after": {"epoch": "x", "seq": "1"}},
    "join, seq a fraction": {"type": "join", "room": "ROOM", "after": {"epoch": "x", "seq": 1.5}},
    "join, seq beyond 2^53": {"type": "join", "room": "ROOM", "after": {"epoch": "x", "seq": BEYOND}},
    "join, history negative": {"type": "join", "room": "ROOM", "history": -1},
    "join, history too many": {"type": "join", "room": "ROOM", "history": 301},
    "join, history a string": {"type": "join", "room": "ROOM", "history": "5"},
    "join, history a fraction": {"type": "join", "room": "ROOM", "history": 1.5},
    "join, history true": {"type": "join", "room": "ROOM", "history": True},
    "leave without room": {"type": "leave"},
    "leave, room a number": {"type": "leave", "room": 5},
    "leave, stay a string": {"type": "leave", "room": "ROOM", "stay": "yes"},
    "send without room": {"type": "send", "body": 1},
    "send without body": {"type": "send", "room": "ROOM"},
    "send, room bad": {"type": "send", "room": "a/b", "body": 1},
    "send, room a list": {"type": "send", "room": ["ROOM"], "body": 1},
    "send, key a number": {"type": "send", "room": "ROOM", "body": 1, "key": 5},
    "send, key too long": {"type": "send", "room": "ROOM", "body": 1, "key": "k" * 129},
    "send, key too long in bytes": {"type": "send", "room": "ROOM", "body": 1, "key": "é" * 65},
    "signal without room": {"type": "signal", "name": "typing"},
    "signal without name": {"type": "signal", "room": "ROOM"},
    "signal, name a number": {"type": "signal", "room": "ROOM", "name": 5},
    "signal, name too long": {"type": "signal", "room": "ROOM", "name": "n" * 129},
    "received without seq": {"type": "received", "room": "ROOM"},
    "received without room": {"type": "received", "seq": 1},
    "received, seq above the newest": {"type": "received", "room": "ROOM", "seq": 2},
    "received, seq negative": {"type": "received", "room": "ROOM", "seq": -1},
    "received, seq a string": {"type": "received", "room": "ROOM", "seq": "1"},
    "read without seq": {"type": "read", "room": "ROOM"},
    "read, seq above the newest": {"type": "read", "room": "ROOM", "seq": 2},
    "read, seq a fraction": {"type": "read", "room": "ROOM", "seq": 0.5},
    "read, seq beyond 2^63": {"type": "read", "room": "ROOM", "seq": 2**70},
    "history without room": {"type": "history"},
    "history, before and after": {"type": "history", "room": "ROOM", "before": 2, "after": 0},
    "history, limit too many": {"type": "history", "room": "ROOM", "limit": 301},
    "history, limit negative": {"type": "history", "room": "ROOM", "limit": -1},
    "history, limit a string": {"type": "history", "room": "ROOM", "limit": "x"},
    "history, before a string": {"type": "history", "room": "ROOM", "before": "x"},
    "history, after a fraction": {"type": "history", "room": "ROOM", "after": 0.5},
    "presence of nothing": {"type": "presence"},
    "presence, room a number": {"type": "presence", "room": 5},
    "presence, users a string": {"type": "presence", "users": "bob"},
    "presence, users of numbers": {"type": "presence", "users": [5]},
    "presence, a bad name": {"type": "presence", "users": ["bob", "a b"]},
    "presence, a name too long": {"type": "presence", "users": [LONG_NAME]},
    "presence, too many users": {"type": "presence", "users": [f"u{number}" for number in range(257)]},
    "focus without isFocused": {"type": "focus"},
    "focus, isFocused a string": {"type": "focus", "isFocused": "true"},
    "focus, isFocused a number": {"type": "focus", "isFocused": 1},
    "focus, unknown authorization": {"type": "focus", "isFocused": True, "authorization": "maybe"},
    "focus, authorization a number": {"type": "focus", "isFocused": True, "authorization": 1},
    "focus, device bad": {"type": "focus", "isFocused": True, "device": "a b"},
    "focus, device too long": {"type": "focus", "isFocused": True, "device": "d" * 129},
    "focus, at a string": {"type": "focus", "isFocused": True, "at": "now"},
    "focus, at a fraction": {"type": "focus", "isFocused": True, "at": 0.5},
    "focus, number a string": {"type": "focus", "isFocused": True, "number": "1"},
    "focus, number a fraction": {"type": "focus", "isFocused": True, "number": 1.5},
    "focus, unknown source": {"type": "focus", "isFocused": True, "source": "hearsay"},
    "device without device": {"type": "device", "platform": "simulator", "token": "t"},
    "device without platform": {"type": "device", "device": "d", "token": "t"},
    "device without token": {"type": "device", "device": "d", "platform": "simulator"},
    "device, unknown platform": {"type": "device", "device": "d", "platform": "pigeon", "token": "t"},
    "device, platform a number": {"type": "device", "device": "d", "platform": 5, "token": "t"},
    "device, token a number": {"type": "device", "device": "d", "platform": "simulator", "token": 5},
    "device, device bad": {"type": "device", "device": "a/b", "platform": "simulator", "token": "t"},
    "device, device too long": {"type": "device", "device": "d" * 129, "platform": "simulator", "token": "t"},
    "activity, unknown state": {"type": "activity", "state": "asleep"},
    "activity, state a number": {"type": "activity", "state": 5},
}

NOT_JOINED = {
    "send": {"type": "send", "room": "OTHER", "body": 1},
    "signal": {"type": "signal", "room": "OTHER", "name": "typing"},
    "received": {"type": "received", "room": "OTHER", "seq": 0},
    "read": {"type": "read", "room": "OTHER", "seq": 0},
    "history": {"type": "history", "room": "OTHER"},
}

UNKNOWN_TYPES = ["", "Ping", "ping ", "welcome", "ok", "message", "no such type", "x" * 1000, "p\0ing", "é"]

BAD_IDS = ['""', '"' + "x" * 65 + '"', '"' + "é" * 33 + '"', "9007199254740992", "-9007199254740992", "1.5"]
BAD_IDS += ["1e400", "true", "null", "[]", "{}", "123456789012345678901234567890"]


@pytest.fixture
def alice(connect, names):
    return connect(names("alice")[0])


@pytest.fixture
def room(alice, names):
    """A room that Alice has joined. It has one message."""
    (room,) = names("room")
    alice.join(room)
    alice.send(room, 1)
    return room


def assert_refused(session, error, code):
    assert error["code"] == code, error
    assert isinstance(error["message"], str) and error["message"]
    assert error["temporary"] is False
    assert "retryAfter" not in error
    assert session.request("ping")["type"] == "pong"
    assert session.inbox == []


@pytest.mark.parametrize("request_", BAD_REQUESTS.values(), ids=BAD_REQUESTS.keys())
def test_a_wrong_field_is_a_bad_request(alice, room, request_):
    fields = {key: room if value == "ROOM" else value for key, value in request_.items()}
    alice.send_text(json.dumps({"id": "bad"} | fields))
    assert_refused(alice, alice.expect("error", id="bad"), "bad_request")


@pytest.mark.parametrize("request_", NOT_JOINED.values(), ids=NOT_JOINED.keys())
def test_a_room_must_be_joined_first(alice, names, request_):
    (other,) = names("other")
    alice.send_text(json.dumps({"id": "early"} | request_ | {"room": other}))
    assert_refused(alice, alice.expect("error", id="early"), "not_joined")


@pytest.mark.parametrize("type", UNKNOWN_TYPES, ids=lambda type: repr(type[:12]))
def test_an_unknown_type_is_unsupported(alice, type):
    alice.send_text(json.dumps({"type": type, "id": 7}))
    assert_refused(alice, alice.expect("error", id=7), "unsupported")


@pytest.mark.parametrize("id", BAD_IDS, ids=lambda id: id[:12])
def test_a_bad_id_is_a_bad_request_without_id(alice, id):
    alice.send_text(f'{{"type":"history","room":"room","id":{id}}}')
    error = alice.expect("error")
    assert "id" not in error
    assert_refused(alice, error, "bad_request")


@pytest.mark.parametrize(
    "fields",
    [
        '"type":"ping","type":"ping"',
        '"type":"ping","unknown":1,"unknown":1',
        '"type":"send","room":"ROOM","body":1,"body":1',
        '"type":"send","room":"ROOM","room":"ROOM","body":1',
        r'"type":"send","room":"ROOM","body":1,"key":"a","\u006bey":"a"',
        '"type":"join","room":"ROOM","after":{"epoch":"x","seq":1,"seq":1}',
    ],
)
def test_a_key_given_twice_is_a_bad_request(alice, room, fields):
    alice.send_text(f'{{"id":1,{fields.replace("ROOM", room)}}}')
    assert_refused(alice, alice.expect("error", id=1), "bad_request")


@pytest.mark.parametrize("open_, close", [("[", "]"), ('{"a":', "}")], ids=["lists", "objects"])
@pytest.mark.parametrize("field", ["body", "unknown"])
def test_nesting_too_deep_is_a_bad_request(alice, room, open_, close, field):
    def nested(depth):
        return open_ * depth + "1" + close * depth

    fields = "" if field == "body" else '"body":1,'
    for depth, id in ((100, 1), (130, 2), (5_000, 3)):
        alice.send_text(f'{{"type":"send","id":{id},"room":"{room}",{fields}"{field}":{nested(depth)}}}')
    assert alice.reply(1)["seq"] == 2
    errors = [alice.expect("error", id=id) for id in (2, 3)]
    for error in errors:
        assert_refused(alice, error, "bad_request")
    assert alice.send(room, "after")["seq"] == 3


def test_a_second_hello_is_a_conflict_and_changes_nothing(alice, room, names):
    (other,) = names("other")
    assert_refused(alice, alice.refusal("hello", user=other), "conflict")
    assert_refused(alice, alice.refusal("hello", user=alice.user), "conflict")
    assert alice.join(room)["members"][0]["user"] == alice.user


def test_rejected_requests_change_nothing(alice, room, names):
    bad = [{"type": "send", "room": room}, {"type": "send", "room": room, "body": 2, "key": 5}]
    for request in bad:
        assert alice.refusal(**request)["code"] == "bad_request"
    assert alice.send(room, 3)["seq"] == 2
    assert [message["body"] for message in alice.request("history", room=room)["messages"]] == [1, 3]


def test_a_deleted_message_is_not_edited(alice, connect, room, names):
    bob = connect(*names("bob"))
    bob.join(room)
    alice.request("delete", room=room, seq=1)
    assert alice.refusal("edit", room=room, seq=1, body=2)["code"] == "not_found"
    assert len(bob.received("deleted")) == 1
    assert bob.received("edited") == []


def test_names_at_their_limits_are_accepted(connect, names):
    (unique,) = names("n")
    user = (unique + "-_.:@!|+=~" + "u" * 128)[:128]
    room = (unique + "-_.:@!|+=~" + "r" * 255)[:255]
    avatar = "https://" + "a" * 2040
    session = connect(user, name="é" * 128, avatar=avatar)
    (me,) = session.join(room, history=300)["members"]
    assert (me["name"], me["avatar"]) == ("é" * 128, avatar)
    assert session.join(room, after={"epoch": "e" * 32, "seq": 2**53 - 1})["recovered"] is False
    assert session.send(room, 1, key="k" * 128)["seq"] == 1
    session.request("signal", room=room, name="n" * 128)
    session.request("device", device="d" * 128, platform="simulator", token=unique)
    assert len(session.request("presence", users=[f"u{number}" for number in range(256)])["presence"]) == 256


def test_a_room_may_be_called_me(connect, names):
    assert connect(*names("alice")).join("me")["room"] == "me"
