# SPDX-License-Identifier: Apache-2.0
"""TCP proxies between a client and a relay. Each subclass of `Line` changes how it forwards the bytes."""

import asyncio
from typing import Self

#: Seconds of a slow line's bytes that its buffers hold.
BUFFERED = 0.25


class Line:
    """Listens on a free port of loopback, and forwards connections to `port`."""

    def __init__(self, port: int):
        self._target = port
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._pass, "127.0.0.1", 0)
        self.url = f"ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1/connect"
        return self

    async def __aexit__(self, *error: object) -> None:
        self.cut()
        self._server.close()

    def cut(self) -> None:
        """Ends all connections, also in the middle of a frame."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self._target)

    async def forward(self, piece: bytes, writer: asyncio.StreamWriter, is_answer: bool) -> None:
        """Forwards bytes of the client, or bytes of the relay if `is_answer` is true."""
        writer.write(piece)
        await writer.drain()

    def size(self, is_answer: bool) -> int:
        """Returns the maximum number of bytes to read now."""
        return 65_536

    async def _pass(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        try:
            relay, to_relay = await self.connect()
        except OSError:
            to_client.transport.abort()
            return
        self._writers |= {to_client, to_relay}
        await asyncio.gather(self._copy(client, to_relay, False), self._copy(relay, to_client, True))
        self._writers -= {to_client, to_relay}

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_answer: bool) -> None:
        try:
            while piece := await reader.read(self.size(is_answer)):
                await self.forward(piece, writer, is_answer)
        except OSError:
            pass
        finally:
            # The end of one side also closes the other side, because no client or relay half-closes.
            writer.close()


class SlowLine(Line):
    """A line with a rate from the relay to the client, in bytes a second."""

    def __init__(self, port: int):
        super().__init__(port)
        self.rate: float | None = None
        self.bytes = 0
        #: The time at which each connection has forwarded its last bytes.
        self._due: dict[asyncio.StreamWriter, float] = {}

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        # A small buffer, so that the bytes wait in the relay as they do before a slow line.
        return await asyncio.open_connection("127.0.0.1", self._target, limit=4_096)

    def size(self, is_answer: bool) -> int:
        return int(self.rate * BUFFERED) if self.rate and is_answer else super().size(is_answer)

    async def forward(self, piece: bytes, writer: asyncio.StreamWriter, is_answer: bool) -> None:
        if is_answer:
            self.bytes += len(piece)
        if is_answer and self.rate:
            now = asyncio.get_running_loop().time()
            due = self._due[writer] = max(self._due.get(writer, now), now) + len(piece) / self.rate
            await asyncio.sleep(due - now)
        await super().forward(piece, writer, is_answer)


class MuteLine(Line):
    """A line that can lose the bytes to the client."""

    is_mute = False

    def cut(self) -> None:
        self.is_mute = False
        super().cut()

    async def forward(self, piece: bytes, writer: asyncio.StreamWriter, is_answer: bool) -> None:
        if not (is_answer and self.is_mute):
            await super().forward(piece, writer, is_answer)
