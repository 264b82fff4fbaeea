# SPDX-License-Identifier: Apache-2.0
"""Measures the time from a fault of a machine to the next stored message, and to the next message at real clients.

  python Tests/Cluster/measure_hosts.py [--repeats 20] [--clients 24] [--faults process sequence ...]

Each of three machines is a network namespace with one NATS server and one node. The clients are the drivers of the
JavaScript client and the Swift client, half of each, on a fourth machine. There, a program writes to all nodes, and
measures the first acknowledgement of a message that it sent after the fault. The faults:

- `process`: the leader's process ends with SIGKILL, and starts again after the measurement
- `idle-host`: the cable of the leader's machine is pulled out. Its NATS server leads no stream
- `log-host`: the same, and its NATS server leads the log
- `snapshots-host`: the same, and its NATS server leads the snapshots, and not the log
- `sequence`: three faults of the kind `process`, each as soon as the cluster is whole again

`elected` is the time until NATS has a new leader of each stream that the machine led. The machine may also lead
JetStream itself. The program fails if a median is above its goal. It needs no rights, a release build of the relay, and
the debug build of the Swift driver (`swift build`). `NATS_SERVER` names another NATS server than the system's.
"""

import argparse
import asyncio
import http.client
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "Conformance"), str(HERE.parent / "EndToEnd/shared")]

from clients import CLIENTS  # noqa: E402
from driver import Driver  # noqa: E402
from failover import binary  # noqa: E402
from harness.hosts import connect_hosts, enter_network  # noqa: E402
from harness.nats import NATSServer, program  # noqa: E402
from harness.nats_client import NATSClient  # noqa: E402
from harness.node import Node  # noqa: E402
from harness.topology import LOG, SNAPSHOTS, Cluster  # noqa: E402
from relay import DEADLINE  # noqa: E402
from waiting import eventually  # noqa: E402

ROOM = "tea"
PATH = f"/v1/rooms/{ROOM}/messages"
OPTIONS = ["--open-to-network", "--limits-send-rate", 0, "--limits-request-rate", 0]
#: Seconds between two messages, and between two attempts at a node that refuses them.
PAUSE, RETRY = 0.1, 0.05
#: The most times at which the NATS servers may fail to recover by themselves.
MAX_RESTARTS = 20
#: Seconds until the writer sends another request to a node that does not answer.
PATIENCE = 0.5


@dataclass(frozen=True)
class Goal:
    """The maximum medians in seconds: to the first stored message, and to the next message at a client."""

    write: float
    message: float
    #: True if the seconds count from the elections of NATS.
    is_after_election: bool = False


GOALS: dict[str, Goal | None] = {
    "process": Goal(1.5, 3),
    "idle-host": Goal(3, 5),
    "log-host": Goal(1.5, 3, is_after_election=True),
    # A takeover needs no snapshots, so it does not wait for the election of their leader.
    "snapshots-host": Goal(3, 5),
    "sequence": None,
}


@dataclass
class Times:
    """Seconds from one fault."""

    write: float
    messages: dict[str, float]
    elected: float = 0.0


@dataclass
class Row:
    fault: str
    all: list[Times] = field(default_factory=list)

    def writes(self, *, is_relative: bool) -> list[float]:
        return [times.write - is_relative * times.elected for times in self.all]

    def messages(self, *, is_relative: bool, client: str = "") -> list[float]:
        return [
            seconds - is_relative * times.elected
            for times in self.all
            for name, seconds in times.messages.items()
            if name.startswith(client)
        ]

    def medians(self, goal: Goal) -> tuple[float, float]:
        """The medians to which the goal applies."""
        write, message = (median(made(is_relative=goal.is_after_election)) for made in (self.writes, self.messages))
        return write, message

    @property
    def misses(self) -> list[str]:
        goal = GOALS[self.fault]
        if goal is None:
            return []
        write, message = self.medians(goal)
        found = []
        if write > goal.write:
            found.append(f"{self.fault}: the first write after {write:.2f} s, the goal is {goal.write} s")
        if message > goal.message:
            found.append(f"{self.fault}: the next message after {message:.2f} s, the goal is {goal.message} s")
        return found

    def __str__(self) -> str:
        cells = [self.fault, str(len(self.all)), span([times.elected for times in self.all])]
        cells += [span(self.writes(is_relative=False))]
        cells += [span(self.messages(is_relative=False, client=client)) for client in CLIENTS]
        goal = GOALS[self.fault]
        if goal is None:
            cells.append("none")
        elif goal.is_after_election:
            write, message = self.medians(goal)
            cells.append(f"elected + {goal.write}, + {goal.message}: + {write:.2f}, + {message:.2f}")
        else:
            cells.append(f"{goal.write}, {goal.message}")
        return f"| {' | '.join(cells)} |"


def span(values: list[float]) -> str:
    return f"{median(values):.2f} ({max(values):.2f})" if values else "none"


# The clients and the writer


class Crowd:
    """Real clients in one room. Keeps, for each client, when each message was sent and when it arrived."""

    def __init__(self, urls: list[str], count: int):
        self.arrivals: dict[str, list[tuple[float, float]]] = {}
        self._urls = urls
        self._count = count
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Crowd":
        self._thread.start()
        eventually(lambda: self._failure or len(self.arrivals) == self._count, 2 * DEADLINE)
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(DEADLINE)
        if error[0] is None and self._failure is not None:
            raise self._failure

    def next(self, fault: float) -> dict[str, float] | None:
        """The seconds from the fault to the first message at each client that was sent after it, or None."""
        assert self._failure is None, self._failure
        found: dict[str, float] = {}
        for name, arrivals in self.arrivals.items():
            after = [arrived - fault for sent, arrived in list(arrivals) if sent > fault]
            if not after:
                return None
            found[name] = min(after)
        return found

    def forget(self) -> None:
        for arrivals in self.arrivals.values():
            arrivals.clear()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._play())
        except BaseException as failure:
            self._failure = failure

    async def _play(self) -> None:
        async with AsyncExitStack() as stack:
            readers = [asyncio.create_task(self._end.wait())]
            for number in range(self._count):
                client = list(CLIENTS)[number % len(CLIENTS)]
                name = f"{client}-{number}"
                # Clients begin with different addresses, and with different delays.
                urls = self._urls[number % 3 :] + self._urls[: number % 3]
                delays = [random.random() for _ in range(97)]
                options = {"hello": {"user": name}, "clock": "real", "random": delays}
                driver = await stack.enter_async_context(Driver(CLIENTS[client], " ".join(urls), options))
                driver.command("connect")
                driver.command("join", room=ROOM)
                await asyncio.wait_for(driver.events["joined"].get(), DEADLINE)
                self.arrivals[name] = []
                readers += [driver.reading, asyncio.create_task(self._read(driver, self.arrivals[name]))]
            done, others = await asyncio.wait(readers, return_when=asyncio.FIRST_COMPLETED)
            for other in others:
                other.cancel()
            for reader in done:
                reader.result()
            assert self._end.is_set(), "a client has ended"

    async def _read(self, driver: Driver, arrivals: list[tuple[float, float]]) -> None:
        while True:
            message = await driver.events["message"].get()
            arrivals.append((message["body"], time.monotonic()))
            driver.log.clear()


class Writer:
    """Writes to all nodes at once. One of them stores the messages."""

    def __init__(self, nodes: list[Node]):
        #: When each message was sent, and when a node acknowledged it.
        self.acknowledged: list[tuple[float, float]] = []
        self._is_done = False
        self._threads = [threading.Thread(target=self._write, args=(node,), daemon=True) for node in nodes]

    def __enter__(self) -> "Writer":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_done = True
        for thread in self._threads:
            thread.join(DEADLINE)

    def next(self, fault: float) -> float | None:
        """The seconds from the fault to the first acknowledgement of a message that was sent after it, or None."""
        return min((at - fault for sent, at in list(self.acknowledged) if sent > fault), default=None)

    def _write(self, node: Node) -> None:
        while not self._is_done:
            sent = time.monotonic()
            try:
                answer = node.request("POST", PATH, {"from": "writer", "body": sent}, timeout=PATIENCE)
                is_stored = answer.status == 201
            except (OSError, http.client.HTTPException):
                is_stored = False
            if is_stored:
                self.acknowledged.append((sent, time.monotonic()))
            time.sleep(PAUSE if is_stored else RETRY)


# The faults


class Trial:
    """A cluster with its clients, on which faults are played."""

    def __init__(self, cluster: Cluster, crowd: Crowd, writer: Writer):
        self.cluster = cluster
        self.crowd = crowd
        self.writer = writer
        #: How often the NATS servers did not recover by themselves.
        self.restarts = 0

    def play(self, fault: str) -> list[Times]:
        if fault == "process":
            return [self._kill()]
        if fault == "sequence":
            return [self._kill(), self._kill(is_settled=False), self._kill(is_settled=False)]
        return [self._pull({"idle-host": [], "log-host": [LOG], "snapshots-host": [SNAPSHOTS]}[fault])]

    def _kill(self, *, is_settled: bool = True) -> Times:
        leader = self._settle() if is_settled else self._wait_whole()
        times = self._measure(leader.kill)
        leader.start()
        return times

    def _pull(self, led: list[str]) -> Times:
        leader = eventually(lambda: self._place(led), 10 * DEADLINE, 0)
        server = self._server(leader)
        led = [stream for stream in (LOG, SNAPSHOTS) if self.cluster.nats.leader(stream) is server]
        try:
            return self._measure(leader.host.pull, server, led)
        finally:
            leader.host.plug()

    def _settle(self) -> Node:
        """Waits until everything runs and all clients get messages. Returns the leader."""
        leader = self._wait_whole()
        # The clients begin with a steady stream of messages.
        time.sleep(random.uniform(6, 7))
        now = time.monotonic()
        eventually(lambda: self.crowd.next(now), 2 * DEADLINE)
        return leader

    def _wait_whole(self) -> Node:
        """Returns the leader. Restarts NATS servers that do not recover, as an operator does."""
        while True:
            try:
                leader = self.cluster.wait_whole(2 * DEADLINE)
                self.cluster.nats.wait_current(SNAPSHOTS, 2 * DEADLINE)
                # Version 2.9.10 can call a server current that stores nothing any more.
                eventually(lambda: not self._behind(), DEADLINE / 2)
                return leader
            except AssertionError as failure:
                assert self.restarts < MAX_RESTARTS, failure
            self.restarts += 1
            for server in self._behind() or self.cluster.nats.all:
                server.kill()
                server.start()

    def _behind(self) -> list[NATSServer]:
        """The NATS servers that lack records of the log."""
        servers = self.cluster.nats.all
        ends = {server: ((server.stream(LOG) or {}).get("state") or {}).get("last_seq", 0) for server in servers}
        return [server for server in servers if ends[server] < max(ends.values()) - 100]

    def _place(self, led: list[str]) -> Node | None:
        """Lets NATS elect other leaders until the server beside the leader leads these streams. Returns the leader."""
        leader = self._settle()
        server, nats = self._server(leader), self.cluster.nats
        others = [one for one in nats.all if one is not server]
        # The leader of the log may lead both streams.
        checked = [LOG] if LOG in led else [LOG, SNAPSHOTS]
        wrong = [stream for stream in checked if (nats.leader(stream) is server) != (stream in led)]
        for stream in wrong:
            self._ask(others[0], f"$JS.API.STREAM.LEADER.STEPDOWN.{stream}")
        return None if wrong else leader

    def _ask(self, server: NATSServer, subject: str) -> None:
        client = NATSClient(server.port, address=server.host.address)
        try:
            client.request(subject)
        finally:
            client.close()

    def _server(self, node: Node) -> NATSServer:
        return next(server for server in self.cluster.nats.all if server.host is node.host)

    def _measure(self, strike: Callable[[], None], dead: NATSServer | None = None, led: Sequence[str] = ()) -> Times:
        self.crowd.forget()
        self.writer.acknowledged.clear()
        begun = time.monotonic()
        strike()
        # The fault takes some milliseconds, in which messages may still arrive.
        struck = time.monotonic()
        elected = 0.0
        for stream in led:
            eventually(lambda: self.cluster.nats.leader(stream, without=dead), 4 * DEADLINE, 0.02)
            elected = time.monotonic() - begun
        took = struck - begun
        write = took + eventually(lambda: self.writer.next(struck), 4 * DEADLINE)
        messages = eventually(lambda: self.crowd.next(struck), 4 * DEADLINE)
        return Times(write, {name: took + seconds for name, seconds in messages.items()}, elected)


@contextmanager
def trial(folder: Path, clients: int) -> Iterator[Trial]:
    hosts = connect_hosts(3)
    with Cluster(folder, *OPTIONS, hosts=hosts) as cluster:
        assert cluster.leader().request("PUT", f"/v1/rooms/{ROOM}/members/writer").status == 201
        urls = [f"ws://{node.host.address}:{node.port}/v1/connect" for node in cluster.nodes]
        with Crowd(urls, clients) as crowd, Writer(cluster.nodes) as writer:
            yield Trial(cluster, crowd, writer)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="measure_hosts.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=20, metavar="N", help="faults of each kind (default: 20)")
    parser.add_argument("--clients", type=int, default=24, metavar="N", help="clients (default: 24)")
    parser.add_argument("--faults", nargs="+", default=list(GOALS), choices=list(GOALS), help="default: all")
    parser.add_argument("--binary", metavar="PATH", help="the relay (default: STILLWIRE_BINARY, or the newest build)")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the data and the logs of all processes here")
    arguments = parser.parse_args()
    os.environ["STILLWIRE_BINARY"] = binary(arguments.binary)
    enter_network()
    version = subprocess.run([program(), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{version}, {arguments.clients} clients, {os.environ['STILLWIRE_BINARY']}", flush=True)
    folder = Path(arguments.keep or tempfile.mkdtemp(prefix="measure-hosts-")).resolve()
    rows = [Row(fault) for fault in arguments.faults]
    with trial(folder, arguments.clients) as made:
        for row in rows:
            for number in range(arguments.repeats):
                for times in made.play(row.fault):
                    row.all.append(times)
                    print(
                        f"{row.fault} {number + 1}: elected {times.elected:.2f} s, write {times.write:.2f} s, "
                        f"messages {span(list(times.messages.values()))} s",
                        flush=True,
                    )
    print(f"\nNATS servers that did not recover were restarted {made.restarts} times.")
    print("\nSeconds from the fault: median (worst)\n")
    print(f"| fault | faults | elected | first write | {' | '.join(f'message, {one}' for one in CLIENTS)} | goals |")
    print("|---" * (5 + len(CLIENTS)) + "|")
    for row in rows:
        print(row)
    misses = [miss for row in rows for miss in row.misses]
    print("\n" + ("\n".join(misses) or "all goals are met"))
    if arguments.keep is None:
        shutil.rmtree(folder)
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
