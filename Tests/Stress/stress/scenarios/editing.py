# SPDX-License-Identifier: Apache-2.0
"""Messages that are edited and deleted while others read them."""

import asyncio
from typing import Any

from stress.people import ENDS
from stress.registry import UNLIMITED, scenario
from stress.session import Session
from stress.stage import Stage

#: The number of messages in one room.
COUNT = 40


async def written(stage: Stage, authors: list[Session], room: str) -> dict[int, Session]:
    """Fills a room with messages of the authors in turn. Returns the author of each seq."""
    stage.witness.altered.add(room)
    for author in authors:
        await author.join(room)
    return {
        (await author.send(room, f"first {number}"))["seq"]: author
        for number in range(COUNT)
        for author in [authors[number % len(authors)]]
    }


async def alter(stage: Stage, author: Session, room: str, seqs: list[int], rounds: int) -> dict[int, Any]:
    """Edits messages many times, several at once, and deletes some at the end. Returns the last body of each."""
    left: dict[int, Any] = {}
    for number in range(rounds):
        chosen = stage.random.sample(seqs, min(4, len(seqs)))
        replies = []
        for seq in chosen:
            left[seq] = f"{author.user} {number} {seq}"
            replies.append(author.begin("edit", room=room, seq=seq, body=left[seq]))
        for reply in replies:
            await author.replied(reply)
    for seq in seqs[::5]:
        await author.request("delete", room=room, seq=seq)
        left[seq] = None
    return left


def view(messages: list[Any]) -> dict[int, Any]:
    """Returns a reader's bodies by seq. None stands for a deleted message."""
    return {message["seq"]: None if message.get("deleted") else message["body"] for message in messages}


async def follow(reader: Session, room: str, seen: dict[int, Any]) -> None:
    """Applies the new events to a reader's bodies."""
    for event in list(reader.inbox):
        if event["type"] in ("edited", "deleted") and event["room"] == room:
            seen[event["seq"]] = event.get("body") if event["type"] == "edited" else None


async def stored(stage: Stage, room: str) -> dict[int, Any]:
    return view((await stage.history(room))[1])


@scenario(*UNLIMITED)
async def edits_and_deletions_reach_all_readers(stage: Stage) -> None:
    """Several authors change their own messages at the same time. The events lead each reader to the stored state."""
    room = stage.name("edits")
    authors = await stage.sessions_of(3, "author")
    owners = await written(stage, authors, room)
    reader = await stage.session(stage.name("reader"))
    seen = view((await reader.join(room, history=300))["messages"])
    results = await stage.all(
        alter(stage, author, room, [seq for seq, owner in owners.items() if owner is author], 12) for author in authors
    )
    wanted = {seq: body for left in results for seq, body in left.items()}
    kept = await stored(stage, room)
    assert {seq: kept[seq] for seq in wanted} == wanted
    await reader.request("ping")
    await follow(reader, room, seen)
    assert seen == kept


@scenario(*UNLIMITED)
async def a_reader_who_reconnects_during_edits_gets_the_stored_state(stage: Stage) -> None:
    """A reader who reconnects while messages change gets the stored state."""
    room = stage.name("edits")
    author, user = await stage.session(stage.name("author")), stage.name("reader")
    owners = await written(stage, [author], room)
    altering = stage.background(alter(stage, author, room, list(owners), 30))
    reader, seen = None, {}
    for end in ["cut", "reset", "goodbye"] * 2:
        reader = await stage.session(user)
        seen = view((await reader.join(room, history=300))["messages"])
        assert len(seen) == COUNT
        await asyncio.sleep(stage.random.random() / 20)
        await ENDS[end](reader)
    reader = await stage.session(user)
    seen = view((await reader.join(room, history=300))["messages"])
    await altering
    await reader.request("ping")
    await follow(reader, room, seen)
    assert seen == await stored(stage, room)


@scenario(alone=True)
async def an_acknowledged_edit_survives_a_kill(stage: Stage) -> None:
    """After a kill during edits, each message has its last acknowledged body or a later one."""
    await stage.start(*UNLIMITED)
    room = stage.name("edits")
    author = await stage.session(stage.name("author"))
    owners = await written(stage, [author], room)
    kept = {seq: {f"first {number}"} for number, seq in enumerate(owners)}
    done = 0

    async def edit() -> None:
        nonlocal done
        for number in range(100_000):
            seq = stage.random.choice(list(owners))
            before, kept[seq] = kept[seq], kept[seq] | {f"edit {number}"}
            try:
                await author.request("edit", room=room, seq=seq, body=f"edit {number}")
            except ConnectionError:
                return
            kept[seq] -= before
            done += 1

    editing = stage.background(edit())
    await author.until(lambda: done > 200, "edits")
    stage.kill()
    await editing
    await stage.restart()
    after = await stored(stage, room)
    assert all(after[seq] in bodies for seq, bodies in kept.items()), (after, kept)
