# SPDX-License-Identifier: Apache-2.0
"""Messages arrive exactly once and in order, whatever happens to the connections."""

import asyncio

from stress.spelling import Spelled
from stress.people import ENDS, Follower, Writer, finish
from stress.registry import UNLIMITED, scenario
from stress.stage import Stage


async def storm(stage: Stage, ends: list[str], rounds: int = 5) -> None:
    """Writers write while followers and writers lose their connections in these ways."""
    room = stage.name("storm")
    writers = [Writer(stage, room, rounds * 12) for _ in range(3)]
    followers = [Follower(stage, room) for _ in range(6)]
    for one in [*followers, *writers]:
        await one.connect()
    for _ in range(rounds):
        writing = [stage.background(writer.write(8)) for writer in writers]
        for follower in stage.random.sample(followers, 3):
            await follower.disconnect(ENDS[stage.random.choice(ends)])
            await follower.connect()
        await asyncio.gather(*writing)
        victim = stage.random.choice(writers)
        victim.begin(4)
        await ENDS[stage.random.choice(ends)](victim.session)
        await victim.connect()
    await finish(writers, followers)


@scenario(*UNLIMITED)
async def a_storm_of_goodbyes_loses_nothing(stage: Stage) -> None:
    """Clients that close with 1000 or 1001 and reconnect have every message once and in order."""
    await storm(stage, ["goodbye", "reload"])


@scenario(*UNLIMITED)
async def a_storm_of_resets_loses_nothing(stage: Stage) -> None:
    """Clients whose connections are reset or cut have every message once and in order."""
    await storm(stage, ["cut", "reset"])


@scenario(*UNLIMITED)
async def a_storm_of_half_open_connections_loses_nothing(stage: Stage) -> None:
    """Clients that leave half-open connections behind have every message once and in order."""
    await storm(stage, ["half open"], rounds=3)


@scenario(*UNLIMITED)
async def a_storm_of_everything_loses_nothing(stage: Stage) -> None:
    """Clients that end their connections in all ways have every message once and in order."""
    await storm(stage, list(ENDS))


@scenario(*UNLIMITED)
async def all_reconnect_in_the_same_moment(stage: Stage) -> None:
    """Thirty members reconnect at the same time, while two others write."""
    room = stage.name("burst")
    writers = [Writer(stage, room, 60) for _ in range(2)]
    followers = [Follower(stage, room) for _ in range(30)]
    await stage.all(one.connect() for one in [*followers, *writers])
    for _ in range(2):
        writing = [stage.background(writer.write(30)) for writer in writers]
        await stage.all(follower.disconnect(ENDS["reset"]) for follower in followers)
        await stage.all(follower.connect() for follower in followers)
        await asyncio.gather(*writing)
    await finish(writers, followers)


@scenario(*UNLIMITED)
async def a_relayed_room_keeps_its_order(stage: Stage) -> None:
    """In a room without history, every session receives every message of the others once, in one order."""
    room = f"live.{stage.name('fast')}"
    members = await stage.sessions_of(10)
    for member in members:
        await member.join(room)
    replies = []
    for number in range(40):
        for member in members:
            replies.append((member, member.begin("send", room=room, body=[member.user, number])))
    seqs = [(await member.replied(reply))["seq"] for member, reply in replies]
    assert sorted(seqs) == list(range(1, 401)), "the seqs are not 1 to 400"
    for member in members:
        await member.hears(room, 400)
        assert len(member.rooms[room].received) == 360, len(member.rooms[room].received)


@scenario(*UNLIMITED)
async def senders_of_a_stored_room_agree_on_one_order(stage: Stage) -> None:
    """Ten concurrent senders: all sessions receive one order, which preserves the order of each sender."""
    room = stage.name("busy")
    members = await stage.sessions_of(10)
    for member in members:
        await member.join(room)

    async def talk(member) -> None:
        replies = [member.begin("send", room=room, body=number) for number in range(25)]
        seqs = [(await member.replied(reply))["seq"] for reply in replies]
        assert seqs == sorted(seqs), f"sent in order and numbered {seqs}"

    await stage.all(talk(member) for member in members)
    for member in members:
        await member.hears(room, 250)


@scenario(*UNLIMITED)
async def bodies_keep_every_byte(stage: Stage) -> None:
    """Numbers, escapes, key order, spaces and repeated keys of a body arrive unchanged."""
    bodies = [
        "1.0", "1e400", "-0", "0.10000000000000000000000000000001", "123456789012345678901234567890",
        '{"b":1,"a":2,"b":3}', '"\\u0041\\/\\ud83d\\ude00"', '"\u2028\U0001f600"', "[ 1 ,\t2 ]", "{ }", "null", "false",
        '""', '{"body":{"body":"}"}}', '{"type":"send","seq":9}', '"\\u0000"', '"' + "x" * 60000 + '"',
    ]  # fmt: skip
    stage.random.shuffle(bodies)
    for room in (stage.name("bytes"), f"live.{stage.name('bytes')}"):
        ann, bob = stage.names("ann", "bob")
        writer, reader = await stage.session(ann), await stage.session(bob)
        await writer.join(room)
        await reader.join(room)
        for text in bodies:
            await writer.send(room, Spelled(text))
            received = await reader.expect("message", room=room)
            assert received.body_text == text, f"{text[:80]!r} came as {received.body_text[:80]!r}"


@scenario(*UNLIMITED)
async def sends_without_an_id_are_stored(stage: Stage) -> None:
    """Sends without an `id` are stored and delivered as all others."""
    room = stage.name("silent")
    ann, bob = [await stage.session(name) for name in stage.names("ann", "bob")]
    await ann.join(room)
    await bob.join(room)
    for number in range(100):
        ann.post("send", room=room, body=number)
    await bob.hears(room, 100)
    assert [frame["body"] for frame in bob.inbox if frame["type"] == "message"] == list(range(100))
    assert not [frame for frame in await ann.received("ok")], "an ok without a request"
