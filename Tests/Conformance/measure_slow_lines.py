#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how both clients catch up over slow lines, and prints a table.

    python3 Tests/Conformance/measure_slow_lines.py [--rates 5 12 25 60 250] [--clients javascript swift]
      [--loads one many live big] [--addresses 2] [--cuts 1]

A client that was away returns over a line of a fixed rate, in thousands of bytes a second. It has missed:

- `one`: 500 KiB in one room
- `many`: 40 kB in each of 60 rooms
- `live`: the same, and one more room has new messages all the time, for a third of the rate
- `big`: 8 messages of 60 kB in one room. A frame has one message at least, so these are the largest frames

With `--addresses` the client has several addresses, and each of them has such a line to the same relay. With `--cuts`
the line is cut that often during the catch-up. The columns: the time until all rooms are joined, the bytes that the
relay has written to the lines (without live messages) divided by those of the missed messages, how many rooms were
ready before the room that the app has used last, and how many connections the client has lost. Set `STILLWIRE_BINARY`
for another relay than the debug build.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "EndToEnd" / "shared"), str(HERE.parent / "EndToEnd")]

from clients import CLIENTS  # noqa: E402
from driver import Driver  # noqa: E402
from line import SlowLine  # noqa: E402
from relay import Relay, running  # noqa: E402
from rfc6455 import Connection  # noqa: E402

#: Room, number of messages and size of a message for each load.
LOADS = {"one": (1, 250, 2_048), "many": (60, 20, 2_000), "live": (60, 20, 2_000), "big": (1, 8, 60_000)}
LIVE_SIZE = 500
LIMITS = ("--limits-send-rate", "0", "--limits-rooms-per-user", "0")


async def ask(socket: Connection, **frame: Any) -> dict[str, Any]:
    """Sends a request, and returns its reply."""
    socket.send_text(json.dumps({"id": 1, **frame}))
    while True:
        reply = json.loads(await socket.text())
        if reply["type"] == "welcome" or reply.get("id") == 1:
            assert reply["type"] != "error", reply
            return reply


async def fill(port: int, rooms: list[str], count: int, size: int) -> int:
    """Sends messages to all rooms. Returns the bytes of their texts in a reply to `join`."""
    needed = 0
    async with await Connection.open(port) as socket:
        await ask(socket, type="hello", user="bob")
        for room in rooms:
            await ask(socket, type="join", room=room)
            for number in range(count):
                body = f"{number} ".ljust(size, "x")
                sent = await ask(socket, type="send", room=room, body=body, push=False)
                message = {"seq": sent["seq"], "from": "bob", "time": sent["time"], "body": body}
                needed += len(json.dumps(message, separators=(",", ":"))) + 1
    return needed


async def talk(port: int, room: str, rate: float) -> None:
    """Sends messages to the live room, for a third of the rate."""
    async with await Connection.open(port) as socket:
        await ask(socket, type="hello", user="eve")
        await ask(socket, type="join", room=room)
        while True:
            await ask(socket, type="send", room=room, body="x" * LIVE_SIZE, push=False)
            await asyncio.sleep((LIVE_SIZE + 90) / (rate / 3))


async def measure(relay: Relay, client: str, load: str, rate: float, addresses: int, cuts: int) -> dict[str, Any]:
    count, messages, size = LOADS[load]
    prefix = f"{client}-{load}-{rate}-{cuts}-{time.time_ns()}"
    rooms = [f"{prefix}-{number}" for number in range(count)]
    live_room = f"{prefix}-live"
    joined = [*rooms, live_room] if load == "live" else rooms
    async with AsyncExitStack() as stack:
        lines = [await stack.enter_async_context(SlowLine(relay.port)) for _ in range(addresses)]
        options = {"hello": {"user": prefix}, "clock": "real", "random": [0]}
        async with Driver(CLIENTS[client], " ".join(line.url for line in lines), options) as driver:
            driver.command("connect")
            for room in joined:
                driver.command("join", room=room)
            for _ in joined:
                await asyncio.wait_for(driver.events["joined"].get(), 60)
            driver.command("close")
            while (await asyncio.wait_for(driver.events["state"].get(), 60))["state"] != "closed":
                pass
            needed = await fill(relay.port, rooms, messages, size)
            driver.events.clear()
            for line in lines:
                line.rate, line.bytes = rate, 0
            talking = asyncio.create_task(talk(relay.port, live_room, rate)) if load == "live" else None
            start = time.monotonic()
            driver.command("connect")
            order: list[str] = []
            shown = live = lost = 0
            limit = 3 * (needed / rate) + 60
            cut_at = [needed * (number + 1) / (cuts + 1) for number in range(cuts)]
            while len(set(order)) < len(joined) and time.monotonic() - start < limit:
                await asyncio.sleep(0.05)
                # The messages of a room come before its event `joined`.
                while not driver.events["joined"].empty():
                    order.append(driver.events["joined"].get_nowait()["room"])
                while not driver.events["message"].empty():
                    message = driver.events["message"].get_nowait()
                    assert not message.get("isAfterGap"), message
                    if message["room"] == live_room:
                        live += 1
                    else:
                        shown += 1
                while not driver.events["state"].empty():
                    lost += driver.events["state"].get_nowait()["state"] == "waiting"
                if cut_at and sum(line.bytes for line in lines) >= cut_at[0]:
                    cut_at.pop(0)
                    for line in lines:
                        line.cut()
            took = time.monotonic() - start
            if talking:
                talking.cancel()
            last = joined[-1]
            return {
                "time": took,
                "rooms": f"{len(set(order))}/{len(joined)}",
                "shown": f"{shown}/{count * messages}",
                "ratio": (sum(line.bytes for line in lines) - live * (LIVE_SIZE + 90)) / needed,
                "at": order.index(last) if last in order else -1,
                "lost": lost,
            }


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rates", type=float, nargs="+", default=[5, 12, 25, 60, 250])
    parser.add_argument("--clients", nargs="+", default=list(CLIENTS))
    parser.add_argument("--loads", nargs="+", default=list(LOADS))
    parser.add_argument("--addresses", type=int, default=1)
    parser.add_argument("--cuts", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), *LIMITS) as relay:
        print(
            "| client | kB/s | load | addresses | cuts | seconds | rooms | messages | sent ÷ needed "
            "| rooms before the last used | lost |"
        )
        print("|---|---|---|---|---|---|---|---|---|---|---|", flush=True)

        async def row(client: str, load: str, rate: float) -> None:
            found = await measure(relay, client, load, rate * 1000, options.addresses, options.cuts)
            print(
                f"| {client} | {rate:g} | {load} | {options.addresses} | {options.cuts} | {found['time']:.0f} "
                f"| {found['rooms']} | {found['shown']} | {found['ratio']:.2f} | {found['at']} | {found['lost']} |",
                flush=True,
            )

        # The runs mostly wait for their lines, so they run together.
        await asyncio.gather(
            *(row(client, load, rate) for client in options.clients for load in options.loads for rate in options.rates)
        )


if __name__ == "__main__":
    asyncio.run(main())
