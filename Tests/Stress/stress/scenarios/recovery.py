# SPDX-License-Identifier: Apache-2.0
"""The recovery of messages after a lost connection, at its limits."""

from stress.spelling import Spelled
from stress.people import ENDS
from stress.registry import UNLIMITED, scenario
from stress.session import Session
from stress.stage import Stage


async def filled(stage: Stage, count: int, body: object = "x") -> tuple[str, str, Session]:
    """Makes a room with this many messages. Returns its name, its epoch and the writer."""
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
    """A gap of 300 messages is recovered. A gap of 301 is reported as lost, and can be read in pages."""
    room, epoch, _ = await filled(stage, 302)
    whole = await rejoined(stage, room, epoch, 2)
    assert whole["recovered"] is True and len(whole["messages"]) == 300
    partial = await rejoined(stage, room, epoch, 1)
    assert (partial["recovered"], partial["messages"], partial["epoch"]) == (False, [], epoch)
    some = await rejoined(stage, room, epoch, 1, history=5)
    assert some["recovered"] is False and [message["seq"] for message in some["messages"]] == list(range(298, 303))


@scenario(*UNLIMITED)
async def a_page_of_a_busy_room_has_the_requested_length(stage: Stage) -> None:
    """Messages that arrive while a page is read do not make it longer. It ends at the newest message."""
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
    """A recovery has at most 512 KiB. Below this limit it is complete, and above it nothing is recovered."""
    room, epoch, _ = await filled(stage, 11, "x" * 50000)
    assert (await rejoined(stage, room, epoch, 2))["recovered"] is True
    partial = await rejoined(stage, room, epoch, 0)
    assert (partial["recovered"], partial["messages"]) == (False, []), len(partial["messages"])


@scenario(*UNLIMITED)
async def a_gap_of_many_small_messages_recovers(stage: Stage) -> None:
    """A gap of 300 tiny messages is recovered, although their envelopes are larger than their bodies."""
    room, epoch, _ = await filled(stage, 300, Spelled("1"))
    assert (await rejoined(stage, room, epoch, 0))["recovered"] is True


@scenario(*UNLIMITED)
async def a_wrong_epoch_is_never_recovered(stage: Stage) -> None:
    """`after` with another epoch gets the present epoch and no messages."""
    room, epoch, _ = await filled(stage, 5)
    for seq in (0, 3, 5, 9):
        joined = await rejoined(stage, room, "elsewhere", seq)
        assert (joined["recovered"], joined["messages"], joined["epoch"]) == (False, [], epoch)


@scenario(*UNLIMITED)
async def a_seq_beyond_the_newest_is_never_recovered(stage: Stage) -> None:
    """A client above the newest seq must start again. A client at the newest seq recovers nothing."""
    room, epoch, _ = await filled(stage, 5)
    beyond = await rejoined(stage, room, epoch, 6)
    assert (beyond["recovered"], beyond["messages"], beyond["seq"]) == (False, [], 5)
    exact = await rejoined(stage, room, epoch, 5)
    assert (exact["recovered"], exact["messages"], exact["seq"]) == (True, [], 5)


@scenario(*UNLIMITED)
async def an_empty_room_recovers_nothing(stage: Stage) -> None:
    """A room without messages is at seq 0, and a return to it is recovered."""
    room = stage.name("silence")
    first = await stage.session(stage.name("ann"))
    joined = await first.join(room)
    assert (joined["seq"], joined["messages"], "recovered" in joined) == (0, [], False)
    await first.reset()
    again = await rejoined(stage, room, joined["epoch"], 0)
    assert (again["recovered"], again["messages"], again["seq"]) == (True, [], 0)


@scenario(*UNLIMITED)
async def a_relayed_room_recovers_only_from_its_newest(stage: Stage) -> None:
    """A room without history recovers only clients that have missed nothing."""
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
    """A room without history is deleted with its last member. It begins again at 1 in a new epoch."""
    room, user = f"live.{stage.name('room')}", stage.name("ann")
    ann = await stage.session(user)
    epoch = (await ann.join(room))["epoch"]
    await ann.send(room, "one")
    await ann.request("leave", room=room)
    joined = await ann.join(room, after={"epoch": epoch, "seq": 1})
    assert joined["epoch"] != epoch and (joined["seq"], joined["recovered"]) == (0, False)
    assert (await ann.send(room, "two"))["seq"] == 1


@scenario(alone=True)
async def recovery_begins_at_the_oldest_kept_message(stage: Stage) -> None:
    """A room that keeps 20 messages recovers from the oldest kept message, and not from an earlier one."""
    await stage.start(*UNLIMITED, config={"rooms": [{"match": "*", "history": {"count": 20}}]})
    room, epoch, writer = await filled(stage, 150)

    async def trimmed() -> int:
        first = (await writer.request("history", room=room, limit=1))["first"]
        return first if first > 1 else 0

    first = await stage.eventually(trimmed, "the history is trimmed")
    assert first <= 131, f"of 150 only {first} and newer are kept"
    assert (await rejoined(stage, room, epoch, first - 1))["recovered"] is True
    partial = await rejoined(stage, room, epoch, first - 2)
    assert (partial["recovered"], partial["messages"]) == (False, [])
    page = await writer.request("history", room=room, limit=300)
    assert [message["seq"] for message in page["messages"]] == list(range(first, 151)) and page["more"] is False


@scenario(*UNLIMITED)
async def recovery_while_others_write_has_no_gap(stage: Stage) -> None:
    """Between the messages in the reply to `join` and the live ones, none is lost and none is repeated."""
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
async def history_pages_have_no_gap(stage: Stage) -> None:
    """Pages of every size, backwards and forwards, together contain each message once."""
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
async def a_reset_during_a_recovery_does_not_affect_others(stage: Stage) -> None:
    """Clients that request a large recovery and disconnect before its reply do not affect others."""
    room, epoch, writer = await filled(stage, 100, "x" * 4000)
    for _ in range(20):
        session = await stage.session(stage.name("gone"))
        session.begin("join", room=room, after={"epoch": epoch, "seq": 0})
        await ENDS[stage.random.choice(["reset", "cut"])](session)
    assert (await rejoined(stage, room, epoch, 0))["recovered"] is True
    await writer.send(room, "still here")
