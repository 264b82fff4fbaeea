# SPDX-License-Identifier: Apache-2.0
"""`stillwire backup` and `stillwire restore`: under load, with kills, on a full disk, and on a disk without locks."""

import asyncio
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from api import history
from crowd import Crowd, Sender
from database import execute
from disk_faults import DiskFaults
from relay import DEADLINE, Relay, binary, environment, run
from test_startup import assert_failed, disk, leave  # noqa: F401
from waiting import eventually

ROUNDS = int(os.environ.get("STILLWIRE_DRILLS", "4"))
ROOMS = ["tea", "milk"]
SENDERS_OF_A_ROOM = 4
#: Fewer than a room keeps.
MESSAGES_OF_A_SENDER = 100
BODIES = ["one", "two", "three"]
#: More calls than a backup or a restore makes.
MOST_CALLS = 100


def backup(relay, file, *options, **settings):
    return run("backup", "--data", relay.data, *options, file, **settings)


def restore(file, data, **settings):
    return run("restore", file, "--data", data, **settings)


def query(database: Path, text: str) -> list[tuple]:
    with closing(sqlite3.connect(database)) as opened:
        return opened.execute(text).fetchall()


def facts(output: str) -> dict[str, str]:
    """The lines `name: value` of a command."""
    return dict(re.findall(r"^(\w+): +(.*)$", output, re.MULTILINE))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def backups(tmp_path) -> Path:
    folder = tmp_path / "backups"
    folder.mkdir()
    return folder


@pytest.fixture
def filled(start, connect):
    """A relay that runs, with three messages."""
    relay = start()
    ann = connect(relay, "ann")
    ann.join("tea")
    for body in BODIES:
        ann.send("tea", body)
    return relay


@pytest.fixture
def faults(tmp_path) -> DiskFaults:
    return DiskFaults(tmp_path)


def begin_backup(relay, file) -> subprocess.Popen[str]:
    """Begins a backup, and returns when it works or has ended."""
    begun = subprocess.Popen(
        [binary(), "backup", "--data", relay.data, file],
        env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    eventually(lambda: file.with_name(f"{file.name}.partial").exists() or begun.poll() is not None, every=0.001)
    return begun


async def drill(crowd: Crowd, relay: Relay, backups: Path, round: int) -> dict[str, dict[int, str]]:
    """Kills a backup while the crowd sends, makes another one, and kills the relay: in odd rounds during the backup.
    Returns the messages that were acknowledged before the second backup began, by room and seq."""
    chance = random.Random(round)
    most = len(crowd.senders) * MESSAGES_OF_A_SENDER
    backup_from, kill_from = most // 10 + chance.randrange(most // 4), most // 2 + chance.randrange(most // 4)
    acknowledged: dict[str, dict[int, str]] = {room: {} for room in ROOMS}

    def work() -> None:
        eventually(lambda: crowd.acknowledged >= backup_from)
        killed = begin_backup(relay, backups / "killed.db")
        killed.kill()
        killed.communicate()
        for sender in crowd.senders:
            acknowledged[sender.room].update({seq: body for body, seq in list(sender.acknowledged.items())})
        made = begin_backup(relay, backups / "backup.db")
        if round % 2:
            relay.kill()
        errors = made.communicate(timeout=DEADLINE)[1]
        assert made.returncode == 0, errors
        if not round % 2:
            eventually(lambda: crowd.acknowledged >= kill_from)

    async def work_and_kill() -> None:
        try:
            await asyncio.to_thread(work)
        finally:
            relay.kill()

    # `talk` ends when the relay is killed.
    await asyncio.gather(work_and_kill(), crowd.talk(kill_after=10 * most))
    return acknowledged


@pytest.mark.parametrize("round", range(ROUNDS))
def test_a_backup_under_load_has_all_messages_acknowledged_before(start, tmp_path, backups, round):
    relay = start("--limits-send-rate", 0)
    crowd = Crowd(
        relay,
        [
            Sender(f"sender{number}-{room}", room, MESSAGES_OF_A_SENDER)
            for room in ROOMS
            for number in range(SENDERS_OF_A_ROOM)
        ],
    )
    acknowledged = asyncio.run(drill(crowd, relay, backups, round))
    assert all(acknowledged.values())
    # The killed backup was incomplete, or had ended before.
    assert names(backups) in ({"backup.db", "killed.db.partial"}, {"backup.db", "killed.db"})

    elsewhere = Relay(tmp_path / "elsewhere")
    elsewhere.log.parent.mkdir()
    assert restore(backups / "backup.db", elsewhere.data).returncode == 0
    elsewhere.start()
    try:
        for room in ROOMS:
            bodies = {message["seq"]: message["body"] for message in history(elsewhere, room, "operator")}
            assert acknowledged[room].items() <= bodies.items()
            # The backup is the state of one moment: no message is missing between others.
            assert sorted(bodies) == list(range(1, len(bodies) + 1))
        assert "restored" in elsewhere.log.read_text()
        assert elsewhere.stop() == 0
    finally:
        elsewhere.kill()
    # The relay itself has lost nothing.
    relay.start()
    for sender in crowd.senders:
        promised = {(seq, body) for body, seq in sender.acknowledged.items()}
        assert promised <= {(message["seq"], message["body"]) for message in history(relay, sender.room, "operator")}


def test_a_backup_prints_what_it_has_and_is_replaced_only_by_force(filled, backups, connect):
    made = backup(filled, backups / "backup.db")
    assert made.returncode == 0, made.stderr
    printed = facts(made.stdout)
    assert printed["backup"] == str(backups / "backup.db")
    assert printed["size"] == f"{(backups / 'backup.db').stat().st_size} bytes"
    assert (printed["users"], printed["rooms"], printed["devices"], printed["pushes"]) == ("1", "1", "0", "0")
    assert re.fullmatch(r"3, the newest of \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", printed["messages"])
    assert re.fullmatch(r"\d+\.\d s", printed["time"])
    kept = (backups / "backup.db").read_bytes()
    assert_failed(backup(filled, backups / "backup.db"), backups / "backup.db", "--force")
    assert (backups / "backup.db").read_bytes() == kept
    connect(filled, "bob").join("tea")
    assert facts(backup(filled, backups / "backup.db", "--force").stdout)["users"] == "2"
    assert names(backups) == {"backup.db"}


def test_the_environment_and_the_file_name_the_data_folder(filled, backups, tmp_path):
    assert run("backup", backups / "one.db", STILLWIRE_DATA=str(filled.data)).returncode == 0
    file = tmp_path / "stillwire.json"
    # The limit of open files of the service is not that of the command.
    file.write_text('{"data": "%s", "connections": {"most": 1000000}}' % filled.data)
    assert run("backup", "--config", file, backups / "two.db").returncode == 0
    assert_failed(run("backup", backups / "three.db"), "has no database", "--data")
    assert names(backups) == {"one.db", "two.db"}


def test_a_backup_of_a_stopped_relay(filled, backups):
    assert filled.stop() == 0
    made = backup(filled, backups / "backup.db")
    assert facts(made.stdout)["messages"].startswith("3,")
    filled.start()


def test_a_full_disk_fails_before_it_is_filled(filled, disk):  # noqa: F811
    leave(disk, 400_000)
    assert_failed(backup(filled, disk / "backup.db"), f"the disk that is mounted at {disk} has ", "the copy needs")
    leave(disk, 0)
    assert_failed(backup(filled, disk / "backup.db"), f"the disk that is mounted at {disk} is full")
    assert names(disk) == {"filler"}


def test_a_disk_that_becomes_full_leaves_no_file(filled, backups):
    limited = ["prlimit", "--fsize=65536", binary(), "backup", "--data", filled.data, backups / "backup.db"]
    ended = subprocess.run(limited, env=environment(), capture_output=True, text=True, timeout=DEADLINE)
    assert_failed(ended, backups / "backup.db.partial", "full")
    assert names(backups) == set()


def test_a_disk_without_locks_is_named(filled, backups, faults):
    ended = backup(filled, backups / "backup.db", **faults.no_locks(".partial/"))
    assert_failed(ended, backups / "backup.db.partial", "cannot lock files", "local disk")
    assert names(backups) == set()


def test_a_killed_backup_never_leaves_an_incomplete_file(filled, backups, faults):
    file = backups / "backup.db"
    for number in range(1, MOST_CALLS):
        # Each round kills the backup at a later call. The files of the earlier rounds stay.
        ended = backup(filled, file, **faults.kill_at(number))
        assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
        if file.exists():
            assert query(file, "SELECT count(*) FROM messages") == [(len(BODIES),)]
            break
        assert names(backups) <= {"backup.db.partial"}
    assert 5 < number < MOST_CALLS - 1
    assert backup(filled, file, "--force").returncode == 0
    assert names(backups) == {"backup.db"}


def test_a_restore_keeps_the_present_database_and_refuses_a_running_relay(filled, backups, connect):
    assert backup(filled, backups / "backup.db").returncode == 0
    ann = connect(filled, "ann")
    ann.join("tea")
    ann.send("tea", "four")
    assert_failed(restore(backups / "backup.db", filled.data), filled.data, "stop it first")
    assert len(history(filled, "tea", "ann")) == 4
    # The newest messages are in the log of the database.
    filled.kill()
    restored = restore(backups / "backup.db", filled.data)
    kept = filled.data / "stillwire.db.before-1"
    assert facts(restored.stdout) == facts(restored.stdout) | {"restored": str(backups / "backup.db"), "before": str(kept)}
    filled.start()
    assert [message["body"] for message in history(filled, "tea", "ann")] == BODIES
    assert filled.stop() == 0
    # The earlier database can be restored.
    assert restore(kept, filled.data).returncode == 0
    filled.start()
    assert len(history(filled, "tea", "ann")) == 4
    assert {"stillwire.db.before-1", "stillwire.db.before-2"} <= names(filled.data)


def test_a_killed_restore_leaves_the_old_database_or_the_new_one(filled, backups, faults, tmp_path):
    assert backup(filled, backups / "backup.db").returncode == 0
    filled.kill()
    execute(filled, "DELETE FROM messages WHERE seq > 1")
    outcomes = []
    # Each round ends at a later call. The last one is complete.
    for number in range(1, MOST_CALLS):
        relay = Relay(tmp_path / f"round-{number}")
        shutil.copytree(filled.data, relay.data)
        ended = restore(backups / "backup.db", relay.data, **faults.kill_at(number))
        relay.start()
        try:
            outcomes.append([message["body"] for message in history(relay, "tea", "ann")])
            assert relay.stop() == 0
        finally:
            relay.kill()
        assert outcomes[-1] in (BODIES[:1], BODIES), number
        kept = {name for name in names(relay.data) if "stillwire.db." in name} - {"stillwire.db.before-1-wal"}
        assert kept == ({"stillwire.db.before-1"} if outcomes[-1] == BODIES else set()), number
        if kept:
            assert query(relay.data / "stillwire.db.before-1", "SELECT count(*) FROM messages") == [(1,)]
        if ended.returncode == 0:
            break
    assert 5 < number < MOST_CALLS - 1
    # No round returns to the old database.
    assert outcomes == sorted(outcomes, key=len)
    assert outcomes[0] != outcomes[-1]


def test_a_foreign_file_is_no_backup(filled, backups):
    (backups / "song.txt").write_text("a song")
    assert filled.stop() == 0
    before = (filled.data / "stillwire.db").read_bytes()
    assert_failed(restore(backups / "song.txt", filled.data), backups / "song.txt", "is damaged")
    assert (filled.data / "stillwire.db").read_bytes() == before
    filled.start()
    assert len(history(filled, "tea", "ann")) == 3
