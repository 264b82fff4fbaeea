# SPDX-License-Identifier: Apache-2.0
"""The handshake and the first frame of a session in open mode."""

import json

import pytest

from wire import Wire

GREETINGS = {
    "no user": ({"type": "hello"}, "bad_request"),
    "user null": ({"type": "hello", "user": None}, "bad_request"),
    "user a number": ({"type": "hello", "user": 5}, "bad_request"),
    "user empty": ({"type": "hello", "user": ""}, "bad_request"),
    "user me": ({"type": "hello", "user": "me"}, "bad_request"),
    "user dot dot": ({"type": "hello", "user": ".."}, "bad_request"),
    "user with blank": ({"type": "hello", "user": "a b"}, "bad_request"),
    "user not ASCII": ({"type": "hello", "user": "josé"}, "bad_request"),
    "user too long": ({"type": "hello", "user": "u" * 129}, "bad_request"),
    "name a number": ({"type": "hello", "user": "u", "name": 5}, "bad_request"),
    "name too long": ({"type": "hello", "user": "u", "name": "n" * 257}, "bad_request"),
    "name too long in bytes": ({"type": "hello", "user": "u", "name": "é" * 129}, "bad_request"),
    "avatar too long": ({"type": "hello", "user": "u", "avatar": "a" * 2049}, "bad_request"),
    "device bad": ({"type": "hello", "user": "u", "device": "a/b"}, "bad_request"),
    "device a number": ({"type": "hello", "user": "u", "device": 5}, "bad_request"),
    "acks a string": ({"type": "hello", "user": "u", "acks": "yes"}, "bad_request"),
    "unknown activity": ({"type": "hello", "user": "u", "activity": "asleep"}, "bad_request"),
    "client a string": ({"type": "hello", "user": "u", "client": "x"}, "bad_request"),
    "id bad": ({"type": "hello", "user": "u", "id": 1.5}, "bad_request"),
    "token in open mode": ({"type": "hello", "token": "a.b.c"}, "unsupported"),
    "token and user in open mode": ({"type": "hello", "user": "u", "token": "a.b.c"}, "unsupported"),
    "ping first": ({"type": "ping"}, None),
    "join first": ({"type": "join", "room": "room"}, None),
    "unknown type first": ({"type": "hullo", "user": "u"}, None),
    "no type": ({"user": "u"}, None),
}


@pytest.mark.parametrize("greeting, code", GREETINGS.values(), ids=GREETINGS.keys())
def test_a_refused_hello_is_error_then_bye_then_close(relay, greeting, code):
    with Wire(relay) as wire:
        wire.open().send_text(json.dumps({"id": 1} | greeting))
        ending = wire.ending()
    assert [one["type"] for one in ending.frames] == ["error", "bye"]
    (error,) = ending.errors
    assert code is None or error["code"] == code
    assert ("id" in error) == (greeting.get("id") is None)
    assert (ending.bye["code"], ending.bye["reconnect"], ending.code) == (4500, False, 4500)


@pytest.mark.parametrize("text", ["", "{", "[]", "hello"])
def test_a_first_frame_that_is_not_json_closes_the_session(relay, text):
    with Wire(relay) as wire:
        wire.open().send_text(text)
        ending = wire.ending()
    assert (ending.bye["code"], ending.code) == (4500, 4500)


def test_nothing_after_a_refused_hello_is_served(relay, connect, names):
    user, room = names("alice", "room")
    alice = connect(user)
    alice.join(room)
    with Wire(relay) as wire:
        wire.open()
        wire.send_request("hello", user="a b")
        wire.send_request("hello", user="intruder")
        wire.send_request("join", room=room)
        wire.send_request("send", room=room, body="intruder")
        assert wire.ending().code == 4500
    assert alice.received("member") == [] and alice.received("message") == []


def test_hello_must_come_in_time(start):
    relay = start("--limits-hello-timeout", 0.5)
    with Wire(relay) as silent, Wire(relay) as prompt:
        silent.open()
        prompt.open("alice")
        ending = silent.ending()
        assert (ending.bye["code"], ending.bye["reconnect"], ending.code) == (4502, False, 4502)
        prompt.send_request("ping", id=1)
        assert prompt.reply(1)["type"] == "pong"


@pytest.mark.parametrize(
    "offered, answered",
    [
        ("stillwire.v1.json", "stillwire.v1.json"),
        ("mqtt, stillwire.v1.json", "stillwire.v1.json"),
        ("stillwire.v9.json,stillwire.v1.json , mqtt", "stillwire.v1.json"),
        (None, None),
    ],
)
def test_a_known_subprotocol_or_none_is_accepted(relay, names, offered, answered):
    with Wire(relay) as wire:
        answer = wire.upgrade({"Sec-WebSocket-Protocol": offered})
        assert answer.status == 101
        assert answer.headers.get("Sec-WebSocket-Protocol") == answered
        wire.send_request("hello", user=names("alice")[0])
        assert wire.text()["type"] == "welcome"


@pytest.mark.parametrize(
    "offered", ["mqtt", "stillwire.v2.json", "stillwire.v1", "mqtt, graphql-ws", "Stillwire.v1.json"]
)
def test_unknown_subprotocols_are_refused_at_the_handshake(relay, offered):
    with Wire(relay) as wire:
        assert wire.upgrade({"Sec-WebSocket-Protocol": offered}).status == 400


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_servers_own_origin_is_allowed(relay, host):
    with Wire(relay) as wire:
        own = f"{host}:{relay.port}"
        assert wire.upgrade({"Host": own, "Origin": f"http://{own}"}).status == 101


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://127.0.0.1",
        "http://127.0.0.1:1",
        "http://127.0.0.1:PORT.evil.example",
        "http://evil.example/http://127.0.0.1:PORT",
        "null",
    ],
)
def test_another_origin_is_forbidden(relay, origin):
    with Wire(relay) as wire:
        assert wire.upgrade({"Origin": origin.replace("PORT", str(relay.port))}).status == 403


@pytest.mark.parametrize(
    "origin, status",
    [
        ("https://chat.example", 101),
        ("https://other.example:8443", 101),
        ("file://", 101),
        ("file://host", 403),
        ("http://chat.example", 403),
        ("https://chat.example:444", 403),
        ("https://chat.example.evil.example", 403),
        ("http://127.0.0.1:PORT", 403),
        (None, 101),
    ],
)
def test_with_a_list_the_origins_on_it_are_allowed(start, origin, status):
    relay = start("--origins", "https://chat.example https://other.example:8443 file://")
    with Wire(relay) as wire:
        assert wire.upgrade({"Origin": origin and origin.replace("PORT", str(relay.port))}).status == status


@pytest.mark.parametrize("host", ["127.0.0.1:PORT", "localhost:PORT", "LOCALHOST:PORT", "[::1]:PORT", "127.0.0.1"])
def test_a_loopback_host_is_answered_in_open_mode(relay, host):
    with Wire(relay) as wire:
        assert wire.upgrade({"Host": host.replace("PORT", str(relay.port))}).status == 101


REBOUND = [
    "evil.example",
    "evil.example:PORT",
    "127.0.0.1.evil.example:PORT",
    "localhost.evil.example",
    "10.0.0.1:PORT",
]


@pytest.mark.parametrize("host", REBOUND)
def test_any_other_host_is_not_answered_in_open_mode(relay, host):
    host = host.replace("PORT", str(relay.port))
    with Wire(relay) as wire:
        assert 400 <= wire.upgrade({"Host": host}).status < 500
    for path in ("/v1/users/bob/presence", "/", "/v1/simulator/devices/t"):
        with Wire(relay) as wire:
            wire.send_bytes(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert 400 <= wire.response().status < 500


@pytest.mark.parametrize("version", ["8", "12", "14", "x"])
def test_another_version_of_the_protocol_is_refused_with_the_right_one(relay, version):
    with Wire(relay) as wire:
        answer = wire.upgrade({"Sec-WebSocket-Version": version})
    assert answer.status == 426
    assert answer.headers["Sec-WebSocket-Version"] == "13"
