# SPDX-License-Identifier: Apache-2.0
"""A stream of messages through a real relay and a network that breaks, with every client.

    python3 -m pytest Tests/Conformance/test_faults.py --disconnects 1000 --messages 100000 --reconnects 10000
"""

import asyncio
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from clients import CLIENTS
from driver import Driver
from proxy import Proxy
from relay import SLOW, Relay, running
from rfc6455 import Connection

ROOM = "tea"
#: Maximum number of messages that the app has not received. A relay can recover 300, so no loss causes a gap.
AHEAD = 200
#: Maximum number of pending sends of the client under test. It sends one of `OWN_PART` messages.
OWN_AHEAD, OWN_PART = 20, 10
#: Seconds in which there must be progress.
PATIENCE = 30 * SLOW
#: Bytes by which the caches of an engine may vary. A leak in each connection is larger.
NOISE = 1 << 20


@pytest.fixture
def relay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relay]:
    with running(tmp_path_factory.mktemp("relay"), "--limits-send-rate", "0") as relay:
        yield relay


class View:
    """The messages that the app of the client receives. Fails unless each arrives once and in order."""

    def __init__(self, driver: Driver):
        self._driver = driver
        self.seq = 0
        self.numbers = {"ann": 0, "bob": 0}
        self.has_more = asyncio.Condition()

    async def watch(self) -> None:
        while True:
            message = await self._driver.events["message"].get()
            assert self._driver.events["reset"].empty() and not message.get("isAfterGap"), "a gap"
            sender, number = message["body"]
            assert message["seq"] == self.seq + 1, f"{message} follows seq {self.seq}"
            assert number == self.numbers[sender] + 1, f"{message} follows number {self.numbers[sender]}"
            assert message["from"] == sender and message.get("isOwn", False) == (sender == "ann"), message
            self.seq, self.numbers[sender] = message["seq"], number
            async with self.has_more:
                self.has_more.notify_all()

    async def wait_for(self, condition: Any) -> None:
        async with self.has_more:
            await self.has_more.wait_for(condition)


async def publish(port: int, view: View, count: int) -> None:
    """Sends Bob's messages over a connection that never breaks."""
    async with await Connection.open(port) as socket:
        await ask(socket, type="hello", user="bob")
        await ask(socket, type="join", id=0, room=ROOM)
        reading = asyncio.create_task(read_all(socket))
        for number in range(1, count + 1):
            await view.wait_for(lambda number=number: number <= view.numbers["bob"] + AHEAD - OWN_AHEAD)
            socket.send_text(json.dumps({"type": "send", "room": ROOM, "body": ["bob", number]}))
        await view.wait_for(lambda: view.numbers["bob"] == count)
        reading.cancel()


async def ask(socket: Connection, **frame: object) -> None:
    socket.send_text(json.dumps(frame))
    reply = json.loads(await socket.text())
    assert reply["type"] in ("ok", "welcome"), reply


async def read_all(socket: Connection) -> None:
    async for text in socket:
        assert json.loads(text)["type"] not in ("error", "bye"), text


async def send_own(driver: Driver, view: View, count: int) -> None:
    """Sends Ann's messages with the client under test. Each must be answered once."""
    for number in range(1, count + 1):
        if number > OWN_AHEAD:
            await check_sent(driver, number - OWN_AHEAD)
        # Distributes the messages over the stream.
        await view.wait_for(lambda number=number: view.numbers["bob"] >= (number - 1) * OWN_PART * 0.9)
        driver.command("send", tag=number, room=ROOM, body=["ann", number])
    for number in range(max(1, count - OWN_AHEAD + 1), count + 1):
        await check_sent(driver, number)


async def check_sent(driver: Driver, number: int) -> None:
    sent = await driver.events["sent"].get()
    assert sent["tag"] == number, f"{sent} instead of number {number}"


async def disturb(proxy: Proxy, driver: Driver, view: View, count: int, disconnects: int, seed: int) -> None:
    """Breaks the network repeatedly during the stream, each time while the room is joined."""
    dice = random.Random(seed)
    step = count // (disconnects + 1)
    for number in range(1, disconnects + 1):
        at = number * step - dice.randrange(step)
        await view.wait_for(lambda at=at: view.numbers["bob"] >= at)
        await proxy.disturb()
        await driver.events["joined"].get()


async def stream(relay: Relay, client: str, option: Any) -> str:
    count, own = option.messages, option.messages // OWN_PART
    async with Proxy(relay.port, option.seed) as proxy:
        options = {"hello": {"user": "ann"}, "clock": "real", "random": [0], "timeout": 15}
        async with Driver(CLIENTS[client], proxy.url, options) as driver:
            view = View(driver)
            watching = asyncio.create_task(view.watch())
            driver.command("connect")
            driver.command("join", room=ROOM)
            await driver.events["joined"].get()
            work = asyncio.gather(
                publish(relay.port, view, count),
                send_own(driver, view, own),
                disturb(proxy, driver, view, count, option.disconnects, option.seed),
            )
            await going_on(view, work, watching)
            await asyncio.wait_for(view.wait_for(lambda: view.numbers == {"ann": own, "bob": count}), PATIENCE)
            # A duplicate would arrive now.
            await driver.settle()
            await asyncio.sleep(0)
            assert not watching.done() and driver.events["message"].empty() and driver.events["failed"].empty()
            watching.cancel()
            lost = proxy.connections - 1
            assert lost >= option.disconnects
            return f"{view.seq} messages, {own} of them its own, in order over {lost} lost connections"


async def going_on(view: View, work: asyncio.Future[Any], watching: asyncio.Task[None]) -> None:
    """Waits for `work`. Fails if the view fails, or if no message arrives for some time."""
    try:
        while not work.done():
            before = view.seq
            await asyncio.wait({work, watching}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
            if watching.done():
                watching.result()
            assert work.done() or view.seq > before, f"no message after seq {before}: {view.numbers}"
        work.result()
    finally:
        work.cancel()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_stream_comes_whole_and_in_order_over_a_network_that_breaks(relay: Relay, client: str, option: Any) -> None:
    print(asyncio.run(stream(relay, client, option)))


async def reconnect(relay: Relay, client: str, count: int) -> list[int]:
    """Returns the memory in use after a third of the reconnects, and after all of them."""
    async with Proxy(relay.port, 1) as proxy:
        options = {"hello": {"user": "ann"}, "clock": "real", "random": [0]}
        async with Driver(CLIENTS[client], proxy.url, options) as driver:
            driver.command("connect")
            driver.command("join", room=ROOM)
            used = []
            for number in range(count + 1):
                await asyncio.wait_for(driver.events["joined"].get(), PATIENCE)
                if number in (count // 3, count):
                    driver.command("memory")
                    used.append((await driver.events["memory"].get())["bytes"])
                # The test does not need the events. To keep them would be a leak of its own.
                driver.events.clear()
                driver.log.clear()
                if number < count:
                    driver.command("send", tag=number, room=ROOM, body=number)
                    await asyncio.wait_for(driver.events["sent"].get(), PATIENCE)
                    proxy.cut()
            return used


@pytest.mark.parametrize("client", CLIENTS)
def test_memory_stays_flat_over_reconnects(relay: Relay, client: str, option: Any) -> None:
    early, late = asyncio.run(reconnect(relay, client, option.reconnects))
    print(f"{early:,} bytes after {option.reconnects // 3} reconnects, {late:,} after {option.reconnects}")
    assert late - early < NOISE
