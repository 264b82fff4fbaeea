# SPDX-License-Identifier: Apache-2.0
"""Start and stop: one clear line for each error at the start, and a graceful shutdown."""

import os
import socket
import sqlite3
import subprocess
import threading
from contextlib import closing

import pytest

from api import call
from database import add_undecided_rooms, execute
from relay import Relay, binary, environment, run
from waiting import eventually
from wire import Wire

#: Texts that an error message for an operator must not contain.
TRACES = ("Fatal error", "Swift/", ".swift:", "stack dump", "Error Domain", "SQLite error")


def assert_failed(ended, *named, code=1):
    """Checks that the relay ended with this code, and printed one line with these parts."""
    assert ended.returncode == code, ended
    lines = [line for line in ended.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, ended.stderr
    for name in named:
        assert str(name) in lines[0]
    assert not [trace for trace in TRACES if trace in ended.stderr]


def assert_bad_usage(ended, named):
    """Checks that the relay ended with the exit code for wrong usage, and printed the option."""
    assert ended.returncode in (1, 64), ended
    assert named in ended.stderr
    assert not [trace for trace in TRACES if trace in ended.stderr]


def serve(data, *options, **settings):
    return run("serve", "--address", "127.0.0.1", "--port", 0, "--data", data, "--web", "web", *options, **settings)


@pytest.fixture
def stopped(start):
    """A relay that has run and has ended, with its data."""
    relay = start()
    assert relay.stop() == 0
    return relay


def test_a_port_in_use(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = run("serve", "--address", "127.0.0.1", "--port", port, "--data", tmp_path / "data", "--web", "web")
    assert_failed(ended, port)


def test_an_origin_that_no_browser_sends(tmp_path):
    ended = serve(tmp_path / "data", "--origins", "app.example.org")
    assert_failed(ended, "origins: app.example.org", "write https://app.example.org")


def test_a_port_of_a_running_relay(start, tmp_path):
    port = start().port
    ended = run("serve", "--address", "127.0.0.1", "--port", port, "--data", tmp_path / "data", "--web", "web")
    assert_failed(ended, port)


def test_a_data_folder_that_cannot_be_made(tmp_path):
    file = tmp_path / "file"
    file.write_text("no folder")
    for folder in (file, file / "data"):
        assert_failed(serve(folder), folder)


@pytest.fixture
def disk(tmp_path):
    """A small disk of its own. Without root it cannot be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", disk], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


def leave(disk, size):
    """Fills the disk, and leaves this number of free bytes."""
    (disk / "filler").unlink(missing_ok=True)
    free = os.statvfs(disk)
    (disk / "filler").write_bytes(bytes(free.f_bavail * free.f_frsize - size))


def error_of_start(data):
    """Starts the relay, and ends it after its start. Returns the error if it does not start."""
    command = [binary(), "serve", "--address", "127.0.0.1", "--port", "0", "--data", str(data)]
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        if process.stdout.readline():
            process.terminate()
            assert process.wait() == 0
            return None
        assert process.wait() == 1
        return process.stderr.read()


@pytest.mark.parametrize("has_data", [False, True])
def test_a_full_disk(disk, has_data):
    data = disk / "data"
    if has_data:
        relay = Relay(disk)
        relay.log = disk.parent / "relay.log"
        assert relay.start().stop() == 0
    else:
        data.mkdir()
    for size in (0, 4096, 16_384, 32_768, 65_536, 98_304, 131_072):
        leave(disk, size)
        error = error_of_start(data)
        # With some space the relay starts, and then answers that it cannot store anything.
        assert error or size
        if error:
            assert f"the disk that is mounted at {disk} is full: it has " in error.splitlines()[-1]
    leave(disk, 0)
    assert_failed(serve(data), f"the disk that is mounted at {disk} is full: it has ")


def test_a_data_folder_in_use(start):
    relay = start()
    assert_failed(serve(relay.data), relay.data)
    assert call(relay, "GET", "/live").status == 200


def test_a_file_that_is_not_a_database(tmp_path):
    (tmp_path / "stillwire.db").write_bytes(b"this was never a database " * 500)
    assert_failed(serve(tmp_path), "stillwire.db")


def test_a_database_of_a_newer_relay(stopped):
    execute(stopped, "INSERT INTO grdb_migrations (identifier) VALUES ('of-a-newer-relay')")
    assert_failed(serve(stopped.data), "newer")


def test_a_database_of_a_build_before_the_first_release(stopped):
    execute(stopped, "INSERT INTO grdb_migrations (identifier) VALUES ('1')")
    assert_failed(serve(stopped.data), "stillwire.db", "move the folder away")


def test_a_link_to_a_database_on_a_volume_that_is_not_mounted(tmp_path):
    (tmp_path / "stillwire.db").symlink_to(tmp_path / "volume" / "stillwire.db")
    assert_failed(serve(tmp_path), "stillwire.db", "link")


def test_a_database_of_another_program(tmp_path):
    with closing(sqlite3.connect(tmp_path / "stillwire.db")) as database, database:
        database.execute("CREATE TABLE songs (name TEXT)")
    before = (tmp_path / "stillwire.db").read_bytes()
    assert_failed(serve(tmp_path), "stillwire.db", "another program")
    assert (tmp_path / "stillwire.db").read_bytes() == before


def test_tables_of_another_program_beside_the_own_ones(start, connect):
    relay = start()
    connect(relay, "ann").join("tea")
    relay.stop()
    assert "other programs have created tables" not in relay.log.read_text()
    execute(relay, "CREATE TABLE _litestream_lock (id INTEGER)")
    relay.start()
    (line,) = [line for line in relay.log.read_text().splitlines() if "other programs have created tables" in line]
    assert "count=1" in line and "tables=_litestream_lock" in line
    assert connect(relay, "ann").join("tea")["seq"] == 0


def test_a_folder_in_use_whose_lock_file_is_gone(start):
    relay = start()
    (relay.data / "stillwire.lock").unlink()
    assert_failed(serve(relay.data), relay.data)
    assert call(relay, "GET", "/live").status == 200


@pytest.mark.parametrize("end", [Relay.stop, Relay.kill], ids=["stop", "kill"])
def test_a_restored_backup_begins_new_epochs(start, connect, tmp_path, end):
    relay = start()
    ann = connect(relay, "ann")
    ann.join("tea")
    ann.send("tea", "kept")
    with closing(sqlite3.connect(relay.data / "stillwire.db")) as source:
        with closing(sqlite3.connect(tmp_path / "backup.db")) as target:
            source.backup(target)
    # The counter in the file next to the database increases while the relay stores messages.
    before = (relay.data / "stillwire.run").read_text()

    def has_counted():
        ann.send("tea", "lost")
        return (relay.data / "stillwire.run").read_text() != before

    eventually(has_counted, every=0.2)
    position = {key: ann.join("tea")[key] for key in ("epoch", "seq")}
    end(relay)
    for name in ("stillwire.db-wal", "stillwire.db-shm"):
        (relay.data / name).unlink(missing_ok=True)
    (relay.data / "stillwire.db").write_bytes((tmp_path / "backup.db").read_bytes())
    relay.start()
    assert "restored" in relay.log.read_text()
    ann = connect(relay, "ann")
    # The client notices the loss even if the room has the same number of messages again.
    ann.join("tea")
    while ann.send("tea", "new")["seq"] < position["seq"]:
        pass
    reply = connect(relay, "ann").join("tea", after=position, history=1)
    assert reply["recovered"] is False
    assert reply["epoch"] != position["epoch"]
    assert [message["body"] for message in reply["messages"]] == ["new"]


def test_a_crash_keeps_the_epochs(start, connect):
    relay = start()
    ann = connect(relay, "ann")
    ann.join("tea")
    position = {"epoch": ann.join("tea")["epoch"], "seq": ann.send("tea", "hi")["seq"]}
    relay.kill()
    relay.start()
    assert connect(relay, "ann").join("tea", after=position)["recovered"] is True


def test_a_missing_secret(tmp_path):
    missing = tmp_path / "missing"
    assert_failed(serve(tmp_path / "data", "--secret-file", missing), missing)
    assert_failed(run("token", "--secret-file", missing, "--user", "alice"), missing)


def test_an_empty_secret(tmp_path):
    empty = tmp_path / "empty"
    empty.touch()
    assert_failed(serve(tmp_path / "data", "--secret-file", empty), empty)


@pytest.mark.parametrize("size, is_enough", [(1, False), (31, False), (32, True)])
def test_a_secret_for_tokens_has_32_bytes_or_more(tmp_path, size, is_enough):
    secret = tmp_path / "secret"
    secret.write_text("s" * size + "\n")
    secret.chmod(0o600)
    for arguments in (
        ("serve", "--check", "--data", tmp_path, "--secret-file", secret),
        ("serve", "--check", "--data", tmp_path, "--tokens-keys", f"HS256:a:{secret}"),
        ("token", "--user", "alice", "--secret-file", secret),
    ):
        ended = run(*arguments)
        assert ended.returncode == (0 if is_enough else 1), ended
        assert is_enough or f"has {size} bytes" in ended.stderr


def test_a_secret_that_others_can_read(tmp_path, secret):
    own = tmp_path / "secret"
    own.write_text(secret.read_text())
    own.chmod(0o644)
    assert_failed(serve(tmp_path / "data", "--secret-file", own), "chmod o=")
    assert_failed(serve(tmp_path / "data", "--tokens-keys", f"HS256:a:{own}"), "chmod o=")
    assert_failed(run("token", "--secret-file", own, "--user", "alice"), "chmod o=")
    own.chmod(0o640)
    assert run("token", "--secret-file", own, "--user", "alice").returncode == 0


def test_a_token_for_an_invalid_user(secret):
    for user in ("a b", "me", "", ".."):
        ended = run("token", "--secret-file", secret, "--user", user)
        assert ended.returncode in (1, 64) and not ended.stdout.strip(), user


@pytest.mark.parametrize(
    "options, named",
    [
        (["--no-such-option"], "--no-such-option"),
        (["--limits-send-rate", "many"], "many"),
        (["--limits-send-rate", "-1"], "--limits-send-rate"),
        (["--limits-send-rate=-1"], "-1"),
        (["--presence-grace", "soon"], "soon"),
        (["--port", "65536"], "65536"),
        (["--log-level", "shouting"], "shouting"),
        (["--address", "not-an-address"], "not-an-address"),
    ],
)
def test_a_bad_option(tmp_path, options, named):
    command = ["serve", "--data", tmp_path / "data", "--web", "web"]
    if options[0] != "--port":
        command += ["--port", 0]
    assert_bad_usage(run(*command, *options), named)


def test_a_bad_setting_of_the_environment(tmp_path):
    ended = serve(tmp_path / "data", STILLWIRE_LIMITS_SEND_RATE="many")
    assert ended.returncode in (1, 64), ended
    assert "many" in ended.stderr
    assert not [trace for trace in TRACES if trace in ended.stderr]


def test_open_mode_listens_on_loopback_by_default(tmp_path, start, secret):
    ended = run("serve", "--address", "0.0.0.0", "--port", 0, "--data", tmp_path / "data", "--web", "web")
    assert_bad_usage(ended, "--open-to-network")
    assert call(start("--address", "0.0.0.0", "--open-to-network"), "GET", "/live").status == 200
    assert call(start("--address", "0.0.0.0", secret=secret), "GET", "/live").status == 200


def asked_as(relay, host):
    with Wire(relay) as wire:
        return wire.upgrade({"Host": host}).status


def test_open_to_the_network_the_relay_accepts_only_its_own_names(start):
    relay = start("--address", "0.0.0.0", "--open-to-network", "--hosts", "relay.test other.example")
    for host in ("127.0.0.1", f"192.168.1.7:{relay.port}", "[2001:db8::1]", "localhost:1", "relay.test", "OTHER.example:8080"):
        assert asked_as(relay, host) == 101, host
    for host in ("evil.example", "relay.test.evil.example", "192.168.1.7.evil.example", "localhost.evil.example"):
        assert asked_as(relay, host) == 403, host
        answer = call(relay, "GET", "/v1/rooms/tea/messages", headers={"Host": host})
        assert (answer.status, answer.problem["code"]) == (403, "forbidden")
        assert "hosts" in answer.problem["detail"]


def test_listed_names_apply_on_loopback_and_with_tokens(start, secret):
    relay = start(configuration={"hosts": ["relay.test"]})
    assert [asked_as(relay, host) for host in ("relay.test", "localhost", "192.168.1.7", "evil.example")] == [101, 101, 403, 403]
    relay = start(secret=secret, STILLWIRE_HOSTS="relay.test")
    assert [asked_as(relay, host) for host in ("relay.test", "192.168.1.7", "evil.example")] == [101, 101, 403]


@pytest.mark.parametrize("host", ["relay.test:8080", "http://relay.test", "*", "a" * 254])
def test_a_host_that_is_not_a_name_is_rejected(tmp_path, host):
    assert_failed(serve(tmp_path / "data", "--hosts", host), "is not a host name")


def test_open_mode_is_logged(start):
    relay = start()
    assert relay.stop() == 0
    assert "open" in relay.log.read_text().lower()


@pytest.mark.parametrize(
    "options, seconds",
    [((), 45), (("--limits-heartbeat", 1, "--limits-pong-timeout", 0.5, "--presence-grace", 2), 3.5)],
)
def test_the_time_until_a_dead_session_shows_offline_is_logged_at_start(start, options, seconds):
    relay = start(*options)
    assert relay.stop() == 0
    (line,) = [line for line in relay.log.read_text().splitlines() if "shown as online for at most" in line]
    assert float(line.split("at most ")[1].split()[0]) == seconds


def test_options_have_precedence_over_the_environment(start, connect):
    relay = start("--limits-history", 20, STILLWIRE_LIMITS_SEND_RATE="7", STILLWIRE_LIMITS_HISTORY="10")
    limits = connect(relay, "alice").welcome["limits"]
    assert (limits["sendRate"], limits["history"], limits["frame"]) == (7, 20, 65536)


def test_a_heartbeat_can_be_a_fraction_of_a_second(start, connect):
    welcome = connect(start("--limits-heartbeat", 0.5), "alice").welcome
    assert welcome["heartbeat"] == 0.5


def test_sigterm_closes_every_session_and_exits_with_zero(start, connect):
    relay = start()
    sessions = [connect(relay, f"user{number}") for number in range(20)]
    for session in sessions:
        session.join("room")
    sessions[0].send("room", "last words")
    assert relay.stop() == 0
    for session in sessions:
        assert session.closed() == 4000
        bye = session.inbox[-1]
        assert (bye["type"], bye["code"], bye["reconnect"]) == ("bye", 4000, True)


def test_sigterm_works_as_soon_as_the_relay_is_ready(start):
    for _ in range(3):
        assert start().stop() == 0


def test_sigterm_does_not_wait_for_clients_that_do_not_answer(start):
    relay = start()
    with Wire(relay) as silent, Wire(relay) as ungreeted, Wire(relay) as idle:
        silent.open("silent")
        ungreeted.open()
        idle.send_bytes(b"GET / HT")
        assert relay.stop() == 0


def test_a_second_start_on_the_same_port(start):
    """The relay can bind a port that was closed a moment ago."""
    relay = start()
    port = relay.port
    call(relay, "GET", "/live")
    assert relay.stop() == 0
    again = start("--port", port)
    assert again.port == port


def test_tokens_and_bodies_stay_out_of_the_log(start, connect, secret):
    relay = start("--log-level", "debug", secret=secret)
    token = relay.token("alice")
    alice = connect(relay, token=token)
    alice.join("room")
    alice.send("room", "nobody-else-may-read-this")
    alice.refusal("send", room="room", body="nor-this", key=5)
    call(relay, "GET", "/v1/users/me/presence", token=token)
    assert relay.stop() == 0
    log = relay.log.read_text()
    for kept_secret in (token, token.split(".")[2], "nobody-else-may-read-this", "nor-this", secret.read_text()):
        assert kept_secret not in log


def test_the_relay_serves_while_it_loads_undecided_messages(stopped, connect):
    add_undecided_rooms(stopped, 5000)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    relay = Relay(stopped.data.parent, "--port", port)
    starting = threading.Thread(target=relay.start)
    starting.start()
    try:
        relay.port = port
        first = eventually(lambda: answered(relay, "/ready"))
        assert (first.status, first.json["status"]) == (503, "starting")
        assert call(relay, "GET", "/live").status == 200
        assert connect(relay, "ann").join("room5000")["seq"] == 1
        eventually(lambda: call(relay, "GET", "/ready").status == 200)
        assert relay.stop() == 0
    finally:
        relay.kill()
        starting.join()


def answered(relay, path):
    try:
        return call(relay, "GET", path)
    except OSError:
        return None
