# SPDX-License-Identifier: Apache-2.0
"""A program: TCP proxies that can cut, stall and delay. `Partition` controls it over its standard input.

It is a process of its own, so that the load of a test does not slow it down. It uses only the standard library.

usage: proxy.py TARGET_PORT ...

It prints the ports of its listeners, then reads one command a line, and answers `done` when the command applies:

  open          forward everything
  cut           end all connections, and every new one
  stall         keep all connections open, accept new ones, and forward nothing
  delay SECONDS forward each byte this much later
"""

import asyncio
import sys


class Gate:
    """The state that all connections of the proxy share."""

    def __init__(self) -> None:
        self.is_cut = False
        self.delay = 0.0
        self.is_open = asyncio.Event()
        self.is_open.set()
        self.transports: set[asyncio.StreamWriter] = set()

    def command(self, line: str) -> None:
        name, *values = line.split()
        self.is_cut = name == "cut"
        self.delay = float(values[0]) if name == "delay" else 0.0
        if name == "stall":
            self.is_open.clear()
        else:
            self.is_open.set()
        if self.is_cut:
            for writer in self.transports:
                writer.transport.abort()


async def forward(gate: Gate, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copies one direction. What arrives while the gate is closed is sent when it opens, as TCP does."""
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(1024)

    async def write() -> None:
        while True:
            arrived, data = await waiting.get()
            if (rest := arrived + gate.delay - loop.time()) > 0:
                await asyncio.sleep(rest)
            await gate.is_open.wait()
            if not data:
                return
            writer.write(data)
            await writer.drain()

    writing = asyncio.create_task(write())
    try:
        while data := await reader.read(1 << 16):
            await waiting.put((loop.time(), data))
        await waiting.put((loop.time(), b""))
        await writing
    except OSError:
        pass
    finally:
        writing.cancel()
        writer.transport.abort()


async def connected(gate: Gate, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    gate.transports.add(writer)
    try:
        await gate.is_open.wait()
        if gate.is_cut:
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        gate.transports.add(far_writer)
        try:
            await asyncio.gather(forward(gate, reader, far_writer), forward(gate, far_reader, writer))
        finally:
            gate.transports.discard(far_writer)
            far_writer.transport.abort()
    except OSError:
        pass
    finally:
        gate.transports.discard(writer)
        writer.transport.abort()


async def main(ports: list[int]) -> None:
    gate = Gate()
    listeners = []
    for port in ports:
        server = await asyncio.start_server(
            lambda reader, writer, port=port: connected(gate, port, reader, writer), "127.0.0.1", 0
        )
        listeners.append(server.sockets[0].getsockname()[1])
    print(*listeners, flush=True)
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    while line := await commands.readline():
        gate.command(line.decode())
        print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main([int(port) for port in sys.argv[1:]]))
