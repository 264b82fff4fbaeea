# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy that simulates a bad network: it splits, delays and resets, but it never reorders bytes."""

import asyncio
import random
import socket
import struct

#: Maximum number of bytes that are copied at a time. It is small, so that frames are cut at any byte.
PIECE = 700
MAX_STALL = 0.05


class Proxy:
    """Listens on a free port of loopback, and forwards connections to `port`."""

    def __init__(self, port: int, seed: int):
        self._target = port
        self._random = random.Random(seed)
        self._writers: set[asyncio.StreamWriter] = set()
        self._is_flowing = asyncio.Event()
        self._is_flowing.set()
        self.connections = 0

    async def __aenter__(self) -> "Proxy":
        self._server = await asyncio.start_server(self._pass, "127.0.0.1", 0)
        self.url = f"ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1/connect"
        return self

    async def __aexit__(self, *error: object) -> None:
        self.drop()
        self._server.close()

    def drop(self) -> None:
        """Resets all connections, also in the middle of a frame."""
        for writer in self._writers:
            raw = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        self._writers.clear()

    async def stall(self) -> None:
        """Stops the flow of bytes for a moment."""
        self._is_flowing.clear()
        try:
            await asyncio.sleep(self._random.random() * MAX_STALL)
        finally:
            self._is_flowing.set()

    async def disturb(self) -> None:
        """Resets all connections, immediately or after a stall."""
        if self._random.random() < 0.5:
            await self.stall()
        self.drop()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            other_reader, other_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, other_writer}
        await asyncio.gather(self._copy(reader, other_writer), self._copy(other_reader, writer))
        self._writers -= {writer, other_writer}

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while piece := await reader.read(self._random.randint(1, PIECE)):
                await self._is_flowing.wait()
                writer.write(piece)
                await writer.drain()
        except OSError:
            pass
        finally:
            # The end of one side also closes the other side, because no client or relay half-closes.
            writer.close()
