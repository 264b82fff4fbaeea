# SPDX-License-Identifier: Apache-2.0
"""The list of a user's rooms."""

import pytest

from api import call
from waiting import eventually


@pytest.fixture
def rooms(names):
    return names("one", "two", "three")


def listed(session, **fields):
    return session.request("rooms", **fields)


def entry(session, room):
    found = [entry for entry in listed(session)["rooms"] if entry["room"] == room]
    return found[0] if found else None


def test_the_newest_activity_is_first_and_an_entry_has_the_state_of_the_room(relay, connect, names, rooms):
    ann, bob = names("ann", "bob")
    session, phone = connect(ann), connect(bob)
    for room in rooms:
        session.request("create", room=room, title=f"Room {room}", members=[bob])
    session.join(rooms[0])
    session.send(rooms[0], {"text": "Kettle is on"})
    reply = listed(phone)
    assert [entry["room"] for entry in reply["rooms"]] == [rooms[0], rooms[2], rooms[1]]
    first = reply["rooms"][0]
    assert (first["kind"], first["title"], first["members"]) == ("group", f"Room {rooms[0]}", {"count": 2})
    assert (first["unread"], first["mentions"], first["muted"], first["read"]) == (1, 0, False, 0)
    last = first["lastMessage"]
    assert (last["seq"], last["from"], last["preview"]) == (1, ann, "Kettle is on")
    assert "preview" not in listed(phone, preview="none")["rooms"][0]["lastMessage"]
    assert "lastMessage" not in reply["rooms"][1]
    direct = session.request("direct", user=bob)["room"]
    assert entry(phone, direct)["members"] == {"count": 2, "other": {"user": ann}}
    # Both transports give the same list.
    over_http = call(relay, "GET", f"/v1/users/{bob}/rooms")
    assert over_http.status == 200
    assert over_http.json["rooms"] == listed(phone)["rooms"]


def test_a_read_mark_and_a_muted_room_show_in_the_list(connect, names, rooms):
    ann, bob = names("ann", "bob")
    session, phone = connect(ann), connect(bob)
    room = rooms[0]
    phone.join(room)
    session.join(room)
    for text in ("one", "two"):
        session.send(room, text, mentions=[bob])
    assert (entry(phone, room)["unread"], entry(phone, room)["mentions"]) == (2, 2)
    phone.request("read", room=room, seq=1)
    eventually(lambda: entry(phone, room)["unread"] == 1)
    phone.request("preferences", rooms={room: {"level": "none"}})
    assert (entry(phone, room)["muted"], entry(phone, room)["read"]) == (True, 1)


def test_each_room_is_in_a_page_although_rooms_move(connect, names):
    ann, bob = names("ann", "bob")
    session, phone = connect(ann), connect(bob)
    names_of_rooms = names(*(f"r{number}" for number in range(7)))
    for room in names_of_rooms:
        session.request("create", room=room, members=[bob])
    session.join(names_of_rooms[0])
    seen, reply = {}, listed(phone, limit=3)
    while True:
        seen.update({entry["room"]: entry for entry in reply["rooms"]})
        if "next" not in reply:
            break
        if len(seen) == 3:
            # The oldest room moves above the pages that the client has read.
            session.send(names_of_rooms[0], "moved")
        reply = listed(phone, limit=3, after=reply["next"])
    assert set(seen) == set(names_of_rooms)
    assert seen[names_of_rooms[0]]["lastMessage"]["preview"] == "moved"
    # The position after the last page has all of these changes.
    assert listed(phone, since=reply["position"])["rooms"] == []


def test_the_changes_since_a_position_are_complete_or_reset(connect, names, rooms):
    ann, bob = names("ann", "bob")
    session, phone = connect(ann), connect(bob)
    for room in rooms:
        session.request("create", room=room, members=[bob])
    position = listed(phone)["position"]
    assert listed(phone, since=position)["rooms"] == []
    session.request("update", room=rooms[1], title="Tea")
    changes = listed(phone, since=position)
    assert [(entry["room"], entry.get("title")) for entry in changes["rooms"]] == [(rooms[1], "Tea")]
    assert "reset" not in changes
    session.request("remove", room=rooms[2], user=bob)
    changes = listed(phone, since=changes["position"])
    assert changes["reset"] is True
    assert {entry["room"] for entry in changes["rooms"]} == {rooms[0], rooms[1]}


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"after": "x"}, "after"),
        ({"since": "0.7.5"}, "since"),
        ({"since": "x" * 129}, "since"),
        ({"after": "0.7", "since": "0.7"}, "exclude"),
        ({"preview": "all"}, "preview"),
    ],
)
def test_a_wrong_field_is_refused(connect, names, fields, message):
    refusal = connect(names("ann")[0]).refusal("rooms", **fields)
    assert refusal["code"] == "bad_request"
    assert message in refusal["message"]


def test_a_user_without_rooms_has_an_empty_list(connect, names):
    reply = listed(connect(names("ann")[0]))
    assert reply["rooms"] == [] and "next" not in reply
