# SPDX-License-Identifier: Apache-2.0
"""A team chat as an app uses it: channels with members, direct rooms, unread badges, receipts and lost connections.

Each part plays one story with the public requests only. The parts share a relay, so later stories meet its load.
"""

import threading

import pytest

from api import call
from people import HOUR, now
from relay import running
from waiting import eventually

ROOMS = 300


@pytest.fixture(scope="module")
def relay(tmp_path_factory):
    """A relay whose rooms have receipts. The users of these tests share no room, and become members at once."""
    options = ("--limits-send-rate", 0, "--rooms-invitations", "none")
    rooms = [{"match": "*", "receipts": True}]
    with running(tmp_path_factory.mktemp("relay"), *options, configuration={"rooms": rooms}) as relay:
        yield relay


@pytest.fixture
def team(connect, names):
    """The sessions of an owner, a moderator and a member, and their room."""
    ann, bob, cid, room = names("ann", "bob", "cid", "team")
    sessions = [connect(name) for name in (ann, bob, cid)]
    sessions[0].request("create", room=room, title="Team", join="invited", members=[bob, cid])
    sessions[0].request("roles", room=room, user=bob, role="moderator")
    for session in sessions:
        session.join(room)
    return *sessions, room


def pages(session):
    """Reads the whole list of rooms."""
    reply = session.request("rooms", limit=100)
    entries = reply["rooms"]
    while "next" in reply:
        reply = session.request("rooms", limit=100, after=reply["next"])
        entries += reply["rooms"]
    return entries


def test_a_kicked_member_stays_out_until_somebody_invites_them(connect, names, team):
    owner, moderator, member, room = team
    stranger = connect(names("dan")[0])
    assert stranger.refusal("join", room=room)["code"] == "forbidden"
    owner.request("add", room=room, user=stranger.user)
    assert stranger.expect("room", event="added")["by"] == owner.user
    assert stranger.join(room)["memberCount"] == 4

    moderator.request("remove", room=room, user=member.user, ban=True)
    assert member.expect("room", event="removed", room=room)["by"] == moderator.user
    assert owner.expect("member", user=member.user)["event"] == "removed"
    assert member.refusal("send", room=room, body="let me in")["code"] == "not_joined"
    again = connect(member.user)
    assert again.refusal("join", room=room)["code"] == "forbidden"
    assert again.refusal("history", room=room)["code"] == "not_joined"
    assert room not in [entry["room"] for entry in pages(again)]

    # An owner who adds the user ends the ban.
    owner.request("add", room=room, user=member.user)
    assert again.join(room)["memberCount"] == 4


def test_a_moderator_calms_the_room(connect, team):
    owner, moderator, member, room = team
    insult = member.send(room, {"text": "You fools"})["seq"]
    reported = owner.request("report", room=room, seq=insult, reason="an insult")["report"]

    # The moderator works through the list: deletes the message, and restricts its sender for an hour.
    (report,) = moderator.request("reports", room=room, state="open")["reports"]
    assert (report["report"], report["from"], report["user"]) == (reported, member.user, owner.user)
    moderator.request("delete", room=room, seq=report["seq"])
    assert member.expect("deleted", seq=insult)["by"] == moderator.user
    until = now() + HOUR
    moderator.request("restrict", room=room, user=member.user, until=until)
    assert member.expect("member", user=member.user, event="restricted")["restrictedUntil"] == until
    refused = member.refusal("send", room=room, body={"text": "What?"})
    assert (refused["code"], refused["until"]) == ("restricted", until)
    moderator.request("resolve", room=room, report=reported, state="resolved")
    assert moderator.request("reports", room=room, state="open")["reports"] == []

    # The member reads on, and sees the end of the restriction after a reload.
    owner.send(room, {"text": "Back to work"})
    assert member.expect("message")["body"] == {"text": "Back to work"}
    again = connect(member.user)
    assert again.join(room)["restrictedUntil"] == until
    moderator.request("restrict", room=room, user=member.user)
    again.send(room, {"text": "Sorry"})

    # The owner closes the discussion.
    owner.request("update", room=room, readOnly=True)
    assert again.expect("room", event="updated")["readOnly"] is True
    assert again.refusal("send", room=room, body={"text": "But"})["code"] == "restricted"
    moderator.send(room, {"text": "Closed"})
    assert again.expect("message", body={"text": "Closed"})


def test_both_people_open_their_direct_room_at_once(connect, names):
    pair = [connect(name) for name in names("ann", "bob")]
    start, rooms = threading.Barrier(2), [None, None]

    def open_room(index):
        start.wait()
        rooms[index] = pair[index].request("direct", user=pair[1 - index].user)["room"]

    threads = [threading.Thread(target=open_room, args=(index,)) for index in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rooms[0] == rooms[1]
    for session in pair:
        assert session.join(rooms[0])["memberCount"] == 2
    pair[0].send(rooms[0], {"text": "hi"})
    assert pair[1].expect("message", room=rooms[0])["body"] == {"text": "hi"}


def test_the_list_counts_unread_messages_over_many_rooms(relay, connect, names):
    ann, bob = names("ann", "bob")
    rooms = names(*(f"room-{number}" for number in range(ROOMS)))
    for room in rooms:
        made = call(relay, "POST", "/v1/rooms", {"room": room, "owner": ann, "members": [bob], "title": room})
        assert made.status == 201
    unread = {}
    for number, room in enumerate(rooms):
        unread[room] = number % 4
        for message in range(unread[room]):
            body = {"from": ann, "body": {"text": f"{message}"}}
            assert call(relay, "POST", f"/v1/rooms/{room}/messages", body).status == 201

    session = connect(bob, inbox=True)
    entries = pages(session)
    assert {entry["room"]: entry["unread"] for entry in entries} == unread
    # The rooms with messages are first, the newest activity before all others.
    assert [entry["room"] for entry in entries if entry["unread"]] == [
        room for room in reversed(rooms) if unread[room]
    ]
    # Bob reads one room on another device, and gets a message in another. He has joined neither of them here.
    tablet = connect(bob)
    tablet.join(rooms[3])
    tablet.request("read", room=rooms[3], seq=3)
    session.expect("inbox", room=rooms[3], unread=0)
    assert call(relay, "POST", f"/v1/rooms/{rooms[0]}/messages", {"from": ann, "body": "new"}).status == 201
    session.expect("inbox", room=rooms[0], unread=1)
    unread |= {rooms[3]: 0, rooms[0]: 1}
    assert {entry["room"]: entry["unread"] for entry in pages(session)} == unread
    assert pages(session)[0]["room"] == rooms[0]


def test_read_receipts_are_there_after_a_reload(connect, team):
    owner, moderator, member, room = team
    for number in range(3):
        owner.send(room, number)
    moderator.request("read", room=room, seq=3)
    member.request("read", room=room, seq=1)

    def marks():
        """Returns the marks that the app gets when it loads the room."""
        session = connect(owner.user)
        joined = session.join(room, history=10)
        session.drop()
        assert [message["seq"] for message in joined["messages"]] == [1, 2, 3]
        return {mark["user"]: mark["read"] for mark in joined["marks"]}

    eventually(lambda: marks() == {moderator.user: 3, member.user: 1})


def test_edits_and_deletions_are_recovered_after_a_lost_connection(connect, team):
    owner, _, member, room = team
    for number in range(4):
        owner.send(room, {"text": f"message {number}"})
    known = member.join(room, history=10)
    state = {message["seq"]: message["body"] for message in known["messages"]}
    member.drop()
    owner.request("edit", room=room, seq=2, body={"text": "edited"})
    owner.request("edit", room=room, seq=2, body={"text": "edited twice"})
    owner.request("delete", room=room, seq=3)
    owner.send(room, {"text": "new"})

    member = connect(member.user)
    after = {"epoch": known["epoch"], "seq": known["seq"]}
    back = member.join(room, after=after, afterChange=known["change"], history=10)
    assert back["recovered"] is True
    state |= {message["seq"]: message["body"] for message in back["messages"]}
    for change in back["changes"]:
        state[change["seq"]] = change.get("body")
    assert state == {
        1: {"text": "message 0"},
        2: {"text": "edited twice"},
        3: None,
        4: {"text": "message 3"},
        5: {"text": "new"},
    }
    # A second recovery brings nothing.
    again = connect(member.user).join(
        room, after={"epoch": back["epoch"], "seq": back["seq"]}, afterChange=back["change"], history=10
    )
    assert (again["recovered"], again["messages"], again.get("changes", [])) == (True, [], [])
