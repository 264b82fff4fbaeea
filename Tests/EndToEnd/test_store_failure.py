# SPDX-License-Identifier: Apache-2.0
"""A full or failing disk: senders get an error, no acknowledged message is lost, and the relay recovers by itself."""

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from api import call, history
from client import Session
from database import reading, value
from metrics import metrics
from relay import Relay
from waiting import eventually
from wire import Wire

#: A body that needs new pages of the database.
BODY = "x" * 20_000


class Disk:
    """The disk under a relay's data, which can fail and recover."""

    def __init__(self, fail: Callable[[Relay], None], recover: Callable[[Relay], None]):
        self.fail = fail
        self.recover = recover


def refuse_growth(relay: Relay) -> None:
    relay.limit_file_size(4096)


def allow_growth(relay: Relay) -> None:
    if relay.is_running:
        relay.limit_file_size(None)


@pytest.fixture(params=["no space", "no growth"])
def failing(request, tmp_path) -> Iterator[tuple[Relay, Disk]]:
    """A relay and its disk."""
    options = ("--presence-grace", "0", "--limits-send-rate", "0")
    relay = Relay(tmp_path, *options)
    if request.param == "no growth":
        yield relay.start(), Disk(refuse_growth, allow_growth)
        relay.kill()
        return
    relay.data.mkdir()
    mounted = mount("-t", "tmpfs", "-o", "size=1m", "none", relay.data)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    filler = relay.data / "filler"

    def fill(_: Relay) -> None:
        with filler.open("wb", buffering=0) as file:
            try:
                while file.write(b"x" * 4096):
                    pass
            except OSError:
                pass

    try:
        yield relay.start(), Disk(fill, lambda _: mount("-o", "remount,size=32m", relay.data).check_returncode())
    finally:
        relay.kill()
        subprocess.run(["umount", str(relay.data)], check=True)


def mount(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True)


def stored_mark(relay, room, user):
    """Returns the read mark on disk."""
    query = """SELECT read FROM members JOIN rooms ON rooms.id = room JOIN users ON users.id = user
               WHERE rooms.name = ? AND users.name = ?"""
    return value(relay, query, room, user)


def sent(session: Session, room: str, body: str) -> int | None:
    """Sends a message, and returns its seq, or None if the store failed."""
    answer = session.outcome("send", room=room, body=body)
    if answer["type"] == "ok":
        return answer["seq"]
    assert (answer["code"], answer["temporary"]) == ("unavailable", True), answer
    assert answer["retryAfter"] > 0
    return None


def test_a_failing_disk_is_reported_and_survived(failing, connect):
    relay, disk = failing
    ann, bob = connect(relay, "ann"), connect(relay, "bob")
    for session in (ann, bob):
        session.join("tea")
        session.join("live.tea")
    acknowledged = {ann.send("tea", "before")["seq"]: "before"}
    bob.expect("message", body="before")

    disk.fail(relay)
    for number in range(200):
        body = f"{number} {BODY}"
        seq = sent(ann, "tea", body)
        if seq is None:
            break
        acknowledged[seq] = body
    else:
        raise AssertionError("the disk does not fail")
    # No client has received the rejected message, and live rooms still work.
    assert not bob.received("message", body=body)
    ann.send("live.tea", "live")
    assert bob.expect("message", room="live.tea")["body"] == "live"
    assert metrics(relay)["stillwire_store_available"] == 0
    assert metrics(relay)["stillwire_store_failures_total"] >= 1
    ready = call(relay, "GET", "/ready")
    assert (ready.status, ready.json) == (200, {"status": "ready", "store": "unavailable"})
    answer = call(relay, "POST", "/v1/rooms/tea/messages", {"body": BODY, "from": "ann"})
    assert (answer.status, answer.problem["code"]) == (503, "unavailable")
    assert int(answer.headers["Retry-After"]) >= 1
    # The relay cannot store this mark now. It stores it later, although the client has got an error.
    newest = max(acknowledged)
    failures = metrics(relay)["stillwire_store_failures_total"]
    refusal = bob.refusal("read", room="tea", seq=newest)
    assert (refusal["code"], refusal["temporary"]) == ("unavailable", True)
    eventually(lambda: metrics(relay)["stillwire_store_failures_total"] > failures)

    disk.recover(relay)
    # The relay recovers by itself, because it tries to store the mark again.
    eventually(lambda: metrics(relay)["stillwire_store_available"] == 1)
    assert call(relay, "GET", "/ready").json["store"] == "available"
    seq = ann.send("tea", "after")["seq"]
    assert seq == newest + 1
    acknowledged[seq] = "after"
    assert bob.expect("message", body="after")["seq"] == seq
    eventually(lambda: stored_mark(relay, "tea", "bob") == newest)
    relay.kill()
    relay.start()
    assert {message["seq"]: message["body"] for message in history(relay, "tea", "ann")} == acknowledged
    assert connect(relay, "bob").join("tea")["read"] == newest


def test_a_token_with_fewer_rights_is_accepted_while_the_disk_fails(tmp_path, connect, secret):
    relay = Relay(tmp_path, "--presence-grace", "0", "--metrics-open", secret=secret).start()
    try:
        bob = connect(relay, token=relay.token("bob"))
        bob.join("tea")
        bob.close(1000)

        def withdrawn():
            return value(relay, "SELECT is_withdrawn FROM members")

        failures = metrics(relay)["stillwire_store_failures_total"]
        refuse_growth(relay)
        again = connect(relay, token=relay.token("bob", rooms=[{"match": "kept", "can": ["join"]}]))
        assert again.refusal("join", room="tea")["code"] == "forbidden"
        eventually(lambda: metrics(relay)["stillwire_store_failures_total"] > failures)
        assert withdrawn() == 0
        # The relay stores the withdrawal when the disk recovers, even if the session has ended.
        again.close(1000)
        allow_growth(relay)
        eventually(lambda: withdrawn() == 1)
    finally:
        relay.kill()


def test_a_reader_that_blocks_the_log_is_shown_and_delays_no_sender(start, connect):
    relay = start("--limits-send-rate", "0", "--store-synchronous", "normal")
    ann = connect(relay, "ann")
    ann.join("tea")

    def blocked():
        return metrics(relay)["stillwire_store_log_blocked_seconds"]

    with reading(relay):
        longest = 0.0
        for number in range(3_000):
            began = time.monotonic()
            ann.send("tea", "x" * 60_000)
            longest = max(longest, time.monotonic() - began)
            if number % 50 == 0 and blocked() > 0:
                break
        assert blocked() > 0
        # Without a bound, SQLite waits for the reader for 5 s.
        assert longest < 4
        assert metrics(relay)["stillwire_store_log_bytes"] > 64 << 20
        assert call(relay, "GET", "/ready").json["blockedLog"]["bytes"] > 64 << 20
    # Nobody writes, so the relay tries again by itself.
    eventually(lambda: blocked() == 0, within=90)
    assert "blockedLog" not in call(relay, "GET", "/ready").json
    assert (relay.data / "stillwire.db-wal").stat().st_size <= 64 << 20


def test_a_recovered_disk_is_noticed_even_if_nobody_writes(failing, connect):
    relay, disk = failing
    ann = connect(relay, "ann")
    ann.join("tea")
    disk.fail(relay)
    while sent(ann, "tea", BODY) is not None:
        pass
    eventually(lambda: metrics(relay)["stillwire_store_available"] == 0)
    disk.recover(relay)
    eventually(lambda: metrics(relay)["stillwire_store_available"] == 1)


def test_a_stop_with_a_failing_disk_ends_and_keeps_acknowledged_messages(failing, connect):
    relay, disk = failing
    ann = connect(relay, "ann")
    ann.join("tea")
    ann.send("tea", "before")
    disk.fail(relay)
    while sent(ann, "tea", BODY) is not None:
        pass
    kept = ann.request("history", room="tea", limit=300)["messages"]
    assert relay.stop() == 0
    disk.recover(relay)
    relay.start()
    assert history(relay, "tea", "ann") == kept


@pytest.mark.parametrize("part", ["stillwire.db", "stillwire.db-wal", ""])
def test_a_write_that_is_not_durable_is_not_acknowledged(start, connect, tmp_path, part):
    relay = start()
    ann, bob = connect(relay, "ann"), connect(relay, "bob")
    for session in (ann, bob):
        session.join("tea")
    ann.send("tea", "before")
    (relay.data / part).rename(tmp_path / "moved")
    # The relay notices this without a message.
    eventually(lambda: call(relay, "GET", "/ready").json["store"] == "unavailable")
    assert sent(ann, "tea", "lost") is None
    eventually(lambda: "was removed or replaced" in relay.log.read_text())
    assert not bob.received("message", body="lost")
    (tmp_path / "moved").rename(relay.data / part)
    eventually(lambda: call(relay, "GET", "/ready").json["store"] == "available")
    assert ann.send("tea", "after")["seq"] == 2
    assert relay.stop() == 0
    relay.start()
    assert [message["body"] for message in history(relay, "tea", "ann")] == ["before", "after"]


@pytest.mark.parametrize("loss", ["removed", "replaced", "database", "log", "link"])
def test_a_relay_that_has_lost_its_files_says_so_and_ends(tmp_path, connect, loss):
    relay = Relay(tmp_path)
    if loss == "link":
        (tmp_path / "volume").mkdir()
        relay.data.symlink_to(tmp_path / "volume")
    try:
        relay.start()
        ann = connect(relay, "ann")
        ann.join("tea")
        ann.send("tea", "before")
        began, moved = time.monotonic(), tmp_path / "moved"
        match loss:
            case "removed":
                shutil.rmtree(relay.data)
            case "replaced":
                relay.data.rename(moved)
                relay.data.mkdir()
            case "database":
                (relay.data / "stillwire.db").rename(moved)
                (relay.data / "stillwire.db").write_text("another file")
            case "log":
                (relay.data / "stillwire.db-wal").rename(moved)
            case "link":
                relay.data.unlink()
                moved.mkdir()
                relay.data.symlink_to(moved)
        assert relay.ended() == 1
        assert time.monotonic() - began < 10
        assert ann.closed() == 4000
        log = relay.log.read_text()
        assert "was removed or replaced while the relay runs; the relay writes nothing, and ends in" in log
        assert log.splitlines()[-1].startswith("stillwire: the database cannot be written: ")
        # The relay has written nothing to the new folder, or to the new file.
        if loss == "replaced":
            assert list(relay.data.iterdir()) == []
        if loss == "link":
            assert list(moved.iterdir()) == []
        if loss == "database":
            assert (relay.data / "stillwire.db").read_text() == "another file"
    finally:
        relay.kill()


def test_a_client_that_connects_while_the_store_cannot_be_read_is_closed(start, connect):
    relay = start()
    ann, bob = connect(relay, "ann"), connect(relay, "bob")
    for session in (ann, bob):
        session.join("live.tea")
    for file in relay.data.glob("stillwire.db*"):
        with file.open("r+b") as opened:
            opened.write(b"\xff" * file.stat().st_size)
    with Wire(relay) as stranger:
        stranger.open().send_request("hello", id=1, user="stranger")
        ending = stranger.ending()
    (error,) = ending.errors
    assert (error["id"], error["code"], error["temporary"]) == (1, "unavailable", True)
    assert (ending.bye["code"], ending.bye["reconnect"], ending.code) == (4001, True, 4001)
    # Members of a live room need no store.
    ann.send("live.tea", "still here")
    assert bob.expect("message")["body"] == "still here"
