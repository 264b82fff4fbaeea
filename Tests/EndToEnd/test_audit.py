# SPDX-License-Identifier: Apache-2.0
"""The audit log of the backends' actions: its entries, pages, bounds, erasures, and the end of the process."""

import json
import time

import pytest

from api import call
from database import rows, value
from metrics import Metrics
from relay import api_key
from waiting import eventually

SCOPES = [
    {"scope": "bot", "operations": ["read", "sendMessage"], "rooms": ["support.*"], "users": ["bot-*"]},
    {"scope": "auditor", "operations": ["listAuditEntries"]},
    {"scope": "tenant", "operations": ["read", "listAuditEntries"], "users": ["bot-*"]},
    {"scope": "writer", "operations": ["write"]},
]
MESSAGE_TEXT = "words-of-a-message"


class Backends:
    """A relay with a configuration file and several API keys: `all` has all rights, and the others a scope."""

    def __init__(self, start, secret, folder, *options, **configuration):
        file, scopes = folder / "keys", [scope["scope"] for scope in SCOPES]
        self.keys = {"all": api_key(file, "all")} | {name: api_key(file, name, "--scope", name) for name in scopes}
        configuration = {"apiKeyScopes": SCOPES, **configuration}
        self.relay = start("--api-keys-file", file, *options, secret=secret, configuration=configuration)

    def reload(self, **configuration):
        assert "read again" in self.relay.reload({"apiKeyScopes": SCOPES, **configuration})

    def call(self, method, path, body=None, key="all", **more):
        return call(self.relay, method, path, body, token=self.keys[key], **more)

    def done(self, *arguments, **more):
        answer = self.call(*arguments, **more)
        assert 200 <= answer.status < 300, answer
        return answer

    def page(self, query="", key="auditor"):
        return self.done("GET", f"/v1/audit{query}", key=key).json

    def entries(self, query=""):
        return self.page(query)["entries"]

    def operations(self, query=""):
        return [entry["operation"] for entry in self.entries(query)]

    def add(self, room, user, **more):
        return self.done("PUT", f"/v1/rooms/{room}/members/{user}", **more)


@pytest.fixture
def backends(start, secret, tmp_path):
    return Backends(start, secret, tmp_path)


def test_a_change_has_an_entry_when_it_is_answered(backends):
    before = int(time.time() * 1000) - 1
    backends.add("tea", "ann", headers={"Idempotency-Key": "order-17"})
    [entry] = backends.entries()
    assert before <= entry.pop("time") <= int(time.time() * 1000) + 1
    assert entry == {
        "entry": 1,
        "key": "all",
        "operation": "addMember",
        "result": "ok",
        "room": "tea",
        "users": ["ann"],
        "idempotencyKey": "order-17",
        "address": "127.0.0.1",
    }
    message = {"from": "ann", "body": MESSAGE_TEXT}
    backends.done("POST", "/v1/rooms/tea/messages", message)
    backends.done("GET", "/v1/rooms/tea/members")
    backends.done("DELETE", "/v1/rooms/tea/messages/1")
    made = backends.done("POST", "/v1/rooms", {"owner": "ann", "members": ["eve", "bob"], "title": MESSAGE_TEXT}).json
    [created, deleted, _] = backends.entries()
    assert (deleted["operation"], deleted["target"], deleted["room"]) == ("deleteMessage", "1", "tea")
    assert "users" not in deleted
    assert (created["room"], created["users"]) == (made["room"], ["ann", "bob", "eve"])
    backends.done("GET", "/v1/users/ann/export")
    eventually(lambda: backends.operations()[0] == "exportUser")
    assert backends.entries()[0]["users"] == ["ann"]
    # No entry has the text of a message or a title.
    assert not any(MESSAGE_TEXT in str(row) for row in rows(backends.relay, "SELECT * FROM audit"))


def test_a_refused_request_has_an_entry_with_its_code(backends):
    assert backends.call("PUT", "/v1/rooms/tea/members/ann", key="bot").status == 403
    assert backends.call("GET", "/v1/rooms/tea/messages", key="bot").status == 403
    assert backends.call("GET", "/v1/presence/events", key="writer").status == 403
    assert backends.call("PUT", "/v1/rooms/tea/roles", {"user": "ann", "role": "owner"}).status >= 400
    # Not recorded: an unknown key, and a message with a wrong field.
    assert call(backends.relay, "PUT", "/v1/rooms/tea/members/ann", token="sw_unknown").status == 401
    assert backends.call("POST", "/v1/rooms/tea/messages", {"from": "ann"}).status >= 400
    found = eventually(lambda: len(found := backends.entries("?after=0")) >= 4 and found)
    assert [(entry["key"], entry["operation"], entry["result"]) for entry in found[:3]] == [
        ("bot", "addMember", "forbidden"),
        ("bot", "listMessages", "forbidden"),
        ("writer", "followPresence", "forbidden"),
    ]
    assert (found[3]["operation"], found[3]["users"]) == ("setRole", ["ann"]) and found[3]["result"] != "ok"
    assert len(found) == 4
    assert (found[0]["room"], found[0]["users"]) == ("tea", ["ann"])


def test_too_many_refused_requests_do_not_fill_the_log(backends):
    def refuse():
        assert backends.call("PUT", "/v1/rooms/tea/members/ann", key="bot").status == 403

    def counts():
        found = Metrics(backends.done("GET", "/metrics").body.decode())
        return [int(found[f"stillwire_audit_entries_total{{{outcome}}}"]) for outcome in ("stored", "skipped", "lost")]

    while counts()[1] == 0:
        for _ in range(20):
            refuse()
    # Another entry of the key is possible after a second. It has the number of the requests without an entry.
    eventually(lambda: refuse() or any("skipped" in entry for entry in backends.entries("?key=bot&limit=1000")))
    eventually(lambda: counts()[0] >= 60)
    assert counts()[2] == 0


def test_filters_and_pages_in_both_directions(backends):
    for user in ("ann", "bob", "eve"):
        backends.add("tea", user)
        backends.add("jam", user, key="writer")
    backends.done("DELETE", "/v1/rooms/tea/members/eve")
    everything = [entry["entry"] for entry in backends.entries()]
    assert everything == sorted(everything, reverse=True) and len(everything) == 7
    for query, count in [
        ("key=writer", 3), ("operation=addMember", 6), ("room=tea", 4), ("user=eve", 3), ("user=nobody", 0),
        ("key=all&operation=addMember&user=eve", 1),
    ]:  # fmt: skip
        assert len(backends.entries(f"?{query}")) == count, query
        assert len(backends.entries(f"?{query}&after=0")) == count, query

    def walk(word, begin):
        found, position = [], begin
        while True:
            page = backends.page(f"?limit=3&{word}={position}")
            found += [entry["entry"] for entry in page["entries"]]
            assert page["more"] == ("next" in page) and len(page["entries"]) <= 3
            if not page["more"]:
                return found
            position = page["next"]

    assert walk("before", 2**53 - 1) == everything
    assert walk("after", 0) == everything[::-1]
    # A collector continues after the newest entry that it has.
    newest = everything[0]
    assert backends.entries(f"?after={newest}") == []
    backends.add("tea", "zoe")
    assert [entry["entry"] for entry in backends.entries(f"?after={newest}")] == [newest + 1]
    for query in ("limit=0", "limit=1001", "before=1&after=1", "operation=nothing", "user=a%20b"):
        assert backends.call("GET", f"/v1/audit?{query}").status == 422, query


def test_only_keys_with_the_right_read_the_log(backends):
    assert backends.call("GET", "/v1/audit", key="writer").status == 403
    # `read` does not permit the log: a scope must name the operation.
    for query in ("", "?room=support.1&user=bot-1"):
        assert backends.call("GET", f"/v1/audit{query}", key="bot").status == 403
    assert backends.call("GET", "/v1/audit?room=tea", key="tenant").status == 403
    assert backends.call("GET", "/v1/audit?user=ann", key="tenant").status == 403
    # The relay stores the entry of a refusal after the answer. The only entry about `bot-1` is that of the key `bot`.
    assert eventually(lambda: [entry["key"] for entry in backends.page("?user=bot-1", key="tenant")["entries"]]) == ["bot"]
    assert backends.call("PUT", "/v1/rooms/tea/members/ann", key="auditor").status == 403
    token = backends.relay.token("ann")
    assert call(backends.relay, "GET", "/v1/audit", token=token).status == 403
    assert call(backends.relay, "GET", "/v1/audit").status == 401


def test_a_key_with_users_sees_no_other_users(backends):
    group = {"room": "tea", "owner": "bot-1", "members": ["ann"]}
    backends.done("POST", "/v1/rooms", group, headers={"Idempotency-Key": "tea-of-ann"})
    for key, users, idempotency_key in (("all", ["ann", "bot-1"], "tea-of-ann"), ("tenant", ["bot-1"], None)):
        [entry] = backends.done("GET", "/v1/audit?user=bot-1", key=key).json["entries"]
        found = entry["operation"], entry["users"], entry.get("idempotencyKey")
        assert found == ("createRoom", users, idempotency_key)


def test_a_relay_in_open_mode_records_nothing(start):
    relay = start()
    assert call(relay, "PUT", "/v1/rooms/tea/members/ann").status == 201
    assert call(relay, "GET", "/v1/audit").json == {"entries": [], "more": False}


def test_the_address_is_that_of_the_client_behind_a_proxy(start, secret, tmp_path):
    backends = Backends(start, secret, tmp_path, "--trusted-proxies", "127.0.0.0/8")
    for address in ("203.0.113.7", "2001:db8::7"):
        backends.add("tea", "ann", headers={"X-Forwarded-For": address})
        assert backends.entries()[0]["address"] == address


def test_the_configuration_names_the_recorded_operations(backends):
    backends.add("tea", "ann")
    backends.reload(audit={"operations": ["sendMessage", "read"]})
    backends.add("tea", "bob")
    backends.done("POST", "/v1/rooms/tea/messages", {"from": "ann", "body": MESSAGE_TEXT})
    backends.done("GET", "/v1/rooms/tea/members")
    eventually(lambda: {"sendMessage", "listMembers"} <= set(backends.operations()))
    assert backends.operations("?after=0")[:3] == ["addMember", "sendMessage", "listMembers"]
    # With 0 the relay records nothing, and deletes the entries.
    backends.reload(audit={"entries": 0, "retention": 3600})
    backends.add("tea", "eve")
    assert "addMember" not in backends.operations("?after=1")


def test_a_new_entry_replaces_the_oldest_above_the_maximum(start, secret, tmp_path):
    backends = Backends(start, secret, tmp_path, audit={"entries": 3})
    for number in range(6):
        backends.add("tea", f"user-{number}")
    assert [entry["entry"] for entry in backends.entries()] == [6, 5, 4]
    assert value(backends.relay, "SELECT count(*) FROM audit_users") == 3


def test_an_entry_is_deleted_after_its_retention(start, secret, tmp_path):
    backends = Backends(start, secret, tmp_path, audit={"retention": 1})
    backends.add("tea", "ann")
    eventually(lambda: backends.entries() == [])
    assert value(backends.relay, "SELECT count(*) FROM audit_users") == 0
    # A later entry has a new number.
    backends.add("tea", "bob")
    assert value(backends.relay, "SELECT seq FROM sqlite_sequence WHERE name = 'audit'") == 2


def test_entries_survive_a_kill_and_a_stop(backends):
    for end, user in ((backends.relay.kill, "ann"), (backends.relay.stop, "bob")):
        backends.add("tea", user)
        assert end() in (None, 0)
        backends.relay.start()
    assert [entry["users"] for entry in backends.entries()] == [["bob"], ["ann"]]
    assert backends.call("PUT", "/v1/rooms/tea/members/ann", key="bot").status == 403
    # A stop stores the entries that no answer waits for.
    assert backends.relay.stop() == 0
    backends.relay.start()
    assert backends.entries()[0]["result"] == "forbidden"


def test_an_entry_that_a_full_disk_refuses_is_stored_later(backends):
    backends.add("tea", "ann")
    backends.relay.limit_file_size(4096)
    assert backends.call("PUT", "/v1/rooms/tea/members/bob").status == 503
    backends.relay.limit_file_size(None)
    found = eventually(lambda: len(found := backends.entries()) == 2 and found)
    assert (found[0]["result"], found[0]["users"]) == ("unavailable", ["bob"])


def test_an_erasure_leaves_a_pseudonym(backends):
    backends.add("tea", "zoe-secretive", headers={"Idempotency-Key": "zoe-secretive-1"})
    backends.add("tea", "bob", headers={"Idempotency-Key": "bob-1"})
    path = "/v1/users/zoe-secretive"
    backends.done("PUT", f"{path}/access", {"suspended": True})
    backends.done("GET", f"{path}/export")
    begun = backends.done("DELETE", f"{path}?messages=delete", headers={"Idempotency-Key": "zoe-secretive-2"}).json
    erasure = f"/v1/erasures/{begun['erasure']}"
    eventually(lambda: backends.done("GET", erasure).json["state"] == "done")
    found = {entry["operation"]: entry for entry in backends.entries() if entry["users"] != ["bob"]}
    assert set(found) == {"addMember", "setAccess", "exportUser", "eraseUser"}
    [pseudonym] = {user for entry in found.values() for user in entry["users"]}
    assert pseudonym.startswith("erased-")
    assert [entry for entry in backends.entries(f"?user={pseudonym}") if "idempotencyKey" in entry] == []
    assert backends.entries("?user=bob")[0]["idempotencyKey"] == "bob-1"
    assert backends.entries("?user=zoe-secretive") == []
    files = [file for file in backends.relay.data.rglob("*") if file.is_file()] + [backends.relay.log]
    assert any(file.name.endswith("-wal") for file in files)
    assert [file.name for file in files if b"zoe-secretive" in file.read_bytes()] == []


def test_an_export_has_the_actions_about_the_user(backends):
    backends.add("tea", "ann")
    backends.done("PUT", "/v1/users/eve/access", {"suspended": True})
    for user, expected in (("ann", [("addMember", "tea")]), ("eve", [("setAccess", None)])):
        lines = backends.done("GET", f"/v1/users/{user}/export").body.decode().splitlines()
        found = [line for line in map(json.loads, lines) if line["type"] == "audit"]
        assert [(line["operation"], line.get("room")) for line in found] == expected
        # These are facts about the backend.
        assert all("key" not in line and "address" not in line for line in found)
