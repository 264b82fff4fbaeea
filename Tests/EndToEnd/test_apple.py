# SPDX-License-Identifier: Apache-2.0
"""Pushes to Apple's service. An HTTP/2 server, made with the h2 library, replaces the service."""

import base64
import json
import re
import socket
import subprocess
import threading
import time
from types import SimpleNamespace

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from api import call
from apple_service import Service
from certificates import write_authority, write_key
from h2.errors import ErrorCodes
from metrics import metrics
from people import now
from relay import checked
from waiting import eventually

APP = "org.example.chat"


@pytest.fixture
def authority(tmp_path):
    return write_authority(tmp_path)


@pytest.fixture
def service(authority):
    service = Service(*authority[1:])
    yield service
    service.close()


@pytest.fixture
def key(tmp_path):
    return write_key(tmp_path / "provider.p8")


def configuration(tmp_path, service, authority, **app):
    credential = {"keyFile": str(tmp_path / "provider.p8"), "keyID": "ABCDE12345", "team": "TEAM123456"}
    return {
        "apps": [{"app": APP, "credential": credential} | app],
        "apple": {"host": "127.0.0.1", "port": service.port, "caFile": str(authority)},
    }


@pytest.fixture
def apple(gather, service, authority, key, tmp_path):
    """Alice in a room of a relay whose pushes go to the service."""

    def apple(**app):
        settings = configuration(tmp_path, service, authority[0], **app)
        return gather("--presence-grace", "0", configuration=settings)

    return apple


def reached(circle, stem="bob", token="ab" * 32, **fields):
    """Returns a member who is away and has an iPhone."""
    person = circle.away(stem)
    person.register(platform="apns", token=token, app=APP, **fields)
    return person


def arrived(service, count):
    eventually(lambda: len(service.requests) >= count)
    return service.requests[:count]


def body(request):
    return json.loads(request.body)["aps"]["alert"]["body"]


def part(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def pushed(circle, request, state=None):
    """Returns the relay's description of a push, or None while the push is in another state."""
    job = call(circle.relay, "GET", f"/v1/pushes/{request.headers['apns-id']}").json
    return job if state in (None, job["state"]) else None


def results(job):
    return [(attempt["status"], attempt.get("reason")) for attempt in job["attempts"]]


def paused(circle):
    return call(circle.relay, "GET", "/ready").json.get("paused", [])


def test_a_push_has_the_form_that_apple_requires(apple, service, key):
    circle = apple()
    bob = reached(circle)
    circle.send("hi")
    (request,) = arrived(service, 1)
    head = request.headers
    assert (head[":method"], head[":path"], head[":scheme"]) == ("POST", f"/3/device/{'ab' * 32}", "https")
    assert (head["apns-push-type"], head["apns-priority"], head["apns-topic"]) == ("alert", "10", APP)
    assert int(head["apns-expiration"]) > time.time()
    assert len(head["apns-collapse-id"].encode()) <= 64
    assert body(request) == "hi"
    scheme, token = head["authorization"].split(" ")
    assert scheme == "bearer"
    header, claims, signature = token.split(".")
    assert json.loads(part(header)) == {"alg": "ES256", "kid": "ABCDE12345"}
    found = json.loads(part(claims))
    assert found.keys() == {"iss", "iat"} and found["iss"] == "TEAM123456" and abs(found["iat"] - time.time()) < 60
    raw = part(signature)
    assert len(raw) == 64
    der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    key.public_key().verify(der, f"{header}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
    job = eventually(lambda: pushed(circle, request, "sent"))
    assert [attempt["status"] for attempt in job["attempts"]] == [200] and job["device"] == "phone" and job["user"] == bob.user


def test_many_pushes_share_one_token_and_one_connection(apple, service):
    circle = apple()
    people = [reached(circle, f"friend{n}", f"{n:02x}" * 32) for n in range(20)]
    circle.send("hi")
    requests = arrived(service, len(people))
    assert len({request.headers["authorization"] for request in requests}) == 1
    assert len({request.token for request in requests}) == len(people)
    assert len(service.connections) <= 2


def test_a_new_connection_uses_one_stream_until_the_first_answer(apple, service):
    circle = apple()
    held = []
    service.handle = held.append
    for n in range(5):
        reached(circle, f"friend{n}", f"{n:02x}" * 32)
    circle.send("hi")
    eventually(lambda: held)
    time.sleep(0.5)
    assert len(held) == 1
    service.handle = lambda request: request.answer()
    held[0].answer()
    arrived(service, 5)


def test_a_service_that_allows_one_stream_gets_one_at_a_time(apple, service):
    service.streams = 1
    open_now, most = set(), []

    def handle(request):
        open_now.add((request.connection.number, request.stream))
        most.append(max(sum(1 for one in open_now if one[0] == number) for number, _ in open_now))

        def answer():
            open_now.discard((request.connection.number, request.stream))
            request.answer()

        threading.Timer(0.05, answer).start()

    service.handle = handle
    circle = apple()
    for n in range(6):
        reached(circle, f"friend{n}", f"{n:02x}" * 32)
    circle.send("hi")
    arrived(service, 6)
    assert max(most) == 1


@pytest.mark.parametrize("last", [0, 1])
def test_pushes_above_the_last_stream_of_a_goaway_are_sent_again_with_their_id(apple, service, last):
    circle = apple()
    reached(circle)
    circle.send("proof")
    arrived(service, 1)
    proof = service.requests[0]

    def go_away(request):
        service.handle = lambda request: request.answer()
        request.go_away(proof.stream if last else 0)

    service.handle = go_away
    circle.send("hi")
    first, second = arrived(service, 3)[1:]
    assert first.headers["apns-id"] == second.headers["apns-id"]
    assert first.connection is not second.connection
    attempts = eventually(lambda: pushed(circle, first, "sent"))["attempts"]
    assert [attempt.get("reason", attempt.get("status")) for attempt in attempts] == ["ConnectionLost", 200]


@pytest.mark.parametrize(
    "fault",
    [
        lambda request: request.reset(),
        lambda request: request.reset(ErrorCodes.REFUSED_STREAM),
        lambda request: request.connection.cut(),
        lambda request: request.refuse(503, "Shutdown"),
        lambda request: request.refuse(400, "IdleTimeout"),
        lambda request: request.refuse(500, "InternalServerError"),
        lambda request: request.refuse(429, "TooManyProviderTokenUpdates"),
    ],
    ids=["reset", "refused stream", "cut", "Shutdown", "IdleTimeout", "500", "429"],
)
def test_a_push_with_a_temporary_error_is_sent_again_with_its_id(apple, service, fault):
    circle = apple()
    reached(circle)

    def fail(request):
        service.handle = lambda request: request.answer()
        fault(request)

    service.handle = fail
    circle.send("hi")
    first, second = arrived(service, 2)
    assert first.headers["apns-id"] == second.headers["apns-id"]
    assert eventually(lambda: pushed(circle, first, "sent"))


def test_a_service_that_hangs_gets_a_new_connection_and_delays_no_other_push(apple, service):
    circle = apple()
    reached(circle)
    carol = circle.away("carol")
    service.handle = lambda request: None
    circle.send("hi")
    carol.phone.ring("hi")
    arrived(service, 1)
    circle.send("again")
    carol.phone.ring("again")
    service.handle = lambda request: request.answer()
    first, second = arrived(service, 2)
    assert first.headers["apns-id"] == second.headers["apns-id"]
    assert first.connection is not second.connection


def test_the_other_environment_is_tried_once_and_the_device_then_forgotten(apple, service):
    circle = apple()
    bob = reached(circle)
    service.handle = lambda request: request.refuse(400, "BadDeviceToken")
    circle.send("hi")
    first, second = arrived(service, 2)
    assert first.headers["apns-id"] == second.headers["apns-id"]
    eventually(lambda: bob.ask("GET", "devices/phone").status == 404)
    assert results(pushed(circle, first, "dead")) == [(400, "BadDeviceToken")] * 2
    circle.pass_due()
    assert len(service.requests) == 2


def test_a_token_is_sent_to_the_environment_of_its_device(apple, service):
    circle = apple()
    bob = reached(circle, environment="sandbox")
    assert bob.ask("GET", "devices/phone").json["environment"] == "sandbox"
    service.handle = lambda request: request.refuse(400, "BadDeviceToken")
    circle.send("hi")
    eventually(lambda: bob.ask("GET", "devices/phone").status == 404)
    assert len(service.requests) == 1


@pytest.mark.parametrize("age, is_forgotten", [(-3_600_000, False), (3_600_000, True)])
def test_an_unregistered_device_is_forgotten_unless_it_registered_since(apple, service, age, is_forgotten):
    circle = apple()
    bob = reached(circle)
    service.handle = lambda request: request.refuse(410, "Unregistered", timestamp=now() + age)
    circle.send("hi")
    (request,) = arrived(service, 1)
    job = eventually(lambda: pushed(circle, request, "dead"))
    assert results(job) == [(410, "Unregistered")] and job["note"] == "Unregistered"
    # The relay removes the device after it has stored the end of the job.
    eventually(lambda: (bob.ask("GET", "devices/phone").status == 404) == is_forgotten)


@pytest.mark.parametrize("reason", ["DeviceTokenNotForTopic", "BadMessageId", "PayloadEmpty", "A word of next year"])
def test_a_push_with_a_permanent_error_is_not_sent_again(apple, service, reason):
    circle = apple()
    bob = reached(circle)
    service.handle = lambda request: request.refuse(400, reason)
    circle.send("hi")
    (request,) = arrived(service, 1)
    job = eventually(lambda: pushed(circle, request, "dead"))
    assert results(job) == [(400, reason)] and job["note"] == reason
    assert bob.ask("GET", "devices/phone").status == 200
    assert len(service.requests) == 1


def test_a_payload_that_is_too_large_is_shortened_once(apple, service):
    circle = apple()
    reached(circle)
    service.handle = lambda request: request.refuse(413, "PayloadTooLarge")
    circle.send("x" * 5000)
    first, second = arrived(service, 2)
    assert 3072 < len(first.body) <= 4096 and len(second.body) <= 3072
    assert body(second).endswith("x…")
    eventually(lambda: pushed(circle, first, "dead"))


@pytest.mark.parametrize("status, reason", [(403, "InvalidProviderToken"), (400, "TopicDisallowed")])
def test_a_rejected_credential_pauses_the_pushes_of_the_app(apple, service, status, reason):
    circle = apple()
    reached(circle)
    carol = circle.away("carol")
    service.handle = lambda request: request.refuse(status, reason)
    circle.send("hi")
    (request,) = arrived(service, 1)
    job = eventually(lambda: pushed(circle, request, "retrying"))
    assert results(job) == [(status, reason)] and job["note"] == reason
    assert paused(circle) == [{"app": APP, "environment": "production", "reason": reason}]
    assert metrics(circle.relay)["stillwire_apple_paused_apps"] == 1
    circle.send("again")
    carol.phone.ring("again")
    circle.pass_due()
    assert len(service.requests) == 1
    log = circle.relay.log.read_text()
    assert log.count("refuses an app's pushes") == 1
    assert "ab" * 32 not in log and request.headers["authorization"].split(" ")[1] not in log


def test_too_many_pushes_to_a_device_delay_only_that_device(apple, service):
    circle = apple()
    reached(circle)
    reached(circle, "carol", "cd" * 32)

    def handle(request):
        if request.token == "ab" * 32:
            request.refuse(429, "TooManyRequests", retry_after="3600")
        else:
            request.answer()

    service.handle = handle
    circle.send("hi")
    arrived(service, 2)
    circle.send("again")
    arrived(service, 3)
    circle.pass_due()
    assert sorted(request.token[:2] for request in service.requests) == ["ab", "cd", "cd"]
    assert paused(circle) == []


def test_a_clock_that_is_an_hour_off_is_logged_once(apple, service):
    circle = apple()
    reached(circle)
    service.handle = lambda request: request.answer(date="Sun, 06 Nov 1994 08:49:37 GMT")
    for text in "one", "two":
        circle.send(text)
    arrived(service, 2)
    eventually(lambda: "clock differs" in circle.relay.log.read_text())
    assert circle.relay.log.read_text().count("clock differs") == 1


def test_a_certificate_of_an_unknown_authority_is_rejected(gather, service, key, tmp_path):
    (tmp_path / "other").mkdir()
    others, _, _ = write_authority(tmp_path / "other")
    circle = gather("--presence-grace", "0", configuration=configuration(tmp_path, service, others))
    reached(circle)
    circle.send("hi")
    eventually(lambda: "a push service fails" in circle.relay.log.read_text())
    (failing,) = call(circle.relay, "GET", "/ready").json["failing"]
    assert (failing["platform"], failing["reason"]) == ("apns", "ConnectFailed")
    assert failing["cause"].startswith("the TLS handshake failed")
    assert service.requests == []


@pytest.mark.parametrize(
    "entitlements, asked, level",
    [
        ([], "timeSensitive", "active"),
        (["timeSensitive"], "timeSensitive", "time-sensitive"),
        (["timeSensitive"], "critical", "time-sensitive"),
        (["timeSensitive", "critical"], "critical", "critical"),
    ],
)
def test_a_level_needs_its_entitlement(apple, service, entitlements, asked, level):
    circle = apple(entitlements=entitlements)
    reached(circle)
    circle.send("hi", push={"level": asked})
    (request,) = arrived(service, 1)
    assert json.loads(request.body)["aps"]["interruption-level"] == level
    explained = pushed(circle, request)["explanation"]["decision"]["reasons"]
    assert any(reason["code"] == "level_lowered" for reason in explained) == (level.replace("-s", "S") != asked)


def test_metrics_count_the_answers_of_apple(apple, service):
    circle = apple()
    reached(circle)
    before = metrics(circle.relay)
    service.handle = lambda request: request.refuse(400, "BadTopic") if body(request) == "no" else request.answer()
    circle.send("yes")
    arrived(service, 1)
    eventually(lambda: metrics(circle.relay)["stillwire_apple_accepted_total"] == 1)
    circle.send("no")
    arrived(service, 2)
    eventually(lambda: metrics(circle.relay)["stillwire_apple_refused_total{BadTopic}"] >= 1)
    after = metrics(circle.relay)
    assert after["stillwire_apple_connections"] == 1 and after["stillwire_apple_streams"] == 0
    assert after["stillwire_apple_answer_seconds_count"] - before["stillwire_apple_answer_seconds_count"] == 2
    assert 0 < after["stillwire_apple_token_age_seconds"] < 60


def test_a_device_must_be_one_of_the_configured_apps(apple):
    bob = apple().away("bob")
    for fields, place in (
        ({"app": "org.example.other"}, "/app"),
        ({"app": None}, "/app"),
        ({"token": "not hexadecimal"}, "/token"),
        ({"token": "abc"}, "/token"),
        ({"topic": "org.example.other"}, "/topic"),
        ({"environment": "moon"}, "/environment"),
    ):
        answer = bob.ask("PUT", "devices/phone", {"platform": "apns", "token": "ab" * 32, "app": APP} | fields)
        assert (answer.status, answer.problem["at"]) == (422, place)


def test_without_a_credential_there_are_no_apple_devices(circle):
    answer = circle.away("bob").ask("PUT", "devices/phone", {"platform": "apns", "token": "ab" * 32, "app": APP})
    assert (answer.status, answer.problem["at"]) == (422, "/platform")


GOOD = {"keyFile": "provider.p8", "keyID": "ABCDE12345", "team": "TEAM123456"}


@pytest.mark.parametrize(
    "apps, words",
    [
        ([{"app": APP, "credential": GOOD | {"keyFile": "none.p8"}}], "/apps/0/credential/keyFile: {}/none.p8 cannot"),
        ([{"app": APP, "credential": GOOD | {"keyFile": "open.p8"}}], "can be read by others"),
        ([{"app": APP, "credential": GOOD | {"keyFile": "other.p8"}}], "not a P-256 private key"),
        ([{"app": APP, "credential": GOOD | {"keyID": "ABC"}}], "an id that is not 10"),
        ([{"app": APP, "credential": GOOD | {"team": "TEAM-23456"}}], "a team that is not 10"),
    ],
)
def test_the_start_reports_an_error_in_an_app(key, tmp_path, apps, words):
    write_key(tmp_path / "open.p8", mode=0o644)
    write_key(tmp_path / "other.p8", ec.SECP384R1())
    ended = checked(tmp_path, {"apps": apps})
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (1, "", 1), ended
    assert words.format(tmp_path) in ended.stderr


def test_the_start_reports_a_missing_authority_of_apples_service(tmp_path):
    ended = checked(tmp_path, {"apple": {"caFile": "none.pem"}})
    assert ended.returncode == 1 and "apple.caFile" in ended.stderr


def test_a_corrected_key_is_used_after_a_reload(apple, service, tmp_path):
    """A pause ends when a reload changes the configuration of its app."""
    circle = apple()
    reached(circle)
    service.handle = lambda request: request.refuse(403, "InvalidProviderToken")
    circle.send("hi")
    arrived(service, 1)
    eventually(lambda: paused(circle))
    write_key(tmp_path / "provider.p8")
    service.handle = lambda request: request.answer()
    circle.relay.reload()
    eventually(lambda: not paused(circle))
    # Bob's pushes wait for the rejected push.
    reached(circle, "carol", "cd" * 32)
    circle.send("again")
    request = eventually(lambda: next((one for one in service.requests if body(one) == "again"), None))
    assert request.headers["authorization"] != service.requests[0].headers["authorization"]


def test_the_relay_pushes_to_the_server_of_nghttp2(gather, authority, key, tmp_path):
    """The server of nghttp2 serves files: it answers 200 for a device with a file, and 404 for another device."""
    there, gone = "ab" * 32, "cd" * 32
    devices = tmp_path / "served" / "3" / "device"
    devices.mkdir(parents=True)
    (devices / there).touch()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    said = tmp_path / "nghttpd.log"
    command = ["/usr/sbin/nghttpd", "-v", "--address", "127.0.0.1", "--htdocs", tmp_path / "served", str(port), *authority[:0:-1]]
    with said.open("w") as output:
        server = subprocess.Popen(list(map(str, command)), stdout=output, stderr=output)
    try:
        settings = configuration(tmp_path, SimpleNamespace(port=port), authority[0])
        circle = gather("--presence-grace", "0", configuration=settings)
        reached(circle, "bob", there)
        reached(circle, "carol", gone)
        for number in range(20):
            circle.send(f"{number}")
        ids = lambda: re.findall(r"apns-id: ([-0-9a-f]{36})", said.read_text())  # noqa: E731
        states = lambda: [call(circle.relay, "GET", f"/v1/pushes/{id}").json["state"] for id in set(ids())]  # noqa: E731
        eventually(lambda: sorted(states()) == ["dead"] * 20 + ["sent"] * 20)
    finally:
        server.kill()
        server.wait()
