# SPDX-License-Identifier: Apache-2.0
"""The commands of the pages about backups: they end while the relay stores messages, and an incomplete copy fails."""

import re
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from api import call
from relay import CHECKOUT, DEADLINE, Relay, running

GUIDES = CHECKOUT / "web" / "docs" / "guides"
PAGE = (GUIDES / "backup.md").read_text()
UPGRADE = (GUIDES / "upgrade.md").read_text()
#: The commands before an upgrade: on a machine, and of a container.
UPGRADES = re.findall(r"^ +sudo sh -c 'rm.*?stillwire-upgrade\.db(?= &&$)", UPGRADE, re.MULTILINE | re.DOTALL)
#: The commands that make a copy of the database, by the place that has them.
COPIES = {
    "by hand": next(block for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) if "VACUUM" in block),
    "every day": re.search(r"^30 3 \* \* \* root (.*)$", PAGE, re.MULTILINE).group(1).replace(r"\%", "%"),
    "container": re.search(r"^rm -f new\.db\*\nsqlite3 \"\$data.*$", PAGE, re.MULTILINE).group(),
    "upgrade": UPGRADES[0],
    "upgrade of a container": UPGRADES[1],
}
#: The command that tests a copy, after the name of the file.
TEST = re.search(r"sqlite3 -readonly \S+ (\"PRAGMA.*?FROM messages\")", PAGE, re.DOTALL).group(1)


def play(script: str, relay: Relay, backups: Path) -> subprocess.CompletedProcess[str]:
    """Runs the commands of a page on the relay's database. They write to this folder in place of /root."""
    script = script.replace("/var/lib/stillwire", str(relay.data)).replace("/root", str(backups)).replace("sudo ", "")
    return subprocess.run(
        ["sh", "-c", f"data={relay.data}\n{script}"], cwd=backups, capture_output=True, text=True, timeout=DEADLINE
    )


def checked(backup: Path) -> subprocess.CompletedProcess[str]:
    """Runs the page's test of a backup."""
    command = f"sqlite3 -readonly {backup} {TEST}"
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=DEADLINE)


def begin(relay: Relay) -> None:
    call(relay, "PUT", "/v1/rooms/tea/members/ann")
    send(relay)


def send(relay: Relay) -> None:
    answer = call(relay, "POST", "/v1/rooms/tea/messages", {"from": "ann", "body": "Hi"})
    assert answer.status == 201, answer


@contextmanager
def sending(relay: Relay) -> Iterator[None]:
    """Sends messages one after the other, until the context ends. At least one is stored before."""
    is_over = threading.Event()

    def run() -> None:
        while not is_over.is_set():
            send(relay)

    begin(relay)
    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(DEADLINE)


@pytest.fixture
def backups(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("place", COPIES)
def test_a_copy_is_complete_while_the_relay_stores_messages(place: str, backups: Path, tmp_path: Path) -> None:
    # A killed copy has left these files.
    (backups / "new.db").write_bytes(b"x" * 4096)
    (backups / "new.db-journal").write_bytes(b"x" * 512)
    with running(tmp_path, "--limits-send-rate", "0", "--limits-request-rate", "0") as relay, sending(relay):
        # The second backup replaces the first one.
        for played in [play(COPIES[place], relay, backups) for _ in range(2)]:
            assert played.returncode == 0, played.stderr
    (backup,) = backups.iterdir()
    assert backup.name.startswith("stillwire")
    result = checked(backup)
    assert result.returncode == 0, result.stderr
    assert re.fullmatch(r"ok\n[1-9]\d*\|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n", result.stdout)


@pytest.mark.parametrize("place", COPIES)
def test_a_copy_that_fails_leaves_the_earlier_backup(place: str, backups: Path, tmp_path: Path) -> None:
    with running(tmp_path) as relay:
        begin(relay)
        assert play(COPIES[place], relay, backups).returncode == 0
        (earlier,) = backups.iterdir()
        kept = earlier.read_bytes()
        # The disk is full: the shell may write no file above 16 blocks.
        played = play(f"ulimit -f 16; trap '' XFSZ; {COPIES[place]}", relay, backups)
    assert played.returncode != 0
    assert earlier.read_bytes() == kept
    assert {file.name for file in backups.iterdir()} <= {earlier.name, "new.db", "new.db-journal"}


def test_an_empty_database_is_no_backup(tmp_path: Path) -> None:
    # SQLite calls an empty database intact.
    backup = tmp_path / "empty.db"
    sqlite3.connect(backup).close()
    result = checked(backup)
    assert (result.returncode, result.stdout) == (1, "ok\n")
    assert "no such table: messages" in result.stderr


def test_all_places_have_the_same_commands() -> None:
    pages = PAGE + UPGRADE
    tests = re.findall(r"sqlite3 -readonly \S+ (\"PRAGMA[^\"]*?FROM messages\")", pages)
    assert len(tests) == 4
    assert len({re.sub(r"\s+", " ", test) for test in tests}) == 1
    # SQLite begins this copy again after each commit of another process.
    assert "\".backup '" not in pages
