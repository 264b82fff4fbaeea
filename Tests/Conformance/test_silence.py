# SPDX-License-Identifier: Apache-2.0
"""Every client leaves a node that dies silently, and no connection on which bytes arrive."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest

from clients import CLIENTS
from driver import Driver
from line import Line, MuteLine, SlowLine
from relay import DEADLINE, SLOW, Relay, running
from rfc6455 import Connection

LineKind = TypeVar("LineKind", bound=Line)
ROOM = "tea"
#: Bytes per second, and the size of a message that needs 12 s on such a line.
RATE, LARGE = 5_000, 60_000


@pytest.fixture
def relay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relay]:
    with running(tmp_path_factory.mktemp("relay")) as relay:
        yield relay


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_leaves_a_node_that_dies_silently(client: str, relay: Relay) -> None:
    asyncio.run(asyncio.wait_for(left(client, relay), 3 * DEADLINE))


async def left(client: str, relay: Relay) -> None:
    async with between(client, relay, MuteLine) as (driver, dead):
        dead.is_mute = True
        begun = asyncio.get_running_loop().time()
        driver.command("send", tag="first", room=ROOM, body="hello")
        assert (await driver.events["sent"].get())["reply"]["seq"] == 1
        # 4 s on a fast line, and more if this machine is slow. Without this rule it is 35 s.
        assert asyncio.get_running_loop().time() - begun < 25 * SLOW
        assert await states(driver) == ["waiting", "connecting", "open"]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_listener_in_a_lively_room_leaves_a_node_that_dies_silently(client: str, relay: Relay) -> None:
    asyncio.run(asyncio.wait_for(missed(client, relay), 3 * DEADLINE))


async def missed(client: str, relay: Relay) -> None:
    async with between(client, relay, MuteLine) as (driver, dead), asyncio.TaskGroup() as tasks:
        now = asyncio.get_running_loop().time
        talking = tasks.create_task(talk(relay))
        # On a loaded machine, the messages may pause for longer than a steady stream.
        begun = last = now()
        while last - begun < 6:
            await driver.events["message"].get()
            begun = now() if now() - last > 0.8 else begun
            last = now()
        dead.is_mute = True
        muted = now()
        while (await driver.events["message"].get())["body"] <= muted:
            pass
        # 4 s. Without this rule it is 29 s.
        assert now() - muted < 20 * SLOW
        assert await states(driver) == ["waiting", "connecting", "open"]
        talking.cancel()


async def talk(relay: Relay) -> None:
    """Sends a message each 0.2 s."""
    async with await Connection.open(relay.port) as bob:
        for frame in ({"type": "hello", "user": "bob"}, {"type": "join", "room": ROOM, "id": 1}):
            bob.send_text(json.dumps(frame))
        while True:
            bob.send_text(json.dumps({"type": "send", "room": ROOM, "body": asyncio.get_running_loop().time()}))
            await asyncio.sleep(0.2)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_large_message_on_a_slow_line_ends_no_connection(client: str, relay: Relay) -> None:
    asyncio.run(asyncio.wait_for(kept(client, relay), 3 * DEADLINE))


async def kept(client: str, relay: Relay) -> None:
    async with between(client, relay, slow) as (driver, _):
        async with await Connection.open(relay.port) as bob:
            for frame in (
                {"type": "hello", "user": "bob"},
                {"type": "join", "room": ROOM, "id": 1},
                {"type": "send", "room": ROOM, "body": "x" * LARGE, "id": 2},
            ):
                bob.send_text(json.dumps(frame))
            while json.loads(await bob.text()).get("id") != 2:
                pass
            # The reply to this request is behind the message.
            driver.command("request", tag="status", type="status", fields={"text": "busy"})
            message = await driver.events["message"].get()
            assert len(message["body"]) == LARGE
            await driver.events["replied"].get()
        assert await states(driver) == []


def slow(port: int) -> SlowLine:
    line = SlowLine(port)
    line.rate = RATE
    return line


@asynccontextmanager
async def between(
    client: str, relay: Relay, make: Callable[[int], LineKind]
) -> AsyncIterator[tuple[Driver, LineKind]]:
    """A client that has joined the room, and has two addresses. Also returns the line of the first one."""
    async with make(relay.port) as first, make(relay.port) as second:
        options = {"hello": {"user": "ann"}, "clock": "real"}
        async with JoinedDriver(CLIENTS[client], f"{first.url} {second.url}", options) as driver:
            yield driver, first


class JoinedDriver(Driver):
    """A driver whose client has joined the room. It then has the later states."""

    async def __aenter__(self) -> "JoinedDriver":
        await super().__aenter__()
        self.command("connect")
        self.command("join", room=ROOM)
        await self.events["joined"].get()
        self.events["state"] = asyncio.Queue()
        return self


async def states(driver: Driver) -> list[str]:
    """Returns the states of the client since it has joined."""
    await driver.settle()
    queue = driver.events["state"]
    return [queue.get_nowait()["state"] for _ in range(queue.qsize())]
