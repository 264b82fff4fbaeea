# SPDX-License-Identifier: Apache-2.0
"""A process that is suspended for a while: a paused virtual machine, a disk that hangs, a debugger."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from relay import DEADLINE
from rfc6455 import PONG as PONG_OPCODE
from rfc6455 import frame

from stress.people import Follower, Writer, finish
from stress.registry import BRISK, PONG, UNLIMITED, scenario
from stress.stage import Stage


@asynccontextmanager
async def frozen(stage: Stage) -> AsyncIterator[None]:
    """Suspends the relay's process."""
    stage.relay.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        stage.relay.signal(signal.SIGCONT)


@scenario(alone=True)
async def a_pause_ends_no_session(stage: Stage) -> None:
    """A suspension longer than heartbeat and pong timeout ends no session whose client answers, and no presence."""
    await stage.start(*BRISK)
    room = stage.name("room")
    members = await stage.sessions_of(10)
    for member in members:
        await member.join(room)
    for _ in range(3):
        # Long enough that a ping is pending for some sessions when the suspension begins.
        await asyncio.sleep(0.3 + stage.random.random())
        async with frozen(stage):
            await asyncio.sleep(PONG + 2)
        await members[0].send(room, "awake")
        for member in members[1:]:
            await member.expect("message", body="awake")
    for member in members:
        gone = await member.received("presence", online=False)
        assert not gone, f"{member.name} got that {[frame['user'] for frame in gone]} are offline"


@scenario(alone=True)
async def a_pong_that_came_during_a_pause_counts(stage: Stage) -> None:
    """A pong that waited in the socket during a suspension longer than the pong timeout still counts."""
    await stage.start(*BRISK)
    session = await stage.session(stage.name("ann"), answers_pings=False)
    connection = session.connection
    async with asyncio.timeout(DEADLINE):
        while not connection.pings:
            await asyncio.sleep(0.005)
    async with frozen(stage):
        connection.write(frame(PONG_OPCODE, connection.ping))
        connection.answers_pings = True
        await asyncio.sleep(PONG + 1)
    await session.request("ping")


@scenario(alone=True)
async def messages_sent_during_a_pause_are_stored_once(stage: Stage) -> None:
    """Messages that were sent during a suspension are stored once, even if their senders disconnected."""
    await stage.start(*UNLIMITED)
    room = stage.name("room")
    writers = [Writer(stage, room, 60) for _ in range(4)]
    follower = Follower(stage, room)
    for one in (*writers, follower):
        await one.connect()
    for _ in range(3):
        async with frozen(stage):
            for writer in writers:
                writer.begin(15)
            await asyncio.sleep(0.3)
            for writer in stage.random.sample(writers, 2):
                await stage.random.choice([writer.session.cut, writer.session.reset])()
        for writer in writers:
            if not writer.session.is_open:
                await writer.connect()
            await writer.write(15)
    await finish(writers, [follower])
