# SPDX-License-Identifier: Apache-2.0
"""Damages pages of a relay's database, and shows the behaviour of the relay: at its start, and in use."""

import shutil
import socket
import sqlite3
import subprocess
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from api import Answer, call
from client import Refused, Session
from metrics import metrics
from relay import DEADLINE, Relay, binary, environment, running
from waiting import eventually

#: The number of rows that give the tables of users, rooms and members several pages.
FILLERS = 2_000
#: The maximum time in seconds from SIGTERM to the end of a relay without clients.
LONGEST = 15.0
#: The requests of the tests have no rate.
LIMITS = ("--limits-request-rate", "0", "--limits-send-rate", "0")
#: The types of pages in the file format of SQLite.
INTERIOR, LEAF = (2, 5), (10, 13)


@dataclass(frozen=True)
class Tree:
    """A table or an index: a tree of pages in the file."""

    name: str
    kind: str
    root: int


@dataclass
class Outcome:
    """The behaviour of a relay with a damaged page. `code` and `text` are those of `/ready`, or of the end at the start."""

    code: int
    text: str
    exit: int
    #: The seconds from SIGTERM to the end. Is None if the relay ended by itself.
    seconds: float | None
    failures: list[str]


def trees(folder: Path) -> list[Tree]:
    """Returns all tables and indexes of a closed database, from its schema."""
    with closing(sqlite3.connect(folder / "stillwire.db")) as database:
        query = "SELECT name, type, rootpage FROM sqlite_schema WHERE rootpage > 0 ORDER BY rootpage"
        return [Tree("sqlite_schema", "table", 1), *(Tree(*row) for row in database.execute(query))]


def leaf(folder: Path, tree: Tree) -> int | None:
    """Returns a leaf in the middle of a tree. Is None if the root is the only page."""
    content = (folder / "stillwire.db").read_bytes()
    size = int.from_bytes(content[16:18], "big")
    page = tree.root
    while True:
        start = (page - 1) * size
        header = start + (100 if page == 1 else 0)
        assert content[header] in INTERIOR + LEAF, f"{tree} has a page of type {content[header]}"
        if content[header] in LEAF:
            return None if page == tree.root else page
        cells = int.from_bytes(content[header + 3 : header + 5], "big")
        pointer = header + 12 + 2 * (cells // 2)
        cell = start + int.from_bytes(content[pointer : pointer + 2], "big")
        page = int.from_bytes(content[cell : cell + 4], "big")


def zero(folder: Path, page: int) -> None:
    """Writes zeros to a page."""
    with (folder / "stillwire.db").open("r+b") as file:
        file.seek(16)
        size = int.from_bytes(file.read(2), "big")
        file.seek((page - 1) * size)
        file.write(bytes(size))


def filled(folder: Path) -> Path:
    """Returns the data folder of a relay that has served, and has ended."""
    with running(folder, *LIMITS) as relay:
        assert not work(relay, erases=False)
    with closing(sqlite3.connect(relay.data / "stillwire.db")) as database, database:
        numbers = range(FILLERS)
        database.executemany("INSERT INTO users (name) VALUES (?)", [(f"filler-{number}" + "-" * 60,) for number in numbers])
        database.executemany(
            "INSERT INTO rooms (name, epoch) VALUES (?, 'epoch')", [(f"filler-{number}" + "-" * 60,) for number in numbers]
        )
        database.execute(
            """INSERT INTO members (room, user, read, received)
               SELECT rooms.id, users.id, 0, 0 FROM rooms JOIN users ON users.name = rooms.name"""
        )
    return relay.data


#: The values of the variables in the paths of requests.
VALUES = {
    "room": "tea", "user": "ann", "other": "bob", "seq": "1", "device": "phone", "key": "like", "report": "1",
    "token": "ann-phone", "id": "none",
}  # fmt: skip
#: The reads of a stream, which do not end, and those of the cluster.
NO_READS = ("/events", "/v1/connect", "/v1/cluster")
#: Writes to many tables: the path, and the body for a method other than DELETE.
WRITES: list[tuple[str, str, Any]] = [
    ("PUT", "/v1/users/bob/devices/phone", {"platform": "simulator", "token": "bob-phone"}),
    ("PUT", "/v1/users/ann/preferences", {"messages": "all"}),
    ("PUT", "/v1/users/ann/focus", {"isFocused": True, "device": "phone"}),
    ("PUT", "/v1/users/ann/filter", {"active": False, "device": "phone"}),
    ("PUT", "/v1/users/ann/status", {"text": "away"}),
    ("POST", "/v1/rooms", {"members": ["bob"], "title": "Cake"}),
    ("PUT", "/v1/rooms/tea/members/bob", None),
    ("POST", "/v1/rooms/tea/messages", {"body": {"text": "x" * 3000}, "from": "ann", "push": {"level": "active"}}),
    ("PUT", "/v1/rooms/tea/messages/1/reactions/like", {}),
    ("PUT", "/v1/rooms/tea/pins/1", None),
    ("PUT", "/v1/rooms/tea/read", {"seq": 1}),
    ("POST", "/v1/rooms/tea/messages/1/reports", {"reason": "spam"}),
    ("POST", "/v1/rooms/tea/calls", {}),
    ("PUT", "/v1/users/ann/direct/bob", None),
    ("PUT", "/v1/users/ann/blocks/eve", None),
    ("POST", "/v1/users/bob/notifications", {"title": "Hello", "body": "there"}),
    ("PUT", "/v1/users/eve/access", {"suspended": True}),
    ("PUT", "/v1/categories", {"categories": []}),
    ("DELETE", "/v1/rooms/tea/messages/2", None),
]


def reads(relay: Relay) -> list[str]:
    """Returns the paths of all reads, from the document of the relay: a new request cannot be forgotten."""
    paths = call(relay, "GET", "/openapi.json").json["paths"]
    found = [path for path, item in paths.items() if "get" in item and not any(part in path for part in NO_READS)]
    return [path.format(**VALUES) for path in found]


def work(relay: Relay, erases: bool = True) -> list[str]:
    """Sends requests that read and write many tables. Returns those that failed because of the relay."""
    failures: list[str] = []

    def note(name: str, answer: Answer) -> None:
        if answer.status >= 500:
            failures.append(f"{name}: {answer.status} {answer.problem['code']}")

    session = None
    try:
        session = Session(relay, "ann")
        for type, fields in (
            ("join", {"room": "tea"}), ("send", {"room": "tea", "body": "hello"}), ("history", {"room": "tea", "limit": 10}),
            ("rooms", {"limit": 10}),
        ):  # fmt: skip
            answer = session.outcome(type, **fields)
            if answer["type"] == "error" and answer["temporary"]:
                failures.append(f"{type}: {answer['code']}")
    except Refused as refusal:
        # The relay closes a session whose user it cannot read.
        failures.append(f"hello: {refusal.error['code']}")
    try:
        for method, path, body in WRITES:
            user = path.split("/")[3] if path.startswith("/v1/users/") else "ann"
            note(f"{method} {path}", call(relay, method, path, body, user=user))
        for path in reads(relay):
            if path != "/ready":
                note(f"GET {path}", call(relay, "GET", path, user="ann"))
        if erases:
            note("DELETE /v1/users/bob", call(relay, "DELETE", "/v1/users/bob"))
    finally:
        if session is not None:
            session.drop()
    return failures


def copied(filled: Path, folder: Path) -> Path:
    """Copies a closed database with its data folder. Returns the parent of the copy."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(filled, folder / "data")
    return folder


def at_start(filled: Path, folder: Path, page: int) -> Outcome:
    """Starts a relay with a damaged page. If it serves, sends SIGTERM."""
    zero(copied(filled, folder) / "data", page)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [binary(), "serve", "--address", "127.0.0.1", "--port", str(port), "--data", str(folder / "data")]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, env=environment(), stdout=log, stderr=log)
    relay = Relay(folder)
    relay.port = port

    def ready() -> Answer | None:
        if process.poll() is not None:
            return None
        try:
            answer = call(relay, "GET", "/ready")
        except OSError:
            return None
        # A start that finds a damage ends soon: its status is `stopping`.
        return answer if answer.json["status"] in ("ready", "damaged") else None

    try:
        answer = eventually(lambda: process.poll() is not None or ready())
        if isinstance(answer, Answer):
            began = time.monotonic()
            process.terminate()
            code = process.wait(DEADLINE)
            return Outcome(answer.status, answer.body.decode(), code, time.monotonic() - began, [])
        lines = [line for line in (folder / "log").read_text().splitlines() if line.startswith("stillwire: ")]
        return Outcome(0, "\n".join(lines), process.returncode, None, [])
    finally:
        process.kill()
        process.wait()


def in_use(filled: Path, folder: Path, page: int) -> Outcome:
    """Damages a page of a relay that runs, and sends requests. Then sends SIGTERM."""
    relay = Relay(copied(filled, folder), *LIMITS).start()
    try:
        # Moves the write-ahead log into the database, so that the page is in the file.
        with closing(sqlite3.connect(relay.data / "stillwire.db", isolation_level=None)) as database:
            eventually(lambda: database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0)
            zero(relay.data, page)
            try:
                # After a commit of another process, the relay reads all pages again.
                database.execute("PRAGMA user_version = 0")
            except sqlite3.DatabaseError:
                # The first page is damaged.
                pass
        failures = work(relay)
        answer = call(relay, "GET", "/ready")
        text = answer.json.get("store", "")
        if answer.status == 503:
            samples = metrics(relay)
            text += f", gauges {samples['stillwire_store_damaged']:.0f} and {samples['stillwire_store_available']:.0f}"
            lines = [line for line in relay.log.read_text().splitlines() if "the database" in line and "is damaged" in line]
            text += f", {len(lines)} line of the log"
        began = time.monotonic()
        return Outcome(answer.status, text, relay.stop(), time.monotonic() - began, failures)
    finally:
        relay.kill()


def fault_at_start(outcome: Outcome, folder: Path, *, is_root: bool) -> str | None:
    """Returns the fault of a relay that was started with a damaged page, or None. The start finds each damaged root."""
    if outcome.seconds is None:
        if outcome.exit != 1:
            return f"it ended with {outcome.exit}"
        named = [str(folder / "data" / "stillwire.db"), "is damaged", "restore a backup"]
        is_clear = outcome.text.count("\n") == 0 and all(name in outcome.text for name in named)
        return None if is_clear else f"unclear: {outcome.text!r}"
    if is_root:
        return "it serves"
    if outcome.exit != 0 or outcome.seconds > LONGEST:
        return f"it ended with {outcome.exit}, {outcome.seconds:.1f} s after SIGTERM"
    return None


def fault_in_use(outcome: Outcome, *, must_show: bool = False) -> str | None:
    """Returns the fault of a relay that ran when a page was damaged, or None.

    It may serve as before while no request needs the page. After a request has failed, it shows the damage. With
    `must_show`, the requests need the page.
    """
    if outcome.exit != 0 or outcome.seconds > LONGEST:
        return f"it ended with {outcome.exit}, {outcome.seconds:.1f} s after SIGTERM"
    if wrong := [failure for failure in outcome.failures if "internal" in failure]:
        return f"a client cannot know that it must try again: {wrong}"
    if outcome.code == 503:
        is_shown = outcome.text == "damaged, gauges 1 and 0, 1 line of the log"
        return None if is_shown else f"wrong signs: {outcome.text}"
    if outcome.failures:
        return f"/ready answers {outcome.code}, and these failed: {outcome.failures}"
    return "the damage is not shown" if must_show else None
