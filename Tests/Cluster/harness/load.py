# SPDX-License-Identifier: Apache-2.0
"""The load: writers over WebSocket and HTTP, and readers. All follow the leader, and write the ledger.

The load runs in a thread of its own, so that a test can block while it kills processes.
"""

import asyncio
import itertools
import json
import random
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Any

from relay import DEADLINE
from waiting import eventually

from harness.ledger import Ledger, View
from harness.route import PATIENCE, FollowingConnection, HTTPLine, Route

TICK = 0.02


@dataclass
class Plan:
    """The size of a load."""

    #: Messages in a second, of all writers together.
    rate: float = 2_000
    #: Writers over WebSocket. Each has a room, with one reader.
    writers: int = 8
    #: Writers over HTTP, in the rooms of the others. Each waits for its answer before the next message. They send a
    #: tenth of the messages.
    http_writers: int = 2
    #: The maximum number of unanswered messages of a writer.
    window: int = 200
    #: Messages in a second that cause pushes.
    push_rate: float = 10
    phones: int = 40
    #: The size of a body, in bytes.
    size: int = 120
    seed: int = 1


class Load:
    """Writes until `finish`. Every message is sent again, with the same idempotency key, until it is acknowledged."""

    def __init__(self, ports: list[int], plan: Plan):
        self.ledger = Ledger()
        self.plan = plan
        self.ports = ports
        self.chance = random.Random(plan.seed)
        self.is_ending = False
        self._failure: BaseException | None = None
        self._readers_end = threading.Event()
        rooms = [load_room(number) for number in range(plan.writers)]
        self.rooms = rooms + ([phone_room(number) for number in range(plan.phones)] if plan.push_rate else [])
        self._writers: list[Any] = [Writer(self, f"w{number}", room) for number, room in enumerate(rooms)]
        self._writers += [Poster(self, user, room) for user, room in http_writers(plan)]
        if plan.push_rate:
            self._writers.append(Bell(self))
        self._readers = [Reader(self, f"r{number}", room) for number, room in enumerate(rooms)]
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)

    def start(self, within: float = DEADLINE) -> "Load":
        """Starts, and waits until each writer has an acknowledged message."""
        self._thread.start()
        self.until(lambda: all(writer.count for writer in self._writers), within)
        return self

    def until(self, condition: Any, within: float) -> Any:
        """Waits for a condition. Fails if the load has failed."""

        def checked() -> Any:
            self.raise_failure()
            return condition()

        return eventually(checked, within, 0.005)

    def raise_failure(self) -> None:
        if self._failure is not None:
            raise AssertionError("the load failed") from self._failure

    def finish(self, within: float = 3 * DEADLINE) -> Ledger:
        """Sends no new messages, waits until all are acknowledged and each reader has them, and ends."""
        self.is_ending = True
        self.until(lambda: all(writer.is_done for writer in self._writers), within)
        newest: dict[str, int] = {}
        for key, seq in self.ledger.acknowledged.items():
            room = self.ledger.sent[key]
            newest[room] = max(newest.get(room, 0), seq)
        try:
            self.until(lambda: all(reader.view.last >= newest[reader.view.room] for reader in self._readers), within)
        except AssertionError:
            self.raise_failure()
            # `check` reports the missing messages.
            behind = [f"{r.view.reader} at {r.view.last} of {newest[r.view.room]}" for r in self._readers]
            self.ledger.problems.append(f"readers got no more messages: {behind}")
        self._readers_end.set()
        self._thread.join(DEADLINE)
        return self.ledger

    def close(self) -> None:
        """Ends without waiting for acknowledgements."""
        self.is_ending = True
        for writer in self._writers:
            writer.is_done = True
        self._readers_end.set()
        self._thread.join(DEADLINE)

    def route(self) -> Route:
        return Route(self.ports, random.Random(self.chance.random()))

    @property
    def count(self) -> int:
        """The number of acknowledged messages."""
        return len(self.ledger.acknowledged)

    def _run(self) -> None:
        try:
            asyncio.run(self._play())
        except BaseException as failure:
            self._failure = failure

    async def _play(self) -> None:
        async with asyncio.TaskGroup() as group:
            reading = [group.create_task(reader.run()) for reader in self._readers]
            for writer in self._writers:
                group.create_task(writer.run())
            while not self._readers_end.is_set():
                await asyncio.sleep(TICK)
            for task in reading:
                task.cancel()


class Session:
    """A client with one connection at a time. `entered` sends the first requests, and `received` gets each frame."""

    def __init__(self, load: Load, user: str):
        self.load = load
        self.ledger = load.ledger
        self.user = user
        self.connection: FollowingConnection | None = None
        #: The time of the last sign of life.
        self.alive = 0.0
        self._route = load.route()

    async def connect(self) -> None:
        self.drop()
        self.connection = await self._route.connect(self._text_came)
        self.alive = time.monotonic()
        self.request("hello", user=self.user)
        self.entered()

    def request(self, type: str, **fields: Any) -> None:
        self.connection.send_text(json.dumps({"type": type} | fields))

    @property
    def is_open(self) -> bool:
        return self.connection is not None and not self.connection.ended.done()

    def drop(self) -> None:
        if self.is_open:
            self.connection.cut()
        self.connection = None

    def leave_node(self) -> None:
        """Tries another node next: this one does not answer."""
        self.drop()
        self._route.turn()

    def entered(self) -> None:
        raise NotImplementedError

    def received(self, frame: dict[str, Any]) -> None:
        raise NotImplementedError

    def _text_came(self, text: str) -> None:
        frame = json.loads(text)
        if frame["type"] == "bye":
            if not frame["reconnect"]:
                self.ledger.problems.append(f"{self.user} got {text}")
            return
        self.received(frame)


class Writer(Session):
    """Sends messages over a WebSocket, with several unanswered ones at a time."""

    #: The number of acknowledged messages that are sent again after each reconnect.
    REPEATS = 3

    def __init__(self, load: Load, user: str, room: str):
        super().__init__(load, user)
        self.count = 0
        self.is_done = False
        self._room = room
        self._numbers = itertools.count(1)
        #: The unanswered messages, with the time at which each was last sent.
        self._open: dict[str, float] = {}
        #: The messages that the relay refused for a moment, with the time at which to send them again.
        self._later: dict[str, float] = {}
        self._newest: deque[str] = deque(maxlen=self.REPEATS)
        self._has_joined = False
        self._padding = "." * load.plan.size

    async def run(self) -> None:
        credit, last = 0.0, time.monotonic()
        rate = 0.9 * self.load.plan.rate / self.load.plan.writers
        while not self.is_done:
            if not self.is_open:
                await self.connect()
            await asyncio.sleep(TICK)
            now = time.monotonic()
            credit, last = min(credit + (now - last) * rate, rate / 5 + 1), now
            if not self.is_open:
                continue
            if (self._open or not self._has_joined) and now - self.alive > 2 * PATIENCE:
                self.leave_node()
                continue
            if self._has_joined:
                credit = self._produce(credit, now)
            if self.load.is_ending and not self._open and self._has_joined:
                self.is_done = True
        self.drop()

    def entered(self) -> None:
        self._has_joined = False
        self.request("join", id="join", room=self._room)

    def _produce(self, credit: float, now: float) -> float:
        for key in [key for key, due in self._later.items() if due <= now]:
            del self._later[key]
            self._send(key)
        while credit >= 1 and len(self._open) < self.load.plan.window and not self.load.is_ending:
            key = f"{self.user}-{next(self._numbers)}"
            self.ledger.sent[key] = self._room
            if not self._open:
                self.alive = now
            self._send(key)
            credit -= 1
        return credit

    def _send(self, key: str, id: str | None = None) -> None:
        if id is None:
            self._open[key] = time.monotonic()
        body = f"{key} {self._padding}"[: max(self.load.plan.size, len(key))]
        self.request("send", id=id or key, room=self._room, body=body, key=key)

    def received(self, frame: dict[str, Any]) -> None:
        id = frame.get("id")
        if id is None:
            return
        self.alive = time.monotonic()
        if id == "join":
            self._joined(frame)
        elif frame["type"] == "error":
            self._refused(id, frame)
        elif id.startswith("again "):
            self._repeated(id.removeprefix("again "), frame)
        elif id in self._open:
            self.ledger.acknowledge(id, frame["seq"], self._open.pop(id))
            self._newest.append(id)
            self.count += 1

    def _joined(self, frame: dict[str, Any]) -> None:
        if frame["type"] == "error":
            if not frame["temporary"]:
                self.ledger.problems.append(f"{self.user} cannot join: {frame}")
            self.leave_node()
            return
        self._has_joined = True
        self._later.clear()
        for key in list(self._newest):
            self._send(key, f"again {key}")
        for key in list(self._open):
            self._send(key)

    def _refused(self, id: str, frame: dict[str, Any]) -> None:
        if not frame["temporary"]:
            self.ledger.problems.append(f"{self.user} sent {id}: {frame}")
        elif id in self._open:
            self._later[id] = time.monotonic() + frame.get("retryAfter", 0.1)

    def _repeated(self, key: str, frame: dict[str, Any]) -> None:
        """A message that was acknowledged by an earlier leader, and sent again. It must not be stored twice."""
        promised = self.ledger.acknowledged[key]
        if frame["seq"] != promised or not frame.get("duplicate"):
            self.ledger.problems.append(f"{key} was acknowledged as {promised}, and repeated it is {frame}")
        self.ledger.repeats += 1


class Poster:
    """Sends messages over HTTP, one after the other."""

    def __init__(self, load: Load, user: str, room: str):
        self.count = 0
        self.is_done = False
        self.load = load
        self.ledger = load.ledger
        self.user = user
        self.room = room
        self.line = HTTPLine(load.route())

    async def run(self) -> None:
        due = time.monotonic()
        for number in itertools.count(1):
            if self.load.is_ending or self.is_done:
                break
            await self.write(number)
            # The relay may have been away: then the messages of that time are not sent all at once.
            due = max(due + 1 / self.rate, time.monotonic() - 0.2)
            await asyncio.sleep(max(0, due - time.monotonic()))
        self.is_done = True
        self.line.close()

    @property
    def rate(self) -> float:
        """Messages in a second."""
        return 0.1 * self.load.plan.rate / self.load.plan.http_writers

    async def write(self, number: int) -> None:
        await self.post(self.user, self.room, f"{self.user}-{number}", "." * self.load.plan.size)

    async def post(self, user: str, room: str, key: str, padding: str = "") -> None:
        """Sends a message until it is acknowledged."""
        self.ledger.sent[key] = room
        body = {"from": user, "body": f"{key} {padding}".strip()[: max(self.load.plan.size, len(key))]}
        while not self.is_done:
            sent = time.monotonic()
            path = f"/v1/rooms/{room}/messages"
            response = await self.line.attempt("POST", path, body, {"Idempotency-Key": key, "X-Stillwire-User": user})
            if response is not None and response.status in (200, 201):
                self.ledger.acknowledge(key, json.loads(response.body)["seq"], sent)
                self.count += 1
                return
            if response is not None and response.status not in (429, 503):
                self.ledger.problems.append(f"{key}: {response.status} {response.body.decode()}")
                return
            await asyncio.sleep(0.05)


class Bell(Poster):
    """Sends messages over HTTP to the members with phones."""

    #: The relay delays the pushes of one sender to one recipient above 20 in a minute.
    SENDERS = 30

    def __init__(self, load: Load):
        super().__init__(load, "bell", "")

    @property
    def rate(self) -> float:
        return self.load.plan.push_rate

    async def write(self, number: int) -> None:
        room = phone_room(number % self.load.plan.phones)
        await self.post(f"bell{number % self.SENDERS}", room, f"bell-{number}")


class Reader(Session):
    """Receives the messages of a room, and recovers what it missed after each reconnect."""

    def __init__(self, load: Load, user: str, room: str):
        super().__init__(load, user)
        self.view = View(user, room)
        load.ledger.views.append(self.view)
        self._epoch: str | None = None
        #: True while the reader pages through the history, because it missed more than a reply contains.
        self._is_paging = False
        self._early: dict[int, str] = {}

    async def run(self) -> None:
        try:
            while True:
                if not self.is_open:
                    await self.connect()
                await asyncio.sleep(PATIENCE)
                if self.is_open:
                    if time.monotonic() - self.alive > 3 * PATIENCE:
                        self.leave_node()
                    else:
                        self.request("ping", id="ping")
        finally:
            self.drop()

    def entered(self) -> None:
        self._is_paging = False
        self._early.clear()
        after = {} if self._epoch is None else {"after": {"epoch": self._epoch, "seq": self.view.last}}
        self.request("join", id="join", room=self.view.room, **after)

    def received(self, frame: dict[str, Any]) -> None:
        self.alive = time.monotonic()
        id = frame.get("id")
        if id in ("join", "history"):
            if frame["type"] == "error":
                self.leave_node()
            elif id == "join":
                self._joined(frame)
            else:
                self._paged(frame)
        elif frame["type"] == "message":
            if self._is_paging:
                self._early[frame["seq"]] = _key(frame)
            else:
                self._take(frame["seq"], _key(frame))

    def _joined(self, frame: dict[str, Any]) -> None:
        if self._epoch not in (None, frame["epoch"]):
            self.ledger.epochs += 1
            self.ledger.problems.append(f"{self.user}: {self.view.room} has begun a new epoch")
        self._epoch = frame["epoch"]
        if frame.get("recovered"):
            for message in frame["messages"]:
                self._take(message["seq"], _key(message))
        elif self.view.last < frame["seq"]:
            self._is_paging = True
            self._page()

    def _page(self) -> None:
        self.request("history", id="history", room=self.view.room, after=self.view.last, limit=300)

    def _paged(self, frame: dict[str, Any]) -> None:
        for message in frame["messages"]:
            self._take(message["seq"], _key(message))
            self._early.pop(message["seq"], None)
        if frame["more"]:
            self._page()
            return
        self._is_paging = False
        for seq, key in sorted(self._early.items()):
            if seq > self.view.last:
                self._take(seq, key)
        self._early.clear()

    def _take(self, seq: int, key: str) -> None:
        if seq != self.view.last + 1:
            self.ledger.problems.append(f"{self.user} got {seq} after {self.view.last} in {self.view.room}")
        if self.view.seen.setdefault(seq, key) != key:
            self.ledger.problems.append(f"{self.user} got {key} as {seq}, which was {self.view.seen[seq]}")
        self.view.last = max(self.view.last, seq)


def load_room(number: int) -> str:
    """The room of a writer."""
    return f"load-{number}"


def http_writers(plan: Plan) -> list[tuple[str, str]]:
    """The users who write over HTTP, with their rooms. They must be members of the rooms."""
    return [(f"h{number}", load_room(number % plan.writers)) for number in range(plan.http_writers)]


def phone_room(number: int) -> str:
    """The room of a member with a phone."""
    return f"push-{number}"


def _key(message: dict[str, Any]) -> str:
    return str(message.get("body", "")).partition(" ")[0]
