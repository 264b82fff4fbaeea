# SPDX-License-Identifier: Apache-2.0
"""Tokens: their rights, their expiry, and their renewal."""

import asyncio
import json
import math
import time

import tokens
from relay import SLOW

from stress.registry import scenario
from stress.session import Refused, Session
from stress.stage import Stage

#: The shortest grace of an expired session that a test can measure.
SHORT = ("--tokens-grace", 1, "--limits-send-rate", 0)

#: The seconds within which a busy scenario renews a token.
SOON = math.ceil(2 * SLOW)


def rights(match: str, *can: str) -> dict[str, object]:
    return {"rooms": [{"match": match, "can": list(can)}]}


async def expiring(stage: Stage, sessions: list[Session]) -> int:
    """Gives the sessions tokens that expire soon, all in the same second. Returns this time."""
    expires = int(time.time()) + SOON
    replies = [one.begin("refresh", token=stage.token(one.user, exp=expires)) for one in sessions]
    for session, reply in zip(sessions, replies):
        await session.replied(reply)
    return expires


@scenario(*SHORT, guarded=True)
async def an_expired_session_ends_with_4002(stage: Stage) -> None:
    """A session whose token expires continues for the grace and ends with 4002. Others in its room do not notice."""
    room = stage.name("room")
    user = stage.name("ann")
    other = await stage.session(stage.name("other"))
    await other.join(room)
    ann = await stage.session(user)
    await ann.join(room)
    expires = await expiring(stage, [ann])
    sent = 0
    while ann.bye is None and ann.is_open and time.time() < expires + 20:
        sent = (await other.send(room, sent))["seq"]
        await asyncio.sleep(0.02)
    assert await ann.closed() == 4002
    assert time.time() > expires + 0.5, f"{time.time() - expires:.2f} s after the expiry"
    assert ann.bye["reconnect"] is True
    again = await stage.session(user)
    joined = await again.join(room, after={"epoch": other.rooms[room].epoch, "seq": 0})
    assert joined["recovered"] is True or joined["seq"] > 300


@scenario(*SHORT, guarded=True)
async def a_refresh_extends_a_session(stage: Stage) -> None:
    """A `refresh` in time moves the expiry, repeatedly, and its reply has the new time."""
    room, user = stage.names("room", "ann")
    ann = await stage.session(user)
    await ann.join(room)
    begun = time.time()
    life = SOON + 3  # margin for a busy machine
    while time.time() < begun + life + 2:
        expires = int(time.time()) + life
        reply = await ann.request("refresh", token=stage.token(user, exp=expires))
        assert reply["expires"] == expires * 1000, reply.text
        await ann.send(room, "still here")
        await asyncio.sleep(0.5)
    assert await ann.closed() == 4002


@scenario(*SHORT, guarded=True)
async def fifty_sessions_expire_at_once(stage: Stage) -> None:
    """Fifty sessions that expire in the same second all get their bye, while two others write undisturbed."""
    room = stage.name("room")
    writer, reader = [await stage.session(name) for name in stage.names("writer", "reader")]
    await writer.join(room)
    await reader.join(room)
    sessions = await stage.sessions_of(50)
    for session in sessions:
        await session.join(room)
    expires = await expiring(stage, sessions)
    sent = 0
    while any(session.is_open for session in sessions) and time.time() < expires + 20:
        sent = (await writer.send(room, sent))["seq"]
        await asyncio.sleep(0.05)
    assert {session.connection.code for session in sessions} == {4002}
    await reader.hears(room, sent)


@scenario(*SHORT, guarded=True)
async def a_wrong_refresh_changes_nothing(stage: Stage) -> None:
    """A refresh for another user is forbidden, and an invalid token is unauthorized. The session stays unchanged."""
    room, user = stage.names("room", "ann")
    ann = await stage.session(user)
    await ann.join(room)
    assert (await ann.refusal("refresh", token=stage.token(stage.name("bob"))))["code"] == "forbidden"
    for wrong in (
        "",
        "x.y.z",
        stage.token(user)[:-2] + "xx",
        tokens.token("another secret of enough bytes", {"sub": user}),
    ):
        assert (await ann.refusal("refresh", token=wrong))["code"] in ("unauthorized", "bad_request"), wrong
    assert (await ann.refusal("refresh"))["code"] == "bad_request"
    await ann.send(room, "still here")


@scenario(*SHORT, guarded=True)
async def rights_are_withdrawn_between_two_sends(stage: Stage) -> None:
    """Sends before a refresh without the right are stored. Later ones are refused until the right returns."""
    room, user = stage.names("room", "ann")
    ann, reader = await stage.session(user), await stage.session(stage.name("reader"))
    await ann.join(room)
    await reader.join(room)
    for turn in range(5):
        before = [ann.begin("send", room=room, body=[turn, number]) for number in range(20)]
        without = stage.token(user, **rights("*", "join", "history", "presence"))
        taking = ann.begin("refresh", token=without)
        behind = [ann.begin("send", room=room, body=["refused", number]) for number in range(20)]
        behind.append(ann.begin("signal", room=room, name="refused"))
        giving = ann.begin("refresh", token=stage.token(user))
        after = ann.begin("send", room=room, body=[turn, "after"])
        for reply in (*before, taking, giving, after):
            await ann.replied(reply)
        for reply in behind:
            try:
                await ann.replied(reply)
                raise AssertionError("accepted without the right")
            except Refused as refused:
                assert refused.code == "forbidden", refused
    await reader.hears(room, 105)
    assert not await reader.received("signal")


@scenario(*SHORT, guarded=True)
async def rights_apply_to_each_room(stage: Stage) -> None:
    """The first matching pattern decides. Rights that it lacks are forbidden, and so are rooms without a match."""
    user, suffix = stage.name("ann"), stage.name("room")
    claims = {
        "rooms": [
            {"match": "talk.*", "can": ["join", "send", "history", "presence"]},
            {"match": "listen.*", "can": ["join", "history"]},
            {"match": "listen.talk.*", "can": ["join", "send"]},
            {"match": "blind.*", "can": ["join", "send", "presence"]},
        ]
    }
    other, ann = await stage.session(stage.name("other")), await stage.session(user, token=stage.token(user, **claims))
    for room in (f"talk.{suffix}", f"listen.{suffix}", f"listen.talk.{suffix}", f"blind.{suffix}"):
        await other.join(room)
        await other.send(room, "before")
    joined = await ann.join(f"talk.{suffix}", history=5)
    assert len(joined["messages"]) == 1 and len(joined["members"]) == 2
    await ann.send(f"talk.{suffix}", "hello")
    for room in (f"listen.{suffix}", f"listen.talk.{suffix}"):
        joined = await ann.join(room, history=5)
        assert len(joined["messages"]) == 1 and "members" not in joined, joined.text
        assert (await ann.refusal("send", room=room, body=1))["code"] == "forbidden"
        assert (await ann.refusal("presence", room=room))["code"] == "forbidden"
    epoch = other.rooms[f"blind.{suffix}"].epoch
    joined = await ann.join(f"blind.{suffix}", after={"epoch": epoch, "seq": 0})
    assert (joined["recovered"], joined["messages"]) == (False, []), joined.text
    assert (await ann.refusal("history", room=f"blind.{suffix}"))["code"] == "forbidden"
    assert (await ann.refusal("join", room=f"other.{suffix}"))["code"] == "forbidden"
    await other.send(f"listen.{suffix}", "live")
    await ann.expect("message", room=f"listen.{suffix}", body="live")


@scenario(*SHORT, guarded=True)
async def each_wrong_token_has_its_close_code(stage: Stage) -> None:
    """Each invalid token has its close code: 4002 if it has expired, 4007 if it is early, otherwise 4501 or 4503."""
    user, now = stage.name("ann"), int(time.time())
    cases = {
        "none": (None, 4501),
        "empty": ("", 4501),
        "no token": ("ann", 4501),
        "another secret": (tokens.token("another secret of enough bytes!!", tokens.claims(user)), 4501),
        "unsigned": (tokens.token(tokens.SECRET, tokens.claims(user), "none"), 4501),
        "another algorithm": (tokens.token(tokens.SECRET, tokens.claims(user), "HS512"), 4501),
        "cut": (stage.token(user)[:-1], 4501),
        "expired": (stage.token(user, exp=now - 3600), 4002),
        "not yet": (stage.token(user, nbf=now + 3600), 4007),
        "no expiry": (tokens.token(tokens.SECRET, {"sub": user}), 4501),
        "nobody": (tokens.token(tokens.SECRET, {"exp": now + 3600}), 4501),
        "wrong name": (stage.token("a b"), 4501),
        "me": (stage.token("me"), 4501),
        "number": (stage.token(7), 4501),
    }
    faults = []
    for name, (token, code) in cases.items():
        session = await stage.stranger(user)
        session.connection.send_text(json.dumps({"type": "hello"} | ({} if token is None else {"token": token})))
        got = await session.closed()
        if got != code:
            faults.append(f"{name}: {got}, not {code}: {session.inbox[:1]}")
    session = await stage.stranger(user)
    session.connection.send_text(json.dumps({"type": "hello", "token": stage.token(user), "user": user}))
    if (got := await session.closed()) != 4503:
        faults.append(f"user in token mode: {got}, not 4503")
    assert not faults, "\n".join(faults)


@scenario(*SHORT, guarded=True)
async def a_token_in_hello_takes_precedence_over_the_header(stage: Stage) -> None:
    """`Authorization: Bearer` opens a session without a token in `hello`. A token in `hello` takes precedence."""
    ann, bob = stage.names("ann", "bob")
    headers = {"Authorization": f"Bearer {stage.token(ann)}"}
    session = await stage.stranger(ann, headers=headers)
    assert (await session.request("hello"))["user"] == ann
    session = await stage.stranger(bob, headers=headers)
    assert (await session.request("hello", token=stage.token(bob)))["user"] == bob
