# SPDX-License-Identifier: Apache-2.0
"""Users who reconnect after every end of a connection, and continue where they were."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from frames import Frame
from relay import DEADLINE

from stress.pages import MAX_PAGES, MIN_PAGES
from stress.session import Refused, Session
from stress.stage import Stage


async def abandon(session: Session) -> None:
    session.abandon()


#: The ways to end a connection, by name.
ENDS: dict[str, Callable[[Session], Awaitable[None]]] = {
    "goodbye": lambda session: session.close(1000),
    "reload": lambda session: session.close(1001),
    "cut": Session.cut,
    "reset": Session.reset,
    "half open": abandon,
}


class Follower:
    """Reads all messages of a room, over as many sessions as it needs."""

    def __init__(self, stage: Stage, room: str, user: str | None = None):
        self.stage = stage
        self.room = room
        self.user = user or stage.name("follower")
        self.epoch: str | None = None
        #: The bodies of all messages, from seq 1 on.
        self.bodies: list[Any] = []
        self.session: Session | None = None

    @property
    def seq(self) -> int:
        return len(self.bodies)

    async def connect(self, **hello: Any) -> None:
        """Connects and recovers all missed messages."""
        self._take_events()
        self.session = await self.stage.session(self.user, **hello)
        if self.epoch is None:
            joined = await self.session.join(self.room, history=300)
            self.epoch = joined["epoch"]
        else:
            joined = await self.session.join(self.room, after={"epoch": self.epoch, "seq": self.seq})
            assert joined["recovered"] is True, joined.text[:300]
        for message in joined["messages"]:
            self._take(message)
        assert self.seq == joined["seq"], f"{self.user} has {self.seq} of {joined['seq']}"

    async def disconnect(self, end: Callable[[Session], Awaitable[None]]) -> None:
        self._take_events()
        await end(self.session)

    async def until(self, seq: int) -> None:
        """Waits until all messages up to this seq were received."""
        await self.session.hears(self.room, seq)
        self._take_events()
        assert self.seq >= seq, f"{self.user} has {self.seq} of {seq}"

    def _take_events(self) -> None:
        for message in self._taken("message"):
            self._take(message)

    def _taken(self, type: str) -> list[Frame]:
        """Removes the events of this type and room from the inbox, and returns them."""
        if self.session is None:
            return []
        taken = [frame for frame in self.session.inbox if frame.fits(type, {"room": self.room})]
        self.session.inbox[:] = [frame for frame in self.session.inbox if not frame.fits(type, {"room": self.room})]
        return taken

    def _take(self, message: dict[str, Any]) -> None:
        assert message["seq"] == self.seq + 1, f"{self.user} has {self.seq} and gets {message['seq']}"
        self.bodies.append(message["body"])


class SlowFollower(Follower):
    """Follows a room over a slow line: it catches up in pages, with the sizes that the client libraries choose."""

    def __init__(self, stage: Stage, room: str, rate: float | None, user: str | None = None):
        super().__init__(stage, room, user)
        #: The bytes that the line carries in a second.
        self.rate = rate
        #: The number of replies that had `more`.
        self.turns = 0
        self._change = 0
        self._joining: asyncio.Future[Frame] | None = None

    async def connect(self, **hello: Any) -> None:
        self._take_events()
        self.session = await self.stage.session(self.user, rate=self.rate, **hello)
        size = MIN_PAGES
        while True:
            begun = time.monotonic()
            reply = await self.joined(self._join(size))
            if "more" not in reply:
                return
            self.turns += 1
            size = min(2 * size, MAX_PAGES) if time.monotonic() - begun < 1 else max(size // 2, MIN_PAGES)

    async def joined(self, joining: asyncio.Future[Frame]) -> Frame:
        """Waits for the reply to a `join`, and takes its pages and messages."""
        self._joining = joining
        reply = await self.session.replied(joining)
        self._take_events()
        return reply

    def _join(self, size: int) -> asyncio.Future[Frame]:
        if self.epoch is None:
            return self.session.begin("join", room=self.room, history=300, maxBytes=size)
        after = {"epoch": self.epoch, "seq": self.seq}
        return self.session.begin("join", room=self.room, after=after, afterChange=self._change, maxBytes=size)

    def _take_events(self) -> None:
        """Takes the pages, then the reply to the `join`, and then the events that came after it."""
        for page in self._taken("page"):
            self._take_page(page)
        if self._joining is not None and self._joining.done():
            joining, self._joining = self._joining, None
            if joining.exception() is None:
                self._take_page(joining.result())
                self._change = joining.result()["change"]
        super()._take_events()

    def _take_page(self, page: Frame) -> None:
        """Takes the messages of a page, or of the reply to a `join`."""
        assert self.epoch is None or page.get("recovered", True) is True, page.text[:300]
        self.epoch = page["epoch"]
        for message in page.messages:
            self._take(message)
        assert self.seq == page["seq"], f"{self.user} has {self.seq} of {page['seq']}"


class Writer:
    """Sends messages with keys. Repeats those without a reply until each is acknowledged."""

    def __init__(self, stage: Stage, room: str, count: int, user: str | None = None):
        self.stage = stage
        self.room = room
        self.user = user or stage.name("writer")
        self.waiting = [f"{self.user} {number}" for number in range(count)]
        #: The seq of each body.
        self.seqs: dict[str, int] = {}
        self.session: Session | None = None

    async def connect(self) -> None:
        self.session = await self.stage.session(self.user)
        await self.session.join(self.room)

    async def write(self, count: int, at_once: int = 8) -> None:
        """Sends `count` of the waiting messages, `at_once` at a time. Messages without a reply wait again."""
        batch, self.waiting = self.waiting[:count], self.waiting[count:]
        lost = []
        while batch:
            now, batch = batch[:at_once], batch[at_once:]
            replies = [self._begin(body) for body in now]
            for body, reply in zip(now, replies):
                try:
                    self.seqs[body] = (await self.session.replied(reply))["seq"]
                except (ConnectionError, Refused) as error:
                    if isinstance(error, Refused) and not error.error["temporary"]:
                        raise
                    lost.append(body)
        self.waiting = lost + self.waiting

    def begin(self, count: int) -> None:
        """Sends `count` messages without waiting for replies. They stay in `waiting`, as their replies may be lost."""
        for body in self.waiting[:count]:
            self._begin(body)

    def _begin(self, body: str) -> asyncio.Future[Any]:
        return self.session.begin("send", room=self.room, body=body, key=body[:128])


async def finish(writers: list[Writer], followers: list[Follower]) -> int:
    """Sends all waiting messages and compares them with what the followers received. Returns the newest seq."""
    for writer in writers:
        async with asyncio.timeout(DEADLINE):
            while writer.waiting:
                if writer.session is None or not writer.session.is_open:
                    await writer.connect()
                await writer.write(len(writer.waiting))
    newest = max(seq for writer in writers for seq in writer.seqs.values())
    bodies = {seq: body for writer in writers for body, seq in writer.seqs.items()}
    for follower in followers:
        await follower.until(newest)
        for seq, body in bodies.items():
            assert follower.bodies[seq - 1] == body, f"{follower.user} has {follower.bodies[seq - 1]!r} at {seq}"
        assert len(follower.bodies) == len(bodies), f"{len(follower.bodies)} messages for {len(bodies)} sends"
    return newest
