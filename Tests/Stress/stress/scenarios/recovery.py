# SPDX-License-Identifier: Apache-2.0
"""What comes back after a connection was lost, at every edge."""

from stress.spelling import Spelled
from stress.people import ENDS
from stress.registry import UNLIMITED, scenario
from stress.session import Session
from stress.stage import Stage


async def filled(stage: Stage, count: int, body: object = "x") -> tuple[str, str, Session]:
    """A room with so many messages: its name, its epoch, and who wrote them."""
    room = stage.name("room")
    writer = await stage.session(stage.name("writer"))
    epoch = (await writer.join(room))["epoch"]
    replies = [writer.begin("send", room=room, body=body) for _ in range(count)]
    for reply in replies:
        await writer.replied(reply)
    return room, epoch, writer


async def rejoined(stage: Stage, room: str, epoch: str, seq: int, **fields: object) -> dict:
    session = await stage.session(stage.name("back"))
    return await session.join(room, after={"epoch": epoch, "seq": seq}, **fields)


@scenario(*UNLIMITED)
async def a_gap_of_300_recovers_and_one_of_301_does_not(stage: Stage) -> None:
    """The longest gap that is recovered is 300 messages; one more is said to be lost, and is there to page."""
    room, epoch, _ = await filled(stage, 302)
    whole = await rejoined(stage, room, epoch, 2)
    assert whole["recovered"] is True and len(whole["messages"]) == 300
    partial = await rejoined(stage, room, epoch, 1)
    assert (partial["recovered"], partial["messages"], partial["epoch"]) == (False, [], epoch)
    some = await rejoined(stage, room, epoch, 1, history=5)
    assert some["recovered"] is False and [message["seq"] for message in some["messages"]] == list(range(298, 303))


@scenario(*UNLIMITED)
async def a_busy_history_is_as_long_as_was_asked(stage: Stage) -> None:
    """What is shown while a page is read makes the page no longer: it ends at the newest, and begins later."""
    room, _, writer = await filled(stage, 302)
    replies = [writer.begin("send", room=room, body="more") for _ in range(300)]
    for most in (3, 250, 290, 299, 300) * 4:
        joined = await (await stage.session(stage.name("guest"))).join(room, history=most)
        seqs = [message["seq"] for message in joined["messages"]]
        assert seqs == list(range(joined["seq"] - most + 1, joined["seq"] + 1)), (most, seqs[0], seqs[-1], joined["seq"])
    for reply in replies:
        await writer.replied(reply)


@scenario(*UNLIMITED)
async def a_gap_of_half_a_mebibyte_recovers_and_more_does_not(stage: Stage) -> None:
    """512 KiB bound a recovery: well below it everything comes, above it nothing, and never a part."""
    room, epoch, _ = await filled(stage, 11, "x" * 50000)
    assert (await rejoined(stage, room, epoch, 2))["recovered"] is True
    partial = await rejoined(stage, room, epoch, 0)
    assert (partial["recovered"], partial["messages"]) == (False, []), len(partial["messages"])


@scenario(*UNLIMITED)
async def a_gap_of_many_small_messages_is_not_taken_for_large(stage: Stage) -> None:
    """A gap of 300 tiny messages is whole though their envelopes outweigh their bodies."""
    room, epoch, _ = await filled(stage, 300, Spelled("1"))
    assert (await rejoined(stage, room, epoch, 0))["recovered"] is True


@scenario(*UNLIMITED)
async def a_wrong_epoch_is_never_recovered(stage: Stage) -> None:
    """`after` of another epoch answers with the present one and no part of its past."""
    room, epoch, _ = await filled(stage, 5)
    for seq in (0, 3, 5, 9):
        joined = await rejoined(stage, room, "elsewhere", seq)
        assert (joined["recovered"], joined["messages"], joined["epoch"]) == (False, [], epoch)


@scenario(*UNLIMITED)
async def a_seq_beyond_the_newest_is_never_recovered(stage: Stage) -> None:
    """A client that has seen more than there is must start afresh; one that has seen all has nothing to get."""
    room, epoch, _ = await filled(stage, 5)
    beyond = await rejoined(stage, room, epoch, 6)
    assert (beyond["recovered"], beyond["messages"], beyond["seq"]) == (False, [], 5)
    exact = await rejoined(stage, room, epoch, 5)
    assert (exact["recovered"], exact["messages"], exact["seq"]) == (True, [], 5)


@scenario(*UNLIMITED)
async def a_silent_room_recovers_nothing_and_says_so(stage: Stage) -> None:
    """A room in which nobody spoke is at seq 0, and coming back to it is whole."""
    room = stage.name("silence")
    first = await stage.session(stage.name("ann"))
    joined = await first.join(room)
    assert (joined["seq"], joined["messages"], "recovered" in joined) == (0, [], False)
    await first.reset()
    again = await rejoined(stage, room, joined["epoch"], 0)
    assert (again["recovered"], again["messages"], again["seq"]) == (True, [], 0)


@scenario(*UNLIMITED)
async def a_relayed_room_recovers_only_from_its_newest(stage: Stage) -> None:
    """A room that keeps nothing recovers nobody who missed something, and everybody who did not."""
    room = f"live.{stage.name('room')}"
    ann, bob = [await stage.session(name) for name in stage.names("ann", "bob")]
    epoch = (await ann.join(room))["epoch"]
    await bob.join(room)
    await ann.send(room, "one")
    await bob.hears(room, 1)
    missed = await rejoined(stage, room, epoch, 0)
    assert (missed["recovered"], missed["messages"], missed["seq"]) == (False, [], 1)
    whole = await rejoined(stage, room, epoch, 1)
    assert (whole["recovered"], whole["messages"]) == (True, [])


@scenario(*UNLIMITED)
async def a_relayed_room_begins_a_new_epoch_after_its_last_member(stage: Stage) -> None:
    """A room that keeps nothing is forgotten with its last member, and then counts from 1 in a new epoch."""
    room, user = f"live.{stage.name('room')}", stage.name("ann")
    ann = await stage.session(user)
    epoch = (await ann.join(room))["epoch"]
    await ann.send(room, "one")
    await ann.request("leave", room=room)
    joined = await ann.join(room, after={"epoch": epoch, "seq": 1})
    assert joined["epoch"] != epoch and (joined["seq"], joined["recovered"]) == (0, False)
    assert (await ann.send(room, "two"))["seq"] == 1


@scenario(alone=True)
async def recovery_ends_exactly_where_the_history_does(stage: Stage) -> None:
    """In a room that keeps 20, all is recovered from the oldest kept message on, and nothing from one before it."""
    await stage.start(*UNLIMITED, config={"rooms": [{"match": "*", "history": {"count": 20}}]})
    room, epoch, writer = await filled(stage, 150)

    async def trimmed() -> int:
        first = (await writer.request("history", room=room, limit=1))["first"]
        return first if first > 1 else 0

    first = await stage.eventually(trimmed, "something is no longer kept")
    assert first <= 131, f"of 150 only {first} and newer are kept"
    assert (await rejoined(stage, room, epoch, first - 1))["recovered"] is True
    partial = await rejoined(stage, room, epoch, first - 2)
    assert (partial["recovered"], partial["messages"]) == (False, [])
    page = await writer.request("history", room=room, limit=300)
    assert [message["seq"] for message in page["messages"]] == list(range(first, 151)) and page["more"] is False


@scenario(*UNLIMITED)
async def recovery_while_others_write_has_no_seam(stage: Stage) -> None:
    """Between the messages of the reply to `join` and the live ones, none is lost and none is twice."""
    room, epoch, writer = await filled(stage, 3)
    members = await stage.sessions_of(8)

    async def write() -> None:
        for turn in range(15):
            replies = [writer.begin("send", room=room, body=[turn, number]) for number in range(10)]
            for reply in replies:
                await writer.replied(reply)

    writing = stage.background(write())
    seen = {id(member): 3 for member in members}
    for _ in range(6):
        for member in members:
            joined = await member.join(room, after={"epoch": epoch, "seq": seen[id(member)]})
            assert joined["recovered"] is True
            seen[id(member)] = joined["seq"]
    await writing
    for member in members:
        await member.hears(room, 153)


@scenario(*UNLIMITED)
async def history_pages_meet_without_a_seam(stage: Stage) -> None:
    """Pages of every size, backwards and forwards, put together are the room."""
    room, _, writer = await filled(stage, 157)
    for limit in (1 + stage.random.randrange(20), 50, 300):
        seqs: list[int] = []
        while True:
            page = await writer.request("history", room=room, limit=limit, **({"before": seqs[0]} if seqs else {}))
            seqs = [message["seq"] for message in page["messages"]] + seqs
            if not page["more"]:
                break
        assert seqs == list(range(1, 158)), f"backwards by {limit}"
        seqs = []
        while True:
            page = await writer.request("history", room=room, limit=limit, after=seqs[-1] if seqs else 0)
            seqs += [message["seq"] for message in page["messages"]]
            if not page["more"]:
                break
        assert seqs == list(range(1, 158)), f"forwards by {limit}"


@scenario(*UNLIMITED)
async def a_reset_in_the_middle_of_a_recovery_harms_nobody(stage: Stage) -> None:
    """Clients that ask for a large recovery and vanish before its reply leave the others as they were."""
    room, epoch, writer = await filled(stage, 100, "x" * 4000)
    for _ in range(20):
        session = await stage.session(stage.name("gone"))
        session.begin("join", room=room, after={"epoch": epoch, "seq": 0})
        await ENDS[stage.random.choice(["reset", "cut"])](session)
    assert (await rejoined(stage, room, epoch, 0))["recovered"] is True
    await writer.send(room, "still here")
