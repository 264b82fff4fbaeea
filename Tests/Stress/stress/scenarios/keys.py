# SPDX-License-Identifier: Apache-2.0
"""Idempotency keys: concurrent sends with one key store one message, and all replies have its seq."""

import asyncio

from stress.registry import UNLIMITED, scenario
from stress.session import Refused, Session
from stress.stage import Stage


async def one_outcome(replies: list[dict]) -> int:
    """Checks that exactly one reply is not a duplicate and that all agree. Returns the seq."""
    first = [reply for reply in replies if not reply.get("duplicate")]
    assert len(first) == 1, f"{len(first)} of {len(replies)} were taken for new"
    assert {(reply["seq"], reply["time"]) for reply in replies} == {(first[0]["seq"], first[0]["time"])}
    return first[0]["seq"]


@scenario(*UNLIMITED)
async def one_session_races_itself_for_a_key(stage: Stage) -> None:
    """Twenty concurrent sends with one key on one session store one message."""
    room, ann = stage.name("room"), await stage.session(stage.name("ann"))
    await ann.join(room)
    for turn in range(3):
        replies = [ann.begin("send", room=room, body=turn, key=f"key {turn}") for _ in range(20)]
        assert await one_outcome([await ann.replied(reply) for reply in replies]) == turn + 1


@scenario(*UNLIMITED)
async def two_sessions_race_for_a_key(stage: Stage) -> None:
    """Two devices of a user send one key at the same time: one message is stored, and the other device gets it."""
    room, user = stage.name("room"), stage.name("ann")
    phone, tablet = await stage.session(user), await stage.session(user)
    await phone.join(room)
    await tablet.join(room)
    for turn in range(10):
        replies = [one.begin("send", room=room, body=turn, key=str(turn)) for one in (phone, tablet)]
        seq = await one_outcome([await phone.replied(replies[0]), await tablet.replied(replies[1])])
        await phone.hears(room, seq)
        await tablet.hears(room, seq)
    assert len(phone.rooms[room].received) + len(tablet.rooms[room].received) == 10


@scenario(*UNLIMITED)
async def a_socket_and_http_race_for_a_key(stage: Stage) -> None:
    """The `key` of a send and the `Idempotency-Key` of an HTTP request are the same key."""
    room, user = stage.name("room"), stage.name("ann")
    ann = await stage.session(user)
    await ann.join(room)

    for turn in range(6):
        by_socket = ann.begin("send", room=room, body=turn, key=f"key-{turn}")
        answers = await stage.all(stage.post(room, turn, user, f"key-{turn}") for _ in range(3))
        replies = [await ann.replied(by_socket), *(answer.json for answer in answers)]
        await one_outcome(replies)
        for answer in answers:
            assert answer.status == (200 if answer.json.get("duplicate") else 201), answer


@scenario(*UNLIMITED)
async def keys_belong_to_a_user_and_a_room(stage: Stage) -> None:
    """The same key of another user or in another room is a different key. A different body does not matter."""
    rooms = stage.names("one", "two")
    ann, bob = [await stage.session(name) for name in stage.names("ann", "bob")]
    for room in rooms:
        for one in (ann, bob):
            await one.join(room)
            reply = await one.send(room, "first", key="the key")
            assert not reply.get("duplicate"), f"{one.user} in {room}"
    again = await ann.send(rooms[0], {"quite": "another body"}, key="the key")
    assert again["duplicate"] is True and again["seq"] == 1 and "delivery" not in again


@scenario(*UNLIMITED)
async def keys_of_every_length_up_to_the_bound(stage: Stage) -> None:
    """A key has 1 to 128 bytes of UTF-8. A longer one is an error."""
    room, ann = stage.name("room"), await stage.session(stage.name("ann"))
    await ann.join(room)
    for key in ("k", "k" * 128, "\u00e9" * 64, "\U0001f511" * 32):
        assert not (await ann.send(room, key, key=key)).get("duplicate")
        assert (await ann.send(room, key, key=key))["duplicate"] is True
    for key in ("k" * 129, "\u00e9" * 64 + "k", "k" * 127 + "\u00e9", 7, True, ["k"]):
        assert (await ann.refusal("send", room=room, body=0, key=key))["code"] == "bad_request", key
    for _ in range(2):
        assert "duplicate" not in await ann.send(room, "null counts as no key", key=None)


@scenario(*UNLIMITED)
async def a_key_works_in_a_relayed_room(stage: Stage) -> None:
    """A room without history accepts each key once, too."""
    room, ann = f"live.{stage.name('room')}", await stage.session(stage.name("ann"))
    bob = await stage.session(stage.name("bob"))
    await ann.join(room)
    await bob.join(room)
    replies = [ann.begin("send", room=room, body="once", key="key") for _ in range(5)]
    await one_outcome([await ann.replied(reply) for reply in replies])
    await ann.send(room, "after")
    await bob.expect("message", body="after")
    assert bob.rooms[room].received == [1, 2]


@scenario(*UNLIMITED)
async def a_refused_send_does_not_use_its_key(stage: Stage) -> None:
    """A failed send does not use its key."""
    room, ann = stage.name("room"), await stage.session(stage.name("ann"))
    assert (await ann.refusal("send", room=room, body=1, key="key"))["code"] == "not_joined"
    await ann.join(room)
    assert (await ann.refusal("send", room=room, key="key"))["code"] == "bad_request"
    assert not (await ann.send(room, 1, key="key")).get("duplicate")


async def keyed(session: Session, room: str, key: str) -> dict | None:
    try:
        return await session.send(room, key, key=key)
    except (ConnectionError, Refused):
        return None


@scenario(alone=True)
async def keys_are_valid_after_a_kill(stage: Stage) -> None:
    """Sends with keys that are repeated after `kill -9` each store one message and keep its first seq."""
    await stage.start("--limits-send-rate", 0)
    room, user = stage.names("room", "ann")
    promised: dict[str, int] = {}
    for turn in range(3):
        ann = await stage.session(user)
        await ann.join(room)
        sending = [asyncio.create_task(keyed(ann, room, f"{turn} {number}")) for number in range(60)]
        enough = stage.random.randrange(1, 40)
        await ann.until(lambda: len(ann.rooms[room].own) >= enough or None, "some acknowledgements")
        stage.kill()
        for key, reply in zip(range(60), await asyncio.gather(*sending)):
            if reply is not None:
                promised[f"{turn} {key}"] = reply["seq"]
        await stage.restart()
        ann = await stage.session(user)
        await ann.join(room)
        again = [ann.begin("send", room=room, body=f"{turn} {number}", key=f"{turn} {number}") for number in range(60)]
        for number, reply in enumerate(again):
            got = await ann.replied(reply)
            if (seq := promised.get(f"{turn} {number}")) is not None:
                assert got.get("duplicate") and got["seq"] == seq, f"{turn} {number} was {seq}: {got.text}"
    _, messages = await stage.history(room)
    assert sorted(message["body"] for message in messages) == sorted(f"{t} {n}" for t in range(3) for n in range(60))


@scenario(alone=True)
async def keys_are_valid_after_a_clean_restart(stage: Stage) -> None:
    """A key from before a clean stop is still known after it, for WebSocket and HTTP."""
    await stage.start()
    room, user = stage.names("room", "ann")
    ann = await stage.session(user)
    await ann.join(room)
    first = await ann.send(room, "once", key="key")
    await stage.stop()
    await stage.restart()
    ann = await stage.session(user)
    await ann.join(room)
    again = await ann.send(room, "once", key="key")
    assert (again["seq"], again["time"], again["duplicate"]) == (first["seq"], first["time"], True)
    answer = await stage.post(room, "once", user, "key")
    assert answer.status == 200 and answer.json["seq"] == first["seq"], answer
