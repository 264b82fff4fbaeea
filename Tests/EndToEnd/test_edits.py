# SPDX-License-Identifier: Apache-2.0
"""Messages that are edited or deleted after they were sent."""

import json

import pytest

from api import call, history
from database import value
from people import now
from relay import Relay
from waiting import eventually

RELAY_OPTIONS = ("--presence-grace", "0")


def edit(circle, seq, body, **fields):
    return circle.alice.request("edit", room=circle.room, seq=seq, body=body, **fields)


def delete(circle, seq):
    return circle.alice.request("delete", room=circle.room, seq=seq)


def messages(circle, session=None):
    return (session or circle.alice).request("history", room=circle.room)["messages"]


# Editing


def test_an_edit_reaches_all_others_and_is_kept(circle):
    bob, own = circle.live("bob"), circle.back(circle.alice)
    own.join(circle.room)
    seq = circle.send("wrong", mentions=[bob.user])["seq"]
    before = now()
    assert edit(circle, seq, {"text": "right"})["seq"] == seq
    for session in (bob.session, own):
        event = session.expect("edited")
        assert (event["room"], event["seq"], event["body"]) == (circle.room, seq, {"text": "right"})
        assert before - 60_000 < event["time"] < now() + 60_000
    assert circle.alice.received("edited") == []
    for kept in (
        messages(circle),
        circle.alice.join(circle.room, history=1)["messages"],
        history(circle.relay, circle.room, bob.user),
    ):
        assert [(message["seq"], message["body"]) for message in kept] == [(seq, {"text": "right"})]
        assert kept[0]["mentions"] == [bob.user]


@pytest.mark.parametrize("body", ['{"a":1.0,"b":[1e2,"\\u00e9"]}', "null", '""', "[]", "12345678901234567890"])
def test_an_edited_body_is_kept_byte_for_byte(circle, body):
    bob = circle.live("bob")
    seq = circle.send("wrong")["seq"]
    circle.alice.send_text(f'{{"type":"edit","id":"e","room":"{circle.room}","seq":{seq},"body":{body}}}')
    circle.alice.reply("e")
    assert bob.session.expect("edited").body_text == body
    assert f'"body":{body}' in circle.alice.request("history", room=circle.room).text


def test_a_member_who_was_away_receives_the_current_text(circle):
    bob = circle.live("bob")
    joined = bob.session.join(circle.room)
    bob.session.close(1000)
    sent = [circle.send(text)["seq"] for text in ("one", "two", "three")]
    edit(circle, sent[0], "uno")
    delete(circle, sent[1])
    again = circle.back(bob).join(circle.room, after={"epoch": joined["epoch"], "seq": 0})
    assert again["recovered"] is True
    assert [message.get("body") for message in again["messages"]] == ["uno", None, "three"]
    assert again["messages"][1] == {"seq": sent[1], "deleted": True}


def test_an_edit_changes_the_push_and_not_the_badge(circle):
    """An edit is not unread, and has no separate notification."""
    bob = circle.away("bob")
    seq = circle.send("wrong")["seq"]
    bob.phone.ring("wrong")
    edit(circle, seq, "right")
    bob.phone.ring("right")
    circle.send("next")
    assert bob.phone.ring("next")["payload"]["aps"]["badge"] == 2
    circle.pass_due()
    assert bob.phone.texts() == ["right", "next"]


def test_a_phone_shows_the_current_text_of_a_message(circle):
    bob = circle.away("bob")
    push = {"level": "timeSensitive", "sound": "default", "title": "T"}
    seq = circle.send("wrong", push=push)["seq"]
    before = bob.phone.ring("wrong")
    edit(circle, seq, "right")
    after = bob.phone.ring("right")
    assert bob.phone.texts() == ["right"]
    assert after["headers"]["apns-id"] != before["headers"]["apns-id"]
    assert after["headers"]["apns-collapse-id"] == before["headers"]["apns-collapse-id"]
    aps = after["payload"]["aps"]
    assert aps["interruption-level"] == "passive" and "sound" not in aps and aps["alert"]["title"] == "T"
    field = "notification"
    assert after["payload"]["communication"][field] == before["payload"]["communication"][field]


def test_a_phone_shows_that_a_message_was_deleted(circle):
    bob = circle.away("bob")
    seq = circle.send("secret")["seq"]
    bob.phone.ring("secret")
    delete(circle, seq)
    eventually(lambda: bob.phone.texts() == [None])
    (shown,) = bob.phone.notifications()
    assert shown["payload"]["aps"]["alert"] == {"title": "Alice", "loc-key": "Message deleted"}
    assert shown["payload"]["aps"]["badge"] == 0
    assert "secret" not in json.dumps(shown)


def test_an_edit_of_a_read_message_does_not_change_the_phone(circle):
    bob = circle.away("bob")
    seq = circle.send("wrong")["seq"]
    bob.phone.ring("wrong")
    back = circle.back(bob)
    back.join(circle.room)
    back.request("read", room=circle.room, seq=seq)
    marks = "SELECT read FROM members JOIN users ON users.id = user WHERE users.name = ?"
    eventually(lambda: value(circle.relay, marks, bob.user) == seq)
    # The read on another device removes the notification.
    eventually(lambda: bob.phone.notifications() == [])
    edit(circle, seq, "right")
    circle.pass_due()
    assert bob.phone.notifications() == []


def test_a_call_without_an_answer_is_missed(circle):
    bob = circle.away("bob")
    circle.send("Hello?", push={"kind": "call", "expires": 1})
    ringing = bob.phone.ring("Hello?")
    eventually(lambda: bob.phone.texts() == [None])
    (missed,) = bob.phone.notifications()
    assert missed["payload"]["aps"]["alert"] == {"title": "Alice", "loc-key": "Missed call"}
    assert missed["headers"]["apns-collapse-id"] == ringing["headers"]["apns-collapse-id"]
    assert missed["payload"]["aps"]["interruption-level"] == "passive"


def test_edits_keep_their_order(circle):
    bob = circle.live("bob")
    seq = circle.send(0)["seq"]
    for number in range(1, 20):
        circle.alice.post("edit", room=circle.room, seq=seq, body=number)
    edit(circle, seq, "last")
    assert [bob.session.expect("edited")["body"] for _ in range(20)] == [*range(1, 20), "last"]
    assert messages(circle)[0]["body"] == "last"


# Deleting


def test_a_deletion_reaches_all_others_and_keeps_the_seq(circle):
    bob = circle.live("bob")
    first, second = circle.send("secret", mentions=[bob.user])["seq"], circle.send("kept", replyTo=1)["seq"]
    assert delete(circle, first)["seq"] == first
    event = bob.session.expect("deleted")
    assert (event["room"], event["seq"]) == (circle.room, first) and "body" not in event
    assert circle.alice.received("deleted") == []
    kept = messages(circle, bob.session)
    assert kept[0] == {"seq": first, "deleted": True}
    assert (kept[1]["seq"], kept[1]["replyTo"]) == (second, first)


def test_a_deleted_message_is_not_on_disk(start, connect):
    relay = start()
    alice = connect(relay, "alice")
    alice.join("room")
    seq = alice.send("room", "a very secret word")["seq"]
    alice.request("delete", room="room", seq=seq)
    assert relay.stop() == 0
    for file in relay.data.iterdir():
        assert b"a very secret word" not in file.read_bytes(), file


def test_a_deleted_message_does_not_count_in_the_badge(circle):
    bob = circle.silenced("bob")
    sent = [circle.send(text)["seq"] for text in ("one", "two", "three")]
    delete(circle, sent[0])
    delete(circle, sent[2])
    bob.prefer(onFocus="deliver")
    notification = bob.phone.ring("two")
    assert notification["payload"]["aps"]["badge"] == 1


def test_a_message_that_is_deleted_while_its_push_waits_is_not_pushed(gather):
    circle = gather("--presence-grace", 3)
    bob, carol = circle.live("bob"), circle.live("carol", acks=True)
    bob.session.drop()
    sent = [circle.send(text)["seq"] for text in ("deleted", "kept")]
    delete(circle, sent[0])
    for person in (bob, carol):
        person.phone.ring("kept")
    circle.pass_due()
    assert bob.phone.texts() == carol.phone.texts() == ["kept"]


def test_a_second_deletion_has_no_effect(circle):
    bob = circle.live("bob")
    seq = circle.send("hi")["seq"]
    for _ in range(2):
        assert delete(circle, seq)["seq"] == seq
    bob.session.expect("deleted")
    assert bob.session.received("deleted") == []


def test_a_deleted_message_cannot_be_edited(circle):
    bob = circle.live("bob")
    seq = circle.send("hi")["seq"]
    delete(circle, seq)
    assert circle.alice.refusal("edit", room=circle.room, seq=seq, body="back again")["code"] == "not_found"
    assert messages(circle) == [{"seq": seq, "deleted": True}]
    assert bob.session.received("edited") == []


def test_the_key_of_a_deleted_message_is_still_a_duplicate(circle):
    sent = circle.send("hi", key="k")
    delete(circle, sent["seq"])
    again = circle.send("hi", key="k")
    assert (again["duplicate"], again["seq"]) == (True, sent["seq"])


# Rights


@pytest.mark.parametrize("type", ["edit", "delete"])
def test_only_the_sender_edits_or_deletes(circle, type):
    bob = circle.live("bob")
    seq = circle.send("hi")["seq"]
    assert bob.session.refusal(type, room=circle.room, seq=seq, body="mine")["code"] == "forbidden"
    assert [message["body"] for message in messages(circle)] == ["hi"]


@pytest.fixture
def rights(start, connect, secret):
    """Joins a room of a relay with tokens, as a user with these rights."""
    relay = start(secret=secret)

    def enter(user, *can):
        claims = {"rooms": [{"match": "*", "can": list(can)}]} if can else {}
        token = relay.token(user, **claims)
        session = connect(relay, token=token)
        session.join("room")
        return session, token

    enter.relay = relay
    return enter


def test_a_moderator_deletes_and_does_not_edit(rights):
    alice, _ = rights("alice")
    moderator, _ = rights("mod", "join", "send", "history", "presence", "moderate")
    seq = alice.send("room", "rude")["seq"]
    assert moderator.refusal("edit", room="room", seq=seq, body="polite")["code"] == "forbidden"
    moderator.request("delete", room="room", seq=seq)
    alice.expect("deleted", seq=seq)


def test_a_user_without_the_right_send_does_not_edit(rights):
    alice, _ = rights("alice")
    seq = alice.send("room", "hi")["seq"]
    muted, _ = rights("alice", "join", "history", "presence")
    assert muted.refusal("edit", room="room", seq=seq, body="ho")["code"] == "forbidden"
    muted.request("delete", room="room", seq=seq)


def test_http_edits_and_deletes_messages(rights):
    alice, token = rights("alice")
    bob, bobs = rights("bob")
    _, moderators = rights("mod", "join", "moderate")
    path = "/v1/rooms/room/messages"
    sent = [alice.send("room", text)["seq"] for text in ("one", "two", "three")]

    def ask(method, seq, body=None, by=token):
        return call(rights.relay, method, f"{path}/{seq}", body, token=by)

    answer = ask("PUT", sent[0], {"body": "uno"})
    assert (answer.status, answer.json) == (200, {"room": "room", "seq": sent[0], "change": 1})
    assert bob.expect("edited", seq=sent[0])["body"] == "uno"
    # After an edit over HTTP, the sender's own session gets the event, too.
    alice.expect("edited", seq=sent[0])
    for method, body in ("PUT", {"body": "mine"}), ("DELETE", None):
        answer = ask(method, sent[0], body, by=bobs)
        assert (answer.status, answer.problem["code"]) == (403, "forbidden")
    assert ask("PUT", sent[0], {}).problem["at"] == "/body"
    assert ask("PUT", sent[0], {"body": 1, "from": "bob"}).status == 403
    assert ask("PUT", 99, {"body": 1}).status == 404
    for seq in ("0", "x", "-1", "1.0"):
        assert ask("PUT", seq, {"body": 1}).problem["at"] == "/path/seq"
    for _ in range(2):
        assert ask("DELETE", sent[1]).status == 204
    assert ask("DELETE", 99).status == 204
    bob.expect("deleted", seq=sent[1])
    assert ask("DELETE", sent[2], by=moderators).status == 204
    bob.expect("deleted", seq=sent[2])


# Wrong requests


@pytest.mark.parametrize("type", ["edit", "delete"])
def test_a_wrong_edit_or_deletion_is_rejected(circle, names, type):
    seq = circle.send("hi")["seq"]
    for wrong in (None, 0, -1, 1.5, "1", 2**53):
        assert circle.alice.refusal(type, room=circle.room, seq=wrong, body=1)["code"] == "bad_request"
    assert circle.alice.refusal(type, room=circle.room, seq=seq + 1, body=1)["code"] == "not_found"
    assert circle.alice.refusal(type, room="elsewhere", seq=seq, body=1)["code"] == "not_joined"
    (live,) = names("live.room")
    circle.alice.join(live)
    circle.alice.send(live, "hi")
    assert circle.alice.refusal(type, room=live, seq=1, body=1)["code"] == "unsupported"
    if type == "edit":
        assert circle.alice.refusal(type, room=circle.room, seq=seq)["code"] == "bad_request"
    assert [message["body"] for message in messages(circle)] == ["hi"]


@pytest.mark.parametrize("end", [Relay.stop, Relay.kill], ids=["stop", "kill"])
def test_edits_and_deletions_outlive_the_relay(gather, end):
    circle = gather()
    sent = [circle.send(text)["seq"] for text in ("one", "two")]
    edit(circle, sent[0], "uno")
    delete(circle, sent[1])
    circle.restart(end)
    kept = messages(circle)
    assert (kept[0]["body"], kept[1]) == ("uno", {"seq": sent[1], "deleted": True})


# Mentions and answers


def test_mentions_and_answers_reach_everybody(circle):
    bob = circle.live("bob")
    first = circle.send("question")["seq"]
    circle.send("answer", mentions=[bob.user, "nobody", bob.user], replyTo=first)
    event = bob.session.expect("message", body="answer")
    assert (event["mentions"], event["replyTo"]) == ([bob.user, "nobody"], first)
    kept = messages(circle)[-1]
    assert (kept["mentions"], kept["replyTo"]) == (event["mentions"], first)
    plain = messages(circle)[0]
    assert "mentions" not in plain and "replyTo" not in plain


def test_a_push_contains_mentions_and_answers(circle):
    bob, carol = circle.live("bob"), circle.away("carol")
    theirs = bob.session.send(circle.room, "question")["seq"]
    bob.session.close(1000)
    circle.alice.expect("presence", user=bob.user, online=False)
    circle.send("answer", replyTo=theirs, mentions=[carol.user])
    # An answer counts as a mention of the user whose message it answers.
    for person, is_mention, is_reply in (bob, True, True), (carol, True, False):
        communication = person.phone.ring("answer")["payload"]["communication"]
        assert (communication["mentionsMe"], communication["replyToMe"]) == (is_mention, is_reply)


def test_wrong_mentions_and_answers_are_rejected(circle):
    """`BadFieldsTests` has all cases."""
    wrong = {"mentions": ["bob", "no name"]}
    circle.send("one")
    assert circle.alice.refusal("send", room=circle.room, body=2, **wrong)["code"] == "bad_request"
    path = f"/v1/rooms/{circle.room}/messages"
    answer = call(circle.relay, "POST", path, {"from": "bob", "body": 2} | wrong, user="bob")
    assert (answer.status, answer.problem["code"]) == (422, "bad_request")
    assert answer.problem["at"].startswith("/mentions")
    assert len(messages(circle)) == 1


def test_mentions_and_answers_at_their_limits_are_accepted(circle):
    bob = circle.away("bob")
    users = [f"{number:0128}" for number in range(255)] + [bob.user]
    push = {"criteria": "ü" * 64, "expires": 28 * 86_400, "level": "passive"}
    sent = circle.send("hi", mentions=users, push=push)
    assert circle.send("answer", replyTo=sent["seq"])["seq"] == sent["seq"] + 1
    assert messages(circle)[0]["mentions"] == users
    assert bob.phone.ring("hi")["payload"]["aps"]["filter-criteria"] == "ü" * 64
