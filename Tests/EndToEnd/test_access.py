# SPDX-License-Identifier: Apache-2.0
"""Restrictions of users: suspensions, and the revocation of tokens."""

import time

import pytest

from api import call
from client import Refused
from waiting import eventually
from wire import refusal


def set_access(relay, user, body=None, **more):
    answer = call(relay, "PUT", f"/v1/users/{user}/access", body or {}, **more)
    assert answer.status == 200, answer
    return answer.json


def refused(relay, **hello):
    error, close = refusal(relay, **hello)
    return error["code"], error["message"], close


def test_a_suspension_ends_the_sessions_and_refuses_new_ones(relay, connect, names):
    ann, bob = names("ann", "bob")
    sessions = [connect(ann), connect(ann)]
    other = connect(bob)
    done = set_access(relay, ann, {"suspended": True, "reason": "spam"})
    assert done == {"user": ann, "suspended": True, "reason": "spam", "sessions": 2}
    for session in sessions:
        assert session.closed() == 4507
        assert session.inbox[-1].fits("bye", {"code": 4507, "reason": "suspended: spam", "reconnect": False})
    assert refused(relay, user=ann) == ("forbidden", "suspended: spam", 4507)
    assert call(relay, "GET", f"/v1/users/{ann}/access").json == {"user": ann, "suspended": True, "reason": "spam"}
    other.request("ping")
    assert set_access(relay, ann) == {"user": ann, "suspended": False, "sessions": 0}
    connect(ann)


def test_a_suspension_ends_at_its_time(relay, connect, names):
    (ann,) = names("ann")
    session = connect(ann)
    until = session.request("ping")["time"] + 1_500
    assert set_access(relay, ann, {"suspended": True, "until": until})["until"] == until

    def returns():
        try:
            return connect(ann)
        except Refused as refusal:
            assert refusal.error["message"] == "suspended"
            return None

    assert eventually(returns).request("ping")["time"] >= until
    assert call(relay, "GET", f"/v1/users/{ann}/access").json == {"user": ann, "suspended": False}


def test_a_wrong_restriction_is_refused_with_its_pointer(relay, names):
    """`BadFieldsTests` has all cases."""
    (ann,) = names("ann")
    answer = call(relay, "PUT", f"/v1/users/{ann}/access", {"suspended": True, "reason": "é" * 57})
    assert (answer.status, answer.problem["at"]) == (422, "/reason")
    assert call(relay, "GET", f"/v1/users/{ann}/access").json == {"user": ann, "suspended": False}


def test_open_mode_has_no_tokens_to_revoke(relay, names):
    answer = call(relay, "PUT", f"/v1/users/{names('ann')[0]}/access", {"notBefore": 1})
    assert (answer.status, answer.problem["code"], answer.problem["at"]) == (422, "unsupported", "/notBefore")


def test_a_suspended_user_gets_no_pushes(relay, connect, phone, names):
    ann, bob, room = names("ann", "bob", "room")
    session, reader = connect(ann), connect(bob)
    session.join(room)
    reader.join(room)
    mobile = phone(relay, reader)
    reader.close()
    set_access(relay, bob, {"suspended": True})
    session.send(room, {"text": "hidden"})
    why = call(relay, "POST", "/v1/decisions", {"room": room, "from": ann, "user": bob}).json
    assert {device["decision"]["reasons"][0]["code"] for device in why["devices"]} == {"suspended"}
    set_access(relay, bob)
    session.send(room, {"text": "shown"})
    mobile.ring("shown")
    assert len(mobile.notifications()) == 1
    assert {member["user"] for member in call(relay, "GET", f"/v1/rooms/{room}/members").json["members"]} == {ann, bob}


# Tokens


@pytest.fixture
def guarded(start, secret, api_keys, backend):
    """A relay with tokens and the API key `backend`."""
    return start("--api-keys-file", api_keys, secret=secret)


def test_tokens_that_were_issued_earlier_are_revoked(guarded, connect, backend):
    relay = guarded
    old = relay.token("ann", iat=int(time.time()))
    session, bystander = connect(relay, token=old), connect(relay, token=relay.token("bob"))
    # Tokens have whole seconds.
    not_before = (session.request("ping")["time"] // 1000 + 1) * 1000
    assert set_access(relay, "ann", {"notBefore": not_before}, token=backend)["sessions"] == 1
    assert session.closed() == 4002
    assert refused(relay, token=old) == ("unauthorized", "the token was revoked", 4002)
    assert call(relay, "GET", "/v1/users/me/preferences", token=old).status == 401
    eventually(lambda: time.time() * 1000 >= not_before)
    new = relay.token("ann", iat=int(time.time()))
    assert call(relay, "GET", "/v1/users/me/preferences", token=new).status == 200
    session = connect(relay, token=new)
    refresh = session.refusal("refresh", token=old)
    assert (refresh["code"], refresh["message"]) == ("unauthorized", "the token was revoked")
    bystander.request("ping")


def test_restrictions_survive_a_restart_and_belong_to_backends(guarded, connect, backend):
    relay = guarded
    token = relay.token("ann")
    key = call(
        relay, "PUT", "/v1/users/ann/devices/phone", {"platform": "simulator", "token": "f00d"}, token=token
    ).json["reportKey"]
    report = {"device": "phone", "isFocused": True, "authorization": "authorized"}
    assert call(relay, "PUT", "/v1/users/ann/focus", report, token=key).status == 200
    for method, body in [("GET", None), ("PUT", {})]:
        assert call(relay, method, "/v1/users/ann/access", body, token=token).status == 403
        assert call(relay, method, "/v1/users/ann/access", body, token=key).status == 403
    set_access(relay, "ann", {"suspended": True}, token=backend)
    relay.kill()
    relay.start()
    assert refused(relay, token=token) == ("forbidden", "suspended", 4507)
    assert call(relay, "GET", "/v1/users/me/preferences", token=token).problem["detail"] == "suspended"
    assert call(relay, "PUT", "/v1/users/ann/focus", report, token=key).status == 403
    assert connect(relay, token=relay.token("bob")).request("ping")
