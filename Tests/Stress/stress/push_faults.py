# SPDX-License-Identifier: Apache-2.0
"""python -m stress.push_faults: sends many pushes through a faulty service, with a relay that is killed repeatedly.

Messages to users who are away become push jobs for `stillwire-simulator`. The simulator refuses some pushes, reports
unregistered devices, resets streams and connections, sends GOAWAY, and leaves requests without an answer. Meanwhile the
relay is killed and started again. At the end the script checks the following, and exits with status 1 if a check fails:

- Every job has ended, none was lost, and none was sent after its expiry.
- Each push that arrived twice had an unknown result the first time, and the same ids both times.
"""

import argparse
import contextlib
import http.client
import json
import os
import random
import tempfile
import threading
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import stress  # noqa: F401  (makes the shared modules known)
from apple import AppleSimulator
from certificates import write_key
from database import rows, value
from relay import CHECKOUT, Relay

from waiting import eventually

APP = "org.example.chat"
#: The shares of answers with these errors.
UNAVAILABLE, TOO_MANY, UNREGISTERED = 0.05, 0.02, 0.01
#: The shares of requests without an answer, by the kind of fault.
UNANSWERED = {"resetStream": 0.002, "resetConnection": 0.0005, "goAway": 0.0005, "hang": 0.0005}
#: One of this many messages expires after a few seconds.
HURRIED, LIFETIME = 20, 3
#: So many senders that none of them exceeds the pace of pushes.
SENDERS = [f"sender-{number}" for number in range(10)]
#: The maximum difference between two processes' clocks, in milliseconds, including the time before a request leaves.
TOLERANCE = 1_000


class Course:
    def __init__(self, options: argparse.Namespace, folder: Path):
        self.random = random.Random(options.seed)
        self.rooms = [f"room-{number}" for number in range(options.rooms)]
        self.members = {room: [f"{room}-{number}" for number in range(options.members)] for room in self.rooms}
        self.messages = options.jobs // options.members
        self.kills = options.kills
        self.service = AppleSimulator(folder, "--latency", options.latency).start()
        self.service.settings(acceptsAnyKey=True)
        write_key(folder / "provider.p8")
        configuration = folder / "stillwire.json"
        configuration.write_text(json.dumps({
            "apps": [{"app": APP, "credential": {"keyFile": "provider.p8", "keyID": "ABCDE12345", "team": "TEAM123456"}}],
            "apple": {"host": "localhost", "port": self.service.port, "caFile": str(self.service.certificate)},
        }))  # fmt: skip
        self.relay = Relay(
            folder, "--config", configuration, "--limits-send-rate", 0, "--limits-request-rate", 0,
            "--presence-grace", 0,
        ).start()  # fmt: skip
        self.expected: dict[tuple[str, int], int] = {}
        self.arrivals: dict[str, list[dict]] = defaultdict(list)
        #: The times at which the relay was killed, in milliseconds.
        self.killed: list[int] = []
        #: The times at which each connection was cut or given up, by the number of the connection.
        self.lost: dict[int, list[int]] = defaultdict(list)
        self.is_over = threading.Event()

    # The load

    def call(self, method: str, path: str, body: object = None, **headers: str) -> dict:
        """Repeats a request until the relay answers, because it may be down for a while."""
        data = None if body is None else json.dumps(body).encode()
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection("127.0.0.1", self.relay.port or 1, timeout=20)
                try:
                    connection.request(method, path, data, {"Content-Type": "application/json"} | headers)
                    answer = connection.getresponse()
                    text = answer.read()
                finally:
                    connection.close()
                if answer.status < 300:
                    return json.loads(text) if text else {}
                if answer.status < 500:
                    raise SystemExit(f"{method} {path}: {answer.status} {text.decode()}")
            time.sleep(0.05)

    def register(self, user: str) -> None:
        device = {"platform": "apns", "token": self.token(user), "app": APP, "environment": "sandbox"}
        self.call("PUT", f"/v1/users/{user}/devices/phone", device)

    @staticmethod
    def token(user: str) -> str:
        return user.encode().hex().ljust(64, "0")[:64]

    def enter(self, room: str) -> None:
        for user in [*SENDERS, *self.members[room]]:
            self.call("PUT", f"/v1/rooms/{room}/members/{user}")
        for user in self.members[room]:
            self.register(user)

    def send(self, number: int) -> None:
        room = self.rooms[number % len(self.rooms)]
        push = {"expires": LIFETIME} if number % HURRIED == 0 else {}
        sender = SENDERS[number // len(self.rooms) % len(SENDERS)]
        message = {"from": sender, "body": f"message {number}", "push": push}
        reply = self.call("POST", f"/v1/rooms/{room}/messages", message, **{"Idempotency-Key": f"k{number}"})
        if "delivery" in reply:  # the reply to a repetition after a kill has no `delivery`
            others = len(SENDERS) - 1  # who have no phone
            self.expected[room, reply["seq"]] = reply["delivery"]["push"] - others

    # The faults

    def break_service(self) -> None:
        now = int(time.time() * 1000)
        answers = [
            {"action": "answer", "reason": "ServiceUnavailable", "share": UNAVAILABLE},
            {"action": "answer", "reason": "TooManyRequests", "share": TOO_MANY},
            {"action": "answer", "reason": "Unregistered", "timestamp": now, "share": UNREGISTERED},
        ]
        self.service.faults(*answers, *({"action": how, "share": share} for how, share in UNANSWERED.items()))

    def kill(self) -> None:
        self.relay.kill()
        self.killed.append(int(time.time() * 1000))
        time.sleep(self.random.uniform(0, 1))
        self.relay.start()

    def watch(self) -> None:
        """Records the pushes that arrive, because the service keeps only the newest."""
        last = 0
        while True:
            is_over = self.is_over.is_set()
            arrived = self.service.arrivals(after=last, most=1000)
            for arrival in arrived:
                last = arrival["number"]
                headers = dict(arrival["headers"])
                record = {key: arrival[key] for key in ("number", "time", "outcome", "path", "connection")}
                self.arrivals[headers["apns-id"]].append(record | {"collapse": headers["apns-collapse-id"]})
            if not arrived and is_over:
                return
            if len(arrived) < 1000:
                time.sleep(0.1)

    def is_unknown(self, before: dict, after: dict) -> bool:
        """Returns true if the relay may not know that a push was accepted when it sent it again."""
        span = range(before["time"] - TOLERANCE, after["time"] + TOLERANCE)
        lost = self.lost[before["connection"]]
        return any(moment in span for moment in self.killed) or any(moment in span for moment in lost)

    # The run

    def run(self) -> list[str]:
        watcher = threading.Thread(target=self.watch)
        watcher.start()
        with ThreadPoolExecutor(8) as people:
            list(people.map(self.enter, self.rooms))
            self.break_service()
            rounds = self.kills + 1
            for index in range(rounds):
                first, last = self.messages * index // rounds, self.messages * (index + 1) // rounds
                sending = [people.submit(self.send, number) for number in range(first, last)]
                if index < self.kills:
                    time.sleep(self.random.uniform(0.5, 3))
                    self.kill()
                for one in sending:
                    one.result()
                # Devices that the relay has deleted register again.
                for room in self.rooms:
                    list(people.map(self.register, self.members[room]))
                self.break_service()
                print(f"{last} messages, {len(self.arrivals)} pushes arrived", flush=True)
        eventually(lambda: not self.unfinished(), 1800, every=1)
        self.relay.stop()
        self.is_over.set()
        watcher.join()
        return self.evaluate()

    def unfinished(self) -> int:
        return value(self.relay, "SELECT count(*) FROM jobs WHERE kind = 'push' AND finished_at IS NULL")

    def evaluate(self) -> list[str]:
        jobs = rows(
            self.relay,
            "SELECT jobs.id, rooms.name, jobs.seq, state, note, jobs.expires, merged_into, users.name FROM jobs"
            " JOIN rooms ON rooms.id = room JOIN users ON users.id = user WHERE kind = 'push'",
        )
        print("jobs", len(jobs), dict(Counter(job[3] for job in jobs)))
        print("notes", dict(Counter(f"{job[3]}: {job[4]}" for job in jobs).most_common()))
        outcomes = Counter(arrival["outcome"] for all in self.arrivals.values() for arrival in all)
        print("arrivals", outcomes.total(), dict(outcomes))
        faults = []
        ends = {job[0]: job[3] for job in jobs}
        faults += [f"{id} ended {state}, into {carrier}" for id, _, _, state, _, _, carrier, _ in jobs if
                   (ends.get(carrier) if state == "merged" else state) not in
                   ("sent", "dead", "expired", "cancelled")]  # fmt: skip
        made = defaultdict(set)
        for _, room, seq, *_, user in jobs:
            made[room, seq].add(user)
        forgotten = {user for *_, state, note, _, _, user in jobs if state == "dead" and note == "Unregistered"}
        for (room, seq), count in self.expected.items():
            missing = set(self.members[room]) - made[room, seq]
            if count != len(self.members[room]) or missing - forgotten:
                faults.append(f"{room}/{seq}: the reply has {count} pushes, none was made for {missing - forgotten}")
        known = {id: (state, expires) for id, _, _, state, _, expires, *_ in jobs}
        for arrived in self.arrivals.values():
            for arrival in arrived:
                if arrival["outcome"] in ("resetConnection", "goAway", "hang"):
                    self.lost[arrival["connection"]].append(arrival["time"])
        twice = 0
        for id, arrived in self.arrivals.items():
            if id not in known:
                faults.append(f"{id} arrived without a job")
                continue
            taken = [arrival for arrival in arrived if arrival["outcome"] == "shown"]
            if len({(arrival["collapse"], arrival["path"]) for arrival in arrived}) != 1:
                faults.append(f"{id} arrived with several collapse ids: {arrived}")
            faults += [f"{id} arrived after its expiry: {arrival}" for arrival in arrived
                       if arrival["time"] > known[id][1] + TOLERANCE]  # fmt: skip
            twice += len(taken) > 1
            for before, after in pairwise(taken):
                if not self.is_unknown(before, after):
                    faults.append(f"{id} was sent again after the relay got its answer: {before}, {after}")
        for id, _, _, state, *_ in jobs:
            taken = any(arrival["outcome"] == "shown" for arrival in self.arrivals.get(id, []))
            if state == "sent" and not taken:
                faults.append(f"{id} is marked as sent, but never arrived")
            if state == "merged" and taken:
                faults.append(f"{id} arrived, although it is merged into another push")
        print("taken twice", twice)
        return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(CHECKOUT / ".build/release/stillwire"))
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--rooms", type=int, default=50)
    parser.add_argument("--members", type=int, default=20, help="the members of a room, without the senders")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--latency", type=float, default=0.02, help="the service's delay, in seconds")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.environ["STILLWIRE_BINARY"] = options.binary
    with tempfile.TemporaryDirectory() as folder:
        course = Course(options, Path(folder))
        try:
            faults = course.run()
        finally:
            course.is_over.set()
            course.relay.kill()
            course.service.kill()
    for fault in faults[:20]:
        print(fault)
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
