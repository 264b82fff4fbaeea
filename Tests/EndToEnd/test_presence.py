# SPDX-License-Identifier: Apache-2.0
"""Presence, as users who share a room see it."""

import contextlib
import struct
import time

import pytest

from api import call
from client import ConnectionClosed
from database import rows
from relay import DEADLINE, Relay
from rfc6455 import CLOSE, PING, PONG, frame
from waiting import eventually
from wire import Wire

GRACE = 2.0
RELAY_OPTIONS = ("--presence-grace", GRACE)


@pytest.fixture
def pair(connect, names):
    """Alice and Bob in a new room. Their inboxes are empty."""
    alice_name, bob_name, room = names("alice", "bob", "room")
    alice, bob = connect(alice_name), connect(bob_name)
    alice.join(room)
    bob.join(room)
    alice.expect("presence", user=bob_name)
    alice.inbox.clear()
    return alice, bob, room


@pytest.fixture
def enter(start, connect):
    """Connects users to a relay whose grace is longer than any test. Each user joins a room."""
    relay = start("--presence-grace", 600)

    def enter(*users):
        sessions = [connect(relay, user) for user in users]
        for session in sessions:
            session.join("room")
        for user in users[1:]:
            sessions[0].expect("presence", user=user, online=True)
        return sessions

    return enter


def test_a_clean_close_and_a_return_are_seen_at_once(enter):
    alice, bob = enter("alice", "bob")
    before = time.time()
    bob.close(1000)
    offline = alice.expect("presence", user=bob.user, online=False)
    assert before - 60 < offline["lastSeen"] / 1000 < time.time() + 60
    enter(bob.user)
    assert alice.expect("presence", user=bob.user)["online"] is True


@pytest.mark.parametrize("leave", [lambda bob: bob.drop(), lambda bob: bob.close(1001)], ids=["cut", "1001"])
def test_an_unclean_end_is_seen_after_the_grace_and_not_before(pair, leave):
    alice, bob, _ = pair
    ended = time.monotonic()
    leave(bob)
    alice.expect("presence", user=bob.user, online=False)
    assert time.monotonic() - ended > GRACE - 0.1


def test_the_end_of_one_of_two_sessions_is_no_event(connect, pair):
    alice, bob, room = pair
    other = connect(bob.user)
    other.join(room)
    bob.close(1000)
    other.send(room, "still here")
    alice.expect("message")
    other.close(1000)
    assert alice.expect("presence", user=bob.user)["online"] is False


def test_strangers_receive_no_presence(connect, names, pair):
    alice, bob, _ = pair
    name, room = names("carol", "elsewhere")
    carol = connect(name)
    carol.join(room)
    bob.request("activity", state="idle")
    alice.expect("presence", user=bob.user)
    assert carol.received("presence") == []


def test_presence_is_returned_by_room_and_by_user(names, pair):
    alice, bob, room = pair
    (unknown,) = names("nobody")
    entries = alice.request("presence", room=room)["presence"]
    assert {entry["user"]: entry["online"] for entry in entries} == {alice.user: True, bob.user: True}
    entries = alice.request("presence", users=[bob.user, unknown])["presence"]
    assert {entry["user"]: (entry["online"], entry["isFocused"]) for entry in entries} == {
        bob.user: (True, None),
        unknown: (False, None),
    }


@pytest.mark.parametrize("room", [7, {}, ["tea"], "a b", True])
def test_an_invalid_room_is_rejected_even_with_users(pair, room):
    alice, bob, _ = pair
    assert alice.refusal("presence", users=[bob.user], room=room)["code"] == "bad_request"
    assert alice.request("presence", users=[bob.user], room=None)["presence"]


def test_a_large_room_sends_counts_instead_of_members(start, connect):
    relay = start("--limits-member-list", 3, "--presence-grace", 1)
    users = [f"user{number}" for number in range(6)]
    sessions = [connect(relay, user) for user in users]
    for session in sessions[:3]:
        assert len(session.join("hall")["members"]) == session.join("hall")["memberCount"]
    for session in sessions[3:]:
        joined = session.join("hall")
        assert "members" not in joined
    assert (joined["memberCount"], joined["onlineCount"]) == (6, 6)
    first = sessions[0]
    counts = first.expect("counts", memberCount=6)
    assert (counts["room"], counts["onlineCount"]) == ("hall", 6)
    assert first.refusal("presence", room="hall")["code"] == "too_large"
    first.forget_events()
    sessions[5].close(1000)
    assert first.expect("counts", onlineCount=5)["memberCount"] == 6
    assert first.received("presence") == [] and first.received("member") == []
    sessions[4].request("leave", room="hall")
    assert first.expect("counts", memberCount=5)["onlineCount"] == 4


def test_a_lost_connection_is_shown_as_online_for_a_limited_time(start, connect):
    heartbeat, pong, grace = 0.5, 1.0, 1.0
    relay = start(
        *("--limits-heartbeat", heartbeat),
        *("--limits-pong-timeout", pong),
        *("--presence-grace", grace),
    )
    alice = connect(relay, "alice")
    alice.join("room")
    with Wire(relay) as silent:
        silent.open("bob")
        silent.send_request("join", id=1, room="room")
        silent.reply(1)
        alice.expect("presence", user="bob", online=True)
        quiet_since = time.monotonic()
        alice.expect("presence", user="bob", online=False)
        took = time.monotonic() - quiet_since
        ending = silent.ending()
    assert heartbeat + pong + grace - 0.5 < took < heartbeat + pong + grace + DEADLINE
    assert (ending.bye["code"], ending.bye["reconnect"], ending.code) == (4004, True, 4004)
    assert alice.received("presence") == []


def test_last_seen_is_the_time_of_the_last_request_and_not_of_a_pong(start, connect):
    heartbeat = 0.3
    relay = start("--limits-heartbeat", heartbeat)
    alice = connect(relay, "alice")
    alice.join("room")
    with Wire(relay) as bob:
        bob.open("bob")
        bob.send_request("join", id=1, room="room")
        bob.reply(1)
        bob.send_request("ping", id=2)
        asked = bob.reply(2)["time"]
        pongs = 0
        while pongs * heartbeat < 2:
            opcode, payload = bob.frame()
            if opcode == PING:
                bob.send_bytes(frame(PONG, payload))
                pongs += 1
        bob.send_bytes(frame(CLOSE, struct.pack("!H", 1000)))
        assert alice.expect("presence", user="bob", online=False)["lastSeen"] == asked // 1000 * 1000


@pytest.mark.parametrize("end", [Relay.stop, Relay.kill], ids=["stop", "kill"])
def test_last_seen_outlives_the_relay(start, connect, end):
    relay = start()
    alice, bob = connect(relay, "alice"), connect(relay, "bob")
    alice.join("room")
    bob.join("room")
    asked = bob.request("ping")["time"]
    bob.close(1000)
    assert alice.expect("presence", user="bob", online=False)["lastSeen"] == asked // 1000 * 1000
    # The store keeps the order of writes, so bob's last seen time is stored before this message.
    alice.send("room", 1)
    end(relay)
    relay.start()
    entries = {entry["user"]: entry for entry in connect(relay, "alice").join("room")["members"]}
    assert (entries["bob"]["online"], entries["bob"]["lastSeen"]) == (False, asked // 1000 * 1000)


@pytest.mark.parametrize("end", [Relay.stop, Relay.kill], ids=["stop", "kill"])
def test_last_seen_does_not_go_back_when_the_relay_ends_under_a_session(start, connect, end):
    relay = start()
    alice, bob = connect(relay, "alice"), connect(relay, "bob")
    alice.join("room")
    bob.join("room")
    bob.close(1000)
    alice.expect("presence", user="bob", online=False)
    # This is long after the stored time.
    time.sleep(1.1)
    before = alice.request("ping")["time"]
    connect(relay, "bob")
    alice.expect("presence", user="bob", online=True)
    alice.send("room", 1)
    end(relay)
    relay.start()
    entries = {entry["user"]: entry for entry in connect(relay, "alice").join("room")["members"]}
    assert entries["bob"]["online"] is True, "bob may still return"
    assert entries["bob"]["lastSeen"] >= before // 1000 * 1000


def online_rows(relay):
    return sorted(name for (name,) in rows(relay, "SELECT name FROM users WHERE activity IS NOT NULL"))


@pytest.mark.parametrize("end", [Relay.stop, Relay.kill], ids=["stop", "kill"])
def test_only_users_who_do_not_return_after_a_restart_go_offline(start, connect, end):
    relay = start("--presence-grace", 1, "--presence-reconnect", 3)
    alice, bob, carol, dave = sessions = [connect(relay, user) for user in ("alice", "bob", "carol", "dave")]
    # Nobody sees erin, and frank has left before.
    connect(relay, "erin")
    connect(relay, "frank").close(1000)
    alice.request("watch", users=["dave"])
    for session in sessions[:3]:
        session.join("room")
    carol.request("activity", state="idle")
    alice.expect("presence", user="carol", activity="idle")
    # The store keeps the order of writes, so the online states are stored before this message.
    alice.send("room", 1)
    assert online_rows(relay) == ["alice", "bob", "carol", "dave", "erin"]
    end(relay)
    relay.start()
    began = time.monotonic()

    alice = connect(relay, "alice")
    [dave_shown] = alice.request("watch", users=["dave"])["presence"]
    assert (dave_shown["online"], dave_shown["activity"]) == (True, "active")
    members = {entry["user"]: entry for entry in alice.join("room")["members"]}
    assert (members["bob"]["online"], members["bob"]["activity"]) == (True, "active")
    assert (members["carol"]["online"], members["carol"]["activity"]) == (True, "idle")
    entries = alice.request("presence", users=["bob", "carol", "dave"])["presence"]
    assert [entry["online"] for entry in entries] == [True, True, True]
    assert call(relay, "GET", "/v1/users/carol/presence", user="alice").json["online"] is True
    bob = connect(relay, "bob")
    members = {entry["user"]: entry["online"] for entry in bob.join("room")["members"]}
    assert members == {"alice": True, "bob": True, "carol": True}

    gone = {user: alice.expect("presence", user=user, online=False) for user in ("carol", "dave")}
    assert 3 < time.monotonic() - began < 3 + DEADLINE
    assert all("lastSeen" in entry for entry in gone.values())
    eventually(lambda: online_rows(relay) == ["alice", "bob"])
    assert alice.received("presence", user="bob") + bob.received("presence", user="alice") == []
    assert [alice.received("presence", user=user) for user in gone] == [[], []], "each goes offline once"
    assert len(bob.received("presence", user="carol")) == 1


@pytest.mark.parametrize("end", [Relay.stop, Relay.kill], ids=["stop", "kill"])
def test_a_user_who_hides_the_online_state_is_not_shown_after_a_restart(start, connect, end):
    relay = start()
    alice, bob = connect(relay, "alice"), connect(relay, "bob")
    bob.request("preferences", shareOnline="none")
    for session in (alice, bob):
        session.join("room")
    end(relay)
    relay.start()
    alice = connect(relay, "alice")
    members = {entry["user"]: entry for entry in alice.join("room")["members"]}
    assert members["bob"] == {"user": "bob", "online": False, "isFocused": None}
    bob = connect(relay, "bob")
    bob.join("room")
    assert alice.received("presence", user="bob") == []


def flood(relay, bob):
    # The relay may close the connection before the last of these requests.
    with contextlib.suppress(ConnectionClosed):
        for _ in range(1_100):
            bob.post("ping")


ENDS = {
    4006: flood,
    4500: lambda relay, bob: bob.send_text("no JSON"),
    4506: lambda relay, bob: call(relay, "POST", f"/v1/users/{bob.user}/disconnect", b""),
}


@pytest.mark.parametrize("code, end", ENDS.items(), ids=ENDS)
def test_a_user_whose_session_the_relay_closes_has_the_grace(start, connect, code, end):
    relay = start("--presence-grace", 3600, "--limits-request-rate", 1, "--limits-request-burst", 5)
    alice, bob = connect(relay, "alice"), connect(relay, "bob")
    alice.join("room")
    bob.join("room")
    alice.expect("presence", user="bob")
    end(relay, bob)
    assert bob.closed() == code
    assert alice.request("presence", users=["bob"])["presence"][0]["online"] is True
