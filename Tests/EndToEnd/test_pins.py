# SPDX-License-Identifier: Apache-2.0
"""Pinned messages: the rights, the events, the lists, and the recovery."""

import pytest

from api import call

# The users of these tests share no room, and become members at once.
RELAY_OPTIONS = ("--rooms-invitations", "none")


@pytest.fixture
def group(connect, names):
    """The sessions of an owner and of a member, and their room with three messages."""
    ann, bob, room = names("ann", "bob", "group")
    owner, member = connect(ann), connect(bob)
    owner.request("create", room=room, members=[bob])
    for session in (owner, member):
        session.join(room)
    for text in ("one", "two", "three"):
        owner.send(room, {"text": text})
    return owner, member, room


def pinned(session, room):
    return [(pin["seq"], pin.get("preview")) for pin in session.request("pins", room=room)["pins"]]


def test_an_owner_pins_messages_for_all_members(group):
    owner, member, room = group
    reply = owner.request("pin", room=room, seq=2)
    assert (reply["pinned"], reply["change"]) == (True, 1)
    event = member.expect("pinned", seq=2)
    assert (event["pinned"], event["change"]) == (True, 1)
    assert "change" not in owner.request("pin", room=room, seq=2)
    owner.request("pin", room=room, seq=3)
    assert pinned(member, room) == [(3, "three"), (2, "two")]
    page = member.request("history", room=room)["messages"]
    assert [message.get("pinnedAt") == event["time"] for message in page] == [False, True, False]
    assert owner.request("unpin", room=room, seq=3)["pinned"] is False
    assert member.expect("pinned", seq=3, pinned=True)
    assert member.expect("pinned", seq=3)["pinned"] is False
    owner.request("delete", room=room, seq=2)
    assert pinned(member, room) == []


def test_a_member_pins_only_in_direct_rooms(group, names):
    _, member, room = group
    for type in ("pin", "unpin"):
        assert member.refusal(type, room=room, seq=1)["code"] == "forbidden"
        assert member.refusal(type, room=room, seq=0)["code"] == "bad_request"
    pair = member.request("direct", user=names("eve")[0])["room"]
    member.join(pair)
    member.send(pair, "hi")
    assert member.request("pin", room=pair, seq=1)["pinned"] is True
    assert member.refusal("pin", room=pair, seq=2)["code"] == "not_found"


def test_missed_pins_are_recovered(connect, group):
    owner, member, room = group
    known = member.join(room)
    member.drop()
    owner.request("pin", room=room, seq=1)
    owner.request("pin", room=room, seq=2)
    owner.request("unpin", room=room, seq=2)
    after = {"epoch": known["epoch"], "seq": known["seq"]}
    back = connect(member.user).join(room, after=after, afterChange=known["change"])
    assert back["recovered"] is True
    assert [(change["type"], change["seq"], change["pinned"]) for change in back["changes"]] == [
        ("pinned", 1, True),
        ("pinned", 2, False),
    ]


def test_a_room_has_at_most_50_pins(relay, group):
    _, member, room = group
    for number in range(48):
        call(relay, "POST", f"/v1/rooms/{room}/messages", {"from": member.user, "body": number})
    answers = [call(relay, "PUT", f"/v1/rooms/{room}/pins/{seq}") for seq in range(1, 52)]
    assert [answer.status for answer in answers] == [200] * 50 + [413]
    assert len(call(relay, "GET", f"/v1/rooms/{room}/pins").json["pins"]) == 50
    assert call(relay, "DELETE", f"/v1/rooms/{room}/pins/1").json["pinned"] is False
    assert call(relay, "PUT", f"/v1/rooms/{room}/pins/51").status == 200


def test_a_message_that_has_left_the_history_has_no_pin(start, connect):
    """The store removes old messages in groups, so it still has these."""
    relay = start(*RELAY_OPTIONS, configuration={"rooms": [{"match": "*", "history": {"count": 3}}]})
    ann = connect(relay, "ann")
    ann.request("create", room="tea", members=["bob"])
    ann.join("tea")
    for number in range(3):
        ann.send("tea", {"text": f"{number}"})
    ann.request("pin", room="tea", seq=1)
    ann.send("tea", {"text": "3"})
    assert pinned(ann, "tea") == []
    for request, more in (("pin", {}), ("unpin", {}), ("react", {"key": "x"}), ("unreact", {"key": "x"})):
        assert ann.refusal(request, room="tea", seq=1, **more)["code"] == "not_found"
    bob = connect(relay, "bob")
    assert bob.refusal("report", room="tea", seq=1, reason="spam")["code"] == "not_found"
    assert pinned(ann, "tea") == []
    ann.request("pin", room="tea", seq=2)
    assert pinned(ann, "tea") == [(2, "1")]
