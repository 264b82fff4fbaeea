# SPDX-License-Identifier: Apache-2.0
"""Token mode: the user is in a signed token, in `hello` or in the Authorization header."""

import base64
import json
import time

import pytest

import tokens
from api import call
from relay import run, running
from wire import Wire, refusal

HOUR = 3600
APIKEY_LIKE = "sw_" + "A" * 43


@pytest.fixture(scope="module")
def relay(secret, tmp_path_factory):
    """A relay with the shared secret."""
    with running(tmp_path_factory.mktemp("relay"), secret=secret) as relay:
        yield relay


@pytest.fixture(scope="module")
def key(secret):
    return secret.read_text()


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def refused(relay, headers=None, **hello):
    error, close = refusal(relay, headers, **hello)
    return error["code"], close


def made(secret, *options):
    """Returns a token for Alice from `stillwire token`."""
    ended = run("token", "--secret-file", secret, "--user", "alice", "--room", "*=join,create,presence", *options)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def test_a_token_of_the_command_line_names_its_user(relay, connect, secret):
    alice = connect(relay, token=made(secret, "--name", "Alice Liddell"))
    assert (alice.welcome["user"], alice.welcome["name"]) == ("alice", "Alice Liddell")
    (entry,) = alice.join("room-of-alice")["members"]
    assert (entry["user"], entry["name"]) == ("alice", "Alice Liddell")


def test_a_token_that_another_program_has_signed_is_valid(relay, connect):
    bob = connect(relay, token=relay.token("bob", name="Bob", unknown={"a": 1}))
    assert (bob.welcome["user"], bob.welcome["name"]) == ("bob", "Bob")


def test_an_avatar_comes_from_the_token(relay, connect):
    avatar = "https://example.org/carol.png"
    carol = connect(relay, token=relay.token("carol", avatar=avatar))
    assert carol.join("room-of-carol")["members"][0]["avatar"] == avatar


def test_a_token_without_exp_needs_a_setting(start, connect, secret):
    relay = start("--tokens-require-expiry", "false", secret=secret)
    assert connect(relay, token=tokens.token(secret.read_text(), {"sub": "alice"})).welcome["user"] == "alice"


def test_a_token_of_the_command_line_has_the_requested_lifetime(secret):
    payload = made(secret, "--expires-in", 120).split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    assert claims["sub"] == "alice"
    assert time.time() + 60 < claims["exp"] < time.time() + 180


def test_the_token_in_the_header_is_verified_at_hello(relay, connect):
    alice = connect(relay, headers=bearer(relay.token("alice")))
    assert alice.welcome["user"] == "alice"
    assert refused(relay, bearer("no.token.this")) == ("unauthorized", 4501)


def test_the_token_in_hello_has_precedence(relay, connect):
    alice, bob = (relay.token(user) for user in ("alice", "bob"))
    assert connect(relay, headers=bearer(alice), token=bob).welcome["user"] == "bob"
    assert connect(relay, headers=bearer("nonsense"), token=bob).welcome["user"] == "bob"
    assert refused(relay, bearer(alice), token="nonsense") == ("unauthorized", 4501)


def test_a_token_in_the_url_or_among_the_subprotocols_is_ignored(relay):
    token = relay.token("alice")
    for path, offered in (
        (f"/v1/connect?token={token}", "stillwire.v1.json"),
        (f"/v1/connect?access_token={token}", "stillwire.v1.json"),
        ("/v1/connect", "stillwire.v1.json, bearer.alice"),
    ):
        with Wire(relay) as wire:
            assert wire.upgrade({"Sec-WebSocket-Protocol": offered}, path).status == 101
            wire.send_request("hello")
            assert wire.ending().code == 4501, path
    for name in ("token", "access_token"):
        assert call(relay, "GET", f"/v1/users/me/presence?{name}={token}").status == 401


def test_a_hello_without_a_token_is_rejected(relay):
    assert refused(relay) == ("unauthorized", 4501)


#: One token of each kind. `TokenVerifierTests` and `TokenClaimsTests` have all cases.
INVALID = {
    "no JWT": lambda key: "x",
    "another secret": lambda key: tokens.token(key + "x", tokens.claims("alice")),
    "no exp": lambda key: tokens.token(key, {"sub": "alice"}),
}


@pytest.mark.parametrize("make", INVALID.values(), ids=INVALID.keys())
def test_an_invalid_token_is_unauthorized(relay, key, make):
    assert refused(relay, token=make(key)) == ("unauthorized", 4501)
    answer = call(relay, "GET", "/v1/users/me/presence", token=make(key))
    assert (answer.status, answer.problem["code"]) == (401, "unauthorized")


def test_the_clocks_of_issuer_and_relay_may_differ_by_a_minute(relay, connect):
    ahead = relay.token("alice", nbf=int(time.time()) + 30, iat=int(time.time()) + 30)
    assert connect(relay, token=ahead).welcome["user"] == "alice"
    assert call(relay, "GET", "/v1/users/me/presence", token=ahead).status == 200


def test_a_client_with_a_token_that_is_not_valid_yet_reconnects(relay, connect):
    early = relay.token("alice", nbf=int(time.time()) + HOUR)
    assert refused(relay, token=early) == ("unauthorized", 4007)
    answer = call(relay, "GET", "/v1/users/me/presence", token=early)
    assert (answer.status, answer.problem["code"]) == (401, "unauthorized")
    session = connect(relay, token=relay.token("alice"))
    assert session.refusal("refresh", token=early)["code"] == "unauthorized"


def test_the_maximum_lifetime_of_tokens_is_a_setting(start, connect, secret):
    relay, key = start("--tokens-max-lifetime", 7 * 24 * HOUR, secret=secret), secret.read_text()
    days = {days: relay.token("alice", exp=int(time.time()) + days * 24 * HOUR) for days in (7, 8)}
    assert connect(relay, token=days[7]).welcome["user"] == "alice"
    assert refused(relay, token=days[8]) == ("unauthorized", 4501)
    assert call(relay, "GET", "/v1/users/me/presence", token=days[8]).status == 401


def test_a_refresh_with_a_token_over_8_kib_is_unauthorized(relay, connect):
    session = connect(relay, token=relay.token("alice"))
    assert session.refusal("refresh", token="x" * 8193)["code"] == "unauthorized"


def test_null_fields_of_hello_are_absent(relay, connect, start):
    token = relay.token("alice")
    session = connect(relay, token=token, user=None, name=None, avatar=None)
    assert session.welcome["user"] == "alice"
    assert connect(relay, headers=bearer(token), token=None).welcome["user"] == "alice"
    assert connect(start(), "alice", token=None).welcome["user"] == "alice"


def test_an_expired_token_closes_with_4002(relay):
    expired = relay.token("alice", exp=int(time.time()) - HOUR)
    assert refused(relay, token=expired) == ("unauthorized", 4002)
    assert refused(relay, bearer(expired)) == ("unauthorized", 4002)
    answer = call(relay, "GET", "/v1/users/me/presence", token=expired)
    assert (answer.status, answer.problem["code"]) == (401, "unauthorized")


@pytest.mark.parametrize("fields", [{"user": "alice"}, {"name": "Alice"}, {"avatar": "https://example.org/a.png"}])
def test_the_fields_of_open_mode_are_forbidden(relay, fields):
    assert refused(relay, token=relay.token("alice"), **fields) == ("forbidden", 4503)


def test_a_user_without_a_token_is_forbidden_or_unauthorized(relay):
    """Two things are wrong here: the mode forbids the field `user`, and the token is missing."""
    assert refused(relay, user="alice") in [("forbidden", 4503), ("unauthorized", 4501)]


def test_a_token_of_the_wrong_type_is_a_bad_request(relay):
    assert refused(relay, token=5) == ("bad_request", 4500)


def test_http_without_a_token_is_unauthorized(relay):
    for method, path, body in (
        ("PUT", "/v1/users/alice/focus", {"isFocused": True}),
        ("GET", "/v1/users/alice/presence", None),
        ("GET", "/v1/rooms/room/messages", None),
        ("POST", "/v1/rooms/room/messages", {"body": 1}),
        ("PUT", "/v1/users/alice/devices/d", {"platform": "simulator", "token": "t"}),
        ("DELETE", "/v1/users/alice/devices/d", None),
    ):
        answer = call(relay, method, path, body)
        assert (answer.status, answer.problem["code"]) == (401, "unauthorized"), path


def test_http_acts_only_for_the_user_of_the_token(relay, connect):
    alice = relay.token("alice")
    for user in ("alice", "me"):
        answer = call(relay, "PUT", f"/v1/users/{user}/focus", {"isFocused": True}, token=alice)
        assert (answer.status, answer.json["applied"]) == (200, True)
    connect(relay, token=relay.token("bob"))
    for user in ("bob", "nobody-yet"):
        for method, path, body in (
            ("PUT", "focus", {"isFocused": True}),
            ("PUT", "devices/d", {"platform": "simulator", "token": "t"}),
            ("DELETE", "devices/d", None),
        ):
            answer = call(relay, method, f"/v1/users/{user}/{path}", body, token=alice)
            assert (answer.status, answer.problem["code"]) == (403, "forbidden"), (user, path)


def test_http_needs_membership_of_the_room(relay, connect):
    alice, carol = (relay.token(user) for user in ("alice", "carol"))
    connect(relay, token=alice).join("members-only")
    for room in ("members-only", "no-such-room"):
        path = f"/v1/rooms/{room}/messages"
        for answer in (call(relay, "GET", path, token=carol), call(relay, "POST", path, {"body": 1}, token=carol)):
            assert (answer.status, answer.problem["code"]) == (403, "not_joined")
    posted = call(relay, "POST", "/v1/rooms/members-only/messages", {"body": 1}, token=alice)
    assert (posted.status, posted.json["seq"]) == (201, 1)
    read = call(relay, "GET", "/v1/rooms/members-only/messages", token=alice)
    assert [message["from"] for message in read.json["messages"]] == ["alice"]


def test_the_header_of_open_mode_is_forbidden(relay):
    answer = call(
        relay,
        "GET",
        "/v1/users/me/presence",
        user="alice",
        token=relay.token("alice"),
    )
    assert (answer.status, answer.problem["code"]) == (403, "forbidden")


def test_presence_of_people_without_a_shared_room_is_forbidden(relay, connect):
    alice, bob, carol = (
        connect(relay, token=relay.token(user)) for user in ("alice", "bob", "carol")
    )
    alice.join("shared")
    bob.join("shared")
    assert alice.request("presence", users=["bob"])["presence"][0]["online"] is True
    for users in (["carol"], ["bob", "carol"], ["nobody-at-all"]):
        assert alice.refusal("presence", users=users)["code"] == "forbidden"
    token = relay.token("alice")
    assert call(relay, "GET", "/v1/users/bob/presence", token=token).status == 200
    for user in ("carol", "nobody-at-all"):
        answer = call(relay, "GET", f"/v1/users/{user}/presence", token=token)
        assert (answer.status, answer.problem["code"]) == (403, "forbidden")
    for users, status in ((["bob"], 200), (["bob", "alice"], 200), (["bob", "carol"], 403), (["nobody-at-all"], 403)):
        assert call(relay, "POST", "/v1/presence", {"users": users}, token=token).status == status, users
    assert call(relay, "POST", "/v1/presence", {"users": ["bob"] * 256}, token=token).status == 200
    assert call(relay, "POST", "/v1/presence", {"users": ["bob"] * 257}, token=token).problem["at"] == "/users"
    carol.request("ping")


def test_a_session_learns_when_its_token_expires(relay, connect, key):
    claims = tokens.claims("alice")
    welcome = connect(relay, token=tokens.token(key, claims)).welcome
    assert welcome["expires"] == claims["exp"] * 1000 > welcome["time"]


def test_the_simulated_gateway_needs_an_api_key(relay):
    phone = "/v1/simulator/devices/t"
    for method, path in ("GET", phone), ("PUT", phone), ("GET", f"{phone}/events"):
        body = {"isReachable": False} if method == "PUT" else None
        assert call(relay, method, path, body).status == 401
        answer = call(relay, method, path, body, token=relay.token("alice"))
        assert (answer.status, answer.problem["code"]) == (403, "forbidden")


def test_with_tokens_simulated_phones_need_a_setting(start, connect, secret):
    phone = {"platform": "simulator", "token": "phone-of-alice"}
    relay = start("--secret-file", secret)
    token = tokens.token(secret.read_text(), tokens.claims("alice"))
    answer = call(relay, "PUT", "/v1/users/me/devices/d", phone, token=token)
    assert (answer.status, answer.problem["code"], answer.problem["at"]) == (422, "unsupported", "/platform")
    assert "simulatedPhones" in answer.problem["detail"]
    assert connect(relay, token=token).refusal("device", device="d", **phone)["code"] == "unsupported"
    assert call(start("--simulated-phones", "true", secret=secret), "PUT", "/v1/users/me/devices/d", phone, token=token).status == 200
    open_relay = start("--simulated-phones", "false")
    assert call(open_relay, "PUT", "/v1/users/alice/devices/d", phone).status == 422


def test_the_details_of_readiness_are_for_backends(start, secret, api_keys, backend):
    relay = start("--api-keys-file", api_keys, secret=secret)
    token = relay.token("alice")
    for headers in ({}, bearer(token), bearer("nonsense"), bearer(APIKEY_LIKE)):
        answer = call(relay, "GET", "/ready", headers=headers)
        assert (answer.status, answer.json) == (200, {"status": "ready"})
    assert call(relay, "GET", "/ready", headers=bearer(backend)).json["store"] == "available"
    assert call(start("--metrics-open", secret=secret), "GET", "/ready").json["store"] == "available"
    assert call(start(), "GET", "/ready").json["store"] == "available"


def test_any_host_is_accepted_in_token_mode(relay):
    with Wire(relay) as wire:
        assert wire.upgrade({"Host": "relay.example"}).status == 101


def test_a_client_that_is_refused_again_and_again_gets_the_refusal_late(start, secret):
    relay = start(secret=secret)

    def took(**hello):
        began = time.monotonic()
        error, close = refusal(relay, address="127.0.0.1", **hello)
        assert (error["code"], close) == ("unauthorized", 4501)
        return time.monotonic() - began

    # Without a token, no refusal is late, and none counts.
    assert sum(took() for _ in range(12)) < 9
    assert min(took(token="wrong") for _ in range(2)) < 0.9
    assert took(token="wrong") > 0.9
    assert sum(took() for _ in range(12)) < 9
