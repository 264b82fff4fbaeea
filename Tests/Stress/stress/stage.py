# SPDX-License-Identifier: Apache-2.0
"""The tools of a scenario: a relay, unique names, random numbers, and a witness."""

import asyncio
import itertools
import json
import random
import signal
import tempfile
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import tokens
from api import Answer, call
from frames import Frame
from metrics import Metrics
from relay import DEADLINE, Relay
from rfc6455 import Connection

from stress.faults import Fault
from stress.lines import SMALL_BUFFER, SlowConnection
from stress.session import Session
from stress.witness import Witness

#: Blocking calls (HTTP, the start and end of processes) wait on these threads and not in the event loop.
_threads = ThreadPoolExecutor(32, "blocking")
_numbers = itertools.count(1)


async def blocking(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Runs a blocking call on another thread and returns its result."""
    return await asyncio.get_running_loop().run_in_executor(_threads, lambda: function(*arguments, **named))


async def started(folder: Path, *options: object, guarded: bool = False, **settings: str) -> Relay:
    """Starts a relay with its data in this folder."""
    relay = Relay(folder, *options, secret=tokens.secret_file(folder) if guarded else None, **settings)
    return await blocking(relay.start)


class NoRoom(Exception):
    """The relay has no room of this name."""


class Stage:
    """One scenario's own part of a relay. `relay` is the shared one, if the scenario uses it."""

    def __init__(self, name: str, seed: int, relay: Relay | None):
        self.random = random.Random(f"{name} {seed}")
        self.relay = relay
        self.witness = Witness()
        #: The fault that is planted in all sessions, or None.
        self.fault: Fault | None = None
        self.sessions: list[Session] = []
        self._relay_of: dict[int, Relay] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self._number = next(_numbers)
        self._own: list[Relay] = []
        self._folders: list[tempfile.TemporaryDirectory] = []

    # Relays

    async def start(self, *options: object, guarded: bool = False, config: dict[str, Any] | None = None) -> Relay:
        """Starts a relay for this scenario alone. It becomes `relay` and must end cleanly."""
        folder = tempfile.TemporaryDirectory(prefix="stillwire-stress-")
        self._folders.append(folder)
        if config is not None:
            file = Path(folder.name) / "config.json"
            file.write_text(json.dumps(config))
            options += ("--config", file)
        self.relay = await started(Path(folder.name), *options, guarded=guarded)
        self._own.append(self.relay)
        return self.relay

    def configure(self, config: dict[str, Any]) -> None:
        """Writes a new configuration and makes the present relay reload it."""
        (self.relay.data.parent / "config.json").write_text(json.dumps(config))
        self.relay.signal(signal.SIGHUP)

    def kill(self) -> None:
        """Kills the present relay, as a power failure would end it."""
        for session in self.sessions:
            if self._relay_of[id(session)] is self.relay:
                session.connection.may_be_cut = True
        self.relay.kill()

    async def stop(self) -> None:
        """Ends the present relay cleanly."""
        code = await blocking(self.relay.stop)
        assert code == 0, f"ended with {code}:\n{self.relay.log.read_text()[-2000:]}"

    async def restart(self) -> None:
        """Starts the relay that has ended again."""
        await blocking(self.relay.start)

    async def metrics(self) -> Metrics:
        answer = await self.http("GET", "/metrics")
        assert answer.status == 200, answer
        return Metrics(answer.body.decode())

    # People and places

    def name(self, stem: str) -> str:
        return f"{stem}-{self._number}-{self.random.randrange(1 << 20):x}"

    def names(self, *stems: str) -> list[str]:
        return [self.name(stem) for stem in stems]

    def token(self, user: str, **claims: Any) -> str:
        return tokens.token(tokens.SECRET, tokens.claims(user, **claims))

    async def session(
        self,
        user: str,
        *,
        token: str | None = None,
        answers_pings: bool = True,
        receive_buffer: int | None = None,
        rate: float | None = None,
        **hello: Any,
    ) -> Session:
        """Opens a session of this user and waits for `welcome`. `rate`: the bytes that it reads in a second."""
        session = await self.stranger(user, receive_buffer=receive_buffer, rate=rate)
        session.connection.answers_pings = answers_pings
        if self.relay.secret is not None:
            hello["token"] = token or self.token(user)
        else:
            hello["user"] = user
        await session.request("hello", **hello)
        return session

    async def stranger(self, user: str, *, rate: float | None = None, **dial: Any) -> Session:
        """Opens a connection that has sent nothing yet."""
        if rate is None:
            connection = await Connection.open(self.relay.port, **dial)
        else:
            connection = await SlowConnection.open(self.relay.port, receive_buffer=SMALL_BUFFER)
            connection.rate = rate
        session = Session(self.witness, connection, user)
        session.name = f"{user}#{len(self.sessions)}"
        if self.fault is not None:
            self.fault.plant(session)
        self.belongs(session)
        return session

    def belongs(self, session: Session) -> None:
        """Adds a session that the scenario opened itself."""
        self.sessions.append(session)
        self._relay_of[id(session)] = self.relay

    def forget_ended(self) -> None:
        """Removes sessions that have ended, so that they are not checked later."""
        self.sessions = [session for session in self.sessions if session.is_open]

    async def sessions_of(self, count: int, stem: str = "guest", **hello: Any) -> list[Session]:
        """Opens sessions of this many users, up to 16 at a time."""
        gate = asyncio.Semaphore(16)

        async def one(user: str) -> Session:
            async with gate:
                return await self.session(user, **hello)

        return await self.all(one(self.name(f"{stem}{number}")) for number in range(count))

    async def http(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        user: str | None = None,
        token: str | None = None,
        **headers: str,
    ) -> Answer:
        """Sends an HTTP request. Header names have `_` instead of `-`."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        return await blocking(call, self.relay, method, path, body, user=user, token=token, headers=headers)

    async def post(self, room: str, body: Any, user: str, key: str | None = None, **fields: Any) -> Answer:
        """Sends a message over HTTP in open mode."""
        named = {} if key is None else {"Idempotency_Key": key}
        answer = await self.http(
            "POST", f"/v1/rooms/{quote(room, safe='')}/messages", {"body": body} | fields, user=user, **named
        )
        if answer.status == 201:
            for reception in [session.rooms[room] for session in self.sessions if room in session.rooms][:1]:
                seq = answer.json["seq"]
                self.witness.promised("http", room, reception.epoch, seq, user, json.dumps(body))
        return answer

    async def history(self, room: str, user: str = "auditor") -> tuple[str, list[Frame]]:
        """Returns the epoch and all messages of a room, page by page over HTTP."""
        messages: list[Frame] = []
        credential = {"user": user} if self.relay.secret is None else {"token": self.token(user)}
        while True:
            after = messages[-1]["seq"] if messages else 0
            path = f"/v1/rooms/{quote(room, safe='')}/messages?after={after}&limit=200"
            answer = await self.http("GET", path, **credential)
            if answer.status == 404:
                raise NoRoom(room)
            assert answer.status == 200, answer
            page = Frame(answer.body.decode())
            messages += page.messages
            if not page["more"]:
                return page["epoch"], messages

    async def eventually(self, condition: Callable[[], Awaitable[Any]], wanted: str, within: float = DEADLINE) -> Any:
        """Waits for the first true value of an asynchronous condition, and returns it."""
        end = asyncio.get_running_loop().time() + within
        while not (value := await condition()):
            assert asyncio.get_running_loop().time() < end, f"{wanted}: still {value!r}"
            await asyncio.sleep(0.05)
        return value

    async def all(self, parts: Any) -> list[Any]:
        """Returns the results of all of these coroutines. The first failure cancels the others."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(part) for part in parts]
        return [task.result() for task in tasks]

    def background(self, part: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Starts a coroutine, which ends with the scenario at the latest."""
        task = asyncio.create_task(part)
        # The scenario may not await it if it ends early.
        task.add_done_callback(lambda task: task.cancelled() or task.exception())
        self._background.add(task)
        return task

    # The end

    async def settle(self) -> None:
        """Compares all acknowledged and received messages with what the relay has stored."""
        rooms: dict[tuple[str, str], list[tuple[Session, Any]]] = {}
        for session in self.sessions:
            if self._relay_of[id(session)] is self.relay:
                for reception in session.receptions:
                    rooms.setdefault((reception.room, reception.epoch), []).append((session, reception))
        if self.relay is None or not self.relay.is_running:
            return
        for (room, epoch), receptions in rooms.items():
            newest = await self._settle_history(room, epoch, receptions)
            for session, reception in receptions:
                await self._settle_reception(session, reception, newest)

    async def _settle_history(self, room: str, epoch: str, receptions: list[tuple[Session, Any]]) -> int:
        newest = max((seq for name, of, seq in self.witness.acknowledged if (name, of) == (room, epoch)), default=0)
        if room.startswith("live."):
            return newest
        try:
            kept_epoch, messages = await self.history(room, receptions[0][0].user)
        except NoRoom:
            assert not newest, f"{room} does not exist, but messages up to {newest} were acknowledged"
            return newest  # a room that never had a message is deleted with its last member
        except AssertionError:
            # In token mode the right to read may be gone. Then only the acknowledgements are checked.
            if self.relay.secret is None:
                raise
            return newest
        if kept_epoch != epoch:
            return newest
        for message in messages:
            if (room, epoch, message["seq"]) not in self.witness.acknowledged and not message.get("deleted"):
                for session, _ in receptions:
                    if session.user == message["from"] and session.claims_unnumbered(room, message.body_text):
                        self.witness.unanswered[room, session.user, message.body_text] += 1
                        session_reception = session.rooms.get(room)
                        if session_reception and message["seq"] not in session_reception.received:
                            session_reception.own.add(message["seq"])
                        break
        self.witness.stored(room, epoch, messages)
        return max(newest, messages[-1]["seq"] if messages else 0)

    async def _settle_reception(self, session: Session, reception: Any, newest: int) -> None:
        is_current = session.is_open and not session.is_abandoned and session.rooms.get(reception.room) is reception
        if is_current:
            try:
                await session.until(lambda: not reception.lacks(newest), "the rest")
            except AssertionError:
                lacks = sorted(reception.lacks(newest))
                self.witness.fault(session.name, f"{reception.room}: never received {lacks[:10]} ({len(lacks)})")
        elif lost := reception.lacks(reception.end or reception.position):
            # Messages without a reply when a session ended may be its own.
            own = {
                seq
                for seq in lost
                if (message := self.witness.message(reception.room, reception.epoch, seq))
                and message.sender == session.user
            }
            if lost - own:
                self.witness.fault(session.name, f"{reception.room}: has not received {sorted(lost - own)[:10]}")

    async def end(self) -> None:
        """Ends the scenario's sessions and relays. Its own relays must end cleanly."""
        for task in self._background:
            task.cancel()
        for session in self.sessions:
            if session.is_open:
                session.connection.cut()
        for relay in self._own:
            if relay.is_running:
                code = await blocking(relay.stop)
                if code != 0:
                    self.witness.fault("relay", f"ended with {code}:\n{relay.log.read_text()[-2000:]}")
            relay.kill()
        for folder in self._folders:
            folder.cleanup()
