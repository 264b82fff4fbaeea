# SPDX-License-Identifier: Apache-2.0
"""Watching users without a shared room."""

import asyncio

from stress.registry import UNLIMITED, scenario
from stress.stage import Stage


@scenario(*UNLIMITED)
async def watchers_get_events_until_they_unwatch(stage: Stage) -> None:
    """A watcher gets a snapshot and then changes, and nothing after `unwatch`. Unknown users are offline."""
    ann, watcher = [await stage.session(name) for name in stage.names("ann", "watcher")]
    nobody = stage.name("nobody")
    reply = await watcher.request("watch", users=[ann.user, nobody])
    entries = {entry["user"]: entry for entry in reply["presence"]}
    assert entries[ann.user]["online"] is True
    assert entries[nobody]["online"] is False and entries[nobody]["isFocused"] is None
    await ann.request("activity", state="background")
    await watcher.expect("presence", user=ann.user, activity="background")
    await watcher.request("unwatch", users=[ann.user])
    await asyncio.sleep(0.3)
    await watcher.forget_events()
    await ann.request("activity", state="idle")
    late = await stage.session(nobody)
    await watcher.expect("presence", user=nobody, online=True)
    assert not await watcher.received("presence", user=ann.user), "received after unwatch"
    await late.close(1000)
    await watcher.expect("presence", user=nobody, online=False)


@scenario(*UNLIMITED)
async def a_watcher_in_a_shared_room_gets_one_event(stage: Stage) -> None:
    """A watcher who shares a room gets each change once, and still gets changes after leaving the room."""
    room = stage.name("room")
    ann, watcher = [await stage.session(name) for name in stage.names("ann", "watcher")]
    await watcher.request("watch", users=[ann.user])
    await watcher.join(room)
    await ann.join(room)
    await asyncio.sleep(0.5)
    await watcher.forget_events()
    await ann.request("activity", state="idle")
    await watcher.expect("presence", user=ann.user, activity="idle")
    await asyncio.sleep(0.3)
    assert not await watcher.received("presence", user=ann.user), "a repeated event"
    await watcher.request("leave", room=room)
    await ann.request("activity", state="background")
    await watcher.expect("presence", user=ann.user, activity="background")


@scenario(*UNLIMITED)
async def a_focus_is_seen_only_where_a_room_is_shared(stage: Stage) -> None:
    """A watcher sees null without a shared room, and the Focus while a room is shared."""
    room = stage.name("room")
    ann, watcher = [await stage.session(name) for name in stage.names("ann", "watcher")]
    await ann.join(room)
    await ann.request("focus", isFocused=True)
    (entry,) = (await watcher.request("watch", users=[ann.user]))["presence"]
    assert entry["isFocused"] is None and "focusSince" not in entry, entry
    (entry,) = (await watcher.request("presence", users=[ann.user]))["presence"]
    assert entry["isFocused"] is None, entry
    joined = await watcher.join(room)
    assert {one["user"]: one["isFocused"] for one in joined["members"]}[ann.user] is True
    await watcher.request("leave", room=room)
    (entry,) = (await watcher.request("presence", users=[ann.user]))["presence"]
    assert entry["isFocused"] is None, entry
    await watcher.forget_events()
    for is_focused in (False, True) * 5:
        await ann.request("focus", isFocused=is_focused)
    await ann.request("activity", state="idle")
    await watcher.expect("presence", user=ann.user, activity="idle", isFocused=None)
    assert not [one for one in await watcher.received("presence") if one["isFocused"] is not None]


@scenario(*UNLIMITED)
async def watched_users_end_at_their_limit(stage: Stage) -> None:
    """A session can watch 1,024 users, in steps of at most 256, until it unwatches one."""
    watcher = await stage.session(stage.name("watcher"))
    users = [stage.name(f"u{number}") for number in range(1025)]
    for start in range(0, 1024, 128):
        await watcher.request("watch", users=users[start : start + 128])
    assert (await watcher.refusal("watch", users=users[1024:]))["code"] == "too_large"
    await watcher.request("watch", users=users[:10])
    await watcher.request("unwatch", users=users[:1])
    await watcher.request("watch", users=users[1024:])
    assert (await watcher.refusal("watch", users=users[:1]))["code"] == "too_large"


@scenario(*UNLIMITED)
async def watching_survives_flapping_and_reconnects(stage: Stage) -> None:
    """Twenty-five watchers of a user who reconnects often all end with the right state."""
    user = stage.name("ann")
    watchers = await stage.sessions_of(25, "watcher")
    for watcher in watchers:
        await watcher.request("watch", users=[user])
    for turn in range(6):
        ann = await stage.session(user)
        await (ann.reset() if turn % 2 else ann.close(1000))
    ann = await stage.session(user)
    await ann.request("activity", state="idle")
    for watcher in watchers:

        def is_true() -> bool:
            events = [frame for frame in watcher.inbox if frame.fits("presence", {"user": user})]
            return bool(events) and events[-1].fits("presence", {"online": True, "activity": "idle"})

        await watcher.until(is_true, "the true state of ann")
