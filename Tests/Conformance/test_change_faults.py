# SPDX-License-Identifier: Apache-2.0
"""Messages are edited, deleted and reacted to while the network breaks. At the end, each app has the state of the store."""

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
#: Seconds in which there must be progress.
PATIENCE = 30 * SLOW
#: Requests of Bob between two faults. A relay can recover 300 changed messages, so no loss causes a reset.
STEP = 40


@pytest.fixture
def relay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Relay]:
    folder = tmp_path_factory.mktemp("relay")
    # The room keeps all messages. A change of a message that has left the history is a reset.
    (folder / "relay.json").write_text(json.dumps({"rooms": [{"match": ROOM, "history": {"count": 1_000_000}}]}))
    with running(folder, "--limits-send-rate", "0", "--config", folder / "relay.json") as relay:
        yield relay


class App:
    """The state that an app shows: the newest body of each message, or None if it was deleted."""

    def __init__(self, driver: Driver, dice: random.Random):
        self._driver = driver
        self._dice = dice
        self.state: dict[int, Any] = {}
        #: The reactions that the app shows, by message.
        self.reactions: dict[int, Any] = {}
        self.own: list[int] = []
        #: The own requests without an answer: the body of an edit, or None for a deletion, by tag.
        self._asked: dict[int, tuple[int, Any]] = {}
        self._tags = 0
        self.changes: list[int] = []
        #: The number of own requests without a reply. The relay may have performed them.
        self.unanswered = 0
        self.joins = 0
        self.has_more = asyncio.Condition()
        self._failure: AssertionError | None = None

    async def watch(self) -> None:
        while not self._failure:
            event = await self._driver.ordered.get()
            async with self.has_more:
                try:
                    self._take(event)
                except AssertionError as failure:
                    self._failure = failure
                self.has_more.notify_all()

    def check(self) -> None:
        """Raises the failure of an earlier event."""
        if self._failure:
            raise self._failure

    def _take(self, event: dict[str, Any]) -> None:
        match event["app"]:
            case "message":
                self.state[event["seq"]] = event.get("body")
                self._react(event)
                if event.get("isOwn"):
                    self.own.append(event["seq"])
            case "edited" | "deleted":
                assert event["change"] not in self.changes, f"a second time: {event}"
                self.changes.append(event["change"])
                self.state[event["seq"]] = event.get("body")
                if event["app"] == "deleted":
                    self._react(event)
            case "reactions":
                assert event["change"] not in self.changes, f"a second time: {event}"
                self.changes.append(event["change"])
                self._react(event)
            case "replied":
                seq, body = self._asked.pop(event["tag"])
                self.state[seq] = body
            case "failed":
                assert event["code"] in ("closed", "timeout", "not_found"), event
                del self._asked[event["tag"]]
                self.unanswered += event["code"] != "not_found"
            case "joined":
                self.joins += 1
            case "reset":
                raise AssertionError(f"a reset: {event}")

    def _react(self, event: dict[str, Any]) -> None:
        self.reactions.pop(event["seq"], None)
        if event.get("reactions"):
            self.reactions[event["seq"]] = event["reactions"]

    def change_own(self) -> None:
        """Edits or deletes a message of the app itself."""
        self._tags += 1
        seq = self._dice.choice(self.own)
        if any(asked == seq for asked, _ in self._asked.values()):
            return
        if self._dice.random() < 0.2:
            self._asked[self._tags] = (seq, None)
            self._driver.command("request", tag=self._tags, type="delete", fields={"room": ROOM, "seq": seq})
        else:
            body = ["ann", self._tags]
            self._asked[self._tags] = (seq, body)
            fields = {"room": ROOM, "seq": seq, "body": body}
            self._driver.command("request", tag=self._tags, type="edit", fields=fields)

    async def wait_for(self, condition: Any) -> None:
        async with self.has_more:
            await asyncio.wait_for(self.has_more.wait_for(lambda: self._failure or condition()), PATIENCE)
        self.check()


class OrderedDriver(Driver):
    """A driver whose events of all kinds wait in one queue, in their order."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.ordered: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def _read(self) -> None:
        async for line in self._process.stdout:
            self.ordered.put_nowait(json.loads(line))


class Bob:
    """A user whose connection never breaks."""

    def __init__(self, socket: Connection):
        self._socket = socket
        self._last = 0

    async def ask(self, type: str, **fields: object) -> dict[str, Any]:
        self._last += 1
        self._socket.send_text(json.dumps({"type": type, "id": self._last, **fields}))
        while (reply := json.loads(await self._socket.text())).get("id") != self._last:
            assert reply["type"] not in ("error", "bye"), reply
        return reply

    async def stored(self) -> tuple[dict[int, Any], dict[int, Any]]:
        """Returns the bodies and the reactions in the store."""
        state: dict[int, Any] = {}
        reactions: dict[int, Any] = {}
        after, has_more = 0, True
        while has_more:
            page = await self.ask("history", room=ROOM, after=after, limit=300)
            state |= {message["seq"]: message.get("body") for message in page["messages"]}
            reactions |= {message["seq"]: message["reactions"] for message in page["messages"] if "reactions" in message}
            after, has_more = max(state), page["more"]
        return state, reactions


async def change(relay: Relay, client: str, option: Any) -> str:
    dice = random.Random(option.seed)
    async with Proxy(relay.port, option.seed) as proxy, await Connection.open(relay.port) as socket:
        bob = Bob(socket)
        await bob.ask("hello", user="bob")
        await bob.ask("join", room=ROOM)
        options = {"hello": {"user": "ann"}, "clock": "real", "random": [0], "timeout": 15}
        async with OrderedDriver(CLIENTS[client], proxy.url, options) as driver:
            app = App(driver, dice)
            watching = asyncio.create_task(app.watch())
            driver.command("connect")
            driver.command("join", room=ROOM)
            await app.wait_for(lambda: app.joins)
            for number in range(5):
                driver.command("send", tag=-number, room=ROOM, body=["ann", -number])
            await app.wait_for(lambda: len(app.own) == 5)
            sent = []
            for _ in range(option.disconnects):
                cut = dice.randrange(STEP)
                joins = app.joins
                for number in range(STEP):
                    if number == cut:
                        await proxy.disturb()
                    if dice.random() < 0.2:
                        app.change_own()
                    await change_as_bob(bob, sent, dice)
                await app.wait_for(lambda joins=joins: app.joins > joins)
            stored = await asyncio.wait_for(agreed(app, bob), PATIENCE)
            watching.cancel()
            lost = proxy.connections - 1
            assert lost >= option.disconnects
            return (
                f"{len(stored)} messages, {len(app.changes)} changes of others, {app.unanswered} own requests without "
                f"a reply, over {lost} lost connections"
            )


async def agreed(app: App, bob: Bob) -> dict[int, Any]:
    """Waits until the app has the state of the store. The last requests of the app may still change both."""
    while (app.state, app.reactions) != (stored := await bob.stored()):
        app.check()
        await asyncio.sleep(0.01)
    return stored[0]


async def change_as_bob(bob: Bob, sent: list[int], dice: random.Random) -> None:
    kind = dice.random()
    if not sent or kind < 0.3:
        sent.append((await bob.ask("send", room=ROOM, body=["bob", dice.random()]))["seq"])
    elif kind < 0.6:
        type = "react" if dice.random() < 0.7 else "unreact"
        await bob.ask(type, room=ROOM, seq=dice.choice(sent), key=dice.choice("👍🎉x"))
    elif kind < 0.9:
        await bob.ask("edit", room=ROOM, seq=dice.choice(sent), body=["bob", dice.random()])
    else:
        await bob.ask("delete", room=ROOM, seq=sent.pop(dice.randrange(len(sent))))


@pytest.mark.parametrize("client", CLIENTS)
def test_an_app_has_the_state_of_the_store_after_faults_of_the_network(relay: Relay, client: str, option: Any) -> None:
    print(asyncio.run(change(relay, client, option)))
