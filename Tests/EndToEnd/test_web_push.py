# SPDX-License-Identifier: Apache-2.0
"""Pushes to browsers, over a service with TLS. Independent libraries decrypt and verify the pushes."""

import base64
import json
import os
import time
from urllib.parse import urlsplit

import http_ece
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from py_vapid import Vapid02

from api import call
from certificates import write_authority, write_key
from metrics import metrics
from push_service import Answer, PushService
from relay import checked, run
from waiting import eventually

LOOPBACK = ["127.0.0.0/8", "::1"]


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Browser:
    """A subscription with its private key, which decrypts the pushes."""

    def __init__(self, origin, path="/push/one"):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.secret = os.urandom(16)
        point = self.key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        )
        self.subscription = {
            "endpoint": f"{origin}{path}",
            "expirationTime": None,
            "keys": {"p256dh": encoded(point), "auth": encoded(self.secret)},
        }

    def open(self, request):
        assert request.headers["content-encoding"] == "aes128gcm"
        return json.loads(http_ece.decrypt(request.body, private_key=self.key, auth_secret=self.secret))


@pytest.fixture
def authority(tmp_path):
    return write_authority(tmp_path)


@pytest.fixture
def service(authority):
    service = PushService(*authority[1:])
    yield service
    service.close()


@pytest.fixture
def origin(service):
    return f"https://localhost:{service.port}"


@pytest.fixture
def key(tmp_path):
    return write_key(tmp_path / "vapid.pem")


@pytest.fixture
def web(gather, service, authority, key, tmp_path):
    """Alice in a room of a relay that pushes to browsers through the service."""

    def web(**settings):
        defaults = {
            "keyFile": str(tmp_path / "vapid.pem"),
            "subject": "mailto:ops@example.org",
            "origins": [f"localhost:{service.port}"],
            "allowedAddresses": LOOPBACK,
            "caFile": str(authority[0]),
        }
        chosen = {name: value for name, value in (defaults | settings).items() if value is not None}
        return gather("--presence-grace", "0", configuration={"webPush": chosen})

    return web


def reached(circle, browser, stem="bob"):
    """Returns a member who is away and has a browser."""
    person = circle.away(stem)
    person.put("devices/phone", {"platform": "webpush", "token": browser.subscription})
    return person


def arrived(service, count):
    eventually(lambda: len(service.requests) >= count)
    return service.requests[:count]


def job(circle, browser, request, state):
    notification = browser.open(request)["communication"]["notification"]
    found = call(circle.relay, "GET", f"/v1/pushes/{notification}").json
    return found if found["state"] == state else None


def refused(circle, reason):
    return metrics(circle.relay)[f"stillwire_webpush_refused_total{{{reason}}}"]


def test_only_the_browser_can_read_its_push(web, service, origin, key):
    circle = web()
    browser = Browser(origin, "/push/one?x=y")
    reached(circle, browser)
    circle.send("only for Bob")
    (request,) = arrived(service, 1)
    assert request.path == "/push/one?x=y"
    payload = browser.open(request)
    assert payload["aps"]["alert"]["body"] == "only for Bob" and payload["message"]["room"] == circle.room
    assert payload["tag"].startswith(f"{circle.room}/{payload['message']['seq']}/")
    assert b"only for Bob" not in request.body and len(request.body) <= 4096
    with pytest.raises(Exception):
        Browser(origin).open(request)
    headers = request.headers
    assert headers["host"] == urlsplit(origin).netloc
    assert 0 < int(headers["ttl"]) <= 28 * 24 * 3600
    assert headers["urgency"] == "normal"
    assert len(headers["topic"]) == 32 and len(decoded(headers["topic"])) == 24
    eventually(lambda: job(circle, browser, request, "sent"))


def test_the_relay_authenticates_with_vapid(web, service, origin, key):
    circle = web()
    reached(circle, Browser(origin))
    circle.send("one")
    circle.send("two")
    first, second = arrived(service, 2)
    authorization = first.headers["authorization"]
    assert authorization == second.headers["authorization"]
    # The library does not accept the space after the comma, which RFC 8292 has.
    assert Vapid02.verify(authorization.replace(", ", ","))
    token, public = (part.split("=", 1)[1] for part in authorization.removeprefix("vapid ").split(", "))
    claims = json.loads(decoded(token.split(".")[1]))
    assert claims["aud"] == origin and claims["sub"] == "mailto:ops@example.org"
    assert time.time() < claims["exp"] <= time.time() + 24 * 3600
    answer = call(circle.relay, "GET", "/v1/webpush")
    assert answer.status == 200 and answer.json["publicKey"] == public
    own = key.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    assert decoded(public) == own


def test_a_long_message_is_shortened(web, service, origin):
    circle = web()
    browser = Browser(origin)
    reached(circle, browser)
    circle.send("x" * 5000)
    (request,) = arrived(service, 1)
    payload = browser.open(request)
    assert payload["aps"]["alert"]["body"].endswith("x…")
    # The relay leaves space for the longest tag.
    assert len(request.body) - len(payload["tag"]) == 4096 - 64


@pytest.mark.parametrize("size", [3200, 5000])
def test_a_push_that_is_too_large_is_shortened_once(web, service, origin, size):
    circle = web()
    browser = Browser(origin)
    reached(circle, browser)
    service.handle = lambda request: Answer(413)
    circle.send("y" * size)
    first, second = arrived(service, 2)
    assert len(second.body) < len(first.body)
    eventually(lambda: job(circle, browser, first, "dead"))
    assert len(service.requests) == 2


@pytest.mark.parametrize("status", [404, 410])
def test_a_subscription_that_has_ended_is_forgotten(web, service, origin, status):
    circle = web()
    bob = reached(circle, Browser(origin))
    service.handle = lambda request: Answer(status)
    circle.send("hi")
    eventually(lambda: bob.ask("GET", "devices/phone").status == 404)
    circle.send("again")
    circle.pass_due()
    assert len(service.requests) == 1


@pytest.mark.parametrize("status", [400, 405, 301, 307])
def test_other_answers_do_not_remove_the_subscription(web, service, origin, status):
    other = PushService()
    circle = web()
    browser = Browser(origin)
    bob = reached(circle, browser)
    service.handle = lambda request: Answer(status, headers={"Location": f"http://127.0.0.1:{other.port}/"})
    circle.send("hi")
    (request,) = arrived(service, 1)
    eventually(lambda: job(circle, browser, request, "dead"))
    assert bob.ask("GET", "devices/phone").status == 200
    # The relay did not follow a redirect.
    assert other.connections == 0 and len(service.requests) == 1
    other.close()


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_push_to_a_busy_service_is_retried_after_the_time_in_the_answer(web, service, origin, status):
    circle = web()
    browser = Browser(origin)
    reached(circle, browser)
    times = []

    def handle(request):
        times.append(time.monotonic())
        return Answer(status, headers={"Retry-After": "2"}) if len(times) == 1 else Answer()

    service.handle = handle
    circle.send("hi")
    first, second = arrived(service, 2)
    assert times[1] - times[0] >= 2
    assert first.headers["topic"] == second.headers["topic"]
    eventually(lambda: job(circle, browser, second, "sent"))


@pytest.mark.parametrize("status, reason", [(401, "InvalidProviderToken"), (403, "Forbidden")])
def test_a_service_that_refuses_three_devices_is_paused(web, service, origin, status, reason):
    circle = web()
    service.handle = lambda request: Answer(status)
    for number, user in enumerate(["bob", "carol", "dave"]):
        assert "paused" not in call(circle.relay, "GET", "/ready").json
        reached(circle, Browser(origin, f"/push/{number}"), user)
        circle.send("hi")
        eventually(lambda: any(request.path == f"/push/{number}" for request in service.requests))
    paused = eventually(lambda: call(circle.relay, "GET", "/ready").json.get("paused"))
    assert paused == [{"origin": origin, "reason": reason}]
    count = len(service.requests)
    circle.send("again")
    circle.pass_due()
    assert len(service.requests) == count
    assert metrics(circle.relay)["stillwire_webpush_paused_services"] == 1
    assert circle.relay.log.read_text().count("refuses the relay's key") == 1


def test_a_refused_subscription_delays_no_other_device(web, service, origin):
    circle = web()
    service.handle = lambda request: Answer(403 if request.path.endswith("stranger") else 201)
    reached(circle, Browser(origin, "/push/stranger"), "carol")
    circle.send("hi")
    arrived(service, 1)
    browser = Browser(origin)
    reached(circle, browser)
    circle.send("kettle")
    eventually(lambda: [one for one in service.requests if one.path == "/push/one"])
    assert "paused" not in call(circle.relay, "GET", "/ready").json


def test_a_subscription_of_another_key_does_not_affect_other_devices(web, service, origin):
    circle = web()
    reached(circle, Browser(origin))
    arrived_before = len(service.requests)
    circle.send("proof")
    arrived(service, arrived_before + 1)
    stranger = Browser(origin, "/push/stranger")
    reached(circle, stranger, "carol")
    service.handle = lambda request: Answer(403 if request.path.endswith("stranger") else 201)
    circle.send("hi")
    requests = arrived(service, 3)
    refusal = next(request for request in requests if request.path.endswith("stranger"))
    eventually(lambda: job(circle, stranger, refusal, "dead"))
    assert "paused" not in call(circle.relay, "GET", "/ready").json
    circle.send("more")
    eventually(lambda: len([one for one in service.requests if one.path == "/push/one"]) == 3)


def test_an_endless_answer_is_not_read_to_its_end(web, service, origin):
    circle = web()
    browser = Browser(origin)
    reached(circle, browser)
    service.handle = lambda request: Answer(201, b"x" * (1 << 20), {"Content-Length": str(1 << 40)})
    circle.send("hi")
    (request,) = arrived(service, 1)
    eventually(lambda: job(circle, browser, request, "sent"))


@pytest.mark.parametrize("allowed", [None, ["10.0.0.0/8"]])
def test_the_relay_does_not_connect_to_private_addresses(web, service, origin, allowed):
    circle = web(allowedAddresses=allowed)
    reached(circle, Browser(origin))
    circle.send("hi")
    eventually(lambda: refused(circle, "AddressRefused") >= 1)
    assert service.connections == 0


def test_a_certificate_of_an_unknown_authority_is_rejected(web, service, origin):
    circle = web(caFile=None)
    reached(circle, Browser(origin))
    circle.send("hi")
    eventually(lambda: refused(circle, "ConnectFailed") >= 1)
    assert service.requests == []


def test_keys_and_endpoints_are_not_logged(web, service, origin):
    circle = web(allowedAddresses=None)
    browser = Browser(origin, "/push/secret-path")
    reached(circle, browser)
    circle.send("hi")
    eventually(lambda: refused(circle, "AddressRefused") >= 1)
    log = circle.relay.log.read_text() + call(circle.relay, "GET", "/metrics").body.decode()
    for secret in ["secret-path", *browser.subscription["keys"].values()]:
        assert secret not in log


GOOD = {"p256dh": Browser("").subscription["keys"]["p256dh"], "auth": encoded(bytes(16))}


#: Wrong subscriptions, each with the place of its error and words of the refusal.
WRONG = [
    ("text", "/token", "must be an object"),
    ({"keys": GOOD}, "/token/endpoint", "is missing"),
    ({"endpoint": "https://fcm.googleapis.com/a"}, "/token/keys", "is missing"),
    ({"endpoint": "https://fcm.googleapis.com/a", "keys": {"auth": GOOD["auth"]}}, "/token/keys/p256dh", "is missing"),
    ({"endpoint": "http://fcm.googleapis.com/a", "keys": GOOD}, "/token/endpoint", "must begin with https://"),
    ({"endpoint": "https://127.0.0.1/a", "keys": GOOD}, "/token/endpoint", "not an IP address"),
    ({"endpoint": "https://u@fcm.googleapis.com/a", "keys": GOOD}, "/token/endpoint", "must not name a user"),
    ({"endpoint": "https://fcm.googleapis.com:8443/a", "keys": GOOD}, "/token/endpoint", "port that is not allowed"),
    ({"endpoint": "https://example.org/a", "keys": GOOD}, "/token/endpoint", "of an allowed push service"),
    (
        {"endpoint": "https://fcm.googleapis.com/a", "keys": GOOD | {"p256dh": encoded(b"\4" + bytes(64))}},
        "/token/keys/p256dh",
        "must be a point of P-256",
    ),
    (
        {"endpoint": "https://fcm.googleapis.com/a", "keys": GOOD | {"auth": encoded(bytes(15))}},
        "/token/keys/auth",
        "must be 16 bytes",
    ),
]


def test_a_subscription_is_checked_at_the_registration(web):
    bob = web().away("bob")
    for token, place, words in WRONG:
        answer = bob.ask("PUT", "devices/phone", {"platform": "webpush", "token": token})
        assert (answer.status, answer.problem["at"]) == (422, place) and words in answer.problem["detail"], answer


def test_without_a_key_browsers_cannot_register(circle):
    token = {"endpoint": "https://fcm.googleapis.com/a", "keys": GOOD}
    answer = circle.away("bob").ask("PUT", "devices/phone", {"platform": "webpush", "token": token})
    assert (answer.status, answer.problem["at"]) == (422, "/platform")
    assert call(circle.relay, "GET", "/v1/webpush").json == {"publicKey": None}


@pytest.mark.parametrize(
    "settings, words",
    [
        ({"subject": "mailto:a@example.org"}, "webPush.keyFile is missing"),
        ({"keyFile": "vapid.pem"}, "webPush.subject is missing"),
        ({"keyFile": "none.pem", "subject": "mailto:a@example.org"}, "webPush.keyFile: {}/none.pem cannot be read"),
        ({"keyFile": "open.pem", "subject": "mailto:a@example.org"}, "can be read by others"),
        ({"keyFile": "other.pem", "subject": "mailto:a@example.org"}, "not a P-256 private key"),
        ({"keyFile": "vapid.pem", "subject": "mailto:a@localhost"}, "webPush.subject must be a mailto: or https:"),
        ({"origins": ["https://example.org"]}, "webPush.origins: https://example.org is not a host"),
        ({"allowedAddresses": ["localhost"]}, "webPush.allowedAddresses: localhost is not an address"),
        ({"caFile": "none.pem"}, "webPush.caFile: {}/none.pem cannot be used"),
        ({"key": "x"}, "/webPush/key: is not known here"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused(tmp_path, settings, words):
    write_key(tmp_path / "vapid.pem")
    write_key(tmp_path / "open.pem", mode=0o644)
    write_key(tmp_path / "other.pem", ec.SECP384R1())
    ended = checked(tmp_path, {"webPush": settings})
    assert ended.returncode == 1 and words.format(tmp_path) in ended.stderr, ended


def test_the_command_makes_a_key_that_works(tmp_path):
    file = tmp_path / "vapid.pem"
    made = run("vapid", "--file", file, "--subject", "mailto:ops@example.org")
    assert made.returncode == 0, made.stderr
    assert file.stat().st_mode & 0o777 == 0o600
    key = serialization.load_pem_private_key(file.read_bytes(), None)
    point = key.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    assert encoded(point) in made.stdout.splitlines() and "PRIVATE KEY" not in made.stdout
    printed = json.loads(made.stdout.splitlines()[-1])
    ended = checked(tmp_path, printed)
    assert ended.returncode == 0, ended.stderr
    before = file.read_bytes()
    again = run("vapid", "--file", file)
    assert again.returncode == 1 and "already exists" in again.stderr and file.read_bytes() == before


def test_without_a_file_the_command_prints_the_key():
    made = run("vapid")
    assert made.returncode == 0 and "BEGIN PRIVATE KEY" in made.stdout
    assert run("vapid", "--subject", "mailto:me@localhost").returncode == 1
