# SPDX-License-Identifier: Apache-2.0
"""Joins and leaves, and the events that sessions receive."""

from stress.registry import UNLIMITED, scenario
from stress.stage import Stage


@scenario(*UNLIMITED)
async def join_and_leave_race_on_one_session(stage: Stage) -> None:
    """Joins and leaves in one packet take effect in their order. Other members get joined and left in turns."""
    room = stage.name("room")
    watcher, ann = [await stage.session(name) for name in stage.names("watcher", "ann")]
    await watcher.join(room)
    replies = []
    for _ in range(20):
        replies += [ann.begin("join", room=room), ann.begin("leave", room=room)]
    replies.append(ann.begin("join", room=room))
    for reply in replies:
        await ann.replied(reply)
    await watcher.send(room, "after")
    await ann.expect("message", body="after")
    joined = await watcher.join(room)
    assert joined["memberCount"] == 2 and {entry["user"] for entry in joined["members"]} == {watcher.user, ann.user}
    events = [frame["event"] for frame in await watcher.received("member", user=ann.user)]
    assert events and events[-1] == "joined", events
    assert all(one != other for one, other in zip(events, events[1:])), events


@scenario(*UNLIMITED)
async def join_and_leave_race_between_devices(stage: Stage) -> None:
    """One device joins while the other leaves. At the end both agree with the room about the membership."""
    room, user = stage.names("room", "ann")
    watcher = await stage.session(stage.name("watcher"))
    await watcher.join(room)
    phone, tablet = await stage.session(user), await stage.session(user)
    for _ in range(20):
        await tablet.join(room)
        leaving, joining = phone.begin("leave", room=room), tablet.begin("join", room=room)
        for one, reply in ((phone, leaving), (tablet, joining)):
            try:
                await one.replied(reply)
            except Exception as error:
                assert getattr(error, "code", None) == "not_joined", error
        is_in = user in {entry["user"] for entry in (await watcher.join(room))["members"]}
        body = stage.random.random()
        await watcher.send(room, body)
        got = bool(await tablet.received("message", body=body))
        # The leave ends an earlier join, but not a later one.
        assert got is is_in, f"member: {is_in}, received: {got}"
        if not is_in:
            tablet.rooms.pop(room, None)
        await tablet.forget_events()


@scenario(*UNLIMITED)
async def leave_with_stay_ends_one_session_in_the_room(stage: Stage) -> None:
    """A leave with `stay` ends only one session in the room. The membership continues without an event."""
    room = stage.name("room")
    watcher, phone = [await stage.session(name) for name in stage.names("watcher", "ann")]
    tablet = await stage.session(phone.user)
    for one in (watcher, phone, tablet):
        await one.join(room)
    await watcher.expect("presence", user=phone.user)
    await watcher.forget_events()
    await phone.request("leave", room=room, stay=True)
    assert (await phone.refusal("send", room=room, body=1))["code"] == "not_joined"
    await watcher.send(room, "hello")
    await tablet.expect("message", body="hello")
    assert not await phone.received("message"), "received after leaving"
    assert not await watcher.received("member"), "an event for the leave of a session"
    assert (await watcher.join(room))["memberCount"] == 2
    await phone.join(room)
    await watcher.send(room, "again")
    await phone.expect("message", body="again")


@scenario(*UNLIMITED)
async def leave_ends_all_sessions_of_the_user(stage: Stage) -> None:
    """`leave` ends all of the user's sessions in the room with an event, and others get `left` once."""
    room = stage.name("room")
    watcher, phone = [await stage.session(name) for name in stage.names("watcher", "ann")]
    tablet = await stage.session(phone.user)
    for one in (watcher, phone, tablet):
        await one.join(room)
    await phone.request("leave", room=room)
    await tablet.expect("member", room=room, user=phone.user, event="left")
    tablet.rooms.pop(room)
    left = await watcher.expect("member", room=room, user=phone.user, event="left")
    assert left["memberCount"] == 1
    await watcher.send(room, "alone")
    for one in (phone, tablet):
        assert not await one.received("message")
        assert (await one.refusal("send", room=room, body=1))["code"] == "not_joined"
    assert not await watcher.received("member", event="left"), "left twice"


@scenario(*UNLIMITED)
async def rooms_of_a_session_end_at_their_limit(stage: Stage) -> None:
    """A session may join 128 rooms. After it leaves one, it can join another."""
    ann = await stage.session(stage.name("ann"))
    writer = await stage.session(stage.name("writer"))
    rooms = [stage.name(f"room{number}") for number in range(129)]
    for reply in [ann.begin("join", room=room) for room in rooms[:128]]:
        await ann.replied(reply)
    assert (await ann.refusal("join", room=rooms[128]))["code"] == "too_large"
    await ann.join(rooms[7])
    await ann.request("leave", room=rooms[0], stay=True)
    await ann.join(rooms[128])
    sample = stage.random.sample(rooms[1:], 10)
    for room in sample:
        await writer.join(room)
        await writer.send(room, room)
    for room in sample:
        await ann.expect("message", room=room, body=room)


@scenario(*UNLIMITED)
async def signals_are_relayed_and_not_kept(stage: Stage) -> None:
    """A signal reaches the other sessions live and in order, uses no seq and is not stored."""
    room = stage.name("room")
    ann, bob = [await stage.session(name) for name in stage.names("ann", "bob")]
    epoch = (await ann.join(room))["epoch"]
    await bob.join(room)
    await ann.send(room, "one")
    for number in range(50):
        ann.post("signal", room=room, name="typing", body={"n": number})
    assert (await ann.send(room, "two"))["seq"] == 2
    await bob.hears(room, 2)
    signals = [frame["body"]["n"] for frame in await bob.received("signal", room=room, name="typing")]
    assert signals == list(range(50)), signals
    assert not await ann.received("signal"), "the sender received its own signal"
    late = await stage.session(stage.name("late"))
    joined = await late.join(room, after={"epoch": epoch, "seq": 0})
    assert [message["body"] for message in joined["messages"]] == ["one", "two"]
    assert not await late.received("signal")


@scenario(*UNLIMITED)
async def read_marks_reach_other_devices(stage: Stage) -> None:
    """A device gets the read marks of other devices as events and at its next join. A mark never moves back."""
    room = stage.name("room")
    writer, phone = [await stage.session(name) for name in stage.names("writer", "ann")]
    tablet = await stage.session(phone.user)
    for one in (writer, phone, tablet):
        await one.join(room)
    for reply in [writer.begin("send", room=room, body=number) for number in range(20)]:
        await writer.replied(reply)
    for seq in (5, 12, 3, 12, 20):
        await phone.request("read", room=room, seq=seq)
    await tablet.expect("receipt", room=room, user=phone.user, kind="read", seq=20)
    events = [frame["seq"] for frame in tablet.inbox if frame["type"] == "receipt"]
    assert events == sorted(set(events)), f"marks moved back: {events}"
    assert (await tablet.join(room))["read"] == 20
    sent = await tablet.send(room, "my own")
    assert (await phone.join(room))["read"] == sent["seq"], "a send must raise the read mark"
    assert (await phone.refusal("read", room=room, seq=sent["seq"] + 1))["code"] == "bad_request"


@scenario(alone=True)
async def receipts_are_sent_only_in_rooms_with_receipts(stage: Stage) -> None:
    """In a room with receipts, members get cumulative receipts for received and read. In other rooms they get none."""
    await stage.start(*UNLIMITED, config={"rooms": [{"match": "receipts.*", "receipts": True}, {"match": "*"}]})
    for room, has_receipts in ((f"receipts.{stage.name('room')}", True), (stage.name("room"), False)):
        writer, ann = [await stage.session(name, acks=True) for name in stage.names("writer", "ann")]
        await writer.join(room)
        await ann.join(room)
        for reply in [writer.begin("send", room=room, body=number) for number in range(10)]:
            await writer.replied(reply)
        for seq in range(1, 11):
            ann.post("received", room=room, seq=seq)
        for seq in range(1, 11):
            ann.post("read", room=room, seq=seq)
        await ann.request("ping")
        if not has_receipts:
            await ann.send(room, "after")
            await writer.expect("message", body="after")
            assert not await writer.received("receipt", user=ann.user), "a receipt in a room without receipts"
            continue
        await writer.expect("receipt", room=room, user=ann.user, kind="read", seq=10)
        for kind in ("received", "read"):
            seqs = [f["seq"] for f in writer.inbox if f.fits("receipt", {"user": ann.user, "kind": kind})]
            assert seqs == sorted(set(seqs)), f"{kind}: {seqs}"


@scenario(*UNLIMITED)
async def memberships_continue_after_sessions(stage: Stage) -> None:
    """A member who is away stays an offline member. In a room without history the membership ends."""
    for room, stays in ((stage.name("room"), True), (f"live.{stage.name('room')}", False)):
        watcher, ann = [await stage.session(name) for name in stage.names("watcher", "ann")]
        await watcher.join(room)
        await ann.join(room)
        await ann.close(1000)
        await watcher.expect("presence" if stays else "member", user=ann.user, **({} if stays else {"event": "left"}))

        async def seen() -> bool:
            joined = await watcher.join(room)
            entries = {entry["user"]: entry["online"] for entry in joined["members"]}
            wanted = {watcher.user: True} | ({ann.user: False} if stays else {})
            return entries == wanted and joined["onlineCount"] == 1 and joined["memberCount"] == len(wanted)

        await stage.eventually(seen, f"{room} shows the right members")
