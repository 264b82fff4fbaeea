# SPDX-License-Identifier: Apache-2.0
"""Rooms with a configuration of their own, by their names, and limits of members and connections."""

from relay import DEADLINE
from rfc6455 import Connection, upgrade_request

from stress.registry import UNLIMITED, scenario
from stress.scenarios.pushes import away
from stress.stage import Stage


@scenario(alone=True)
async def a_full_room_accepts_no_further_member(stage: Stage) -> None:
    """A room accepts as many members as its pattern allows, until a member leaves."""
    await stage.start(*UNLIMITED, config={"rooms": [{"match": "small.*", "members": 5}, {"match": "*"}]})
    room = f"small.{stage.name('room')}"
    members = await stage.sessions_of(5)
    for member in members:
        await member.join(room)
    extra = await stage.session(stage.name("extra"))
    assert (await extra.refusal("join", room=room))["code"] == "too_large"
    second = await stage.session(members[0].user)
    await second.join(room)
    # A member who is away is still a member.
    await members[1].close(1000)
    assert (await extra.refusal("join", room=room))["code"] == "too_large"
    await members[2].request("leave", room=room)
    await extra.join(room)
    await extra.send(room, "in")
    await members[3].expect("message", body="in")
    other = stage.name("other")
    for member in (*members[2:], extra):
        await member.join(other)


@scenario(alone=True)
async def one_of_many_concurrent_joins_gets_the_last_place(stage: Stage) -> None:
    """Twenty users join a room with one free place at the same time. One succeeds, in stored and relayed rooms."""
    await stage.start(*UNLIMITED, config={"rooms": [
        {"match": "live.*", "history": {"count": 0}, "push": False, "members": 3},
        {"match": "*", "members": 3},
    ]})  # fmt: skip
    for room in (stage.name("room"), f"live.{stage.name('room')}"):
        for member in await stage.sessions_of(2):
            await member.join(room)
        racers = await stage.sessions_of(20)
        replies = [(racer, racer.begin("join", room=room)) for racer in racers]
        winners = []
        for racer, reply in replies:
            try:
                await racer.replied(reply)
                winners.append(racer)
            except Exception as error:
                assert getattr(error, "code", None) == "too_large", error
        assert len(winners) == 1, f"{len(winners)} got into {room}"
        await winners[0].send(room, "in")


@scenario("--limits-rooms-per-user", 5, *UNLIMITED)
async def rooms_of_a_user_end_at_their_limit(stage: Stage) -> None:
    """A user has a limit of rooms over all sessions, also while away. A leave makes another room possible."""
    user = stage.name("ann")
    phone, tablet = await stage.session(user), await stage.session(user)
    rooms = stage.names("a", "b", "c", "d", "e", "f")
    for room in rooms[:3]:
        await phone.join(room)
    for room in rooms[1:5]:
        await tablet.join(room)
    for session in (phone, tablet):
        assert (await session.refusal("join", room=rooms[5]))["code"] == "too_large"
    await tablet.request("leave", room=rooms[4], stay=True)
    assert (await phone.refusal("join", room=rooms[5]))["code"] == "too_large"
    await tablet.join(rooms[4])
    await tablet.request("leave", room=rooms[4])
    await phone.join(rooms[5])


@scenario(alone=True)
async def a_pattern_can_forbid_sends(stage: Stage) -> None:
    """A room whose pattern gives no right to send refuses sends and signals. The first matching pattern counts."""
    listen = ["create", "join", "history", "presence"]
    await stage.start(*UNLIMITED, config={"rooms": [
        {"match": "news.talk.*"},
        {"match": "news.closed.*", "can": ["join"]},
        {"match": "news.*", "can": listen},
        {"match": "*"},
    ]})  # fmt: skip
    ann = await stage.session(stage.name("ann"))
    news, talk = f"news.{stage.name('room')}", f"news.talk.{stage.name('room')}"
    for room in (news, talk):
        await ann.join(room)
    assert (await ann.refusal("join", room=f"news.closed.{stage.name('room')}"))["code"] == "forbidden"
    assert (await ann.refusal("send", room=news, body=1))["code"] == "forbidden"
    assert (await ann.refusal("signal", room=news, name="n"))["code"] == "forbidden"
    await ann.request("history", room=news)
    await ann.send(talk, "allowed")


@scenario(alone=True)
async def a_pattern_can_disable_pushes(stage: Stage) -> None:
    """A room may store messages without pushes. A member who is away gets them later."""
    await stage.start(*UNLIMITED, config={"rooms": [{"match": "calm.*", "push": False}, {"match": "*"}]})
    calm, loud = f"calm.{stage.name('room')}", stage.name("loud")
    writer = await stage.session(stage.name("writer"))
    for room in (calm, loud):
        await writer.join(room)
    user, (phone,) = await away(stage, calm, "bob")
    bob = await stage.session(user)
    await bob.join(loud)
    await bob.close(1000)
    for number in range(5):
        await writer.send(calm, number)
    await writer.send(loud, "ring")
    await phone.shows(loud, {1})
    assert await phone.seqs(calm) == []
    bob = await stage.session(user)
    joined = await bob.join(calm, history=10)
    assert [message["body"] for message in joined["messages"]] == list(range(5))


@scenario(alone=True)
async def a_pattern_makes_a_room_large(stage: Stage) -> None:
    """The member list limit of a pattern applies to its rooms, and the general limit to others."""
    await stage.start(*UNLIMITED, config={"rooms": [{"match": "big.*", "memberList": 4}, {"match": "*"}]})
    members = await stage.sessions_of(6)
    big, small = f"big.{stage.name('room')}", stage.name("room")
    for room, is_large in ((big, True), (small, False)):
        for member in members:
            joined = await member.join(room)
        assert ("members" not in joined) is is_large, joined.text
    await members[0].expect("counts", room=big, memberCount=6)
    assert (await members[0].refusal("presence", room=big))["code"] == "too_large"


@scenario(alone=True)
async def a_reload_of_patterns_applies_to_members_at_once(stage: Stage) -> None:
    """A reload that removes or restores the right to send applies at once to members in the room."""
    everything, listening = (
        {"rooms": [{"match": "*"}]},
        {"rooms": [{"match": "*", "can": ["join", "history", "presence"]}]},
    )
    await stage.start(*UNLIMITED, config=everything)
    room = stage.name("room")
    ann, bob = [await stage.session(name) for name in stage.names("ann", "bob")]
    await ann.join(room)
    await bob.join(room)

    async def may_send() -> bool:
        try:
            await ann.send(room, "allowed")
            return True
        except Exception as error:
            assert getattr(error, "code", None) == "forbidden", error
            return False

    async def may_not() -> bool:
        return not await may_send()

    assert await may_send()
    for _ in range(2):
        stage.configure(listening)
        await stage.eventually(may_not, "send is forbidden")
        stage.configure(everything)
        await stage.eventually(may_send, "send is allowed again")
    await bob.hears(room, max(seq for name, _, seq in stage.witness.acknowledged if name == room))


@scenario("--connections-per-address", 6, *UNLIMITED)
async def an_address_has_a_limit_of_connections(stage: Stage) -> None:
    """An address has a limit of connections. Open sessions stay, and a free place can be used again."""
    taken: list[Connection] = []

    async def taken_in() -> bool:
        connection = await Connection.dial(stage.relay.port)
        connection.may_be_cut = True
        connection.write(upgrade_request(stage.relay.port))
        if await connection.answer() == 101:
            taken.append(connection)
            return True
        connection.cut()
        return False

    while await taken_in():
        assert len(taken) <= 6, "more connections than one address may have"
    assert len(taken) >= 5, f"refused after {len(taken)}"
    for _ in range(3):
        connection = taken.pop(stage.random.randrange(len(taken)))
        stage.random.choice([connection.cut, connection.reset])()
        await connection.end(DEADLINE)
        await stage.eventually(taken_in, "a free place")
    for connection in taken:
        assert not connection.ended.done(), "an accepted connection has ended"
        connection.cut()
