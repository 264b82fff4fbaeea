# SPDX-License-Identifier: Apache-2.0
"""Measures the list of rooms of a user with many rooms, while messages are stored. Use a release build. Example:

  python Tests/EndToEnd/measure_inbox.py --rooms 10000 --rate 2000

Prints the latency of the first page, and counts the `inbox` events. Also prints the latency of a `ping`, and the time
of an empty loop in this program. On an idle machine, the loop takes as long as a page of an idle relay. So it shows how
much the machine itself delays a page. Fails if p99 of the page exceeds `--goal`, or if a room has more than one event a
second.
"""

import argparse
import gc
import json
import multiprocessing
import random
import sys
import tempfile
import time
from collections import Counter
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parent / "shared")]

from metrics import metrics  # noqa: E402
from relay import Relay, running  # noqa: E402
from rfc6455 import PING, PONG, TEXT, Wire, frame  # noqa: E402

LIMITS = {"rooms-per-user": 100_000, "rooms-per-session": 1_000, "send-rate": 0, "request-rate": 0}
#: The maximum number of requests in flight during the setup.
WINDOW = 200
#: The number of rooms that get a tenth of all messages, so that the limit of one event a second applies to them.
HOT = 10
#: The number of rooms of each session that sends.
JOINED = 100


class Client:
    """A session that sends requests and waits for replies, without the slow checks of `client.Session`."""

    def __init__(self, port: int, user: str, **hello: Any):
        self.wire = Wire(port)
        self.wire.upgrade()
        self._last = 0
        self.welcome = self.request("hello", user=user, **hello)

    def begin(self, type: str, **fields: Any) -> int:
        self._last += 1
        self.wire.send_text(json.dumps({"type": type, "id": self._last} | fields))
        return self._last

    def next(self) -> dict[str, Any]:
        """Waits for the next frame of the relay."""
        while (got := self.wire.next_frame()) is not None:
            opcode, _, payload = got
            if opcode == TEXT:
                return json.loads(payload)
            if opcode == PING:
                self.wire.send_bytes(frame(PONG, payload))
        raise SystemExit("the relay has closed the connection")

    def reply(self, id: int) -> dict[str, Any]:
        while (got := self.next()).get("id") != id:
            pass
        if got["type"] == "error":
            raise SystemExit(f"the relay refused a request: {got}")
        return got

    def request(self, type: str, **fields: Any) -> dict[str, Any]:
        return self.reply(self.begin(type, **fields))

    def wait(self, id: int) -> None:
        """Waits for the bytes of a reply without parsing them, which would take as long as the relay needs."""
        part = f'"id":{id}'.encode()
        while True:
            opcode, _, payload = self.wire.next_frame()
            if opcode == TEXT and part in payload[:64]:
                if b'"type":"error"' in payload[:64]:
                    raise SystemExit(f"the relay refused a request: {payload}")
                return

    def all(self, requests: list[dict[str, Any]]) -> None:
        """Sends many requests, and waits for all replies."""
        for start in range(0, len(requests), WINDOW):
            ids = [self.begin(**fields) for fields in requests[start : start + WINDOW]]
            for id in ids:
                self.reply(id)


def name(number: int) -> str:
    return f"room-{number}"


def send(port: int, rooms: int, rate: float, is_over: Event) -> None:
    """Alice sends messages at the rate, in 1,000 rooms of Bob.

    The frames are made beforehand, without an id, so that the relay sends no reply.
    """
    sessions = []
    for start in range(0, min(rooms, 10 * JOINED), JOINED):
        client = Client(port, "alice")
        numbers = range(start, min(start + JOINED, rooms))
        client.all([{"type": "join", "room": name(number)} for number in numbers])
        requests = [json.dumps({"type": "send", "room": name(number), "body": "hello"}) for number in numbers]
        sessions.append((client.wire, [frame(TEXT, request.encode()) for request in requests]))
    begin, sent = time.monotonic(), 0
    while not is_over.is_set():
        due = int((time.monotonic() - begin) * rate)
        for _ in range(sent, due):
            is_hot = random.random() < 0.1
            wire, frames = sessions[0] if is_hot else random.choice(sessions)
            wire.send_bytes(random.choice(frames[:HOT] if is_hot else frames))
        sent = due
        time.sleep(0.005)


def stored(relay: Relay) -> float:
    """The number of messages that the relay has stored since its start."""
    return metrics(relay)["stillwire_messages_total{true}"]


def follow(port: int, is_ready: Event, is_measured: Event, is_over: Event, results: Any) -> None:
    """Counts the `inbox` events of Bob during the measurement."""
    bob = Client(port, "bob", inbox=True)
    counts: Counter[str] = Counter()
    is_ready.set()
    begin = None
    while not is_over.is_set():
        event = bob.next()
        if begin is None and is_measured.is_set():
            begin = time.monotonic()
        if begin is not None and event["type"] == "inbox":
            counts[event["room"]] += 1
    results.put((time.monotonic() - begin, sum(counts.values()), max(counts.values(), default=0)))


def timed(client: Client, type: str, **fields: Any) -> float:
    begin = time.perf_counter()
    client.wait(client.begin(type, **fields))
    return 1_000 * (time.perf_counter() - begin)


def looped(steps: int) -> float:
    begin = time.perf_counter()
    for _ in range(steps):
        pass
    return 1_000 * (time.perf_counter() - begin)


def steps(milliseconds: float) -> int:
    """The number of steps for which :func:`looped` needs the time, if nothing interrupts it."""
    sample = 100_000
    return int(sample * milliseconds / min(looped(sample) for _ in range(20)))


def percentiles(times: list[float]) -> dict[int, float]:
    times = sorted(times)
    return {part: times[len(times) * part // 100] for part in (50, 90, 99)}


def shown(values: dict[int, float]) -> str:
    return ", ".join(f"p{part} {value:.2f} ms" for part, value in values.items())


def measure(arguments: argparse.Namespace, relay: Relay) -> str | None:
    """Prints the results. Returns a message about the first missed goal, or None."""
    port = relay.port
    bob = Client(port, "bob")
    bob.all(
        [{"type": "create", "room": name(number), "members": ["alice"]} for number in range(arguments.rooms)],
    )
    print(f"bob has {arguments.rooms} rooms")
    is_ready, is_measured, is_over = (multiprocessing.Event() for _ in range(3))
    results = multiprocessing.Queue()
    others = [
        multiprocessing.Process(target=follow, args=(port, is_ready, is_measured, is_over, results), daemon=True),
        multiprocessing.Process(target=send, args=(port, arguments.rooms, arguments.rate, is_over), daemon=True),
    ]
    others[0].start()
    is_ready.wait()
    idle = percentiles([timed(bob, "rooms", limit=50) for _ in range(arguments.pages)])
    length = steps(idle[50])
    # Python's garbage collector would pause this program.
    gc.disable()
    others[1].start()
    first = stored(relay)
    while stored(relay) < first + arguments.rate:
        time.sleep(0.1)
    is_measured.set()
    before, begin = stored(relay), time.monotonic()
    pings, loops, pages = [], [], []
    for _ in range(arguments.pages):
        pings.append(timed(bob, "ping"))
        loops.append(looped(length))
        pages.append(timed(bob, "rooms", limit=50))
        time.sleep(0.005)
    rate = (stored(relay) - before) / (time.monotonic() - begin)
    is_over.set()
    seconds, events, most = results.get()
    ping, loop, page = percentiles(pings), percentiles(loops), percentiles(pages)
    print(f"first page, idle:                   {shown(idle)}")
    print(f"first page, {rate:5.0f} messages a second: {shown(page)}")
    print(f"ping in the same run:               {shown(ping)}")
    print(f"loop as long as an idle page:       {shown(loop)}")
    print(f"inbox events: {events} in {seconds:.1f} s, at most {most} for a room ({most / seconds:.2f} a second)")
    if page[99] > arguments.goal:
        return f"p99 of the first page is {page[99]:.2f} ms, above {arguments.goal} ms"
    # The measurement begins and ends within a second of the room, so up to two more events are possible.
    return f"a room has {most} events in {seconds:.1f} s" if most > seconds + 2 else None


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="measure_inbox.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rooms", type=int, default=10_000, metavar="N", help="rooms of the user (default: 10000)")
    parser.add_argument("--rate", type=float, default=2_000, metavar="N", help="messages a second (default: 2000)")
    parser.add_argument("--pages", type=int, default=1_000, metavar="N", help="requests to measure (default: 1000)")
    parser.add_argument("--goal", type=float, default=5, metavar="MS", help="maximum p99 of the first page (default: 5 ms)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        limits = [part for limit, value in LIMITS.items() for part in (f"--limits-{limit}", value)]
        with running(Path(folder), *limits) as relay:
            missed = measure(arguments, relay)
    sys.exit(missed)


if __name__ == "__main__":
    main()
