# SPDX-License-Identifier: Apache-2.0
"""Members, read marks and sessions over HTTP, and the events that sessions receive."""

import http.client

import pytest

from api import call
from database import rows, value
from relay import DEADLINE
from waiting import eventually


@pytest.fixture
def room(names):
    return names("room")[0]


def put_member(relay, room, user):
    return call(relay, "PUT", f"/v1/rooms/{room}/members/{user}", b"", user="operator")


def listed(relay, room, **query):
    arguments = "&".join(f"{key}={value}" for key, value in query.items())
    return call(relay, "GET", f"/v1/rooms/{room}/members?{arguments}", user="operator")


def test_an_added_user_is_a_member_that_the_others_see(relay, connect, names, room):
    ann, bob = names("ann", "bob")
    session = connect(ann)
    session.join(room)
    session.send(room, "before")
    answer = put_member(relay, room, bob)
    assert answer.status == 201
    assert answer.json == {"room": room, "user": bob, "seq": 1, "read": 1, "memberCount": 2} | {
        "epoch": answer.json["epoch"]
    }
    assert session.expect("member", user=bob)["event"] == "joined"
    assert session.expect("presence", user=bob)["online"] is False
    again = put_member(relay, room, bob)
    assert (again.status, again.json) == (200, answer.json)
    assert session.received("member") == []
    assert connect(bob).join(room, after={"epoch": answer.json["epoch"], "seq": 0})["recovered"]


def test_the_first_member_creates_the_room(relay, connect, names, room):
    ann, bob = names("ann", "bob")
    assert listed(relay, room).status == 404
    assert put_member(relay, room, ann).status == 201
    assert [entry["user"] for entry in listed(relay, room).json["members"]] == [ann]
    assert connect(bob).join(room)["memberCount"] == 2


def test_a_room_without_history_refuses_an_absent_member(relay, names):
    room, ann = names("live.room", "ann")
    assert put_member(relay, room, ann).status == 422
    assert listed(relay, room).status == 404


def test_a_session_of_a_new_member_receives_nothing_before_it_joins(relay, connect, names, room):
    ann, bob = names("ann", "bob")
    session, other = connect(ann), connect(bob)
    session.join(room)
    put_member(relay, room, bob)
    session.send(room, "hello")
    assert other.received("message") == []
    assert other.join(room, history=10)["messages"][0]["body"] == "hello"


def test_a_removed_member_is_removed_in_all_sessions(relay, connect, names, room):
    ann, bob = names("ann", "bob")
    session, one, two = connect(ann), connect(bob), connect(bob)
    for each in (session, one, two):
        each.join(room)
    for status in (204, 204):
        assert call(relay, "DELETE", f"/v1/rooms/{room}/members/{bob}", user="operator").status == status
    for each in (session, one, two):
        assert each.expect("member", user=bob, event="removed")["memberCount"] == 1
    assert one.refusal("send", room=room, body=1)["code"] == "not_joined"
    assert [entry["user"] for entry in listed(relay, room).json["members"]] == [ann]


def test_removing_a_member_of_an_unknown_room_is_not_found(relay, room):
    assert call(relay, "DELETE", f"/v1/rooms/{room}/members/ann", user="operator").status == 404


def test_members_are_listed_in_pages_with_their_presence(relay, connect, names, room):
    people = sorted(names(*(f"user{i}" for i in range(25))))
    for person in people[1:]:
        put_member(relay, room, person)
    connect(people[0], name="First").join(room)
    found, page = [], {"more": True}
    while page["more"]:
        page = listed(relay, room, limit=10, **({"after": found[-1]["user"]} if found else {})).json
        assert (page["memberCount"], page["onlineCount"]) == (25, 1)
        found += page["members"]
    assert [entry["user"] for entry in found] == people
    assert (found[0]["name"], found[0]["online"]) == ("First", True)
    assert not any(entry["online"] for entry in found[1:])
    assert len(listed(relay, room).json["members"]) == 25
    assert len(listed(relay, room, limit=25).json["members"]) == 25
    assert listed(relay, room, limit=25).json["more"] is False
    assert listed(relay, room, after=people[-1]).json["members"] == []


def test_a_large_room_is_listed_as_well(start, connect):
    relay = start("--limits-member-list", "2")
    session = connect(relay, "ann")
    session.join("room")
    for user in ("bob", "carol", "dave"):
        put_member(relay, "room", user)
    assert session.refusal("presence", room="room")["code"] == "too_large"
    assert [entry["user"] for entry in listed(relay, "room").json["members"]] == ["ann", "bob", "carol", "dave"]


@pytest.mark.parametrize("query", ["limit=x", "limit=", "limit=1&limit=2", "after=a%20b"])
def test_a_wrong_argument_is_named(relay, room, query):
    put_member(relay, room, "ann")
    answer = call(relay, "GET", f"/v1/rooms/{room}/members?{query}", user="operator")
    assert (answer.status, answer.problem["at"]) == (422, f"/query/{query.partition('=')[0]}")


def test_arguments_that_are_not_known_are_ignored(relay, room):
    put_member(relay, room, "ann")
    assert listed(relay, room, color="red", before="x").status == 200


def test_the_members_of_a_room_outlive_the_relay(start):
    relay = start()
    put_member(relay, "room", "bob")
    relay.stop()
    relay.start()
    assert [entry["user"] for entry in listed(relay, "room").json["members"]] == ["bob"]


# Read marks


def put_read(relay, room, user, seq):
    return call(relay, "PUT", f"/v1/rooms/{room}/read", {"user": user, "seq": seq}, user="operator")


def test_a_read_mark_rises_and_reaches_the_users_own_sessions(relay, connect, names, room):
    ann, bob = names("ann", "bob")
    session, reader = connect(ann), connect(bob)
    reader.join(room)
    session.join(room)
    for i in range(3):
        session.send(room, i)
    assert put_read(relay, room, bob, 2).json == {"room": room, "read": 2}
    assert reader.expect("receipt", kind="read", user=bob)["seq"] == 2
    assert put_read(relay, room, bob, 1).json["read"] == 2
    assert put_read(relay, room, bob, 3).json["read"] == 3
    assert connect(bob).join(room)["read"] == 3


def test_a_mark_above_the_newest_is_refused(relay, connect, names, room):
    (ann,) = names("ann")
    connect(ann).join(room)
    answer = put_read(relay, room, ann, 1)
    assert (answer.status, answer.problem["at"]) == (422, "/seq")


def test_a_user_who_is_not_a_member_has_no_mark(relay, connect, names, room):
    ann, bob = names("ann", "bob")
    connect(ann).join(room)
    answer = put_read(relay, room, bob, 0)
    assert (answer.status, answer.problem["code"]) == (403, "not_joined")
    assert put_read(relay, f"{room}-other", bob, 0).status == 404


def test_a_message_that_was_read_over_http_is_not_pushed(relay, connect, names, room, phone):
    """Bob's app is open and idle, so the push waits. Then Bob reads the message on another device."""
    ann, bob = names("ann", "bob")
    session, reader = connect(ann), connect(bob, acks=True, activity="idle")
    mobile = phone(relay, reader)
    for each in (session, reader):
        each.join(room)
    first = session.send(room, {"text": "read elsewhere"})["seq"]
    assert put_read(relay, room, bob, first).status == 200
    reader.close()
    session.send(room, {"text": "not read"})
    mobile.ring("not read")
    assert len(mobile.notifications()) == 1


# Sessions


def disconnect(relay, user, body=b""):
    return call(relay, "POST", f"/v1/users/{user}/disconnect", body, user="operator")


def test_all_sessions_of_a_user_end_with_4506(relay, connect, names, room):
    ann, bob = names("ann", "bob")
    one, two, other = connect(ann), connect(ann), connect(bob)
    other.join(room)
    assert disconnect(relay, ann).json == {"sessions": 2}
    for session in (one, two):
        assert session.closed() == 4506
        assert session.inbox[-1].fits("bye", {"code": 4506, "reason": "closed by an operator"})
        assert session.inbox[-1]["reconnect"] is False
    assert disconnect(relay, ann).json == {"sessions": 0}
    assert other.received("bye") == []
    connect(ann).join(room)


def test_the_reason_reaches_the_session(relay, connect, names):
    (ann,) = names("ann")
    session = connect(ann)
    assert disconnect(relay, ann, {"reason": "é" * 61}).json == {"sessions": 1}
    assert session.closed() == 4506
    assert session.inbox[-1]["reason"] == "é" * 61
    assert disconnect(relay, ann, {"reason": "é" * 62}).problem["at"] == "/reason"


def test_an_unknown_user_has_no_sessions(relay, names):
    assert disconnect(relay, names("nobody")[0]).json == {"sessions": 0}


UNLIMITED = [
    argument
    for name in ("send-rate", "request-rate", "rooms-per-session", "rooms-per-user")
    for argument in (f"--limits-{name}", "0")
]


class Putter:
    """Adds members to rooms on one connection, and reads the answers later."""

    def __init__(self, relay):
        self._connection = http.client.HTTPConnection("127.0.0.1", relay.port, timeout=DEADLINE)

    def begin(self, room, user):
        headers = {"X-Stillwire-User": "operator", "Content-Length": "0"}
        self._connection.request("PUT", f"/v1/rooms/{room}/members/{user}", headers=headers)

    def end(self):
        response = self._connection.getresponse()
        response.read()
        assert response.status == 201

    def close(self):
        self._connection.close()


def undecided(relay):
    """Returns the number of rooms with undecided pushes."""
    return value(relay, "SELECT count(*) FROM rooms WHERE cursor < seq")


def without_a_push(relay, user):
    """Returns the rooms with a message that the stored member has not read and that has no push job for the member."""
    return rows(
        relay,
        """
        SELECT rooms.name FROM members JOIN rooms ON rooms.id = members.room
        JOIN users ON users.id = members.user
        WHERE users.name = ? AND members.read < rooms.seq
          AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.room = rooms.id AND jobs.user = users.id)
        """,
        user,
    )


def test_a_message_right_behind_a_join_is_pushed_to_the_new_member(start, connect, phone):
    relay = start("--presence-grace", "0", *UNLIMITED)
    ann = connect(relay, "ann")
    bob = connect(relay, "bob")
    phone(relay, bob)
    # The relay keeps Bob in memory, so that his join does not read the store.
    bob.join("known")
    bob.close()
    rooms = [f"room-{number}" for number in range(400)]
    for id in [ann.begin("join", room=room) for room in rooms]:
        ann.reply(id)
    putter = Putter(relay)
    for room in rooms:
        putter.begin(room, "bob")
        sent = ann.begin("send", room=room, body="hello")
        putter.end()
        ann.reply(sent)
    putter.close()

    eventually(lambda: undecided(relay) == 0)
    assert without_a_push(relay, "bob") == []
