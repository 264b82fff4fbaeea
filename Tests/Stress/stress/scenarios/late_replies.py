# SPDX-License-Identifier: Apache-2.0
"""Clients that repeat requests before the first reply has come, on the same connection and on the next one."""

import asyncio
import json
from collections import Counter
from typing import Any

from rfc6455 import Connection

from stress.people import ENDS
from stress.registry import UNLIMITED, scenario
from stress.session import Refused, Session
from stress.stage import Stage

#: The number of messages of one client.
COUNT = 40


class Impatient:
    """A user who repeats each request until a reply comes, over as many sessions as needed."""

    def __init__(self, stage: Stage, room: str):
        self.stage = stage
        self.room = room
        self.user = stage.name("impatient")
        self.session: Session | None = None
        #: The seq of each message, as the first reply named it.
        self.seqs: dict[str, int] = {}
        #: The newest read mark that the relay has confirmed.
        self.read = 0
        #: The newest body of each message that was edited.
        self.edited: dict[int, str] = {}
        self._replies: Counter[str] = Counter()

    async def connect(self) -> None:
        self.session = await self.stage.session(self.user)
        joins = [self.session.begin("join", room=self.room) for _ in range(self.stage.random.randrange(1, 4))]
        for join in joins:
            await self._joined(join)

    async def _joined(self, join: asyncio.Future[Any]) -> None:
        try:
            joined = await self.session.replied(join)
        except Refused as error:
            assert error.code == "superseded", error
            return
        if joined["read"] < self.read:
            self._fault(f"the mark goes back from {self.read} to {joined['read']}")

    async def send(self, body: str, times: int) -> None:
        """Sends a message with a key several times. Returns when all replies or the end of the connection have come."""
        sends = [self.session.begin("send", room=self.room, body=body, key=body) for _ in range(times)]
        for send in sends:
            self._sent(body, await self.session.replied(send))

    def _sent(self, body: str, reply: dict[str, Any]) -> None:
        seq = self.seqs.setdefault(body, reply["seq"])
        if seq != reply["seq"]:
            self._fault(f"{body!r} is {seq}, and a reply names {reply['seq']}")
        self._replies[body] += "duplicate" not in reply
        if self._replies[body] > 1:
            self._fault(f"{body!r} was taken for new twice")
        # A message moves the mark of its sender.
        self.read = max(self.read, seq)

    async def mark(self, times: int) -> None:
        """Reads up to the newest received message, and sends older marks late."""
        newest = max(self.session.rooms[self.room].position, *self.seqs.values(), 1)
        seqs = [newest, *(self.stage.random.randrange(1, newest + 1) for _ in range(times))]
        reads = [self.session.begin("read", room=self.room, seq=seq) for seq in seqs]
        receipts = [self.session.begin("received", room=self.room, seq=seq) for seq in seqs]
        for reply in [*reads, *receipts]:
            await self.session.replied(reply)
        self.read = max(self.read, newest)

    async def edit(self, seq: int, body: str, times: int) -> None:
        """Edits an own message, with the same request several times."""
        self.edited[seq] = body
        edits = [self.session.begin("edit", room=self.room, seq=seq, body=body) for _ in range(times)]
        changes = [(await self.session.replied(edit))["change"] for edit in edits]
        if changes != sorted(changes):
            self._fault(f"the edits of {seq} have the numbers {changes}")

    def _fault(self, what: str) -> None:
        self.stage.witness.fault(self.user, what)


async def live(stage: Stage, client: Impatient, ends: list[str]) -> None:
    """Sends, marks and edits. `ends`: cuts the connection in these ways before the replies, and repeats on the next."""
    await client.connect()
    for number in range(COUNT):
        body = f"{client.user} {number}"
        await until_replied(stage, client, ends, lambda: client.send(body, stage.random.randrange(1, 4)))
        if number % 5 == 4:
            await until_replied(stage, client, ends, lambda: client.mark(2))
        if number % 5 == 2:
            seq = stage.random.choice(list(client.seqs.values()))
            await until_replied(stage, client, ends, lambda: client.edit(seq, f"edit {seq} {number}", 2))


async def until_replied(stage: Stage, client: Impatient, ends: list[str], play: Any) -> None:
    """Plays a part. Ends the connection in some cases, and then repeats the part on the next one."""
    is_cut = bool(ends) and stage.random.random() < 0.3
    if is_cut:
        playing = stage.background(play())
        await asyncio.sleep(stage.random.choice([0, 0, 0.001, 0.005]))
        await ENDS[stage.random.choice(ends)](client.session)
        await asyncio.gather(playing, return_exceptions=True)
        if not isinstance(playing.exception(), ConnectionError | None):
            raise playing.exception()
        await client.connect()
    await play()


async def check_stored(stage: Stage, room: str, clients: list[Impatient]) -> None:
    """Compares the replies with the stored messages: each body once, with its seq and its newest text."""
    _, messages = await stage.history(room)
    stored = {message["seq"]: message for message in messages}
    wanted = {seq for client in clients for seq in client.seqs.values()}
    if extra := sorted(set(stored) - wanted):
        stage.witness.fault(room, f"stored twice: {[stored[seq].text for seq in extra[:5]]}")
    for client in clients:
        for body, seq in client.seqs.items():
            kept = stored.get(seq)
            if kept is None or kept["body"] != client.edited.get(seq, body) or kept["from"] != client.user:
                stage.witness.fault(room, f"{seq} should be {client.edited.get(seq, body)!r}, and is {kept}")


async def check_marks(stage: Stage, room: str, watchers: dict[str, Session], clients: list[Impatient]) -> None:
    """Checks that the marks that each device saw never went back, and that the newest one is stored."""
    for client in clients:
        watcher = watchers[client.user]
        joined = await watcher.join(room)
        if joined["read"] < client.read:
            stage.witness.fault(client.user, f"the mark is {joined['read']}, and {client.read} was confirmed")
        seen = [f["seq"] for f in await watcher.received("receipt", room=room, user=client.user, kind="read")]
        if seen != sorted(set(seen)):
            stage.witness.fault(client.user, f"the marks go back: {seen}")


async def play(stage: Stage, ends: list[str]) -> None:
    room = stage.name("room")
    stage.witness.altered.add(room)
    clients = [Impatient(stage, room) for _ in range(4)]
    watchers = {client.user: await stage.session(client.user, device="watcher") for client in clients}
    for watcher in watchers.values():
        await watcher.join(room)
    await stage.all(live(stage, client, ends) for client in clients)
    await check_stored(stage, room, clients)
    await check_marks(stage, room, watchers, clients)


@scenario(*UNLIMITED)
async def requests_repeated_before_their_replies_count_once(stage: Stage) -> None:
    """Sends, joins, marks and edits that are repeated before the first reply count once, and each gets its reply."""
    await play(stage, [])


@scenario(*UNLIMITED)
async def requests_repeated_on_the_next_connection_count_once(stage: Stage) -> None:
    """Requests whose connection ended before the reply are repeated on the next one, and count once."""
    await play(stage, list(ENDS))


@scenario(*UNLIMITED)
async def http_requests_whose_answers_are_lost_count_once(stage: Stage) -> None:
    """HTTP requests whose connection is cut before the answer are repeated with the same key, and count once."""
    room, user = stage.names("room", "ann")
    stage.witness.altered.add(room)
    ann = await stage.session(user)
    await ann.join(room)

    async def lose(body: str, key: str) -> None:
        text = json.dumps({"body": body}).encode()
        head = f"POST /v1/rooms/{room}/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Stillwire-User: {user}\r\n"
        head += f"Content-Type: application/json\r\nIdempotency-Key: {key}\r\nContent-Length: {len(text)}\r\n\r\n"
        connection = await Connection.dial(stage.relay.port)
        connection.write(head.encode() + text)
        await asyncio.sleep(stage.random.choice([0, 0.001, 0.005]))
        if not connection.ended.done():
            stage.random.choice([connection.cut, connection.reset])()

    async def post(number: int) -> None:
        body = f"{number}"
        for _ in range(stage.random.randrange(1, 3)):
            await lose(body, f"key-{number}")
        answers = await stage.all(stage.post(room, body, user, f"key-{number}") for _ in range(2))
        seqs = {answer.json["seq"] for answer in answers}
        assert len(seqs) == 1, f"{body}: {answers}"
        if sum(answer.status == 201 for answer in answers) > 1:
            stage.witness.fault(user, f"{body} was taken for new twice")

    await stage.all(post(number) for number in range(20))
    _, messages = await stage.history(room)
    bodies = Counter(message["body"] for message in messages)
    assert bodies == Counter(f"{number}" for number in range(20)), bodies
    await ann.hears(room, 20)


@scenario(*UNLIMITED)
async def reports_repeated_after_a_lost_reply_count_once(stage: Stage) -> None:
    """A report that is repeated with its number gets the stored number. It does not replace a newer one."""
    user = stage.name("ann")
    ann = await stage.session(user, device="phone")
    for number in range(1, 60, 2):
        state = number % 4 == 1
        first = [ann.begin("focus", isFocused=state, number=number) for _ in range(2)]
        if stage.random.random() < 0.3:
            await ENDS[stage.random.choice(["cut", "reset", "reload"])](ann)
            ann = await stage.session(user, device="phone")
            again = await ann.request("focus", isFocused=state, number=number)
        else:
            replies = [await ann.replied(reply) for reply in first]
            again = replies[1]
            assert replies[0]["applied"] is True, replies[0].text
        assert again["applied"] or again["number"] == number, again.text
        late = await ann.request("focus", isFocused=not state, number=number - 1)
        assert (late["applied"], late["number"]) == (False, number), late.text
