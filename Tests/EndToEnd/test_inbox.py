# SPDX-License-Identifier: Apache-2.0
"""The list of a user's rooms, and its events."""

import time

import pytest

from api import call
from client import Refused
from waiting import eventually

# The users of these tests share no room, and become members at once.
RELAY_OPTIONS = ("--rooms-invitations", "none")


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


def test_a_wrong_field_is_refused(connect, names):
    """`BadFieldsTests` has all cases."""
    refusal = connect(names("ann")[0]).refusal("rooms", after="0.7", since="0.7")
    assert refusal["code"] == "bad_request"
    assert "exclude" in refusal["message"]


def test_a_user_without_rooms_has_an_empty_list(connect, names):
    reply = listed(connect(names("ann")[0]))
    assert reply["rooms"] == [] and "next" not in reply


# Events


def subscribed(connect, user, **inbox):
    return connect(user, inbox=inbox or True)


def changed(session, room, **fields):
    """Waits for an entry of the room with these fields."""

    def fits(frame):
        return frame.fits("inbox", {"event": "changed", "room": room} | fields)

    return session._next(fits, f"an entry of {room} with {fields}")


@pytest.fixture
def pair(connect, names):
    """Ann, who has created a room with Bob and joined it, Bob's name, and the room."""
    ann, bob, room = names("ann", "bob", "room")
    session = connect(ann)
    session.request("create", room=room, title="Tea", members=[bob])
    session.join(room)
    return session, bob, room


def test_a_message_in_a_room_that_is_not_joined_is_an_event(connect, pair):
    session, bob, room = pair
    phone, other, tablet = subscribed(connect, bob), subscribed(connect, bob, preview="none"), connect(bob)
    assert phone.welcome["inbox"].keys() == {"position"}
    assert "inbox" not in tablet.welcome
    session.send(room, {"text": "Kettle is on"}, mentions=[bob])
    event = changed(phone, room, unread=1)
    assert (event["mentions"], event["read"], event["title"]) == (1, 0, "Tea")
    assert (event["lastMessage"]["seq"], event["lastMessage"]["preview"]) == (1, "Kettle is on")
    assert entry(phone, room).items() <= event.items()
    assert "preview" not in changed(other, room, unread=1)["lastMessage"]
    assert tablet.received("inbox") == []


def test_a_room_that_the_session_has_joined_has_no_events(connect, names, pair):
    session, bob, room = pair
    other = names("other")[0]
    session.request("create", room=other, members=[bob])
    session.join(other)
    phone = subscribed(connect, bob)
    phone.join(room)
    session.send(room, "joined")
    phone.expect("message", room=room)
    session.send(other, "not joined")
    changed(phone, other, unread=1)
    assert [event for event in phone.received("inbox") if event["room"] == room and event["unread"]] == []


def test_a_burst_becomes_a_few_events_and_the_last_state_wins(connect, pair):
    session, bob, room = pair
    phone = subscribed(connect, bob)
    begin = time.monotonic()
    for number in range(60):
        session.send(room, number)
    last = changed(phone, room, unread=60)
    seconds = time.monotonic() - begin
    assert last["lastMessage"]["seq"] == 60
    events = [event for event in phone.inbox if event.fits("inbox", {"room": room})]
    # One at once, and one in each second.
    assert len(events) + 1 <= seconds + 2
    assert [event["unread"] for event in events] == sorted(event["unread"] for event in events)


def test_a_read_mark_of_another_session_is_an_event(connect, pair):
    session, bob, room = pair
    session.send(room, "one")
    phone, tablet = subscribed(connect, bob), connect(bob)
    tablet.join(room)
    tablet.request("read", room=room, seq=1)
    assert changed(phone, room, read=1)["unread"] == 0


def test_the_begin_and_the_end_of_a_membership_and_a_title_are_events(connect, names, pair):
    session, bob, room = pair
    phone = subscribed(connect, bob)
    other = names("other")[0]
    session.request("create", room=other, title="One", members=[bob])
    assert changed(phone, other, title="One")["members"] == {"count": 2}
    session.request("update", room=other, title="Two")
    changed(phone, other, title="Two")
    session.request("remove", room=other, user=bob)
    phone.expect("inbox", event="removed", room=other)
    session.request("add", room=other, user=bob)
    changed(phone, other, title="Two")
    session.request("deleteRoom", room=other)
    phone.expect("inbox", event="removed", room=other)
    assert [entry["room"] for entry in listed(phone)["rooms"]] == [room]


def test_an_edit_and_a_deletion_of_the_newest_message_are_events(connect, pair):
    session, bob, room = pair
    phone = subscribed(connect, bob)
    session.send(room, "one")
    changed(phone, room, unread=1)
    session.request("edit", room=room, seq=1, body="two")
    assert changed(phone, room)["lastMessage"]["preview"] == "two"
    session.request("delete", room=room, seq=1)
    event = changed(phone, room, unread=0)
    assert event["lastMessage"]["deleted"] is True and "preview" not in event["lastMessage"]


# Recovery


def test_a_session_continues_at_its_position(connect, names, pair):
    session, bob, room = pair
    phone = subscribed(connect, bob)
    session.send(room, "one")
    position = changed(phone, room, unread=1)["position"]
    phone.drop()
    session.send(room, "two")
    other = names("other")[0]
    session.request("create", room=other, members=[bob])
    phone = subscribed(connect, bob, since=position)
    assert "reset" not in phone.welcome["inbox"]
    assert changed(phone, room)["unread"] == 2
    newest = changed(phone, other)["position"]
    # Nothing has changed since the newest event: the next change is the first event.
    again = subscribed(connect, bob, since=newest)
    session.join(other)
    session.send(other, "three")
    event = again.expect("inbox")
    assert (event["room"], event["unread"]) == (other, 1)


def test_a_position_without_all_changes_is_reset(connect, pair):
    session, bob, room = pair
    position = listed(subscribed(connect, bob))["position"]
    session.request("remove", room=room, user=bob)
    phone = subscribed(connect, bob, since=position)
    assert phone.welcome["inbox"]["reset"] is True
    assert listed(phone)["rooms"] == []
    assert "reset" not in subscribed(connect, bob, since=phone.welcome["inbox"]["position"]).welcome["inbox"]
    for lost in ("other.1", position.split(".")[0] + ".9000000000000000"):
        assert subscribed(connect, bob, since=lost).welcome["inbox"]["reset"] is True


def test_a_user_with_many_changes_gets_all_of_them(connect, names):
    ann, bob = names("ann", "bob")
    session = connect(ann)
    position = connect(bob, inbox=True).welcome["inbox"]["position"]
    # More than one read sends.
    rooms = names(*(f"r{number}" for number in range(60)))
    for room in rooms:
        while (reply := session.outcome("create", room=room, members=[bob]))["type"] == "error":
            time.sleep(reply["retryAfter"])
    phone = subscribed(connect, bob, since=position)
    for room in rooms:
        changed(phone, room)


@pytest.mark.parametrize("inbox", [1, "x", {"since": "x"}, {"since": 7}, {"preview": "all"}])
def test_a_wrong_option_is_refused(connect, names, inbox):
    with pytest.raises(Refused) as refused:
        connect(names("ann")[0], inbox=inbox)
    assert refused.value.error["code"] == "bad_request"
