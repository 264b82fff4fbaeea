# SPDX-License-Identifier: Apache-2.0
"""The scopes and rates of API keys, and their reload."""

import pytest

from api import call
from metrics import Metrics
from relay import api_key, checked, run
from streams import follow
from waiting import eventually

SCOPES = [
    {
        "scope": "bot",
        "operations": ["read", "sendMessage"],
        "rooms": ["support.*"],
        "users": ["bot-*"],
    },
    {"scope": "slow", "rate": 0.01, "burst": 2},
    {"scope": "team", "operations": ["followPresence", "reportFocus"], "users": ["in-*"]},
    {"scope": "phones", "operations": ["followLockScreen"]},
]


class Keys:
    """A relay with a configuration file, and API keys with scopes."""

    def __init__(self, start, secret, folder):
        self._folder, self._file = folder, folder / "keys"
        for scope in SCOPES:
            setattr(self, scope["scope"], api_key(self._file, scope["scope"], "--scope", scope["scope"]))
        self.all = api_key(self._file, "all")
        self.relay = start("--api-keys-file", self._file, secret=secret, configuration={"apiKeyScopes": SCOPES})

    def add(self, name, scope):
        return api_key(self._file, name, "--scope", scope)

    def revoke(self, name):
        assert run("api-key", name, "--file", self._file, "--revoke").returncode == 0

    def reload(self, scopes=None):
        """Returns the new lines of the log."""
        return self.relay.reload(None if scopes is None else {"apiKeyScopes": scopes})

    def check(self, scopes):
        return checked(self._folder, {"apiKeyScopes": scopes}, "--api-keys-file", self._file)

    def call(self, key, method, path, body=None):
        return call(self.relay, method, path, body, token=key)


@pytest.fixture
def keys(start, secret, tmp_path):
    return Keys(start, secret, tmp_path)


def outside(answer):
    """Returns the position and the text of the refusal."""
    assert (answer.status, answer.problem["code"]) == (403, "forbidden"), answer
    return answer.problem.get("at"), answer.problem["detail"]


def users(stream, last):
    """Reads a stream of presence up to a change of a user, and returns all users that have changed."""
    return {entry["user"] for entry in stream.changes(lambda entry: entry["user"] == last)}


def end(stream):
    """Reads a stream of presence up to its end, and returns the content of the last event."""
    while (event := stream.next())[0] == "presence":
        pass
    assert event[0] == "end", event
    return event[1]


def add(keys, room, user):
    assert keys.call(keys.all, "PUT", f"/v1/rooms/{room}/members/{user}").status in (200, 201)


def test_a_key_may_do_what_its_scope_contains_and_nothing_else(keys):
    add(keys, "support.1", "bot-1")
    add(keys, "tea", "bot-1")
    message = {"from": "bot-1", "body": "hello"}
    sent = keys.call(keys.bot, "POST", "/v1/rooms/support.1/messages", message)
    assert sent.status == 201
    assert keys.call(keys.bot, "GET", "/v1/rooms/support.1/messages").json["messages"][0]["body"] == "hello"
    assert outside(keys.call(keys.bot, "DELETE", "/v1/rooms/support.1/messages/1")) == (
        None,
        "the operation deleteMessage is outside of the scope bot of the API key bot",
    )
    room = "the room is outside of the scope bot of the API key bot"
    user = "the user is outside of the scope bot of the API key bot"
    assert outside(keys.call(keys.bot, "POST", "/v1/rooms/tea/messages", message)) == ("/path/room", room)
    assert outside(keys.call(keys.bot, "GET", "/v1/rooms/tea/messages")) == ("/path/room", room)
    other = keys.call(keys.bot, "POST", "/v1/rooms/support.1/messages", message | {"from": "ann"})
    assert outside(other) == ("/from", user)
    presence = {"users": ["bot-1", "ann"]}
    assert outside(keys.call(keys.bot, "POST", "/v1/presence", presence)) == ("/users/1", user)
    assert keys.call(keys.bot, "POST", "/v1/presence", {"users": ["bot-1"]}).status == 200
    # Operations that concern all rooms of a user, or all users.
    assert "concerns all rooms" in outside(keys.call(keys.bot, "GET", "/v1/users/bot-1/export"))[1]
    assert "concerns all rooms" in outside(keys.call(keys.bot, "GET", "/v1/pushes?user=bot-1"))[1]
    # The other key is plain.
    assert keys.call(keys.all, "DELETE", "/v1/rooms/tea/messages/9").status == 204
    assert keys.call(keys.all, "GET", "/v1/pushes").status == 200


def test_a_push_and_its_notification_belong_to_a_user_and_a_room(keys):
    for room in ("support.1", "tea"):
        for user in ("bot-1", "bot-2", "ann"):
            add(keys, room, user)
    for user in ("bot-2", "ann"):
        device = {"platform": "simulator", "token": f"{user}-phone"}
        assert keys.call(keys.all, "PUT", f"/v1/users/{user}/devices/phone", device).status == 200
    for room in ("support.1", "tea"):
        sent = keys.call(keys.all, "POST", f"/v1/rooms/{room}/messages", {"from": "bot-1", "body": "hello"})
        assert sent.status == 201

    def pushes():
        found = keys.call(keys.all, "GET", "/v1/pushes").json["pushes"]
        return {(push["user"], push["room"]): push["id"] for push in found}

    eventually(lambda: len(pushes()) == 4)
    ids = pushes()
    keys.reload([SCOPES[0] | {"operations": ["read", "write"]}, *SCOPES[1:]])
    assert keys.call(keys.bot, "GET", f"/v1/pushes/{ids['bot-2', 'support.1']}").status == 200
    assert keys.call(keys.bot, "POST", f"/v1/pushes/{ids['bot-2', 'support.1']}/retry").status == 409
    for user, room, what in [("ann", "support.1", "user"), ("bot-2", "tea", "room")]:
        path = f"/v1/pushes/{ids[user, room]}"
        for answer in (keys.call(keys.bot, "GET", path), keys.call(keys.bot, "POST", f"{path}/retry")):
            assert outside(answer) == ("/path/id", f"the {what} is outside of the scope bot of the API key bot")
    answer = keys.call(
        keys.bot, "POST", f"/v1/notifications/{ids['bot-2', 'tea']}/responses", {"user": "bot-2", "action": "open"}
    )
    assert outside(answer) == ("/path/id", "the room is outside of the scope bot of the API key bot")


def test_a_notification_without_a_room_belongs_to_its_user_alone(keys):
    keys.reload([SCOPES[0] | {"operations": ["read", "write"]}, *SCOPES[1:]])
    ids = {}
    for user, key in [("bot-2", keys.bot), ("ann", keys.all)]:
        device = {"platform": "simulator", "token": f"{user}-phone"}
        assert keys.call(key, "PUT", f"/v1/users/{user}/devices/phone", device).status == 200
        body = {"from": "bot-1", "push": {"title": "Shipped"}}
        sent = keys.call(key, "POST", f"/v1/users/{user}/notifications", body)
        assert sent.status == 201
        ids[user] = sent.json["devices"][0]["push"]
    response = {"user": "bot-2", "action": "com.apple.UNNotificationDefaultActionIdentifier"}
    answer = keys.call(keys.bot, "POST", f"/v1/notifications/{ids['bot-2']}/responses", response)
    assert answer.status == 201
    assert keys.call(keys.bot, "GET", f"/v1/pushes/{ids['bot-2']}").status == 200
    answer = keys.call(keys.bot, "POST", f"/v1/notifications/{ids['ann']}/responses", {"user": "ann", "action": "open"})
    assert outside(answer) == ("/user", "the user is outside of the scope bot of the API key bot")
    assert outside(keys.call(keys.bot, "GET", f"/v1/pushes/{ids['ann']}"))[0] == "/path/id"


def test_a_rate_belongs_to_one_key_and_a_refusal_has_the_time_of_the_next_request(keys):
    for _ in range(2):
        assert keys.call(keys.slow, "GET", "/v1/categories").status == 200
    answer = keys.call(keys.slow, "GET", "/v1/categories")
    assert (answer.status, answer.problem["code"]) == (429, "rate_limited")
    assert 0 < int(answer.headers["Retry-After"]) <= 100
    assert "slow" in answer.problem["detail"]
    assert keys.call(keys.slow, "GET", "/metrics").status == 429
    # Another key with the same scope, and one without.
    other = keys.add("slow-too", "slow")
    keys.reload()
    assert keys.call(other, "GET", "/v1/categories").status == 200
    assert keys.call(keys.all, "GET", "/v1/categories").status == 200
    # A reload does not give a key new requests.
    assert keys.call(keys.slow, "GET", "/v1/categories").status == 429


def test_the_metrics_count_the_requests_of_each_key(keys):
    add(keys, "tea", "ann")
    assert keys.call(keys.bot, "GET", "/v1/rooms/tea").status == 403
    for status in (200, 200, 429):
        assert keys.call(keys.slow, "GET", "/v1/categories").status == status
    answer = keys.call(keys.all, "GET", "/metrics")
    found = Metrics(answer.body.decode())
    assert found["stillwire_api_key_requests_total{bot}"] == 1
    assert found["stillwire_api_key_requests_total{slow}"] == 3
    assert found["stillwire_api_key_requests_total{all}"] == 2
    assert found["stillwire_api_key_requests_total{team}"] == 0
    assert found["stillwire_api_key_out_of_scope_total{bot}"] == 1
    assert found["stillwire_api_key_rate_limited_total{slow}"] == 1
    # The metrics are an operation, too.
    assert outside(keys.call(keys.team, "GET", "/metrics"))[1].startswith("the operation readMetrics is outside")
    assert "store" not in keys.call(keys.team, "GET", "/ready").json
    assert "store" in keys.call(keys.all, "GET", "/ready").json
    keys.revoke("slow")
    keys.reload()
    assert "{slow}" not in keys.call(keys.all, "GET", "/metrics").body.decode()


def test_a_stream_of_presence_has_the_users_of_the_scope(keys):
    assert outside(keys.call(keys.team, "GET", "/v1/presence/events?users=in-1,ann"))[0] == "/query/users"
    with follow(keys.relay, key=keys.team) as stream, follow(keys.relay, "?users=*1", key=keys.all) as everything:
        assert stream.next() == ("reset", {"reason": "new"})
        assert everything.next() == ("reset", {"reason": "new"})
        for user in ("out-1", "in-1"):
            assert keys.call(keys.all, "PUT", f"/v1/users/{user}/focus", {"isFocused": True}).status == 200
        assert users(everything, "in-1") == {"out-1", "in-1"}
        assert users(stream, "in-1") == {"in-1"}


def test_a_reload_ends_the_streams_of_keys_with_other_rights(keys):
    with follow(keys.relay, key=keys.team) as narrow, follow(keys.relay, key=keys.all) as plain:
        narrow.next()
        plain.next()
        keys.reload([*SCOPES[:2], SCOPES[2] | {"users": ["out-*"], "rate": 1000}, SCOPES[3]])
        assert end(narrow) == {"reason": "key_changed"}
        with pytest.raises(EOFError):
            narrow.next()
        # The client continues with the new rights.
        with follow(keys.relay, key=keys.team, after=narrow.id) as narrow:
            assert narrow.next()[0] == "resumed"
            for user in ("in-1", "out-1"):
                assert keys.call(keys.all, "PUT", f"/v1/users/{user}/focus", {"isFocused": True}).status == 200
            assert users(narrow, "out-1") == {"out-1"}
            # A stream of a key with the same rights continues, also if the rate has changed.
            keys.reload([*SCOPES[:2], SCOPES[2] | {"users": ["out-*"], "rate": 999}, SCOPES[3]])
            assert keys.call(keys.all, "PUT", "/v1/users/out-2/focus", {"isFocused": True}).status == 200
            assert users(narrow, "out-2") <= {"out-1", "out-2"}
            assert users(plain, "out-2") == {"in-1", "out-1", "out-2"}
        keys.revoke("all")
        keys.reload()
        assert end(plain) == {"reason": "key_changed"}
    assert keys.call(keys.all, "GET", "/v1/presence/events").status == 401


def test_a_reload_ends_the_stream_of_a_simulated_phone(keys):
    path = "/v1/simulator/devices/phone/events"
    assert keys.call(keys.bot, "GET", path).status == 403
    with follow(keys.relay, key=keys.phones, path=path) as stream:
        keys.revoke("phones")
        keys.reload()
        with pytest.raises(EOFError):
            stream.next()


def test_a_reload_changes_the_operations_at_once(keys):
    add(keys, "support.1", "bot-1")
    assert keys.call(keys.bot, "GET", "/v1/rooms/support.1/messages").status == 200
    keys.reload([SCOPES[0] | {"operations": ["write"]}, *SCOPES[1:]])
    assert keys.call(keys.bot, "GET", "/v1/rooms/support.1/messages").status == 403
    assert keys.call(keys.bot, "DELETE", "/v1/rooms/support.1/messages/1").status == 204


def test_a_wrong_scope_is_an_error_at_the_start_and_changes_nothing_at_a_reload(keys):
    assert keys.check(SCOPES).returncode == 0
    wrong = [SCOPES[0] | {"operations": ["sendMesage"]}, *SCOPES[1:]]
    said = keys.check(wrong)
    assert said.returncode == 1
    assert "/apiKeyScopes/0/operations/0: operations/0 is not an operation; did you mean sendMessage?" in said.stderr
    assert "not changed" in keys.reload(wrong)
    # The scopes of three keys are gone.
    said = keys.check(SCOPES[:1])
    assert said.returncode == 1
    assert "line 2 of" in said.stderr and "apiKeyScopes has no scope slow" in said.stderr
    assert "not changed" in keys.reload(SCOPES[:1])
    assert keys.call(keys.bot, "GET", "/v1/rooms/tea").status == 403


def test_a_log_has_the_name_of_a_key_and_neither_the_key_nor_a_user(start, secret, tmp_path):
    keys = Keys(lambda *options, **more: start(*options, "--log-level", "debug", **more), secret, tmp_path)
    body = {"from": "secretive", "body": "secret words"}
    assert keys.call(keys.bot, "POST", "/v1/rooms/support.1/messages", body).status == 403
    eventually(lambda: "scope bot of the API key bot" in keys.relay.log.read_text())
    log = keys.relay.log.read_text()
    assert keys.bot not in log and "secretive" not in log and "secret words" not in log


def test_scopes_need_a_file_of_keys(tmp_path):
    said = checked(tmp_path, {"apiKeyScopes": SCOPES})
    assert said.returncode == 1
    assert "apiKeyScopes needs apiKeysFile" in said.stderr


def test_a_scope_belongs_to_a_new_key(tmp_path):
    file = tmp_path / "keys"
    assert run("api-key", "a", "--file", file, "--scope", "b c").returncode == 1
    assert run("api-key", "a", "--file", file, "--scope", "b").returncode == 0
    assert file.read_text().split()[2] == "b"
    assert run("api-key", "a", "--file", file, "--scope", "b", "--revoke").returncode != 0
