# SPDX-License-Identifier: Apache-2.0
"""Measures whether the processor time of an operation grows with a number: the members of the room, the stored users,
or the size of the database. Example:

  swift build -c release
  .build/venv/bin/python Tests/Benchmarks/growth.py --operation message --axis members

The members are stored, but not connected, and only one member of a room has a phone. Needs a release build, a quiet
machine and 2 GB of the disk. All operations take 10 minutes.
"""

import argparse
import http.client
import json
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from loads import add_binaries, machine, relay  # finds the modules of the tests, too

from apple import AppleSimulator
from relay import Relay, tool
from rfc6455 import CLOSE, Wire, frame
from waiting import eventually

#: The tables mark a larger ratio.
MAX_RATIO = 1.3
ROUNDS = 3
#: Each operation is that of a host, or in the room of one. A host is in no other room. The guests become members.
HOSTS, GUESTS = [f"host{number}" for number in range(6)], ["guest0", "guest1"]
#: The number of operations in flight: one for each host.
WIDTH = len(HOSTS)


@dataclass(frozen=True)
class Scene:
    """The data of a relay. The rooms of the hosts have the same other members."""

    members: int = 3
    users: int = 10
    megabytes: int = 1


AXES = {"members": (1, 10, 100, 1_000), "users": (10, 1_000, 100_000), "megabytes": (1, 1_000)}

Request = tuple[str, str, Any]


class API:
    """HTTP requests over connections that stay open."""

    def __init__(self, port: int):
        self._connections = [http.client.HTTPConnection("127.0.0.1", port) for _ in range(WIDTH)]

    def send(self, requests: Iterable[Request]) -> None:
        """Sends the requests in groups, one over each connection. Fails if the relay refuses one."""
        left = list(requests)
        while left:
            group, left = left[:WIDTH], left[WIDTH:]
            for connection, (method, path, body) in zip(self._connections, group):
                text = None if body is None else json.dumps(body).encode()
                connection.request(method, path, text, {"Content-Type": "application/json"} if text else {})
            for connection, (method, path, _) in zip(self._connections, group):
                response = connection.getresponse()
                answer = response.read()
                assert response.status < 300, f"{method} {path}: {response.status} {answer.decode()}"


class Bench:
    """A relay with the data of a scene, and the operations. Each one is done `count` times."""

    def __init__(self, started: Relay, simulator: AppleSimulator):
        self._relay, self._simulator = started, simulator
        self._api = API(started.port)
        self._wires: list[Wire] = []
        self._added: list[str] = []

    def focus(self, count: int) -> None:
        """Reports of a Focus. A report with `false` would count 3 s later, so every second one has `null`."""
        self._api.send(
            ("PUT", f"/v1/users/{host}/focus", {"device": "phone", "isFocused": None if turn % 2 else True})
            for turn, host in turns(count)
        )

    def message(self, count: int) -> None:
        """Messages of the hosts, which have the only phones: nothing is pushed."""
        self._api.send(
            ("POST", f"/v1/rooms/{host}/messages", {"from": host, "body": turn}) for turn, host in turns(count)
        )

    def cold(self, count: int) -> None:
        """The same in rooms that are not in memory, because no session was there for a minute."""
        self.message(count)

    def push(self, count: int) -> None:
        """Messages to the hosts until the service has accepted their pushes."""
        all_pushes = self._pushes + count
        self._api.send(
            ("POST", f"/v1/rooms/{host}/messages", {"from": GUESTS[0], "body": {"text": f"Kettle {turn}"}})
            for turn, host in turns(count)
        )
        eventually(lambda: self._pushes == all_pushes)

    def connect(self, count: int) -> None:
        """A WebSocket with `hello` and `join` for each host."""
        self._wires = [Wire(self._relay.port) for _ in range(count)]
        for wire, host in zip(self._wires, HOSTS):
            assert wire.upgrade().status == 101
            wire.send_text(json.dumps({"type": "hello", "user": host, "device": "phone"}))
            wire.send_text(json.dumps({"type": "join", "id": 1, "room": host}))
        for wire in self._wires:
            while b'"type":"ok","id":1' not in (got := wire.next_frame())[2]:
                assert b'"error"' not in got[2], got

    def member(self, count: int) -> None:
        """A new member for each room, who was a user before."""
        self._added = [f"/v1/rooms/{host}/members/{GUESTS[turn]}" for turn, host in turns(count)]
        self._api.send(("PUT", path, None) for path in self._added)

    def undo(self) -> None:
        """Closes the sessions, and ends the new memberships."""
        for wire in self._wires:
            wire.send_bytes(frame(CLOSE, struct.pack("!H", 1000)))
            while wire.next_frame():
                pass
            wire.socket.close()
        self._api.send(("DELETE", path, None) for path in self._added)
        self._wires, self._added = [], []

    def restart(self) -> None:
        """Removes the rooms of the hosts from memory. The first messages in another room initialize the process."""
        self._relay.stop()
        self._api = API(self._relay.start().port)
        self._api.send(("POST", "/v1/rooms/warm/messages", {"from": GUESTS[1], "body": number}) for number in range(60))

    @property
    def _pushes(self) -> int:
        return self._simulator.control("GET", "/counts")["requests"]

    def processor(self) -> float:
        """The processor time of all threads in µs, when the relay is idle."""
        before, clock = 0.0, (~self._relay.pid << 3) | 2  # the clock of a process, see clock_getcpuclockid(3)
        while (now := time.clock_gettime_ns(clock) / 1_000) > before + 100:
            before = now
            time.sleep(0.01)
        return now

    def round(self, operation: str) -> float:
        """Returns the processor time of one operation in µs."""
        times, count = OPERATIONS[operation]
        spent = 0.0
        for _ in range(times):
            if operation == "cold":
                self.restart()
            before = self.processor()
            getattr(self, operation)(count)
            spent += self.processor() - before
            self.undo()
        return spent / times / count


#: How often a round does an operation and undoes it, and how many of them it does before.
OPERATIONS = {
    "focus": (1, 1_200),
    "message": (1, 1_200),
    "push": (1, 600),
    "connect": (50, WIDTH),
    "member": (30, 2 * WIDTH),
    "cold": (8, WIDTH),
}


def turns(count: int) -> Iterator[tuple[int, str]]:
    """The hosts in turn, with the number of each turn."""
    return ((number // WIDTH, HOSTS[number % WIDTH]) for number in range(count))


def fill(started: Relay, scene: Scene) -> None:
    """Stores the data of a scene."""
    api = API(started.port)
    others = [f"other{number}" for number in range(max(2, scene.members - 1))]
    api.send(("PUT", f"/v1/users/{user}", {"name": user}) for user in [*GUESTS, *others[:2]])
    api.send(("POST", "/v1/rooms", {"room": host, "owner": host}) for host in HOSTS)
    api.send([("POST", "/v1/rooms", {"room": "warm", "owner": GUESTS[1]})])
    phone = {"platform": "apns", "app": "com.example.bench"}
    api.send(
        ("PUT", f"/v1/users/{host}/devices/phone", {**phone, "token": f"{number:064x}"})
        for number, host in enumerate(HOSTS)
    )
    api.send(
        ("PUT", f"/v1/rooms/{host}/members/{other}", None) for other in others[: scene.members - 1] for host in HOSTS
    )
    more = [f"user{number}" for number in range(scene.users - 10)]
    groups = (more[start : start + 100] for start in range(0, len(more), 100))
    api.send(("POST", "/v1/rooms", {"owner": users[0], "members": users[1:]}) for users in groups)
    while scene.megabytes > 1 and size(started) < scene.megabytes:
        load = "durable --publishers 100 --window 8 --body 4096 --warm-up 0 --seconds 2".split()
        subprocess.run([tool("bench"), *load, "--port", str(started.port)], check=True, capture_output=True)


def size(started: Relay) -> float:
    """The size of the database in megabytes."""
    return sum(file.stat().st_size for file in started.data.iterdir() if file.is_file()) / 1e6


@contextmanager
def bench(scene: Scene) -> Iterator[Bench]:
    options = ["--limits-request-rate", 0, "--presence-grace", 0]
    with tempfile.TemporaryDirectory() as folder, relay(Path(folder), *options, pushes=True) as (started, simulator, _):
        fill(started, scene)
        filled = Bench(started, simulator)
        filled.restart()
        print(f"{scene}: {size(started):,.0f} MB", flush=True)
        yield filled


def measure(axis: str, operations: Iterable[str]) -> None:
    """Prints a table of the operations: µs of one, and the ratio to the first value of the axis."""
    with ExitStack() as stack:
        benches = [stack.enter_context(bench(replace(Scene(), **{axis: value}))) for value in AXES[axis]]
        print(f"\n{axis:<10}" + "".join(f"{value:>16,}" for value in AXES[axis]))
        for operation in operations:
            # The relays take turns, and their order changes, so that other programs disturb all of them equally.
            rounds: dict[Bench, list[float]] = {each: [] for each in benches}
            for number in range(1 + ROUNDS):
                for each in benches if number % 2 else reversed(benches):
                    rounds[each].append(each.round(operation))
            costs = [median(values[1:]) for values in rounds.values()]
            ratios = [(cost, cost / costs[0]) for cost in costs]
            cells = (f"{cost:9,.0f} {ratio:5.2f}{'!' if ratio > MAX_RATIO else ' '}" for cost, ratio in ratios)
            print(f"{operation:<10}" + "".join(cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operation", choices=OPERATIONS, action="append", help="what to measure (default: all)")
    parser.add_argument("--axis", choices=AXES, action="append", help="the number that grows (default: all in turn)")
    add_binaries(parser)
    arguments = parser.parse_args()
    print(machine())
    for axis in arguments.axis or AXES:
        measure(axis, arguments.operation or OPERATIONS)


if __name__ == "__main__":
    main()
