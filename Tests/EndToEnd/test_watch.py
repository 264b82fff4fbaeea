# SPDX-License-Identifier: Apache-2.0
"""Watching users without a shared room, and the parts of their presence that the viewer may see."""

import pytest

RELAY_OPTIONS = ("--presence-grace", "0.5", "--limits-watched", "3")


def test_a_watch_shows_presence_and_its_changes(connect, names):
    alice, bob, carol = names("alice", "bob", "carol")
    watcher, there = connect(alice), connect(bob)
    reply = watcher.request("watch", users=[bob, carol])
    assert reply["type"] == "ok"
    assert [(entry["user"], entry["online"]) for entry in reply["presence"]] == [(bob, True), (carol, False)]
    assert reply["presence"][1]["isFocused"] is None
    connect(carol)
    watcher.expect("presence", user=carol, online=True)
    there.close()
    gone = watcher.expect("presence", user=bob, online=False)
    assert gone["lastSeen"] % 1000 == 0


def test_an_unwatched_user_causes_no_events(connect, names):
    alice, bob = names("alice", "bob")
    watcher = connect(alice)
    watcher.request("watch", users=[bob])
    watcher.request("unwatch", users=[bob, "nobody-at-all"])
    session = connect(bob)
    session.request("ping")
    assert not watcher.received("presence", user=bob)


def test_a_user_who_shares_no_room_does_not_see_a_focus(connect, names):
    alice, bob, room, other = names("alice", "bob", "room", "other")
    watcher, focused = connect(alice), connect(bob)
    focused.request("focus", isFocused=True)
    (entry,) = watcher.request("watch", users=[bob])["presence"]
    assert entry["isFocused"] is None and "focusSince" not in entry
    (entry,) = watcher.request("presence", users=[bob])["presence"]
    assert entry["isFocused"] is None and "focusSince" not in entry
    for name in (room, other):
        focused.join(name)
    # The membership applies to all sessions of the user, even if they have not joined the room.
    second = connect(alice)
    second.join(room)
    assert watcher.expect("presence", user=bob, isFocused=True)["focusSince"]
    second.join(other)
    second.request("leave", room=room)
    second.request("leave", room=other)
    watcher.expect("presence", user=bob, isFocused=None)
    second.join(room)
    watcher.expect("presence", user=bob, isFocused=True)


def test_one_of_several_shared_rooms_is_enough(connect, names):
    alice, bob, room, other = names("alice", "bob", "room", "other")
    watcher, focused = connect(alice), connect(bob)
    focused.request("focus", isFocused=True)
    for session in (watcher, focused):
        session.join(room)
        session.join(other)
    (entry,) = watcher.request("watch", users=[bob])["presence"]
    assert entry["isFocused"] is True
    focused.request("leave", room=room)
    focused.request("focus", isFocused=False)
    watcher.expect("presence", user=bob, isFocused=False)


def test_the_limit_of_watched_users_is_all_or_nothing(connect, names):
    alice, *others = names("alice", "b", "c", "d", "e")
    watcher = connect(alice)
    assert watcher.welcome["limits"]["watched"] == 3
    assert len(watcher.request("watch", users=others[:2])["presence"]) == 2
    assert watcher.refusal("watch", users=others[2:])["code"] == "too_large"
    assert watcher.refusal("watch", users=others)["code"] == "too_large"
    assert len(watcher.request("watch", users=[*others[:3], others[0]])["presence"]) == 3
    late = connect(others[3])
    late.request("ping")
    assert not watcher.received("presence", user=others[3])


@pytest.mark.parametrize("users", [None, "bob", [7], ["no name"], ["me"], {}])
@pytest.mark.parametrize("type", ["watch", "unwatch"])
def test_wrong_users_are_refused(connect, names, type, users):
    (alice,) = names("alice")
    assert connect(alice).refusal(type, users=users)["code"] == "bad_request"


def test_a_token_without_the_right_watches_only_people_of_shared_rooms(start, connect, secret, names):
    relay = start(secret=secret)
    alice, bob, room = names("alice", "bob", "room")
    watcher = connect(relay, token=relay.token(alice))
    other = connect(relay, token=relay.token(bob))
    assert watcher.refusal("watch", users=[bob])["code"] == "forbidden"
    watcher.join(room)
    other.join(room)
    assert watcher.request("watch", users=[bob])["presence"][0]["online"] is True
