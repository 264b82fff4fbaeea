# SPDX-License-Identifier: Apache-2.0
"""Users who reconnect after every end of a connection, and continue where they were."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from relay import DEADLINE

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
        if self.session is None:
            return
        rest = []
        for frame in self.session.inbox:
            if frame.fits("message", {"room": self.room}):
                self._take(frame)
            else:
                rest.append(frame)
        self.session.inbox[:] = rest

    def _take(self, message: dict[str, Any]) -> None:
        assert message["seq"] == self.seq + 1, f"{self.user} has {self.seq} and gets {message['seq']}"
        self.bodies.append(message["body"])


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
