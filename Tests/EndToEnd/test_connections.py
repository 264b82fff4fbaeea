# SPDX-License-Identifier: Apache-2.0
"""Limits of connections, timeouts of silent clients, and the effect of a flood on other clients."""

import base64
import os
import resource
import select
import socket
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from api import call
from client import Session
from metrics import metrics
from relay import DEADLINE, Relay, run
from waiting import eventually
from wire import Wire

#: The timeout for a complete request, in seconds.
PATIENCE = 10.0

HOST = b"Host: 127.0.0.1\r\n"
KEY = base64.b64encode(os.urandom(16))

#: The bytes that a client sends immediately, and the bytes that it sends one by one.
DRIPS = {
    "nothing": (b"", b""),
    "the request line": (b"", b"GET /" + b"a" * 500),
    "headers": (b"GET /live HTTP/1.1\r\n" + HOST, b"X-Slow: " + b"a" * 500),
    "a body": (b"POST /v1/rooms/tea/messages HTTP/1.1\r\n" + HOST + b"Content-Length: 500\r\n\r\n", b"{" + b" " * 400),
    "a handshake": (
        b"GET /v1/connect HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ",
        b"a" * 500,
    ),
    "hello": (
        b"GET /v1/connect HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + KEY + b"\r\n\r\n\x81\xfe\x01\x00aaaa",
        b"a" * 250,
    ),
}


def dial(relay: Relay) -> socket.socket:
    return socket.create_connection(("127.0.0.1", relay.port), DEADLINE)


def has_ended(connection: socket.socket, received: bytearray) -> bool:
    """Reads all available bytes. Returns True if the other side has ended the connection."""
    try:
        while select.select([connection], [], [], 0)[0]:
            got = connection.recv(65536)
            if not got:
                return True
            received += got
    except OSError:
        return True
    return False


def test_a_client_that_sends_too_slowly_is_cut_after_the_timeout(start):
    """One test has all cases, because each of them takes the full timeout."""
    relay = start()
    with ExitStack() as ends:
        began = time.monotonic()
        left: dict[str, tuple[socket.socket, bytes]] = {}
        received = {name: bytearray() for name in DRIPS}
        for name, (head, rest) in DRIPS.items():
            connection = ends.enter_context(dial(relay))
            connection.sendall(head)
            left[name] = connection, rest
        while left and time.monotonic() - began < PATIENCE + DEADLINE:
            for name, (connection, rest) in list(left.items()):
                if has_ended(connection, received[name]):
                    assert time.monotonic() - began > PATIENCE * 0.8, name
                    del left[name]
                    continue
                try:
                    connection.sendall(rest[:1])
                except OSError:
                    continue
                left[name] = connection, rest[1:]
            time.sleep(0.25)
        assert not left, f"still there: {list(left)}"
        assert received["a body"].startswith(b"HTTP/1.1 408 "), received["a body"]
        assert metrics(relay)["stillwire_exchanges"] == 1


def test_an_idle_connection_ends_after_the_timeout_of_the_configuration(start):
    relay = start(STILLWIRE_CONNECTIONS_IDLE_TIMEOUT="1")
    with dial(relay) as connection:
        for _ in range(2):
            began = time.monotonic()
            connection.sendall(b"GET /live HTTP/1.1\r\n" + HOST + b"\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        assert connection.recv(1) == b""
        assert time.monotonic() - began > 0.9


def test_a_flood_of_silent_connections_does_not_keep_others_out(start, connect):
    relay = start()
    ann = connect(relay, "ann")
    ann.join("tea")
    before = metrics(relay)
    with ExitStack() as ends:
        flood = [ends.enter_context(dial(relay)) for _ in range(1500)]
        for number, connection in enumerate(flood):
            connection.sendall(b"" if number % 3 else b"GET /live HTTP/1.1\r\nX-Slow: a")
        bob = connect(relay, "bob")
        bob.join("tea")
        ann.send("tea", "through")
        assert bob.expect("message")["body"] == "through"
        during = metrics(relay)
        assert during["stillwire_connections"] >= 1500
        # A connection needs less than 32 KiB.
        assert during["process_resident_memory_bytes"] - before["process_resident_memory_bytes"] < 1500 * 32 << 10
        eventually(lambda: metrics(relay)["stillwire_connections"] <= 3, within=PATIENCE + DEADLINE)


def test_memory_goes_back_to_the_system_after_many_disconnects(start):
    """The relay is idle meanwhile: a request would make the allocator return memory, too."""
    relay = start()

    def memory() -> int:
        status = Path(f"/proc/{relay.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) << 10

    metrics(relay)
    before = memory()
    with ExitStack() as ends:
        for _ in range(1500):
            connection = ends.enter_context(dial(relay))
            connection.sendall(b"GET /live HTTP/1.1\r\n" + HOST + b"X-Long: " + b"a" * 4000)
        eventually(lambda: metrics(relay)["stillwire_connections"] > 1500)
        most = memory()
        assert most - before > 6 << 20, (before, most)
    eventually(lambda: memory() - before < (most - before) / 3)


def test_with_few_descriptors_the_last_client_is_refused_and_the_others_stay(start, connect):
    relay = start(under=("prlimit", "--nofile=160"))
    ann = connect(relay, "ann")
    ann.join("tea")
    with ExitStack() as ends:
        refused = None
        for _ in range(200):
            connection = ends.enter_context(dial(relay))
            ready, _, _ = select.select([connection], [], [], 0.02)
            if ready:
                refused = connection.recv(1000)
                break
        assert refused is not None and refused.startswith(b"HTTP/1.1 503 "), refused
        assert b"Retry-After: 5\r\n" in refused
        assert ann.send("tea", "still here")["seq"] == 1
    eventually(lambda: call(relay, "GET", "/live").status == 200)
    eventually(lambda: metrics(relay)["stillwire_connections"] == 2)
    bob = connect(relay, "bob")
    assert bob.join("tea")["seq"] == 1
    assert metrics(relay)["stillwire_connections_refused_total{most}"] >= 1
    assert relay.stop() == 0


def test_the_relay_recovers_from_a_lack_of_descriptors(start, connect):
    """The test lowers the process's limit of descriptors below the relay's limit of connections."""
    relay = start("--connections-most", "200", under=("prlimit", "--nofile=1000"))
    ann = connect(relay, "ann")
    ann.join("tea")
    resource.prlimit(relay.pid, resource.RLIMIT_NOFILE, (relay.open_files + 5, 1000))
    with ExitStack() as ends:
        for _ in range(40):
            ends.enter_context(dial(relay))
        eventually(lambda: "no file descriptor is left" in relay.log.read_text())
        # The relay logs it once, and not at every attempt.
        assert relay.log.read_text().count("no file descriptor is left") == 1
        assert ann.send("tea", "still here")["seq"] == 1
    resource.prlimit(relay.pid, resource.RLIMIT_NOFILE, (1000, 1000))
    bob = eventually(lambda: attempt(relay))
    assert bob.join("tea")["seq"] == 1
    bob.close()


def attempt(relay: Relay) -> Session | None:
    try:
        return Session(relay, "bob")
    except (OSError, EOFError):
        return None


def test_behind_a_trusted_proxy_each_client_has_its_own_limit(start):
    relay = start("--connections-per-address", "2", "--trusted-proxies", "10.0.0.0/8 127.0.0.1")
    with ExitStack() as ends:

        def status(forwarded: str) -> int:
            return ends.enter_context(Wire(relay)).upgrade({"X-Forwarded-For": forwarded}).status

        assert status("203.0.113.1") == 101
        assert status("198.51.100.7, 203.0.113.1, 10.1.2.3") == 101
        assert status("198.51.100.8, 203.0.113.1") == 429
        assert status("2001:db8:1:2::1") == 101
        assert status("2001:db8:1:2:ffff::9") == 101
        assert status("[2001:db8:1:2::3]:999") == 429
        assert status("2001:db8:1:3::1") == 101
        answer = call(relay, "GET", "/live", headers={"X-Forwarded-For": "203.0.113.1"})
        assert (answer.status, answer.problem["code"]) == (429, "rate_limited")
    eventually(lambda: call(relay, "GET", "/live", headers={"X-Forwarded-For": "203.0.113.1"}).status == 200)


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--trusted-proxies", "127.0.0.1 proxy.example", "trustedProxies: proxy.example"),
        ("--connections-most", "900000", "connections.most is 900000"),
    ],
)
def test_a_wrong_limit_is_an_error_at_start(tmp_path, option, value, words):
    ended = run("serve", "--port", 0, "--data", tmp_path / "data", option, value)
    assert ended.returncode == 1 and words in ended.stderr


def test_requests_in_progress_from_an_address_are_limited(start):
    relay = start(configuration={"connections": {"requestsPerUser": 1}})
    head = b"PUT /v1/users/bob/focus HTTP/1.1\r\n" + HOST + b"Content-Length: 20\r\n\r\n"
    with ExitStack() as ends:
        sockets = [ends.enter_context(socket.create_connection(("127.0.0.1", relay.port))) for _ in range(20)]
        for one in sockets:
            one.sendall(head)
        # An address may have as many requests as 16 users: 4 are rejected, and the others wait for their bodies.
        refused = eventually(lambda: len(found := select.select(sockets, [], [], 0)[0]) == 4 and found)
        assert all(one.recv(100).startswith(b"HTTP/1.1 429 ") for one in refused)
        answer = call(relay, "GET", "/live")
        assert (answer.status, answer.problem["code"], answer.headers["Retry-After"]) == (429, "rate_limited", "1")
    eventually(lambda: call(relay, "GET", "/live").status == 200)
