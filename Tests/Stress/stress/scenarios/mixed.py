# SPDX-License-Identifier: Apache-2.0
"""HTTP and WebSocket clients in the same rooms."""

import asyncio

from rfc6455 import Connection

from stress.registry import UNLIMITED, scenario
from stress.stage import Stage


@scenario(*UNLIMITED)
async def sockets_and_http_share_one_order(stage: Stage) -> None:
    """Four WebSocket and four HTTP clients write to one room at the same time. All sessions receive the same order."""
    room = stage.name("room")
    members = await stage.sessions_of(4)
    for member in members:
        await member.join(room)

    async def talk(member) -> None:
        for number in range(30):
            await member.send(room, number)

    async def post(number: int) -> None:
        for turn in range(12):
            answer = await stage.post(room, f"{number} {turn}", f"poster{number}")
            assert answer.status == 201, answer

    await stage.all([*(talk(member) for member in members), *(post(number) for number in range(4))])
    for member in members:
        await member.hears(room, 168)


@scenario(*UNLIMITED)
async def an_http_send_reaches_all_sessions_of_its_sender(stage: Stage) -> None:
    """All sessions of a user receive the user's own message that was sent over HTTP."""
    room, user = stage.names("room", "ann")
    phone, tablet = await stage.session(user), await stage.session(user)
    await phone.join(room)
    await tablet.join(room)
    for number in range(5):
        answer = await stage.post(room, number, user)
        assert answer.status == 201, answer
    for session in (phone, tablet):
        await session.hears(room, 5)
        assert session.rooms[room].received == [1, 2, 3, 4, 5]


@scenario(*UNLIMITED)
async def a_read_mark_over_http_reaches_sockets(stage: Stage) -> None:
    """`PUT …/read` moves the same mark as `read`."""
    room, user = stage.names("room", "ann")
    ann, writer = await stage.session(user), await stage.session(stage.name("writer"))
    await ann.join(room)
    await writer.join(room)
    for number in range(5):
        await writer.send(room, number)
    answer = await stage.http("PUT", f"/v1/rooms/{room}/read", {"seq": 4}, user=user)
    assert answer.status == 200, answer
    await ann.expect("receipt", room=room, user=user, kind="read", seq=4)
    assert (await ann.join(room))["read"] == 4


@scenario(*UNLIMITED)
async def a_member_can_be_removed_while_sending(stage: Stage) -> None:
    """The sends of a member before a removal are stored, later ones are refused, and all members get an event."""
    room, user = stage.names("room", "ann")
    ann, watcher = await stage.session(user), await stage.session(stage.name("watcher"))
    await watcher.join(room)
    await ann.join(room)
    await watcher.expect("presence", user=user)

    async def send_until_refused() -> int:
        stored = 0
        while True:
            try:
                stored = (await ann.send(room, stored))["seq"]
            except Exception as error:
                assert getattr(error, "code", None) == "not_joined", error
                return stored

    sending = stage.background(send_until_refused())
    await watcher.expect("message", room=room)
    answer = await stage.http("DELETE", f"/v1/rooms/{room}/members/{user}", user="operator")
    assert answer.status == 204, answer
    stored = await sending
    await watcher.hears(room, stored)
    event = await watcher.first(
        lambda f: f["type"] == "member" and f["user"] == user and f["event"] != "joined", "the end"
    )
    assert event["event"] == "removed" and event["memberCount"] == 1, event.text
    ann.rooms.pop(room, None)


@scenario(*UNLIMITED)
async def an_operator_disconnects_with_4506(stage: Stage) -> None:
    """`disconnect` ends only the sessions of its user, with 4506."""
    room, user = stage.names("room", "ann")
    sessions = [await stage.session(user) for _ in range(3)]
    other = await stage.session(stage.name("other"))
    for session in (*sessions, other):
        await session.join(room)
    answer = await stage.http("POST", f"/v1/users/{user}/disconnect", user="operator")
    assert answer.status in (200, 204), answer
    for session in sessions:
        assert await session.closed() == 4506
        assert session.bye["reconnect"] is False
    await other.send(room, "still here")


@scenario(*UNLIMITED)
async def pipelined_http_requests_are_answered_in_order(stage: Stage) -> None:
    """Twenty requests written one after the other on one connection get twenty complete answers in order."""
    room = stage.name("room")
    ann = await stage.session(stage.name("ann"))
    await ann.join(room)
    reader, writer = await asyncio.open_connection("127.0.0.1", stage.relay.port)
    requests = []
    for number in range(20):
        body = b'{"body":%d}' % number
        head = f"POST /v1/rooms/{room}/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Stillwire-User: poster\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        requests.append(head.encode() + body)
    stage.witness.altered.add(room)
    answered = 0
    try:
        for request in requests:
            # The server may close the connection, but must answer in order.
            writer.write(request)
            async with asyncio.timeout(30):
                head = await reader.readuntil(b"\r\n\r\n")
            assert b" 201 " in head.split(b"\r\n")[0], head
            length = int([line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")][0][15:])
            body = await reader.readexactly(length)
            assert b'"seq":%d' % (answered + 1) in body.replace(b" ", b""), body
            answered += 1
            if b"connection: close" in head.lower():
                writer.close()
                reader, writer = await asyncio.open_connection("127.0.0.1", stage.relay.port)
    finally:
        writer.close()
    await ann.hears(room, 20)


@scenario(*UNLIMITED)
async def a_flood_of_http_does_not_affect_sessions(stage: Stage) -> None:
    """Three hundred valid and invalid HTTP requests do not affect the messages of a room."""
    room = stage.name("room")
    writer, reader = [await stage.session(name) for name in stage.names("writer", "reader")]
    await writer.join(room)
    await reader.join(room)
    paths = {"/live": 200, "/ready": 200, "/metrics": 200, "/v1/nowhere": 404, f"/v1/rooms/{room}/messages": 200}

    async def ask(path: str, status: int) -> None:
        answer = await stage.http("GET", path, user=writer.user)
        assert answer.status == status, f"{path}: {answer}"

    async def write() -> None:
        for number in range(50):
            await writer.send(room, number)

    chosen = [stage.random.choice(list(paths.items())) for _ in range(300)]
    await stage.all([write(), *(ask(path, status) for path, status in chosen)])
    await reader.hears(room, 50)


@scenario(*UNLIMITED)
async def broken_http_is_answered_or_cut(stage: Stage) -> None:
    """Each broken request of a table gets an error or the end of the connection, never a 2xx and never no answer."""
    head = b"POST /v1/rooms/x/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Stillwire-User: u\r\n"
    cases = [
        b"NONSENSE\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        head + b"Content-Length: -1\r\n\r\n",
        head + b"Content-Length: 1x\r\n\r\nx",
        head + b"Content-Length: 99999999999999999999\r\n\r\n",
        head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        head + b"\r\n",
        head + b"Content-Type: application/json\r\nContent-Length: 1\r\n\r\n{",
        head + b"Content-Type: text/plain\r\nContent-Length: 10\r\n\r\n{\"body\":1}",
        b"GET /v1/rooms/%zz/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Stillwire-User: u\r\n\r\n",
        b"GET /v1/rooms/../../live HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n",
        b"GET /live HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n",
    ]  # fmt: skip
    faults = []

    async def one(text: bytes) -> None:
        connection = await Connection.dial(stage.relay.port)
        connection.may_be_cut = True
        connection.write(text)
        try:
            status = await connection.answer()
        except TimeoutError:
            faults.append(f"no answer to {text!r}")
            return
        finally:
            connection.cut()
        if status is not None and not 400 <= status < 600:
            faults.append(f"{status} for {text!r}")

    await stage.all(one(text) for text in cases)
    assert not faults, "\n".join(faults)
