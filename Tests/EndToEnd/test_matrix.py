# SPDX-License-Identifier: Apache-2.0
"""Pushes through a Matrix gateway. A strict server replaces the gateway."""

import hashlib
import hmac
import json
import threading
import time

import pytest

from api import call
from certificates import write_key
from metrics import metrics
from push_service import Answer, PushService
from relay import checked, DEADLINE, SLOW
from waiting import eventually

APP = "org.example.chat"
PATH = "/_matrix/push/v1/notify"
SECRET = "5a3d0c8e4b7a2935d1e0f7a6b5c4d3e2"

#: The fields and types of Matrix's "Push Gateway API". Required fields are in capitals below.
NOTIFICATION = {
    "event_id": str, "room_id": str, "room_name": str, "room_alias": str, "sender": str, "sender_display_name": str,
    "type": str, "prio": str, "content": dict, "counts": dict, "devices": list, "user_is_target": bool,
}  # fmt: skip
DEVICE = {"app_id": str, "pushkey": str, "pushkey_ts": int, "data": dict, "tweaks": dict}


def parsed(request):
    """Returns the notification of a request. Fails for anything that the API does not allow."""
    assert request.path == PATH and request.headers["content-type"] == "application/json"
    body = json.loads(request.body)
    assert body.keys() == {"notification"}
    notification = body["notification"]
    for name, value in notification.items():
        assert type(value) is NOTIFICATION[name], name
    assert notification["prio"] in ("high", "low")
    assert all(type(count) is int for count in notification.get("counts", {}).values())
    assert notification.get("counts", {}).keys() <= {"unread", "missed_calls"}
    assert notification["devices"]
    for device in notification["devices"]:
        assert {"app_id", "pushkey"} <= device.keys()
        for name, value in device.items():
            assert type(value) is DEVICE[name], name
    return notification


def taken(*rejected):
    return Answer(200, json.dumps({"rejected": list(rejected)}).encode(), {"Content-Type": "application/json"})


@pytest.fixture
def service():
    service = PushService()
    service.handle = lambda request: taken()
    yield service
    service.close()


def configuration(service, **gateway):
    merged = {"url": f"http://127.0.0.1:{service.port}{PATH}"} | gateway
    return {"apps": [{"app": APP, "topics": [APP, f"{APP}.dev"], "matrix": merged}]}


@pytest.fixture
def matrix(gather, service):
    """Alice in a room of a relay whose pushes go through the gateway."""

    def matrix(**gateway):
        return gather("--presence-grace", "0", configuration=configuration(service, **gateway))

    return matrix


def reached(circle, token="key/one+two==", stem="bob", **fields):
    person = circle.away(stem)
    person.put("devices/phone", {"platform": "http", "token": token, "app": APP} | fields)
    return person


def arrived(service, count):
    eventually(lambda: len(service.requests) >= count)
    return service.requests[:count]


def job(circle, request, state):
    """The push whose event the request has, if it has this state."""
    pushes = call(circle.relay, "GET", "/v1/pushes").json["pushes"]
    event = parsed(request)["event_id"]
    found = next(one for one in pushes if f"${one['room']}/{one['seq']}" == event)
    return found if found["state"] == state else None


def test_a_push_has_the_form_of_matrixs_gateway_api(matrix, service):
    circle = matrix()
    reached(circle)
    circle.send("hi")
    (request,) = arrived(service, 1)
    notification = parsed(request)
    assert notification["room_id"] == circle.room and notification["sender"] == circle.alice.user
    assert notification["sender_display_name"] == "Alice" and notification["prio"] == "high"
    assert notification["content"] == {"msgtype": "m.text", "body": "hi"} and notification["counts"] == {"unread": 1}
    assert [(one["app_id"], one["pushkey"]) for one in notification["devices"]] == [(APP, "key/one+two==")]
    assert abs(notification["devices"][0]["pushkey_ts"] - time.time()) < 60 * SLOW
    assert "x-stillwire-signature" not in request.headers
    eventually(lambda: job(circle, request, "sent"))
    assert metrics(circle.relay)["stillwire_matrix_accepted_total"] == 1


def test_a_device_may_be_of_another_topic(matrix, service):
    circle = matrix()
    reached(circle, topic=f"{APP}.dev")
    circle.send("hi")
    (request,) = arrived(service, 1)
    assert parsed(request)["devices"][0]["app_id"] == f"{APP}.dev"


def test_the_secret_signs_the_body(matrix, service, tmp_path):
    (tmp_path / "secret").write_text(SECRET + "\n")
    (tmp_path / "secret").chmod(0o600)
    circle = matrix(secretFile=str(tmp_path / "secret"))
    reached(circle)
    circle.send("hi")
    (request,) = arrived(service, 1)
    code = hmac.new(SECRET.encode(), request.body, hashlib.sha256).hexdigest()
    assert request.headers["x-stillwire-signature"] == f"sha256={code}"


def test_a_rejected_pushkey_is_forgotten(matrix, service):
    circle = matrix()
    bob, carol = reached(circle, "one"), reached(circle, "two", "carol")
    service.handle = lambda request: taken("one")
    circle.send("hi")
    eventually(lambda: bob.ask("GET", "devices/phone").status == 404)
    assert carol.ask("GET", "devices/phone").status == 200


@pytest.mark.parametrize("status", [429, 502])
def test_a_push_to_a_busy_gateway_is_retried_after_the_time_in_the_answer(matrix, service, status):
    circle = matrix()
    reached(circle)
    times = []

    def handle(request):
        times.append(time.monotonic())
        return Answer(status, headers={"Retry-After": "2"}) if len(times) == 1 else taken()

    service.handle = handle
    circle.send("hi")
    first, second = arrived(service, 2)
    assert times[1] - times[0] >= 2 and first.body == second.body
    eventually(lambda: job(circle, second, "sent"))


@pytest.mark.parametrize("status, reason", [(401, "Forbidden"), (404, "BadPath")])
def test_a_gateway_that_rejects_everything_pauses_its_app(matrix, service, tmp_path, status, reason):
    """The operator corrects the secret or the URL, and no push is lost."""
    circle = matrix()
    reached(circle)
    service.handle = lambda request: Answer(status)
    circle.send("hi")
    (request,) = arrived(service, 1)
    push = eventually(lambda: job(circle, request, "retrying"))
    assert push["note"] == reason
    circle.send("more")
    paused = [{"app": APP, "platform": "http", "reason": reason}]
    assert call(circle.relay, "GET", "/ready").json["paused"] == paused
    assert metrics(circle.relay)["stillwire_matrix_paused_apps"] == 1
    circle.pass_due()
    assert len(service.requests) == 1 and circle.relay.log.read_text().count("a Matrix gateway refuses") == 1
    # A reload with a new secret ends the pause.
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "secret").chmod(0o600)
    circle.relay.reload(configuration(service, secretFile=str(tmp_path / "secret")))
    eventually(lambda: "paused" not in call(circle.relay, "GET", "/ready").json)


@pytest.mark.parametrize("status", [400, 410])
def test_a_push_that_the_gateway_rejects_is_not_sent_again(matrix, service, status):
    circle = matrix()
    bob = reached(circle)
    service.handle = lambda request: Answer(status)
    circle.send("hi")
    (request,) = arrived(service, 1)
    eventually(lambda: job(circle, request, "dead"))
    assert bob.ask("GET", "devices/phone").status == 200 and len(service.requests) == 1


def test_a_stop_waits_for_pushes_in_progress(matrix, service):
    circle = matrix()
    reached(circle)
    is_stopping = threading.Event()

    def handle(request):
        assert is_stopping.wait(DEADLINE)
        # The sessions end during this time.
        time.sleep(1)
        return taken()

    service.handle = handle
    circle.send("hi")
    arrived(service, 1)
    circle.relay.signal()
    is_stopping.set()
    assert circle.relay.ended() == 0
    circle.relay.start()
    assert job(circle, service.requests[0], "sent")
    assert len(service.requests) == 1


def test_a_gateway_that_does_not_answer_does_not_delay_others(matrix, service):
    circle = matrix()
    reached(circle)
    service.handle = lambda request: None
    circle.send("hi")
    arrived(service, 1)
    circle.pass_due()
    eventually(lambda: metrics(circle.relay)["stillwire_matrix_refused_total{Timeout}"] >= 1)


def test_a_device_must_be_one_of_the_configured_apps(matrix):
    bob = matrix().away("bob")
    for fields, place in (
        ({"app": None}, "/app"),
        ({"app": "org.example.other"}, "/app"),
        ({"token": ""}, "/token"),
        ({"token": "x" * 513}, "/token"),
        ({"token": {"url": "http://127.0.0.1/"}}, "/token"),
    ):
        answer = bob.ask("PUT", "devices/phone", {"platform": "http", "token": "key", "app": APP} | fields)
        assert (answer.status, answer.problem["at"]) == (422, place)


def test_without_a_gateway_there_are_no_such_devices(circle):
    answer = circle.away("bob").ask("PUT", "devices/phone", {"platform": "http", "token": "key", "app": APP})
    assert (answer.status, answer.problem["at"]) == (422, "/platform")


@pytest.mark.parametrize(
    "gateway, words",
    [
        ({}, "/apps/0/matrix/url"),
        ({"url": "ftp://example.org"}, "url must be an http or https URL"),
        ({"url": "https://u:p@example.org"}, "url must be an http or https URL"),
        ({"url": "https://example.org", "secretFile": "none"}, "/apps/0/matrix/secretFile: {}/none cannot be read"),
        ({"url": "https://example.org", "secretFile": "open"}, "can be read by others"),
        ({"url": "https://example.org", "secretFile": "empty"}, "is empty"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused(tmp_path, gateway, words):
    write_key(tmp_path / "open", mode=0o644)
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "empty").chmod(0o600)
    ended = checked(tmp_path, {"apps": [{"app": APP, "matrix": gateway}]})
    assert ended.returncode == 1 and words.format(tmp_path) in ended.stderr, ended
