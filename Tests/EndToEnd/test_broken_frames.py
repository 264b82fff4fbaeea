# SPDX-License-Identifier: Apache-2.0
"""Frames that are not requests: the relay closes the session with a code that states the reason."""

import struct

import pytest

from api import call
from rfc6455 import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, frame
from wire import Wire


@pytest.fixture
def wire(relay, names):
    """A connection after `welcome`."""
    with Wire(relay) as wire:
        yield wire.open(names("hostile")[0])


def ping_of(size):
    """Returns a `ping` of exactly this number of bytes."""
    text = b'{"type":"ping","id":1,"pad":"%s"}'
    return text % (b"x" * (size - len(text) + 2))


#: One message of each kind. `json_test.c` and `frame_test.c` in `CRelayTests` have all cases.
REFUSED = {
    "no JSON": (frame(TEXT, b"{"), 4500),
    "no UTF-8": (frame(TEXT, b'{"type":"ping","id":"\xff"}'), 4500),
    "binary": (frame(BINARY, b'{"type":"ping"}'), 4500),
    "too large": (frame(TEXT, ping_of(65_537)), 4505),
}


@pytest.mark.parametrize("bytes_, code", REFUSED.values(), ids=REFUSED)
def test_a_message_that_is_no_request_closes_the_session(wire, bytes_, code):
    wire.send_bytes(bytes_)
    ending = wire.ending()
    assert ending.bye is not None, ending
    assert (ending.bye["code"], ending.code) == (code, code), ending
    assert isinstance(ending.bye["reason"], str) and ending.bye["reason"]
    assert ending.bye["reconnect"] is False
    assert {one["type"] for one in ending.frames[:-1]} <= {"error"}, ending


def test_half_of_a_surrogate_pair_is_an_error_and_the_session_goes_on(relay, wire, names):
    (room,) = names("room")
    wire.send_request("join", id=7, room=room)
    assert wire.reply(7)["type"] == "ok"
    wire.send_text(r'{"type":"send","id":1,"room":"%s","body":1,"push":{"title":"\ud83d","body":"\ude00"}}' % room)
    answer = wire.reply(1)
    assert (answer["type"], answer["code"]) == ("error", "bad_request")
    assert "surrogate" in answer["message"]
    wire.send_request("ping", id=2)
    assert wire.reply(2)["type"] == "pong"
    posted = b'{"from":"bob","body":"\\ud83d"}'
    assert call(relay, "POST", f"/v1/rooms/{room}/messages", posted).problem["code"] == "bad_request"


def test_a_frame_of_the_largest_size_is_served(wire):
    wire.send_text(ping_of(65_536))
    assert wire.reply(1)["type"] == "pong"


def test_a_ping_of_any_length_is_answered_and_an_unsolicited_pong_is_ignored(wire):
    for payload in (b"x", b"x" * 125):
        wire.send_bytes(frame(PING, payload))
        assert wire.frame() == (PONG, payload)
    wire.send_bytes(frame(PONG, b"unasked"))
    wire.send_request("ping", id=1)
    assert wire.reply(1)["type"] == "pong"


#: Broken framing with the close code of the relay. libwebsockets 4.1.6 ends some connections without a close, where
#: RFC 6455 requires 1002. The protocol reference documents this.
BROKEN = {
    "opcode 3": (frame(3, b"x"), 1002),
    "opcode 11": (frame(11, b"x"), 1002),
    "reserved bit 1": (frame(TEXT, b"{}", reserved=4), 1002),
    "reserved bit 3": (frame(TEXT, b"{}", reserved=1), 1002),
    "fragmented ping": (frame(PING, b"x", is_final=False), 1002),
    "continuation of nothing": (frame(CONTINUATION, b"{}"), 1002),
    "text inside a fragmented text": (frame(TEXT, b"{", is_final=False) + frame(TEXT, b"}"), 1002),
    "close with half a code": (frame(CLOSE, b"x"), 1002),
    "close with 999": (frame(CLOSE, struct.pack("!H", 999)), 1002),
    "close with 1005": (frame(CLOSE, struct.pack("!H", 1005)), 1002),
    "ping of 126 bytes": (frame(PING, b"x" * 126), None),
    "close of 126 bytes": (frame(CLOSE, struct.pack("!H", 1000) + b"x" * 124), None),
    "length of more than 63 bits": (b"\x81" + b"\xff" * 9 + b"\0" * 4, None),
    "a close": (frame(CLOSE, struct.pack("!H", 1000)), 1000),
}


@pytest.mark.parametrize("bytes_, code", BROKEN.values(), ids=BROKEN)
def test_broken_framing_and_a_close_end_the_connection_without_bye(wire, bytes_, code):
    wire.send_bytes(bytes_)
    ending = wire.ending()
    assert (ending.code, ending.frames) == (code, [])


#: libwebsockets 4.1.6 accepts these frames, which RFC 6455 forbids. The protocol reference documents this.
TOLERATED = {
    "not masked": b"\x81\x16" + b'{"type":"ping","id":1}',
    "length of 16 bits for 22 bytes": b"\x81\xfe\x00\x16\0\0\0\0" + b'{"type":"ping","id":1}',
    "length of 64 bits for 22 bytes": b"\x81\xff" + struct.pack("!Q", 22) + b"\0\0\0\0" + b'{"type":"ping","id":1}',
}


@pytest.mark.parametrize("bytes_", TOLERATED.values(), ids=TOLERATED.keys())
def test_framing_that_the_library_tolerates_is_served(wire, bytes_):
    wire.send_bytes(bytes_)
    assert wire.reply(1)["type"] == "pong"


@pytest.mark.parametrize("garbage", [b"\r\n\r\n", b"GET / HTTP/1.1", b"\x16\x03\x01\x02\x00\x01\x00", b"\0" * 4096])
def test_garbage_instead_of_http_does_not_affect_others(relay, connect, names, garbage):
    with Wire(relay) as wire:
        wire.send_bytes(garbage)
        assert connect(*names("alice")).request("ping")["type"] == "pong"
