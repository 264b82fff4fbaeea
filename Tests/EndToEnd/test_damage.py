# SPDX-License-Identifier: Apache-2.0
"""A damaged database: the relay refuses it at the start, and shows it in use. `measure_damage.py` tests all pages."""

import os
import re
import socket
import sqlite3
import subprocess
import textwrap
import threading
from pathlib import Path

import pytest

import damage
from api import call
from database import add_undecided_rooms, execute, stuck_store, value
from metrics import Metrics
from relay import CHECKOUT, DEADLINE, Relay, binary, environment
from test_startup import answered
from waiting import eventually

#: Tables and indexes that the start reads, that only requests read, and that only the start reads.
TREES = [
    "sqlite_schema", "grdb_migrations", "installation", "clock", "users", "sqlite_autoindex_users_1", "rooms", "members",
    "members_user", "messages", "messages_changed", "jobs", "keys_expires", "audit", "audit_users_entry", "inbox",
]  # fmt: skip
#: Tables and indexes whose root the requests of `damage.work` certainly read.
NEEDED = {
    "installation", "users", "sqlite_autoindex_users_1", "rooms", "members", "members_user", "messages", "jobs", "audit",
    "inbox",
}  # fmt: skip
#: Trees with several pages in the filled database.
DEEP = ["sqlite_schema", "users", "sqlite_autoindex_users_1", "rooms", "members", "members_user"]


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> Path:
    """The data folder of a relay that has run and has ended."""
    return damage.filled(tmp_path_factory.mktemp("filled"))


@pytest.fixture(scope="module")
def tree(filled):
    known = {tree.name: tree for tree in damage.trees(filled)}
    return lambda name: known[name]


@pytest.mark.parametrize("name", TREES)
def test_the_start_refuses_a_damaged_root(filled, tree, tmp_path, name):
    outcome = damage.at_start(filled, tmp_path, tree(name).root)
    assert damage.fault_at_start(outcome, tmp_path, is_root=True) is None, outcome


@pytest.mark.parametrize("name", DEEP)
def test_a_damaged_leaf_does_not_hold_up_the_start_or_its_end(filled, tree, tmp_path, name):
    page = damage.leaf(filled, tree(name))
    assert page is not None
    outcome = damage.at_start(filled, tmp_path, page)
    assert damage.fault_at_start(outcome, tmp_path, is_root=False) is None, outcome


@pytest.mark.parametrize("name", TREES)
def test_a_damaged_root_in_use_is_shown_if_requests_need_it(filled, tree, tmp_path, name):
    outcome = damage.in_use(filled, tmp_path, tree(name).root)
    assert damage.fault_in_use(outcome, must_show=name in NEEDED) is None, outcome


@pytest.mark.parametrize("name", DEEP)
def test_no_request_fails_at_a_damaged_leaf_in_use_without_a_sign(filled, tree, tmp_path, name):
    """The requests of `damage.work` may not need this leaf, one of many: then the relay serves as before."""
    outcome = damage.in_use(filled, tmp_path, damage.leaf(filled, tree(name)))
    assert damage.fault_in_use(outcome) is None, outcome


def overwrite(relay: Relay) -> None:
    """Damages all pages of the database."""
    for file in relay.data.glob("stillwire.db*"):
        with file.open("r+b") as opened:
            opened.write(b"\xff" * file.stat().st_size)


def test_a_damaged_store_refuses_writes_and_every_caller_sees_it(start, connect, secret, api_keys, backend):
    relay = start("--api-keys-file", api_keys, secret=secret)
    ann, bob = (connect(relay, token=relay.token(user)) for user in ("ann", "bob"))
    for session in (ann, bob):
        session.join("tea")
        session.join("live.tea")
    assert call(relay, "GET", "/ready").json == {"status": "ready"}
    assert metrics_of(relay, backend)["stillwire_store_damaged"] == 0
    overwrite(relay)
    with pytest.raises(sqlite3.DatabaseError):
        execute(relay, "PRAGMA user_version = 0")
    refused = eventually(lambda: (answer := ann.outcome("send", room="tea", body="lost"))["type"] == "error" and answer)
    assert (refused["code"], refused["temporary"]) == ("unavailable", True)
    eventually(lambda: call(relay, "GET", "/ready").status == 503)
    # A load balancer has no key.
    assert call(relay, "GET", "/ready").json == {"status": "damaged", "store": "damaged"}
    details = call(relay, "GET", "/ready", token=backend).json
    assert details["store"] == "damaged" and str(relay.data / "stillwire.db") in details["text"]
    assert metrics_of(relay, backend)["stillwire_store_damaged"] == 1
    assert metrics_of(relay, backend)["stillwire_store_available"] == 0
    # Rooms that store nothing still work.
    ann.send("live.tea", "still here")
    assert bob.expect("message", room="live.tea")["body"] == "still here"
    assert not bob.received("message", room="tea")
    lines = [line for line in relay.log.read_text().splitlines() if "is damaged" in line]
    assert len(lines) == 1 and " error " in lines[0], lines
    assert relay.stop() == 0


def metrics_of(relay: Relay, key: str) -> Metrics:
    return Metrics(call(relay, "GET", "/metrics", token=key).body.decode())


# The repair of the guide


def commands_of_guide(part: str) -> str:
    """Returns the block with these commands, from the guide to backups."""
    guide = (CHECKOUT / "web/docs/guides/backup.md").read_text()
    (block,) = [block for block in re.findall(r"```text\n(.*?)```", guide, re.DOTALL) if part in block]
    return textwrap.dedent(block)


def test_the_repair_of_the_guide_keeps_the_messages(filled, tree, tmp_path, connect):
    data = damage.copied(filled, tmp_path / "relay") / "data"
    for name in ("messages_changed", "sqlite_autoindex_users_1"):
        damage.zero(data, tree(name).root)
    (tmp_path / "root").mkdir()
    for part in (".dump", "restore /root/repaired.db"):
        shell = commands_of_guide(part).replace("/root/", f"{tmp_path}/root/")
        shell = shell.replace("/var/lib/stillwire", str(data)).replace("stillwire restore", f"{binary()} restore")
        done = subprocess.run(["sh", "-ec", shell], cwd=data, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout == "ok\n" or part != ".dump", done.stdout
    relay = Relay(tmp_path / "relay").start()
    try:
        assert "restored" in relay.log.read_text()
        ann = connect(relay, "ann")
        assert ann.join("tea", history=10)["messages"]
        assert ann.send("tea", "after")["seq"] > 1
        assert relay.stop() == 0
    finally:
        relay.kill()


# SIGTERM at any moment of the start


def test_sigterm_ends_a_relay_that_waits_for_the_database(start, tmp_path):
    relay = start()
    assert relay.stop() == 0
    command = [binary(), "serve", "--address", "127.0.0.1", "--port", "0", "--data", str(relay.data)]
    with stuck_store(relay), (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(command, env=environment(), stdout=log, stderr=log)
        try:
            # The relay has opened the file, and waits for its lock.
            eventually(lambda: has_open(process.pid, "stillwire.db-wal"))
            process.terminate()
            assert process.wait(DEADLINE) == 0
        finally:
            process.kill()
            process.wait()
    relay.start()
    assert relay.stop() == 0


def has_open(pid: int, name: str) -> bool:
    folder = Path(f"/proc/{pid}/fd")
    for descriptor in folder.iterdir():
        try:
            if os.readlink(descriptor).endswith(name):
                return True
        except FileNotFoundError:
            # It was closed after the listing.
            pass
    return False


def test_sigterm_ends_a_relay_that_loads_rooms(start):
    stopped = start()
    assert stopped.stop() == 0
    add_undecided_rooms(stopped, 20_000)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    relay = Relay(stopped.data.parent, "--port", port)
    starting = threading.Thread(target=relay.start)
    starting.start()
    try:
        relay.port = port
        eventually(lambda: (answer := answered(relay, "/ready")) and answer.json["status"] == "starting")
        relay.signal()
        assert relay.ended(damage.LONGEST) == 0
        # The relay ended before it had loaded all rooms.
        assert value(stopped, "SELECT count(*) FROM rooms WHERE cursor < seq") > 0
    finally:
        relay.kill()
        starting.join()
