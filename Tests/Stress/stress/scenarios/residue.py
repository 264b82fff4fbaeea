# SPDX-License-Identifier: Apache-2.0
"""The state of the hub after all clients have disconnected."""

from relay import DEADLINE
from rfc6455 import Connection, upgrade_request

from stress.people import ENDS
from stress.registry import UNLIMITED, scenario
from stress.session import Session
from stress.stage import Stage

ALONE = (*UNLIMITED[:-1], 0)
#: The gauges of connections.
PASSING = ["sessions", "seats", "frames", "frame_bytes", "exchanges", "timers"]
#: The gauges that rooms without history must return to zero as well.
ALL = [*PASSING, "users", "rooms", "members"]


async def gauges(stage: Stage, names: list[str]) -> dict[str, float]:
    metrics = await stage.metrics()
    missing = [name for name in names if f"stillwire_{name}" not in metrics]
    assert not missing, f"not in /metrics: {missing}"
    return {name: metrics[f"stillwire_{name}"] for name in names}


async def is_as_before(stage: Stage, before: dict[str, float], within: float = DEADLINE) -> None:
    """Waits until every gauge has its earlier value."""
    now: dict[str, float] = {}

    async def same() -> bool:
        now.update(await gauges(stage, list(before)))
        return now == before

    try:
        await stage.eventually(same, "the gauges", within)
    except AssertionError:
        left = {name: now[name] - before[name] for name in before if now[name] != before[name]}
        raise AssertionError(f"left over: {left}") from None


async def has_sockets_as_before(stage: Stage, before: int) -> None:
    """Waits until no more sockets are open than before."""

    async def same() -> bool:
        return stage.relay.open_sockets <= before

    await stage.eventually(same, f"{before} open sockets")


async def all_gone(stage: Stage) -> None:
    for session in stage.sessions:
        if session.is_open:
            await ENDS[stage.random.choice(["goodbye", "cut", "reset"])](session)


@scenario(alone=True)
async def nothing_is_left_of_relayed_rooms(stage: Stage) -> None:
    """Forty sessions in rooms without history, busy, stalled and cut, leave nothing in the hub."""
    await stage.start(*ALONE)
    before = await gauges(stage, ALL)
    rooms = [f"live.{stage.name('room')}" for _ in range(5)]
    sessions = await stage.sessions_of(40)
    for session in sessions:
        for room in stage.random.sample(rooms, 3):
            await session.join(room)
        await session.request("watch", users=[other.user for other in stage.random.sample(sessions, 5)])
    stalled = stage.random.sample(sessions, 4)
    for session in stalled:
        session.abandon()
    for session in sessions:
        if session not in stalled:
            for room in session.rooms:
                session.post("send", room=room, body="x" * stage.random.randrange(8000))
                session.post("signal", room=room, name="n")
    for session in sessions[::3]:
        if session not in stalled:
            await session.request("leave", room=next(iter(session.rooms)))
    for session in stalled:
        session.connection.cut()
    await all_gone(stage)
    await is_as_before(stage, before)


@scenario(alone=True)
async def nothing_is_left_of_connections_that_failed(stage: Stage) -> None:
    """Cut handshakes, refused hellos, broken frames and half requests leave no descriptor and no gauge."""
    await stage.start(*ALONE)
    before = await gauges(stage, ALL)
    sockets = stage.relay.open_sockets
    request = upgrade_request(stage.relay.port)
    for turn in range(60):
        connection = await Connection.dial(stage.relay.port)
        match turn % 6:
            case 0:
                connection.write(request[: stage.random.randrange(len(request))])
            case 1:
                connection.write(
                    b"POST /v1/rooms/x/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n{"
                )
            case 2:
                connection.write(request)
                await connection.answer()
            case 3:
                connection.write(request)
                await connection.answer()
                connection.send_text('{"type":"hello"}')
            case 4:
                connection.write(request)
                await connection.answer()
                connection.write(b"\x81\xfe\xff\xff")
            case 5:
                pass
        stage.random.choice([connection.cut, connection.reset])()
        await connection.end()
    await is_as_before(stage, before)
    await has_sockets_as_before(stage, sockets)


@scenario(alone=True)
async def nothing_is_left_of_a_thousand_sessions(stage: Stage) -> None:
    """A thousand sessions, fifty at a time, leave no descriptors and no sessions."""
    await stage.start(*ALONE)
    before = await gauges(stage, ALL)
    sockets = stage.relay.open_sockets
    room = f"live.{stage.name('room')}"

    async def visit(user: str) -> None:
        session: Session = await stage.session(user)
        await session.join(room)
        await session.send(room, user)
        await ENDS[stage.random.choice(["goodbye", "reload", "cut", "reset"])](session)

    for batch in range(20):
        await stage.all(visit(stage.name(f"v{batch}.{number}")) for number in range(50))
        stage.forget_ended()
    await is_as_before(stage, before)
    await has_sockets_as_before(stage, sockets)


@scenario(alone=True)
async def stored_rooms_leave_only_their_members(stage: Stage) -> None:
    """After heavy use of stored rooms, with pushes and recoveries, the hub has only the durable members."""
    await stage.start(*ALONE)
    before = await gauges(stage, PASSING)
    rooms = [stage.name("room") for _ in range(3)]
    sessions = await stage.sessions_of(20)
    for session in sessions:
        await session.request("device", device="phone", platform="simulator", token=session.user)
        for room in rooms:
            await session.join(room)
    for _ in range(3):
        replies = [session.begin("send", room=stage.random.choice(rooms), body="x" * 2000) for session in sessions]
        for session, reply in zip(sessions, replies):
            await session.replied(reply)
        for position in stage.random.sample(range(20), 5):
            session = sessions[position]
            await ENDS[stage.random.choice(["goodbye", "cut", "reset"])](session)
            sessions[position] = await stage.session(session.user)
            for room in rooms:
                seen = session.rooms[room]
                await sessions[position].join(room, after={"epoch": seen.epoch, "seq": seen.position})
    await all_gone(stage)
    # A room without sessions may stay in memory for a minute.
    await is_as_before(stage, before, within=60 + DEADLINE)
