# SPDX-License-Identifier: Apache-2.0
"""Devices that report Focus and filters while their clocks step, and the rules for the replies."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from stress.session import Session
from stress.stage import Stage

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
#: How far a device's clock is ahead of the relay's clock after a step, in milliseconds.
OFFSETS = [0, -HOUR, 30 * SECOND, 10 * MINUTE, 40 * DAY]
#: A number of a device that is further ahead gives way to one that is not.
SKEW = 60 * SECOND
#: The time for which a true or an active filter counts, from the report's own time.
LIFETIME = 12 * HOUR
#: The difference between two readings of the same clock that no check depends on.
SLACK = 10 * SECOND


def now() -> int:
    return time.time_ns() // 1_000_000


def is_ahead(number: int) -> bool:
    return number > now() + SKEW


@dataclass
class Report:
    """One report of a device, which the device sends once or several times."""

    fields: dict[str, Any]
    number: int
    at: int
    made: float = field(default_factory=time.monotonic)

    @property
    def clock(self) -> int:
        """The present time by the clock that made the report, without its steps since then."""
        return self.at + int((time.monotonic() - self.made) * 1_000)


class Reporter:
    """Makes the reports of one kind, `focus` or `filter`, of one device, and checks the replies."""

    def __init__(self, device: "Device", kind: str):
        self.device = device
        self.kind = kind
        #: The newest report that the device has made. It must be the state at the end.
        self.newest: Report | None = None
        #: The number that the relay has stored. None: it is not known, or there is none.
        self.stored: int | None = None
        #: The times between which the newest report was applied.
        self.applied: tuple[int, int] | None = None
        self._sent: set[int] = set()
        self._last = 0
        self._open = 0
        self._begun = 0

    def forget(self) -> None:
        self._last = 0

    def make(self, **fields: Any) -> Report:
        clock = self.device.clock
        self._last = max(self._last + 1, clock)
        self.newest = Report(fields, self._last, clock)
        self.applied = None
        return self.newest

    async def report(self, report: Report, over_http: bool) -> None:
        """Sends a report. Repeats it above the stored number if it is the newest one, and was not applied."""
        reply = await self._send(report, over_http)
        if reply["applied"] or reply["number"] == report.number or report is not self.newest:
            return
        stored = reply["number"]
        if report.number < stored <= report.clock:
            self._fault(f"{report.number} gets {stored}, as if the device had made a newer report")
            return
        report.number = self._last = max(report.number, stored) + 1
        again = await self._send(report, over_http)
        if report is self.newest and not again["applied"] and again["number"] != report.number:
            self._fault(f"is stuck: {report.number} above {stored} was not applied: {again}")

    async def _send(self, report: Report, over_http: bool) -> dict[str, Any]:
        number, stored = report.number, self.stored
        self._sent.add(number)
        self._begun += 1
        self._open += 1
        begun, since = self._begun, now()
        is_alone = self._open == 1
        reply = await self.device.send(self.kind, over_http, number=number, at=report.at, **report.fields)
        self._open -= 1
        is_alone &= self._begun == begun
        self._check(reply, number, stored if is_alone else None)
        if reply["applied"] or reply["number"] == number:
            self._applied(report, number, since)
        return reply

    def _applied(self, report: Report, number: int, since: int) -> None:
        is_newest = report is self.newest
        self.stored = number if is_newest else None
        if is_newest:
            self.applied = self.applied or (since, now())

    def _check(self, reply: dict[str, Any], number: int, stored: int | None) -> None:
        """Checks a reply. `stored` is the stored number, if no other report can have changed it."""
        if reply["applied"]:
            if stored is not None and number <= stored and not (is_ahead(stored) and not is_ahead(number)):
                self._fault(f"{number} was applied, and {stored} is newer")
            return
        claimed = reply.get("number")
        if claimed is None:
            self._fault(f"{number} was not applied, and the reply has no number: {reply}")
            reply["number"] = number
        elif claimed not in self._sent:
            self._fault(f"the reply to {number} has {claimed}, which the device has not sent")
        elif stored is not None and claimed != stored:
            self._fault(f"the reply to {number} has {claimed}, and the stored number is {stored}")
        elif number > claimed:
            self._fault(f"{number} was not applied, and is above the stored {claimed}")
        elif is_ahead(claimed) and not is_ahead(number):
            self._fault(f"{number} was not applied, and {claimed} is ahead")

    def _fault(self, what: str) -> None:
        self.device.stage.witness.fault(f"{self.device.user} {self.device.name} {self.kind}", what)


class Device:
    """A device with a clock that steps. It has a session and uses HTTP, too."""

    def __init__(self, stage: Stage, user: str, name: str):
        self.stage = stage
        self.user = user
        self.name = name
        self.offset = 0
        self.session: Session | None = None
        self.focus = Reporter(self, "focus")
        self.filter = Reporter(self, "filter")

    @property
    def clock(self) -> int:
        return now() + self.offset

    async def connect(self) -> None:
        self.session = await self.stage.session(self.user, device=self.name)
        await self.session.request("device", device=self.name, platform="simulator", token=f"{self.user}.{self.name}")

    async def step(self) -> None:
        """Sets the clock. In half of the cases the device also forgets its counters."""
        self.offset = self.stage.random.choice(OFFSETS)
        if self.stage.random.random() < 0.5:
            await self.forget()

    async def forget(self) -> None:
        """Forgets the counters of the numbers, as an app that is installed again.

        It takes a moment, so that no number comes twice.
        """
        await asyncio.sleep(0.02)
        self.focus.forget()
        self.filter.forget()

    async def send(self, kind: str, over_http: bool, **fields: Any) -> dict[str, Any]:
        if not over_http:
            return await self.session.request(kind, **fields)
        path = f"/v1/users/{self.user}/{kind}"
        answer = await self.stage.http("PUT", path, {"device": self.name} | fields, user=self.user)
        assert answer.status == 200, answer
        return answer.json

    def begin(self, over_http: bool) -> asyncio.Task[None]:
        """Makes a report of a random kind and state, and sends it."""
        if self.stage.random.random() < 0.5:
            report = self.focus.make(isFocused=self.stage.random.choice([True, False, None]))
            return self.stage.background(self.focus.report(report, over_http))
        allow = [f"label{self.stage.random.randrange(1 << 30)}"]
        report = self.filter.make(**self.stage.random.choice([{"active": True, "allow": allow}, {"active": False}]))
        return self.stage.background(self.filter.report(report, over_http))

    async def in_order(self) -> None:
        """Makes several reports on one session without waiting for replies. The clock may step between them."""
        reports = []
        for _ in range(self.stage.random.randrange(2, 6)):
            reports.append(self.begin(over_http=False))
            # The session sends the report before the clock steps.
            await asyncio.sleep(0)
            if self.stage.random.random() < 0.3:
                await self.step()
        await asyncio.gather(*reports)

    async def at_once(self) -> None:
        """Makes several reports at once over the session and HTTP, which may arrive in any order."""
        count = self.stage.random.randrange(2, 5)
        await asyncio.gather(*(self.begin(over_http=self.stage.random.random() < 0.5) for _ in range(count)))

    def state_faults(self, facts: dict[str, Any], time: int) -> list[str]:
        """Returns the differences between the state that the relay has, and the newest reports."""
        return [fault for fault in (self._focus_fault(facts, time), self._filter_fault(facts)) if fault]

    def _focus_fault(self, facts: dict[str, Any], time: int) -> str | None:
        if self.focus.newest is None:
            return None
        wanted = self.focus.newest.fields["isFocused"] is True
        until = facts.get("focusedUntil")
        # A false counts within 3 s.
        if wanted is not (until is not None and until > time + SLACK):
            return f"{self.name} reported the Focus {self.focus.newest}, and is focused until {until}"
        return _lifetime_fault(self.focus, until) if wanted else None

    def _filter_fault(self, facts: dict[str, Any]) -> str | None:
        if self.filter.newest is None:
            return None
        wanted, found = self.filter.newest.fields, facts.get("filter")
        if (found is not None) is not wanted["active"] or (found and found["allow"] != wanted["allow"]):
            return f"{self.name} reported the filter {self.filter.newest}, and has {found}"
        return _lifetime_fault(self.filter, found["until"]) if found else None


def _lifetime_fault(reporter: Reporter, until: int) -> str | None:
    """Returns the difference between the end of a state, and the time that counts for its report."""
    report, counted = reporter.newest, until - LIFETIME
    first, last = reporter.applied
    is_ahead = report.at > last + SKEW
    if not (first - 1 <= counted <= last + 1 if is_ahead else counted == report.at):
        return f"{reporter.device.name} {reporter.kind}: {counted} counts as the time of {report}, applied {first}"
    return None
