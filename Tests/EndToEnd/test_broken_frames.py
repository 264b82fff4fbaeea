# SPDX-License-Identifier: Apache-2.0
"""Frames that are not requests: the relay closes the session with a code that states the reason."""

import struct

import pytest

from api import call
from rfc6455 import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, frame
from wire import Wire

#: Texts that are not JSON objects. Some are a `ping` in which only one member is wrong.
NOT_JSON = [
    "",
    " ",
    "\n",
    "{",
    "}",
    "{}}",
    "{}{}",
    "{} x",
    "{},",
    "[]",
    "[{}]",
    '"ping"',
    "1",
    "null",
    "true",
    "nul",
    "undefined",
    "ping",
    "{type:'ping'}",
    "{'type':'ping'}",
    "{“type”:“ping”}",
    '{"type":"ping",}',
    '{,"type":"ping"}',
    '{"type":"ping",,"id":1}',
    '{"type":"ping" "id":1}',
    '{"type":"ping";"id":1}',
    '{"type""ping"}',
    '{"type"}',
    '{"type":}',
    '{:"ping"}',
    '{"type"="ping"}',
    '{"type":"ping"',
    '{"type":"ping',
    '{"type":"ping"]',
    '{"type":"ping","a":[1,2}',
    '{"type":"ping","a":[1 2]}',
    '{"type":"ping","a":[1,]}',
    '{"type":"ping","a":[,1]}',
    '{"type":"ping","a":[}',
    '{"type":"ping","a":{"b"}}',
    '{1:2,"type":"ping"}',
    '{null:1,"type":"ping"}',
    '{"type":"ping"}\0',
    '\0{"type":"ping"}',
    '{"type":"ping"\0}',
    '{"type":"ping"}\0{"type":"ping"}',
    '{"type":"ping"}/**/',
    '{"type":"ping"/**/}',
    '{"type":"ping"}//',
    '# {"type":"ping"}',
    '\u00a0{"type":"ping"}',
    '\x0b{"type":"ping"}',
    '\x0c{"type":"ping"}',
]

#: Values that are not JSON. Each is the `body` of a `send`.
NOT_VALUES = [
    "01",
    "-01",
    "+1",
    ".5",
    "1.",
    "-",
    "--1",
    "1e",
    "1e+",
    "1.e1",
    "0x10",
    "1_000",
    "1,000",
    "NaN",
    "-Infinity",
    "Infinity",
    "True",
    "nulL",
    "tru",
    "'x'",
    "x",
    '"',
    '"a\nb"',
    '"a\tb"',
    '"\x01"',
    '"\x00"',
    r'"\x41"',
    r'"\u12"',
    r'"\u12G4"',
    r'"\U0041"',
    r'"\'"',
    '"\\',
    '"\\"',
    '"a" "b"',
    "[1,2",
    "(1)",
    "/*1*/1",
    "1//",
]

NOT_UTF8 = {
    "lone continuation": b"\x80",
    "cut sequence": b"\xc3",
    "overlong slash": b"\xc0\xaf",
    "overlong NUL": b"\xe0\x80\x80",
    "surrogate": b"\xed\xa0\x80",
    "beyond Unicode": b"\xf4\x90\x80\x80",
    "five bytes": b"\xf8\x88\x80\x80\x80",
    "0xFF": b"\xff",
    "Latin-1": "é".encode("latin-1"),
}


@pytest.fixture
def wire(relay, names):
    """A connection after `welcome`."""
    with Wire(relay) as wire:
        yield wire.open(names("hostile")[0])


def assert_closed(wire, code):
    """Checks that the relay sends `bye` and closes with the same code."""
    ending = wire.ending()
    assert ending.bye is not None, ending
    assert (ending.bye["code"], ending.code) == (code, code), ending
    assert isinstance(ending.bye["reason"], str) and ending.bye["reason"]
    assert ending.bye["reconnect"] is (code < 4500)
    assert {one["type"] for one in ending.frames[:-1]} <= {"error"}, ending


@pytest.mark.parametrize("text", NOT_JSON, ids=ascii)
def test_a_frame_that_is_not_a_json_object_closes_the_session(wire, text):
    wire.send_text(text)
    assert_closed(wire, 4500)


@pytest.mark.parametrize("value", NOT_VALUES, ids=ascii)
def test_a_body_that_is_not_json_closes_the_session(wire, value):
    wire.send_text(f'{{"type":"send","id":1,"room":"room","body":{value}}}')
    assert_closed(wire, 4500)


@pytest.mark.parametrize("bad", NOT_UTF8.values(), ids=NOT_UTF8.keys())
@pytest.mark.parametrize("place", ["body", "key", "type", "unknown"])
def test_text_that_is_not_utf8_closes_the_session(wire, bad, place):
    wire.send_text(b'{"id":1,"%s":"x%sx"}' % (place.encode(), bad))
    assert_closed(wire, 4500)


HALVES = [
    r'{"type":"send","id":1,"room":"ROOM","body":"\ud83d"}',
    r'{"type":"send","id":1,"room":"ROOM","body":{"a":["cut \ud83d"],"\udc00":1}}',
    r'{"type":"send","id":1,"room":"ROOM","body":1,"key":"\ud83d"}',
    r'{"type":"send","id":1,"room":"ROOM","body":1,"push":{"title":"\ud83d","body":"\ude00"}}',
    r'{"type":"join","id":1,"room":"\ud83d"}',
    r'{"type":"signal","id":1,"room":"ROOM","name":"x","body":"\ud83d\ud83d"}',
]


@pytest.mark.parametrize("text", HALVES)
def test_half_of_a_surrogate_pair_is_an_error_and_the_session_goes_on(relay, connect, wire, names, text):
    other, (room,) = connect(names("other")[0]), names("room")
    other.join(room)
    wire.send_request("join", id=7, room=room)
    assert wire.reply(7)["type"] == "ok"
    wire.send_text(text.replace("ROOM", room))
    answer = wire.reply(1)
    assert (answer["type"], answer["code"]) == ("error", "bad_request")
    assert "surrogate" in answer["message"]
    wire.send_text(r'{"type":"send","id":2,"room":"%s","body":"\ud83d\ude00"}' % room)
    assert wire.reply(2)["type"] == "ok"
    assert other.expect("message")["body"] == "\U0001f600"
    posted = b'{"from":"bob","body":"\\ud83d"}'
    assert call(relay, "POST", f"/v1/rooms/{room}/messages", posted).problem["code"] == "bad_request"


@pytest.mark.parametrize("payload", [b"", b'{"type":"ping"}', b"\0" * 1000])
def test_a_binary_frame_closes_the_session(wire, payload):
    wire.send_bytes(frame(BINARY, payload))
    assert_closed(wire, 4500)


def ping_of(size):
    """Returns a `ping` of exactly this number of bytes."""
    text = b'{"type":"ping","id":1,"pad":"%s"}'
    return text % (b"x" * (size - len(text) + 2))


def test_a_frame_of_the_largest_size_is_served(wire):
    wire.send_text(ping_of(65_536))
    assert wire.reply(1)["type"] == "pong"


@pytest.mark.parametrize("size", [65_537, 70_000, 1_000_000])
def test_a_frame_above_the_limit_closes_the_session(wire, size):
    wire.send_text(ping_of(size))
    assert_closed(wire, 4505)


def test_fragments_above_the_limit_close_the_session(wire):
    whole = ping_of(80_000)
    wire.send_bytes(frame(TEXT, whole[:40_000], is_final=False))
    wire.send_bytes(frame(CONTINUATION, whole[40_000:]))
    assert_closed(wire, 4505)


def test_fragments_make_one_request(wire):
    whole = '{"type":"ping","id":"é🙂"}'.encode()
    pieces = [whole[at : at + 1] for at in range(len(whole))]
    wire.send_bytes(frame(TEXT, pieces[0], is_final=False))
    for piece in pieces[1:-1]:
        wire.send_bytes(frame(CONTINUATION, piece, is_final=False))
        wire.send_bytes(frame(PING, b"between"))
    wire.send_bytes(frame(CONTINUATION, pieces[-1]))
    assert wire.reply("é🙂")["type"] == "pong"


def test_a_ping_is_answered_with_its_payload(wire):
    for payload in (b"x", b"x" * 125):
        wire.send_bytes(frame(PING, payload))
        assert wire.frame() == (PONG, payload)


def test_an_unsolicited_pong_is_ignored(wire):
    wire.send_bytes(frame(PONG, b"unasked"))
    wire.send_request("ping", id=1)
    assert wire.reply(1)["type"] == "pong"


VIOLATIONS = {
    "opcode 3": frame(3, b"x"),
    "opcode 11": frame(11, b"x"),
    "reserved bit 1": frame(TEXT, b"{}", reserved=4),
    "reserved bit 3": frame(TEXT, b"{}", reserved=1),
    "fragmented ping": frame(PING, b"x", is_final=False),
    "continuation of nothing": frame(CONTINUATION, b"{}"),
    "text inside a fragmented text": frame(TEXT, b"{", is_final=False) + frame(TEXT, b"}"),
    "close with half a code": frame(CLOSE, b"x"),
    "close with 999": frame(CLOSE, struct.pack("!H", 999)),
    "close with 1005": frame(CLOSE, struct.pack("!H", 1005)),
}


@pytest.mark.parametrize("bytes_", VIOLATIONS.values(), ids=VIOLATIONS.keys())
def test_broken_framing_closes_without_bye(wire, bytes_):
    wire.send_bytes(bytes_)
    ending = wire.ending()
    assert (ending.code, ending.frames) == (1002, [])


#: libwebsockets 4.1.6 ends the connection without a close, where RFC 6455 requires 1002. The protocol reference
#: documents this.
CUT = {
    "ping of 126 bytes": frame(PING, b"x" * 126),
    "close of 126 bytes": frame(CLOSE, struct.pack("!H", 1000) + b"x" * 124),
    "length of more than 63 bits": b"\x81" + b"\xff" * 9 + b"\0" * 4,
}


@pytest.mark.parametrize("bytes_", CUT.values(), ids=CUT.keys())
def test_framing_that_the_library_cuts_ends_the_connection_without_a_close(wire, bytes_):
    wire.send_bytes(bytes_)
    ending = wire.ending()
    assert (ending.code, ending.frames) == (None, [])


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


def test_a_close_is_answered_by_a_close(wire):
    wire.send_bytes(frame(CLOSE, struct.pack("!H", 1000)))
    ending = wire.ending()
    assert (ending.code, ending.frames) == (1000, [])


@pytest.mark.parametrize("garbage", [b"\r\n\r\n", b"GET / HTTP/1.1", b"\x16\x03\x01\x02\x00\x01\x00", b"\0" * 4096])
def test_garbage_instead_of_http_does_not_affect_others(relay, connect, names, garbage):
    with Wire(relay) as wire:
        wire.send_bytes(garbage)
        assert connect(*names("alice")).request("ping")["type"] == "pong"
