# SPDX-License-Identifier: Apache-2.0
"""The commands of the pages about backups: they end while the relay stores messages, and a failure keeps the earlier
backup."""

import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from api import call
from relay import CHECKOUT, DEADLINE, Relay, binary, environment, running

GUIDES = CHECKOUT / "web" / "docs" / "guides"
PAGE = (GUIDES / "backup.md").read_text()
UPGRADE = (GUIDES / "upgrade.md").read_text()
BACKUP = r"(?:sudo )?stillwire backup .*$"
#: The commands that make a backup, by the place that has them.
BACKUPS = {
    "by hand": re.search(rf"^{BACKUP}", PAGE, re.MULTILINE).group(),
    "every day": re.search(r"^30 3 \* \* \* root (.*)$", PAGE, re.MULTILINE).group(1).replace(r"\%", "%"),
    "container": re.search(r"^docker .*backup --force.*\n  mv.*$", PAGE, re.MULTILINE).group(),
    "upgrade": re.search(rf"^ +{BACKUP}", UPGRADE, re.MULTILINE).group(),
    "upgrade of a container": re.search(r"^ +docker .*backup --force.*\n.*\n.*mv .*$", UPGRADE, re.MULTILINE).group(),
}
#: The commands that restore a backup, by the place that has them.
RESTORES = {
    "by hand": re.search(r"^ +stillwire restore .*stillwire-1.*$", PAGE, re.MULTILINE).group(),
    "container": re.search(r"^cp .*\ndocker .*restore.*$", PAGE, re.MULTILINE).group(),
}


def play(script: str, relay: Relay, backups: Path) -> subprocess.CompletedProcess[str]:
    """Runs the commands of a page on the relay's folder. They write to this folder in place of /root."""
    script = re.sub(r"docker compose -f deploy/compose.yaml (run --rm|exec -T stillwire) ", "", script)
    script = re.sub(r"\bdata=.*", "", script).replace("sudo ", "")
    script = script.replace("/var/lib/stillwire", str(relay.data)).replace("/root", str(backups))
    script = script.replace(" /data/", f" {relay.data}/")
    script = re.sub(r"(?<![/\w])stillwire (?=backup|restore)", f"{binary()} ", script)
    return subprocess.run(
        ["sh", "-c", f"data={relay.data}\n{script}"],
        cwd=backups, env=environment(STILLWIRE_DATA=str(relay.data)), capture_output=True, text=True, timeout=DEADLINE,
    )  # fmt: skip


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


@pytest.mark.parametrize("place", BACKUPS)
def test_a_backup_ends_while_the_relay_stores_messages(place: str, backups: Path, tmp_path: Path) -> None:
    with running(tmp_path, "--limits-send-rate", "0", "--limits-request-rate", "0") as relay, sending(relay):
        played = play(BACKUPS[place], relay, backups)
        assert played.returncode == 0, played.stderr
        assert "messages: " in played.stdout or "/dev/null" in BACKUPS[place]
    (backup,) = backups.iterdir()
    assert backup.name.startswith("stillwire") and backup.suffix == ".db"


@pytest.mark.parametrize("place", BACKUPS)
def test_a_backup_that_fails_leaves_the_earlier_one(place: str, backups: Path, tmp_path: Path) -> None:
    with running(tmp_path) as relay:
        begin(relay)
        assert play(BACKUPS[place], relay, backups).returncode == 0
        (earlier,) = backups.iterdir()
        kept = earlier.read_bytes()
        # The disk is full: the shell may write no file above 16 blocks.
        played = play(f"ulimit -f 16; trap '' XFSZ; {BACKUPS[place]}", relay, backups)
    assert played.returncode != 0
    assert earlier.read_bytes() == kept
    assert list(backups.iterdir()) == [earlier]


@pytest.mark.parametrize("place", RESTORES)
def test_a_restore_returns_to_the_backup(place: str, backups: Path, tmp_path: Path) -> None:
    relay = Relay(tmp_path).start()
    try:
        begin(relay)
        made = play(BACKUPS["by hand"].replace("stillwire.db", "stillwire-1.db"), relay, backups)
        assert made.returncode == 0, made.stderr
        send(relay)
        assert relay.stop() == 0
        restored = play(RESTORES[place], relay, backups)
        assert restored.returncode == 0, restored.stderr
        assert f"before:   {relay.data}/stillwire.db.before-1\n" in restored.stdout
        assert not (relay.data / "backup.db").exists()
        relay.start()
        assert "new epochs" in relay.log.read_text()
        messages = call(relay, "GET", "/v1/rooms/tea/messages", user="ann").json["messages"]
        assert len(messages) == 1
        assert relay.stop() == 0
    finally:
        relay.kill()


def test_the_pages_have_no_copy_that_never_ends() -> None:
    # SQLite begins this copy again after each commit of another process.
    assert "\".backup '" not in PAGE + UPGRADE
