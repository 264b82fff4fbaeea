# SPDX-License-Identifier: Apache-2.0
"""Invitations: nobody makes a stranger a member, and no reply says if a name or a block exists."""

import json

import pytest

from api import call
from database import execute, rows, value
from metrics import metrics
from people import Person
from relay import SLOW
from waiting import eventually
from wall_clock import Clock

RELAY_OPTIONS = ("--presence-grace", "0")
#: A room whose messages the relay deletes after 10 s, so that it deletes old rows each second.
SHORT = {"rooms": [{"match": "short.*", "history": {"age": 10}}]}


@pytest.fixture
def room(names):
    return names("room")[0]


def invitations(session, **fields):
    return session.request("invitations", **fields)["invitations"]


def invited_rooms(session):
    return [invitation["room"] for invitation in invitations(session)]


def members(relay, room):
    """Returns the members as a backend sees them."""
    return [member["user"] for member in call(relay, "GET", f"/v1/rooms/{room}/members").json["members"]]


def invited(session, room):
    """Returns the invited users that the reply to `room` names."""
    return [entry["user"] for entry in session.request("room", room=room).get("invited", [])]


# Consent


def test_a_stranger_is_invited_and_accepts(relay, connect, names, room):
    ann, bob = names("ann", "bob")
    session, phone, tablet = connect(ann, name="Ann"), connect(bob, inbox=True), connect(bob)
    made = session.request("create", room=room, title="Books", members=[bob], join="invited")
    assert made["version"] == 1 and members(relay, room) == [ann]
    for receiver in (phone, tablet):
        event = receiver.expect("invitation", event="added")
        assert (event["room"], event["kind"], event["title"], event["members"]) == (room, "group", "Books", 1)
        assert event["by"] == {"user": ann, "name": "Ann"} and event["time"] > 0
    # The user gets nothing of the room.
    assert phone.received("room") == [] and phone.received("inbox") == []
    assert phone.request("rooms")["rooms"] == []
    assert phone.refusal("history", room=room)["code"] == "not_joined"
    assert connect(bob).welcome["invitations"] == 1 and "invitations" not in session.welcome
    [entry] = invitations(phone)
    assert entry.items() <= event.items()

    session.join(room)
    accepted = phone.request("acceptInvitation", room=room)
    assert (accepted["user"], accepted["seq"], accepted["read"], accepted["memberCount"]) == (bob, 0, 0, 2)
    for receiver in (phone, tablet):
        assert receiver.expect("invitation", event="ended", room=room)["cause"] == "accepted"
    event = session.expect("member", user=bob)
    assert (event["event"], "by" in event, event["memberCount"]) == ("joined", False, 2)
    assert invitations(phone) == [] and "invitations" not in connect(bob).welcome
    assert phone.request("acceptInvitation", room=room)["memberCount"] == 2
    # They share a room now, so Ann makes Bob a member at once.
    session.request("create", room=f"{room}-2", members=[bob])
    assert tablet.expect("room", event="added")["room"] == f"{room}-2"
    assert members(relay, f"{room}-2") == [ann, bob]


def test_a_join_accepts_the_invitation(connect, names, room):
    ann, bob = names("ann", "bob")
    session, invitee = connect(ann), connect(bob)
    session.request("create", room=room, join="invited")
    assert invitee.refusal("join", room=room)["code"] == "forbidden"
    assert invitee.refusal("acceptInvitation", room=room)["code"] == "not_found"
    assert invitee.refusal("acceptInvitation", room=f"{room}-none")["code"] == "not_found"
    added = session.request("add", room=room, user=bob)
    assert (added["invited"], set(added) - {"type", "id"}) == (True, {"room", "user", "invited"})
    assert session.request("add", room=room, user=bob)["invited"] is True
    assert len(invitee.received("invitation")) == 1
    assert invitee.join(room)["memberCount"] == 2
    assert invitee.expect("invitation", event="ended")["cause"] == "accepted"


def test_an_invitation_ends_a_ban(connect, names, room):
    ann, bob = names("ann", "bob")
    session, banned = connect(ann), connect(bob)
    session.request("create", room=room)
    banned.join(room)
    session.request("remove", room=room, user=bob, ban=True)
    assert banned.refusal("join", room=room)["code"] == "forbidden"
    session.request("add", room=room, user=bob)
    assert banned.refusal("history", room=room)["code"] == "not_joined"
    assert banned.join(room)["memberCount"] == 2


def test_a_declined_invitation_is_gone_and_the_inviter_sees_nothing(connect, names, room):
    ann, bob = names("ann", "bob")
    session, invitee, tablet = connect(ann), connect(bob), connect(bob)
    session.request("create", room=room, members=[bob], join="invited")
    session.join(room)
    for _ in range(2):
        assert invitee.request("declineInvitation", room=room)["room"] == room
    for receiver in (invitee, tablet):
        assert [event.get("cause") for event in receiver.received("invitation")] == [None, "declined"]
    assert invitations(invitee) == []
    assert invitee.refusal("join", room=room)["code"] == "forbidden"
    session.request("ping")
    assert session.inbox == []
    # The inviter may invite the user again.
    assert session.request("add", room=room, user=bob)["invited"] is True
    assert invited_rooms(tablet) == [room]


def test_moderators_and_the_inviter_withdraw_an_invitation(connect, names, room):
    ann, bob, cid, eve = names("ann", "bob", "cid", "eve")
    owner, moderator, member, invitee = connect(ann), connect(bob), connect(cid), connect(eve)
    owner.request("create", room=room)
    for session in (moderator, member):
        session.join(room)
    owner.request("roles", room=room, user=bob, role="moderator")
    moderator.request("add", room=room, user=eve)
    [entry] = owner.request("room", room=room)["invited"]
    assert (entry["user"], entry["by"]) == (eve, bob) and entry["time"] > 0
    assert "invited" not in member.request("room", room=room)
    assert member.refusal("remove", room=room, user=eve)["code"] == "forbidden"
    assert invited_rooms(invitee) == [room]
    owner.request("remove", room=room, user=eve)
    assert invitee.expect("invitation", event="ended")["cause"] == "withdrawn"
    assert invited(owner, room) == []
    # The inviter needs no role.
    moderator.request("add", room=room, user=eve)
    owner.request("roles", room=room, user=bob, role="member")
    moderator.request("remove", room=room, user=eve)
    assert invitee.expect("invitation", event="ended")["cause"] == "withdrawn"
    assert moderator.refusal("remove", room=room, user=ann)["code"] == "forbidden"


def test_messages_since_the_invitation_are_unread(relay, connect, names, room):
    ann, bob = names("ann", "bob")
    session, invitee = connect(ann), connect(bob)
    session.request("create", room=room)
    session.join(room)
    session.send(room, "before")
    session.request("add", room=room, user=bob)
    for text in ("one", "two"):
        session.send(room, text)
    assert invitee.received("message") == []
    accepted = invitee.request("acceptInvitation", room=room)
    assert (accepted["seq"], accepted["read"]) == (3, 1)
    [entry] = invitee.request("rooms")["rooms"]
    assert (entry["unread"], entry["read"], entry["members"]) == (2, 1, {"count": 2})
    assert [message["body"] for message in invitee.join(room, history=9)["messages"]] == ["before", "one", "two"]
    session.send(room, "three")
    assert invitee.expect("message")["body"] == "three"


def test_a_direct_room_shows_two_people_at_any_time(relay, connect, names):
    ann, bob = names("ann", "bob")
    session, invitee = connect(ann, name="Ann"), connect(bob, name="Bob", inbox=True)
    room = session.request("direct", user=bob)["room"]
    joined = session.join(room)
    assert joined["memberCount"] == 2
    assert {entry["user"]: entry.get("name") for entry in joined["members"]} == {ann: "Ann", bob: None}
    assert session.send(room, {"text": "Hello"})["seq"] == 1
    [entry] = session.request("rooms")["rooms"]
    assert entry["members"] == {"count": 2, "other": {"user": bob}}
    assert "invited" not in session.request("room", room=room)
    event = invitee.expect("invitation", event="added")
    assert (event["kind"], event["members"], "title" in event) == ("direct", 2, False)
    assert invitee.received("message") == [] and invitee.received("inbox") == []
    assert session.request("direct", user=bob)["room"] == room
    # The other person opens the same room, which accepts the invitation.
    assert invitee.request("direct", user=ann)["room"] == room
    assert invitee.expect("invitation", event="ended")["cause"] == "accepted"
    assert session.expect("member", user=bob)["memberCount"] == 2
    [entry] = invitee.request("rooms")["rooms"]
    assert (entry["unread"], entry["members"]["other"]["name"]) == (1, "Ann")
    assert session.request("rooms")["rooms"][0]["members"]["other"]["name"] == "Bob"
    # After the person has left, the room still shows both.
    invitee.request("leave", room=room)
    assert session.expect("member", user=bob, event="left")["memberCount"] == 2
    assert session.request("rooms")["rooms"][0]["members"]["count"] == 2
    assert session.join(room)["memberCount"] == 2
    # The two people share no other room, so Ann invites Bob again.
    session.request("direct", user=bob)
    assert invitee.expect("invitation", event="added")["room"] == room
    assert members(relay, room) == [ann]


# The setting


@pytest.mark.parametrize("setting", ["all", "unknown", "none"])
def test_the_setting_decides_who_is_invited(start, connect, setting):
    relay = start("--rooms-invitations", setting)
    ann, bob, eve = connect(relay, "ann"), connect(relay, "bob"), connect(relay, "eve")
    for session in (ann, bob):
        session.join("tea")
    ann.request("create", room="books", members=["bob", "eve"])
    assert members(relay, "books") == {"all": ["ann"], "unknown": ["ann", "bob"], "none": ["ann", "bob", "eve"]}[setting]
    assert invited_rooms(bob) == (["books"] if setting == "all" else [])
    assert invited_rooms(eve) == ([] if setting == "none" else ["books"])
    # A room that stores nothing is no shared room, and a backend invites nobody.
    for session in (ann, eve):
        session.join("live.hall")
    ann.request("create", room="den", members=["eve"])
    assert (members(relay, "den") == ["ann", "eve"]) == (setting == "none")
    made = call(relay, "POST", "/v1/rooms", {"room": "office", "owner": "ann", "members": ["eve"]})
    assert made.status == 201 and members(relay, "office") == ["ann", "eve"]


# Names


def test_replies_do_not_say_if_a_name_belongs_to_a_user(connect, names, room):
    ann, bob, nobody = names("ann", "bob", "nobody")
    session = connect(ann)
    connect(bob, name="Bob").close()

    def transcript(user, room):
        """All that Ann sees of the user. The name of the user is replaced."""
        made = session.request("create", room=room, members=[user])
        added = session.request("add", room=room, user=user)
        pair = session.request("direct", user=user)
        joined = session.join(pair["room"])
        sent = session.send(pair["room"], "hi")
        frames = [
            made, added, session.request("room", room=room), session.join(room)["members"], pair,
            {"members": joined["members"], "memberCount": joined["memberCount"]}, sent,
            session.request("room", room=pair["room"]),
            [entry for entry in session.request("rooms")["rooms"] if entry["room"] == pair["room"]],
        ]  # fmt: skip
        text = json.dumps(frames)
        for name in (pair["room"], room, user):
            text = text.replace(name, "X")
        return without_times(json.loads(text))

    assert transcript(bob, f"{room}-1") == transcript(nobody, f"{room}-2")


def without_times(frames):
    """Removes the values that differ in each reply."""
    if isinstance(frames, list):
        return [without_times(frame) for frame in frames]
    if isinstance(frames, dict):
        return {
            key: without_times(value)
            for key, value in frames.items()
            if key not in ("id", "time", "created", "epoch", "lastSeen", "position")
        }
    return frames


def test_made_up_names_leave_no_rows(relay, connect, names, room):
    ann, bob, *made_up = names("ann", "bob", *(f"nobody-{number}" for number in range(5)))
    session, invitee = connect(ann), connect(bob)
    session.request("create", room=room, members=[bob, *made_up])
    assert value(relay, "SELECT count(*) FROM invitations JOIN rooms ON rooms.id = room WHERE name = ?", room) == 6
    assert value(relay, "SELECT count(*) FROM users WHERE name IN (?, ?)", *made_up[:2]) == 0
    session.request("leave", room=room)
    assert invitee.expect("invitation", event="ended")["cause"] == "withdrawn"
    assert invitee.refusal("acceptInvitation", room=room)["code"] == "not_found"
    eventually(lambda: value(relay, "SELECT count(*) FROM invitations WHERE user IN (?, ?)", bob, made_up[0]) == 0)
    assert value(relay, "SELECT count(*) FROM rooms WHERE name = ?", room) == 0


def test_a_room_with_messages_ends_with_its_last_invitation(relay, connect, names, room):
    ann, bob, cid = names("ann", "bob", "cid")
    session, first, last = connect(ann), connect(bob), connect(cid)
    session.request("create", room=room, members=[bob, cid])
    session.join(room)
    session.send(room, "hi")
    session.request("leave", room=room)
    assert invited_rooms(first) == [room]
    stored = value(relay, "SELECT id FROM rooms WHERE name = ?", room)
    first.request("declineInvitation", room=room)
    assert call(relay, "GET", f"/v1/rooms/{room}").status == 200
    last.request("declineInvitation", room=room)
    assert call(relay, "GET", f"/v1/rooms/{room}").status == 404
    eventually(lambda: value(relay, "SELECT count(*) FROM messages WHERE room = ?", stored) == 0)
    eventually(lambda: value(relay, "SELECT count(*) FROM rooms WHERE id = ?", stored) == 0)


def test_an_invitation_of_an_unused_name_ends_after_a_week(start, connect):
    relay = start(configuration=SHORT)
    ann, bob = connect(relay, "ann"), connect(relay, "bob")
    bob.close()
    ann.request("create", room="books", members=["bob", "late", "nobody"])
    ann.join("books")
    ann.send("books", "hi")
    ann.request("leave", room="books")
    pair = ann.request("direct", user="nobody")["room"]
    ann.join(pair)
    ann.send(pair, "hi")
    ann.request("leave", room=pair)
    week = 7 * 86_400_000


    def ends():
        return rows(relay, "SELECT user, expires FROM invitations WHERE expires IS NOT NULL ORDER BY user, id")

    eventually(lambda: [user for user, _ in ends()] == ["late", "nobody", "nobody"])
    assert all(end >= week for _, end in ends())
    # A user who connects before the end keeps the invitation.
    assert connect(relay, "late").welcome["invitations"] == 1
    eventually(lambda: [user for user, _ in ends()] == ["nobody", "nobody"])
    relay.kill()
    execute(relay, "UPDATE invitations SET expires = 0 WHERE expires IS NOT NULL")
    relay.start()
    eventually(lambda: rows(relay, "SELECT user FROM invitations ORDER BY user") == [("bob",), ("late",)])
    # The direct room had no member and no other invitation.
    eventually(lambda: value(relay, "SELECT count(*) FROM rooms") == 1)
    assert metrics(relay)["stillwire_invitations_total{expired}"] == 2
    assert invited_rooms(connect(relay, "bob")) == ["books"]


def test_a_thousand_made_up_names_leave_no_rows_after_a_week(start, connect, tmp_path):
    """Ten users invite the names. Rooms with a message, and direct rooms, wait for the end of the invitations."""
    clock = Clock(tmp_path)
    relay = start(under=clock.under, configuration=SHORT)
    for user in range(10):
        session = connect(relay, f"user-{user}")
        made_up = [f"nobody-{user}-{number}" for number in range(100)]
        rooms = [f"silent-{user}", f"written-{user}"]
        for room, people in zip(rooms, (made_up[:45], made_up[45:90])):
            session.request("create", room=room, members=people)
        rooms += [session.request("direct", user=name)["room"] for name in made_up[90:]]
        for room in rooms[1::2]:
            session.join(room)
            session.send(room, "hi")
        for room in rooms:
            session.request("leave", room=room)
        session.close()
    assert value(relay, "SELECT count(*) FROM invitations") >= 450
    # The relay counts the time in which the machine was suspended.
    clock.suspend(7 * 86_400 + 1)
    tables = ("invitations", "rooms", "members", "messages", "details", "directs", "activity")

    def left():
        found = {table: value(relay, f"SELECT count(*) FROM {table}") for table in tables}
        return {table: count for table, count in found.items() if count}

    eventually(lambda: not left())
    assert rows(relay, "SELECT name FROM users ORDER BY name") == [(f"user-{user}",) for user in range(10)]


def test_a_request_with_a_token_is_a_use_of_the_name(start, connect, secret):
    relay = start(secret=secret)
    connect(relay, token=relay.token("ann")).request("create", room="books", members=["bob"])
    assert value(relay, "SELECT count(*) FROM invitations WHERE expires IS NOT NULL") == 1
    assert call(relay, "GET", "/v1/users/me/invitations", token=relay.token("bob")).status == 200
    eventually(lambda: value(relay, "SELECT count(*) FROM invitations WHERE expires IS NOT NULL") == 0)


# Limits


def test_nobody_fills_the_list_of_another_user(start, connect):
    """A stranger makes more groups with the user than the user may be a member of."""
    relay = start("--limits-rooms-per-user", 5, "--limits-new-people-per-day", 0)
    stranger, user, friend = connect(relay, "stranger"), connect(relay, "user"), connect(relay, "friend")
    for number in range(10):
        stranger.request("create", room=f"group-{number}", members=["user"])
        stranger.request("leave", room=f"group-{number}")
    assert user.join("tea")["memberCount"] == 1
    room = friend.request("direct", user="user")["room"]
    assert user.request("acceptInvitation", room=room)["memberCount"] == 2
    assert call(relay, "PUT", "/v1/rooms/office/members/user").status == 201


def test_a_limit_that_refuses_the_membership_keeps_the_invitation(start, connect):
    relay = start("--limits-rooms-per-user", 1)
    ann, bob = connect(relay, "ann"), connect(relay, "bob")
    ann.request("create", room="books", members=["bob"])
    bob.join("tea")
    for type in ("acceptInvitation", "join"):
        error = bob.refusal(type, room="books")
        assert (error["code"], "roomsPerUser" in error["message"]) == ("too_large", True)
    assert invited_rooms(bob) == ["books"]
    bob.request("leave", room="tea")
    assert bob.request("acceptInvitation", room="books")["memberCount"] == 2


def test_a_new_invitation_ends_the_oldest_above_the_limit(start, connect):
    relay = start("--limits-invitations", 2)
    bob = connect(relay, "bob")
    assert bob.welcome["limits"]["invitations"] == 2
    for number in range(3):
        connect(relay, f"user-{number}").request("create", room=f"room-{number}", members=["bob"])
    assert bob.expect("invitation", event="ended", room="room-0")["cause"] == "replaced"
    assert invited_rooms(bob) == ["room-2", "room-1"]
    assert bob.refusal("acceptInvitation", room="room-0")["code"] == "not_found"


def test_a_user_invites_a_limited_number_of_people_in_a_day(start, connect):
    relay = start("--limits-new-people-per-day", 3)
    ann = connect(relay, "ann")
    assert ann.welcome["limits"]["newPeoplePerDay"] == 3
    error = ann.refusal("create", members=[f"user-{number}" for number in range(4)])
    assert (error["code"], "newPeoplePerDay" in error["message"]) == ("too_large", True)
    ann.request("create", room="books", members=["user-1", "user-2"])
    ann.request("direct", user="user-1")
    for type, fields in (("direct", {"user": "user-3"}), ("add", {"room": "books", "user": "user-3"})):
        error = ann.refusal(type, **fields)
        assert (error["code"], "newPeoplePerDay" in error["message"]) == ("rate_limited", True)
        assert 80_000 < error["retryAfter"] <= 86_400
    # A user who is invited already is no new one.
    assert ann.request("add", room="books", user="user-1")["invited"] is True
    assert connect(relay, "bob").request("create", members=["user-3"])


def test_a_room_has_at_most_1000_open_invitations(start, connect):
    relay = start()
    connect(relay, "ann").request("create", room="books")
    relay.kill()
    execute(
        relay,
        """
        WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers LIMIT 999)
        INSERT INTO invitations (room, user, inviter, time, seq, is_hidden, is_undecided)
        SELECT rooms.id, 'user-' || number, users.id, 0, 0, 0, 0
        FROM rooms, users, numbers WHERE rooms.name = 'books' AND users.name = 'ann'
        """,
    )
    relay.start()
    ann = connect(relay, "ann")
    assert ann.request("add", room="books", user="the-last")["invited"] is True
    error = ann.refusal("add", room="books", user="one-more")
    assert (error["code"], "invitedUsers" in error["message"]) == ("too_large", True)
    assert len(ann.request("room", room="books")["invited"]) == 100
    assert ann.request("room", room="books")["invited"][0]["user"] == "the-last"


def test_the_list_has_pages(connect, names):
    (bob,) = names("bob")
    invitee = connect(bob)
    made = []
    for name in names("ann", "cid", "eve"):
        made.append(connect(name).request("create", members=[bob])["room"])
    first = invitee.request("invitations", limit=2)
    assert [entry["room"] for entry in first["invitations"]] == made[:0:-1]
    last = invitee.request("invitations", limit=2, after=first["next"])
    assert ([entry["room"] for entry in last["invitations"]], "next" in last) == (made[:1], False)
    for wrong in ({"limit": 0}, {"limit": 101}, {"after": "x"}, {"after": 1}):
        assert invitee.refusal("invitations", **wrong)["code"] == "bad_request"


# Blocks


def test_a_blocked_user_sees_no_difference(relay, connect, names, room):
    """With invitations for all users, the replies are the same with and without the block."""
    ann, bob, cid = names("ann", "bob", "cid")
    session, blocker, other = connect(ann), connect(bob), connect(cid)
    blocker.request("block", users=[ann])

    def transcript(user, room):
        made = session.request("create", room=room, members=[user], join="invited")
        added = session.request("add", room=room, user=user)
        pair = session.request("direct", user=user)
        frames = [made, added, session.request("room", room=room), pair]
        removed = session.request("remove", room=room, user=user)
        frames += [removed, session.request("room", room=room), session.request("add", room=room, user=user)]
        text = json.dumps(frames)
        for name in (pair["room"], room, user):
            text = text.replace(name, "X")
        return without_times(json.loads(text))

    assert transcript(bob, f"{room}-1") == transcript(cid, f"{room}-2")
    assert invited(session, f"{room}-1") == [bob]
    assert len(invited_rooms(other)) == 2
    # The user who has blocked the inviter sees nothing.
    blocker.request("ping")
    assert blocker.inbox == [] and invitations(blocker) == []
    assert "invitations" not in connect(bob).welcome
    for _ in range(2):
        assert blocker.refusal("acceptInvitation", room=f"{room}-1")["code"] == "not_found"
        assert blocker.refusal("join", room=f"{room}-1")["code"] == "forbidden"
        # The end of the block does not show the invitation.
        blocker.request("unblock", users=[ann])
    assert invitations(blocker) == []


def test_a_block_ends_the_invitations_and_the_inviter_sees_no_change(connect, names, room):
    ann, bob = names("ann", "bob")
    session, invitee, tablet = connect(ann), connect(bob), connect(bob)
    session.request("create", room=room, members=[bob])
    invitee.expect("invitation", event="added")
    invitee.request("block", users=[ann])
    for receiver in (invitee, tablet):
        assert receiver.expect("invitation", event="ended")["cause"] == "blocked"
    assert invitations(invitee) == []
    assert invited(session, room) == [bob]
    session.request("remove", room=room, user=bob)
    assert invited(session, room) == []
    invitee.request("ping")
    assert invitee.received("invitation") == []


def test_hidden_invitations_do_not_replace_others(start, connect):
    relay = start("--limits-invitations", 1)
    bob, ann = connect(relay, "bob"), connect(relay, "ann")
    ann.request("create", room="books", members=["bob"])
    bob.request("block", users=["eve"])
    eve = connect(relay, "eve")
    for number in range(2):
        eve.request("create", room=f"room-{number}", members=["bob"])
    assert invited_rooms(bob) == ["books"]
    assert (invited(eve, "room-0"), invited(eve, "room-1")) == ([], ["bob"])


# HTTP and tokens


def test_the_requests_over_http(start, secret, api_keys, backend):
    relay = start("--api-keys-file", api_keys, secret=secret)
    ann, bob = relay.token("ann"), relay.token("bob", rooms=None)
    for room in ("tea", "books"):
        assert call(relay, "POST", "/v1/rooms", {"room": room, "owner": "ann"}, token=backend).status == 201
    path = "/v1/rooms/tea/members/bob"
    first = call(relay, "PUT", path, b"", token=ann)
    assert (first.status, first.json) == (201, {"room": "tea", "user": "bob", "invited": True})
    assert call(relay, "PUT", path, b"", token=ann).status == 200
    assert call(relay, "PUT", "/v1/rooms/books/members/bob", b"", token=ann).status == 201
    own = "/v1/users/me/invitations"
    page = call(relay, "GET", f"{own}?limit=1", token=bob).json
    assert [entry["room"] for entry in page["invitations"]] == ["books"]
    page = call(relay, "GET", f"{own}?limit=1&after={page['next']}", token=bob).json
    assert [entry["room"] for entry in page["invitations"]] == ["tea"] and "next" not in page
    assert call(relay, "GET", "/v1/users/bob/invitations", token=ann).status == 403
    assert call(relay, "GET", "/v1/users/bob/invitations", token=backend).json["invitations"][1]["room"] == "tea"
    # A token without rights in rooms gives the rights of a member to an invited user.
    accepted = call(relay, "POST", f"{own}/tea/accept", token=bob)
    assert (accepted.status, accepted.json["memberCount"]) == (201, 2)
    assert call(relay, "POST", f"{own}/tea/accept", token=bob).status == 200
    assert call(relay, "POST", f"{own}/none/accept", token=bob).status in (403, 404)
    # A token whose rights lack `join` cannot accept, but decline.
    reader = relay.token("bob", rooms=[{"match": "books", "can": ["history"]}])
    assert call(relay, "POST", f"{own}/books/accept", token=reader).status == 403
    assert call(relay, "DELETE", f"{own}/books", token=reader).status == 204
    assert call(relay, "GET", own, token=bob).json["invitations"] == []
    # They share a room, so the user is a member at once. A backend invites nobody.
    assert "invited" not in call(relay, "PUT", "/v1/rooms/books/members/bob", b"", token=ann).json
    assert "invited" not in call(relay, "PUT", "/v1/rooms/tea/members/eve", b"", token=backend).json


# Pushes


def alerts(phone):
    return [notification["payload"] for notification in phone.notifications()]


@pytest.fixture
def away(relay, connect, names):
    """Bob, who has a phone and no session."""
    (bob,) = names("bob")
    session = connect(bob)
    person = Person(relay, bob)
    person.register()
    session.close(1000)
    eventually(lambda: call(relay, "GET", f"/v1/users/{bob}/presence").json["online"] is False)
    return person


def test_an_invitation_is_one_push_and_its_end_removes_it(connect, names, room, away):
    ann, cid = names("ann", "cid")
    session, other = connect(ann, name="Ann"), connect(cid)
    session.request("create", room=room, title="Books", members=[away.user])
    [payload] = eventually(lambda: alerts(away.phone))
    alert = {"title": "Ann", "loc-key": "%@ invites you to %@", "loc-args": ["Ann", "Books"]}
    assert payload["aps"]["alert"] == alert and payload["aps"]["interruption-level"] == "active"
    assert "badge" not in payload["aps"] and "message" not in payload and "communication" not in payload
    assert payload["invitation"] == {"room": room, "kind": "group", "title": "Books"}
    assert payload["push"]["replaces"] == {"room": room, "seq": 0}
    # Messages of the room have no push, and neither has a second invitation by the same user.
    session.join(room)
    session.send(room, {"text": "secret"})
    session.request("create", room=f"{room}-2", members=[away.user])
    pair = other.request("direct", user=away.user)["room"]
    other.join(pair)
    other.send(pair, {"text": "secret"})
    eventually(lambda: len(alerts(away.phone)) == 2)
    last = alerts(away.phone)[1]
    assert (last["aps"]["alert"]["loc-key"], last["invitation"]["kind"]) == ("%@ wants to write to you", "direct")
    assert "secret" not in json.dumps(alerts(away.phone))
    # The end of an invitation removes its notification.
    session.request("remove", room=room, user=away.user)
    eventually(lambda: [payload["invitation"]["room"] for payload in alerts(away.phone)] == [pair])


def test_the_event_in_an_active_session_is_enough(relay, connect, names, room):
    ann, bob, cid = names("ann", "bob", "cid")
    session, invitee = connect(ann), connect(bob)
    phone = Person(relay, bob).register()
    session.request("create", room=room, members=[bob])
    invitee.expect("invitation")
    # A push to another user shows that the decision is made.
    other = Person(relay, cid)
    connect(cid).close(1000)
    other.register()
    connect(f"{ann}-2").request("create", members=[cid])
    eventually(lambda: alerts(other.phone))
    eventually(lambda: value(relay, "SELECT is_undecided FROM invitations WHERE user = ?", bob) == 0)
    assert alerts(phone) == []


def test_a_focus_holds_the_push_and_the_end_of_the_invitation_cancels_it(relay, connect, names, room, away):
    away.prefer(onFocus="hold")
    away.focus(True)
    ann, cid = names("ann", "cid")
    first, second = connect(ann), connect(cid)
    first.request("create", room=room, members=[away.user])
    second.request("create", room=f"{room}-2", members=[away.user])

    def pushes(state):
        return call(relay, "GET", f"/v1/pushes?user={away.user}&state={state}").json["pushes"]

    eventually(lambda: len(pushes("held")) == 2)
    first.request("remove", room=room, user=away.user)
    eventually(lambda: len(pushes("held")) == 1)
    explained = call(relay, "GET", f"/v1/pushes/{pushes('held')[0]['id']}").json["explanation"]
    assert explained["decision"]["reasons"][0]["code"] == "focused"
    away.focus(False)
    [payload] = eventually(lambda: alerts(away.phone))
    assert payload["invitation"]["room"] == f"{room}-2"


def test_a_user_gets_ten_pushes_of_invitations_in_a_day(relay, connect, names, away):
    for name in names(*(f"user-{number}" for number in range(11))):
        connect(name).request("create", members=[away.user])
    eventually(lambda: len(alerts(away.phone)) == 10)
    eventually(lambda: value(relay, "SELECT sum(is_undecided) FROM invitations WHERE user = ?", away.user) == 0)
    assert len(alerts(away.phone)) == 10


def test_a_push_that_is_not_decided_is_decided_after_a_restart(start, connect):
    relay = start("--presence-grace", 5 * SLOW, "--presence-reconnect", 0)
    bob = connect(relay, "bob")
    person = Person(relay, "bob")
    person.register()
    # The relay waits for the return of a user whose connection is lost.
    bob.drop()
    connect(relay, "ann").request("create", room="books", members=["bob"])
    assert value(relay, "SELECT is_undecided FROM invitations") == 1
    relay.kill()
    relay.start()
    [payload] = eventually(lambda: alerts(person.phone))
    assert payload["invitation"]["room"] == "books"
    assert value(relay, "SELECT is_undecided FROM invitations") == 0


def test_the_metrics_count_invitations(start, connect):
    relay = start()
    ann, bob = connect(relay, "ann"), connect(relay, "bob")
    ann.request("create", room="books", members=["bob", "eve"])
    ann.request("remove", room="books", user="eve")
    bob.request("acceptInvitation", room="books")
    found = metrics(relay)
    outcomes = {name: found[f"stillwire_invitations_total{{{name}}}"] for name in ("made", "accepted", "withdrawn")}
    assert outcomes == {"made": 2, "accepted": 1, "withdrawn": 1}


def test_no_sender_requests_a_push_of_the_kind_invitation(relay):
    assert call(relay, "POST", "/v1/rooms", {"room": "tea", "owner": "ann"}).status == 201
    answer = call(relay, "POST", "/v1/rooms/tea/messages", {"from": "ann", "body": 1, "push": {"kind": "invitation"}})
    assert (answer.status, answer.problem["at"]) == (422, "/push/kind")
