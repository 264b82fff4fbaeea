# SPDX-License-Identifier: Apache-2.0
"""The end of the relay: `kill -9`, a graceful shutdown, and a reload of the configuration, each under load."""

import asyncio
import signal

from stress.people import Follower, Writer, finish
from stress.registry import UNLIMITED, scenario
from stress.session import Refused
from stress.stage import Stage, blocking


async def audience(stage: Stage, count: int) -> tuple[list[Writer], list[Follower]]:
    """Returns connected writers and followers of three rooms."""
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
    """Waits until `count` further messages are acknowledged."""
    wanted = min(
        sum(len(one.seqs) for one in writers) + count, sum(len(one.seqs) + len(one.waiting) for one in writers)
    )
    async with asyncio.timeout(60):
        while sum(len(one.seqs) for one in writers) < wanted:
            await asyncio.sleep(0.01)


@scenario(alone=True)
async def a_kill_under_load_loses_no_acknowledged_message(stage: Stage) -> None:
    """Each of three `kill -9` under load loses no acknowledged message, and the seqs continue without a gap."""
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
async def a_drain_under_load_loses_no_acknowledged_message(stage: Stage) -> None:
    """SIGTERM under load: all sessions get bye 4000, the exit is clean, and all acknowledged messages are stored."""
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
async def stuck_clients_do_not_delay_a_drain(stage: Stage) -> None:
    """Clients that do not read, half a handshake and an open event stream do not delay the shutdown."""
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
async def messages_answered_during_a_drain_are_stored(stage: Stage) -> None:
    """A message that HTTP answered with 201 during the shutdown is stored after the restart."""
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
                # The connection ended within an answer.
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
async def a_relayed_room_has_a_new_epoch_after_a_kill(stage: Stage) -> None:
    """A room without history has a new epoch after a kill, so that its new seqs are not taken for old ones."""
    await stage.start()
    room, user = f"live.{stage.name('room')}", stage.name("ann")
    epochs = set()
    for turn in range(3):
        ann = await stage.session(user)
        joined = await ann.join(
            room, **({"after": {"epoch": stage.random.choice(sorted(epochs)), "seq": 1}} if epochs else {})
        )
        assert joined.get("recovered", False) is False and joined["seq"] == 0
        assert joined["epoch"] not in epochs, "an epoch was used again"
        epochs.add(joined["epoch"])
        assert (await ann.send(room, turn))["seq"] == 1
        stage.kill()
        await stage.restart()


@scenario(alone=True)
async def a_reload_under_load_ends_no_session(stage: Stage) -> None:
    """Ten SIGHUP under load: no session ends, no message is lost, and the newest limit applies."""
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
    """A reload of an invalid file, in its syntax or in a value, changes nothing."""
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
async def a_reload_lowers_and_raises_a_limit(stage: Stage) -> None:
    """A lower rate limit applies to open sessions, and a higher one lifts it."""
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
