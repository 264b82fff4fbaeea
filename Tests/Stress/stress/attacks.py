# SPDX-License-Identifier: Apache-2.0
"""python -m stress.attacks: one hostile client, and the delay that all others notice.

Plays each attack against a relay of its own. Before and during the attack, a separate process pings the relay and sends
stored messages to a room of its own. Prints p99 and maximum of both, and the relay's memory before and after.
"""

import argparse
import json
import multiprocessing
import os
import socket
import statistics
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import stress  # noqa: F401  (makes the shared modules known)
from relay import CHECKOUT, Relay

from stress.connection import TEXT, frame, upgrade_request


class Client:
    """A blocking WebSocket session that reads only where the caller asks for it."""

    def __init__(self, port: int, hello: dict | None = None):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(upgrade_request(port))
        self.rest = b""
        while b"\r\n\r\n" not in self.rest:
            self.rest += self.socket.recv(65536)
        self.rest = self.rest.split(b"\r\n\r\n", 1)[1]
        self.next = 0
        if hello is not None:
            self.write({"type": "hello"} | hello)
            self.until(lambda one: one["type"] == "welcome")

    def write(self, *requests: dict) -> None:
        self.socket.sendall(b"".join(frame(TEXT, json.dumps(one).encode()) for one in requests))

    def read(self) -> dict:
        while True:
            if len(self.rest) >= 2:
                size, start = self.rest[1] & 127, 2
                if size == 126 and len(self.rest) >= 4:
                    size, start = struct.unpack("!H", self.rest[2:4])[0], 4
                elif size == 127 and len(self.rest) >= 10:
                    size, start = struct.unpack("!Q", self.rest[2:10])[0], 10
                elif size >= 126:
                    size = 1 << 62
                if len(self.rest) >= start + size:
                    opcode, payload = self.rest[0] & 15, self.rest[start : start + size]
                    self.rest = self.rest[start + size :]
                    if opcode == 1:
                        return json.loads(payload)
                    if opcode == 8:
                        raise ConnectionError(f"closed: {payload!r}")
                    if opcode == 9:
                        self.socket.sendall(frame(10, payload))
                    continue
            more = self.socket.recv(1 << 20)
            if not more:
                raise ConnectionError("the relay ended the connection")
            self.rest += more

    def until(self, is_it: Callable[[dict], bool]) -> dict:
        while not is_it(one := self.read()):
            pass
        return one

    def ask(self, request: dict) -> dict:
        self.next += 1
        number = self.next
        self.write(request | {"id": number})
        return self.until(lambda one: one.get("id") == number)


def http(port: int, requests: list[bytes]) -> list[int]:
    """Sends these requests over one connection, one after the other; returns the statuses."""
    statuses = []
    with socket.create_connection(("127.0.0.1", port)) as connection:
        reader = connection.makefile("rb")
        for one in requests:
            connection.sendall(one)
            statuses.append(int(reader.readline().split()[1]))
            length = 0
            while (line := reader.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            reader.read(length)
    return statuses


def request(method: str, path: str, user: str, body: object = None, *headers: str) -> bytes:
    payload = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"X-Stillwire-User: {user}", *headers]
    if body is not None or method != "GET":
        lines += ["Content-Type: application/json", f"Content-Length: {len(payload)}"]
    return "\r\n".join([*lines, "", ""]).encode() + payload


def observe(port: int, seconds: float, pipe) -> None:
    """Another client: pings all the time, and stores a message in its room ten times a second."""
    session = Client(port, {"user": "bystander"})
    session.ask({"type": "join", "room": "elsewhere"})
    pings, sends = [], []
    end, due = time.monotonic() + seconds, 0.0
    pipe.send("ready")
    try:
        while (start := time.monotonic()) < end:
            session.ask({"type": "ping"})
            pings.append(time.monotonic() - start)
            if (start := time.monotonic()) >= due:
                session.ask({"type": "send", "room": "elsewhere", "body": {"text": "tea"}})
                sends.append(time.monotonic() - start)
                due = start + 0.1
            time.sleep(0.025)
    except (ConnectionError, KeyError) as error:
        pipe.send(f"the observer's session ended: {error!r}")
    pipe.send((pings, sends))


def observed(port: int, seconds: float, attack: Callable[[], None]) -> tuple[list[float], list[float]]:
    mine, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=observe, args=(port, seconds, theirs))
    process.start()
    mine.recv()
    attack()
    while isinstance(told := mine.recv(), str):
        print("  " + told)
    process.join()
    return told


def resident(relay: Relay) -> int:
    for line in Path(f"/proc/{relay.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the relay has no memory")


# The attacks


def long_entity_tags(port: int, seconds: float) -> None:
    """Bursts of 300 requests with an If-None-Match of 15 KB, without a token."""
    field = "If-None-Match: " + '"a" ,' * 3000
    one = f"GET / HTTP/1.1\r\nHost: localhost\r\n{field}\r\n\r\n".encode()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(60)]
        for connection in connections:
            connection.sendall(one)
        for connection in connections:
            connection.settimeout(10)
            connection.recv(65536)
            connection.close()
        time.sleep(0.2)


def unread_answers(port: int, seconds: float) -> None:
    """Asks for long pages of history over many connections, and reads no answer."""
    sender = Client(port, {"user": "mallory"})
    sender.ask({"type": "join", "room": "long"})
    for _ in range(60):
        sender.ask({"type": "send", "room": "long", "body": {"text": "x" * 60_000}})
    end, connections = time.monotonic() + seconds, []
    page = request("GET", "/v1/rooms/long/messages?limit=60", "mallory")
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
    print(f"  {len(connections)} connections")
    for connection in connections:
        connection.close()


def burst_to_away_members(port: int, seconds: float) -> None:
    """Bursts of 100 messages into a room of 900 away members with devices."""
    sender = Client(port, {"user": "mallory"})
    sender.ask({"type": "join", "room": "crowd"})
    requests = []
    for number in range(900):
        user = f"away-{number}"
        device = {"platform": "simulator", "token": f"{user}-phone", "timeZone": "Europe/Berlin"}
        quiet = {"quietHours": {"from": "22:00", "to": "07:00", "days": [1, 2, 3, 4, 5, 6, 7], "timeZone": "Europe/Berlin", "mode": "passive"}}
        requests.append(request("PUT", f"/v1/users/{user}/devices/phone", user, device))
        requests.append(request("PUT", f"/v1/users/{user}/preferences", user, quiet))
        requests.append(request("PUT", f"/v1/rooms/crowd/members/{user}", user, {}))
    statuses = http(port, requests)
    assert set(statuses) <= {200, 201, 204}, set(statuses)
    end = time.monotonic() + seconds
    answers: dict[str, int] = {}
    while time.monotonic() < end:
        sender.write(*({"type": "send", "id": n, "room": "crowd", "body": {"text": f"{n}"}} for n in range(100)))
        for _ in range(100):
            told = sender.until(lambda one: "id" in one)
            kind = told.get("code", told["type"])
            answers[kind] = answers.get(kind, 0) + 1
        time.sleep(0.5)
    print(f"  answers: {answers}")


def endless_blocks(port: int, seconds: float) -> None:
    """Blocks 256 new names again and again, and unblocks them."""
    session = Client(port, {"user": "mallory"})
    end, number, answers = time.monotonic() + seconds, 0, {}
    while time.monotonic() < end:
        names = [f"name-{number}-{index}" for index in range(256)]
        for kind in ("block", "unblock"):
            told = session.ask({"type": kind, "users": names})
            result = f"{kind}: {told.get('code', told['type'])}"
            answers[result] = answers.get(result, 0) + 1
        number += 1
        if told.get("code") == "rate_limited":
            time.sleep(0.1)
    print(f"  answers: {answers}")


def large_hello(port: int, seconds: float) -> None:
    """Opens sessions and sends 64 KiB of nested JSON instead of hello."""
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
    print(f"  {count} sessions")


def pipelining(port: int, seconds: float) -> None:
    """Pipelines requests without end over eight connections."""
    end = time.monotonic() + seconds
    many = request("GET", "/live", "mallory") * 64
    connections: list[socket.socket] = []
    while time.monotonic() < end:
        while len(connections) < 8:
            connection = socket.create_connection(("127.0.0.1", port))
            connection.setblocking(False)
            connections.append(connection)
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


ATTACKS = [long_entity_tags, unread_answers, burst_to_away_members, endless_blocks, large_hello, pipelining]


def quantiles(times: list[float]) -> str:
    if len(times) < 2:
        return f"{len(times)} answers"
    p99 = statistics.quantiles(times, n=100, method="inclusive")[98]
    return f"p99 {p99 * 1e3:.1f} ms, max {max(times) * 1e3:.1f} ms of {len(times)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(CHECKOUT / ".build/release/stillwire"))
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--only", default="", help="attacks whose names contain this")
    options = parser.parse_args()
    os.environ["STILLWIRE_BINARY"] = options.binary
    for attack in ATTACKS:
        if options.only not in attack.__name__:
            continue
        with tempfile.TemporaryDirectory() as folder:
            relay = Relay(Path(folder)).start()
            try:
                calm = observed(relay.port, 3, lambda: None)
                before = resident(relay)
                print(f"{attack.__name__}: {attack.__doc__}", flush=True)
                run = observed(relay.port, options.seconds + 5, lambda: attack(relay.port, options.seconds))
                after = resident(relay)
                start = time.monotonic()
                code = relay.stop()
                print(
                    f"  pings: {quantiles(calm[0])} without; {quantiles(run[0])} with\n"
                    f"  stored sends: {quantiles(calm[1])} without; {quantiles(run[1])} with\n"
                    f"  memory: {before / 1e6:.0f} MB before, {after / 1e6:.0f} MB after; "
                    f"SIGTERM to exit {code}: {time.monotonic() - start:.1f} s",
                    flush=True,
                )
            finally:
                relay.kill()


if __name__ == "__main__":
    main()
