# SPDX-License-Identifier: Apache-2.0
"""Every limit, at its value and above it."""

import asyncio

from stress.registry import UNLIMITED, scenario
from stress.session import Refused, Session
from stress.stage import Stage

LIMITS = """frame outgoingQueue roomsPerSession roomsPerUser invitations newPeoplePerDay sessionsPerUser devicesPerUser
membersPerRoom pushedMembersPerRoom sendRate sendBurst requestRate requestBurst focusRate watched nesting helloTimeout heartbeat
pongTimeout history memberList""".split()


async def counted(replies: list[tuple[Session, asyncio.Future]]) -> tuple[int, list[dict]]:
    """Returns the number of accepted requests, and the errors of the others, all of which must be `rate_limited`."""
    accepted, errors = 0, []
    for session, reply in replies:
        try:
            await session.replied(reply)
            accepted += 1
        except Refused as refused:
            assert refused.code == "rate_limited", refused
            assert refused.error["temporary"] is True and refused.error["retryAfter"] > 0, refused
            errors.append(refused.error)
    return accepted, errors


async def burst(sessions: list[Session], type: str, each: int, **fields: object) -> tuple[int, list[dict], float]:
    """Sends `each` requests on each session at once. Returns the accepted ones, the errors and the seconds."""
    clock = asyncio.get_running_loop().time
    begun = clock()
    replies = []
    for _ in range(each):
        replies += [(session, session.begin(type, **fields)) for session in sessions]
    accepted, errors = await counted(replies)
    return accepted, errors, clock() - begun


@scenario()
async def sends_above_the_rate_pass_after_retry_after(stage: Stage) -> None:
    """100 sends at once and 50 a second pass. The others get `retryAfter`, and pass after it."""
    room, ann = f"live.{stage.name('room')}", await stage.session(stage.name("ann"))
    await ann.join(room)
    accepted, errors, took = await burst([ann], "send", 200, room=room, body=1)
    assert 100 <= accepted <= 101 + 50 * took, f"{accepted} accepted in {took:.2f} s"
    for _ in range(3):
        await asyncio.sleep(errors[-1]["retryAfter"])
        await ann.send(room, "in time")
        _, errors, _ = await burst([ann], "send", 60, room=room, body=1)


@scenario()
async def sends_at_the_rate_are_never_refused(stage: Stage) -> None:
    """A client that keeps to the rate for three seconds gets no error."""
    room, ann = f"live.{stage.name('room')}", await stage.session(stage.name("ann"))
    await ann.join(room)
    for number in range(150):
        await ann.send(room, number)
        await asyncio.sleep(0.021)


@scenario()
async def a_user_has_the_rate_of_two_sessions(stage: Stage) -> None:
    """Four sessions of one user share the burst and rate of two sessions."""
    room, user = f"live.{stage.name('room')}", stage.name("ann")
    sessions = [await stage.session(user) for _ in range(4)]
    for session in sessions:
        await session.join(room)
    accepted, _, took = await burst(sessions, "send", 90, room=room, body=1)
    assert 200 <= accepted <= 201 + 100 * took, f"{accepted} accepted in {took:.2f} s"


@scenario()
async def a_user_has_the_other_requests_of_two_sessions(stage: Stage) -> None:
    """Four sessions of one user share the burst and rate of two sessions, also for requests that send nothing."""
    user = stage.name("ann")
    sessions = [await stage.session(user) for _ in range(4)]
    accepted, errors, took = await burst(sessions, "ping", 180)
    assert 400 <= accepted <= 401 + 100 * took, f"{accepted} accepted in {took:.2f} s"
    assert errors


@scenario()
async def a_room_has_the_rate_of_four_sessions(stage: Stage) -> None:
    """Eight users in one room share the burst and rate of four sessions."""
    room = f"live.{stage.name('room')}"
    sessions = await stage.sessions_of(8)
    for session in sessions:
        await session.join(room)
    accepted, _, took = await burst(sessions, "send", 90, room=room, body=1)
    assert 400 <= accepted <= 401 + 200 * took, f"{accepted} accepted in {took:.2f} s"


@scenario()
async def other_requests_have_their_own_rate(stage: Stage) -> None:
    """200 other requests at once and 50 a second pass, and do not count as sends."""
    room, ann = f"live.{stage.name('room')}", await stage.session(stage.name("ann"))
    await ann.join(room)
    accepted, errors, took = await burst([ann], "history", 320, room=room, limit=1)
    assert 195 <= accepted <= 201 + 50 * took, f"{accepted} accepted in {took:.2f} s"
    assert errors
    await ann.send(room, "unhindered")


@scenario()
async def focus_reports_have_their_own_rate(stage: Stage) -> None:
    """Ten reports at once and one a second pass for a user, not for a session."""
    user = stage.name("ann")
    sessions = [await stage.session(user) for _ in range(2)]
    accepted, errors, took = await burst(sessions, "focus", 12, isFocused=True)
    assert 10 <= accepted <= 11 + took, f"{accepted} accepted in {took:.2f} s"
    await asyncio.sleep(min(error["retryAfter"] for error in errors[-1:]))
    assert (await sessions[0].request("focus", isFocused=False))["applied"] is True


@scenario()
async def a_thousand_refusals_end_with_4006(stage: Stage) -> None:
    """A client that continues after a thousand refusals within ten seconds is closed, and may reconnect."""
    room, ann = f"live.{stage.name('room')}", await stage.session(stage.name("ann"))
    await ann.join(room)
    for _ in range(3000):
        if not ann.is_open or ann.bye is not None:
            break
        ann.post("send", room=room, body=1)
    assert await ann.closed() == 4006
    assert ann.bye["reconnect"] is True
    again = await stage.session(ann.user)
    await again.join(room)


@scenario()
async def ten_seconds_over_the_rate_end_with_4006(stage: Stage) -> None:
    """A client that exceeds twice the rate for ten seconds is closed soon after."""
    room, ann = f"live.{stage.name('room')}", await stage.session(stage.name("ann"))
    await ann.join(room)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    sent = 0
    while ann.is_open and ann.bye is None and loop.time() < begun + 40:
        # The clock determines the rate, so that a busy machine does not lower it.
        while sent < (loop.time() - begun) * 130:
            ann.post("send", room=room, body=1)
            sent += 1
        await asyncio.sleep(0.1)
    took = loop.time() - begun
    assert await ann.closed() == 4006, ann.connection.code
    assert took > 9.5, f"closed after {took:.1f} s"


@scenario(*UNLIMITED)
async def sessions_of_a_user_end_at_their_limit(stage: Stage) -> None:
    """A user may have 32 sessions. The next one gets 4504, and a close makes another one possible."""
    user = stage.name("ann")
    sessions = [await stage.session(user) for _ in range(32)]
    extra = await stage.stranger(user)
    extra.connection.send_text(f'{{"type":"hello","user":"{user}"}}')
    assert await extra.closed() == 4504
    assert extra.bye["reconnect"] is False
    await sessions[5].close(1000)
    await stage.session(user)
    for session in sessions[:5]:
        await session.request("ping")


@scenario(*UNLIMITED)
async def names_at_their_bounds(stage: Stage) -> None:
    """The longest and oddest valid names are accepted. One more byte is rejected."""
    alphabet = "ABCXYZabcxyz019-_.:@!|+=~"
    tail = "".join(stage.random.choice(alphabet) for _ in range(300))
    ann = await stage.session((stage.name("u") + tail)[:128], name="n" * 256, device=("d" + tail)[:128])
    room = (stage.name("r") + tail)[:255]
    await ann.join(room)
    await ann.send(room, 1)
    assert (await ann.refusal("join", room=room + "x"))["code"] == "bad_request"
    await ann.request("signal", room=room, name="s" * 128)
    assert (await ann.refusal("signal", room=room, name="s" * 129))["code"] == "bad_request"
    joined = await ann.join(room)
    assert joined["members"][0]["user"] == ann.user and joined["members"][0]["name"] == "n" * 256


@scenario(*UNLIMITED)
async def devices_of_a_user_end_at_their_limit(stage: Stage) -> None:
    """A user may have sixteen devices. A further one is rejected until another is deleted."""
    ann = await stage.session(stage.name("ann"))

    def device(number: int) -> dict[str, object]:
        return {"device": f"d{number}", "platform": "simulator", "token": f"{ann.user}-{number}"}

    for number in range(16):
        await ann.request("device", **device(number))
    assert (await ann.refusal("device", **device(16)))["code"] == "too_large"
    await ann.request("device", **device(3))
    await ann.request("device", **device(5) | {"token": None})
    await ann.request("device", **device(16))
    assert (await ann.refusal("device", **device(5)))["code"] == "too_large"


@scenario()
async def welcome_names_every_limit(stage: Stage) -> None:
    """A client gets each limit of the protocol by its name."""
    welcome = (await stage.session(stage.name("ann"))).welcome
    missing = [name for name in LIMITS if not isinstance(welcome["limits"].get(name), (int, float))]
    assert not missing, f"not in the limits of welcome: {missing}"
    assert welcome["heartbeat"] == welcome["limits"]["heartbeat"]
