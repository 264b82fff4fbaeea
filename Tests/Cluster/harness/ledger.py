# SPDX-License-Identifier: Apache-2.0
"""The ledger of a run: sent and acknowledged messages, the readers' views, and the comparison with the history.

The load writes the ledger, and `check` is pure.
"""

import time
from dataclasses import dataclass, field

#: The maximum number of examples in each list of a report.
EXAMPLES = 5


@dataclass
class View:
    """The messages that one reader has received in a room."""

    reader: str
    room: str
    #: The key in the body of each message, by seq.
    seen: dict[int, str] = field(default_factory=dict)
    last: int = 0


@dataclass
class Ledger:
    """Each message has a key, which is its idempotency key and the first word of its body."""

    #: The room of each key that was sent at least once.
    sent: dict[str, str] = field(default_factory=dict)
    #: The acknowledged seq of each key.
    acknowledged: dict[str, int] = field(default_factory=dict)
    #: For each acknowledgement its time, and the time at which the request was last sent before it.
    times: list[tuple[float, float]] = field(default_factory=list)
    views: list[View] = field(default_factory=list)
    #: Promises that the cluster broke during the run.
    problems: list[str] = field(default_factory=list)
    #: The number of rooms that began a new epoch, as seen by readers.
    epochs: int = 0
    #: The number of requests that were sent again after their acknowledgement, and got the same seq.
    repeats: int = 0

    def acknowledge(self, key: str, seq: int, sent: float) -> None:
        earlier = self.acknowledged.setdefault(key, seq)
        if earlier != seq:
            self.problems.append(f"{key} was acknowledged as {earlier} and again as {seq}")
        self.times.append((time.monotonic(), sent))

    def first_after(self, moment: float, position: int) -> float | None:
        """Returns the time of the first acknowledgement of a request that was sent after this moment.

        `position` is the length of `times` at the moment, so that earlier entries need not be read.
        """
        for at, sent in self.times[position:]:
            if sent > moment:
                return at
        return None

    def silence(self, begin: float, end: float, position: int) -> float:
        """Returns the longest time without an acknowledgement between two moments."""
        last, longest = begin, 0.0
        for at, _ in self.times[position:]:
            if begin <= at <= end:
                longest, last = max(longest, at - last), at
        return max(longest, end - last)


@dataclass
class Findings:
    """Broken promises. Each list is empty after a good run."""

    #: Acknowledged messages that are not in the history at their seq.
    lost: list[str] = field(default_factory=list)
    #: Messages that the history has twice.
    doubled: list[str] = field(default_factory=list)
    #: Missing seqs in the history or in a view.
    gaps: list[str] = field(default_factory=list)
    #: Messages that a reader has seen and the history does not have, or that no writer has sent.
    foreign: list[str] = field(default_factory=list)
    #: Everything else.
    problems: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.doubled or self.gaps or self.foreign or self.problems)

    def __str__(self) -> str:
        parts = []
        for name, found in vars(self).items():
            if found:
                parts.append(f"{name}: {len(found)}, for example {'; '.join(found[:EXAMPLES])}")
        return "\n".join(parts) or "clean"


def check(ledger: Ledger, history: dict[str, dict[int, str]]) -> Findings:
    """Compares a ledger with the history: for each room the key of each message, by seq."""
    found = Findings(problems=list(ledger.problems))
    for room, messages in history.items():
        _check_room(room, messages, ledger, found)
    for key, seq in ledger.acknowledged.items():
        room = ledger.sent[key]
        if history.get(room, {}).get(seq) != key:
            found.lost.append(f"{key} was acknowledged as {seq} in {room}")
    for view in ledger.views:
        _check_view(view, history.get(view.room, {}), found)
    return found


def _check_room(room: str, messages: dict[int, str], ledger: Ledger, found: Findings) -> None:
    found.gaps += [f"{room} has no {seq}" for seq in range(1, max(messages, default=0) + 1) if seq not in messages]
    seen: dict[str, int] = {}
    for seq, key in sorted(messages.items()):
        if key in seen:
            found.doubled.append(f"{room} has {key} as {seen[key]} and {seq}")
        seen[key] = seq
        if ledger.sent.get(key) != room:
            found.foreign.append(f"{room} has {key} as {seq}, which nobody has sent")


def _check_view(view: View, messages: dict[int, str], found: Findings) -> None:
    for seq, key in view.seen.items():
        if messages.get(seq) != key:
            found.foreign.append(f"{view.reader} has {key} as {seq}, and the history has {messages.get(seq)}")
    found.gaps += [f"{view.reader} has no {seq}" for seq in messages if seq not in view.seen]


@dataclass(frozen=True)
class Job:
    """A push job in the database."""

    #: The id with which its push arrives.
    id: str
    state: str
    #: The job whose push contains this one's message, if the state is `merged`.
    head: str | None = None


def check_pushes(
    messages: dict[tuple[str, int], str],
    jobs: dict[tuple[str, int], list[Job]],
    pushes: dict[tuple[str, str], list[str]],
) -> Findings:
    """Compares the pushes at the gateway with the acknowledged messages and the push jobs.

    `messages` has the key of each acknowledged message that is pushed to one phone, by room and seq. `jobs` has the
    jobs of each message, and `pushes` the ids by token and text. A push may arrive twice, but only with the same id.
    """
    found = Findings()
    arrived = {id for ids in pushes.values() for id in ids}
    known = {job.id for made in jobs.values() for job in made}
    for message, key in messages.items():
        made = jobs.get(message, [])
        if not made:
            found.lost.append(f"{key} has no push job")
        if len(made) > 1:
            found.doubled.append(f"{key} has the push jobs {[job.id for job in made]}")
        for job in made:
            if job.state not in ("sent", "merged"):
                found.problems.append(f"the push job of {key} is {job.state}")
            elif (job.head or job.id) not in arrived:
                found.lost.append(f"{key} was not pushed, and its job is {job.state}")
    for (token, text), ids in pushes.items():
        if len(set(ids)) > 1:
            found.doubled.append(f"{text} was pushed to {token} as {sorted(set(ids))}")
    found.foreign += [f"the push {id} has no job" for id in arrived - known]
    return found
