# SPDX-License-Identifier: Apache-2.0
"""Joining and leaving a room: memberships, the sessions that receive messages, and the events for others."""

import pytest

from client import Refused


@pytest.fixture
def pair(connect, names):
    """Alice and Bob in a new room. Their inboxes are empty."""
    alice_name, bob_name, room = names("alice", "bob", "room")
    alice, bob = connect(alice_name, name="Alice"), connect(bob_name, name="Bob")
    alice.join(room)
    bob.join(room)
    alice.expect("presence", user=bob_name)
    alice.inbox.clear()
    return alice, bob, room


def test_the_first_to_join_finds_an_empty_room(connect, names):
    user, room = names("alice", "room")
    joined = connect(user, name="Alice").join(room)
    assert joined["type"] == "ok"
    assert (joined["room"], joined["seq"], joined["read"], joined["messages"]) == (room, 0, 0, [])
    assert 0 < len(joined["epoch"]) <= 32
    assert (joined["memberCount"], joined["onlineCount"]) == (1, 1)
    assert "recovered" not in joined
    (me,) = joined["members"]
    assert (me["user"], me["name"], me["online"], me["isFocused"]) == (user, "Alice", True, None)


def test_a_joiner_is_announced_as_member_then_as_presence(connect, names):
    alice_name, bob_name, room = names("alice", "bob", "room")
    alice = connect(alice_name)
    alice.join(room)
    bob = connect(bob_name, name="Bob")
    joined = bob.join(room, history=10)
    assert {member["user"]: member["online"] for member in joined["members"]} == {alice_name: True, bob_name: True}
    assert (joined["memberCount"], joined["onlineCount"]) == (2, 2)
    presence = alice.expect("presence", user=bob_name)
    # `member` precedes `presence`, so it is already in the inbox.
    (member,) = [frame for frame in alice.inbox if frame.fits("member", {"user": bob_name})]
    assert (member["room"], member["name"], member["event"], member["memberCount"]) == (room, "Bob", "joined", 2)
    assert (presence["online"], presence["name"], presence["isFocused"]) == (True, "Bob", None)
    # So no client shows the new member as offline before the event `presence`.
    assert member["presence"] == {key: value for key, value in presence.items() if key != "type"}
    assert bob.received("member") == [] and bob.received("presence") == []


def test_an_avatar_is_shown_where_the_name_is(connect, names):
    alice_name, bob_name, room = names("alice", "bob", "room")
    alice, avatar = connect(alice_name), "https://example.org/bob.png"
    alice.join(room)
    bob = connect(bob_name, avatar=avatar)
    members = {member["user"]: member for member in bob.join(room)["members"]}
    assert members[bob_name]["avatar"] == avatar and "avatar" not in members[alice_name]
    assert alice.expect("presence", user=bob_name)["avatar"] == avatar


def test_a_session_without_an_activity_is_active(connect, names):
    user, room = names("alice", "room")
    (me,) = connect(user).join(room)["members"]
    assert me["activity"] == "active"


def test_joining_again_is_a_fresh_snapshot_and_no_event(pair):
    alice, bob, room = pair
    alice.send(room, "one")
    bob.expect("message")
    again = bob.join(room, history=5)
    assert [message["body"] for message in again["messages"]] == ["one"]
    alice.send(room, "two")
    assert bob.expect("message")["body"] == "two"
    assert bob.received("message") == []
    assert alice.received("member") == []


def test_a_second_session_is_no_new_member(connect, pair):
    alice, bob, room = pair
    phone = connect(bob.user, name="Bob")
    assert phone.join(room)["memberCount"] == 2
    alice.send(room, "both")
    assert bob.expect("message")["body"] == phone.expect("message")["body"] == "both"
    assert alice.received("member") == []


def test_a_first_join_counts_everything_as_read(connect, names, pair):
    alice, _, room = pair
    alice.send(room, "before")
    (carol,) = names("carol")
    assert connect(carol).join(room)["read"] == 1


def test_leaving_ends_membership_for_all_sessions_of_the_user(connect, pair):
    alice, bob, room = pair
    other = connect(bob.user)
    other.join(room)
    assert bob.request("leave", room=room)["room"] == room
    for session in (alice, other):
        left = session.expect("member", event="left")
        assert (left["room"], left["user"], left["memberCount"]) == (room, bob.user, 1)
    alice.send(room, "alone")
    assert bob.received("message") == [] and other.received("message") == []
    for session in (bob, other):
        assert session.refusal("send", room=room, body=1)["code"] == "not_joined"
    assert [member["user"] for member in alice.join(room)["members"]] == [alice.user]


def test_a_session_that_has_not_joined_receives_nothing_of_the_room(connect, names, pair):
    alice, bob, room = pair
    other = connect(bob.user)
    alice.send(room, "one")
    alice.request("signal", room=room, name="typing")
    (carol,) = names("carol")
    connect(carol).join(room)
    alice.expect("member", user=carol)
    bob.expect("signal")
    for type in ("message", "signal", "member"):
        assert other.received(type) == []


def test_a_room_keeps_its_messages_after_all_members_have_left(pair):
    alice, bob, room = pair
    epoch = alice.join(room)["epoch"]
    alice.send(room, "kept")
    alice.send(room, "kept as well")
    for session in (bob, alice):
        session.request("leave", room=room)
    joined = bob.join(room, after={"epoch": epoch, "seq": 1})
    assert (joined["epoch"], joined["seq"], joined["memberCount"], joined["recovered"]) == (epoch, 2, 1, True)
    assert [message["body"] for message in joined["messages"]] == ["kept as well"]
    # It is a first join again.
    assert joined["read"] == 2
    assert bob.send(room, "on")["seq"] == 3


def test_a_leave_with_stay_keeps_the_membership(connect, pair):
    alice, bob, room = pair
    other = connect(bob.user)
    other.join(room)
    assert bob.request("leave", room=room, stay=True)["room"] == room
    alice.send(room, "still")
    other.expect("message", body="still")
    assert bob.received("message") == []
    assert bob.refusal("send", room=room, body=1)["code"] == "not_joined"
    assert alice.join(room)["memberCount"] == 2
    assert alice.received("member") == []


def test_a_member_may_leave_without_having_joined_on_this_session(connect, pair):
    alice, bob, room = pair
    bob.close(1000)
    back = connect(bob.user)
    assert back.request("leave", room=room)["room"] == room
    assert alice.expect("member", user=bob.user, event="left")["memberCount"] == 1
    assert [member["user"] for member in alice.join(room)["members"]] == [alice.user]
    assert back.refusal("leave", room=room)["code"] == "not_joined"


def test_a_user_who_disconnects_stays_a_member(pair):
    alice, bob, room = pair
    bob.close(1000)
    alice.expect("presence", user=bob.user, online=False)
    joined = alice.join(room)
    assert (joined["memberCount"], joined["onlineCount"]) == (2, 1)
    assert {member["user"]: member["online"] for member in joined["members"]} == {alice.user: True, bob.user: False}


def test_an_abandoned_empty_room_begins_again_with_one_epoch(start, connect):
    relay = start()
    ann = connect(relay, "ann")
    for _ in range(20):
        joined = ann.join("tea")
        # The epoch in the reply to `join` is the stored epoch.
        assert ann.request("history", room="tea")["epoch"] == joined["epoch"]
        ann.request("leave", room="tea")
    again = ann.join("tea")
    assert again["seq"] == 0
    assert ann.send("tea", "hello")["seq"] == 1
    relay.kill()
    relay.start()
    rejoined = connect(relay, "ann").join("tea", history=5)
    assert (rejoined["epoch"], rejoined["seq"]) == (again["epoch"], 1)


def test_a_membership_may_end_while_a_join_reads_the_history(start, connect):
    """One session of a user joins while another one leaves. Each join ends, with the history or with not_joined."""
    relay = start("--limits-send-rate", 0, "--limits-request-rate", 0)
    reader, leaver, writer = connect(relay, "alice"), connect(relay, "alice"), connect(relay, "bob")

    def outcome(session, id):
        try:
            return session.reply(id)["type"]
        except Refused as refused:
            return refused.error["code"]

    writer.join("tea")
    for number in range(100):
        writer.send("tea", {"text": "x" * 1500, "number": number})
    # An edit removes the messages from memory, so that a join reads the store.
    writer.request("edit", room="tea", seq=100, body="y")
    for _ in range(40):
        leaver.join("tea")
        join = reader.begin("join", room="tea", history=100)
        leave = leaver.begin("leave", room="tea")
        assert outcome(reader, join) in ("ok", "not_joined")
        assert outcome(leaver, leave) in ("ok", "not_joined")
        reader.forget_events()
        leaver.forget_events()


@pytest.fixture
def receipts(start):
    """A relay whose rooms send receipts, unless their names say something else."""
    rooms = [{"match": "still"}, {"match": "large", "memberList": 1, "receipts": True}, {"match": "*", "receipts": True}]
    return start(configuration={"rooms": rooms})


def test_the_reply_to_join_has_the_marks_of_the_others(receipts, connect):
    room = "room"
    alice, bob, carol = (connect(receipts, user) for user in ("alice", "bob", "carol"))
    for session in (alice, bob, carol):
        assert all(mark["read"] == 0 for mark in session.join(room)["marks"])
    for number in range(3):
        alice.send(room, number)
    bob.request("received", room=room, seq=3)
    bob.request("read", room=room, seq=2)
    reply = carol.join(room)
    assert reply["read"] == 0
    assert sorted(reply["marks"], key=lambda mark: mark["user"]) == [
        {"user": alice.user, "read": 3, "received": 3},
        {"user": bob.user, "read": 2, "received": 3},
    ]
    # A user does not see the marks of a user who has blocked them.
    bob.request("block", users=[carol.user])
    assert [mark["user"] for mark in carol.join(room)["marks"]] == [alice.user]


def test_a_large_room_and_a_room_without_receipts_have_no_marks(receipts, connect):
    alice, bob = connect(receipts, "alice"), connect(receipts, "bob")
    for room, has_marks in (("large", False), ("still", False), ("other", True)):
        alice.join(room)
        assert ("marks" in bob.join(room)) == has_marks
