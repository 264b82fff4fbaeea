# SPDX-License-Identifier: Apache-2.0
"""Rooms that people create: their records, direct rooms, invited rooms, and their deletion."""

import threading

import pytest

from api import call
from client import Refused
from database import value
from waiting import eventually

# The users of these tests share no room, and become members at once. `test_invitations.py` tests the default.
RELAY_OPTIONS = ("--rooms-invitations", "none")

PICTURE = "https://example.org/tea.png"


@pytest.fixture
def room(names):
    return names("room")[0]


def group(session, room, *members, **fields):
    return session.request("create", room=room, members=list(members), title="Tea", avatar=PICTURE, **fields)


def test_a_created_room_has_its_record_and_notifies_its_members(connect, names, room):
    ann, bob = names("ann", "bob")
    session, phone = connect(ann), connect(bob)
    made = group(session, room, bob, metadata={"color": "green"}, key="k")
    record = {
        "room": room,
        "kind": "group",
        "join": "open",
        "title": "Tea",
        "avatar": PICTURE,
        "metadata": {"color": "green"},
        "version": 1,
    }
    assert record.items() <= made.items()
    event = phone.expect("room")
    assert (event["event"], event["title"], event["by"]) == ("added", "Tea", ann)
    assert record.items() <= phone.request("room", room=room).items()
    assert group(session, room, bob, key="k")["duplicate"] is True
    assert session.refusal("create", room=room)["code"] == "conflict"
    assert session.received("room") == []
    # Both are members, and the added user reads messages that were sent before the join.
    session.join(room)
    session.send(room, "hello")
    assert phone.join(room, history=1)["memberCount"] == 2


def test_a_room_without_a_name_gets_one(connect, names):
    (ann,) = names("ann")
    session = connect(ann)
    made = [session.request("create")["room"] for _ in range(2)]
    assert made[0] != made[1] and all(name.startswith("group.") for name in made)


@pytest.mark.parametrize("fields, at", [({"title": "x" * 257}, "/title"), ({"room": "live.tea"}, "/room")])
def test_a_wrong_field_is_refused_with_its_pointer(relay, fields, at):
    """`BadFieldsTests` has all cases."""
    answer = call(relay, "POST", "/v1/rooms", fields, user="ann")
    assert (answer.status, answer.problem["at"]) == (422, at)


def test_an_update_reaches_all_sessions_of_the_members(relay, connect, names, room):
    ann, bob = names("ann", "bob")
    session, tablet, other = connect(ann), connect(ann), connect(bob)
    group(session, room, bob)
    other.expect("room", event="added")
    session.join(room)
    changed = session.request("update", room=room, title="Coffee", avatar=None, version=1)
    assert (changed["title"], changed["version"], "avatar" in changed) == ("Coffee", 2, False)
    for receiver in (tablet, other):
        event = receiver.expect("room", event="updated")
        assert (event["title"], event["version"], event["by"]) == ("Coffee", 2, ann)
    assert session.refusal("update", room=room, title="Tea", version=1)["code"] == "conflict"
    assert other.refusal("update", room=room, title="Tea")["code"] == "forbidden"
    assert session.received("room") == []


def test_if_match_changes_only_the_version_that_the_caller_has_read(relay, names, room):
    (ann,) = names("ann")
    path = f"/v1/rooms/{room}"
    assert call(relay, "POST", "/v1/rooms", {"room": room, "owner": ann}).status == 201
    read = call(relay, "GET", path)
    tag = read.headers["ETag"]
    assert call(relay, "GET", path, headers={"If-None-Match": tag}).status == 304
    assert call(relay, "PUT", path, {"title": "One"}, headers={"If-Match": tag}).headers["ETag"] != tag
    assert call(relay, "PUT", path, {"title": "Two"}, headers={"If-Match": tag}).status == 412
    assert call(relay, "PUT", path, {"title": "Two"}, headers={"If-Match": "*"}).status == 200
    assert call(relay, "PUT", path, {"title": "Three", "version": 1}).status == 409
    assert call(relay, "GET", path).json["title"] == "Two"
    # A new room with the same id has the version of the old one, but not its tag.
    assert call(relay, "DELETE", path).status == 204
    assert call(relay, "POST", "/v1/rooms", {"room": room, "owner": ann}).status == 201
    assert call(relay, "GET", path).json["version"] == read.json["version"]
    assert call(relay, "PUT", path, {"title": "Three"}, headers={"If-Match": tag}).status == 412


def test_two_people_get_one_direct_room_when_both_ask_at_once(relay, connect, names):
    for round in range(10):
        pair = names(f"ann-{round}", f"bob-{round}")
        sessions = [connect(name) for name in pair]
        found = {}

        def ask(index, sessions=sessions, pair=pair, found=found):
            found[index] = sessions[index].request("direct", user=pair[1 - index])["room"]

        threads = [threading.Thread(target=ask, args=(index,)) for index in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found[0] == found[1] and found[0].startswith("direct.")
        for session in sessions:
            assert session.join(found[0])["memberCount"] == 2
            session.close()


def test_a_direct_room_belongs_to_two_people(relay, connect, names):
    ann, bob, eve = names("ann", "bob", "eve")
    session, other, stranger = connect(ann), connect(bob), connect(eve)
    room = session.request("direct", user=bob)["room"]
    assert other.expect("room")["event"] == "added"
    assert stranger.refusal("join", room=room)["code"] == "forbidden"
    assert stranger.refusal("room", room=room)["code"] == "not_joined"
    assert session.refusal("update", room=room, title="Us")["code"] == "unsupported"
    assert session.refusal("deleteRoom", room=room)["code"] == "unsupported"
    assert other.request("update", room=room, metadata={"theme": 1})["metadata"] == {"theme": 1}
    # A person who has left is a member again when the other one opens the room.
    session.join(room)
    session.send(room, "hi")
    other.join(room)
    other.request("leave", room=room)
    assert session.expect("member", user=bob, event="left")["memberCount"] == 2  # of the two people
    assert session.request("direct", user=bob)["room"] == room
    assert session.expect("member", user=bob, event="joined")["memberCount"] == 2
    assert other.join(room, history=1)["messages"]


def test_a_blocked_user_makes_the_blocker_no_member(relay, connect, names, room):
    ann, bob = names("ann", "bob")
    session, blocker = connect(ann), connect(bob)
    blocker.request("block", users=[ann])
    pair = session.request("direct", user=bob)["room"]
    assert session.request("create", room=room, members=[bob])["room"] == room
    assert list(roles(relay, room)) == list(roles(relay, pair)) == [ann]
    assert blocker.received("room") == [] and blocker.received("invitation") == []
    # An existing room stays: the blocker opens it, and the blocked user finds it.
    assert blocker.request("direct", user=ann)["room"] == pair
    assert session.request("direct", user=bob)["room"] == pair
    assert set(roles(relay, pair)) == {ann, bob}


def test_nobody_joins_an_invited_room(relay, connect, names, room):
    ann, bob, eve = names("ann", "bob", "eve")
    session, member, stranger = connect(ann), connect(bob), connect(eve)
    group(session, room, bob, join="invited")
    assert member.join(room)["memberCount"] == 2
    assert stranger.refusal("join", room=room)["code"] == "forbidden"
    own = call(relay, "PUT", f"/v1/rooms/{room}/members/{eve}", b"", user="operator")
    assert own.status == 201  # a backend adds everybody
    assert stranger.join(room)["memberCount"] == 3


def test_a_deleted_room_is_gone_for_all_sessions(relay, connect, names, room):
    ann, bob = names("ann", "bob")
    session, other, tablet = connect(ann), connect(bob), connect(bob)
    group(session, room, bob)
    for receiver in (other, tablet):
        receiver.expect("room", event="added")
    epoch = session.join(room)["epoch"]
    other.join(room)
    for number in range(90):
        session.send(room, number)
    stored = value(relay, "SELECT id FROM rooms WHERE name = ?", room)
    assert other.refusal("deleteRoom", room=room)["code"] == "forbidden"
    session.request("deleteRoom", room=room)
    for receiver in (other, tablet):
        assert receiver.expect("room", event="deleted")["by"] == ann
    assert session.refusal("send", room=room, body=1)["code"] == "not_joined"
    assert other.refusal("history", room=room)["code"] == "not_joined"
    assert call(relay, "GET", f"/v1/rooms/{room}").status == 404
    # The name is free, and the new room has nothing of the old one.
    joined = other.join(room, history=9)
    assert (joined["seq"], joined["messages"], joined["memberCount"]) == (0, [], 1)
    assert joined["epoch"] != epoch
    eventually(lambda: value(relay, "SELECT count(*) FROM messages WHERE room = ?", stored) == 0)
    eventually(lambda: value(relay, "SELECT count(*) FROM rooms WHERE id = ?", stored) == 0)


def test_a_room_is_deleted_while_members_write_to_it(connect, names, room):
    """Every message gets an answer: its seq, or that the session is no longer in the room."""
    ann, *others = names("ann", *(f"user-{number}" for number in range(4)))
    owner, sessions = connect(ann), [connect(name) for name in others]
    group(owner, room, *others)
    for session in sessions:
        session.join(room)
    begun, results = threading.Barrier(len(sessions) + 1), []

    def write(session):
        begun.wait()
        sent = 0
        while True:
            try:
                assert session.request("send", room=room, body=sent)["seq"] > 0
                sent += 1
            except Refused as error:
                code = error.error["code"]
                if code == "rate_limited":
                    continue
                results.append((sent, code))
                return

    threads = [threading.Thread(target=write, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    begun.wait()
    owner.join(room, history=0)
    eventually(lambda: owner.request("history", room=room, limit=1)["messages"])
    owner.request("deleteRoom", room=room)
    for thread in threads:
        thread.join()
    assert len(results) == len(sessions)
    assert {code for _, code in results} <= {"not_joined", "not_found"}


def test_a_deletion_continues_after_a_crash(start, connect):
    relay = start("--limits-send-rate", 0)
    session = connect(relay, "ann")
    session.request("create", room="tea")
    session.join("tea")
    for number in range(500):
        session.send("tea", number)
    session.request("deleteRoom", room="tea")
    relay.kill()
    relay.start()
    eventually(lambda: value(relay, "SELECT count(*) FROM messages") == 0)
    eventually(lambda: value(relay, "SELECT count(*) FROM rooms") == 0)
    assert connect(relay, "ann").join("tea")["seq"] == 0


def test_pushes_show_the_title_and_the_picture(start, connect, phone):
    relay = start("--presence-grace", 0, *RELAY_OPTIONS)
    ann, bob = connect(relay, "ann"), connect(relay, "bob")
    phones = phone(relay, bob)
    group(ann, "tea", "bob")
    bob.close(1000)
    ann.join("tea")
    ann.send("tea", {"text": "Kettle is on"})
    payload = phones.ring("Kettle is on")["payload"]
    assert payload["aps"]["alert"]["subtitle"] == "Tea"
    conversation = payload["communication"]["conversation"]
    assert (conversation["name"], conversation["avatar"]) == ("Tea", PICTURE)


def test_the_rights_of_a_token_decide_who_creates(start, connect, secret):
    relay = start(secret=secret)
    rooms = [{"match": "group.*", "can": ["join", "send", "create"]}, {"match": "*", "can": ["join", "send"]}]
    session = connect(relay, token=relay.token("ann", rooms=rooms))
    assert session.request("create")["room"].startswith("group.")
    assert session.refusal("create", room="tea")["code"] == "forbidden"
    assert session.refusal("direct", user="bob")["code"] == "forbidden"
    # Somebody whose token has the right opens the room, and both have it.
    other = connect(relay, token=relay.token("bob"))
    pair = other.request("direct", user="ann")["room"]
    assert session.request("direct", user="bob")["room"] == pair


# Members and their roles


@pytest.fixture
def team(connect, names, room):
    """An invited room with its owner, a moderator and a member. All sessions have joined it."""
    ann, bob, cid = names("ann", "bob", "cid")
    sessions = [connect(name) for name in (ann, bob, cid)]
    group(sessions[0], room, bob, cid, join="invited")
    for session in sessions:
        session.join(room)
    sessions[0].request("roles", room=room, user=bob, role="moderator")
    for session in sessions[1:]:
        assert session.expect("role", user=bob).items() >= {"role": "moderator", "by": ann}.items()
        session.forget_events()
    sessions[0].forget_events()
    return sessions


def roles(relay, room):
    members = call(relay, "GET", f"/v1/rooms/{room}/members", user="operator").json["members"]
    return {member["user"]: member.get("role") for member in members}


def test_lists_of_members_have_roles(relay, team, room):
    ann, bob, cid = team
    expected = {ann.user: "owner", bob.user: "moderator", cid.user: None}
    assert roles(relay, room) == expected
    assert {member["user"]: member.get("role") for member in cid.join(room)["members"]} == expected


def test_roles_survive_a_restart(start, connect):
    relay = start(*RELAY_OPTIONS)
    ann = connect(relay, "ann")
    ann.request("create", room="tea", members=["bob"])
    ann.request("roles", room="tea", user="bob", role="moderator")
    relay.kill()
    relay.start()
    assert roles(relay, "tea") == {"ann": "owner", "bob": "moderator"}


def test_an_added_user_is_notified_and_the_event_names_the_cause(relay, connect, names, team, room):
    ann, bob, cid = team
    (eve,) = names("eve")
    phone = connect(eve)
    assert cid.refusal("add", room=room, user=eve)["code"] == "forbidden"
    added = bob.request("add", room=room, user=eve)
    assert (added["user"], added["memberCount"]) == (eve, 4)
    event = phone.expect("room")
    assert (event["event"], event["title"], event["by"]) == ("added", "Tea", bob.user)
    member = ann.expect("member", user=eve)
    assert (member["event"], member["cause"], member["by"]) == ("joined", "added", bob.user)
    # A second request changes nothing.
    bob.request("add", room=room, user=eve)
    assert ann.received("member") == [] and phone.received("room") == []
    assert phone.join(room)["memberCount"] == 4


def test_a_removed_user_is_notified_and_may_come_back(connect, team, room):
    ann, bob, cid = team
    tablet = connect(cid.user)
    bob.request("remove", room=room, user=cid.user)
    member = ann.expect("member", user=cid.user)
    assert (member["event"], member.get("cause"), member["by"]) == ("removed", None, bob.user)
    for session in (cid, tablet):
        event = session.expect("room")
        assert (event["event"], event["removed"], event["by"]) == ("removed", True, bob.user)
    assert cid.refusal("send", room=room, body=1)["code"] == "not_joined"
    assert cid.refusal("join", room=room)["code"] == "forbidden"
    bob.request("add", room=room, user=cid.user)
    assert cid.join(room)["memberCount"] == 3


def test_a_banned_user_cannot_join_again(relay, connect, names, room):
    ann, eve = names("ann", "eve")
    owner, banned = connect(ann), connect(eve)
    group(owner, room)
    owner.join(room)
    banned.join(room)
    owner.request("remove", room=room, user=eve, ban=True)
    member = owner.expect("member", user=eve, event="removed")
    assert (member["cause"], member["by"]) == ("banned", ann)
    assert banned.refusal("join", room=room)["code"] == "forbidden"
    owner.request("add", room=room, user=eve)
    assert banned.join(room)["memberCount"] == 2
    # A ban with an end. Its end must not be in the past, and needs the ban.
    wrong = owner.refusal("remove", room=room, user=eve, ban=True, until=1)
    assert (wrong["code"], "past" in wrong["message"]) == ("bad_request", True)
    assert owner.refusal("remove", room=room, user=eve, until=2**50)["code"] == "bad_request"
    path = f"/v1/rooms/{room}/members/{eve}"
    assert call(relay, "DELETE", f"{path}?ban=maybe", user="operator").status == 422
    assert call(relay, "DELETE", f"{path}?ban=true&until={2**50}", user="operator").status == 204
    assert str(2**50) in banned.refusal("join", room=room)["message"]


def test_the_last_owner_who_leaves_has_a_successor(relay, team, room):
    ann, bob, cid = team
    assert ann.refusal("roles", room=room, user=ann.user, role="member")["code"] == "conflict"
    ann.request("remove", room=room, user=ann.user)
    role = cid.expect("role")
    assert (role["role"], "by" in role) == ("owner", False)
    assert cid.expect("member", user=ann.user)["event"] == "left"
    successor = role["user"]
    assert {user for user, role in roles(relay, room).items() if role == "owner"} == {successor}
    # The new owner has the rights of the role.
    session = bob if successor == bob.user else cid
    assert session.request("update", room=room, title="Coffee")["version"] == 2


def test_nobody_removes_or_bans_an_owner_but_a_backend(relay, team, room):
    ann, bob, cid = team
    for ban in (False, True):
        assert bob.refusal("remove", room=room, user=ann.user, ban=ban)["code"] == "forbidden"
        assert cid.refusal("remove", room=room, user=ann.user, ban=ban)["code"] == "forbidden"
    assert ann.refusal("remove", room=room, user=ann.user, ban=True)["code"] == "bad_request"
    answer = call(relay, "DELETE", f"/v1/rooms/{room}/members/{ann.user}?ban=true", user="operator")
    assert answer.status == 204
    assert cid.expect("role")["role"] == "owner"
    assert ann.refusal("join", room=room)["code"] == "forbidden"


def test_a_blocked_moderator_cannot_add_the_blocker(connect, names, team, room):
    _, bob, _ = team
    (eve,) = names("eve")
    blocker = connect(eve)
    blocker.request("block", users=[bob.user])
    assert bob.request("add", room=room, user=eve)["invited"] is True
    assert blocker.received("room") == [] and blocker.received("invitation") == []
    assert blocker.refusal("join", room=room)["code"] == "forbidden"


def test_a_moderator_deletes_messages_of_others(team, room):
    ann, bob, cid = team
    seq = ann.send(room, "spam")["seq"]
    assert cid.refusal("delete", room=room, seq=seq)["code"] == "forbidden"
    bob.request("delete", room=room, seq=seq)
    assert ann.expect("deleted")["seq"] == seq


def test_a_token_that_may_not_join_gets_no_rights_from_a_role(start, connect, secret):
    relay = start(*RELAY_OPTIONS, secret=secret)
    ann = connect(relay, token=relay.token("ann"))
    ann.request("create", room="tea", members=["bob"])
    ann.request("roles", room="tea", user="bob", role="moderator")
    bob = connect(relay, token=relay.token("bob"))
    assert bob.request("update", room="tea", title="One")["title"] == "One"
    elsewhere = [{"match": "other", "can": ["join"]}]
    other = connect(relay, token=relay.token("bob", rooms=elsewhere))
    assert other.refusal("add", room="tea", user="eve")["code"] == "forbidden"
    token = relay.token("ann", rooms=elsewhere)
    owner = connect(relay, token=token)
    for frame, fields in [("update", {"title": "Two"}), ("roles", {"user": "bob", "role": "member"}), ("deleteRoom", {})]:
        assert owner.refusal(frame, room="tea", **fields)["code"] == "forbidden"
    assert call(relay, "PUT", "/v1/rooms/tea", {"title": "Two"}, token=token).status == 403
    assert call(relay, "DELETE", "/v1/rooms/tea", token=token).status == 403
    assert bob.request("room", room="tea")["title"] == "One"
