# SPDX-License-Identifier: Apache-2.0
"""Who is online, seen by those who share a room."""

import contextlib
import struct
import time

import pytest

from api import call
from client import ConnectionClosed
from relay import Relay
from rfc6455 import CLOSE, PING, PONG, frame
from wire import Wire

GRACE = 2.0
RELAY_OPTIONS = ("--presence-grace", GRACE)


@pytest.fixture
def pair(connect, names):
    """Alice and Bob in a new room, with nothing left to hear."""
    alice_name, bob_name, room = names("alice", "bob", "room")
    alice, bob = connect(alice_name), connect(bob_name)
    alice.join(room)
    bob.join(room)
    alice.expect("presence", user=bob_name)
    alice.inbox.clear()
    return alice, bob, room


@pytest.fixture
def enter(start, connect):
    """Connects users of a relay with a grace that no test outlasts, and has them join a room."""
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


def test_a_return_within_the_grace_is_no_event(enter):
    alice, bob, carol = enter("alice", "bob", "carol")
    alice.forget_events()
    bob.drop()
    # Longer than the relay collects changes for one event.
    time.sleep(1)
    (back,) = enter(bob.user)
    assert [member["online"] for member in back.join("room")["members"]] == [True, True, True]
    carol.close(1000)
    alice.expect("presence", user=carol.user, online=False)
    assert alice.heard("presence", user=bob.user) == [] and alice.heard("member") == []


def test_a_lost_connection_is_one_event(connect, pair):
    """That somebody is gone is told once, when the grace is over."""
    alice, bob, _ = pair
    bob.drop()
    alice.expect("presence", user=bob.user, online=False)
    assert alice.heard("presence") == []


def test_one_of_two_sessions_may_end_unseen(connect, pair):
    alice, bob, room = pair
    other = connect(bob.user)
    other.join(room)
    bob.close(1000)
    other.send(room, "still here")
    alice.expect("message")
    other.close(1000)
    assert alice.expect("presence", user=bob.user)["online"] is False


def test_the_liveliest_activity_of_the_sessions_counts(connect, pair):
    alice, bob, room = pair
    bob.request("activity", state="idle")
    assert alice.expect("presence", user=bob.user)["activity"] == "idle"
    other = connect(bob.user, activity="background")
    other.join(room)
    bob.request("activity", state="background")
    assert alice.expect("presence", user=bob.user)["activity"] == "background"
    other.request("activity", state="active")
    assert alice.expect("presence", user=bob.user)["activity"] == "active"
    entries = {entry["user"]: entry for entry in alice.join(room)["members"]}
    assert entries[bob.user]["activity"] == "active"


def test_changes_within_a_moment_are_joined_and_the_newest_wins(pair):
    alice, bob, _ = pair
    for _ in range(5):
        for state in ("idle", "background", "idle", "active", "background"):
            bob.request("activity", state=state)
    alice.expect("presence", user=bob.user, activity="background")
    bob.request("activity", state="active")
    alice.expect("presence", user=bob.user, activity="active")
    assert len(alice.heard("presence")) < 20


def test_ones_own_other_sessions_hear_it_too(connect, pair):
    _, bob, room = pair
    other = connect(bob.user)
    other.join(room)
    bob.request("activity", state="background")
    other.request("activity", state="background")
    # The session that changes last may be left out: it has the reply.
    assert bob.expect("presence", user=bob.user, activity="background")["online"] is True


def test_presence_comes_once_however_many_rooms_are_shared(connect, names, pair):
    alice, bob, _ = pair
    for room in names("second", "third", "fourth"):
        alice.join(room)
        bob.join(room)
    alice.forget_events()
    bob.close(1000)
    alice.expect("presence", user=bob.user, online=False)
    assert alice.heard("presence") == []


def test_strangers_hear_nothing(connect, names, pair):
    alice, bob, _ = pair
    name, room = names("carol", "elsewhere")
    carol = connect(name)
    carol.join(room)
    bob.request("activity", state="idle")
    alice.expect("presence", user=bob.user)
    assert carol.heard("presence") == []


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
def test_a_room_that_is_none_is_refused_beside_users_too(pair, room):
    alice, bob, _ = pair
    assert alice.refusal("presence", users=[bob.user], room=room)["code"] == "bad_request"
    assert alice.request("presence", users=[bob.user], room=None)["presence"]


def test_a_large_room_counts_instead_of_naming(start, connect):
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
    assert first.heard("presence") == [] and first.heard("member") == []
    sessions[4].request("leave", room="hall")
    assert first.expect("counts", memberCount=5)["onlineCount"] == 4


def test_a_room_that_is_small_again_names_its_members(start, connect):
    relay = start("--limits-member-list", 6)
    sessions = [connect(relay, f"user{number}") for number in range(7)]
    for session in sessions:
        session.join("hall")
    first, last = sessions[0], sessions[-1]
    first.expect("counts", memberCount=7)
    first.forget_events()
    for session in sessions[1:-1]:
        session.request("leave", room="hall")
    assert first.expect("presence", user=last.user)["online"] is True
    assert len(first.join("hall")["members"]) == 2
    last.close(1000)
    assert first.expect("presence", user=last.user, online=False)


def test_a_silent_connection_is_a_ghost_for_a_bounded_time(start, connect):
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
    assert heartbeat + pong + grace - 0.5 < took < heartbeat + pong + grace + 3
    assert (ending.bye["code"], ending.bye["reconnect"], ending.code) == (4004, True, 4004)
    assert alice.heard("presence") == []


def test_last_seen_is_the_last_request_and_no_pong(start, connect):
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
    # What is stored in the order of its coming: bob's leaving is before this.
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
    # Long after the time that is stored.
    time.sleep(1.1)
    before = alice.request("ping")["time"]
    connect(relay, "bob")
    alice.expect("presence", user="bob", online=True)
    alice.send("room", 1)
    end(relay)
    relay.start()
    entries = {entry["user"]: entry for entry in connect(relay, "alice").join("room")["members"]}
    assert entries["bob"]["online"] is False
    assert entries["bob"]["lastSeen"] >= before // 1000 * 1000


def flood(relay, bob):
    # The last of these may find the connection closed already.
    with contextlib.suppress(ConnectionClosed):
        for _ in range(1_100):
            bob.post("ping")


ENDS = {
    4006: flood,
    4500: lambda relay, bob: bob.send_text("no JSON"),
    4506: lambda relay, bob: call(relay, "POST", f"/v1/users/{bob.user}/disconnect", b""),
}


@pytest.mark.parametrize("code, end", ENDS.items(), ids=ENDS)
def test_whom_the_server_sends_away_has_the_grace(start, connect, code, end):
    relay = start("--presence-grace", 3600, "--limits-request-rate", 1, "--limits-request-burst", 5)
    alice, bob = connect(relay, "alice"), connect(relay, "bob")
    alice.join("room")
    bob.join("room")
    alice.expect("presence", user="bob")
    end(relay, bob)
    assert bob.closed() == code
    assert alice.request("presence", users=["bob"])["presence"][0]["online"] is True
