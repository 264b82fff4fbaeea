# SPDX-License-Identifier: Apache-2.0
"""A line that simulates a bad network: it splits, delays and resets, but it never reorders bytes."""

import asyncio
import random
import socket
import struct

from line import Line

#: Maximum number of bytes that are copied at a time. It is small, so that frames are cut at any byte.
PIECE = 700
MAX_STALL = 0.05


class Proxy(Line):
    """A line with faults, which follow from `seed`."""

    def __init__(self, port: int, seed: int):
        super().__init__(port)
        self._random = random.Random(seed)
        self._is_flowing = asyncio.Event()
        self._is_flowing.set()
        self.connections = 0

    def cut(self) -> None:
        """Resets all connections, also in the middle of a frame."""
        for writer in self._writers:
            raw = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        super().cut()

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
        self.cut()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self.connections += 1
        return await super().connect()

    def size(self, is_answer: bool) -> int:
        return self._random.randint(1, PIECE)

    async def forward(self, piece: bytes, writer: asyncio.StreamWriter, is_answer: bool) -> None:
        await self._is_flowing.wait()
        await super().forward(piece, writer, is_answer)
