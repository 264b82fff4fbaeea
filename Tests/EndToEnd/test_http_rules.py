# SPDX-License-Identifier: Apache-2.0
"""Rules of all resources of the HTTP API: methods, types of bodies, other origins, rates."""

import http.client
import json
from collections.abc import Iterator

import pytest

from api import call
from documents import METHODS, OPENAPI, document
from relay import DEADLINE

PATHS = [template for template in document(OPENAPI)["paths"] if template != "/v1/connect"]
CHAT = "https://chat.example"


def filled(template):
    """Returns a path that matches the template. Its room does not exist."""
    for part, value in (("room", "room"), ("user", "bob"), ("device", "phone"), ("token", "phone-1")):
        template = template.replace(f"{{{part}}}", value)
    return template


def methods(template):
    return {method.upper() for method in METHODS if method in document(OPENAPI)["paths"][template]}


# Methods


@pytest.mark.parametrize("template", PATHS)
def test_other_methods_get_the_allowed_ones(relay, template):
    allowed = methods(template) | {"OPTIONS"} | ({"HEAD"} if "GET" in methods(template) else set())
    for method in {"GET", "HEAD", "PUT", "POST", "DELETE", "PATCH"} - allowed:
        answer = call(relay, method, filled(template), b"" if method in ("PUT", "POST", "PATCH") else None)
        assert answer.status == 405
        assert set(answer.headers["Allow"].split(", ")) == allowed


@pytest.mark.parametrize("template", PATHS)
def test_options_names_the_methods(relay, template):
    answer = call(relay, "OPTIONS", filled(template))
    assert (answer.status, answer.body) == (204, b"")
    assert set(answer.headers["Allow"].split(", ")) >= methods(template) | {"OPTIONS"}
    assert answer.headers["Allow"] == answer.headers["Access-Control-Allow-Methods"]


@pytest.mark.parametrize("template", [template for template in PATHS if "GET" in methods(template)])
def test_head_is_get_without_the_body(relay, template):
    if template.endswith("/events"):
        head = call(relay, "HEAD", filled(template))
        assert (head.status, head.headers.get_content_type()) == (200, "text/event-stream")
        # A proxy neither compresses the stream nor collects its events.
        assert head.headers["Cache-Control"] == "no-store, no-transform"
        assert head.headers["X-Accel-Buffering"] == "no"
        return
    get, head = (call(relay, method, filled(template)) for method in ("GET", "HEAD"))
    assert (head.status, head.body) == (get.status, b"")
    assert head.headers.get_content_type() == get.headers.get_content_type()
    if template != "/metrics":  # the counters change between the requests
        assert head.headers["Content-Length"] == get.headers["Content-Length"]


# Bodies


@pytest.mark.parametrize("type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_a_body_of_another_type_is_415(relay, names, type):
    (bob,) = names("bob")
    path, body = f"/v1/users/{bob}/focus", b'{"isFocused":true}'
    answer = call(relay, "PUT", path, body, headers={"Content-Type": type})
    assert (answer.status, answer.problem["code"], answer.problem["at"]) == (
        415,
        "unsupported",
        "/headers/content-type",
    )
    assert call(relay, "GET", f"/v1/users/{bob}/presence").json["isFocused"] is None


@pytest.mark.parametrize(
    "type", ["application/json", "Application/JSON; charset=utf-8", "application/json ;x=y", "application/cloud+json"]
)
def test_other_json_types_are_accepted(relay, type):
    body = b'{"isFocused":true}'
    assert call(relay, "PUT", "/v1/users/bob/focus", body, headers={"Content-Type": type}).status == 200


def test_a_body_without_a_type_is_parsed_as_json(relay):
    connection = http.client.HTTPConnection("127.0.0.1", relay.port, timeout=DEADLINE)
    connection.request("PUT", "/v1/users/bob/focus", b'{"isFocused":true}')
    assert connection.getresponse().status == 200
    connection.close()


# Many users at once


def test_presence_of_many_has_the_requested_order(relay, connect, names):
    people = names("zoe", "ann", "mia")
    connect(people[1], name="Ann")
    answer = call(relay, "POST", "/v1/presence", {"users": people})
    assert [entry["user"] for entry in answer.json["presence"]] == people
    assert [entry["online"] for entry in answer.json["presence"]] == [False, True, False]
    assert call(relay, "POST", "/v1/presence", {"users": []}).json == {"presence": []}
    twice = call(relay, "POST", "/v1/presence", {"users": [people[1]] * 2}).json["presence"]
    assert twice[0] == twice[1]


def test_presence_of_1000_and_one_more_for_a_backend(relay, connect, names):
    people = names(*(f"user{i}" for i in range(1_001)))
    connect(people[999], name="Zoe")
    entries = call(relay, "POST", "/v1/presence", {"users": people[:1_000]}).json["presence"]
    assert [entry["user"] for entry in entries] == people[:1_000]
    assert [entry["user"] for entry in entries if entry["online"]] == [people[999]]
    # An unknown user has the same entry as in a request for one user.
    assert entries[0] == call(relay, "GET", f"/v1/users/{people[0]}/presence").json
    refusal = call(relay, "POST", "/v1/presence", {"users": people})
    assert (refusal.status, refusal.problem["at"]) == (422, "/users"), refusal.problem
    assert "at most 1000 items" in refusal.problem["detail"]


# Devices


def test_a_device_is_shown_without_its_token(relay, names):
    (ann,) = names("ann")
    path = f"/v1/users/{ann}/devices/phone"
    assert call(relay, "GET", path).status == 404
    put = call(relay, "PUT", path, {"platform": "simulator", "token": f"secret-{ann}", "app": "org.example"})
    get = call(relay, "GET", path)
    settings = {"alerts": True, "timeSensitive": True}
    shown = {"device": "phone", "app": "org.example", "platform": "simulator", "settings": settings}
    assert get.json == shown
    assert put.json == shown | {"reportKey": put.json["reportKey"]}
    assert call(relay, "PUT", path, {"token": "t", "platform": "pigeon"}).problem["at"] == "/platform"
    assert call(relay, "PUT", path, {"token": None}).json == {"device": "phone"}
    assert call(relay, "GET", path).status == 404


# Pages of other origins


def test_a_page_of_a_listed_origin_may_call(start):
    relay = start("--origins", f"{CHAT} https://other.example")
    asked = {"Origin": CHAT, "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "content-type"}
    preflight = call(relay, "OPTIONS", "/v1/users/bob/focus", headers=asked)
    assert preflight.status == 204
    assert preflight.headers["Access-Control-Allow-Origin"] == CHAT
    assert "PUT" in preflight.headers["Access-Control-Allow-Methods"].split(", ")
    allowed = {name.lower() for name in preflight.headers["Access-Control-Allow-Headers"].split(", ")}
    assert allowed >= {"authorization", "content-type", "idempotency-key", "x-stillwire-user"}
    for method, path, body in (
        ("PUT", "/v1/users/bob/focus", {"isFocused": True}),
        ("GET", "/v1/nothing", None),
        ("GET", "/live", None),
    ):
        answer = call(relay, method, path, body, headers={"Origin": CHAT})
        assert answer.headers["Access-Control-Allow-Origin"] == CHAT
        assert "Origin" in answer.headers["Vary"]
        assert "Retry-After" in answer.headers["Access-Control-Expose-Headers"]


def test_a_page_of_any_other_origin_may_not(start):
    relay = start("--origins", CHAT)
    for origin in ("https://evil.example", "null", CHAT + ".evil.example", CHAT + ":444"):
        for method in ("OPTIONS", "GET"):
            answer = call(relay, method, "/live", headers={"Origin": origin})
            assert answer.status == 403
            assert not [name for name in answer.headers if name.startswith("Access-Control")]


# Rates


@pytest.fixture
def limited(start, secret, api_keys, backend) -> Iterator[tuple]:
    """A relay with rates that do not refill within a test, and headers of Ann, Bob and a backend."""
    rates = [
        option
        for name in ("send", "request", "focus")
        for option in (f"--limits-{name}-rate", "0.01", f"--limits-{name}-burst", "4")
    ]
    relay = start("--api-keys-file", api_keys, *rates, secret=secret)
    yield relay, *(relay.token(user) for user in ("ann", "bob")), backend


def statuses(relay, token, count, method, path, body=None):
    return [call(relay, method, path, body, token=token).status for _ in range(count)]


def test_a_user_without_a_session_has_a_rate(limited):
    relay, ann, bob, _ = limited
    path = "/v1/users/me/presence"
    assert statuses(relay, ann, 10, "GET", path) == [200] * 8 + [429] * 2
    assert statuses(relay, bob, 1, "GET", path) == [200]
    refused = call(relay, "GET", path, token=ann)
    assert refused.problem["code"] == "rate_limited"
    assert 0 < refused.problem["retryAfter"] <= int(refused.headers["Retry-After"])


def test_focus_has_a_rate_that_sessions_share(limited, connect):
    relay, ann, bob, _ = limited
    session = connect(relay, token=ann)
    session.request("focus", isFocused=True)
    body = {"isFocused": False}
    assert statuses(relay, ann, 4, "PUT", "/v1/users/me/focus", body) == [200] * 3 + [429]
    assert session.refusal("focus", isFocused=True)["code"] == "rate_limited"
    assert statuses(relay, ann, 1, "GET", "/v1/users/me/presence") == [200]
    assert statuses(relay, bob, 1, "PUT", "/v1/users/me/focus", body) == [200]


def test_sends_have_twice_the_rate_of_a_session(limited, connect):
    relay, ann, bob, backend = limited
    session = connect(relay, token=ann)
    session.join("room")
    path = "/v1/rooms/room/messages"
    assert statuses(relay, ann, 9, "POST", path, {"body": 1}) == [201] * 8 + [429]
    assert session.refusal("send", room="room", body=1)["code"] == "rate_limited"
    assert statuses(relay, backend, 20, "POST", path, {"from": "ann", "body": 1}) == [201] * 20


def test_an_api_key_has_no_rate(limited):
    relay, _, _, backend = limited
    assert statuses(relay, backend, 20, "GET", "/v1/users/ann/presence") == [200] * 20
    assert statuses(relay, backend, 20, "PUT", "/v1/users/ann/focus", {"isFocused": True}) == [200] * 20


# Rights


def needs_caller(operation):
    """Returns True if the operation needs a token or an API key. A receipt needs neither."""
    security = operation.get("security")
    return security is None or any("token" in one or "apiKey" in one for one in security)


def test_every_operation_needs_a_token_or_key(limited):
    relay, *_ = limited
    for template in PATHS:
        for method in methods(template):
            if "/v1/" in template and needs_caller(document(OPENAPI)["paths"][template][method.lower()]):
                body = b"" if method in ("PUT", "POST") else None
                for token in (None, "sw_wrong"):
                    assert call(relay, method, filled(template), body, token=token).status == 401, (method, template)


def test_access_to_another_user_is_forbidden_even_if_the_user_is_unknown(start, secret, connect):
    relay = start("--limits-request-rate", "0", secret=secret)
    token = relay.token("ann")
    connect(relay, token=relay.token("bob")).join("room")
    connect(relay, token=token).join("room")
    for user in ("bob", "nobody"):
        for method, path, body in (
            ("PUT", f"/v1/users/{user}/focus", {"isFocused": True}),
            ("GET", f"/v1/users/{user}/devices/phone", None),
            ("PUT", f"/v1/users/{user}/devices/phone", {"token": None}),
            ("DELETE", f"/v1/users/{user}/devices/phone", None),
            ("PUT", f"/v1/rooms/room/members/{user}", b""),
            ("DELETE", f"/v1/rooms/room/members/{user}", None),
            ("POST", f"/v1/users/{user}/disconnect", b""),
        ):
            answer = call(relay, method, path, body, token=token)
            assert (answer.status, answer.problem["code"]) == (403, "forbidden"), (method, path)
    read = call(relay, "PUT", "/v1/rooms/room/read", {"user": "bob", "seq": 0}, token=token)
    assert (read.status, read.problem["at"]) == (403, "/user")
    assert call(relay, "POST", "/v1/users/me/disconnect", b"", token=token).status == 403


def test_a_room_of_others_looks_like_a_room_that_does_not_exist(start, secret, connect):
    relay = start(secret=secret)
    ann, bob = (relay.token(user) for user in ("ann", "bob"))
    connect(relay, token=bob).join("room")
    for method, path, body in (
        ("GET", "/v1/rooms/{}/messages", None),
        ("POST", "/v1/rooms/{}/messages", {"body": 1}),
        ("GET", "/v1/rooms/{}/members", None),
        ("PUT", "/v1/rooms/{}/read", {"seq": 0}),
    ):
        there, nowhere = (call(relay, method, path.format(room), body, token=ann) for room in ("room", "nowhere"))
        assert (there.status, there.problem["code"]) == (403, "not_joined")
        assert json.loads(there.body) == json.loads(nowhere.body)
    assert call(relay, "DELETE", "/v1/rooms/room/members/me", token=ann).status == 204
    assert call(relay, "DELETE", "/v1/rooms/nowhere/members/me", token=ann).status == 204


def test_me_is_the_user_of_the_token(start, secret):
    relay = start(secret=secret)
    ann = relay.token("ann")
    assert call(relay, "PUT", "/v1/rooms/room/members/me", b"", token=ann).json["user"] == "ann"
    assert call(relay, "GET", "/v1/users/me/presence", token=ann).json["user"] == "ann"
    assert call(relay, "PUT", "/v1/rooms/room/read", {"seq": 0}, token=ann).json == {"room": "room", "read": 0}
    members = call(relay, "GET", "/v1/rooms/room/members", token=ann).json["members"]
    assert [entry["user"] for entry in members] == ["ann"]


def test_me_requires_a_user(relay):
    answer = call(relay, "GET", "/v1/users/me/presence")
    assert (answer.status, answer.problem["at"]) == (422, "/path/user")


@pytest.mark.parametrize("user", ["", "a b", "..", "me", "u" * 129])
def test_an_invalid_name_in_the_header_is_rejected(relay, user):
    answer = call(relay, "GET", "/v1/users/bob/presence", headers={"X-Stillwire-User": user})
    assert (answer.status, answer.problem["at"]) == (422, "/headers/x-stillwire-user")


# Limits


def test_one_more_than_a_limit_is_413(start):
    relay = start(*(f"--limits-{name}=1" for name in ("members-per-room", "rooms-per-user", "devices-per-user")))
    device = {"platform": "simulator", "token": "t"}
    for path, body in (
        ("rooms/room/members/ann", b""),
        ("users/ann/devices/one", device),
        ("users/ann/focus", {"isFocused": True, "device": "one"}),
    ):
        assert call(relay, "PUT", f"/v1/{path}", body).status in (200, 201)
    for path, body in (
        ("rooms/room/members/bob", b""),
        ("rooms/second/members/ann", b""),
        ("users/ann/devices/two", device),
        ("users/ann/focus", {"isFocused": True, "device": "two"}),
    ):
        answer = call(relay, "PUT", f"/v1/{path}", body)
        assert (answer.status, answer.problem["code"]) == (413, "too_large"), path
    assert call(relay, "GET", "/v1/rooms/second/members").status == 404
