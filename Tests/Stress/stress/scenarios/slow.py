# SPDX-License-Identifier: Apache-2.0
"""Connections that do not read, do not answer, or end without a close."""

import asyncio

from relay import DEADLINE

from stress.people import Follower, Writer
from stress.registry import BRISK, PONG, UNLIMITED, scenario
from stress.stage import Stage

#: A queue that a few messages fill, and no other limit that ends a session that does not read.
NARROW = ("--limits-outgoing-queue", 262144, "--limits-send-rate", 0, "--limits-pong-timeout", 60)


@scenario(*NARROW)
async def a_slow_reader_is_closed_and_can_read_everything_later(stage: Stage) -> None:
    """A client that does not read is closed with 4003, delays no other client, and can read everything later."""
    room = stage.name("room")
    follower, quick = Follower(stage, room), Follower(stage, room)
    await follower.connect()
    await quick.connect()
    writer = Writer(stage, room, 0)
    writer.waiting = [f"{number} " + "x" * 15000 for number in range(400)]
    await writer.connect()
    follower.session.connection.pause()
    # More than the kernel's buffers and the queue can hold.
    bodies = writer.waiting
    await writer.write(len(bodies), at_once=8)
    sent = max(writer.seqs.values())
    await quick.until(sent)
    follower.session.connection.may_be_cut = True
    follower.session.connection.resume()
    assert await follower.session.closed() in (4003, None), follower.session.connection.code
    if follower.session.bye is not None:
        assert follower.session.bye["code"] == 4003 and follower.session.bye["reconnect"] is True
    # A gap of more than 512 KiB is not recovered, but can be read in pages.
    session = await stage.session(follower.user)
    joined = await session.join(room, after={"epoch": follower.epoch, "seq": 0})
    assert (joined["recovered"], joined["seq"]) == (False, sent)
    paged: list[str] = []
    while len(paged) < sent:
        page = await session.request("history", room=room, after=len(paged), limit=20)
        assert page["messages"], "a page without messages"
        paged += [message["body"] for message in page["messages"]]
    assert paged == bodies


@scenario(*NARROW)
async def slow_readers_of_a_relayed_room_do_not_delay_others(stage: Stage) -> None:
    """Ten stalled clients are closed with 4003, while the others receive every message."""
    room = f"live.{stage.name('room')}"
    writer, reader = [await stage.session(name) for name in stage.names("writer", "reader")]
    await writer.join(room)
    await reader.join(room)
    stalled = [await stage.session(stage.name("stalled")) for _ in range(10)]
    for session in stalled:
        await session.join(room)
        session.connection.pause()
        session.connection.may_be_cut = True
    for number in range(600):
        await writer.send(room, f"{number} " + "x" * 15000)
    await reader.hears(room, 600)
    for session in stalled:
        session.connection.resume()
        assert await session.closed() in (4003, None), session.connection.code


@scenario(*BRISK)
async def no_pong_ends_with_4004(stage: Stage) -> None:
    """A client that ignores pings is closed with 4004 after heartbeat and pong timeout. A client that answers stays."""
    clock = asyncio.get_running_loop().time
    begun = clock()
    deaf = await stage.session(stage.name("deaf"), answers_pings=False)
    well = await stage.session(stage.name("well"))
    assert await deaf.closed() == 4004
    assert clock() - begun > PONG + 0.9, f"after {clock() - begun:.2f} s"
    assert deaf.bye["reconnect"] is True
    await well.request("ping")
    assert well.connection.pings > 0


@scenario(*BRISK)
async def requests_keep_a_session_open_without_pongs(stage: Stage) -> None:
    """A client that answers no pings but sends requests is not closed."""
    deaf = await stage.session(stage.name("deaf"), answers_pings=False)
    end = asyncio.get_running_loop().time() + PONG + 3
    while asyncio.get_running_loop().time() < end:
        await deaf.request("ping")
        await asyncio.sleep(0.2)
    assert deaf.is_open


@scenario(*BRISK)
async def a_half_open_client_becomes_offline_in_time(stage: Stage) -> None:
    """A half-open client becomes offline after heartbeat, pong timeout and grace, and not before."""
    room = stage.name("room")
    watcher, ghost = [await stage.session(name) for name in stage.names("watcher", "ghost")]
    await watcher.join(room)
    clock = asyncio.get_running_loop().time
    begun = clock()
    await ghost.join(room)
    ghost.abandon()
    await watcher.expect("presence", user=ghost.user, online=True)
    await watcher.expect("presence", user=ghost.user, online=False)
    took = clock() - begun
    bound = 1 + PONG + 1
    assert took > bound - 0.2, f"offline after {took:.2f} s of {bound}"


@scenario(*BRISK)
async def a_killed_client_becomes_offline_after_the_grace(stage: Stage) -> None:
    """After a cut, a reset, a 1001 or another code the user stays online for the grace, but not after a 1000."""
    room = stage.name("room")
    watcher = await stage.session(stage.name("watcher"))
    await watcher.join(room)
    clock = asyncio.get_running_loop().time

    async def one(stem: str, end) -> float:
        ghost = await stage.session(stage.name(stem))
        await ghost.join(room)
        await watcher.expect("presence", user=ghost.user, online=True)
        begun = clock()
        await end(ghost)
        await watcher.expect("presence", user=ghost.user, online=False)
        return clock() - begun

    for stem, end in {
        "cut": lambda ghost: ghost.cut(),
        "reset": lambda ghost: ghost.reset(),
        "reload": lambda ghost: ghost.close(1001),
        "other": lambda ghost: ghost.close(3000),
    }.items():
        assert (took := await one(stem, end)) > 0.9, f"{stem}: offline after {took:.2f} s of the grace of 1 s"


@scenario("--presence-grace", 600)
async def a_goodbye_needs_no_grace(stage: Stage) -> None:
    """A close with 1000 takes effect at once, however long the grace is."""
    room = stage.name("room")
    watcher, ann = [await stage.session(name) for name in stage.names("watcher", "ann")]
    await watcher.join(room)
    await ann.join(room)
    await watcher.expect("presence", user=ann.user, online=True)
    await ann.close(1000)
    entry = await watcher.expect("presence", user=ann.user, online=False)
    assert entry["lastSeen"] % 1000 == 0, entry.text


@scenario("--presence-grace", 600)
async def a_reconnect_within_the_grace_causes_no_event(stage: Stage) -> None:
    """Reconnects within the grace cause no presence and no member event."""
    room = stage.name("room")
    watcher = await stage.session(stage.name("watcher"))
    users = [stage.name(f"user{number}") for number in range(15)]
    await watcher.join(room)
    sessions = [await stage.session(user) for user in users]
    for session in sessions:
        await session.join(room)
    for user in users:
        await watcher.expect("presence", user=user, online=True)
    await watcher.forget_events()
    for _ in range(3):
        for number, session in enumerate(sessions):
            await (session.cut if stage.random.random() < 0.5 else session.reset)()
            sessions[number] = await stage.session(users[number])
            await sessions[number].join(room)
    # The event of another user's arrival follows all events that could have been sent before it.
    marker = await stage.session(stage.name("marker"))
    await marker.join(room)
    await watcher.expect("presence", user=marker.user, online=True)
    events = [frame for frame in watcher.inbox if frame["type"] in ("presence", "member") and frame["user"] in users]
    assert not events, [frame.text for frame in events[:5]]


@scenario(*UNLIMITED)
async def clients_that_disconnect_within_a_frame_do_not_affect_others(stage: Stage) -> None:
    """Clients that disconnect within frames and handshakes do not affect the relay."""
    from rfc6455 import TEXT, Connection, frame, upgrade_request

    room = stage.name("room")
    ann, bob = [await stage.session(name) for name in stage.names("ann", "bob")]
    await ann.join(room)
    await bob.join(room)
    request = upgrade_request(stage.relay.port)
    for turn in range(30):
        connection = await Connection.dial(stage.relay.port)
        connection.write(request[: stage.random.randrange(1, len(request))])
        connection.reset()
        session = await stage.session(stage.name("dying"))
        text = frame(TEXT, b'{"type":"send","room":"x","body":"' + b"y" * 3000 + b'"}')
        session.connection.write(text[: stage.random.randrange(1, len(text))])
        await asyncio.sleep(0)
        await session.reset()
        if turn % 10 == 0:
            await ann.send(room, turn)
    await bob.hears(room, 3)
    async with asyncio.timeout(DEADLINE):
        await ann.request("ping")
