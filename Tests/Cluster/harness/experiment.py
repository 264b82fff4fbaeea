# SPDX-License-Identifier: Apache-2.0
"""A cluster under load with faults. At its end, everything that clients and phones have seen is compared."""

import random
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from relay import DEADLINE
from waiting import eventually

from harness.faults import FAULTS, PARTITIONS
from harness.gateway import APP, Gateway
from harness.ledger import Findings, Job, check, check_pushes
from harness.load import Load, Plan, http_writers, phone_room
from harness.tables import rows
from harness.topology import Cluster

#: Rooms keep all messages of a run, and a reply may contain many.
ROOMS = [
    {"match": "load-*", "history": {"count": 100_000_000}, "push": False},
    {"match": "push-*", "history": {"count": 100_000_000}},
]
#: Each push job by the id of its message's event, as a gateway of Matrix sees it.
JOBS = """
SELECT rooms.name, jobs.seq, '$' || rooms.name || '/' || jobs.seq, jobs.state, '$' || rooms.name || '/' || heads.seq
FROM jobs JOIN rooms ON rooms.id = jobs.room LEFT JOIN jobs AS heads ON heads.id = jobs.merged_into
WHERE jobs.kind = 'push'
"""
#: Rows while a message is not decided for all members, or a push job is not finished.
UNFINISHED = """
SELECT 1 FROM rooms WHERE name LIKE 'push-%' AND cursor < seq UNION ALL SELECT 1 FROM jobs WHERE finished_at IS NULL
"""
#: The name of an experiment with all faults in a random order.
MIXTURE = "mixture"
#: The maximum time in seconds from a fault to the first acknowledged message.
RECOVERY = 3 * DEADLINE


@dataclass
class Outcome:
    """The effect of one fault on the writers."""

    fault: str
    #: The time from the fault to the first acknowledgement of a request that was sent after it.
    recovery: float
    #: The longest time without any acknowledgement, from the fault to its repair.
    silence: float


@dataclass
class Report:
    """The result of an experiment."""

    name: str
    seconds: float = 0.0
    outcomes: list[Outcome] = field(default_factory=list)
    messages: int = 0
    repeats: int = 0
    pushes: int = 0
    #: The number of pushes that arrived more than once, with the same id.
    repeated_pushes: int = 0
    findings: Findings = field(default_factory=Findings)
    push_findings: Findings = field(default_factory=Findings)
    #: The rows in which the nodes' files differ.
    differences: list[str] = field(default_factory=list)
    #: The failure that ended the experiment, if any.
    failure: str | None = None

    @property
    def is_good(self) -> bool:
        return (
            self.failure is None
            and self.findings.is_clean
            and self.push_findings.is_clean
            and not self.differences
        )

    def check_times(self, most_median: float, most: float) -> None:
        """Makes a failure of recoveries that took longer. A fault of NATS servers has no bound."""
        times = [outcome.recovery for outcome in self.outcomes if not outcome.fault.startswith("nats-")]
        if times and (median(times) > most_median or max(times) > most):
            slow = f"first acknowledgement: median {median(times):.2f} s, worst {max(times):.2f} s"
            self.failure = self.failure or slow

    def __str__(self) -> str:
        parts = [f"{self.name}: {len(self.outcomes)} faults, {self.messages} messages, {self.pushes} pushes"]
        parts += [f"messages: {self.findings}", f"pushes: {self.push_findings}"]
        parts += [f"tables: {line}" for line in self.differences]
        if self.failure is not None:
            parts.append(f"failed: {self.failure}")
        return "\n".join(parts)


class Experiment:
    """Runs faults against a new cluster, one after the other."""

    def __init__(
        self, folder: Path, name: str, plan: Plan, *options: object, servers: int = 3, nodes: int = 3, seed: int = 1
    ):
        self.report = Report(name)
        self.chance = random.Random(seed)
        self._gateway = Gateway()
        self.cluster = Cluster(
            folder,
            "--limits-send-rate",
            0,
            "--limits-request-rate",
            0,
            "--limits-history",
            5_000,
            "--presence-grace",
            1,
            *options,
            servers=servers,
            nodes=nodes,
            is_partitionable=name in PARTITIONS | {MIXTURE},
            configuration={"rooms": ROOMS, "apps": [self._gateway.configuration]},
        )
        self._plan = plan
        self.load: Load | None = None

    def __enter__(self) -> "Experiment":
        try:
            self.cluster.start()
            self._register_members()
            self.load = Load([node.port for node in self.cluster.nodes], self._plan).start()
        except BaseException:
            self.__exit__()
            raise
        self._begun = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        if self.load is not None:
            self.load.close()
        self.cluster.close()
        self._gateway.close()

    def play(self, name: str) -> Outcome:
        """Plays one fault under load, and waits until the cluster is whole again."""
        ledger, position = self.load.ledger, len(self.load.ledger.times)
        with FAULTS[name](self.cluster, self.chance) as moment:
            first = self._recovery(moment, position)
        self.cluster.wait_whole()
        silence = ledger.silence(moment, time.monotonic(), position)
        outcome = Outcome(name, first - moment, silence)
        self.report.outcomes.append(outcome)
        return outcome

    def rest(self, least: float = 0.5, most: float = 1.5) -> None:
        """Lets the load run for a random time between two faults."""
        time.sleep(self.chance.uniform(least, most))
        self.load.raise_failure()

    def finish(self) -> Report:
        """Ends the load, and compares all results. Kills all nodes."""
        ledger = self.load.finish()
        report = self.report
        report.seconds = time.monotonic() - self._begun
        report.messages, report.repeats = len(ledger.acknowledged), ledger.repeats
        leader = self.cluster.wait_whole()
        history = {room: _history(leader, room) for room in self.load.rooms}
        report.findings = check(ledger, history)
        if self._plan.push_rate:
            self._check_pushes(leader)
        self._check_tables()
        return report

    def _recovery(self, moment: float, position: int) -> float:
        try:
            return self.load.until(lambda: self.load.ledger.first_after(moment, position), RECOVERY)
        except AssertionError as failure:
            raise AssertionError(f"{failure}; the roles are {self.cluster.roles}\n{self.cluster.logs()}") from None

    def _register_members(self) -> None:
        """Makes the members who write over HTTP, and those with phones, who never have a session."""
        leader = self.cluster.leader()
        for user, room in http_writers(self._plan):
            made = leader.request("PUT", f"/v1/rooms/{room}/members/{user}")
            assert made.status == 201, made
        for number in range(self._plan.phones if self._plan.push_rate else 0):
            user = f"phone{number}"
            made = leader.request("PUT", f"/v1/rooms/{phone_room(number)}/members/{user}")
            assert made.status == 201, made
            device = {"platform": "http", "token": user, "app": APP}
            made = leader.request("PUT", f"/v1/users/{user}/devices/phone", device)
            assert made.status == 200, made

    def _check_pushes(self, leader) -> None:
        # After a takeover, the relay waits for the members who may reconnect. A push that a killed leader was sending
        # waits for the end of its lease.
        try:
            eventually(lambda: not rows(leader.database, UNFINISHED), 6 * DEADLINE, 0.2)
        except AssertionError:
            # The comparison describes the unfinished jobs.
            pass
        jobs: dict[tuple[str, int], list[Job]] = {}
        for room, seq, id, state, head in rows(leader.database, JOBS):
            jobs.setdefault((room, seq), []).append(Job(id, state, head))
        ledger = self.load.ledger
        messages = {
            (ledger.sent[key], seq): key
            for key, seq in ledger.acknowledged.items()
            if ledger.sent[key].startswith("push-")
        }
        pushes = self._gateway.pushes()
        self.report.pushes = len({id for ids in pushes.values() for id in ids})
        self.report.repeated_pushes = sum(len(ids) - len(set(ids)) for ids in pushes.values())
        self.report.push_findings = check_pushes(messages, jobs, pushes)

    def _check_tables(self) -> None:
        """Compares the files after a stop. The leader may write between the last check and its end: then again."""
        for attempt in range(3):
            try:
                self.cluster.wait_equal()
            except AssertionError as failure:
                self.report.differences = str(failure).splitlines()
                return
            found = list(self.cluster.stopped_contents().values())
            if all(other.hashes == found[0].hashes for other in found):
                return
            if attempt == 2:
                self.report.differences = self.cluster.differences()
                return
            for node in self.cluster.nodes:
                node.start()
            self.cluster.wait_whole()


def _history(leader, room: str) -> dict[int, str]:
    """Returns the key of each message of a room, by seq."""
    messages: dict[int, str] = {}
    while True:
        after = max(messages, default=0)
        answer = leader.request("GET", f"/v1/rooms/{room}/messages?after={after}&limit=5000")
        if answer.status == 404:
            return messages
        assert answer.status == 200, answer
        page = answer.json
        for message in page["messages"]:
            assert message["seq"] not in messages, f"{room} has {message['seq']} twice"
            messages[message["seq"]] = str(message.get("body", "")).partition(" ")[0]
        if not page["more"]:
            return messages


def table(reports: list[Report]) -> str:
    """Returns the results as a table in Markdown: one row for each fault of each experiment."""
    lines = [
        "| fault | count | first ack, median | worst | longest silence | messages | lost | doubled | gaps | foreign "
        "| problems | pushes | repeated | lost | doubled | tables |",
        "|---" * 16 + "|",
    ]
    for report in reports:
        found, pushed = report.findings, report.push_findings
        names = sorted({outcome.fault for outcome in report.outcomes}) or [report.name]
        for number, name in enumerate(names):
            mine = [outcome for outcome in report.outcomes if outcome.fault == name]
            times = sorted(outcome.recovery for outcome in mine) or [float("nan")]
            silence = max((outcome.silence for outcome in mine), default=float("nan"))
            label = name if len(names) == 1 else f"{report.name}: {name}"
            cells: list[object] = [label, len(mine), f"{median(times):.2f} s", f"{times[-1]:.2f} s", f"{silence:.2f} s"]
            if number == 0:
                cells += [report.messages, len(found.lost), len(found.doubled), len(found.gaps), len(found.foreign)]
                cells += [len(found.problems), report.pushes, report.repeated_pushes, len(pushed.lost)]
                cells += [len(pushed.doubled) + len(pushed.foreign) + len(pushed.problems)]
                cells += ["failed" if report.failure else "differ" if report.differences else "equal"]
            else:
                cells += [""] * 11
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)
