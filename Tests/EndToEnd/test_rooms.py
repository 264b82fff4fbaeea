# SPDX-License-Identifier: Apache-2.0
"""The patterns of rooms in a configuration file, and their reload."""

import json

import pytest

from client import Refused
from relay import Relay, checked, run
from waiting import eventually


def too_large(session, room, limit):
    error = session.refusal("join", room=room)
    assert (error["code"], limit in error["message"]) == ("too_large", True), error


def test_a_pattern_can_disable_the_history(start, connect):
    relay = start(configuration={"rooms": [{"match": "chat.*", "history": {"count": 0}}]})
    alice = connect(relay, "alice")
    epoch = alice.join("chat.a")["epoch"]
    alice.send("chat.a", 1)
    assert alice.request("history", room="chat.a")["messages"] == []
    relay.kill()
    relay.start()
    assert connect(relay, "alice").join("chat.a")["epoch"] != epoch


def test_the_first_matching_pattern_applies_before_the_defaults(start, connect):
    relay = start(configuration={"rooms": [{"match": "live.kept*"}, {"match": "live.k*", "history": {"count": 0}}]})
    alice = connect(relay, "alice")
    kept = {}
    for room in ("live.kept-1", "live.k", "live.other", "else"):
        alice.join(room)
        alice.send(room, 1)
        kept[room] = len(alice.request("history", room=room)["messages"])
    assert kept == {"live.kept-1": 1, "live.k": 0, "live.other": 0, "else": 1}


def test_a_room_without_push_sends_no_pushes(start, connect, phone):
    relay = start("--presence-grace", 0, configuration={"rooms": [{"match": "quiet.*", "push": False}]})
    alice, bob = connect(relay, "alice"), connect(relay, "bob")
    phones = phone(relay, bob)
    for session in (alice, bob):
        session.join("quiet.a")
        session.join("loud")
    bob.close(1000)
    alice.send("quiet.a", {"text": "quiet"})
    alice.send("loud", {"text": "loud"})
    eventually(phones.notifications)
    assert all("loud" in json.dumps(notification) for notification in phones.notifications())


def test_receipts_in_rooms_whose_pattern_has_them(start, connect):
    relay = start(configuration={"rooms": [{"match": "receipts.*", "receipts": True}]})
    alice, bob = connect(relay, "alice"), connect(relay, "bob")
    for room in ("receipts.a", "other"):
        alice.join(room)
        bob.join(room)
        alice.send(room, 1)
    bob.request("read", room="other", seq=1)
    bob.request("read", room="receipts.a", seq=1)
    assert alice.expect("receipt")["room"] == "receipts.a"


@pytest.mark.parametrize("room", ["small.a", "live.small"])
def test_a_pattern_limits_the_members_and_the_list_of_members(start, connect, room):
    patterns = [
        {"match": "small.*", "members": 3, "memberList": 2},
        {"match": "live.small", "history": {"count": 0}, "members": 3, "memberList": 2},
    ]
    relay = start(configuration={"rooms": patterns})
    sessions = [connect(relay, f"user{number}") for number in range(4)]
    assert "members" in sessions[0].join(room) and "members" in sessions[1].join(room)
    assert "members" not in sessions[2].join(room)
    too_large(sessions[3], room, "membersPerRoom")
    assert "members" not in connect(relay, "user2").join(room)
    sessions[0].request("leave", room=room)
    assert sessions[3].join(room)["memberCount"] == 3


@pytest.mark.parametrize("room", ["room", "live.room"])
def test_members_per_room_is_a_limit(start, connect, room):
    relay = start("--limits-members-per-room", 2)
    alice, bob, cid = (connect(relay, name) for name in ("alice", "bob", "cid"))
    alice.join(room)
    bob.join(room)
    too_large(cid, room, "membersPerRoom")
    bob.join(room)
    bob.request("leave", room=room)
    assert cid.join(room)["memberCount"] == 2


def test_rooms_per_user_counts_memberships_of_stored_rooms(start, connect):
    relay = start("--limits-rooms-per-user", 2)
    alice = connect(relay, "alice")
    alice.join("a")
    alice.join("b")
    alice.join("live.c")
    too_large(alice, "c", "roomsPerUser")
    too_large(connect(relay, "alice"), "c", "roomsPerUser")
    alice.join("a")
    alice.request("leave", room="a")
    alice.join("c")
    assert connect(relay, "bob").join("c")["memberCount"] == 2


def test_a_pattern_gives_rights_to_everybody(start, connect):
    relay = start(configuration={"rooms": [{"match": "news.*", "can": ["join", "history", "create"]}]})
    alice, bob = connect(relay, "alice"), connect(relay, "bob")
    assert "members" not in alice.join("news.a")
    assert alice.refusal("send", room="news.a", body=1)["code"] == "forbidden"
    bob.join("news.a")
    assert alice.received("presence") == []


def test_a_wrong_pattern_is_reported_with_its_position(tmp_path):
    """`ConfigurationFileTests` has all cases."""
    ended = checked(tmp_path, {"rooms": [{"match": "a", "can": ["fly"]}]})
    assert ended.returncode == 1 and "/rooms/0/can" in ended.stderr, ended.stderr


def test_sighup_applies_new_limits_and_patterns_to_present_users(start, connect):
    relay = start(configuration={"limits": {"roomsPerSession": 2}, "rooms": [{"match": "r*", "members": 1}]})
    alice, bob = connect(relay, "alice"), connect(relay, "bob")
    alice.join("room")
    too_large(bob, "room", "membersPerRoom")
    relay.reload({"limits": {"roomsPerSession": 1}, "rooms": [{"match": "r*", "members": 2, "memberList": 1}]})
    bob.join("room")
    assert alice.expect("counts")["memberCount"] == 2
    too_large(alice, "second", "roomsPerSession")
    assert connect(relay, "cid").welcome["limits"]["roomsPerSession"] == 1


def test_a_watch_ends_if_the_shared_room_no_longer_shows_presence(start, connect, secret):
    rights = ["join", "send", "presence", "create"]
    relay = start(secret=secret, configuration={"rooms": [{"match": "*", "can": rights}]})
    alice, bob = (connect(relay, token=relay.token(name, rooms=None)) for name in ("alice", "bob"))
    room = "shared"
    for session in (alice, bob):
        session.join(room)
    alice.request("watch", users=["bob"])
    alice.request("leave", room=room, stay=True)
    bob.request("focus", isFocused=True)
    alice.expect("presence", user="bob", isFocused=True)
    relay.reload({"rooms": [{"match": "*", "can": ["join", "send"]}]})
    eventually(lambda: alice.outcome("watch", users=["bob"]).get("code") == "forbidden")
    alice.forget_events()
    other = connect(relay, token=relay.token("bob", rooms=None))
    bob.request("focus", isFocused=None)
    other.expect("presence", user="bob", isFocused=None)
    assert not alice.received("presence", user="bob")


def test_sighup_keeps_whether_a_room_in_memory_is_stored(start, connect):
    relay = start(configuration={})
    alice = connect(relay, "alice")
    alice.join("room")
    alice.send("room", 1)
    relay.reload({"rooms": [{"match": "*", "history": {"count": 0}}]})
    assert alice.send("room", 2)["seq"] == 2
    assert len(alice.request("history", room="room")["messages"]) == 2
    alice.join("later")
    alice.send("later", 1)
    assert alice.request("history", room="later")["messages"] == []


@pytest.mark.parametrize("wrong", ["{", '{"limits":{"history":0}}', '{"rooms":[{}]}', '{"tokens":{"secretFile":"no"}}'])
def test_a_wrong_configuration_changes_nothing(start, connect, wrong):
    relay = start(configuration={"limits": {"history": 7}})
    assert "not changed" in relay.reload(wrong)
    assert connect(relay, "alice").welcome["limits"]["history"] == 7


def test_a_setting_that_needs_a_restart_is_logged(start, connect):
    relay = start(configuration={"drain": {"delay": 0}})
    said = relay.reload({"drain": {"delay": 1}, "origins": ["https://a.example"], "limits": {"history": 7}})
    assert "restart" in said and "drain.delay" in said and "origins" in said
    assert connect(relay, "alice").welcome["limits"]["history"] == 7


def test_a_new_secret_applies_from_the_next_hello_on(start, connect, tmp_path, secret):
    own = tmp_path / "secret"
    own.write_text(secret.read_text())
    own.chmod(0o600)
    relay: Relay = start(secret=own)
    before = relay.token("alice")
    session = connect(relay, token=before)
    own.write_text("another-secret-of-more-than-32-bytes-length")
    relay.reload()
    with pytest.raises(Refused):
        connect(relay, token=before)
    assert connect(relay, token=relay.token("alice")).welcome["user"] == "alice"
    session.join("room")


@pytest.mark.parametrize("mode", ["full", "normal"])
def test_the_store_reports_the_end_of_a_commit(start, connect, mode):
    relay = start(configuration={"store": {"synchronous": mode}})
    alice = connect(relay, "alice")
    alice.join("room")
    assert alice.send("room", 1)["seq"] == 1
    ended = run("serve", "--check", "--store-synchronous", "off")
    assert ended.returncode == 1 and "store.synchronous" in ended.stderr


def test_a_reload_withdraws_rights_even_if_the_room_is_no_longer_to_be_stored(start, connect):
    relay = start(configuration={"rooms": [{"match": "r*", "history": {"count": 10}}]})
    session = connect(relay, "alice")
    session.join("room")
    relay.reload({"rooms": [{"match": "r*", "history": {"count": 0}, "can": ["join"]}]})
    assert session.refusal("send", room="room", body=1)["code"] == "forbidden"
