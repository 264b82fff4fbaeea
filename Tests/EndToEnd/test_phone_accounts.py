# SPDX-License-Identifier: Apache-2.0
"""Several accounts of one phone: users of one app whose devices have the same push token; and the sign-out of one."""

import pytest

from api import call
from phone import Phone
from relay import running
from waiting import eventually

RELAY_OPTIONS = ("--presence-grace", "0")
#: The maximum number of users of one token.
MAX_ACCOUNTS = 8


@pytest.fixture
def shared(circle, names):
    """Two accounts of one phone. Returns the phone, and both users."""
    work, home = circle.away("work"), circle.away("home")
    phone = Phone(circle.relay, *names("phone"))
    for user in work, home:
        user.register(token=phone.token)
    return phone, work, home


def recipients(phone):
    """The user and the text of each notification."""
    pushed = [one["payload"] for one in phone.notifications()]
    return sorted((payload["communication"]["recipient"], payload["aps"]["alert"]["body"]) for payload in pushed)


def test_each_account_gets_its_pushes_with_its_name(circle, shared):
    phone, work, home = shared
    circle.send("Hello")
    eventually(lambda: recipients(phone) == sorted([(work.user, "Hello"), (home.user, "Hello")]))
    # A push that is not about a person's message has the name in `push`.
    push = {"title": "Shop", "body": "Sale", "communication": False}
    path = f"/v1/users/{home.user}/notifications"
    answer = call(circle.relay, "POST", path, {"push": push, "from": "shop"})
    assert answer.status == 201, answer
    payload = phone.ring("Sale")["payload"]
    assert payload["push"]["recipient"] == home.user and "communication" not in payload


def test_the_data_of_a_call_names_the_account(circle, shared):
    phone, work, home = shared
    calls = Phone(circle.relay, f"{phone.token}-calls")
    for user in work, home:
        user.register(token=phone.token, voipToken=calls.token)
    circle.send("Hello?", push={"kind": "call"})
    calls.nth(1)
    named = {one["payload"]["data"]["communication"]["recipient"] for one in calls.notifications()}
    assert named == {work.user, home.user}
    circle.pass_due()
    assert phone.notifications() == []


def test_a_focus_of_one_account_silences_both(circle, shared):
    phone, work, home = shared
    for user in work, home:
        user.prefer(onFocus="hold")
    work.focus(True, number=5)
    assert call(circle.relay, "GET", f"/v1/users/{home.user}/presence").json["isFocused"] is True
    circle.send("Held")
    circle.pass_due()
    assert phone.notifications() == []
    # The other account ends it, with a number of its own.
    home.focus(None, number=1)
    eventually(lambda: recipients(phone) == sorted([(work.user, "Held"), (home.user, "Held")]))


def test_a_filter_of_one_account_passes_the_labels_of_both(circle, shared):
    phone, work, home = shared
    for user, label in (work, "work"), (home, "home"):
        user.register(token=phone.token, criteria=label)
        user.prefer(onFocus="hold")
    home.filter("work")
    circle.send("At work")
    circle.pass_due()
    assert recipients(phone) == [(work.user, "At work")]


def test_a_later_account_has_the_focus_of_the_phone(circle, shared):
    phone, work, home = shared
    work.focus(True)
    late = circle.away("late", onFocus="hold")
    late.register(token=phone.token)
    assert call(circle.relay, "GET", f"/v1/users/{late.user}/presence").json["isFocused"] is True
    circle.send("Late")
    circle.pass_due()
    assert late.user not in [user for user, _ in recipients(phone)]


def test_the_permissions_of_one_registration_count_for_both(circle, shared):
    phone, work, home = shared
    work.register(token=phone.token, settings={"alerts": False})
    assert home.ask("GET", "devices/phone").json["settings"] == {"alerts": False, "timeSensitive": True}
    circle.send("Silent")
    circle.pass_due()
    assert phone.notifications() == []


def test_a_token_has_a_limited_number_of_users(circle, names):
    (token,) = names("phone")
    users = names(*(f"user-{number}" for number in range(MAX_ACCOUNTS + 1)))

    def register(user):
        phone = {"platform": "simulator", "token": token}
        return call(circle.relay, "PUT", f"/v1/users/{user}/devices/phone", phone).json

    for user in users[:-1]:
        assert "warnings" not in register(user)
    (warning,) = register(users[-1])["warnings"]
    assert (warning["code"], warning["at"]) == ("account_ended", "/token") and warning["message"]
    status = [call(circle.relay, "GET", f"/v1/users/{user}/devices/phone").status for user in users]
    assert status == [404] + [200] * MAX_ACCOUNTS


# Sign-out


@pytest.fixture(scope="module")
def guarded(secret, api_keys, backend, tmp_path_factory):
    options = ("--api-keys-file", api_keys, "--simulated-phones", "true", "--presence-grace", "0")
    with running(tmp_path_factory.mktemp("guarded"), *options, secret=secret) as relay:
        yield relay


def restrict(relay, backend, user, body):
    assert call(relay, "PUT", f"/v1/users/{user}/access", body, token=backend).status == 200


@pytest.mark.parametrize("state", ["valid", "expired", "revoked", "suspended", "none"])
def test_a_sign_out_works_in_each_state_of_the_token(guarded, backend, names, state):
    old, new, ann, room, phone = names("old", "new", "ann", "room", "phone")

    def sign(user, **more):
        return guarded.token(user, **more)

    for user in old, new, ann:
        assert call(guarded, "PUT", f"/v1/rooms/{room}/members/{user}", token=backend).status in (200, 201)

    def register(user):
        body = {"platform": "simulator", "token": phone}
        answer = call(guarded, "PUT", f"/v1/users/{user}/devices/phone", body, token=sign(user))
        assert answer.status == 200, answer
        return answer.json["reportKey"]

    def post(text):
        body = {"from": ann, "body": {"text": text}}
        assert call(guarded, "POST", f"/v1/rooms/{room}/messages", body, token=backend).status == 201

    def shown():
        answer = call(guarded, "GET", f"/v1/simulator/devices/{phone}", token=backend)
        pushed = [one["payload"] for one in answer.json["notifications"]] if answer.status == 200 else []
        return {(payload["communication"]["recipient"], payload["aps"]["alert"]["body"]) for payload in pushed}

    key, other = register(old), register(new)
    post("before")
    eventually(lambda: shown() == {(old, "before"), (new, "before")})
    path = f"/v1/users/{old}/devices/phone"
    token = sign(old, iat=1_000_000_000, exp=1_000_000_001) if state == "expired" else sign(old, iat=1_000_000_000)
    if state == "revoked":
        restrict(guarded, backend, old, {"notBefore": 1_000_000_001_000})
    if state == "suspended":
        restrict(guarded, backend, old, {"suspended": True})
    if state in ("expired", "revoked", "suspended"):
        refused = call(guarded, "DELETE", path, token=token)
        assert refused.status == (403 if state == "suspended" else 401), refused
    # The key forgets no other device, and no device of another account.
    for user, device in (old, "tablet"), (new, "phone"):
        assert call(guarded, "DELETE", f"/v1/users/{user}/devices/{device}", token=key).status == 403
    assert call(guarded, "DELETE", path, token=token if state == "valid" else key).status == 204
    # The key ends with its device.
    assert call(guarded, "DELETE", path, token=key).status == 401
    if state == "suspended":
        restrict(guarded, backend, old, {})
    post("after")
    eventually(lambda: (new, "after") in shown())
    pushes = call(guarded, "GET", f"/v1/pushes?user={old}", token=backend).json["pushes"]
    assert [push["state"] for push in pushes if push["state"] != "sent"] == []
    assert (old, "after") not in shown()
    assert call(guarded, "PUT", "/v1/users/me/focus", {"isFocused": True}, token=other).status == 200
