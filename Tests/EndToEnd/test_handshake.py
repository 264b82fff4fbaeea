# SPDX-License-Identifier: Apache-2.0
"""The handshake and the first frame of a session in open mode."""

import json

import pytest

from wire import Wire, new_address

RELAY_OPTIONS = ("--web", "web")

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
    with Wire(relay, address=new_address()) as wire:
        wire.open().send_text(json.dumps({"id": 1} | greeting))
        ending = wire.ending()
    assert [one["type"] for one in ending.frames] == ["error", "bye"]
    (error,) = ending.errors
    assert code is None or error["code"] == code
    assert ("id" in error) == (greeting.get("id") is None)
    assert (ending.bye["code"], ending.bye["reconnect"], ending.code) == (4500, False, 4500)


@pytest.mark.parametrize("text", ["", "{", "[]", "hello"])
def test_a_first_frame_that_is_not_json_closes_the_session(relay, text):
    with Wire(relay, address=new_address()) as wire:
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


# `handshake_test.c` and `http_cases_test.c` have all cases of subprotocols, origins, hosts and versions.


def test_a_known_subprotocol_is_accepted(relay, names):
    with Wire(relay) as wire:
        answer = wire.upgrade({"Sec-WebSocket-Protocol": "stillwire.v9.json,stillwire.v1.json , mqtt"})
        assert answer.status == 101
        assert answer.headers.get("Sec-WebSocket-Protocol") == "stillwire.v1.json"
        wire.send_request("hello", user=names("alice")[0])
        assert wire.text()["type"] == "welcome"


@pytest.mark.parametrize(
    "headers, status",
    [
        ({"Sec-WebSocket-Protocol": "mqtt, graphql-ws"}, 400),
        ({"Host": "localhost:PORT", "Origin": "http://localhost:PORT"}, 101),
        ({"Origin": "http://127.0.0.1:PORT.evil.example"}, 403),
        ({"Host": "[::1]:PORT"}, 101),
    ],
    ids=str,
)
def test_the_headers_of_a_handshake(relay, headers, status):
    sent = {name: value.replace("PORT", str(relay.port)) for name, value in headers.items()}
    with Wire(relay) as wire:
        assert wire.upgrade(sent).status == status


def test_with_a_list_the_origins_on_it_are_allowed(start):
    relay = start("--origins", "https://chat.example https://other.example:8443 file://")
    for origin, status in (("https://other.example:8443", 101), (f"http://127.0.0.1:{relay.port}", 403)):
        with Wire(relay) as wire:
            assert wire.upgrade({"Origin": origin}).status == status


def test_any_other_host_is_not_answered_in_open_mode(relay):
    host = f"127.0.0.1.evil.example:{relay.port}"
    with Wire(relay) as wire:
        assert wire.upgrade({"Host": host}).status == 403
    for path in ("/v1/users/bob/presence", "/", "/v1/simulator/devices/t"):
        with Wire(relay) as wire:
            wire.send_bytes(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert wire.response().status == 403


def test_another_version_of_the_protocol_is_refused_with_the_right_one(relay):
    with Wire(relay) as wire:
        answer = wire.upgrade({"Sec-WebSocket-Version": "12"})
    assert answer.status == 426
    assert answer.headers["Sec-WebSocket-Version"] == "13"
