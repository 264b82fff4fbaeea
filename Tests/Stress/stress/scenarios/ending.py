# SPDX-License-Identifier: Apache-2.0
"""The relay's own end: `kill -9`, a drain, and reading its configuration anew, each under load."""

import asyncio
import signal

from stress.people import Follower, Writer, finish
from stress.registry import UNLIMITED, scenario
from stress.session import Refused
from stress.stage import Stage, blocking


async def audience(stage: Stage, count: int) -> tuple[list[Writer], list[Follower]]:
    """Writers and followers of three rooms, connected."""
    rooms = [stage.name(f"room{number}") for number in range(3)]
    writers = [Writer(stage, room, count) for room in rooms for _ in range(3)]
    followers = [Follower(stage, room) for room in rooms for _ in range(2)]
    for one in [*writers, *followers]:
        await one.connect()
    return writers, followers


async def finish_rooms(writers: list[Writer], followers: list[Follower]) -> None:
    for room in {writer.room for writer in writers}:
        await finish([one for one in writers if one.room == room], [one for one in followers if one.room == room])


async def some_written(writers: list[Writer], count: int) -> None:
    """Waits until so many more messages are acknowledged."""
    wanted = min(
        sum(len(one.seqs) for one in writers) + count, sum(len(one.seqs) + len(one.waiting) for one in writers)
    )
    async with asyncio.timeout(60):
        while sum(len(one.seqs) for one in writers) < wanted:
            await asyncio.sleep(0.01)


@scenario(alone=True)
async def a_kill_under_load_takes_nothing_back(stage: Stage) -> None:
    """Three times `kill -9` while nine write: nothing acknowledged is lost, and each room counts on without a gap."""
    await stage.start(*UNLIMITED)
    writers, followers = await audience(stage, 150)
    for _ in range(3):
        writing = [stage.background(writer.write(100)) for writer in writers]
        await some_written(writers, stage.random.randrange(30, 200))
        stage.kill()
        await asyncio.gather(*writing)
        epochs = {follower.room: follower.epoch for follower in followers}
        await stage.restart()
        for one in [*writers, *followers]:
            await one.connect()
        assert {follower.room: follower.session.rooms[follower.room].epoch for follower in followers} == epochs
    await finish_rooms(writers, followers)


@scenario(alone=True)
async def a_drain_under_load_keeps_every_promise(stage: Stage) -> None:
    """SIGTERM while nine write: all get bye 4000, the exit is clean, and what was acknowledged is there afterwards."""
    await stage.start(*UNLIMITED)
    writers, followers = await audience(stage, 150)
    for _ in range(2):
        writing = [stage.background(writer.write(100)) for writer in writers]
        await some_written(writers, stage.random.randrange(30, 200))
        await stage.stop()
        await asyncio.gather(*writing)
        for one in [*writers, *followers]:
            assert await one.session.closed() == 4000, f"{one.user}: {one.session.connection.code}"
            assert one.session.bye["reconnect"] is True
        await stage.restart()
        for one in [*writers, *followers]:
            await one.connect()
    await finish_rooms(writers, followers)


@scenario(alone=True)
async def a_drain_waits_for_nobody_who_is_stuck(stage: Stage) -> None:
    """Clients that read nothing, half a handshake and an open event stream do not hold up the end."""
    from rfc6455 import Connection, upgrade_request

    await stage.start("--limits-send-rate", 0)
    room = f"live.{stage.name('room')}"
    writer, reader = [await stage.session(name) for name in stage.names("writer", "reader")]
    stuck = [await stage.session(stage.name("stuck"), receive_buffer=4096) for _ in range(3)]
    for session in (writer, reader, *stuck):
        await session.join(room)
    for session in stuck:
        session.abandon()
    for _ in range(60):
        await writer.send(room, "x" * 15000)
    half = await Connection.dial(stage.relay.port)
    half.write(upgrade_request(stage.relay.port)[:60])
    stream = await Connection.dial(stage.relay.port)
    stream.write(b"GET /v1/simulator/devices/nobody/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert await stream.answer() == 200
    await stage.stop()
    assert await reader.closed() == 4000


@scenario(alone=True)
async def requests_during_a_drain_are_answered_truly(stage: Stage) -> None:
    """HTTP sends while the relay ends: each that was answered 201 is there after the restart."""
    await stage.start("--limits-send-rate", 0, "--limits-request-rate", 0)
    room = stage.name("room")
    auditor = await stage.session(stage.name("auditor"))
    await auditor.join(room)
    created: dict[int, str] = {}

    async def post(number: int) -> None:
        for turn in range(1000):
            body = f"{number} {turn}"
            try:
                answer = await stage.http("POST", f"/v1/rooms/{room}/messages", {"body": body}, user="poster")
            except OSError:
                return
            except Exception:
                # The connection ended in the middle of an answer.
                return
            if answer.status == 201:
                created[answer.json["seq"]] = body
            else:
                assert answer.status == 503, answer

    posting = [stage.background(post(number)) for number in range(4)]
    async with asyncio.timeout(60):
        while len(created) < 40:
            await asyncio.sleep(0.01)
    await stage.stop()
    await asyncio.gather(*posting)
    await stage.restart()
    stage.witness.altered.add(room)
    _, messages = await stage.history(room)
    kept = {message["seq"]: message["body"] for message in messages}
    assert created.items() <= kept.items(), f"{len(created.items() - kept.items())} of {len(created)} are gone"
    assert list(kept) == list(range(1, len(kept) + 1))


@scenario(alone=True)
async def a_relayed_room_starts_afresh_after_a_kill(stage: Stage) -> None:
    """A room that keeps nothing comes back with another epoch, so that nobody mistakes its new seqs for old ones."""
    await stage.start()
    room, user = f"live.{stage.name('room')}", stage.name("ann")
    epochs = set()
    for turn in range(3):
        ann = await stage.session(user)
        joined = await ann.join(
            room, **({"after": {"epoch": stage.random.choice(sorted(epochs)), "seq": 1}} if epochs else {})
        )
        assert joined.get("recovered", False) is False and joined["seq"] == 0
        assert joined["epoch"] not in epochs, "an epoch came back"
        epochs.add(joined["epoch"])
        assert (await ann.send(room, turn))["seq"] == 1
        stage.kill()
        await stage.restart()


@scenario(alone=True)
async def a_reload_under_load_disturbs_nobody(stage: Stage) -> None:
    """Ten times SIGHUP while nine write: no session ends, nothing is lost, and the newest limit counts."""
    config = {"limits": {"sendRate": 0, "requestRate": 0}, "presence": {"grace": 1}}
    await stage.start(config=config)
    writers, followers = await audience(stage, 150)
    writing = [stage.background(writer.write(150)) for writer in writers]
    for turn in range(10):
        stage.configure(config | {"limits": {"sendRate": 0, "requestRate": 0, "history": 300 - turn}})
        await asyncio.sleep(0.03)
    await asyncio.gather(*writing)
    await finish_rooms(writers, followers)
    assert all(one.session.is_open for one in [*writers, *followers])

    async def has_the_newest() -> bool:
        session = await stage.session(stage.name("late"))
        return session.welcome["limits"]["history"] == 291

    await stage.eventually(has_the_newest, "the limit of the last file")


@scenario(alone=True)
async def a_wrong_file_changes_nothing(stage: Stage) -> None:
    """A reload of a file that is wrong, in its syntax or in a value, leaves everything as it was."""
    config = {"limits": {"sendRate": 0, "history": 200}}
    await stage.start(config=config)
    room = stage.name("room")
    ann = await stage.session(stage.name("ann"))
    await ann.join(room)
    file = stage.relay.data.parent / "config.json"
    wrong = ["{", '{"limits":{"history":100}} x', '{"limits":{"history":"many"}}', '{"limits":{"histories":100}}',
             '{"limits":{"history":-1}}', "[]", ""]  # fmt: skip
    for text in wrong:
        file.write_text(text)
        stage.relay.signal(signal.SIGHUP)
        await ann.send(room, text)
        await asyncio.sleep(0.1)
        late = await stage.session(stage.name("late"))
        assert late.welcome["limits"]["history"] == 200, text
    file.unlink()
    stage.relay.signal(signal.SIGHUP)
    await ann.send(room, "no file at all")
    assert await blocking(lambda: stage.relay.is_running)


@scenario(alone=True)
async def a_reload_moves_a_limit_both_ways(stage: Stage) -> None:
    """A lower rate holds for sessions that are there already, and a higher one frees them again."""
    await stage.start(config={"limits": {"sendRate": 0}})
    room = f"live.{stage.name('room')}"
    ann = await stage.session(stage.name("ann"))
    await ann.join(room)

    async def refused() -> int:
        count = 0
        for reply in [ann.begin("send", room=room, body=1) for _ in range(60)]:
            try:
                await ann.replied(reply)
            except Refused as error:
                assert error.code == "rate_limited", error
                count += 1
        return count

    assert await refused() == 0
    stage.configure({"limits": {"sendRate": 5, "sendBurst": 10}})
    await stage.eventually(refused, "a lower rate")
    stage.configure({"limits": {"sendRate": 0}})

    async def is_free() -> bool:
        # The relay closes a session that exceeds its rate 1,000 times in 10 s, or for 10 s without a pause of a second.
        await asyncio.sleep(1.2)
        return await refused() == 0

    await stage.eventually(is_free, "no rate")
