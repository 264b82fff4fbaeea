# SPDX-License-Identifier: Apache-2.0
"""Pushes to simulated phones of users who are away, and none to others."""

import asyncio
from collections import Counter
from typing import Any

from stress.people import Writer
from stress.registry import UNLIMITED, scenario
from stress.session import Session
from stress.stage import Stage


class Phone:
    """A simulated device, and the pushes that it has received."""

    def __init__(self, stage: Stage, session: Session, device: str = "phone"):
        self.stage = stage
        self.token = f"{session.user}-{device}"
        self.device = device

    async def register(self, session: Session) -> "Phone":
        await session.request("device", device=self.device, platform="simulator", token=self.token)
        return self

    async def notifications(self) -> list[dict[str, Any]]:
        answer = await self.stage.http("GET", f"/v1/simulator/devices/{self.token}")
        if answer.status == 404:
            return []
        assert answer.status == 200, answer
        return answer.json["notifications"]

    async def seqs(self, room: str) -> list[int]:
        """Returns the messages of the room that the device showed, in the order of their arrival."""
        messages = [one["payload"].get("message", {}) for one in await self.notifications()]
        return [message["seq"] for message in messages if message.get("room") == room]

    async def shows(self, room: str, seqs: set[int]) -> list[int]:
        """Waits until the device has shown all of these. Returns all that it has shown."""

        missing: set[int] = set()

        async def shown() -> list[int] | None:
            got = await self.seqs(room)
            missing.clear()
            missing.update(seqs - set(got))
            return None if missing else got

        try:
            return await self.stage.eventually(shown, "all expected pushes")
        except AssertionError:
            some = f"{len(missing)} of {len(seqs)}: {sorted(missing)[:10]}"
            raise AssertionError(f"{self.token} in {room} has not shown {some}") from None

    async def is_pushed_once(self) -> None:
        """Checks that each message has one collapse id, and that no two messages share one."""
        ids: dict[tuple[str, int], set[str]] = {}
        for one in await self.notifications():
            message = one["payload"].get("message")
            if message:
                headers = {name.lower(): value for name, value in one["headers"].items()}
                ids.setdefault((message["room"], message["seq"]), set()).add(headers["apns-collapse-id"])
        assert all(len(several) == 1 for several in ids.values()), ids
        counts = Counter(id for several in ids.values() for id in several)
        assert all(count == 1 for count in counts.values()), counts.most_common(3)


async def away(stage: Stage, room: str, stem: str, *devices: str) -> tuple[str, list[Phone]]:
    """Makes a member with these devices who has closed the session cleanly."""
    session = await stage.session(stage.name(stem))
    await session.join(room)
    phones = [await Phone(stage, session, device).register(session) for device in devices or ("phone",)]
    await session.close(1000)
    return session.user, phones


@scenario(*UNLIMITED)
async def every_message_is_pushed_to_each_device_once(stage: Stage) -> None:
    """Sixty messages of three writers: each device of an away member shows each message exactly once."""
    room = stage.name("room")
    writers = [Writer(stage, room, 20) for _ in range(3)]
    for writer in writers:
        await writer.connect()
    _, one = await away(stage, room, "bob")
    _, two = await away(stage, room, "carol", "phone", "tablet")
    await asyncio.gather(*(writer.write(20) for writer in writers))
    for phone in (*one, *two):
        shown = await phone.shows(room, set(range(1, 61)))
        assert len(shown) == 60, f"{phone.token} shows {len(shown)}"
        await phone.is_pushed_once()


@scenario(*UNLIMITED[:-1], 30)
async def members_who_read_in_time_get_no_push(stage: Stage) -> None:
    """Users who read a message in time, online or within the grace, get no push. Users who are away get all."""
    room = stage.name("room")
    writer = await stage.session(stage.name("writer"))
    await writer.join(room)
    reader, flapper = [await stage.session(name, acks=True) for name in stage.names("reader", "flapper")]
    phones = []
    for session in (reader, flapper):
        await session.join(room)
        phones.append(await Phone(stage, session).register(session))
    _, marks = await away(stage, room, "marker")
    for number in range(15):
        if number % 5 == 0:
            await flapper.cut()
        seq = (await writer.send(room, number))["seq"]
        if number % 5 == 0:
            flapper = await stage.session(flapper.user, acks=True)
            await flapper.join(room, history=1)
        for session in (reader, flapper):
            await session.request("read", room=room, seq=seq)
    last = (await writer.send(room, "last"))["seq"]
    for session in (reader, flapper):
        await session.request("read", room=room, seq=last)
        await session.close(1000)
    after = (await writer.send(room, "after"))["seq"]
    await marks[0].shows(room, set(range(1, after + 1)))
    for phone in phones:
        # The push after the close shows that an earlier one would have arrived by now.
        assert await phone.shows(room, {after}) == [after], await phone.seqs(room)


@scenario(*UNLIMITED)
async def the_sender_gets_no_push(stage: Stage) -> None:
    """A user gets no push of an own message, of a room that the user has left, or of a room without history."""
    room, other, live = stage.name("room"), stage.name("other"), f"live.{stage.name('room')}"
    writer, leaver = [await stage.session(name) for name in stage.names("writer", "leaver")]
    own = await Phone(stage, writer).register(writer)
    left = await Phone(stage, leaver).register(leaver)
    for session in (writer, leaver):
        for name in (room, other, live):
            await session.join(name)
    await leaver.request("leave", room=room)
    await leaver.close(1000)
    for name in (room, live, other):
        await writer.send(name, name)
    await writer.close(1000)
    assert await left.shows(other, {1}) == [1]
    for name in (room, live):
        assert await left.seqs(name) == []
    assert await own.notifications() == []


@scenario(*UNLIMITED)
async def flapping_members_get_each_push_at_most_once(stage: Stage) -> None:
    """Members who disconnect and reconnect in every way get at most one push of each message."""
    room = stage.name("room")
    # Few enough messages that the sender's pace delays none.
    writer = Writer(stage, room, 18)
    await writer.connect()
    flappers = [await stage.session(stage.name(f"flapper{number}")) for number in range(6)]
    phones = []
    for session in flappers:
        await session.join(room)
        phones.append(await Phone(stage, session).register(session))
    _, marks = await away(stage, room, "marker")
    for _ in range(6):
        writing = stage.background(writer.write(3))
        for number in stage.random.sample(range(6), 3):
            session = flappers[number]
            await stage.random.choice([session.cut, session.reset, session.close])()
            flappers[number] = await stage.session(session.user)
            await flappers[number].join(room)
        await writing
    for session in flappers:
        await session.close(1000)
    last = (await writer.session.send(room, "last"))["seq"]
    await marks[0].shows(room, set(range(1, last + 1)))
    for phone in phones:
        await phone.shows(room, {last})
        shown = await phone.seqs(room)
        assert len(shown) == len(set(shown)), f"{phone.token} rang twice: {shown}"
        await phone.is_pushed_once()


@scenario(*UNLIMITED)
async def a_deleted_device_gets_no_push(stage: Stage) -> None:
    """After one of a user's devices is deleted, only the other one gets pushes."""
    room = stage.name("room")
    writer = await stage.session(stage.name("writer"))
    await writer.join(room)
    user, phones = await away(stage, room, "bob", "phone", "tablet")
    await writer.send(room, "both")
    for phone in phones:
        await phone.shows(room, {1})
    answer = await stage.http("DELETE", f"/v1/users/{user}/devices/phone", user=user)
    assert answer.status == 204, answer
    await writer.send(room, "one")
    await phones[1].shows(room, {1, 2})
    assert await phones[0].seqs(room) == [1]


@scenario(alone=True)
async def a_kill_loses_no_push(stage: Stage) -> None:
    """After `kill -9`, each acknowledged message is pushed to away members, including those within their grace."""
    await stage.start(*UNLIMITED)
    room = stage.name("room")
    # Few enough messages that the sender's pace delays none. A start counts the messages that it decides again.
    writer = Writer(stage, room, 9)
    await writer.connect()
    _, gone = await away(stage, room, "gone", "phone", "tablet")
    cut = await stage.session(stage.name("cut"))
    await cut.join(room)
    gone.append(await Phone(stage, cut).register(cut))
    await cut.cut()
    for _ in range(2):
        writing = stage.background(writer.write(5))
        enough = len(writer.seqs) + stage.random.randrange(1, 4)
        async with asyncio.timeout(60):
            while len(writer.seqs) < enough:
                await asyncio.sleep(0.005)
        stage.kill()
        await writing
        await stage.restart()
        await writer.connect()
    newest = writer.session.rooms[room].position
    await writer.write(len(writer.waiting))
    last = await writer.session.send(room, "last")
    for phone in gone:
        await phone.shows(room, {last["seq"]})
        await phone.is_pushed_once()
    # The simulated phones are lost with the process, so only pushes after the last kill are visible.
    recent = {seq for seq in writer.seqs.values() if seq > newest}
    for phone in gone:
        await phone.shows(room, recent)


@scenario(*UNLIMITED)
async def a_focus_does_not_stop_pushes(stage: Stage) -> None:
    """A recipient whose Focus is on gets pushes by default, because the phone silences them."""
    room = stage.name("room")
    writer = await stage.session(stage.name("writer"))
    await writer.join(room)
    user, phones = await away(stage, room, "bob")
    answer = await stage.http("PUT", f"/v1/users/{user}/focus", {"isFocused": True, "device": "phone"}, user=user)
    assert answer.status == 200, answer
    await writer.expect("presence", user=user, isFocused=True)
    await writer.send(room, "hello")
    assert await phones[0].shows(room, {1}) == [1]
