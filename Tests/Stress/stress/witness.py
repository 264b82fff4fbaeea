# SPDX-License-Identifier: Apache-2.0
"""What all sessions of a scenario were promised and shown, held against each other."""

from collections import Counter
from dataclasses import dataclass, field

from frames import Frame


@dataclass
class Hearing:
    """What one session heard of one room, from one of its joins on."""

    room: str
    epoch: str
    #: Every seq up to here was heard, was the session's own, or is in `missing`.
    position: int
    own: set[int] = field(default_factory=set)
    missing: set[int] = field(default_factory=set)
    #: The seqs heard live, in their order.
    heard: list[int] = field(default_factory=list)
    #: The newest seq that the session must have heard of; None while it goes on.
    end: int | None = None

    def lacks(self, newest: int) -> set[int]:
        """The seqs up to the newest that were neither heard nor sent by the session."""
        upto = newest if self.end is None else self.end
        rest = set(range(self.position + 1, upto + 1))
        return (self.missing | rest) - self.own


@dataclass(frozen=True)
class Message:
    sender: str
    body: str


class Witness:
    """Gathers faults instead of raising, so that a scenario tells all that went wrong."""

    def __init__(self):
        self.faults: list[str] = []
        #: One truth for each (room, epoch, seq), whoever tells it and however often.
        self._messages: dict[tuple[str, str, int], Message] = {}
        #: What was acknowledged as new: room, epoch and seq.
        self.acknowledged: dict[tuple[str, str, int], Message] = {}
        #: Spellings that were sent and not answered: they may or may not be there.
        self.unanswered: Counter[tuple[str, str, str]] = Counter()
        #: Rooms in which messages change or are deleted, and spellings with them.
        self.altered: set[str] = set()
        self._keys: dict[tuple[str, str, str], int] = {}

    def fault(self, who: str, what: str) -> None:
        if len(self.faults) < 20:
            self.faults.append(f"{who}: {what}")

    def promised(self, who: str, room: str, epoch: str, seq: int, sender: str, body: str) -> None:
        """A send was answered by `ok`, not as a duplicate."""
        place = (room, epoch, seq)
        if place in self.acknowledged:
            self.fault(who, f"{place} was promised twice")
        self.acknowledged[place] = Message(sender, body)
        self.shown(who, room, epoch, seq, sender, body)

    def keyed(self, who: str, room: str, sender: str, key: str, seq: int) -> None:
        """A send with an idempotency key was answered by this seq."""
        first = self._keys.setdefault((room, sender, key), seq)
        if first != seq:
            self.fault(who, f"key {key!r} of {sender} in {room} was {first} and is {seq}")

    def shown(self, who: str, room: str, epoch: str, seq: int, sender: str, body: str | None) -> None:
        """A message was shown, live or in a reply."""
        if room in self.altered or body is None:
            return
        message = Message(sender, body)
        known = self._messages.setdefault((room, epoch, seq), message)
        if known != message:
            self.fault(who, f"{room} {seq} was {known} and is shown as {message}")

    def page(self, who: str, room: str, epoch: str, messages: list[Frame], newest: int | None = None) -> None:
        """A run of messages in a reply: oldest first, without a gap, up to the newest when that is named."""
        seqs = [message["seq"] for message in messages]
        if seqs and seqs != list(range(seqs[0], seqs[0] + len(seqs))):
            self.fault(who, f"{room}: a page has the seqs {seqs}")
        if seqs and newest is not None and seqs[-1] != newest:
            self.fault(who, f"{room}: a page ends at {seqs[-1]} of {newest}")
        for message in messages:
            if not message.get("deleted"):
                self.shown(who, room, epoch, message["seq"], message["from"], message.body_text)

    def stored(self, room: str, epoch: str, messages: list[Frame]) -> None:
        """The whole history of a room: every promise is there once, and nothing that nobody sent."""
        self.page("history", room, epoch, messages)
        if room in self.altered:
            return
        first = messages[0]["seq"] if messages else 0
        kept = {message["seq"]: Message(message["from"], message.body_text) for message in messages}
        promised = {
            seq: message for (name, of, seq), message in self.acknowledged.items() if (name, of) == (room, epoch)
        }
        for seq, message in promised.items():
            if (seq >= first or not messages) and kept.get(seq) != message:
                self.fault("history", f"{room} {seq} was promised as {message} and is {kept.get(seq)}")
        loose = Counter(self.unanswered)
        for seq, message in kept.items():
            if seq in promised:
                continue
            claim = (room, message.sender, message.body)
            if not loose[claim]:
                self.fault("history", f"{room} {seq} is {message}, which nobody sent, or sent once")
            loose[claim] -= 1

    def message(self, room: str, epoch: str, seq: int) -> Message | None:
        return self._messages.get((room, epoch, seq))
