# SPDX-License-Identifier: Apache-2.0
"""The relay's side of a case. It accepts connections, and sends and receives frames, as the script specifies."""

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


class Knock:
    """A handshake that waits for its answer."""

    def __init__(self, offered: list[str]):
        self.offered = offered
        self.answer: asyncio.Future[bool | int | str] = asyncio.get_running_loop().create_future()


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

    async def __aenter__(self) -> "ScriptedRelay":
        self._server = await serve(
            self._handle, "127.0.0.1", 0, subprotocols=[SUBPROTOCOL], process_request=self._answer, max_size=FRAME_BOUND,
            compression=None, ping_interval=None, close_timeout=1, open_timeout=None,
        )  # fmt: skip
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"ws://127.0.0.1:{port}/v1/connect"
        return self

    async def __aexit__(self, *error: object) -> None:
        for connection in list(self._server.connections):
            connection.transport.abort()
        self._server.close(close_connections=False)

    async def accept(self, how: bool | int | str) -> Connection | None:
        """Accepts the next handshake (True), refuses it with an HTTP status, or never answers it ("silent")."""
        knock = await self.knocks.get()
        assert SUBPROTOCOL in knock.offered, f"the client offers {knock.offered}"
        if how != "silent":
            knock.answer.set_result(how)
        return await self._accepted.get() if how is True else None

    async def _answer(self, socket: ServerConnection, request: Request) -> Response | None:
        assert request.path == "/v1/connect", request.path
        offered = ",".join(request.headers.get_all("Sec-WebSocket-Protocol"))
        knock = Knock([name.strip() for name in offered.split(",")])
        self.knocks.put_nowait(knock)
        how = await knock.answer
        return None if how is True else socket.respond(http.HTTPStatus(how), "")

    async def _handle(self, socket: ServerConnection) -> None:
        connection = Connection(socket)
        self._accepted.put_nowait(connection)
        await connection.read()
