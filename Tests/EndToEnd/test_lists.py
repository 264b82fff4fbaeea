# SPDX-License-Identifier: Apache-2.0
"""The lists of an operator: all rooms, users and sessions, their pages, the scopes of keys, and the commands."""

import json
import sqlite3
from contextlib import closing

import pytest

from api import call
from relay import api_key, run
from waiting import eventually


def page(relay, list, query="", **more):
    answer = call(relay, "GET", f"/v1/{list}{query}", **more)
    assert answer.status == 200, answer
    return answer.json


def pages(relay, list, key, limit, query=""):
    """Reads all pages of a list. Yields the entries of each page."""
    after = ""
    while True:
        found = page(relay, list, f"?limit={limit}{query}{after}")
        yield found[list]
        if not found["more"]:
            return
        assert len(found[list]) == limit
        after = f"&after={found[list][-1][key]}"


def names(entries, key):
    return [entry[key] for entry in entries]


# Sessions


def test_all_sessions_come_in_pages(start, connect):
    relay = start()
    wanted = {connect(relay, f"user{number}").welcome["session"] for number in range(7)}
    for limit in 1, 3, 7:
        found = [entry["session"] for part in pages(relay, "sessions", "session", limit) for entry in part]
        assert len(found) == 7 and set(found) == wanted


def test_sessions_that_come_and_go_do_not_move_the_others(start, connect):
    relay = start()
    sessions = [connect(relay, f"user{number}") for number in range(6)]
    order = names(page(relay, "sessions")["sessions"], "session")
    by_id = {session.welcome["session"]: session for session in sessions}
    assert set(order) == set(by_id)
    first = page(relay, "sessions", "?limit=2")
    by_id[order[0]].close()
    by_id[order[1]].close()
    by_id[order[3]].close()
    new = {connect(relay, "new").welcome["session"] for _ in range(2)}
    rest = names(page(relay, "sessions", f"?after={first['sessions'][-1]['session']}")["sessions"], "session")
    assert [session for session in rest if session not in new] == [order[2], order[4], order[5]]


def test_an_entry_of_a_session_has_the_user_and_the_list_has_filters(start, connect):
    relay = start()
    ann, bob = connect(relay, "ann", device="phone"), connect(relay, "bob", activity="idle")
    ann.join("tea")
    (entry,) = page(relay, "sessions", "?prefix=an")["sessions"]
    assert (entry["user"], entry["device"], entry["rooms"]) == ("ann", "phone", 1)
    assert names(page(relay, "sessions", "?room=tea")["sessions"], "user") == ["ann"]
    assert names(page(relay, "sessions", "?prefix=b")["sessions"], "activity") == ["idle"]
    for query in "?room=none", "?prefix=x", "?prefix=b&room=tea":
        assert page(relay, "sessions", query) == {"sessions": [], "more": False}
    bob.close()
    assert names(page(relay, "sessions")["sessions"], "user") == ["ann"]


# Users


def test_users_are_listed_by_name_and_those_online_by_state(start, connect):
    relay = start("--presence-grace", "0")
    eve, ann = connect(relay, "eve"), connect(relay, "ann")
    connect(relay, "ann")
    for user in "bob", "ann.2":
        assert call(relay, "PUT", f"/v1/rooms/tea/members/{user}").status == 201
    body = {"platform": "simulator", "token": "t", "locale": "de"}
    assert call(relay, "PUT", "/v1/users/bob/devices/phone", body).status == 200
    assert call(relay, "PUT", "/v1/users/bob/access", {"suspended": True}).status == 200
    found = [entry for part in pages(relay, "users", "user", 1) for entry in part]
    assert names(found, "user") == ["ann", "ann.2", "bob", "eve"]
    assert found[0] == {"user": "ann", "online": True, "sessions": 2, "devices": 0}
    bob = {"user": "bob", "online": False, "sessions": 0, "devices": 1, "suspended": True}
    assert {name: found[2][name] for name in bob} == bob
    assert names(page(relay, "users", "?prefix=ann")["users"], "user") == ["ann", "ann.2"]
    eventually(lambda: names(page(relay, "users", "?online=true")["users"], "user") == ["eve", "ann"])
    assert names(page(relay, "users", "?online=true&limit=1&after=eve")["users"], "user") == ["ann"]
    eve.close()
    eventually(lambda: names(page(relay, "users", "?online=true")["users"], "user") == ["ann"])
    # The user has left the list, and it still goes on behind this user.
    assert names(page(relay, "users", "?online=true&after=eve")["users"], "user") == ["ann"]
    assert page(relay, "users", "?prefix=eve")["users"][0]["lastSeen"] > 0
    ann.close()


# Rooms


def test_stored_and_live_rooms_are_one_list(start, connect):
    relay = start()
    ann = connect(relay, "ann")
    rooms = ["live.a", "a", "live.b", "zoo", "live.c", "m"]
    for room in rooms:
        ann.join(room)
    ann.request("send", room="a", body=1)
    for limit in 1, 2, 4, 6:
        found = [entry for part in pages(relay, "rooms", "room", limit) for entry in part]
        assert names(found, "room") == sorted(rooms)
        assert names(found, "stored") == [not room.startswith("live.") for room in sorted(rooms)]
    assert found[0] == {"room": "a", "kind": "group", "seq": 1, "members": 1, "sessions": 1, "stored": True}
    assert names(page(relay, "rooms", "?prefix=live.")["rooms"], "room") == ["live.a", "live.b", "live.c"]
    ann.request("leave", room="live.b")
    eventually(lambda: names(page(relay, "rooms", "?prefix=live.")["rooms"], "room") == ["live.a", "live.c"])
    assert names(page(relay, "rooms", "?prefix=live.&after=live.b")["rooms"], "room") == ["live.c"]


def test_the_recent_rooms_have_the_newest_messages(start, connect):
    relay = start()
    ann = connect(relay, "ann")
    for room in "a", "b", "c", "live.d":
        ann.join(room)
    for room in "c", "a", "live.d", "c":
        ann.request("send", room=room, body=1)
    found = page(relay, "rooms", "?recent=true")
    assert names(found["rooms"], "room") == ["c", "a", "b"] and found["more"] is False
    assert names(found["rooms"], "seq") == [2, 1, 0]
    assert names(page(relay, "rooms", "?recent=true&limit=1")["rooms"], "room") == ["c"]


def test_the_rooms_of_notifications_are_not_in_the_list(start):
    relay = start()
    body = {"platform": "simulator", "token": "t", "locale": "de"}
    assert call(relay, "PUT", "/v1/users/bob/devices/phone", body).status == 200
    push = {"from": "shop", "push": {"title": "Shop", "body": "Tea"}}
    assert call(relay, "POST", "/v1/users/bob/notifications", push).status in (200, 201)
    assert page(relay, "rooms") == {"rooms": [], "more": False}
    assert "bob" in names(page(relay, "users")["users"], "user")


def test_ten_thousand_rooms_come_page_by_page_while_rooms_come_and_go(start, connect):
    relay = start()
    relay.stop()
    with closing(sqlite3.connect(relay.data / "stillwire.db")) as database, database:
        rooms = [(f"room{number:05}",) for number in range(10_000)]
        database.executemany("INSERT INTO rooms (name, epoch) VALUES (?, 'e')", rooms)
    relay.start()
    ann = connect(relay, "ann")
    found = []
    for number, part in enumerate(pages(relay, "rooms", "room", 100)):
        found += names(part, "room")
        if number % 10 == 0:
            ann.join(f"live.{number}")
            ann.join(f"room{number:05}.new")
            # The last room of the page no longer exists.
            assert call(relay, "DELETE", f"/v1/rooms/{found[-1]}").status in (200, 204)
    assert found == sorted(set(found))
    assert {f"room{number:05}" for number in range(10_000)} <= set(found)


# Errors


@pytest.mark.parametrize(
    "list, query, at",
    [
        ("rooms", "?limit=0", "limit"),
        ("rooms", "?prefix=%20", "prefix"),
        ("rooms", "?after=%2F", "after"),
        ("rooms", "?recent=true&after=a", "recent"),
        ("rooms", "?recent=true&prefix=a", "recent"),
        ("users", "?limit=101", "limit"),
        ("users", "?online=maybe", "online"),
        ("users", "?online=true&after=nobody-there", "after"),
        ("sessions", "?after=%21", "after"),
        ("sessions", "?after=zzzzzz", "after"),
        ("sessions", "?room=%20", "room"),
    ],
)
def test_a_wrong_query_is_refused_with_its_field(relay, list, query, at):
    answer = call(relay, "GET", f"/v1/{list}{query}")
    assert answer.status in (400, 422) and answer.problem["at"] == f"/query/{at}", answer


def test_a_position_of_an_earlier_run_is_refused(start, connect):
    relay = start()
    sessions = [connect(relay, f"user{number}") for number in range(3)]
    last = names(page(relay, "sessions")["sessions"], "session")[-1]
    for session in sessions:
        session.drop()
    relay.stop()
    relay.start()
    answer = call(relay, "GET", f"/v1/sessions?after={last}")
    assert answer.status == 422 and "begin with the first page" in answer.problem["detail"], answer


def test_the_lists_need_their_operation(start, secret, tmp_path):
    file = tmp_path / "keys"
    scopes = [
        {"scope": "operator", "operations": ["lists"]},
        {"scope": "reader", "operations": ["read"]},
        {"scope": "bot", "operations": ["sendMessage"]},
        {"scope": "support", "operations": ["lists"], "rooms": ["support.*"]},
    ]
    keys = {"all": api_key(file, "all")} | {
        scope["scope"]: api_key(file, scope["scope"], "--scope", scope["scope"]) for scope in scopes
    }
    relay = start("--api-keys-file", file, secret=secret, configuration={"apiKeyScopes": scopes})
    operations = {
        "rooms": "listAllRooms", "users": "listUsers", "sessions": "listAllSessions", "pushes": "listPushes"
    }  # fmt: skip
    for list, operation in operations.items():
        for key in "all", "operator", "reader":
            page(relay, list, token=keys[key])
        refused = call(relay, "GET", f"/v1/{list}", token=keys["bot"])
        assert refused.status == 403, refused
        assert refused.problem["detail"] == f"the operation {operation} is outside of the scope bot of the API key bot"
        assert "concerns all rooms" in call(relay, "GET", f"/v1/{list}", token=keys["support"]).problem["detail"]
        assert call(relay, "GET", f"/v1/{list}", token=relay.token("ann")).status == 403
        assert call(relay, "GET", f"/v1/{list}").status == 401


# The commands


def test_the_commands_print_tables_and_json(start, connect):
    relay = start()
    ann = connect(relay, "ann", device="phone")
    for room in "tea", "live.quiz":
        ann.join(room)
    url = ("--url", relay.origin)
    rooms = run("rooms", *url).stdout.splitlines()
    assert rooms[0].split() == ["ROOM", "KIND", "MEMBERS", "SESSIONS", "SEQ", "STORED", "TITLE"]
    assert [line.split() for line in rooms[1:]] == [
        ["live.quiz", "group", "1", "1", "0", "no"],
        ["tea", "group", "1", "1", "0", "yes"],
    ]
    first = run("rooms", "--limit", "1", *url).stdout.splitlines()
    assert first[1].split()[0] == "live.quiz" and first[2:] == ["More: --after live.quiz"]
    assert run("rooms", "--after", "live.quiz", *url).stdout.splitlines()[1].split()[0] == "tea"
    both = run("rooms", "--limit", "1", "--all", *url).stdout.splitlines()
    assert [line.split()[0] for line in both] == ["ROOM", "live.quiz", "tea"]
    lines = run("rooms", "--limit", "1", "--all", "--json", *url).stdout.splitlines()
    assert [json.loads(line)["rooms"][0]["room"] for line in lines] == ["live.quiz", "tea"]
    users = run("users", "--prefix", "a", *url).stdout.splitlines()
    assert users[0].split("  ")[0] == "USER" and users[1].split() == ["ann", "yes", "-", "1", "0"]
    eventually(lambda: json.loads(run("users", "--online", "--json", *url).stdout) == page(relay, "users"))
    sessions = run("sessions", "--room", "tea", *url).stdout.splitlines()
    assert sessions[1].split()[:3] == [ann.welcome["session"], "ann", "phone"] and len(sessions) == 2
    assert json.loads(run("sessions", "--json", *url).stdout) == page(relay, "sessions")
    assert run("pushes", *url).stdout.split()[0] == "ID"


def test_a_command_prints_the_refusal(start):
    relay = start()
    for arguments in ("rooms", "--limit", "0"), ("users", "--prefix", "a b"), ("sessions", "--after", "zzzz"):
        refused = run(*arguments, "--url", relay.origin)
        assert refused.returncode == 1 and refused.stderr.startswith("stillwire: ") and not refused.stdout, refused
