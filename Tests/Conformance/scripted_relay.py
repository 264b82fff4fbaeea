# SPDX-License-Identifier: Apache-2.0
"""The relay's side of a case: one relay, or a node of a cluster. It accepts connections, and sends and receives frames, as the script specifies."""

import asyncio
import http
import json
import socket
import struct
from typing import Any

from websockets.asyncio.server import Request, Response, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

SUBPROTOCOL = "stillwire.v1.json"
# Larger than any frame of a client, so that only the client enforces the limit.
FRAME_BOUND = 1 << 20


#: An answer to a handshake: True accepts it, a number is an HTTP status, "silent" is no answer, "drop" ends the
#: connection, and an object is the answer of a standby node: its `status`, and perhaps the URL of its `leader`.
Answer = bool | int | str | dict[str, Any]


class Knock:
    """A handshake that waits for its answer."""

    def __init__(self, offered: list[str]):
        self.offered = offered
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()


class Connection:
    """An accepted connection. Its frames wait in `frames`, followed by None at its end."""

    def __init__(self, socket: ServerConnection):
        self._socket = socket
        self.frames: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.is_over = False

    @property
    def code(self) -> int | None:
        """The close code after the end. Is 1006 without a close frame."""
        return self._socket.close_code

    async def read(self) -> None:
        """Reads until the end. Fails the case if a frame is not JSON."""
        try:
            async for text in self._socket:
                self.frames.put_nowait(json.loads(text))
        except ConnectionClosed:
            pass
        finally:
            self.is_over = True
            self.frames.put_nowait(None)

    async def say(self, frame: str | bytes) -> None:
        await self._socket.send(frame)

    async def settle(self) -> None:
        """Returns when the client's socket has read all frames of the relay, and all its own frames have arrived."""
        try:
            await (await self._socket.ping())
        except ConnectionClosed:
            pass

    async def close(self, code: int, reason: str) -> None:
        await self._socket.close(code, reason)

    def drop(self) -> None:
        """Resets the connection without a close frame, as a broken network does."""
        raw = self._socket.transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.transport.abort()


class ScriptedRelay:
    """A WebSocket server on a free port of loopback, controlled by the script."""

    def __init__(self) -> None:
        self.knocks: asyncio.Queue[Knock] = asyncio.Queue()
        self._accepted: asyncio.Queue[Connection] = asyncio.Queue()
        self._last: Answer = 503
        #: The number of requests, with or without a handshake.
        self.requests = 0

    async def __aenter__(self) -> "ScriptedRelay":
        self._server = await serve(
            self._handle, "127.0.0.1", 0, subprotocols=[SUBPROTOCOL], process_request=self._answer, max_size=FRAME_BOUND,
            compression=None, ping_interval=None, close_timeout=1, open_timeout=None,
        )  # fmt: skip
        self.authority = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        self.url = f"ws://{self.authority}/v1/connect"
        return self

    async def __aexit__(self, *error: object) -> None:
        for connection in list(self._server.connections):
            connection.transport.abort()
        self._server.close(close_connections=False)

    async def accept(self, how: Answer) -> Connection | None:
        """Answers the next handshake, and returns its connection if it is accepted."""
        knock = await self.knocks.get()
        assert SUBPROTOCOL in knock.offered, f"the client offers {knock.offered}"
        if how != "silent":
            knock.answer.set_result(how)
        return await self._accepted.get() if how is True else None

    async def _answer(self, socket: ServerConnection, request: Request) -> Response | None:
        assert request.path == "/v1/connect", request.path
        self.requests += 1
        if "Upgrade" not in request.headers:
            # A client requests the reason of the last refusal.
            return self._refusal(socket, self._last)
        offered = ",".join(request.headers.get_all("Sec-WebSocket-Protocol"))
        knock = Knock([name.strip() for name in offered.split(",")])
        self.knocks.put_nowait(knock)
        self._last = await knock.answer
        return None if self._last is True else self._refusal(socket, self._last)

    def _refusal(self, socket: ServerConnection, how: Answer) -> Response:
        if how == "drop":
            socket.transport.abort()
        if not isinstance(how, dict):
            return socket.respond(http.HTTPStatus(how if isinstance(how, int) else 503), "")
        problem = {"status": how["status"], "code": "unavailable", "detail": "this node does not lead"}
        leader = {"leader": how["leader"]} if "leader" in how else {}
        response = socket.respond(http.HTTPStatus(how["status"]), json.dumps({**problem, **leader}))
        del response.headers["Content-Type"]
        response.headers["Content-Type"] = "application/problem+json"
        if leader:
            response.headers["Stillwire-Leader"] = how["leader"]
        return response

    async def _handle(self, socket: ServerConnection) -> None:
        connection = Connection(socket)
        self._accepted.put_nowait(connection)
        await connection.read()
