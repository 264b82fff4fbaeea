# SPDX-License-Identifier: Apache-2.0
"""The configuration of the page about HAProxy, in front of a relay: HTTP/2, WebSocket over HTTP/1.1 and over HTTP/2."""

import json
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from h2.settings import SettingCodes

import http2
from certificates import write_authority
from relay import CHECKOUT, DEADLINE, Relay, running
from rfc6455 import SUBPROTOCOL, TEXT, frame
from waiting import eventually

PAGE = (CHECKOUT / "web" / "docs" / "guides" / "haproxy.md").read_text()
SINGLE, CLUSTER = re.findall(r"```haproxy\n(.*?)```", PAGE, re.DOTALL)
PROGRAM = shutil.which("haproxy", path="/usr/sbin:/usr/bin") or "haproxy"
UPGRADE = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: {SUBPROTOCOL}\r\n"
)
HELLO = frame(TEXT, b'{"type":"hello","user":"ann","device":"phone"}')


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Proxy:
    """HAProxy with the configuration of the page, on loopback ports in place of 80 and 443."""

    def __init__(self, relay: Relay, folder: Path):
        self.authority, certificate, key = write_authority(folder)
        pem = folder / "service-and-key.pem"
        pem.write_bytes(certificate.read_bytes() + key.read_bytes())
        self.plain, self.port = free_port(), free_port()
        text = SINGLE.replace("127.0.0.1:8080", f"127.0.0.1:{relay.port}")
        text = text.replace("/etc/haproxy/relay.example.org.pem", str(pem))
        for port, free in ((80, self.plain), (443, self.port)):
            text = text.replace(f"bind :{port}", f"bind 127.0.0.1:{free}")
        self.file = folder / "haproxy.cfg"
        # The tests have no user of this name.
        self.file.write_text(re.sub(r"^\t(user|group) haproxy\n", "", text, flags=re.MULTILINE))
        self.log = folder / "haproxy.log"

    @contextmanager
    def running(self) -> Iterator["Proxy"]:
        with self.log.open("wb") as log:
            process = subprocess.Popen([PROGRAM, "-db", "-f", self.file], stdout=log, stderr=log)
        try:
            eventually(lambda: self._accepts() or process.poll() is not None)
            assert process.poll() is None, self.log.read_text()
            yield self
        finally:
            process.terminate()
            process.wait(DEADLINE)

    def _accepts(self) -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    @contextmanager
    def upgrade(self, head: str = "", address: str = "127.0.0.1") -> Iterator[tuple[ssl.SSLSocket, str]]:
        """Opens a WebSocket connection over HTTP/1.1 from an address. Yields it with the first line of the answer."""
        context = ssl.create_default_context(cafile=str(self.authority))
        context.set_alpn_protocols(["http/1.1"])
        tcp = socket.create_connection(("127.0.0.1", self.port), DEADLINE, (address, 0))
        with context.wrap_socket(tcp, server_hostname="localhost") as client:
            client.sendall(f"GET /v1/connect HTTP/1.1\r\nHost: localhost\r\n{head}{UPGRADE}\r\n".encode())
            yield client, client.recv(4096).decode().partition("\r\n")[0]


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    options = ("--connections-per-address", "2", "--trusted-proxies", "127.0.0.1")
    with running(tmp_path, *options) as relay, Proxy(relay, tmp_path).running() as proxy:
        yield proxy


def extended_connect(connection: http2.Connection, *headers: tuple[str, str]) -> int:
    """Begins a WebSocket connection as a stream (RFC 8441), and sends `hello`. Returns the stream."""
    pairs = [(":protocol", "websocket"), ("sec-websocket-version", "13"), ("sec-websocket-protocol", SUBPROTOCOL)]
    stream = connection.send("/v1/connect", pairs + list(headers), method="CONNECT", is_last=False)
    answer = connection.answers[stream]
    connection.wait(lambda: answer.headers or answer.is_complete)
    if answer.headers.get(":status") == "200":
        connection.data(stream, HELLO, is_last=False)
    return stream


def is_welcome(body: bytes) -> bool:
    """True if the bytes are one whole frame `welcome`."""
    return len(body) > 4 and body[0] == 0x80 | TEXT and json.loads(body[4:])["type"] == "welcome"


def test_the_configuration_has_no_warning(proxy: Proxy) -> None:
    checked = subprocess.run([PROGRAM, "-c", "-f", proxy.file], capture_output=True, text=True, timeout=DEADLINE)
    assert checked.returncode == 0, checked.stderr
    assert "WARNING" not in checked.stderr + checked.stdout


def test_a_plain_request_is_led_to_https(proxy: Proxy) -> None:
    with socket.create_connection(("127.0.0.1", proxy.plain), DEADLINE) as client:
        client.sendall(b"GET /live HTTP/1.1\r\nHost: relay.example.org\r\n\r\n")
        answer = client.recv(4096).decode()
    assert answer.startswith("HTTP/1.1 302 ")
    assert "location: https://relay.example.org/live" in answer.lower()


def test_requests_over_http2_reach_the_relay(proxy: Proxy) -> None:
    connection = http2.Connection(proxy.port, proxy.authority)
    assert connection.request("/live", {}, method="GET").status == 200
    connection.close()


def test_a_websocket_over_http1_reaches_the_relay(proxy: Proxy) -> None:
    with proxy.upgrade("Origin: https://localhost\r\n") as (client, status):
        assert status.startswith("HTTP/1.1 101 ")
        client.sendall(HELLO)
        assert is_welcome(client.recv(65_536))


def test_a_websocket_over_http2_reaches_the_relay(proxy: Proxy) -> None:
    connection = http2.Connection(proxy.port, proxy.authority)
    assert connection.h2.remote_settings[SettingCodes.ENABLE_CONNECT_PROTOCOL] == 1
    stream = extended_connect(connection, ("origin", "https://localhost"))
    answer = connection.answers[stream]
    assert (answer.status, answer.headers["sec-websocket-protocol"]) == (200, SUBPROTOCOL)
    assert connection.wait(lambda: is_welcome(answer.body))
    # A request on the same connection does not wait for the end of the session.
    assert connection.request("/live", {}, method="GET").status == 200
    connection.close()


def test_the_relay_refuses_another_origin_over_http2(proxy: Proxy) -> None:
    connection = http2.Connection(proxy.port, proxy.authority)
    stream = extended_connect(connection, ("origin", "https://other.example"))
    assert connection.answers[stream].status == 403
    connection.close()


def test_the_relay_sees_the_address_of_the_client(proxy: Proxy) -> None:
    # The relay permits two connections for each address. A client forges a header, and HAProxy adds its own after it.
    with ExitStack() as ends:

        def status(address: str, forged: str) -> str:
            _, line = ends.enter_context(proxy.upgrade(f"X-Forwarded-For: {forged}\r\n", address))
            return line.split()[1]

        assert [status("127.0.0.2", f"203.0.113.{number}") for number in (1, 2, 3)] == ["101", "101", "429"]
        assert status("127.0.0.3", "127.0.0.2") == "101"


def test_the_configuration_for_several_nodes_is_valid(proxy: Proxy, tmp_path: Path) -> None:
    file = tmp_path / "cluster.cfg"
    single = proxy.file.read_text()
    file.write_text(single[: single.index("\nbackend relay")] + CLUSTER)
    checked = subprocess.run([PROGRAM, "-c", "-f", file], capture_output=True, text=True, timeout=DEADLINE)
    assert checked.returncode == 0, checked.stderr
    assert "WARNING" not in checked.stderr + checked.stdout
