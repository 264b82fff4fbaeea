# SPDX-License-Identifier: Apache-2.0
"""Report keys: the credential of app extensions, which run even days after all tokens have expired."""

import re

import pytest

import documents
from api import call
from client import Refused
from database import value
from documents import METHODS, OPENAPI
from relay import running
from waiting import eventually

#: A report key that is valid in form but unknown to the relay.
UNKNOWN = "swr_" + "A" * 43
#: The operations that a report key permits.
PERMITTED = {
    ("put", "/v1/users/{user}/focus"),
    ("put", "/v1/users/{user}/filter"),
    ("post", "/v1/notifications/{id}/responses"),
    ("post", "/v1/notifications/{id}/received"),
    ("get", "/v1/rooms/{room}/calls/{seq}"),
    ("post", "/v1/rooms/{room}/calls/{seq}/answer"),
    ("post", "/v1/rooms/{room}/calls/{seq}/decline"),
    ("post", "/v1/rooms/{room}/calls/{seq}/hangup"),
    ("delete", "/v1/users/{user}/devices/{device}"),
}


def is_public(operation):
    """Returns True if the operation reads no credential."""
    return operation.get("security") == []


REFUSED = [
    (method, template)
    for template, item in documents.document(OPENAPI)["paths"].items()
    for method in METHODS
    if method in item and (method, template) not in PERMITTED and not is_public(item[method])
]


@pytest.fixture(scope="module")
def relay(secret, api_keys, backend, tmp_path_factory):
    options = ("--api-keys-file", api_keys, "--simulated-phones", "true", "--presence-grace", "0", "--limits-focus-rate", "0")
    with running(tmp_path_factory.mktemp("relay"), *options, secret=secret) as relay:
        yield relay


@pytest.fixture
def token(relay):
    """Returns a token of a user with rights in every room."""
    rooms = [{"match": "*", "can": ["join", "create", "send", "push", "history", "presence"]}]
    return lambda user: relay.token(user, rooms=rooms)


@pytest.fixture
def register(relay, token):
    """Registers a device over HTTP, and returns its report key."""

    def register(user, device="phone", at=relay, credential=None, **fields):
        body = {"platform": "simulator", "token": f"{user}-{device}"} | fields
        answer = call(
            at, "PUT", f"/v1/users/{user}/devices/{device}", body, token=credential or token(user)
        )
        assert answer.status == 200, answer
        return answer.json["reportKey"]

    return register


def report(relay, key, is_focused=True, user="me", **fields):
    return call(relay, "PUT", f"/v1/users/{user}/focus", {"isFocused": is_focused} | fields, token=key)


def test_a_focus_is_reported_days_after_the_token_has_expired(relay, register, names, token, backend):
    (bob,) = names("bob")
    key = register(bob)
    expired = relay.token(bob, exp=1_000_000_000)
    assert report(relay, expired).status == 401
    answer = report(relay, key, number=7)
    assert (answer.status, answer.json["applied"], answer.json["isFocused"]) == (200, True, True)
    seen = call(relay, "GET", f"/v1/users/{bob}/presence", token=backend)
    assert seen.json["isFocused"] is True
    assert report(relay, key, user=bob, device="phone").status == 200
    # The device of the report is the key's device, not `default`.
    assert report(relay, token(bob), device="phone", number=6).json["applied"] is False


def test_a_filter_is_reported_with_the_key(relay, register, names):
    (bob,) = names("bob")
    key = register(bob)
    answer = call(relay, "PUT", "/v1/users/me/filter", {"active": True, "allow": ["work"]}, token=key)
    assert (answer.status, answer.json) == (200, {"applied": True})


@pytest.mark.parametrize("what, body", [("focus", {"isFocused": True}), ("filter", {"active": False})])
def test_a_key_reports_for_its_own_device_and_user_alone(relay, register, names, what, body):
    bob, carol = names("bob", "carol")
    key = register(bob)
    for user, fields, at in (carol, {}, "/path/user"), ("me", {"device": "tablet"}, "/device"):
        answer = call(relay, "PUT", f"/v1/users/{user}/{what}", body | fields, token=key)
        assert (answer.status, answer.problem["code"], answer.problem["at"]) == (403, "forbidden", at)


@pytest.mark.parametrize("method, template", REFUSED)
def test_every_other_route_refuses_the_key(relay, register, names, method, template):
    (bob,) = names("bob")
    key = register(bob)
    values = {"user": bob, "device": "phone", "room": "tea", "seq": "1", "other": "carol", "token": f"{bob}-phone"}
    path = re.sub(r"{(\w+)}", lambda name: values.get(name[1], "dd03c85b-fe98-48f9-98b0-2da51fbeeed8"), template)
    answer = call(relay, method.upper(), path, {} if method in ("put", "post") else None, token=key)
    assert (answer.status, answer.problem["code"]) == (403, "forbidden"), answer
    # The device is still registered.
    assert report(relay, key).status == 200


def test_every_route_that_accepts_the_key_is_described():
    described = {
        (method, template)
        for template, item in documents.document(OPENAPI)["paths"].items()
        for method in METHODS
        if method in item and {"reportKey": []} in item[method].get("security", [])
    }
    assert described == PERMITTED


def test_a_session_refuses_the_key(relay, register, names, connect):
    (bob,) = names("bob")
    key = register(bob)
    with pytest.raises(Refused) as refused:
        connect(relay, token=key)
    assert refused.value.error["code"] == "unauthorized"


def test_a_key_from_a_session_is_valid(relay, connect, names, token):
    (bob,) = names("bob")
    session = connect(relay, token=token(bob))
    phone = {"device": "phone", "platform": "simulator", "token": f"{bob}-phone"}
    reply = session.request("device", **phone)
    assert report(relay, reply["reportKey"]).status == 200
    assert "reportKey" not in session.request("device", device="phone", token=None)
    assert report(relay, reply["reportKey"]).status == 401


def test_a_former_key_is_valid_until_the_app_has_saved_the_new_one(relay, register, names):
    (bob,) = names("bob")
    keys = [register(bob) for _ in range(5)]
    assert len(set(keys)) == 5
    assert [report(relay, key).status for key in keys] == [401, 200, 200, 200, 200]


def test_keys_of_other_devices_remain_valid(relay, register, names):
    (bob,) = names("bob")
    tablet = register(bob, "tablet")
    for _ in range(5):
        register(bob)
    assert report(relay, tablet).status == 200


def revoke(relay, user, device, token):
    return call(relay, "DELETE", f"/v1/users/{user}/devices/{device}/report-keys", token=token)


def test_the_user_revokes_the_keys_of_a_device(relay, register, names, token):
    (bob,) = names("bob")
    first, second, tablet = register(bob), register(bob), register(bob, "tablet")
    assert revoke(relay, bob, "phone", token(bob)).status == 204
    for key in first, second:
        answer = report(relay, key)
        assert (answer.status, answer.problem["code"]) == (401, "unauthorized")
    assert report(relay, tablet).status == 200
    assert call(relay, "GET", f"/v1/users/{bob}/devices/phone", token=token(bob)).status == 200
    assert report(relay, register(bob)).status == 200
    assert revoke(relay, bob, "watch", token(bob)).status == 404


def test_a_backend_revokes_the_keys_of_all_devices(relay, register, names, token, backend):
    bob, carol = names("bob", "carol")
    keys, other = [register(bob, device) for device in ("phone", "tablet")], register(carol)
    path = f"/v1/users/{bob}/report-keys"
    assert call(relay, "DELETE", path, token=token(bob)).status == 403
    for _ in range(2):
        assert call(relay, "DELETE", path, token=backend).status == 204
    assert [report(relay, key).status for key in keys] == [401, 401]
    assert report(relay, other).status == 200
    assert report(relay, register(bob)).status == 200


def test_a_user_cannot_revoke_the_keys_of_another(relay, register, names, token):
    bob, carol = names("bob", "carol")
    key = register(bob)
    assert revoke(relay, bob, "phone", token(carol)).status == 403
    assert report(relay, key).status == 200


def test_a_key_ends_with_its_device(relay, register, names, token):
    bob, carol = names("bob", "carol")
    key = register(bob)
    assert call(relay, "DELETE", f"/v1/users/{bob}/devices/phone", token=token(bob)).status == 204
    assert report(relay, key).status == 401
    key = register(bob)
    # Another user registers the token, and then another device of the same user.
    register(carol, token=f"{bob}-phone")
    assert report(relay, key).status == 200
    register(bob, "next", token=f"{bob}-phone")
    assert report(relay, key).status == 401


@pytest.mark.parametrize("key", [UNKNOWN, "swr_", UNKNOWN + "A", "swr_" + "é" * 43, UNKNOWN[:-1] + "="])
def test_an_unknown_key_is_refused(relay, key):
    answer = call(relay, "PUT", "/v1/users/me/focus", {"isFocused": True}, headers={"Authorization": f"Bearer {key}".encode()})
    assert (answer.status, answer.problem["code"]) == (401, "unauthorized")


def test_a_key_outlives_a_crash_and_is_stored_as_a_hash(start, secret, register, names, token):
    relay = start("--presence-grace", "0", "--simulated-phones", "true", secret=secret)
    (bob,) = names("bob")
    key = register(bob, at=relay)
    relay.kill()
    assert len(value(relay, "SELECT hash FROM report_keys")) == 32
    for file in relay.data.iterdir():
        assert key.encode() not in file.read_bytes(), file
    relay.start()
    assert report(relay, key).status == 200


def test_a_key_has_the_same_rights_in_open_mode(start, names):
    relay = start("--presence-grace", "0")
    (bob,) = names("bob")
    answer = call(relay, "PUT", f"/v1/users/{bob}/devices/phone", {"platform": "simulator", "token": bob}, user=bob)
    key = answer.json["reportKey"]
    assert report(relay, key).status == 200
    assert report(relay, UNKNOWN).status == 401
    assert call(relay, "GET", f"/v1/users/{bob}/preferences", token=key).status == 403
    answer = call(relay, "PUT", "/v1/users/me/focus", {"isFocused": True}, token=key, user="carol")
    assert (answer.status, answer.problem["at"]) == (422, "/headers/x-stillwire-user")


# Notifications


@pytest.fixture
def pushed(relay, register, connect, names, token, backend):
    """A push on Bob's phone and tablet. Returns the keys, the ids, Alice's session and the room."""
    alice, bob, room = names("alice", "bob", "room")
    writer = connect(relay, token=token(alice))
    writer.join(room)
    reader = connect(relay, token=token(bob))
    reader.join(room)
    keys = {device: register(bob, device) for device in ("phone", "tablet")}
    reader.close(1000)
    writer.expect("presence", user=bob, online=False)
    registry = {
        "categories": [
            {
                "id": "invitation",
                "actions": [
                    {"id": "accept", "title": "Accept"},
                    {"id": "answer", "title": "Answer", "textInput": {"button": "Send", "placeholder": "Text"}, "posts": True},
                ],
            }
        ]
    }
    assert call(relay, "PUT", "/v1/categories", registry, token=backend).status == 200
    writer.send(room, {"text": "Tea?"}, push={"category": "invitation"}, report=True)

    def arrived(device):
        answer = call(relay, "GET", f"/v1/simulator/devices/{bob}-{device}", token=backend)
        return answer.json["notifications"] if answer.status == 200 else []

    ids = {}
    for device in keys:
        eventually(lambda: arrived(device))
        ids[device] = arrived(device)[0]["payload"]["communication"]["notification"]
    return keys, ids, writer, bob


def test_a_receipt_of_the_device_needs_only_the_key(relay, pushed):
    keys, ids, writer, bob = pushed
    path = f"/v1/notifications/{ids['phone']}/received"
    answer = call(relay, "POST", path, {}, token=keys["tablet"])
    assert (answer.status, answer.problem["code"], answer.problem["at"]) == (404, "not_found", "/path/id")
    assert call(relay, "POST", path, {}, token=UNKNOWN).status == 401
    answer = call(relay, "POST", path, {}, token=keys["phone"])
    assert (answer.status, answer.json["notification"]) == (200, ids["phone"])
    writer.expect("delivery", user=bob, state="onPhone")


def test_a_response_of_the_device_reaches_the_sender(relay, pushed):
    keys, ids, writer, bob = pushed
    path = f"/v1/notifications/{ids['phone']}/responses"
    assert call(relay, "POST", path, {"action": "accept"}, token=keys["tablet"]).status == 404
    answer = call(relay, "POST", path, {"action": "accept", "user": bob}, token=keys["phone"])
    assert (answer.status, answer.problem["at"]) == (403, "/user")
    assert call(relay, "POST", path, {"action": "accept"}, token=keys["phone"]).status == 201
    writer.expect("response", user=bob, action="accept")


def test_the_text_of_a_response_is_posted(relay, pushed):
    keys, ids, writer, bob = pushed
    path = f"/v1/notifications/{ids['phone']}/responses"
    answer = call(relay, "POST", path, {"action": "answer", "text": "Yes"}, token=keys["phone"])
    assert (answer.status, answer.json["posted"]) == (201, 2)
    writer.expect("message", **{"from": bob}, body={"text": "Yes"})


@pytest.mark.parametrize("way", ["hello", "refresh", "registration"])
def test_a_response_is_posted_only_if_the_newest_token_gives_send(relay, connect, pushed, token, way):
    keys, ids, writer, bob = pushed
    rooms = [{"match": "*", "can": ["join", "history", "presence"]}]
    silent = relay.token(bob, rooms=rooms)
    if way == "hello":
        connect(relay, token=silent)
    elif way == "refresh":
        connect(relay, token=token(bob)).request("refresh", token=silent)
    else:
        body = {"platform": "simulator", "token": f"{bob}-watch"}
        assert call(relay, "PUT", f"/v1/users/{bob}/devices/watch", body, token=silent).status == 200
    path = f"/v1/notifications/{ids['phone']}/responses"

    def posted():
        return call(relay, "POST", path, {"action": "answer", "text": "Yes"}, token=keys["phone"])

    # The relay stores the claim shortly after its reply, and before this registration.
    body = {"platform": "simulator", "token": f"{bob}-other"}
    assert call(relay, "PUT", f"/v1/users/{bob}/devices/other", body, token=silent).status == 200
    answer = posted()
    assert (answer.status, answer.problem["code"]) == (403, "forbidden")
    assert not writer.received("message", **{"from": bob})
    connect(relay, token=token(bob)).request("device", device="other", token=None)
    assert posted().status == 201
    writer.expect("message", **{"from": bob}, body={"text": "Yes"})


# Calls


@pytest.fixture
def ringing(relay, register, connect, names, backend):
    """A call of Alice that rings for Bob. Returns the keys of Bob's devices, the path of the call, and both names."""
    alice, bob = names("alice", "bob")
    keys = {device: register(bob, device) for device in ("phone", "tablet")}
    rooms = [{"match": "*", "can": ["join", "create", "send", "push", "urgent", "history", "presence"]}]
    caller = connect(relay, token=relay.token(alice, rooms=rooms))
    room = call(relay, "PUT", f"/v1/users/{alice}/direct/{bob}", b"", token=backend).json["room"]
    rung = caller.request("ring", room=room)
    return keys, f"/v1/rooms/{room}/calls/{rung['seq']}", caller, bob


def test_a_phone_answers_and_ends_a_call_with_its_key(relay, ringing):
    keys, path, caller, bob = ringing
    answer = call(relay, "POST", f"{path}/answer", {}, token=keys["phone"])
    assert (answer.status, answer.json["state"]) == (200, "answered")
    assert answer.json["users"] == [{"user": bob, "state": "answered", "device": "phone"}]
    caller.expect("call", event="answer", user=bob, device="phone")
    # The key answers as its own device alone, and the call is taken for the other one.
    other = call(relay, "POST", f"{path}/answer", {"device": "phone"}, token=keys["tablet"])
    assert (other.status, other.problem["code"], other.problem["at"]) == (403, "forbidden", "/device")
    late = call(relay, "POST", f"{path}/answer", {}, token=keys["tablet"])
    assert (late.status, late.problem["code"]) == (409, "conflict")
    # The tablet may have lost the reply to an answer of its own. Its hang-up does not end the call of the phone.
    late = call(relay, "POST", f"{path}/hangup", {}, token=keys["tablet"])
    assert (late.status, late.problem["code"]) == (409, "conflict")
    ended = call(relay, "POST", f"{path}/hangup", {"device": "phone"}, token=keys["phone"])
    assert (ended.status, ended.json["state"]) == (200, "ended")


def test_a_phone_declines_a_call_with_its_key(relay, ringing):
    keys, path, caller, bob = ringing
    answer = call(relay, "POST", f"{path}/decline", {}, token=keys["tablet"])
    assert (answer.status, answer.json["state"]) == (200, "declined")
    caller.expect("call", event="decline", user=bob, device="tablet")


def test_a_phone_reads_with_its_key_whether_a_call_still_rings(relay, ringing):
    keys, path, caller, bob = ringing
    seen = call(relay, "GET", path, token=keys["phone"])
    assert (seen.status, seen.json["state"]) == (200, "ringing")
    call(relay, "POST", f"{path}/answer", {}, token=keys["tablet"])
    seen = call(relay, "GET", path, token=keys["phone"])
    assert seen.json["users"] == [{"user": bob, "state": "answered", "device": "tablet"}]
    # The key reads one call, and no list of calls.
    listed = call(relay, "GET", path.rsplit("/", 1)[0], token=keys["phone"])
    assert (listed.status, listed.problem["code"]) == (403, "forbidden")


def test_a_key_reads_and_changes_no_call_of_others(relay, ringing, register, names):
    _, path, _, bob = ringing
    (carol,) = names("carol")
    key = register(carol)
    answer = call(relay, "GET", path, token=key)
    assert (answer.status, answer.problem["code"]) == (403, "not_joined")
    answer = call(relay, "POST", f"{path}/answer", {}, token=key)
    assert (answer.status, answer.problem["code"]) == (403, "not_joined")
    answer = call(relay, "POST", f"{path}/answer", {"user": bob}, token=key)
    assert (answer.status, answer.problem["at"]) == (403, "/user")
