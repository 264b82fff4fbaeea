# SPDX-License-Identifier: Apache-2.0
"""Measures a cluster on this machine, beside a single relay where they compare. Use a release build. Examples:

  python Tests/Cluster/measure.py cost --repeats 3
  python Tests/Cluster/measure.py presence --sessions 5000
  python Tests/Cluster/measure.py join --megabytes 1024
  python Tests/Cluster/measure.py away
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "EndToEnd/shared")]

from failover import binary  # noqa: E402
from harness.experiment import ROOMS  # noqa: E402
from harness.load import Load, Plan, http_writers  # noqa: E402
from harness.node import Node  # noqa: E402
from harness.route import FollowingConnection, Route  # noqa: E402
from harness.topology import LOG, Cluster  # noqa: E402
from relay import run_tool  # noqa: E402
from rfc6455 import Wire  # noqa: E402
from waiting import eventually  # noqa: E402

OPTIONS = ["--limits-send-rate", 0, "--limits-request-rate", 0]
#: The log keeps 1,000 records before a snapshot. A node that was away must miss more.
RECORDS = 1_500


def milliseconds(seconds: float) -> str:
    return f"{1_000 * seconds:.1f} ms"


# The cost of a cluster


def cost(arguments: argparse.Namespace, folder: Path) -> None:
    """Stored messages a second and their latency: a single relay, one NATS server, and three."""
    kinds = {"single relay": (0, 1), "R1": (1, 3), "R3": (3, 3)}
    rates: dict[str, list[float]] = {kind: [] for kind in kinds}
    tails: dict[str, list[float]] = {kind: [] for kind in kinds}
    for round in range(arguments.repeats):
        for kind, (servers, nodes) in kinds.items():
            with Cluster(folder / f"{round}-{kind}", *OPTIONS, servers=servers, nodes=nodes) as cluster:
                report = durable(cluster.leader(), arguments)
            rates[kind].append(report["messages"]["acknowledged"])
            tails[kind].append(report["latency"]["p99"])
            print(f"round {round}, {kind}: {rates[kind][-1]:,.0f}/s, p99 {milliseconds(tails[kind][-1])}", flush=True)
            shutil.rmtree(folder / f"{round}-{kind}")
    print("| | stored messages a second | ratio | p99 | ratio |\n|---|---|---|---|---|")
    base, tail = median(rates["single relay"]), median(tails["single relay"])
    for kind in kinds:
        rate, p99 = median(rates[kind]), median(tails[kind])
        print(f"| {kind} | {rate:,.0f} | {rate / base:.2f} | {milliseconds(p99)} | {p99 / tail:.2f} |")


def durable(node: Node, arguments: argparse.Namespace) -> dict:
    size = ["--publishers", arguments.publishers, "--window", arguments.window, "--seconds", arguments.seconds]
    made = run_tool("bench", "durable", "--port", node.port, "--pid", node.pid, "--json", *size)
    assert made.returncode == 0, made.stderr + made.stdout
    return json.loads(made.stdout)


# Presence through a failover


class Member:
    """A user with one session in one room. Counts the users of the room who are shown as offline."""

    def __init__(self, number: int, rooms: int, ports: list[int]):
        self.user = f"u{number}"
        self.room = f"room-{number % rooms}"
        self.route = Route(ports, random.Random(number))
        self.connection: FollowingConnection | None = None
        self.joined: asyncio.Future[None] | None = None
        #: The first time at which this session saw each other user offline, also if the user came back.
        self.offline: dict[str, float] = {}
        #: The newest time at which this session saw each other user online.
        self.online: dict[str, float] = {}

    async def enter(self) -> None:
        self.joined = asyncio.get_running_loop().create_future()
        self.connection = await self.route.connect(self.received)
        for request in ({"type": "hello", "user": self.user}, {"type": "join", "id": "join", "room": self.room}):
            self.connection.send_text(json.dumps(request))
        await self.joined

    def received(self, text: str) -> None:
        frame = json.loads(text)
        if frame.get("id") == "join":
            assert frame["type"] != "error", text
            shown = frame["members"]
            if not self.joined.done():
                self.joined.set_result(None)
        elif frame["type"] == "presence":
            shown = [frame]
        else:
            return
        for member in shown:
            if member["online"]:
                self.online[member["user"]] = time.monotonic()
            else:
                self.offline.setdefault(member["user"], time.monotonic())


def presence(arguments: argparse.Namespace, folder: Path) -> None:
    """Kills the leader of many sessions. Most users return, and some do not."""
    grace, reconnect = 10, 5
    options = [*OPTIONS, "--presence-grace", grace, "--presence-reconnect", reconnect]
    with Cluster(folder, *options) as cluster:
        asyncio.run(watch_presence(cluster, arguments.sessions, grace, reconnect))


async def watch_presence(cluster: Cluster, sessions: int, grace: float, reconnect: float) -> None:
    rooms = max(1, sessions // 25)
    members = [Member(number, rooms, [node.port for node in cluster.nodes]) for number in range(sessions)]
    await enter_all(members)
    print(f"{sessions} sessions in {rooms} rooms", flush=True)
    # A leader stores the online states within a second.
    await asyncio.sleep(3)
    leavers = members[: max(1, sessions // 20)]
    leaving = {member.user for member in leavers}
    returning = [member for member in members if member.user not in leaving]
    old = cluster.leader()
    killed = time.monotonic()
    old.kill()
    for member in members:
        member.offline.clear()
        member.online.clear()
        if not member.connection.ended.done():
            member.connection.cut()
    await returning[0].enter()
    served = time.monotonic() - killed
    await enter_all(returning[1:])
    returned = time.monotonic() - killed
    bound = grace + reconnect + sessions / 1_000
    print(f"served after {served:.1f} s; the last of {len(returning)} users returned after {returned:.1f} s", flush=True)
    watched = {member.room for member in leavers}
    watching = [member for member in returning if member.room in watched]
    while time.monotonic() - killed < served + bound + 10:
        await asyncio.sleep(0.2)
        seen = {user for member in watching for user in member.offline}
        if leaving <= seen:
            break
    # A user whom somebody has seen offline counts, also if the user is online again.
    wrong = {user for member in returning for user in member.offline} - leaving
    last = {user: max(m.offline.get(user, 0) for m in watching) - killed for user in leaving}
    ghosts = [user for user, at in last.items() if at <= 0]
    print(f"users who returned and were shown as offline at any time: {len(wrong)}")
    print(f"users who did not return: {len(leaving)}; still shown as online: {len(ghosts)}")
    print(
        f"the others went offline {min(last.values()):.1f} to {max(last.values()):.1f} s after the kill; "
        f"the bound from the start of service is {bound:.1f} s"
    )
    for member in returning:
        member.connection.cut()
    assert returned < grace + reconnect, "the users returned too late to prove anything"
    assert not wrong and not ghosts
    # The hub sends presence in intervals of up to a second.
    assert max(last.values()) <= served + bound + 1


async def enter_all(members: list[Member], at_once: int = 200) -> None:
    gate = asyncio.Semaphore(at_once)

    async def enter(member: Member) -> None:
        async with gate:
            await member.enter()

    await asyncio.gather(*(enter(member) for member in members))


# New nodes, and nodes that were away


@contextmanager
def stalls(node: Node) -> Iterator[list[float]]:
    """Measures the round trip of a ping each 5 ms, in a thread."""
    times: list[float] = []
    failures: list[str] = []
    ends = threading.Event()
    wire = Wire(node.port)
    assert wire.upgrade().status == 101
    wire.send_text(json.dumps({"type": "hello", "user": "pinger"}))

    def ping() -> str | None:
        """Returns the failure of a ping, or None."""
        begun = time.monotonic()
        wire.send_text('{"type":"ping","id":"p"}')
        while True:
            got = wire.next_frame()
            if got is None or got[0] == 8:
                return f"the leader ended the session: {got}"
            reply = json.loads(got[2]) if got[0] == 1 else {}
            if reply.get("id") == "p":
                times.append(time.monotonic() - begun)
                return None if reply["type"] == "pong" else f"the leader refused a ping: {reply}"

    def measure() -> None:
        while not ends.is_set():
            try:
                failure = ping()
            except Exception as error:
                failure = repr(error)
            if failure is not None:
                failures.append(failure)
                return
            ends.wait(0.005)

    thread = threading.Thread(target=measure, daemon=True)
    thread.start()
    try:
        yield times
    finally:
        ends.set()
        thread.join(10)
        wire.socket.close()
    assert times and not failures, failures


def describe(times: list[float]) -> str:
    ordered = sorted(times)
    over = sum(one > 0.05 for one in times)
    return (
        f"{len(times)} pings, p50 {milliseconds(median(times))}, p99 {milliseconds(ordered[len(times) * 99 // 100])}, "
        f"longest {milliseconds(ordered[-1])}, {over} over 50 ms"
    )


@contextmanager
def load(cluster: Cluster, rate: float) -> Iterator[Load]:
    plan = Plan(rate=rate, push_rate=0)
    for user, room in http_writers(plan):
        assert cluster.leader().request("PUT", f"/v1/rooms/{room}/members/{user}").status == 201
    running = Load([node.port for node in cluster.nodes], plan).start()
    try:
        yield running
        running.finish()
        assert not running.ledger.problems, running.ledger.problems[:5]
    finally:
        running.close()


def fill(node: Node, megabytes: int) -> None:
    """Stores messages of 32 KiB over HTTP until the database has this size."""
    assert node.request("PUT", "/v1/rooms/load-fill/members/ann").status == 201
    body = {"from": "ann", "body": "x" * 32_000}

    def post(until: Callable[[], bool]) -> None:
        while not until():
            answer = node.request("POST", "/v1/rooms/load-fill/messages", body)
            assert answer.status == 201, answer

    threads = [threading.Thread(target=post, args=(lambda: is_filled(node, megabytes),)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def is_filled(node: Node, megabytes: int) -> bool:
    return node.database.stat().st_size >= megabytes << 20


def join(arguments: argparse.Namespace, folder: Path) -> None:
    """A new node joins a cluster with much data, under load."""
    configuration = {"rooms": ROOMS}
    with Cluster(folder, *OPTIONS, nodes=2, configuration=configuration) as cluster:
        leader = cluster.leader()
        begun = time.monotonic()
        fill(leader, arguments.megabytes)
        print(f"{leader.database.stat().st_size >> 20} MiB stored in {time.monotonic() - begun:.0f} s", flush=True)
        with load(cluster, arguments.rate) as running:
            with stalls(leader) as before:
                time.sleep(arguments.seconds)
            print(f"before: {describe(before)}", flush=True)
            with stalls(leader) as during:
                new = cluster.add("new")
                begun = time.monotonic()
                new.start()
                follows_since = follow(cluster, new, 600)
            print(f"during: {describe(during)}", flush=True)
            print(f"the new node follows after {follows_since - begun:.1f} s, with {running.count} messages of the load")
            assert max(during) <= 0.05, "the leader stalled for more than 50 ms"
            assert cluster.leader() is leader
        cluster.wait_equal(120)
        print("the tables are equal")


def follow(cluster: Cluster, node: Node, within: float) -> float:
    """Waits until a node has the records that the log has now. Returns the time."""
    newest = sequence(cluster.leader())

    def follows() -> bool:
        answer = node.attempt("GET", "/metrics")
        return answer is not None and answer.status == 200 and sequence(node) >= newest

    eventually(follows, within, 0.05)
    return time.monotonic()


def away(arguments: argparse.Namespace, folder: Path) -> None:
    """A node comes back after the log has dropped the records that it misses."""
    with Cluster(folder, *OPTIONS, configuration={"rooms": ROOMS}) as cluster:
        victim = cluster.standbys()[0]
        position = eventually(lambda: sequence(victim))
        victim.kill()
        print(f"{victim.name} ends at record {position:,.0f}", flush=True)
        with load(cluster, arguments.rate) as running:
            leader = cluster.leader()
            eventually(lambda: sequence(leader) > position + RECORDS, 120, 0.5)
            assert leader.request("POST", "/v1/cluster/snapshot", {}).status in (200, 202, 204)
            first = eventually(lambda: dropped(cluster, position), 120, 0.5)
            print(f"the log begins at record {first:,}, after {running.count:,} messages", flush=True)
            begun = time.monotonic()
            victim.start()
            print(f"{victim.name} follows {follow(cluster, victim, 120) - begun:.1f} s after its start")
        assert victim.metrics()["stillwire_cluster_snapshots_loaded_total"] >= 1
        cluster.wait_equal(120)
        print("the tables are equal")


def sequence(node: Node) -> float:
    """The newest record of the log that a node has."""
    return node.metrics()["stillwire_cluster_sequence"]


def dropped(cluster: Cluster, position: float) -> int | None:
    """Returns the first record of the log if it is after the position."""
    leader = cluster.nats.leader(LOG)
    first = ((leader.stream(LOG) if leader else None) or {}).get("state", {}).get("first_seq", 0)
    return first if first > position + 1 else None


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="measure.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("measurement", choices=("cost", "presence", "join", "away"))
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="rounds of cost (default: 3)")
    parser.add_argument("--publishers", type=int, default=100, metavar="N", help="of cost (default: 100)")
    parser.add_argument("--window", type=int, default=8, metavar="N", help="messages in flight each, of cost (default: 8)")
    parser.add_argument("--sessions", type=int, default=5_000, metavar="N", help="of presence (default: 5000)")
    parser.add_argument("--megabytes", type=int, default=1_024, metavar="N", help="data of join (default: 1024)")
    parser.add_argument("--rate", type=float, default=500, metavar="N", help="load of join and away (default: 500/s)")
    parser.add_argument("--seconds", type=float, default=5, metavar="N", help="length of a measurement (default: 5)")
    parser.add_argument("--binary", metavar="PATH", help="the relay (default: STILLWIRE_BINARY, or the newest build)")
    arguments = parser.parse_args()
    os.environ["STILLWIRE_BINARY"] = binary(arguments.binary)
    folder = Path(tempfile.mkdtemp(prefix="measure-"))
    try:
        {"cost": cost, "presence": presence, "join": join, "away": away}[arguments.measurement](arguments, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
