# SPDX-License-Identifier: Apache-2.0
"""Requests that are JSON but wrong: each gets one `error` with its id, and the session stays open."""

import json

import pytest

#: Wrong requests that need a session. The position of a `join` is in ROOM. `request_test.c` and `BadFieldsTests` have
#: the other requests.
BAD_REQUESTS = [
    {}, {"type": "join"}, *({"type": "join", "room": room} for room in (
        None, 5, {"room": "x"}, "", "r" * 256, "a/b", "a b", "a%2fb", "café", "a\0b", ".", "..",
    )),
    *({"type": "join", "room": "ROOM", "after": after} for after in (
        "x", ["x", 1], {"seq": 0}, {"epoch": "x"}, {"epoch": 5, "seq": 0}, {"epoch": "e" * 33, "seq": 0},
        {"epoch": "x", "seq": -1}, {"epoch": "x", "seq": "1"}, {"epoch": "x", "seq": 1.5}, {"epoch": "x", "seq": 2**53},
    )),
    *({"type": "join", "room": "ROOM", "history": history} for history in (-1, 301, "5", 1.5, True)),
    {"type": "leave"}, {"type": "leave", "room": 5}, {"type": "leave", "room": "ROOM", "stay": "yes"},
    {"type": "presence"},
]  # fmt: skip
NOT_JOINED = {
    "send": {"type": "send", "room": "OTHER", "body": 1},
    "signal": {"type": "signal", "room": "OTHER", "name": "typing"},
    "received": {"type": "received", "room": "OTHER", "seq": 0},
    "read": {"type": "read", "room": "OTHER", "seq": 0},
    "history": {"type": "history", "room": "OTHER"},
}

UNKNOWN_TYPES = ["Ping", "welcome", "p\0ing"]

BAD_IDS = ['"' + "é" * 33 + '"', "1e400", "[]"]


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


def test_a_wrong_field_is_a_bad_request(alice, room):
    for request in BAD_REQUESTS:
        fields = {key: room if value == "ROOM" else value for key, value in request.items()}
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


def test_a_key_given_twice_is_a_bad_request(alice, room):
    alice.send_text(r'{"id":1,"type":"send","room":"%s","body":1,"key":"a","\u006bey":"a"}' % room)
    assert_refused(alice, alice.expect("error", id=1), "bad_request")


def test_nesting_too_deep_is_a_bad_request(alice, room):
    for depth, id in ((100, 1), (130, 2), (5_000, 3)):
        alice.send_text(f'{{"type":"send","id":{id},"room":"{room}","body":{"[" * depth + "]" * depth}}}')
    assert alice.reply(1)["seq"] == 2
    errors = [alice.expect("error", id=id) for id in (2, 3)]
    for error in errors:
        assert_refused(alice, error, "bad_request")
    assert alice.send(room, "after")["seq"] == 3


def test_rejected_requests_change_nothing(alice, room):
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
