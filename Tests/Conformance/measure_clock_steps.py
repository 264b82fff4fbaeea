#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what a step of a clock changes under load, and prints a table. Exits with 1 after a fault.

    python3 Tests/Conformance/measure_clock_steps.py [--only client relay extension tokens] [--steps "-1 h" "+40 d"]
      [--clients javascript swift]

A wall clock is set ahead or back, and later set right again:

- `client`: the clock of the app with the client under test
- `relay`: the clock of the relay
- `extension`: the clock of an app's extension, which reports Focus and filters with StillwireExtension
- `tokens`: the clock of the backend that signs the tokens: HS256 for the JavaScript client, EdDSA for the Swift client

Meanwhile two users publish, and the client under test sends with keys and loses replies. A call rings, pushes are held
or wait for the grace, bans end, and old messages are deleted. Each cell states what was measured. A cell with FAULT
names something that was lost, doubled or stuck, or a duration that the step changed.

These values follow the relay's clock, as the documentation promises: the end of a ban, the answer to a new token, and
the deletion by age after a step of less than an hour.

Set `STILLWIRE_BINARY` for another relay than the debug build, and `NODE` for another Node than that of the path.
"""

import argparse
import asyncio
import itertools
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "EndToEnd" / "shared"), str(HERE.parent / "EndToEnd")]

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: E402
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: E402

import tokens  # noqa: E402
from api import Answer, call  # noqa: E402
from clients import CHECKOUT, CLIENTS  # noqa: E402
from database import value  # noqa: E402
from driver import Driver  # noqa: E402
from line import MuteLine  # noqa: E402
from relay import Relay, run, running  # noqa: E402
from rfc6455 import Connection  # noqa: E402
from wall_clock import Clock  # noqa: E402

STEPS = {"-1 h": -3_600, "+10 min": 600, "+40 d": 40 * 86_400}
PLACES = ("client", "relay", "extension", "tokens")
COLUMNS = ("messages", "keys", "Focus", "filter", "calls", "holds", "bans", "tokens", "history")
#: Durations in seconds: the life of the client's tokens, the ringing, the grace, the age limit of the room `old`, the
#: long and the short ban, and the minimum time between the step and the step back.
LIFE, RINGING, GRACE, AGE, BAN, SHORT_BAN, PHASE = 12, 5, 4, 12, 20, 3, 6
#: Number of messages in the room `old`.
OLD = 5
#: Seconds by which a measured duration may differ. It may also be longer by the lag of this program.
SLACK = 1.5
#: Seconds after which something that must happen counts as stuck.
PATIENCE = 30
#: Seconds by which `nbf` of a token may be ahead of the relay's clock.
NBF_SLACK = 60
#: Messages a second of the client under test, and of each publisher. Of these, every fifth is in the client's room,
#: because a client that was away recovers 300 messages.
OWN_RATE, RATE, PART = 5, 30, 5
#: The relay suspends the deletion by age after a step of more seconds. It may also do so after a step of this length,
#: because it measures a little more or less.
LARGE = 3_600


ROOMS = [
    {"match": "old", "history": {"age": AGE}}, {"match": "live.*", "history": {"count": 0}},
    {"match": "*", "history": {"age": 3_600, "count": 10_000}},
]  # fmt: skip


class Stuck(Exception):
    """Something that must happen has not happened."""


async def until(condition: Callable[[], Any], what: str, within: float = PATIENCE) -> Any:
    """Returns the first true value of `condition`, which may return an awaitable."""
    end = time.monotonic() + within
    while True:
        found = condition()
        if asyncio.iscoroutine(found):
            found = await found
        if found:
            return found
        if time.monotonic() > end:
            raise Stuck(f"{what} within {within:g} s")
        await asyncio.sleep(0.05)


class Backend:
    """The token function of the app's backend, with a clock of its own."""

    def __init__(self) -> None:
        self.offset = 0
        self._key = Ed25519PrivateKey.generate()

    def keys(self, folder: Path) -> str:
        """Returns the setting `tokens.keys` of the relay."""
        public = folder / "public.pem"
        public.write_bytes(self._key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
        return f"HS256::{tokens.secret_file(folder)} EdDSA:e:{public}"

    def sign(self, user: str, algorithm: str, life: int, has_start: bool = True) -> str:
        now = int(time.time()) + self.offset
        start = {"nbf": now} if has_start else {}
        payload = tokens.claims(user, iat=now, exp=now + life, **start)
        if algorithm == "HS256":
            return tokens.token(tokens.SECRET, payload)
        signed = ".".join(map(tokens.encoded, ({"alg": "EdDSA", "kid": "e"}, payload)))
        return f"{signed}.{tokens.base64url(self._key.sign(signed.encode()))}"


class App(Driver):
    """A driver that asks `sign` for its tokens, and keeps all its output with the time."""

    def __init__(self, command: list[str], url: str, options: dict[str, Any], sign: Callable[[], str]):
        super().__init__(command, url, options)
        self.seen: list[tuple[float, str, dict[str, Any]]] = []
        self._sign = sign
        self._tags = itertools.count(1)

    async def _read(self) -> None:
        async for line in self._process.stdout:
            event = json.loads(line)
            kind = event.pop("app")
            self.seen.append((time.monotonic(), kind, event))
            self.events[kind].put_nowait(event)
            if kind == "token":
                self.command("token", token=self._sign())

    def all(self, *kinds: str) -> list[dict[str, Any]]:
        return [event for _, kind, event in self.seen if kind in kinds]

    @property
    def state(self) -> str:
        states = self.all("state")
        return states[-1]["state"] if states else "closed"

    async def result(self, name: str, within: float = PATIENCE, **fields: Any) -> dict[str, Any]:
        """Executes a command, and returns its reply, or the failure with its `code`."""
        tag = f"tag {next(self._tags)}"
        self.command(name, tag=tag, **fields)

        def found() -> dict[str, Any] | None:
            return next((one for one in self.all("replied", "failed") if one["tag"] == tag), None)

        event = await until(found, f"no result of {name}", within)
        return event.get("reply", event)


class User:
    """A user with a raw session. `frames` has all frames of the relay with their times."""

    def __init__(self, line: Connection):
        self.line = line
        self.frames: list[tuple[float, dict[str, Any]]] = []
        self._ids = itertools.count(1)
        line.on_text = lambda text: self.frames.append((time.monotonic(), json.loads(text)))

    @classmethod
    async def open(cls, port: int, token: str) -> "User":
        """Connects. The first frame is the reply to `hello`, or its refusal."""
        self = cls(await Connection.open(port))
        self.line.send_text(json.dumps({"type": "hello", "token": token}))
        await until(lambda: self.frames, "no reply to hello")
        return self

    def begin(self, type: str, **fields: Any) -> int:
        number = next(self._ids)
        self.line.send_text(json.dumps({"type": type, "id": number, **fields}))
        return number

    def reply(self, number: int) -> dict[str, Any] | None:
        return next((frame for _, frame in reversed(self.frames) if frame.get("id") == number), None)

    async def ask(self, type: str, **fields: Any) -> dict[str, Any]:
        number = self.begin(type, **fields)
        return await until(lambda: self.reply(number), f"no reply to {type}")

    async def do(self, type: str, **fields: Any) -> dict[str, Any]:
        """Sends a request that must succeed."""
        reply = await self.ask(type, **fields)
        if reply["type"] == "error":
            raise Stuck(f"{type} is refused: {reply}")
        return reply


class Row:
    """One step at one place: the load, the step, the step back, and the checks."""

    def __init__(self, place: str, client: str, step: str):
        self.place, self.client, self.step, self.seconds = place, client, step, STEPS[step]
        self.cells: dict[str, list[str]] = {column: [] for column in COLUMNS}
        self.has_fault = False
        self.algorithm = "EdDSA" if client == "swift" else "HS256"
        # A relay that is 10 min ahead must accept a new token, so that the client returns to it.
        self.life = 1_500 if place == "relay" else LIFE
        self.backend = Backend()
        self.is_over = False
        self.acknowledged: dict[str, list[Any]] = {"ann": [], "ben": []}
        self.unanswered = self.own = self.jumps = 0
        self.replies: list[tuple[str, dict[str, Any]]] = []
        self.repeated: list[bool] = []
        self.own_focus: list[bool] = []
        self.watches: list[asyncio.Task[Any]] = []
        #: The longest time in seconds by which a request or a short sleep of this program was late. On a machine with
        #: other work, the end of a duration is measured late.
        self.lag = 0.0

    def note(self, column: str, text: str, is_right: bool = True) -> None:
        self.has_fault |= not is_right
        self.cells[column].append(text if is_right else f"FAULT: {text}")

    def is_length(self, took: float, due: float) -> bool:
        """Returns true if a measured duration has its right length."""
        return due - SLACK < took < due + SLACK + self.lag

    def print(self) -> None:
        cells = " | ".join("; ".join(self.cells[column]) or "not measured" for column in COLUMNS)
        print(f"| {self.place} | {self.client} | {self.step} and back | {cells} |", flush=True)

    async def run(self) -> "Row":
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.clock = Clock(folder)
            (folder / "stillwire.json").write_text(json.dumps({"rooms": ROOMS}))
            made = run("api-key", "measure", "--file", folder / "keys")
            assert made.returncode == 0, made.stderr
            self.api_key = made.stdout.strip()
            options = (
                *("--config", folder / "stillwire.json", "--api-keys-file", folder / "keys", "--rooms-invitations", "none"),
                *("--tokens-keys", self.backend.keys(folder), "--tokens-grace", 0, "--simulated-phones", "true"),
                *("--presence-grace", GRACE, "--limits-send-rate", 0, "--limits-focus-rate", 1_000),
            )
            self.part = "messages"
            try:
                with running(folder, *options, under=self.under("relay")) as self.relay:
                    await self.measure(folder)
            except Exception as error:
                # The other rows are still measured.
                self.note(self.part, " ".join(f"{type(error).__name__}: {error}".split())[:300], False)
        return self

    def under(self, place: str) -> tuple[str, ...]:
        """Returns the start of the command of a program at this place."""
        return self.clock.under if place == self.place else ()

    async def measure(self, folder: Path) -> None:
        numbers = folder / "numbers"
        numbers.mkdir()
        self.numbers = str(numbers)
        options = {"tokens": "ask", "hello": {"device": "phone"}, "clock": "real", "random": [0.3]}

        def sign() -> str:
            # Without `nbf`, the client also returns to a relay whose clock was set back.
            return self.backend.sign("cat", self.algorithm, self.life, has_start=self.place != "relay")

        async with MuteLine(self.relay.port) as self.line:
            command = [*self.under("client"), *CLIENTS[self.client]]
            async with App(command, self.line.url, options, sign) as self.app:
                if self.place != "extension":
                    self.reporter = self.app
                    await self.play()
                    return
                direct = f"ws://127.0.0.1:{self.relay.port}/v1/connect"
                command = [*self.under("extension"), *CLIENTS["swift"]]
                async with App(command, direct, options, sign) as self.reporter:
                    await self.play()

    # The load

    async def api(self, method: str, path: str, body: Any = None) -> Answer:
        start = time.monotonic()
        answer = await asyncio.to_thread(call, self.relay, method, path, body, token=self.api_key)
        self.lag = max(self.lag, time.monotonic() - start)
        return answer

    async def put(self, path: str, body: Any) -> Any:
        answer = await self.api("PUT", path, body)
        assert answer.status in (200, 201), answer
        return answer.json

    async def get(self, path: str) -> Any:
        answer = await self.api("GET", path)
        assert answer.status == 200, answer
        return answer.json

    async def user(self, name: str) -> User:
        """Opens a session that does not depend on the measured token function."""
        honest = tokens.token(tokens.SECRET, tokens.claims(name))
        return await User.open(self.relay.port, honest)

    def watch(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Starts a measurement that runs beside the others."""
        self.watches.append(asyncio.create_task(work))
        return self.watches[-1]

    async def publish(self, name: str) -> None:
        user = self.people[name]
        sent: dict[int, Any] = {}
        for number in itertools.count(1):
            if self.is_over or user.line.ended.done():
                break
            body = [name, number]
            room = "busy" if number % PART else "tea"
            sent[user.begin("send", room=room, body=body, push=False)] = body
            await asyncio.sleep(1 / RATE)
        # The check names a session that has ended.
        if not user.line.ended.done():
            await user.ask("ping")
        ids = {frame["id"] for _, frame in user.frames if frame["type"] == "ok" and frame.get("id") in sent}
        self.acknowledged[name] = [sent[number] for number in sorted(ids)]
        self.unanswered += len(sent) - len(ids)

    async def send_own(self) -> None:
        while not self.is_over:
            self.own += 1
            self.app.command("send", tag=f"own {self.own}", room="tea", body=["cat", self.own], push=False)
            due = time.monotonic() + 1 / OWN_RATE
            await asyncio.sleep(1 / OWN_RATE)
            self.lag = max(self.lag, time.monotonic() - due)

    async def play(self) -> None:
        await self.prepare()
        loads = [asyncio.create_task(work) for work in (self.publish("ann"), self.publish("ben"), self.send_own())]
        try:
            await self.before()
            self.step_at = time.monotonic()
            await self.set(self.seconds)
            await self.during()
            self.back_at = time.monotonic()
            await self.set(0)
            await self.after()
        finally:
            self.is_over = True
            for watch in self.watches:
                watch.cancel()
            await asyncio.gather(*loads)
        await self.check_messages()

    async def prepare(self) -> None:
        """Connects everybody, and registers the phones."""
        names = ("ann", "ben", "cara", "gus", "guy", "joe", "kim", "rae")
        self.people = {name: await self.user(name) for name in names}
        ann = self.people["ann"]
        await ann.do("create", room="tea", members=["ben", "cat", "rae"])
        await ann.do("create", room="busy", members=["ben"])
        for name in ("ann", "ben", "rae"):
            await self.people[name].do("join", room="tea")
        for name in ("ann", "ben"):
            await self.people[name].do("join", room="busy")
        rooms = {"calls": ["cara", "cat"], "club": [], "old": [], "hold": ["hal"], "den": ["fay"]}
        rooms["porch"] = ["gus", "guy"]
        for room, members in rooms.items():
            await ann.do("create", room=room, members=members)
            await ann.do("join", room=room)
        for name in ("gus", "guy"):
            await self.people[name].do("join", room="porch")
        self.keys = {}
        for name in ("hal", "fay", "gus", "guy"):
            phone = {"platform": "simulator", "token": f"{name}-phone"}
            self.keys[name] = (await self.put(f"/v1/users/{name}/devices/phone", phone))["reportKey"]
            await self.put(f"/v1/users/{name}/preferences", {"onFocus": "hold"})
        await self.people["rae"].do("join", room="live.tea")
        self.app.command("connect")
        self.app.command("join", room="tea")
        await until(lambda: self.app.all("joined"), "the client has not joined")

    async def report(self, name: str, report: str, **fields: Any) -> bool:
        """Reports with the report key of a user's phone. Returns true if the report was applied."""
        fields |= {"report": report, "key": self.keys[name], "device": "phone", "numbers": self.numbers}
        end = time.monotonic() + PATIENCE
        # The timeout of the libraries is short. On a machine with other work, the app repeats the report.
        while (reply := await self.reporter.result("report", **fields)).get("code") == "unreachable":
            if time.monotonic() > end:
                break
        self.replies.append((report, reply))
        return reply.get("applied") is True

    async def ring(self, name: str) -> None:
        """Rings, and measures the time until the call is missed."""
        caller = self.people["cara"]
        number = caller.begin("ring", room="calls", media="audio", push={"expires": RINGING})
        rung = await until(lambda: caller.reply(number), "no reply to ring")
        start = next(at for at, frame in caller.frames if frame.get("id") == number)
        seq = rung["seq"]

        def ended() -> list[float]:
            calls = [(at, frame) for at, frame in caller.frames if frame["type"] == "call" and frame["seq"] == seq]
            return [at for at, frame in calls if frame["state"] != "ringing"]

        ends = await until(ended, f"the call {name} still rings", RINGING + PATIENCE)
        stored = await self.get(f"/v1/rooms/calls/calls/{seq}")
        took = ends[0] - start
        is_right = self.is_length(took, RINGING) and len(ends) == 1 and stored["state"] == "missed"
        text = f"rang {took:.1f} s" if is_right else f"{stored['state']} after {took:.1f} s, {len(ends)} ends"
        if self.place in ("client", "extension"):
            # The client is open at the end of the call.
            await until(lambda: self.app_calls(seq)[-1:] == ["missed"], f"the call {name} still rings in the app")
            count = self.app_calls(seq).count("missed")
            text += ", ends in the app" if count == 1 else f", ends {count} times in the app"
            is_right &= count == 1
        self.note("calls", f"{name}: {text}", is_right)

    def app_calls(self, seq: int) -> list[str]:
        """Returns the states of a call that the app has received."""
        return [event["state"] for event in self.app.all("call") if event["seq"] == seq]

    async def leave_in_grace(self, user: str, name: str) -> None:
        """A message to a user whose connection has just been lost is pushed at the end of the grace."""
        self.people[user].line.reset()
        start = time.monotonic()
        await self.people["ann"].do("send", room="porch", body=f"grace {name}")
        await until(lambda: self.shown(user, f"grace {name}"), f"no push after the grace {name}")
        took = time.monotonic() - start
        self.note("holds", f"{name}: pushed after a grace of {took:.1f} s", self.is_length(took, GRACE))

    async def shown(self, name: str, text: str) -> int:
        """Returns how often the phone has shown a text."""
        answer = await self.api("GET", f"/v1/simulator/devices/{name}-phone")
        # The simulated gateway does not know a phone before its first notification.
        shown = answer.json["notifications"] if answer.status == 200 else []
        return sum(one["payload"]["aps"]["alert"].get("body") == text for one in shown)

    async def held(self) -> int:
        return len((await self.get("/v1/pushes?user=hal&state=held"))["pushes"])

    async def ban(self, name: str, seconds: float) -> None:
        end = int((time.time() + seconds) * 1_000)
        answer = await self.api("DELETE", f"/v1/rooms/club/members/{name}?ban=true&until={end}")
        assert answer.status == 204, answer

    async def is_banned(self, name: str) -> bool:
        reply = await self.people[name].ask("join", room="club")
        return reply.get("code") == "forbidden"

    async def watch_old(self) -> None:
        """Measures the times at which the first and the last message of the room `old` are deleted."""
        since = time.monotonic()
        self.old_ages: list[float] = []
        self.old_times: list[float] = []
        while len(self.old_times) < OLD:
            deleted = OLD - len(await self.stored("old"))
            self.old_times += [time.monotonic()] * (deleted - len(self.old_times))
            await asyncio.sleep(0.2)
        self.old_ages = [at - since for at in self.old_times]

    async def repeat(self) -> None:
        """Repeats two sends with their keys."""
        for room, sent in self.paid.items():
            again = await self.people["rae"].ask("send", room=room, body=["rae", "pay"], key="k")
            self.repeated.append(again.get("duplicate") is True and again.get("seq") == sent["seq"])

    async def set(self, seconds: int) -> None:
        """Sets the clock at the place of this row."""
        if self.place == "tokens":
            self.backend.offset = seconds
        else:
            self.clock.set(seconds)
        if self.place == "relay":
            self.jumps += 1
            log = self.relay.log
            line = "the wall clock was set"
            await until(lambda: log.read_text().count(line) >= self.jumps, "the relay does not notice the step")

    # The parts of a row

    async def before(self) -> None:
        rae, ann = self.people["rae"], self.people["ann"]
        self.paid = {
            room: await rae.do("send", room=room, body=["rae", "pay"], key="k") for room in ("tea", "live.tea")
        }
        for number in range(OLD):
            await ann.do("send", room="old", body=number, push=False)
        self.old = self.watch(self.watch_old())
        self.part = "holds"
        assert await self.report("hal", "focus", isFocused=True), self.replies
        await ann.do("send", room="hold", body="held")
        await until(self.held, "the push is not held")
        self.part = "Focus"
        await self.report("fay", "focus", isFocused=True)
        await self.report("fay", "filter", allow=["work"])
        await self.session_focus(True)
        await self.expect_reports("before", True, True)
        await self.lose_a_reply()
        if self.place == "tokens":
            # The session is open at the step, so that the client renews its token after it.
            self.line.cut()
            await until(lambda: len(self.app.all("joined")) > 1, "the client does not return")
        self.banned_at = time.monotonic()
        await self.ban("joe", BAN)
        await self.ban("kim", SHORT_BAN)
        self.short = self.watch(self.watch_short_ban())
        self.waits = [self.watch(self.ring("over the step")), self.watch(self.leave_in_grace("gus", "over the step"))]
        caller = self.people["cara"]
        await until(lambda: any(frame["type"] == "call" for _, frame in caller.frames), "no call rings")

    async def lose_a_reply(self) -> None:
        """Loses all bytes to the client, until it has sent a message without a reply. The client will send it again."""
        self.part = "keys"
        self.line.is_mute = True
        # A send that failed with `uncertain` is stored.
        await until(lambda: self.stored_own() > len(self.own_results("sent", "failed")), "the relay gets no send")

    def own_results(self, *kinds: str) -> list[dict[str, Any]]:
        """Returns the results of the client's sends."""
        return [one for one in self.app.all(*kinds) if str(one.get("tag")).startswith("own ")]

    def stored_own(self) -> int:
        """Returns how many of the client's messages a member has received."""
        frames = (frame for _, frame in self.people["ann"].frames)
        return sum(frame["type"] == "message" and frame["room"] == "tea" and frame["from"] == "cat" for frame in frames)

    async def session_focus(self, is_focused: bool) -> None:
        reply = await self.app.result("focus", isFocused=is_focused)
        self.own_focus.append(reply.get("applied") is True)

    async def expect_reports(self, when: str, is_focused: bool, is_filtered: bool) -> None:
        """Waits until the relay uses the newest reports of Fay's phone."""

        async def has_focus() -> bool:
            return (await self.get("/v1/users/fay/presence"))["isFocused"] is is_focused

        async def has_filter() -> bool:
            asked = {"room": "den", "from": "ann", "user": "fay", "push": {"criteria": "play"}}
            answer = await self.api("POST", "/v1/decisions", asked)
            reasons = [reason["code"] for one in answer.json["devices"] for reason in one["decision"]["reasons"]]
            return ("filtered" in reasons) is is_filtered

        for column, condition in (("Focus", has_focus), ("filter", has_filter)):
            self.part = column
            await until(condition, f"the newest {column} report {when} does not count", 10)

    async def during(self) -> None:
        """The time in which the clock is wrong."""
        start = time.monotonic()
        if self.place != "tokens":
            self.line.cut()
        self.part = "keys"
        await self.repeat()
        self.part = "tokens"
        await self.try_tokens()
        self.part = "Focus"
        await self.report("fay", "focus", isFocused=False)
        await self.report("fay", "filter", allow=None)
        await self.expect_reports("during the step", False, False)
        await self.check_numbers()
        if self.app.state == "open":
            await self.session_focus(False)
        self.part = "holds"
        is_held = await self.held() == 1 and not await self.shown("hal", "held")
        self.note("holds", "still held" if is_held else "not held during the step", is_held)
        await asyncio.gather(*self.waits)
        if self.place == "tokens" and self.is_refused:
            self.part = "tokens"
            await until(lambda: self.app.state == "waiting", "the session with the old token does not end", LIFE + 5)
        await asyncio.sleep(max(0, start + PHASE - time.monotonic()))
        name = "over the step back"
        self.waits = [self.watch(self.ring(name)), self.watch(self.leave_in_grace("guy", name))]
        await asyncio.sleep(0.3)
        if self.app.state == "open":
            await self.lose_a_reply()
        self.was_open = self.app.state == "open"

    async def check_numbers(self) -> None:
        """Proves that the reports came from a clock that is ahead: their numbers are times of this clock."""
        if self.place not in ("client", "extension") or self.seconds < 0:
            return
        query = "SELECT max(number) FROM {}"
        for column, table in (("Focus", "focus"), ("filter", "filters")):
            number = await asyncio.to_thread(value, self.relay, query.format(table))
            ahead = number / 1_000 - time.time()
            self.note(column, f"numbers {ahead:.0f} s ahead", abs(ahead - self.seconds) < NBF_SLACK)

    async def try_tokens(self) -> None:
        """Connects with new tokens of the token function, with and without `nbf`."""
        expected_shift = {"relay": -self.seconds, "tokens": self.seconds}.get(self.place, 0)
        answers = []
        for has_start in (True, False):
            user = await User.open(self.relay.port, self.backend.sign("dan", self.algorithm, self.life, has_start))
            frame = user.frames[0][1]
            if frame["type"] == "welcome":
                answers.append("accepted")
                user.line.close()
            else:
                await user.line.end()
                answers.append(f"{user.line.code} {frame.get('message', '')}".strip())
        # The relay refuses a token that has expired by its clock, or that begins more than 60 s ahead of it.
        expected = ["4002" if expected_shift <= -self.life else "accepted"] * 2
        if expected_shift > NBF_SLACK:
            expected[0] = "4007"
        is_right = all(answer.startswith(want) for answer, want in zip(answers, expected))
        self.is_refused = not answers[0].startswith("accepted")
        text = answers[0] if answers[0] == answers[1] else f"{answers[0]}, without nbf {answers[1]}"
        self.note("tokens", f"a new token: {text}", is_right)

    async def watch_short_ban(self) -> None:
        """Measures the end of the short ban. Follows the relay's clock."""
        await until(lambda: self.not_banned("kim"), "the short ban does not end", PHASE + LIFE + PATIENCE)
        self.short_end = time.monotonic()

    async def watch_long_ban(self) -> float:
        """Measures the length of the long ban, which ends after the step back."""
        await until(lambda: self.not_banned("joe"), "the long ban does not end", BAN + PATIENCE)
        return time.monotonic() - self.banned_at

    def check_short_ban(self) -> None:
        took = self.short_end - self.banned_at
        shift = self.seconds if self.place == "relay" else 0
        if shift < 0:
            text = f"the short one ended after {took:.1f} s, with the step back"
            self.note("bans", text, self.short_end > self.back_at)
        elif shift > 0:
            since = self.short_end - self.step_at
            self.note("bans", f"the short one ended {since:.1f} s after the step", took < SHORT_BAN + SLACK + self.lag)
        else:
            self.note("bans", f"the short one ended after {took:.1f} s of {SHORT_BAN}", self.is_length(took, SHORT_BAN))

    async def not_banned(self, name: str) -> bool:
        return not await self.is_banned(name)

    async def after(self) -> None:
        self.part = "tokens"
        if self.was_open:
            self.line.cut()
            await until(lambda: self.app.state != "open", "the client does not notice the lost connection")
        await until(lambda: self.app.state == "open", "the client does not return")
        took = time.monotonic() - self.back_at
        self.long = self.watch(self.watch_long_ban())
        self.part = "keys"
        await self.repeat()
        self.part = "Focus"
        await self.report("fay", "focus", isFocused=True)
        await self.report("fay", "filter", allow=["home"])
        await self.expect_reports("after the step back", True, True)
        await self.session_focus(True)
        self.check_reports()
        self.part = "holds"
        is_held = await self.held() == 1 and not await self.shown("hal", "held")
        released = time.monotonic()
        await self.report("hal", "focus", isFocused=False)
        await until(lambda: self.shown("hal", "held"), "the held push does not come")
        shown = f"released {time.monotonic() - released:.1f} s after the Focus"
        self.part = "calls"
        await asyncio.gather(*self.waits)
        self.part = "bans"
        took_ban = await self.long
        self.note("bans", f"the long one ended after {took_ban:.1f} s of {BAN}", self.is_length(took_ban, BAN))
        await self.short
        self.check_short_ban()
        await self.check_history()
        self.part = "holds"
        count = await self.shown("hal", "held")
        shown = f"{shown}, once" if count == 1 else f"shown {count} times"
        self.note("holds", shown if is_held else "not held after the step back", is_held and count == 1)
        refusals = sum(event["state"] == "waiting" for event in self.app.all("state"))
        calls = len(self.app.all("token"))
        state = "open until the step back" if self.was_open else "waiting until the step back"
        self.note("tokens", f"{calls} tokens, {refusals} waits, {state}, open {took:.1f} s after it")

    # The checks

    def check_reports(self) -> None:
        for report, column in (("focus", "Focus"), ("filter", "filter")):
            replies = [reply for kind, reply in self.replies if kind == report]
            applied = sum(reply.get("applied") is True for reply in replies)
            codes = "".join(f", {reply['code']}" for reply in replies if "code" in reply)
            self.note(column, f"{applied}/{len(replies)} applied{codes}", applied == len(replies))
            if report == "focus":
                count = sum(self.own_focus)
                self.note(column, f"session {count}/{len(self.own_focus)}", count == len(self.own_focus))
            self.note(column, "the newest counts each time")

    async def check_history(self) -> None:
        """The room `old` keeps its messages for their age, or longer if the relay's clock is suspected."""
        self.part = "history"
        if (waits := (await self.get("/ready")).get("clock")):
            left = len(await self.stored("old"))
            confirmed = (await self.api("POST", "/v1/clock/confirm")).json
            is_right = self.place == "relay" and abs(self.seconds) >= LARGE
            text = f"waits ({waits['cause']}), keeps {left}/{OLD}, deletes after the confirmation"
            self.note("history", text, is_right and left == OLD and confirmed == {"waited": True})
            await self.all_deleted()
            return
        await self.all_deleted()
        first, last = self.old_ages[0], self.old_ages[-1]
        if self.place != "relay":
            # The relay deletes at intervals of a tenth of the age.
            is_right = AGE - SLACK < first and last < AGE * 1.1 + 2 * SLACK + self.lag
            self.note("history", f"deleted after {last:.1f} s of {AGE}, no wait", is_right)
        elif self.seconds > 0:
            since = self.old_times[0] - self.step_at
            self.note("history", f"deleted {since:.1f} s after the step, no wait", self.seconds < LARGE)
        else:
            since = self.old_times[0] - self.back_at
            self.note("history", f"kept while it was back, deleted {since:.1f} s later", since > 0)

    async def all_deleted(self) -> None:
        await until(self.old.done, "the old messages are not deleted")
        await self.old

    async def stored(self, room: str) -> list[dict[str, Any]]:
        """Returns all messages of a room."""
        stored: list[dict[str, Any]] = []
        while True:
            after = stored[-1]["seq"] if stored else 0
            page = await self.get(f"/v1/rooms/{room}/messages?after={after}&limit=300")
            stored += page["messages"]
            if not page["more"]:
                return stored

    async def check_messages(self) -> None:
        """Each acknowledged message is stored once, and the client's app got each stored one once and in order."""
        self.part = "messages"
        await until(lambda: len(self.own_results("sent", "failed")) >= self.own, "sends of the client have no result")
        sent, failed = self.own_results("sent"), self.own_results("failed")
        stored = await self.stored("tea")
        seqs = [one["seq"] for one in stored]
        first = self.app.all("joined")[0]["seq"]
        due = [one for one in seqs if one > first]
        await until(lambda: len(self.app.all("message")) >= len(due), "messages do not reach the app", 10)
        await self.app.settle()
        shown = [one["seq"] for one in self.app.all("message") if one["seq"] > first]
        bodies = [json.dumps(one["body"]) for one in [*stored, *await self.stored("busy")]]
        expected = [json.dumps(body) for name in ("ann", "ben") for body in self.acknowledged[name]]
        lost = len(set(expected) - set(bodies))
        doubled = len(bodies) - len(set(bodies))
        resets = len(self.app.all("reset"))
        is_right = not lost and not doubled and shown == due and not resets and not self.unanswered
        text = f"kept {len(set(expected)) - lost}/{len(expected)}, shown {len(set(shown))}/{len(due)}"
        if not is_right:
            text += f", lost {lost}, doubled {doubled}, resets {resets}, unanswered {self.unanswered}"
            text += ", in order" if shown == due else ", not the stored order"
        self.note("messages", text, is_right)
        open_lines = [name for name in ("ann", "ben", "rae", "cara") if not self.people[name].line.ended.done()]
        self.note("tokens", f"{len(open_lines)}/4 other sessions open", len(open_lines) == 4)
        once = sum(bodies.count(json.dumps(["cat", number + 1])) == 1 for number in range(self.own))
        duplicates = sum(one["reply"].get("duplicate") is True for one in sent)
        codes = "".join(f", failed with {one['code']}" for one in failed)
        text = f"{once}/{self.own} sends stored once, {len(sent)} replies, {duplicates} of repeated sends{codes}"
        self.note("keys", text, once == self.own == len(sent) and not failed)
        count = sum(self.repeated)
        self.note("keys", f"{count}/{len(self.repeated)} repetitions are duplicates", count == len(self.repeated))


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=PLACES, default=list(PLACES))
    parser.add_argument("--steps", nargs="+", choices=list(STEPS), default=list(STEPS))
    parser.add_argument("--clients", nargs="+", choices=list(CLIENTS), default=list(CLIENTS))
    options = parser.parse_args()
    os.environ.setdefault("STILLWIRE_BINARY", str(CHECKOUT / ".build" / "debug" / "stillwire"))
    CLIENTS["javascript"][0] = os.environ.get("NODE", "node")
    print(f"| clock of | client | step | {' | '.join(COLUMNS)} |")
    print("|---" * (len(COLUMNS) + 3) + "|", flush=True)
    has_fault = False
    for place in options.only:
        for client in options.clients if place != "extension" else ["javascript"]:
            # The rows mostly wait, so those of one place run together.
            for row in await asyncio.gather(*(Row(place, client, step).run() for step in options.steps)):
                row.print()
                has_fault |= row.has_fault
    return 1 if has_fault else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
