# SPDX-License-Identifier: Apache-2.0
"""Presence, and the Focus of users."""

import asyncio

from stress.registry import UNLIMITED, scenario
from stress.session import Session
from stress.stage import Stage


async def pair(stage: Stage, **hello: object) -> tuple[str, Session, Session]:
    """Makes a room with a watcher and another user, who has seen both."""
    room = stage.name("room")
    watcher, ann = await stage.session(stage.name("watcher")), await stage.session(stage.name("ann"), **hello)
    await watcher.join(room)
    await ann.join(room)
    await watcher.expect("presence", user=ann.user, online=True)
    return room, watcher, ann


async def newest(watcher: Session, user: str, **fields: object) -> None:
    """Waits until the newest presence of a user that the watcher received has these fields."""

    def is_newest() -> bool:
        entries = [frame for frame in watcher.inbox if frame.fits("presence", {"user": user})]
        return bool(entries) and entries[-1].fits("presence", fields)

    await watcher.until(is_newest, f"{user} to be {fields}")


@scenario(*UNLIMITED)
async def a_flapping_focus_causes_one_event(stage: Stage) -> None:
    """A Focus that changes many times causes one event when it begins, and one when it has been off for a while."""
    _, watcher, ann = await pair(stage)
    for last in (True, False):
        await watcher.forget_events()
        for turn in range(40):
            ann.post("focus", isFocused=turn % 2 == 0)
        assert (await ann.request("focus", isFocused=last))["isFocused"] is True
        await newest(watcher, ann.user, isFocused=last)
        events = [frame["isFocused"] for frame in watcher.inbox if frame.fits("presence", {"user": ann.user})]
        assert events == [last], f"41 reports caused the events {events}"


@scenario(*UNLIMITED)
async def flapping_activity_is_coalesced(stage: Stage) -> None:
    """Fifty changes of activity in a moment cause a few events, and the last has the newest state."""
    _, watcher, ann = await pair(stage)
    await watcher.forget_events()
    states = ["active", "idle", "background"]
    for turn in range(50):
        ann.post("activity", state=states[turn % 3])
    await ann.request("activity", state="idle")
    await newest(watcher, ann.user, activity="idle")
    events = [frame["activity"] for frame in watcher.inbox if frame.fits("presence", {"user": ann.user})]
    assert len(events) < 20, events
    assert all(one != other for one, other in zip(events, events[1:])), f"repeated: {events}"


@scenario(*UNLIMITED)
async def a_reverted_change_causes_no_event(stage: Stage) -> None:
    """A change that is reverted before the next event causes no event."""
    _, watcher, ann = await pair(stage)
    await ann.request("activity", state="idle")
    await watcher.expect("presence", user=ann.user, activity="idle")
    await asyncio.sleep(0.5)
    for _ in range(5):
        await watcher.forget_events()
        # The first change causes an event at once. The later ones within a quarter of a second return to its state.
        for state in ("active", "background", "idle", "active"):
            ann.post("activity", state=state)
        await ann.request("ping")
        await watcher.expect("presence", user=ann.user, activity="active")
        ann.post("activity", state="idle")
        await watcher.expect("presence", user=ann.user, activity="idle")
        events = [frame["activity"] for frame in watcher.inbox if frame.fits("presence", {"user": ann.user})]
        assert not [one for one, other in zip(["active", *events], events) if one == other], events
        await asyncio.sleep(0.3)


@scenario(*UNLIMITED)
async def focus_reports_are_ordered_by_number(stage: Stage) -> None:
    """Late reports of a device are answered and ignored, by number or, without numbers, by time."""
    _, watcher, ann = await pair(stage, device="phone")
    numbers = list(range(1, 30))
    stage.random.shuffle(numbers)
    newest_number = 0
    for number in numbers:
        reply = await ann.request("focus", isFocused=number % 2 == 1, number=number)
        assert reply["applied"] is (number > newest_number), f"{number} after {newest_number}: {reply.text}"
        newest_number = max(newest_number, number)
    assert reply["isFocused"] is True
    await newest(watcher, ann.user, isFocused=True)
    now = ann.welcome["time"]
    for at, applied in ((now - 5000, True), (now - 9000, False), (now - 4000, True), (now - 4001, False)):
        reply = await ann.request("focus", isFocused=True, device="tablet", at=at)
        assert reply["applied"] is applied, f"{at - now}: {reply.text}"


@scenario(*UNLIMITED)
async def focus_of_several_devices_is_merged(stage: Stage) -> None:
    """Any true makes the user focused, else any false makes the user not focused. Denied reports count as unknown."""
    _, watcher, ann = await pair(stage)
    steps = [
        ("phone", {"isFocused": False}, False),
        ("laptop", {"isFocused": True}, True),
        ("phone", {"isFocused": None}, True),
        ("tablet", {"isFocused": True}, True),
        ("laptop", {"isFocused": True, "authorization": "denied"}, True),
        ("tablet", {"isFocused": True, "authorization": "restricted"}, None),
        ("phone", {"isFocused": False}, False),
        ("phone", {"isFocused": True}, True),
    ]
    for device, report, merged in steps:
        reply = await ann.request("focus", device=device, **report)
        assert reply["isFocused"] is merged, f"{device} {report}: {reply.text}"
        assert ("focusSince" in reply) is (merged is True), reply.text
        await newest(watcher, ann.user, isFocused=merged)


@scenario(*UNLIMITED)
async def focus_over_http_reaches_sockets(stage: Stage) -> None:
    """Focus reports over HTTP reach all members of shared rooms, in the order of their numbers."""
    _, watcher, ann = await pair(stage)

    async def put(number: int):
        report = {"isFocused": number % 2 == 1, "number": number, "device": "phone"}
        return await stage.http("PUT", f"/v1/users/{ann.user}/focus", report, user=ann.user)

    answers = await stage.all(put(number) for number in range(1, 8))
    assert {answer.status for answer in answers} == {200}, answers
    await newest(watcher, ann.user, isFocused=True)
    await ann.expect("presence", user=ann.user, isFocused=True)


@scenario(*UNLIMITED)
async def two_devices_of_a_user_have_one_presence(stage: Stage) -> None:
    """The most active session counts. The user is online until the last session ends. Both devices get messages."""
    room, watcher, phone = await pair(stage, activity="background")
    tablet = await stage.session(phone.user, activity="idle")
    await tablet.join(room)
    await newest(watcher, phone.user, activity="idle", online=True)
    await phone.request("activity", state="active")
    await newest(watcher, phone.user, activity="active", online=True)
    await phone.send(room, "from the phone")
    await tablet.expect("message", body="from the phone")
    await phone.close(1000)
    await newest(watcher, phone.user, activity="idle", online=True)
    await tablet.close(1000)
    await newest(watcher, phone.user, online=False)
    offline = [frame for frame in watcher.inbox if frame.fits("presence", {"user": phone.user, "online": False})]
    assert len(offline) == 1, offline
    joined = [frame for frame in watcher.inbox if frame.fits("member", {"user": phone.user})]
    assert len(joined) == 1, f"a user became a member {len(joined)} times"


@scenario(*UNLIMITED)
async def users_with_many_shared_rooms_get_one_event(stage: Stage) -> None:
    """Two users who share twenty rooms get one event for each change."""
    watcher, ann = [await stage.session(name) for name in stage.names("watcher", "ann")]
    for number in range(20):
        room = stage.name(f"room{number}")
        await watcher.join(room)
        await ann.join(room)
    await watcher.expect("presence", user=ann.user, online=True)
    await asyncio.sleep(0.4)
    await watcher.forget_events()
    await ann.request("focus", isFocused=True)
    await watcher.expect("presence", user=ann.user, isFocused=True)
    await ann.request("activity", state="idle")
    await watcher.expect("presence", user=ann.user, activity="idle")
    events = await watcher.received("presence", user=ann.user)
    assert not events, [frame.text for frame in events]


@scenario(*UNLIMITED)
async def a_snapshot_and_its_events_have_no_gap(stage: Stage) -> None:
    """A join while every Focus changes: the snapshot and the events together give the last state of each user."""
    room = stage.name("room")
    members = await stage.sessions_of(10)
    for member in members:
        await member.join(room)
    states = {member.user: None for member in members}

    async def flap(member: Session) -> None:
        for _ in range(15):
            states[member.user] = stage.random.random() < 0.5
            await member.request("focus", isFocused=states[member.user])
            await asyncio.sleep(0.01)

    flapping = asyncio.gather(*(flap(member) for member in members))
    views = []
    for number in range(6):
        late = await stage.session(stage.name(f"late{number}"))
        joined = await late.join(room)
        views.append((late, {entry["user"]: entry["isFocused"] for entry in joined["members"]}))
    await flapping
    for late, view in views:

        def agrees() -> bool:
            now = dict(view)
            for frame in late.inbox:
                if frame["type"] == "presence":
                    now[frame["user"]] = frame["isFocused"]
            return all(now.get(user) == state for user, state in states.items())

        await late.until(agrees, "the same view as everybody's")
