# SPDX-License-Identifier: Apache-2.0
"""Wide fan-out, large bodies, and many rooms."""

from stress.registry import UNLIMITED, scenario
from stress.stage import Stage

WIDE = (*UNLIMITED, "--limits-outgoing-queue", 16 << 20)


@scenario(*WIDE)
async def two_hundred_listeners_receive_everything(stage: Stage) -> None:
    """Two hundred sessions of one room each receive a hundred messages in order."""
    room = f"live.{stage.name('room')}"
    listeners = await stage.sessions_of(200)
    await stage.all(listener.join(room) for listener in listeners)
    writers = stage.random.sample(listeners, 4)
    for turn in range(5):
        replies = [(writer, writer.begin("send", room=room, body=turn)) for writer in writers for _ in range(5)]
        for writer, reply in replies:
            await writer.replied(reply)
    for listener in listeners:
        await listener.hears(room, 100)


@scenario(*WIDE)
async def large_bodies_reach_fifty_at_once(stage: Stage) -> None:
    """Bodies just below the frame limit reach fifty listeners without a change."""
    room = f"live.{stage.name('room')}"
    writer = await stage.session(stage.name("writer"))
    listeners = await stage.sessions_of(50)
    await stage.all(listener.join(room) for listener in [writer, *listeners])
    for number in range(4):
        await writer.send(room, chr(97 + number) * (65536 - 200))
    for listener in listeners:
        await listener.hears(room, 4)


@scenario(*UNLIMITED)
async def rooms_never_mix(stage: Stage) -> None:
    """Twenty sessions write in random rooms of forty. Each receives only the messages of its own rooms."""
    rooms = [f"{'live.' if number % 2 else ''}{stage.name(f'room{number}')}" for number in range(40)]
    sessions = await stage.sessions_of(20)
    for session in sessions:
        for room in stage.random.sample(rooms, 8):
            await session.join(room)
    replies = []
    for turn in range(10):
        for session in sessions:
            room = stage.random.choice(list(session.rooms))
            replies.append((session, session.begin("send", room=room, body=[session.user, turn])))
    for session, reply in replies:
        await session.replied(reply)


@scenario(*UNLIMITED)
async def members_receive_the_messages_while_they_are_in_the_room(stage: Stage) -> None:
    """Sessions that join and leave at random receive every message that is sent while they are in the room."""
    room = stage.name("room")
    writer = await stage.session(stage.name("writer"))
    await writer.join(room)
    guests = await stage.sessions_of(8)

    async def write() -> None:
        for turn in range(20):
            for reply in [writer.begin("send", room=room, body=[turn, number]) for number in range(5)]:
                await writer.replied(reply)

    writing = stage.background(write())
    while not writing.done():
        guest = stage.random.choice(guests)
        if room in guest.rooms:
            await guest.request("leave", room=room, stay=stage.random.random() < 0.5)
        else:
            await guest.join(room, history=stage.random.randrange(20))
    await writing
    for guest in guests:
        await guest.join(room)


@scenario(*UNLIMITED)
async def a_relayed_member_who_is_cut_stays_for_the_grace(stage: Stage) -> None:
    """In a room without history, a membership ends after the user's last session and its grace."""
    room = f"live.{stage.name('room')}"
    watcher, ann = [await stage.session(name) for name in stage.names("watcher", "ann")]
    await watcher.join(room)
    await ann.join(room)
    await watcher.expect("presence", user=ann.user, online=True)
    await watcher.forget_events()
    await ann.cut()
    back = await stage.session(ann.user)
    await back.join(room)
    await watcher.send(room, "welcome back")
    await back.expect("message", body="welcome back")
    assert not await watcher.received("member"), "an event within the grace"
    await back.cut()
    left = await watcher.expect("member", user=ann.user, event="left")
    assert left["memberCount"] == 1
