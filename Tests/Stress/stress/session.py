# SPDX-License-Identifier: Apache-2.0
"""A connection of a user. A witness gets every frame."""

import asyncio
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from frames import Frame
from relay import DEADLINE
from rfc6455 import Connection

from stress.pages import page_faults
from stress.spelling import body_spelled, request_spelled
from stress.witness import Reception, Witness


class Refused(Exception):
    """The relay replied with `error`."""

    def __init__(self, error: Frame):
        super().__init__(error.text)
        self.error = error
        self.code = error["code"]


@dataclass
class _Open:
    type: str
    fields: dict[str, Any]
    reply: asyncio.Future[Frame]


class Session:
    """A session of a user. Frames that no caller has taken yet wait in `inbox`, in the order of their arrival."""

    def __init__(self, witness: Witness, connection: Connection, user: str):
        self.witness = witness
        self.connection = connection
        self.user = user
        self.name = user
        self.inbox: list[Frame] = []
        self.bye: Frame | None = None
        self.welcome: Frame | None = None
        #: The newest reception of each room that the session has joined.
        self.rooms: dict[str, Reception] = {}
        #: All receptions, including those that have ended.
        self.receptions: list[Reception] = []
        #: The pages of each room that came before the reply to its `join`.
        self._pages: dict[str, list[Frame]] = {}
        self._ids = itertools.count(1)
        self._open: dict[int | str, _Open] = {}
        self._unnumbered: list[tuple[str, str]] = []
        self._waiting: list[asyncio.Future[None]] = []
        #: Called with each frame, before anything else gets it.
        self.on_frame: Callable[[Frame], None] = lambda _: None
        #: True for a half-open connection, from which nothing is read any more.
        self.is_abandoned = False
        connection.on_text = self._came
        connection.ended.add_done_callback(lambda _: self._ended())

    @property
    def is_open(self) -> bool:
        return not self.connection.ended.done()

    # Requests

    def post(self, type: str, **fields: Any) -> None:
        """Sends a request without an `id`, so that it gets no `ok`."""
        if type == "send":
            self._unnumbered.append((fields["room"], body_spelled(fields["body"])))
        self.connection.send_text(request_spelled(type, fields))

    def begin(self, type: str, **fields: Any) -> asyncio.Future[Frame]:
        """Sends a request. The future gets its reply."""
        id = fields.setdefault("id", next(self._ids))
        opened = _Open(type, fields, asyncio.get_running_loop().create_future())
        # The caller may not await the reply if a scenario ends early.
        opened.reply.add_done_callback(lambda reply: reply.cancelled() or reply.exception())
        assert id not in self._open, f"{id!r} is open already"
        self._open[id] = opened
        self.connection.send_text(request_spelled(type, fields))
        if not self.is_open:
            self._ended()
        elif self.is_abandoned:
            self._give_up("was abandoned")
        return opened.reply

    def begin_raw(self, fields: dict[str, Any]) -> asyncio.Future[Frame]:
        """Sends an object with an id, which may be an invalid request. The future gets its reply."""
        opened = _Open("raw", {}, asyncio.get_running_loop().create_future())
        opened.reply.add_done_callback(lambda reply: reply.cancelled() or reply.exception())
        id = f"raw {next(self._ids)}"
        self._open[id] = opened
        self.connection.send_text(json.dumps({"id": id} | fields))
        return opened.reply

    async def request(self, type: str, **fields: Any) -> Frame:
        """Sends a request and returns its reply. Raises `Refused` for an error."""
        return await self.replied(self.begin(type, **fields))

    async def replied(self, reply: asyncio.Future[Frame], within: float = DEADLINE) -> Frame:
        try:
            async with asyncio.timeout(within):
                return await asyncio.shield(reply)
        except TimeoutError:
            raise AssertionError(f"{self.name} got no reply; the inbox ends {self.inbox[-5:]}") from None

    async def refusal(self, type: str, **fields: Any) -> Frame:
        """Sends a request that must fail, and returns the error."""
        try:
            reply = await self.request(type, **fields)
        except Refused as refused:
            return refused.error
        raise AssertionError(f"{self.name}: {type} {str(fields)[:200]} was accepted: {reply.text[:200]}")

    async def join(self, room: str, **fields: Any) -> Frame:
        return await self.request("join", room=room, **fields)

    async def send(self, room: str, body: Any, **fields: Any) -> Frame:
        return await self.request("send", room=room, body=body, **fields)

    # Events

    async def expect(self, type: str, within: float = DEADLINE, **fields: Any) -> Frame:
        """Returns the first frame of this type with these fields. Earlier frames stay in the inbox."""
        return await self.first(lambda frame: frame.fits(type, fields), f"{type} {fields}", within)

    async def first(self, fits: Callable[[Frame], bool], wanted: str, within: float = DEADLINE) -> Frame:
        """Returns the first frame that fits, and removes it from the inbox."""
        seen = 0

        def found() -> Frame | None:
            nonlocal seen
            for position in range(seen, len(self.inbox)):
                if fits(self.inbox[position]):
                    return self.inbox.pop(position)
            seen = len(self.inbox)
            return None

        return await self.until(found, wanted, within)

    async def until(self, condition: Callable[[], Any], wanted: str, within: float = DEADLINE) -> Any:
        """Waits for the first true value of a condition that depends on this session's frames, and returns it."""
        try:
            async with asyncio.timeout(within):
                while not (value := condition()):
                    if not self.is_open:
                        raise AssertionError(
                            f"{self.name} waits for {wanted} and has ended with {self.connection.code}"
                        )
                    news = asyncio.get_running_loop().create_future()
                    self._waiting.append(news)
                    await news
                return value
        except TimeoutError:
            raise AssertionError(f"{self.name} waits for {wanted}; the inbox ends {self.inbox[-5:]}") from None

    async def hears(self, room: str, seq: int) -> None:
        """Waits until every message of a room up to this seq was received or is the session's own."""
        reception = self.rooms[room]
        await self.until(lambda: not reception.lacks(seq), f"{room} {seq} (has {reception.position})")

    async def received(self, type: str, **fields: Any) -> list[Frame]:
        """Returns the matching frames in the inbox that arrived before the reply to a ping sent now."""
        await self.request("ping")
        return [frame for frame in self.inbox if frame.fits(type, fields)]

    async def forget_events(self) -> None:
        """Clears the inbox, after the reply to a ping sent now."""
        await self.request("ping")
        self.inbox.clear()

    # The end

    async def close(self, code: int = 1000) -> None:
        """Sends a close frame and waits for the end."""
        self.connection.close(code)
        await self.connection.end()

    async def cut(self) -> None:
        """Ends the connection without a close frame."""
        self.connection.cut()
        await self.connection.end()

    async def reset(self) -> None:
        """Ends the connection with RST."""
        self.connection.reset()
        await self.connection.end()

    def abandon(self) -> None:
        """Leaves the connection half open: it is neither read nor answered nor closed any more."""
        self.is_abandoned = True
        self.connection.may_be_cut = True
        self.connection.pause()
        self._give_up("was abandoned")

    async def closed(self, within: float = DEADLINE) -> int | None:
        """Waits until the server has ended the connection. Returns the close code."""
        try:
            return await self.connection.end(within)
        except TimeoutError:
            raise AssertionError(f"{self.name} was not closed; the inbox ends {self.inbox[-5:]}") from None

    # Received frames

    def _came(self, text: str) -> None:
        frame = Frame(text)
        self.on_frame(frame)
        if self.bye is not None:
            self._fault(f"a frame after bye: {text[:200]}")
        id, type = frame.get("id"), frame.get("type")
        if id is not None:
            opened = self._open.pop(id, None)
            if opened is None:
                self._fault(f"a reply without a request: {text[:200]}")
            elif type == "error":
                if opened.type == "join":
                    self._pages.pop(opened.fields["room"], None)
                opened.reply.set_exception(Refused(frame))
            else:
                self._answered(opened, frame)
                opened.reply.set_result(frame)
        else:
            if type == "message":
                self._message_came(frame)
            elif type == "page":
                self._pages.setdefault(frame["room"], []).append(frame)
            elif type == "bye":
                self.bye = frame
            elif type == "room" and frame.get("removed"):
                self.rooms.pop(frame["room"], None)
            elif type == "welcome":
                self.welcome = frame
            self.inbox.append(frame)
        waiting, self._waiting = self._waiting, []
        for news in waiting:
            if not news.done():
                news.set_result(None)

    def _answered(self, opened: _Open, frame: Frame) -> None:
        fields, room = opened.fields, opened.fields.get("room")
        match opened.type:
            case "hello":
                self.welcome = frame
            case "join":
                self._joined(fields, frame)
            case "leave":
                self.rooms.pop(room, None)
            case "send":
                self._sent(fields, frame)
            case "history" if room in self.rooms:
                self.witness.page(self.name, room, frame["epoch"], frame.messages)

    def _joined(self, fields: dict[str, Any], frame: Frame) -> None:
        room, epoch, seq = frame["room"], frame["epoch"], frame["seq"]
        if "more" not in frame:
            self._begin_reception(room, epoch, seq)
        pages = [*self._pages.pop(room, []), frame]
        for fault in page_faults(pages, fields.get("maxBytes")):
            self._fault(f"{room}: {fault}")
        messages = [message for page in pages for message in page.messages]
        self.witness.page(self.name, room, epoch, messages, seq)
        if "after" in fields and "recovered" not in frame:
            self._fault(f"{room}: the reply to `after` has no `recovered`")
        if frame.get("recovered"):
            wanted = list(range(fields["after"]["seq"] + 1, seq + 1))
            if [message["seq"] for message in messages] != wanted:
                self._fault(f"{room}: recovered {len(messages)} messages of {len(wanted)}")

    def _begin_reception(self, room: str, epoch: str, seq: int) -> None:
        reception = Reception(room, epoch, seq)
        if (before := self.rooms.get(room)) is not None:
            before.end = seq
            reception.own = before.own
        self.rooms[room] = reception
        self.receptions.append(reception)

    def _sent(self, fields: dict[str, Any], frame: Frame) -> None:
        room, seq, key = fields["room"], frame["seq"], fields.get("key")
        if key is not None:
            self.witness.keyed(self.name, room, self.user, key, seq)
        if frame.get("duplicate"):
            return
        # The reply may come after the event that the user was removed.
        reception = next((one for one in reversed(self.receptions) if one.room == room), None)
        if reception is None:
            return
        if seq in reception.received:
            self._fault(f"{room} {seq} is the session's own, but arrived as an event")
        reception.own.add(seq)
        self.witness.promised(self.name, room, reception.epoch, seq, self.user, body_spelled(fields["body"]))

    def _message_came(self, frame: Frame) -> None:
        room, seq = frame["room"], frame["seq"]
        reception = self.rooms.get(room)
        if reception is None:
            # An event may come before the reply to the later one of two joins. That reply has the message, too.
            if not any(one.type == "join" and one.fields["room"] == room for one in self._open.values()):
                self._fault(f"{room} {seq} arrived, but the session is not in the room")
            return
        if seq <= reception.position:
            self._fault(f"{room} {seq} arrived after {reception.position}")
            return
        if seq in reception.own:
            self._fault(f"{room} {seq} is the session's own, but arrived as an event")
        reception.missing |= set(range(reception.position + 1, seq))
        reception.position = seq
        reception.received.append(seq)
        self.witness.shown(self.name, room, reception.epoch, seq, frame["from"], frame.body_text)

    def _ended(self) -> None:
        connection = self.connection
        if connection.is_closed_by_server and connection.code != 1002:
            if self.bye is None or self.bye["code"] != connection.code:
                self._fault(f"closed with {connection.code} after {self.bye and self.bye.text}")
        elif not connection.is_closed_by_server and not connection.has_said_close and not connection.may_be_cut:
            if connection.status == 101:
                self._fault(f"cut without a close; bye is {self.bye and self.bye.text}")
        self._give_up(f"has ended with {connection.code}")

    def _give_up(self, why: str) -> None:
        opened, self._open = self._open, {}
        for one in opened.values():
            if one.type == "send":
                self.witness.unanswered[one.fields["room"], self.user, body_spelled(one.fields["body"])] += 1
            if not one.reply.done():
                one.reply.set_exception(ConnectionError(f"{self.name} {why}"))
        waiting, self._waiting = self._waiting, []
        for news in waiting:
            if not news.done():
                news.set_result(None)

    def claims_unnumbered(self, room: str, body: str) -> bool:
        """Returns true if the session sent this body without an id. Each send counts once."""
        if (room, body) in self._unnumbered:
            self._unnumbered.remove((room, body))
            return True
        return False

    def _fault(self, what: str) -> None:
        self.witness.fault(self.name, what)
