# SPDX-License-Identifier: Apache-2.0
"""The relay's side of a case: it accepts, says and hears what the script tells it to."""

import asyncio
import http
import json
import socket
import struct
from typing import Any

from websockets.asyncio.server import Request, Response, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

SUBPROTOCOL = "stillwire.v1.json"
# Larger than any frame a client may send, so that it is the client that keeps the bound.
FRAME_BOUND = 1 << 20


class Knock:
    """A client that waits for the answer to its handshake."""

    def __init__(self, offered: list[str]):
        self.offered = offered
        self.answer: asyncio.Future[bool | int | str] = asyncio.get_running_loop().create_future()


class Connection:
    """An accepted client; its frames and its end wait in `heard`."""

    def __init__(self, socket: ServerConnection):
        self._socket = socket
        self.heard: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.is_over = False

    @property
    def code(self) -> int | None:
        """The close code, once it is over; 1006 without a close frame."""
        return self._socket.close_code

    async def read(self) -> None:
        """Reads until the end; what is no JSON fails the case, as nobody can expect it."""
        try:
            async for text in self._socket:
                self.heard.put_nowait(json.loads(text))
        except ConnectionClosed:
            pass
        finally:
            self.is_over = True
            self.heard.put_nowait(None)

    async def say(self, frame: str | bytes) -> None:
        await self._socket.send(frame)

    async def settle(self) -> None:
        """Returns when the client's socket has read all that was said to it, and all that it said is here."""
        try:
            await (await self._socket.ping())
        except ConnectionClosed:
            pass

    async def close(self, code: int, reason: str) -> None:
        await self._socket.close(code, reason)

    def drop(self) -> None:
        """Ends the connection as a network does: with a reset, and nothing said."""
        raw = self._socket.transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.transport.abort()


class ScriptedRelay:
    """Listens on a free port of loopback."""

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
        """Answers the next handshake: yes, with an HTTP status, or never ("silent")."""
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
