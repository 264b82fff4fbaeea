# SPDX-License-Identifier: Apache-2.0
"""Clients on slow lines, which catch up in pages while others write."""

import asyncio

from frames import Frame
from relay import DEADLINE

from stress.pages import MAX_PAGES
from stress.people import ENDS, SlowFollower, Writer, finish
from stress.registry import BRISK, UNLIMITED, scenario
from stress.session import Refused, Session
from stress.stage import Stage

#: No limit except the size of the queue ends a session that reads slowly.
PATIENT = (*UNLIMITED, "--limits-outgoing-queue", 262144, "--limits-heartbeat", 600, "--limits-pong-timeout", 300)


async def written(stage: Stage, room: str, count: int, first: int) -> Writer:
    """Makes a writer with `count` messages of different sizes, and sends the first ones."""
    writer = Writer(stage, room, count)
    writer.waiting = [f"{number} " + "x" * stage.random.randrange(100, 1900) for number in range(count)]
    # One message needs a frame of its own.
    writer.waiting[stage.random.randrange(first)] += "y" * 20_000
    await writer.connect()
    await writer.write(first)
    return writer


async def write_on(writer: Writer) -> None:
    """Sends the other messages, a few each moment."""
    while writer.waiting and writer.session.is_open:
        await writer.write(2)
        await asyncio.sleep(0.2)


async def ping_often(follower: SlowFollower) -> None:
    """Sends pings while the follower catches up. Each must be answered."""
    while True:
        await asyncio.sleep(0.5)
        if follower.session is not None and follower.session.is_open:
            await follower.session.request("ping")


@scenario(*BRISK, "--limits-send-rate", 0)
async def slow_lines_catch_up_in_pages(stage: Stage) -> None:
    """Clients that read a few kB a second get every message once, in pages and events. No session of them ends."""
    room = stage.name("room")
    writer = await written(stage, room, 70, first=40)
    followers = [SlowFollower(stage, room, rate) for rate in (12_000, 20_000, 40_000)]
    pinging = stage.background(ping_often(stage.random.choice(followers)))
    writing = stage.background(write_on(writer))
    await stage.all(follower.connect() for follower in followers)
    await writing
    await finish([writer], followers)
    pinging.cancel()
    for follower in followers:
        assert follower.session.is_open, f"{follower.user} was closed with {follower.session.connection.code}"
        assert follower.turns > 0, f"{follower.user} got all messages in one reply"


@scenario(*UNLIMITED)
async def slow_lines_that_are_cut_continue_behind_the_last_page(stage: Stage) -> None:
    """Clients whose slow lines are cut between two pages continue there, and have every message once."""
    room = stage.name("room")
    writer = await written(stage, room, 120, first=60)
    followers = [SlowFollower(stage, room, rate) for rate in (30_000, 40_000, 60_000)]
    writing = stage.background(write_on(writer))

    async def follow(follower: SlowFollower) -> None:
        for end in stage.random.sample(list(ENDS), 4):
            connecting = stage.background(follower.connect())
            await asyncio.wait([connecting], timeout=stage.random.uniform(0.2, 1.2))
            if follower.session is not None:
                await follower.disconnect(ENDS[end])
            await asyncio.gather(connecting, return_exceptions=True)
            check(connecting)
        await follower.connect()

    await stage.all(follow(follower) for follower in followers)
    await writing
    await finish([writer], followers)


def check(connecting: asyncio.Task[None]) -> None:
    """Raises the error of a task, unless its connection has ended."""
    error = connecting.exception()
    if error is not None and not isinstance(error, ConnectionError):
        raise error


async def fill(stage: Stage, session: Session, room: str) -> list[asyncio.Future[Frame]]:
    """Requests pages of history until one waits in the relay's queue, and stays there. Returns the replies."""
    replies: list[asyncio.Future[Frame]] = []
    waiting = wanted = 0
    async with asyncio.timeout(DEADLINE):
        while True:
            metrics = await stage.metrics()
            before, waiting = waiting, metrics["stillwire_outbox_bytes"]
            answered = metrics["stillwire_sent_bytes_total"] + waiting
            if waiting >= 60_000 and waiting == before:
                return replies
            if waiting < 60_000 and answered >= wanted:
                # The relay reads no more requests if two of these replies wait, so each is requested alone.
                replies.append(session.begin("history", room=room, limit=100))
                wanted = answered + 50_000
            await asyncio.sleep(0.2 if waiting >= 60_000 else 0.01)


@scenario(alone=True)
async def only_the_last_of_repeated_joins_has_the_messages(stage: Stage) -> None:
    """Joins whose replies wait for a slow line become `superseded`. A `pong` does not wait for their pages."""
    await stage.start(*PATIENT)
    room = stage.name("room")
    writer = await written(stage, room, 50, first=45)
    follower = SlowFollower(stage, room, 500_000)
    slow = follower.session = await stage.session(follower.user, rate=500_000)
    busy = stage.name("busy")
    other = await written(stage, busy, 100, first=100)
    await slow.join(busy)
    slow.connection.pause()
    replies = await fill(stage, slow, busy)
    joins = [slow.begin("join", room=room, history=300, maxBytes=MAX_PAGES) for _ in range(4)]
    ping = slow.begin("ping")

    async def all_done() -> bool:
        return (await stage.metrics())["stillwire_recoveries_total{not_asked}"] >= 7

    await stage.eventually(all_done, "the relay has handled four joins of the slow client and three of others")
    await writer.write(5)
    order: list[Frame] = []
    slow.on_frame = order.append
    slow.connection.rate = None
    slow.connection.resume()
    for reply in [*replies, ping]:
        await slow.replied(reply)
    for join in joins[:-1]:
        assert (code := await refused(slow, join)) == "superseded", f"a join that waits got {code}"
    await follower.joined(joins[-1])
    types = [frame["type"] for frame in order]
    assert types.index("pong") < types.index("page"), f"a pong waits for pages: {types}"
    await finish([writer], [follower])
    await finish([other], [])


async def refused(session: Session, reply: asyncio.Future[Frame]) -> str:
    """Returns the code of the error, or `ok`."""
    try:
        await session.replied(reply)
    except Refused as error:
        return error.code
    return "ok"


@scenario(alone=True)
async def a_line_that_is_too_slow_continues_after_4003(stage: Stage) -> None:
    """A client whose queue is full is closed with 4003. It comes back with `after`, and gets the rest in pages."""
    await stage.start(*PATIENT)
    room = stage.name("room")
    follower = SlowFollower(stage, room, 10_000)
    await follower.connect()
    writer = Writer(stage, room, 0)
    writer.waiting = [f"{number} " + "x" * 18_000 for number in range(280)]
    await writer.connect()

    async def is_closed() -> bool:
        return (await stage.metrics())["stillwire_session_closes_total{4003}"] > 0

    while writer.waiting and not await is_closed():
        await writer.write(20)
    assert await is_closed(), "a client with a full queue was not closed"
    slow = follower.session
    slow.connection.rate = None
    assert await slow.closed() == 4003, slow.connection.code
    assert slow.bye["code"] == 4003 and slow.bye["reconnect"] is True, slow.bye.text
    follower.rate = 2_000_000
    del writer.waiting[10:]
    writing = stage.background(write_on(writer))
    await follower.connect()
    await writing
    await finish([writer], [follower])
