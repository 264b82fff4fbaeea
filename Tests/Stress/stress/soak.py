# SPDX-License-Identifier: Apache-2.0
"""python -m stress.soak: plays a mixed load for a long time, checks every frame, and measures the relay's memory.

Users send, join, leave, report Focus, read, and lose their connections in every way. Prints the memory at intervals,
and its slope over the second half. Exit status 1 if a frame was wrong.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import stress  # noqa: F401  (makes the shared modules known)
from relay import CHECKOUT

from stress.people import ENDS
from stress.session import Refused, Session
from stress.stage import Stage, blocking, started


class Person:
    """A user who connects and disconnects, and knows the last received position of each room."""

    def __init__(self, stage: Stage, number: int, rooms: list[str]):
        self.stage = stage
        self.random = stage.random
        self.user = f"person-{number}"
        self.rooms = rooms
        self.known: dict[str, tuple[str, int]] = {}
        self.sent = self.recovered = self.lives = 0

    async def live(self, until: float) -> None:
        while time.monotonic() < until:
            session = await self.stage.session(self.user, device="phone", acks=self.random.random() < 0.7)
            self.lives += 1
            try:
                await self._one_life(session, min(until, time.monotonic() + self.random.expovariate(1 / 20)))
            except ConnectionError:
                pass  # the relay ended the session, and the session checks how
            await ENDS[self.random.choice(list(ENDS))](session)
            await self._forget(session)
            await asyncio.sleep(self.random.expovariate(1 / 3))

    async def _one_life(self, session: Session, until: float) -> None:
        if self.random.random() < 0.3:
            await session.request("device", device="phone", platform="simulator", token=self.user)
        for room in self.random.sample(self.rooms, 3):
            await self._join(session, room)
        while time.monotonic() < until and session.is_open:
            await self._act(session)
            session.inbox.clear()
            await asyncio.sleep(self.random.expovariate(2.5))

    async def _join(self, session: Session, room: str) -> None:
        fields = {}
        if room in self.known:
            epoch, seq = self.known[room]
            fields = {"after": {"epoch": epoch, "seq": seq}, "history": 5}
        reply = await session.join(room, **fields)
        self.recovered += reply.get("recovered") is True

    async def _act(self, session: Session) -> None:
        room = self.random.choice(list(session.rooms)) if session.rooms else self.random.choice(self.rooms)
        choice = self.random.random()
        try:
            if room not in session.rooms:
                await self._join(session, room)
            elif choice < 0.5:
                self.sent += 1
                await session.send(room, {"text": f"{self.user} {self.sent}", "more": "x" * self.random.randrange(200)})
            elif choice < 0.6:
                await session.request("signal", room=room, name="typing")
            elif choice < 0.7:
                seq = session.rooms[room].position
                await session.request(self.random.choice(["received", "read"]), room=room, seq=seq)
            elif choice < 0.78:
                await session.request("focus", isFocused=self.random.choice([True, False, None]))
            elif choice < 0.84:
                await session.request("activity", state=self.random.choice(["active", "idle", "background"]))
            elif choice < 0.88:
                users = [f"person-{self.random.randrange(60)}" for _ in range(3)]
                await session.request(self.random.choice(["watch", "unwatch", "presence"]), users=users)
            elif choice < 0.92:
                await session.request("history", room=room, limit=20)
            elif choice < 0.96:
                await session.request("leave", room=room, stay=self.random.random() < 0.7)
            else:
                await self.stage.http("PUT", f"/v1/users/{self.user}/focus", {"isFocused": True})
        except Refused as refused:
            if refused.code not in ("rate_limited", "not_joined"):
                raise

    async def _forget(self, session: Session) -> None:
        """Checks what the session received, and keeps only the positions."""
        for reception in session.receptions:
            await self.stage._settle_reception(session, reception, 0)
        for room, reception in session.rooms.items():
            if not reception.lacks(reception.position):
                self.known[room] = (reception.epoch, reception.position)
        self.stage.sessions.remove(session)


def resident(pid: int) -> float:
    """Returns the resident memory, in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


async def measure(pid: int, until: float, samples: list[tuple[float, float]]) -> None:
    begun = time.monotonic()
    while time.monotonic() < until:
        await asyncio.sleep(5)
        samples.append((time.monotonic() - begun, resident(pid)))
        if len(samples) % 12 == 0:
            print(f"{samples[-1][0]:6.0f} s  {samples[-1][1]:7.1f} MiB", flush=True)


async def soak(options: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="stillwire-soak-") as folder:
        relay = await started(Path(folder), "--presence-grace", "2", "--log-level", "warning")
        stage = Stage("soak", options.seed, relay)
        rooms = [f"room-{number}" for number in range(options.rooms)] + ["live.one", "live.two"]
        people = [Person(stage, number, rooms) for number in range(options.people)]
        samples: list[tuple[float, float]] = []
        until = time.monotonic() + options.minutes * 60
        async with asyncio.TaskGroup() as group:
            group.create_task(measure(relay.pid, until, samples))
            for person in people:
                group.create_task(person.live(until))
        later = samples[len(samples) // 2 :]
        slope = statistics.linear_regression(*zip(*later)).slope if len(later) > 2 else float("nan")
        metrics = await stage.metrics()
        code = await blocking(relay.stop)
        figures = {
            "seed": options.seed,
            "minutes": options.minutes,
            "people": options.people,
            "lives": sum(person.lives for person in people),
            "sent": sum(person.sent for person in people),
            "recovered": sum(person.recovered for person in people),
            "faults": len(stage.witness.faults),
            "exit": code,
            "memory_mib": {"begin": samples[0][1], "half": later[0][1], "end": samples[-1][1]},
            "slope_mib_per_hour": round(slope * 3600, 2),
            "sessions_left": metrics["stillwire_sessions"],
        }
        print(json.dumps(figures, indent=2))
        for fault in stage.witness.faults:
            print(fault)
        return 1 if stage.witness.faults or code else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m stress.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--people", type=int, default=60)
    parser.add_argument("--rooms", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--binary", default=None, help="the relay (default: STILLWIRE_BINARY, or the release build)")
    options = parser.parse_args()
    binary = options.binary or os.environ.get("STILLWIRE_BINARY") or CHECKOUT / ".build/release/stillwire"
    os.environ["STILLWIRE_BINARY"] = os.path.abspath(binary)
    return asyncio.run(soak(options))


if __name__ == "__main__":
    sys.exit(main())
