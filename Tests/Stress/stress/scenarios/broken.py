# SPDX-License-Identifier: Apache-2.0
"""Invalid input, and the exact answer to it."""

import asyncio
import json

from relay import DEADLINE
from rfc6455 import BINARY, CLOSE, CONTINUATION, PING, TEXT, Connection, frame, upgrade_request

from stress.registry import BRISK, UNLIMITED, scenario
from stress.session import Refused, Session
from stress.stage import Stage

#: Text frames that end the session with 4500, by name.
FATAL = {
    "empty": b"",
    "space": b"  ",
    "half an object": b'{"type":"ping"',
    "two objects": b'{"type":"ping"}{"type":"ping"}',
    "trailing comma": b'{"type":"ping",}',
    "single quotes": b"{'type':'ping'}",
    "array": b'[{"type":"ping"}]',
    "string": b'"ping"',
    "number": b"7",
    "null": b"null",
    "raw control character": b'{"type":"ping","x":"\x01"}',
    "lone escape": b'{"type":"ping","x":"\\"}',
    "bad escape": b'{"type":"ping","x":"\\q"}',
    "leading zero": b'{"type":"ping","x":01}',
    "plus": b'{"type":"ping","x":+1}',
    "bare dot": b'{"type":"ping","x":.5}',
    "NaN": b'{"type":"ping","x":NaN}',
    "comment": b'{"type":"ping"/**/}',
    "NUL behind": b'{"type":"ping"}\0',
    "byte order mark": b'\xef\xbb\xbf{"type":"ping"}',
    "overlong UTF-8": b'{"type":"ping","x":"\xc0\xaf"}',
    "surrogate in UTF-8": b'{"type":"ping","x":"\xed\xa0\x80"}',
    "cut UTF-8": b'{"type":"ping","x":"\xe2\x82"}',
    "past Unicode": b'{"type":"ping","x":"\xf4\x90\x80\x80"}',
}

#: Requests that get an error and keep the session open, with the error code.
WRONG = {
    "no type": ({}, "bad_request"),
    "type is a number": ({"type": 7}, "bad_request"),
    "type is null": ({"type": None}, "bad_request"),
    "unknown type": ({"type": "sing"}, "unsupported"),
    "type in capitals": ({"type": "PING"}, "unsupported"),
    "join without room": ({"type": "join"}, "bad_request"),
    "room is a number": ({"type": "join", "room": 7}, "bad_request"),
    "empty room": ({"type": "join", "room": ""}, "bad_request"),
    "room of 256 bytes": ({"type": "join", "room": "r" * 256}, "bad_request"),
    "room with a space": ({"type": "join", "room": "a b"}, "bad_request"),
    "room with a slash": ({"type": "join", "room": "a/b"}, "bad_request"),
    "room dot": ({"type": "join", "room": "."}, "bad_request"),
    "room dot dot": ({"type": "join", "room": ".."}, "bad_request"),
    "room of umlauts": ({"type": "join", "room": "\u00fc"}, "bad_request"),
    "after is a number": ({"type": "join", "room": "r", "after": 7}, "bad_request"),
    "after without epoch": ({"type": "join", "room": "r", "after": {"seq": 1}}, "bad_request"),
    "after without seq": ({"type": "join", "room": "r", "after": {"epoch": "e"}}, "bad_request"),
    "after below zero": ({"type": "join", "room": "r", "after": {"epoch": "e", "seq": -1}}, "bad_request"),
    "after with a fraction": ({"type": "join", "room": "r", "after": {"epoch": "e", "seq": 1.5}}, "bad_request"),
    "after too large": ({"type": "join", "room": "r", "after": {"epoch": "e", "seq": 1 << 53}}, "bad_request"),
    "history of 301": ({"type": "join", "room": "r", "history": 301}, "bad_request"),
    "history below zero": ({"type": "join", "room": "r", "history": -1}, "bad_request"),
    "history is a string": ({"type": "join", "room": "r", "history": "1"}, "bad_request"),
    "send without room": ({"type": "send", "body": 1}, "bad_request"),
    "send without body": ({"type": "send", "room": "HOME"}, "bad_request"),
    "send elsewhere": ({"type": "send", "room": "elsewhere", "body": 1}, "not_joined"),
    "signal without name": ({"type": "signal", "room": "HOME"}, "bad_request"),
    "signal with a long name": ({"type": "signal", "room": "HOME", "name": "n" * 129}, "bad_request"),
    "signal elsewhere": ({"type": "signal", "room": "elsewhere", "name": "n"}, "not_joined"),
    "read elsewhere": ({"type": "read", "room": "elsewhere", "seq": 0}, "not_joined"),
    "read beyond": ({"type": "read", "room": "HOME", "seq": 99}, "bad_request"),
    "received beyond": ({"type": "received", "room": "HOME", "seq": 99}, "bad_request"),
    "read without seq": ({"type": "read", "room": "HOME"}, "bad_request"),
    "read of a string": ({"type": "read", "room": "HOME", "seq": "1"}, "bad_request"),
    "history both ways": ({"type": "history", "room": "HOME", "before": 2, "after": 1}, "bad_request"),
    "history of too many": ({"type": "history", "room": "HOME", "limit": 301}, "bad_request"),
    "history elsewhere": ({"type": "history", "room": "elsewhere"}, "not_joined"),
    "leave elsewhere": ({"type": "leave"}, "bad_request"),
    "second hello": ({"type": "hello", "user": "other"}, "conflict"),
    "activity of nothing": ({"type": "activity", "state": "asleep"}, "bad_request"),
    "activity without state": ({"type": "activity"}, "bad_request"),
    "focus of a string": ({"type": "focus", "isFocused": "yes"}, "bad_request"),
    "focus without": ({"type": "focus"}, "bad_request"),
    "focus authorized how": ({"type": "focus", "isFocused": True, "authorization": "maybe"}, "bad_request"),
    "device without platform": ({"type": "device", "device": "d", "token": "t"}, "bad_request"),
    "device of no platform": ({"type": "device", "device": "d", "platform": "pager", "token": "t"}, "bad_request"),
    "watch nobody": ({"type": "watch"}, "bad_request"),
    "watch a wrong name": ({"type": "watch", "users": ["a b"]}, "bad_request"),
    "watch a number": ({"type": "watch", "users": [7]}, "bad_request"),
    "presence of nothing": ({"type": "presence"}, "bad_request"),
    "presence of 257": ({"type": "presence", "users": [f"u{n}" for n in range(257)]}, "bad_request"),
}  # fmt: skip

#: Hellos that end the session, with the close code.
HELLOS = {
    "another type first": ({"type": "ping"}, 4500),
    "a join first": ({"type": "join", "room": "r"}, 4500),
    "no user": ({"type": "hello"}, 4500),
    "user me": ({"type": "hello", "user": "me"}, 4500),
    "user dot": ({"type": "hello", "user": "."}, 4500),
    "empty user": ({"type": "hello", "user": ""}, 4500),
    "long user": ({"type": "hello", "user": "u" * 129}, 4500),
    "user with a space": ({"type": "hello", "user": "a b"}, 4500),
    "user is a number": ({"type": "hello", "user": 1}, 4500),
    "token in open mode": ({"type": "hello", "user": "u", "token": "t"}, 4500),
    "long name": ({"type": "hello", "user": "u", "name": "n" * 257}, 4500),
    "long device": ({"type": "hello", "user": "u", "device": "d" * 129}, 4500),
    "wrong activity": ({"type": "hello", "user": "u", "activity": "asleep"}, 4500),
    "acks of a string": ({"type": "hello", "user": "u", "acks": "yes"}, 4500),
}  # fmt: skip

#: Bytes that violate RFC 6455. The relay closes with 1002, without a bye.
FRAMING = {
    "opcode 3": frame(3, b"x"),
    "opcode 11": frame(11, b"x"),
    "reserved bit": frame(TEXT, b"{}", reserved=4),
    "long ping": frame(PING, b"x" * 126),
    "ping in pieces": frame(PING, b"x", is_final=False),
    "continuation of nothing": frame(CONTINUATION, b"x"),
}


async def ending(session: Session) -> tuple[int | None, int | None]:
    """Returns the close code, and the code of `bye`."""
    code = await session.closed()
    return code, session.bye and session.bye["code"]


@scenario(*UNLIMITED)
async def frames_that_are_not_json_close_with_4500(stage: Stage) -> None:
    """A text frame that is not one JSON object ends its session with 4500, after a bye."""

    async def one(name: str, text: bytes) -> None:
        session = await stage.session(stage.name("broken"))
        session.connection.send_text(text)
        assert await ending(session) == (4500, 4500), f"{name}: {session.connection.code}"
        assert session.bye["reconnect"] is False, name

    await stage.all(one(name, text) for name, text in FATAL.items())


@scenario(*UNLIMITED)
async def binary_frames_close_with_4500(stage: Stage) -> None:
    """A binary frame ends its session, even if it contains a request, and also before hello."""
    for session in (await stage.session(stage.name("ann")), await stage.stranger(stage.name("ann"))):
        session.connection.write(frame(BINARY, b'{"type":"ping"}'))
        assert await ending(session) == (4500, 4500)


@scenario(*UNLIMITED)
async def frames_over_the_limit_close_with_4505(stage: Stage) -> None:
    """A frame of exactly 64 KiB is accepted. One more byte, or larger fragments together, end the session with 4505."""
    limit = 65536
    ann = await stage.session(stage.name("ann"))
    ann.connection.send_text(b'{"type":"ping"' + b" " * (limit - 15) + b"}")
    await ann.expect("pong")
    ann.connection.send_text(b'{"type":"ping"' + b" " * (limit - 14) + b"}")
    assert await ending(ann) == (4505, 4505)
    bob = await stage.session(stage.name("bob"))
    piece = b'{"type":"ping"' + b" " * 40000
    bob.connection.write(frame(TEXT, piece, is_final=False) + frame(CONTINUATION, b" " * 40000, is_final=False))
    assert await ending(bob) == (4505, 4505)


@scenario(*UNLIMITED)
async def wrong_requests_get_exactly_one_error(stage: Stage) -> None:
    """Each wrong request of a table gets one error with its id and the right code, and the session continues."""
    room, ann = stage.name("room"), await stage.session(stage.name("ann"))
    await ann.join(room)
    wrong = [(name, fields, code) for name, (fields, code) in WRONG.items()]
    stage.random.shuffle(wrong)
    faults = []
    for name, fields, code in wrong:
        fields = {key: room if value == "HOME" else value for key, value in fields.items()}
        got = []
        try:
            got.append((await ann.replied(ann.begin_raw(fields))).text[:100])
        except Refused as refused:
            got.append(refused.code)
        ann.connection.send_text(json.dumps(fields))
        got += [error["code"] for error in await ann.received("error")]
        ann.inbox.clear()
        if got != [code, code]:
            faults.append(f"{name}: {got}")
    assert not faults, "\n".join(faults)


@scenario(*UNLIMITED)
async def a_refused_hello_gets_an_error_and_a_close(stage: Stage) -> None:
    """Each wrong hello of a table gets an error, a bye and a close, with the right codes."""

    async def one(name: str, fields: dict, code: int) -> str | None:
        session = await stage.stranger(stage.name("stranger"))
        session.connection.send_text(json.dumps(fields))
        got = await ending(session)
        kinds = [frame["type"] for frame in session.inbox]
        return None if got == (code, code) and kinds == ["error", "bye"] else f"{name}: {got} {kinds}"

    faults = await stage.all(one(name, fields, code) for name, (fields, code) in HELLOS.items())
    assert not any(faults), "\n".join(filter(None, faults))


@scenario(*UNLIMITED)
async def broken_framing_closes_with_1002(stage: Stage) -> None:
    """A violation of RFC 6455 ends only its own connection."""
    room, watcher = stage.name("room"), await stage.session(stage.name("watcher"))
    await watcher.join(room)

    async def one(name: str, text: bytes) -> str | None:
        session = await stage.session(stage.name("broken"))
        session.connection.may_be_cut = True
        session.connection.write(text)
        code = await session.closed()
        # libwebsockets cuts the connection at a control frame that is too long.
        wanted = (None,) if name == "long ping" else (1002,)
        return None if code in wanted and session.bye is None else f"{name}: {code} {session.bye}"

    faults = await stage.all(one(name, text) for name, text in FRAMING.items())
    await watcher.send(room, "still here")
    assert not any(faults), "\n".join(filter(None, faults))


@scenario(*UNLIMITED)
async def a_hello_in_pieces_is_a_hello(stage: Stage) -> None:
    """Fragments of one byte, with pings between them, form one message. A fragment may end within a character."""
    user = stage.name("ann")
    session = await stage.stranger(user)
    text = json.dumps({"type": "hello", "user": user, "name": "\u00e9\U0001f600"}, ensure_ascii=False).encode()
    for position in range(len(text)):
        opcode = TEXT if position == 0 else CONTINUATION
        session.connection.write(frame(opcode, text[position : position + 1], is_final=position == len(text) - 1))
        if position % 7 == 0:
            session.connection.write(frame(PING, b"between"))
    welcome = await session.expect("welcome")
    assert welcome["name"] == "\u00e9\U0001f600", welcome.text


@scenario(*BRISK)
async def silence_before_hello_ends_with_4502(stage: Stage) -> None:
    """A client without a complete hello is closed after the timeout: silent, with half a frame, or with pings only."""

    async def one(text: bytes) -> None:
        session = await stage.stranger(stage.name("silent"))
        session.connection.write(text)
        got = await ending(session)
        assert got == (4502, 4502), f"{text!r}: {got}"

    begun = asyncio.get_running_loop().time()
    half = frame(TEXT, b'{"type":"hello"}')[:-3]
    await stage.all(one(text) for text in (b"", half, frame(PING, b"x"), frame(TEXT, b'{"type":', is_final=False)))
    assert asyncio.get_running_loop().time() - begun > 0.9


@scenario(*UNLIMITED)
async def a_flood_of_headers_is_refused(stage: Stage) -> None:
    """Headers over the limit, endless or too many, end only their connection."""

    async def one(text: bytes) -> None:
        connection = await Connection.dial(stage.relay.port)
        connection.may_be_cut = True
        for _ in range(64):
            if connection.ended.done():
                break
            connection.write(text)
            await asyncio.sleep(0)
        status = await connection.answer()
        assert status in (None, 400, 431, 501), status
        connection.cut()

    head = b"GET /v1/connect HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    await stage.all([one(head + b"X-Long: " + b"x" * 4096), one(b"".join(b"X-%d: y\r\n" % n for n in range(400)))])
    request = upgrade_request(stage.relay.port, {"X-Large": "x" * 20000})
    connection = await Connection.dial(stage.relay.port)
    connection.write(request)
    status = await connection.answer()
    assert status is None or 400 <= status < 500, status
    connection.cut()
    await stage.session(stage.name("ann"))


@scenario(*UNLIMITED)
async def clients_that_send_byte_by_byte_delay_nobody(stage: Stage) -> None:
    """Clients that send their handshake and hello byte by byte are served, and do not delay others."""
    room = stage.name("room")
    members = await stage.sessions_of(2)
    for member in members:
        await member.join(room)

    async def dribble(user: str) -> None:
        connection = await Connection.dial(stage.relay.port)
        session = Session(stage.witness, connection, user)
        stage.belongs(session)
        for byte in upgrade_request(stage.relay.port):
            connection.write(bytes([byte]))
            await asyncio.sleep(0.002)
        assert await connection.answer() == 101
        for byte in frame(TEXT, json.dumps({"type": "hello", "user": user}).encode()):
            connection.write(bytes([byte]))
            await asyncio.sleep(0.002)
        await session.expect("welcome")

    dribbling = [stage.background(dribble(stage.name("slow"))) for _ in range(4)]
    received = 0
    while not all(task.done() for task in dribbling):
        received = (await members[0].send(room, received))["seq"]
    await asyncio.gather(*dribbling)
    await members[1].hears(room, received)
    assert received > 5, received


@scenario(*UNLIMITED)
async def refused_upgrades_have_the_right_status(stage: Stage) -> None:
    """A wrong handshake gets its status: 400 for a subprotocol, 403 for an origin, 404 for a path."""
    port = stage.relay.port
    cases = [
        (upgrade_request(port, {"Sec-WebSocket-Protocol": "soup"}), {400}),
        (upgrade_request(port, {"Origin": "http://elsewhere.example"}), {403}),
        (upgrade_request(port, {"Origin": "null"}), {403}),
        (upgrade_request(port, path="/v1/nowhere"), {404}),
        (upgrade_request(port, {"Sec-WebSocket-Version": "12"}), {400, 426}),
        (upgrade_request(port, {"Sec-WebSocket-Protocol": None}), {101}),
        (upgrade_request(port, {"Origin": f"http://127.0.0.1:{port}"}), {101}),
    ]
    faults = []
    for request, wanted in cases:
        connection = await Connection.dial(port)
        connection.write(request)
        async with asyncio.timeout(DEADLINE):
            status = await connection.answer()
        connection.cut()
        if status not in wanted:
            faults.append(f"{status} for {request[:400]!r}, not {wanted}")
    assert not faults, "\n".join(faults)


@scenario(*UNLIMITED)
async def a_close_is_answered_with_its_code(stage: Stage) -> None:
    """The server echoes a client's close code, and sends no bye because the client began."""
    for code in (1000, 1001, 3000, 4999):
        session = await stage.session(stage.name("ann"))
        session.connection.close(code)
        assert await session.closed() == code, session.connection.code
        assert session.bye is None
    session = await stage.session(stage.name("ann"))
    session.connection.has_said_close = True
    session.connection.write(frame(CLOSE))
    assert await session.closed() in (1000, 1005)
