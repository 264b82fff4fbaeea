# SPDX-License-Identifier: Apache-2.0
"""Compares all acknowledgements and messages that the sessions of a scenario have received."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from frames import Frame


@dataclass
class Reception:
    """The messages that one session received in one room, from one of its joins on."""

    room: str
    epoch: str
    #: Every seq up to this one was received, is the session's own, or is in `missing`.
    position: int
    own: set[int] = field(default_factory=set)
    missing: set[int] = field(default_factory=set)
    #: The seqs that were received live, in their order.
    received: list[int] = field(default_factory=list)
    #: The newest seq that the session must have received. None while the reception continues.
    end: int | None = None

    def lacks(self, newest: int) -> set[int]:
        """Returns the seqs up to the newest that the session neither received nor sent."""
        upto = newest if self.end is None else self.end
        rest = set(range(self.position + 1, upto + 1))
        return (self.missing | rest) - self.own


@dataclass(frozen=True)
class Message:
    sender: str
    body: str


class Witness:
    """Collects faults instead of raising, so that a scenario reports all of them."""

    def __init__(self):
        self.faults: list[str] = []
        #: Called with each fault.
        self.on_fault: Callable[[str], None] = lambda _: None
        #: The only valid content of each (room, epoch, seq). All replies and events must agree with it.
        self._messages: dict[tuple[str, str, int], Message] = {}
        #: The sends that were acknowledged as new, by room, epoch and seq.
        self.acknowledged: dict[tuple[str, str, int], Message] = {}
        #: The bodies that were sent without a reply, so that they may be stored or not.
        self.unanswered: Counter[tuple[str, str, str]] = Counter()
        #: The rooms in which messages are edited or deleted, so that their bodies are not compared.
        self.altered: set[str] = set()
        self._keys: dict[tuple[str, str, str], int] = {}

    def fault(self, who: str, what: str) -> None:
        if len(self.faults) < 20:
            self.faults.append(f"{who}: {what}")
        self.on_fault(what)

    def promised(self, who: str, room: str, epoch: str, seq: int, sender: str, body: str) -> None:
        """Records a send that was acknowledged with `ok`, and not as a duplicate."""
        place = (room, epoch, seq)
        if place in self.acknowledged:
            self.fault(who, f"{place} was acknowledged twice")
        self.acknowledged[place] = Message(sender, body)
        self.shown(who, room, epoch, seq, sender, body)

    def keyed(self, who: str, room: str, sender: str, key: str, seq: int) -> None:
        """Records the seq in the reply to a send with an idempotency key."""
        first = self._keys.setdefault((room, sender, key), seq)
        if first != seq:
            self.fault(who, f"key {key!r} of {sender} in {room} had {first} and has {seq}")

    def shown(self, who: str, room: str, epoch: str, seq: int, sender: str, body: str | None) -> None:
        """Records a message that a session received, live or in a reply."""
        if room in self.altered or body is None:
            return
        message = Message(sender, body)
        known = self._messages.setdefault((room, epoch, seq), message)
        if known != message:
            self.fault(who, f"{room} {seq} was {known}, but is shown as {message}")

    def page(self, who: str, room: str, epoch: str, messages: list[Frame], newest: int | None = None) -> None:
        """Checks the messages of a reply: in ascending order, without a gap, and up to `newest` if it is given."""
        seqs = [message["seq"] for message in messages]
        if seqs and seqs != list(range(seqs[0], seqs[0] + len(seqs))):
            self.fault(who, f"{room}: a page has the seqs {seqs}")
        if seqs and newest is not None and seqs[-1] != newest:
            self.fault(who, f"{room}: a page ends at {seqs[-1]} of {newest}")
        for message in messages:
            if not message.get("deleted"):
                self.shown(who, room, epoch, message["seq"], message["from"], message.body_text)

    def stored(self, room: str, epoch: str, messages: list[Frame]) -> None:
        """Checks the whole history of a room: each acknowledged message once, and no message that no user sent."""
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
                self.fault("history", f"{room} {seq} was acknowledged as {message}, but is {kept.get(seq)}")
        loose = Counter(self.unanswered)
        for seq, message in kept.items():
            if seq in promised:
                continue
            claim = (room, message.sender, message.body)
            if not loose[claim]:
                self.fault("history", f"{room} {seq} is {message}, which no user sent, or which was sent only once")
            loose[claim] -= 1

    def message(self, room: str, epoch: str, seq: int) -> Message | None:
        return self._messages.get((room, epoch, seq))
