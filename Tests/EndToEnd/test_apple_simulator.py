# SPDX-License-Identifier: Apache-2.0
"""`stillwire-simulator`: its checks, which are those of Apple's push service, and the faults that a test can request.

The expectations are from Apple's pages "Sending notification requests to APNs", "Establishing a token-based connection
to APNs" and "Handling notification responses from APNs".
"""

import json
import random
import re
import socket
import subprocess
import time
import urllib.error
import uuid
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from apple import ALERT, DEVICE, KEY_ID, TEAM, TOPIC, AppleSimulator, Signer, headers
from http2 import Connection
from relay import DEADLINE, run_tool
from waiting import eventually

PATH = f"/3/device/{DEVICE}"
USUAL = {
    "environment": "sandbox", "acceptsAnyKey": False, "countsUpdatesAcrossConnections": False, "clockSkew": 60,
    "clockOffset": 0, "topics": [], "tokenDigits": 64, "mostPerDevice": None, "latency": 0, "streams": 1000,
    "window": 65_535, "readDelay": 0, "requestsPerConnection": None,
}


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    simulator = AppleSimulator(tmp_path_factory.mktemp("simulator")).start()
    try:
        yield simulator
        assert simulator.stop() == 0
    finally:
        simulator.kill()


@pytest.fixture
def apple(process):
    """The simulator of the test file, in the state after a start."""
    process.control("POST", "/reset")
    key = {"id": KEY_ID, "team": TEAM, "publicKey": process.signer.public_pem}
    process.settings(**USUAL, keys=[key])
    return process


@pytest.fixture
def connect(apple):
    """Opens connections that are closed after the test."""
    connections = []

    def connect() -> Connection:
        connections.append(Connection(apple.port, apple.certificate))
        return connections[-1]

    yield connect
    for connection in connections:
        connection.close()


@pytest.fixture(scope="module")
def token(process):
    return process.signer.token()


@pytest.fixture
def push(connect, token):
    """Sends one notification on a new connection, and returns the answer."""

    def push(path=PATH, body=ALERT, method="POST", **changes):
        changes.setdefault("authorization", f"bearer {token}")
        return connect().request(path, headers(**changes), body, method)

    return push


def assert_refused(answer, status, reason):
    assert (answer.status, answer.json) == (status, {"reason": reason})
    assert uuid.UUID(answer.headers["apns-id"])


# Accepted notifications


def test_a_notification_is_accepted(push, apple):
    answer = push(apns_id="8f14e45f-ceea-467f-a9d5-0123456789ab")
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["apns-id"] == "8f14e45f-ceea-467f-a9d5-0123456789ab"
    assert uuid.UUID(answer.headers["apns-unique-id"])
    (arrival,) = apple.arrivals()
    assert arrival["outcome"] == "shown"
    assert (arrival["method"], arrival["path"], arrival["stream"]) == ("POST", PATH, 1)
    assert arrival["id"] == "8f14e45f-ceea-467f-a9d5-0123456789ab"
    assert arrival["keyID"] == KEY_ID
    assert json.loads(arrival["payload"]) == ALERT
    assert ["apns-topic", TOPIC] in arrival["headers"]
    assert "authorization" not in [name for name, _ in arrival["headers"]]


def test_a_push_without_an_id_gets_one(push):
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", push().headers["apns-id"])


def test_only_the_sandbox_returns_a_unique_id(push, apple):
    apple.settings(environment="production")
    assert "apns-unique-id" not in push().headers


def test_httpx_is_served(apple, token):
    with httpx.Client(http2=True, http1=False, verify=apple.trust) as client:
        for _ in range(3):
            answer = client.post(f"https://localhost:{apple.port}{PATH}", headers=headers(token), json=ALERT)
            assert (answer.http_version, answer.status_code) == ("HTTP/2", 200)
    assert {arrival["connection"] for arrival in apple.arrivals()} == {apple.arrivals()[0]["connection"]}


def test_nghttp_is_served(apple, token, tmp_path):
    body = tmp_path / "body.json"
    body.write_text(json.dumps(ALERT))
    named = [f"--header={name}: {value}" for name, value in headers(token).items()]
    said = subprocess.run(
        ["nghttp", "-v", f"--data={body}", "--header=:method: POST", *named, f"https://localhost:{apple.port}{PATH}"],
        capture_output=True, text=True, timeout=DEADLINE,
    ).stdout
    assert ":status: 200" in said
    assert "[SETTINGS_MAX_CONCURRENT_STREAMS(0x03):1]" in said
    assert "[SETTINGS_MAX_CONCURRENT_STREAMS(0x03):1000]" in said


def test_h2load_is_served(apple, token, tmp_path):
    body = tmp_path / "body.json"
    body.write_text(json.dumps(ALERT))
    named = [f"--header={name}: {value}" for name, value in headers(token).items()]
    said = subprocess.run(
        # With more streams, h2load exceeds the limit before it has read the server's settings.
        ["h2load", "-n300", "-c1", "-m1", f"--data={body}", "--header=:method: POST", *named,
         f"https://localhost:{apple.port}{PATH}"],
        capture_output=True, text=True, timeout=DEADLINE,
    ).stdout
    assert "300 2xx" in said
    counts = apple.control("GET", "/counts")
    assert counts["outcomes"] == {"shown": 300}
    assert counts["verifications"] == 1


# Refusals. `AppleSimulatorTests` has all rules, and the status of each reason.


def payload_of(size):
    text = json.dumps({"aps": {"alert": "a"}}, separators=(",", ":"))
    return text.replace('"a"', '"' + "a" * (size - len(text) + 1) + '"').encode()


def test_a_body_without_an_end_is_rejected_early(connect, token):
    connection = connect()
    assert connection.request(PATH, headers(token), ALERT).status == 200
    stream = connection.send(PATH, headers(token), b"a" * 70_000, is_last=False)
    answer = connection.answer(stream)
    assert_refused(answer, 413, "PayloadTooLarge")
    assert connection.request(PATH, headers(token), ALERT).status == 200


@pytest.mark.parametrize(
    ("request_", "status", "reason"),
    [
        ({"method": "GET"}, 405, "MethodNotAllowed"),
        ({"path": "/"}, 404, "BadPath"),
        ({"path": "/3/device/"}, 400, "MissingDeviceToken"),
        ({"path": f"/3/device/{DEVICE[:-1]}g"}, 400, "BadDeviceToken"),
        ({"authorization": None}, 403, "MissingProviderToken"),
        ({"authorization": "bearer a.b.c"}, 403, "InvalidProviderToken"),
        ({"apns_topic": None}, 400, "MissingTopic"),
        ({"body": b""}, 400, "PayloadEmpty"),
        ({"body": payload_of(4097)}, 413, "PayloadTooLarge"),
    ],
)
def test_a_wrong_notification_is_refused(push, request_, status, reason):
    assert_refused(push(**request_), status, reason)


def test_a_key_has_topics_an_environment_and_related_keys(push, connect, apple):
    other = Signer("OTHER67890")
    keys = [{"id": signer.key_id, "team": TEAM, "publicKey": signer.public_pem} for signer in (apple.signer, other)]
    for more, status, reason in (
        ({"topics": ["org.example.other"]}, 400, "TopicDisallowed"),
        ({"environment": "production"}, 403, "BadEnvironmentKeyIdInToken"),
    ):
        apple.settings(keys=[keys[0] | more])
        assert_refused(push(), status, reason)
    apple.settings(keys=keys)
    connection = connect()
    assert connection.request(PATH, headers(apple.signer.token()), ALERT).status == 200
    assert_refused(connection.request(PATH, headers(other.token()), ALERT), 403, "UnrelatedKeyIdInToken")
    apple.settings(keys=[keys[0], keys[1] | {"related": KEY_ID}])
    assert connection.request(PATH, headers(other.token()), ALERT).status == 200


# Devices


def shown(phone):
    return [one["payload"]["aps"]["alert"] for one in phone["shown"]]


def test_a_phone_that_is_off_keeps_the_newest_of_each_app(push, apple):
    apple.phone(DEVICE, isOn=False)
    for text, topic in [("1", TOPIC), ("2", TOPIC), ("3", "org.example.mail")]:
        assert push(body={"aps": {"alert": text}}, apns_topic=topic).status == 200
    assert push(body={"aps": {"alert": "4"}}, apns_expiration="0").status == 200
    assert [arrival["outcome"] for arrival in apple.arrivals()] == ["stored", "stored", "stored", "dropped"]
    phone = apple.control("GET", f"/phones/{DEVICE}")
    assert [one["topic"] for one in phone["stored"]] == [TOPIC, "org.example.mail"]
    assert shown(phone) == []
    phone = apple.phone(DEVICE, isOn=True)
    assert shown(phone) == ["2", "3"]
    assert phone["stored"] == []


# Connections


def test_a_connection_allows_one_stream_until_a_token_was_accepted(connect, apple, token):
    apple.settings(latency=0.2)
    connection = connect()
    assert connection.streams == 1
    assert_refused(connection.request(PATH, headers(), ALERT), 403, "MissingProviderToken")
    assert connection.streams == 1
    first = connection.send(PATH, headers(token), ALERT)
    assert connection.answer(first).status == 200
    assert connection.streams == 1000
    streams = [connection.send(PATH, headers(token), ALERT) for _ in range(50)]
    assert {connection.answer(stream).status for stream in streams} == {200}


def test_a_second_stream_before_that_is_refused(connect, apple, token):
    apple.settings(latency=0.2)
    connection = connect()
    first = connection.send(PATH, headers(token), ALERT)
    # Makes the client ignore the limit of streams.
    connection.h2.remote_settings[3] = 100
    connection.h2.remote_settings.acknowledge()
    second = connection.send(PATH, headers(token), ALERT)
    connection.wait(lambda: connection.answers[first].is_complete)
    # The simulator sends REFUSED_STREAM, or ends a connection that exceeds the acknowledged limit.
    assert connection.answers[second].reset == 7 or connection.goaway is not None


def test_the_number_of_streams_changes_while_it_runs(connect, apple, token):
    connection = connect()
    assert connection.request(PATH, headers(token), ALERT).status == 200
    for streams in (1, 100):
        apple.settings(streams=streams)
        assert connection.wait(lambda: connection.streams == streams)
    assert connection.request(PATH, headers(token), ALERT).status == 200


def test_latency(connect, apple, token):
    apple.settings(latency=[0.3, 0.4])
    began = time.monotonic()
    assert connect().request(PATH, headers(token), ALERT).status == 200
    assert time.monotonic() - began >= 0.3


def test_a_script_selects_devices_and_a_count(connect, apple, token):
    fault = {"action": "answer", "reason": "Busy", "status": 503, "retryAfter": 7, "tokens": [DEVICE.upper()], "times": 2}
    apple.faults(fault)
    connection = connect()
    for _ in range(2):
        answer = connection.request(PATH, headers(token), ALERT)
        assert (answer.status, answer.reason, answer.headers["retry-after"]) == (503, "Busy", "7")
        assert connection.request(f"/3/device/{'cd' * 32}", headers(token), ALERT).status == 200
    assert connection.request(PATH, headers(token), ALERT).status == 200
    assert apple.control("GET", "/counts")["refusals"] == {"Busy": 2}


def test_hang_and_reset_stream(connect, apple, token):
    apple.faults(
        {"action": "hang", "tokens": ["aa" * 32]}, {"action": "resetStream", "code": 7, "tokens": ["bb" * 32]}
    )
    connection = connect()
    assert connection.request(PATH, headers(token), ALERT).status == 200
    hanging = connection.send(f"/3/device/{'aa' * 32}", headers(token), ALERT)
    assert connection.request(f"/3/device/{'bb' * 32}", headers(token), ALERT).reset == 7
    assert connection.request(PATH, headers(token), ALERT).status == 200
    assert not connection.answers[hanging].is_complete
    assert [one["outcome"] for one in apple.arrivals()] == ["shown", "hang", "resetStream", "shown"]


def test_reset_connection(connect, apple, token):
    apple.faults({"action": "resetConnection", "times": 1})
    connection = connect()
    connection.send(PATH, headers(token), ALERT)
    connection.wait(lambda: False)
    assert connection.is_closed
    assert connection.goaway is None
    assert connect().request(PATH, headers(token), ALERT).status == 200


def test_disconnect(connect, apple, token):
    connection = connect()
    assert connection.request(PATH, headers(token), ALERT).status == 200
    apple.control("POST", "/disconnect")
    connection.wait(lambda: False)
    assert connection.is_closed
    eventually(lambda: apple.control("GET", "/counts")["openConnections"] == 0)


def test_goaway_gives_the_reason_and_earlier_requests_are_answered(connect, apple, token):
    connection = connect()
    assert connection.request(PATH, headers(token), ALERT).status == 200
    apple.settings(latency=0.5)
    streams = [connection.send(PATH, headers(token), ALERT) for _ in range(4)]
    eventually(lambda: len(apple.arrivals()) == 5)
    apple.control("POST", "/goaway", {"reason": "ServiceUnavailable", "leaving": 2})
    connection.wait(lambda: False)
    assert connection.is_closed
    assert connection.goaway.last_stream_id == streams[1]
    assert json.loads(connection.goaway.additional_data) == {"reason": "ServiceUnavailable"}
    assert [connection.answers[stream].is_complete for stream in streams] == [True, True, False, False]


def test_goaway_of_a_script(connect, apple, token):
    connection = connect()
    assert connection.request(PATH, headers(token), ALERT).status == 200
    apple.faults({"action": "goAway", "times": 1})
    connection.send(PATH, headers(token), ALERT)
    connection.wait(lambda: False)
    assert connection.is_closed
    assert connection.goaway.last_stream_id == 1


def test_goaway_after_so_many_requests(connect, apple, token):
    apple.settings(requestsPerConnection=3)
    connection = connect()
    for _ in range(3):
        assert connection.request(PATH, headers(token), ALERT).status == 200
    connection.wait(lambda: False)
    assert connection.is_closed
    assert connection.goaway.last_stream_id == 5


def test_slow_reads(connect, apple, token):
    apple.settings(window=1000, readDelay=0.1)
    connection = connect()
    began = time.monotonic()
    assert connection.request(PATH, headers(token), payload_of(4000)).status == 200
    assert time.monotonic() - began >= 0.3


def test_headers_of_any_size_do_no_harm(connect, token):
    connection = connect()
    pairs = list(headers(token).items()) + [(f"x-{number}", "a" * 1000) for number in range(40)]
    connection.send(PATH, pairs, ALERT)
    connection.wait(lambda: False)
    assert connection.is_closed
    assert connect().request(PATH, headers(token), ALERT).status == 200


def test_a_connection_that_is_not_http2_is_closed(apple, connect, token):
    with httpx.Client(verify=apple.trust) as client, pytest.raises(httpx.HTTPError):
        client.post(f"https://localhost:{apple.port}{PATH}", headers=headers(token), json=ALERT)
    assert connect().request(PATH, headers(token), ALERT).status == 200


def test_noise_does_no_harm(apple, connect, token):
    noise = random.Random(1)
    for _ in range(30):
        with socket.create_connection(("127.0.0.1", apple.port), DEADLINE) as tcp:
            tcp.sendall(noise.randbytes(noise.randrange(1, 2000)))
    for _ in range(30):
        connection = connect()
        connection.socket.sendall(b"".join(frame(noise) for _ in range(20)))
        connection.wait(lambda: False, 0.05)
    assert connect().request(PATH, headers(token), ALERT).status == 200


def frame(noise):
    """Returns a frame with a valid length and random other bytes."""
    body = noise.randbytes(noise.randrange(0, 100))
    stream = noise.choice([0, 1, 2, 3, 2**31 - 1])
    return len(body).to_bytes(3, "big") + bytes([noise.randrange(0, 11), noise.randrange(0, 256)]) + stream.to_bytes(
        4, "big"
    ) + body


def test_many_reset_requests_end_their_connection(connect, apple, token):
    apple.settings(latency=5)
    connection = connect()
    for _ in range(1000):
        stream = connection.send(PATH, headers(token), ALERT, is_last=False)
        connection.h2.reset_stream(stream, 8)
        connection.wait(lambda: connection.goaway is not None, 0.0001)
        if connection.is_closed:
            break
    assert connection.is_closed
    assert connection.goaway is None or connection.goaway.error_code == 11
    apple.settings(latency=0)
    assert connect().request(PATH, headers(token), ALERT).status == 200


# The control API


def test_arrivals_are_listed_after_a_number(push, apple):
    for _ in range(3):
        push()
    numbers = [one["number"] for one in apple.arrivals()]
    assert numbers == sorted(numbers)
    assert [one["number"] for one in apple.arrivals(after=numbers[0])] == numbers[1:]
    assert [one["number"] for one in apple.arrivals(most=2)] == numbers[:2]
    apple.control("POST", "/reset")
    assert apple.arrivals() == []
    assert apple.control("GET", "/counts")["requests"] == 0


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/nothing", None, 404),
        ("POST", "/settings", {}, 405),
        ("PATCH", "/settings", {"streams": 7, "keys": [{"id": KEY_ID, "team": TEAM, "publicKey": "x"}]}, 422),
        ("PUT", "/faults", {"faults": [{"action": "answer", "reason": "Busy"}]}, 422),
        ("PUT", "/phones/xyz", {}, 422),
        ("GET", f"/phones/{DEVICE}", None, 404),
        ("GET", "/arrivals?after=x", None, 422),
    ],
)
def test_the_control_api_rejects_wrong_requests(apple, method, path, body, status):
    before = apple.control("GET", "/settings")
    with pytest.raises(urllib.error.HTTPError) as refused:
        apple.control(method, path, body)
    assert refused.value.code == status
    assert json.loads(refused.value.read())["error"]
    assert apple.control("GET", "/settings") == before


def test_the_size_of_a_control_body_is_limited(apple):
    answer = httpx.patch(f"http://127.0.0.1:{apple.control_port}/settings", content=b"[" * (1 << 20 | 1))
    assert answer.status_code == 413
    answer = httpx.patch(f"http://127.0.0.1:{apple.control_port}/settings", content=b"[" * (1 << 20))
    assert answer.status_code == 400


# The command


@pytest.mark.parametrize(
    "options",
    [
        [], ["--key-file", "x"], ["--accept-any-key", "--key-id", KEY_ID], ["--accept-any-key", "--port", "70000"],
        ["--accept-any-key", "--latency", "2-1"], ["--accept-any-key", "--certificate", "x"],
    ],
)
def test_the_command_rejects_wrong_options(options):
    ended = run_tool("simulator", *options)
    assert ended.returncode == 64
    assert ended.stdout == ""


@pytest.mark.parametrize(
    "options",
    [
        ["--key-file", "/nowhere", "--key-id", KEY_ID, "--team", TEAM],
        ["--accept-any-key", "--certificate", "/nowhere", "--key", "/nowhere"],
        ["--accept-any-key", "--host", "256.0.0.1"],
    ],
)
def test_the_command_reports_errors_at_the_start(options):
    ended = run_tool("simulator", "--port", 0, *options)
    assert ended.returncode == 1
    assert ended.stderr.startswith("Error: ")


@pytest.fixture
def start(tmp_path):
    """Starts a separate simulator for one test."""
    started = []

    def start(*options):
        started.append(AppleSimulator(tmp_path, *options).start())
        return started[-1]

    yield start
    for simulator in started:
        simulator.kill()


def test_the_simulator_uses_a_given_certificate(start, tmp_path):
    certificate, key = tmp_path / "own.pem", tmp_path / "own.key"
    make_certificate(certificate, key)
    simulator = start("--certificate", certificate, "--key", key)
    connection = Connection(simulator.port, certificate)
    assert connection.request(PATH, headers(simulator.signer.token()), ALERT).status == 200
    connection.close()


def make_certificate(certificate, key):
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, private.public_key(), x509.random_serial_number(), now, now + timedelta(1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(private, hashes.SHA256())
    )
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    key.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )


def test_a_connection_without_requests_is_closed(start):
    simulator = start("--idle-time", 1)
    quiet, slow = (Connection(simulator.port, simulator.certificate) for _ in range(2))
    for connection in (quiet, slow):
        assert connection.request(PATH, headers(simulator.signer.token()), ALERT).status == 200
    slow.send(PATH, headers(simulator.signer.token()), b"{", is_last=False)
    for connection in (quiet, slow):
        connection.wait(lambda: False)
        assert connection.is_closed
        assert json.loads(connection.goaway.additional_data) == {"reason": "IdleTimeout"}


def test_the_number_of_connections_is_limited(start):
    simulator = start("--connections-most", 2, "--threads", 2)
    first, second = (Connection(simulator.port, simulator.certificate) for _ in range(2))
    with pytest.raises(OSError):
        Connection(simulator.port, simulator.certificate)
    for connection in (first, second):
        assert connection.request(PATH, headers(simulator.signer.token()), ALERT).status == 200
    first.close()
    eventually(lambda: simulator.control("GET", "/counts")["openConnections"] == 1)
    third = Connection(simulator.port, simulator.certificate)
    assert third.request(PATH, headers(simulator.signer.token()), ALERT).status == 200
    assert len(simulator.arrivals()) == 3


def test_a_stop_sends_goaway_with_its_reason(start):
    simulator = start()
    connection = Connection(simulator.port, simulator.certificate)
    assert connection.request(PATH, headers(simulator.signer.token()), ALERT).status == 200
    assert simulator.stop() == 0
    connection.wait(lambda: False)
    assert json.loads(connection.goaway.additional_data) == {"reason": "Shutdown"}
