# SPDX-License-Identifier: Apache-2.0
"""Rooms with more members than the limit of the member list, and rooms that shrink below it."""

import asyncio

from stress.registry import UNLIMITED, scenario
from stress.session import Session
from stress.stage import Stage

MEMBER_LIST = 20
LARGE = (*UNLIMITED, "--limits-member-list", MEMBER_LIST)


async def full(stage: Stage, count: int) -> tuple[str, list[Session]]:
    """Makes a room with this many online members."""
    room = stage.name("room")
    members = await stage.sessions_of(count)
    for member in members:
        await member.join(room)
    return room, members


@scenario(*LARGE)
async def a_large_room_counts_at_most_once_a_second(stage: Stage) -> None:
    """While sixty users join and leave a large room, its members get a few `counts` and no other events."""
    clock = asyncio.get_running_loop().time
    room, members = await full(stage, MEMBER_LIST + 5)
    watcher = members[0]
    # Events from the time when the room was small may still arrive.
    await watcher.expect("counts", room=room, memberCount=MEMBER_LIST + 5)
    await watcher.forget_events()
    begun = clock()
    for _ in range(3):
        guests = await stage.sessions_of(20)
        for guest in guests:
            joined = await guest.join(room)
            assert "members" not in joined, "a large room lists its members"
            assert joined["memberCount"] > MEMBER_LIST
        for guest in guests:
            await guest.request("leave", room=room)
            await guest.close()
    await watcher.expect("counts", room=room, memberCount=MEMBER_LIST + 5, onlineCount=MEMBER_LIST + 5)
    # `expect` has removed the last one from the inbox.
    count = 1 + len(await watcher.received("counts", room=room))
    assert count <= clock() - begun + 2, f"{count} counts in {clock() - begun:.1f} s"
    others = [frame for frame in watcher.inbox if frame["type"] in ("member", "presence")]
    assert not others, [frame.text for frame in others[:5]]


@scenario(*LARGE)
async def a_room_is_large_from_one_above_the_limit(stage: Stage) -> None:
    """A room at the limit lists its members and sends presence. With one more member it does neither."""
    room, members = await full(stage, MEMBER_LIST)
    watcher = members[0]
    joined = await watcher.join(room)
    assert len(joined["members"]) == MEMBER_LIST and joined["memberCount"] == MEMBER_LIST
    assert len((await watcher.request("presence", room=room))["presence"]) == MEMBER_LIST
    extra = await stage.session(stage.name("extra"))
    joined = await extra.join(room)
    assert "members" not in joined and joined["memberCount"] == MEMBER_LIST + 1
    assert (await watcher.refusal("presence", room=room))["code"] == "too_large"
    await watcher.expect("counts", room=room, memberCount=MEMBER_LIST + 1)
    await extra.send(room, "still talking")
    await watcher.expect("message", body="still talking")


@scenario(*LARGE)
async def a_room_below_half_is_small_again(stage: Stage) -> None:
    """A large room stays large down to half of the limit. Below it, each session gets each member's presence once."""
    room, members = await full(stage, MEMBER_LIST + 1)
    watcher = members[0]
    await watcher.expect("counts", room=room, memberCount=MEMBER_LIST + 1)
    while len(members) > MEMBER_LIST // 2:
        await members.pop().request("leave", room=room)
    assert "members" not in await watcher.join(room), "small at half already"
    await watcher.forget_events()
    await members.pop().request("leave", room=room)
    users = {member.user for member in members}

    def all_told() -> bool:
        return users <= {frame["user"] for frame in watcher.inbox if frame["type"] == "presence"}

    await watcher.until(all_told, "the presence of all remaining members")
    events = [frame["user"] for frame in await watcher.received("presence")]
    assert sorted(events) == sorted(users), f"{len(events)} events for {len(users)} members"
    joined = await watcher.join(room)
    assert {entry["user"] for entry in joined["members"]} == users
    late = await stage.session(stage.name("late"))
    await late.join(room)
    await watcher.expect("member", user=late.user, event="joined", memberCount=len(users) + 1)


@scenario(*LARGE)
async def focus_in_a_large_room_causes_no_event(stage: Stage) -> None:
    """A hundred Focus reports in a large room cause no event for its members."""
    room, members = await full(stage, MEMBER_LIST + 2)
    watcher = members[0]
    await watcher.expect("counts", room=room, memberCount=MEMBER_LIST + 2)
    await asyncio.sleep(0.3)
    await watcher.forget_events()
    for turn in range(5):
        for member in members[1:]:
            await member.request("focus", isFocused=turn % 2 == 0)
    await members[1].send(room, "after all that")
    await watcher.expect("message", body="after all that")
    assert not await watcher.received("presence"), "presence in a large room"


@scenario(*LARGE)
async def leaving_a_large_room_ends_all_sessions_of_the_user(stage: Stage) -> None:
    """A leave of a large room ends all sessions of the user in it with `member` `left`. Others get counts."""
    room, members = await full(stage, MEMBER_LIST + 2)
    phone, watcher = members[0], members[1]
    tablet = await stage.session(phone.user)
    await tablet.join(room)
    await phone.request("leave", room=room)
    await tablet.expect("member", room=room, user=phone.user, event="left")
    assert (await tablet.refusal("send", room=room, body=1))["code"] == "not_joined"
    tablet.rooms.pop(room)
    await watcher.expect("counts", room=room, memberCount=MEMBER_LIST + 1)
    await watcher.send(room, "without them")
    await members[2].expect("message", body="without them")
    for one in (phone, tablet):
        assert not await one.received("message"), "received after leaving"
