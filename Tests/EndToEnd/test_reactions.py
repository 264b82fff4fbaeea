# SPDX-License-Identifier: Apache-2.0
"""Reactions to messages."""

from urllib.parse import quote

import pytest

from api import call, history

RELAY_OPTIONS = ("--presence-grace", "0", "--limits-request-rate", "0", "--limits-send-rate", "0")


def react(session, room, seq, key, kind="react"):
    return session.request(kind, room=room, seq=seq, key=key)


def test_a_reaction_reaches_all_others_and_is_kept(circle):
    bob = circle.live("bob")
    seq = circle.send("hello")["seq"]
    reply = react(circle.alice, circle.room, seq, "👍")
    first = [{"key": "👍", "count": 1, "users": [circle.alice.user]}]
    assert (reply["reactions"], reply["seq"], reply["room"]) == (first, seq, circle.room)
    event = bob.session.expect("reactions")
    assert (event["room"], event["seq"], event["reactions"]) == (circle.room, seq, first)
    assert event["change"] == reply["change"]
    react(bob.session, circle.room, seq, "👍")
    both = [{"key": "👍", "count": 2, "users": [circle.alice.user, bob.user]}]
    assert circle.alice.expect("reactions")["reactions"] == both
    for kept in (
        circle.alice.request("history", room=circle.room)["messages"],
        circle.alice.join(circle.room, history=1)["messages"],
        history(circle.relay, circle.room, bob.user),
    ):
        assert [message["reactions"] for message in kept] == [both]
    react(circle.alice, circle.room, seq, "👍", "unreact")
    assert bob.session.expect("reactions")["reactions"] == [{"key": "👍", "count": 1, "users": [bob.user]}]
    react(bob.session, circle.room, seq, "👍", "unreact")
    assert circle.alice.expect("reactions")["reactions"] == []
    assert "reactions" not in history(circle.relay, circle.room, bob.user)[0]


def test_a_client_that_was_away_recovers_reactions(circle):
    bob = circle.live("bob")
    seq = circle.send("hello")["seq"]
    joined = bob.session.join(circle.room)
    bob.session.close(1000)
    circle.alice.request("edit", room=circle.room, seq=seq, body="hi")
    react(circle.alice, circle.room, seq, "👍")
    react(circle.alice, circle.room, seq, "🎉")
    back = circle.back(bob)
    position = {"epoch": joined["epoch"], "seq": joined["seq"]}
    reply = back.join(circle.room, after=position, afterChange=joined["change"])
    assert reply["recovered"] is True and reply["change"] == joined["change"] + 3
    edited, reacted = reply["changes"]
    assert (edited["type"], edited["body"]) == ("edited", "hi")
    assert (reacted["type"], [entry["key"] for entry in reacted["reactions"]]) == ("reactions", ["👍", "🎉"])
    # The deletion ends the reactions.
    circle.alice.request("delete", room=circle.room, seq=seq)
    last = circle.back(bob).join(circle.room, after=position, afterChange=joined["change"])
    assert [change["type"] for change in last["changes"]] == ["deleted"]


def test_a_client_recovers_while_others_react(circle):
    bob = circle.live("bob")
    seq = circle.send("hello")["seq"]
    joined = bob.session.join(circle.room)
    since = {"after": {"epoch": joined["epoch"], "seq": joined["seq"]}, "afterChange": joined["change"]}
    for number in range(12):
        requests = [
            circle.alice.begin("react" if count % 2 == 0 else "unreact", room=circle.room, seq=seq, key="👍")
            for count in range(60)
        ]
        again = bob.session.join(circle.room, **since)
        assert again["recovered"] is True, number
        last = max([change["change"] for change in again.get("changes", [])], default=joined["change"])
        # The events continue after the newest change. The store may already have later ones.
        assert last >= again["change"], number
        assert bob.session.join(circle.room, history=1)["messages"][0]["seq"] == seq, number
        for request in requests:
            circle.alice.reply(request)
        assert bob.session.expect("reactions", change=joined["change"] + 60 * (number + 1))["reactions"] == []


def test_reactions_over_http(circle):
    bob = circle.live("bob")
    seq = circle.send("hello")["seq"]
    path = f"/v1/rooms/{circle.room}/messages/{seq}/reactions/{quote('👍/', safe='')}"
    answer = call(circle.relay, "PUT", path, user=bob.user)
    assert (answer.status, answer.json["reactions"][0]["key"]) == (200, "👍/")
    assert circle.alice.expect("reactions", seq=seq)["reactions"][0]["users"] == [bob.user]
    answer = call(circle.relay, "DELETE", path, user=bob.user)
    assert (answer.status, answer.json["reactions"]) == (200, [])
    assert circle.alice.expect("reactions", seq=seq)["reactions"] == []


@pytest.mark.parametrize("key", ["", "x" * 65, "a\n", 7, None])
def test_a_wrong_key_is_refused(circle, key):
    seq = circle.send("hello")["seq"]
    error = circle.alice.refusal("react", room=circle.room, seq=seq, key=key)
    assert (error["code"], "key" in error["message"]) == ("bad_request", True)


def test_a_message_has_a_bounded_number_of_keys(circle):
    seq = circle.send("hello")["seq"]
    for number in range(20):
        react(circle.alice, circle.room, seq, f"{number}")
    assert circle.alice.refusal("react", room=circle.room, seq=seq, key="x")["code"] == "too_large"


def test_a_live_room_has_no_reactions(connect, names):
    (ann,) = names("ann")
    session = connect(ann)
    session.join("live.reactions")
    session.send("live.reactions", 1)
    assert session.refusal("react", room="live.reactions", seq=1, key="x")["code"] == "unsupported"
