# SPDX-License-Identifier: Apache-2.0
"""python -m stress.attacks: measures the delay that one hostile client causes for all others.

Plays each attack against a relay of its own. Before and during the attack, a separate process pings the relay and sends
stored messages to a room of its own. Prints the p99 and the maximum of both delays, and the relay's memory before and
after.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import socket
import statistics
import struct
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import stress  # noqa: F401  (makes the shared modules known)
from database import value
from relay import CHECKOUT, Relay
from rfc6455 import CLOSE, CONTINUATION, PING, PONG, TEXT, Wire, frame
from waiting import eventually



class ClosedByRelay(ConnectionError):
    """The relay closed the session with `code`."""

    def __init__(self, code: int, reason: str):
        super().__init__(f"{code} {reason}")
        self.code = code


class Client(Wire):
    """A blocking session. It reads only when the caller requests it."""

    def __init__(self, port: int, hello: dict | None = None):
        super().__init__(port)
        if (status := self.upgrade().status) != 101:
            raise ConnectionError(f"the relay answered the upgrade with {status}")
        self.socket.settimeout(None)
        self.last_id = 0
        if hello is not None:
            self.write({"type": "hello"} | hello)
            self.read_until(lambda event: event["type"] == "welcome")

    def write(self, *requests: dict) -> None:
        self.send_bytes(b"".join(frame(TEXT, json.dumps(request).encode()) for request in requests))

    def read(self) -> dict:
        """Returns the next event or reply. Raises ClosedByRelay at the relay's close frame."""
        text = b""
        while True:
            if (got := self.next_frame(None)) is None:
                raise ConnectionError("the relay ended the connection")
            opcode, is_final, payload = got
            if opcode == CLOSE:
                self.socket.close()
                raise ClosedByRelay(int.from_bytes(payload[:2]), payload[2:].decode())
            if opcode == PING:
                self.send_bytes(frame(PONG, payload))
            elif opcode in (TEXT, CONTINUATION):
                text += payload
                if is_final:
                    return json.loads(text)

    def read_until(self, matches: Callable[[dict], bool]) -> dict:
        while not matches(event := self.read()):
            pass
        return event

    def request(self, request: dict) -> dict:
        """Sends a request and returns its reply."""
        self.last_id += 1
        number = self.last_id
        self.write(request | {"id": number})
        return self.read_until(lambda event: event.get("id") == number)


def http(port: int, requests: list[bytes]) -> list[int]:
    """Sends requests over one connection, one after the other. Returns the statuses."""
    statuses = []
    with socket.create_connection(("127.0.0.1", port)) as connection:
        reader = connection.makefile("rb")
        for request in requests:
            connection.sendall(request)
            statuses.append(int(reader.readline().split()[1]))
            length = 0
            while (line := reader.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            reader.read(length)
    return statuses


def http_request(method: str, path: str, user: str, body: object = None, *headers: str) -> bytes:
    payload = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"X-Stillwire-User: {user}", *headers]
    if body is not None or method != "GET":
        lines += ["Content-Type: application/json", f"Content-Length: {len(payload)}"]
    return "\r\n".join([*lines, "", ""]).encode() + payload


# The observer


@dataclass
class Delays:
    """The delays of the relay's answers to the observer, in seconds."""

    pings: list[float]
    sends: list[float]


def run_observer(port: int, pipe: Connection) -> None:
    """Pings the relay, and stores a message in its own room ten times a second, until the parent sends something."""
    session = Client(port, {"user": "bystander"})
    session.request({"type": "join", "room": "elsewhere"})
    delays = Delays([], [])
    due = 0.0
    pipe.send("ready")
    while not pipe.poll():
        start = time.monotonic()
        session.request({"type": "ping"})
        delays.pings.append(time.monotonic() - start)
        if (start := time.monotonic()) >= due:
            session.request({"type": "send", "room": "elsewhere", "body": {"text": "tea"}})
            delays.sends.append(time.monotonic() - start)
            due = start + 0.1
        time.sleep(0.025)
    # The relay may have died since the last ping.
    session.request({"type": "ping"})
    pipe.send(delays)


def measure_during(port: int, action: Callable[[], str]) -> tuple[Delays, str]:
    """Measures the observer's delays while `action` runs. Returns them with the result of `action`.

    Raises RuntimeError if the observer dies, because then the relay failed to serve a client that did nothing wrong.
    """
    mine, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=run_observer, args=(port, theirs))
    process.start()
    theirs.close()  # `mine` then ends with the observer
    try:
        receive(mine)
        result = action()
        with contextlib.suppress(BrokenPipeError):
            mine.send("end")
        return receive(mine), result
    finally:
        mine.close()
        process.join()


def receive(pipe: Connection) -> object:
    try:
        return pipe.recv()
    except (EOFError, ConnectionError) as error:
        raise RuntimeError("the observer died") from error


def resident(relay: Relay) -> int:
    """Returns the relay's resident memory, in bytes."""
    path = Path(f"/proc/{relay.pid}/status")
    for line in path.read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"no VmRSS in {path}")


# Before attacks


def fill_long_room(relay: Relay) -> None:
    sender = Client(relay.port, {"user": "mallory"})
    sender.request({"type": "join", "room": "long"})
    for _ in range(60):
        sender.request({"type": "send", "room": "long", "body": {"text": "x" * 60_000}})
    sender.socket.close()


def add_away_members(relay: Relay, room: str, count: int, preferences: dict | None = None) -> None:
    """Adds members to the room. Each has one phone and no connection."""
    requests = []
    for number in range(count):
        user = f"away-{number}"
        device = {"platform": "simulator", "token": f"{user}-phone", "timeZone": "Europe/Berlin"}
        requests.append(http_request("PUT", f"/v1/users/{user}/devices/phone", user, device))
        if preferences is not None:
            requests.append(http_request("PUT", f"/v1/users/{user}/preferences", user, preferences))
        requests.append(http_request("PUT", f"/v1/rooms/{room}/members/{user}", user, {}))
    statuses = Counter(http(relay.port, requests))
    assert statuses.keys() <= {200, 201, 204}, statuses


def add_crowd_with_quiet_hours(relay: Relay) -> None:
    days = [1, 2, 3, 4, 5, 6, 7]
    hours = {"from": "22:00", "to": "07:00", "days": days, "timeZone": "Europe/Berlin", "mode": "passive"}
    add_away_members(relay, "crowd", 900, {"quietHours": hours})


def push_to_large_room(relay: Relay) -> None:
    """Pushes one message to 998 members, and waits until every push was sent."""
    add_away_members(relay, "large", 998)
    session = Client(relay.port, {"user": "mallory"})
    session.request({"type": "join", "room": "large"})
    reply = session.request({"type": "send", "room": "large", "body": {"text": "0"}})
    assert reply["seq"] == 1, reply
    session.socket.close()
    eventually(lambda: value(relay, "SELECT count(*) FROM jobs WHERE state = 'sent'") == 998, every=0.3)


# The attacks: each runs for some seconds, and returns a summary


def long_entity_tags(port: int, seconds: float) -> str:
    """Opens 60 connections at a time. Each sends one request with an If-None-Match of 15 KB and no token."""
    field = "If-None-Match: " + '"a" ,' * 3000
    text = f"GET / HTTP/1.1\r\nHost: localhost\r\n{field}\r\n\r\n".encode()
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(60)]
        for connection in connections:
            connection.sendall(text)
        for connection in connections:
            connection.settimeout(10)
            connection.recv(65536)
            connection.close()
        count += len(connections)
        time.sleep(0.2)
    return f"{count} connections"


def unread_answers(port: int, seconds: float) -> str:
    """Requests long pages of history over many connections, and does not read the answers."""
    end, connections = time.monotonic() + seconds, []
    page = http_request("GET", "/v1/rooms/long/messages?limit=60", "mallory")
    while time.monotonic() < end:
        if len(connections) < 200:
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect(("127.0.0.1", port))
            connection.setblocking(False)
            connections.append(connection)
        for connection in connections:
            try:
                connection.send(page)
            except OSError:
                pass
        time.sleep(0.05)
    for connection in connections:
        connection.close()
    return f"{len(connections)} connections"


def send_requests(
    port: int, seconds: float, room: str, bursts: Callable[[int], list[dict]], pause: float
) -> Counter[str]:
    """Sends one burst of requests after another and reads all replies. Reconnects when the relay closes the session.

    - bursts: returns the requests of the burst with this number
    - pause: seconds between two bursts; late bursts follow at once

    Returns the number of replies of each type or error code, and of closes.
    """
    session, number = None, 0
    answers: Counter[str] = Counter()
    start = time.monotonic()
    while time.monotonic() < start + seconds:
        try:
            if session is None:
                session = Client(port, {"user": "mallory"})
                session.request({"type": "join", "room": room})
            requests = bursts(number)
            number += 1
            session.write(*({"id": f"{index}"} | request for index, request in enumerate(requests)))
            for _ in requests:
                reply = session.read_until(lambda event: "id" in event)
                answers[reply.get("code", reply["type"])] += 1
        except ClosedByRelay as closed:
            answers[f"closed with {closed.code}"] += 1
            session = None
        except ConnectionError:
            answers["connection ended"] += 1
            session = None
        time.sleep(max(0, start + number * pause - time.monotonic()))
    return answers


def summary(answers: Counter[str]) -> str:
    return "answers: " + ", ".join(f"{count} × {answer}" for answer, count in answers.most_common())


def burst_to_away_members(port: int, seconds: float) -> str:
    """Sends 100 messages twice a second to a room of 900 away members with a phone and quiet hours."""
    send = {"type": "send", "room": "crowd"}
    burst = [send | {"body": {"text": f"{number}"}} for number in range(100)]
    return summary(send_requests(port, seconds, "crowd", lambda _: burst, pause=0.5))


def edits_in_a_large_room(port: int, seconds: float) -> str:
    """Edits a message that was pushed to 998 away members: 100 times at once, and then 50 times a second."""

    def edits(burst: int) -> list[dict]:
        edit = {"type": "edit", "room": "large", "seq": 1}
        return [edit | {"body": {"text": f"{burst}.{number}"}} for number in range(5 if burst else 100)]

    return summary(send_requests(port, seconds, "large", edits, pause=0.1))


def endless_blocks(port: int, seconds: float) -> str:
    """Blocks and unblocks 256 new names, again and again."""
    session = Client(port, {"user": "mallory"})
    end, number = time.monotonic() + seconds, 0
    answers: Counter[str] = Counter()
    while time.monotonic() < end:
        names = [f"name-{number}-{index}" for index in range(256)]
        for kind in ("block", "unblock"):
            reply = session.request({"type": kind, "users": names})
            answers[f"{reply.get('code', reply['type'])} to {kind}"] += 1
        number += 1
        if reply.get("code") == "rate_limited":
            time.sleep(0.1)
    return summary(answers)


def large_hello(port: int, seconds: float) -> str:
    """Opens sessions and sends 64 KiB of nested JSON instead of `hello`."""
    text = b'{"type":"x","a":[' + b",".join([b'{"k":[1,2,3]}'] * 4600) + b"]}"
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        try:
            client = Client(port)
            client.socket.sendall(frame(TEXT, text) * 4)
            client.socket.settimeout(1)
            client.socket.recv(4096)
            client.socket.close()
            count += 1
        except OSError:
            time.sleep(0.01)
    return f"{count} sessions"


def pipelining(port: int, seconds: float) -> str:
    """Pipelines an endless series of requests over eight connections."""
    end, count = time.monotonic() + seconds, 0
    many = http_request("GET", "/live", "mallory") * 64
    connections: list[socket.socket] = []
    while time.monotonic() < end:
        while len(connections) < 8:
            connection = socket.create_connection(("127.0.0.1", port))
            connection.setblocking(False)
            connections.append(connection)
            count += 1
        for connection in list(connections):
            try:
                connection.send(many)
                if not connection.recv(1 << 20):
                    raise ConnectionError
            except BlockingIOError:
                pass
            except OSError:
                connection.close()
                connections.remove(connection)
        time.sleep(0.002)
    for connection in connections:
        connection.close()
    return f"{count} connections"


@dataclass
class Attack:
    run: Callable[[int, float], str]
    prepare: Callable[[Relay], None] = lambda relay: None

    @property
    def name(self) -> str:
        return self.run.__name__


ATTACKS = [
    Attack(long_entity_tags),
    Attack(unread_answers, prepare=fill_long_room),
    Attack(burst_to_away_members, prepare=add_crowd_with_quiet_hours),
    Attack(edits_in_a_large_room, prepare=push_to_large_room),
    Attack(endless_blocks),
    Attack(large_hello),
    Attack(pipelining),
]


# Figures


@dataclass
class Measurement:
    without: Delays
    during: Delays
    #: A summary of the attack.
    summary: str
    #: The relay's memory, in bytes.
    before: int
    after: int
    #: The exit status of the relay, and the seconds from SIGTERM to its end.
    status: int
    stop_time: float


def measure(attack: Attack, seconds: float) -> Measurement:
    """Plays an attack against a relay of its own."""
    with tempfile.TemporaryDirectory() as folder:
        relay = Relay(Path(folder)).start()
        try:
            attack.prepare(relay)
            without, _ = measure_during(relay.port, lambda: time.sleep(3) or "")
            before = resident(relay)
            during, summary = measure_during(relay.port, lambda: attack.run(relay.port, seconds))
            after = resident(relay)
            start = time.monotonic()
            status = relay.stop()
            return Measurement(without, during, summary, before, after, status, time.monotonic() - start)
        finally:
            relay.kill()


def quantiles(times: list[float]) -> str:
    if len(times) < 2:
        return f"{len(times)} answers"
    p99 = statistics.quantiles(times, n=100, method="inclusive")[98]
    return f"p99 {p99 * 1e3:.1f} ms, max {max(times) * 1e3:.1f} ms of {len(times)}"


def show(measured: Measurement) -> None:
    without, during = measured.without, measured.during
    print(f"  {measured.summary}")
    print(f"  pings: {quantiles(without.pings)} without; {quantiles(during.pings)} with")
    print(f"  stored sends: {quantiles(without.sends)} without; {quantiles(during.sends)} with")
    print(f"  memory: {measured.before / 1e6:.0f} MB before, {measured.after / 1e6:.0f} MB after", end="; ")
    print(f"SIGTERM to exit {measured.status}: {measured.stop_time:.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(CHECKOUT / ".build/release/stillwire"))
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--only", default="", help="play only the attacks whose name contains this text")
    options = parser.parse_args()
    os.environ["STILLWIRE_BINARY"] = options.binary
    for attack in ATTACKS:
        if options.only in attack.name:
            print(f"{attack.name}: {attack.run.__doc__}", flush=True)
            show(measure(attack, options.seconds))


if __name__ == "__main__":
    main()
