# SPDX-License-Identifier: Apache-2.0
"""Quotes: a reply has the sender and the text of the message that it answers, in the newest state of that message."""

import json

import pytest

from api import call, history
from database import execute, value
from waiting import eventually

RELAY_OPTIONS = ("--presence-grace", "0")


def quote(circle, seq, preview=None, **fields):
    """The quote of a message of Alice."""
    shown = {} if preview is None else {"preview": preview}
    return {"seq": seq, "from": circle.alice.user} | shown | fields


def everywhere(circle, reader, seq):
    """Returns the quotes of a reply in each form in which it reaches a client later."""
    epoch = circle.alice.join(circle.room)["epoch"]
    after = {"epoch": epoch, "seq": seq - 1}
    forms = (
        circle.alice.request("history", room=circle.room, limit=300)["messages"],
        history(circle.relay, circle.room, reader.user),
        # The first join comes from the memory of the relay if that has the message, and the second one from its disk.
        circle.back(reader).join(circle.room, after=after)["messages"],
        circle.back(reader).join(circle.room, history=300)["messages"],
    )
    return [message.get("quote") for messages in forms for message in messages if message["seq"] == seq]


def test_a_reply_quotes_its_message_in_every_form(circle):
    bob = circle.live("bob")
    first = circle.send({"text": "Tea at five?"})["seq"]
    reply = bob.session.send(circle.room, "Yes", replyTo=first)
    expected = quote(circle, first, "Tea at five?")
    assert reply["quote"] == expected
    event = circle.alice.expect("message", seq=reply["seq"])
    assert (event["replyTo"], event["quote"]) == (first, expected)
    assert everywhere(circle, bob, reply["seq"]) == [expected] * 4
    assert circle.post("Good", replyTo=first)["quote"] == expected
    assert bob.session.expect("message", body="Good")["quote"] == expected
    plain = circle.send("no reply")
    assert "quote" not in plain and "quote" not in bob.session.expect("message", body="no reply")


def test_an_edit_changes_the_quotes(circle):
    bob = circle.live("bob")
    first = circle.send("wrong")["seq"]
    reply = bob.session.send(circle.room, "reply", replyTo=first)["seq"]
    circle.alice.request("edit", room=circle.room, seq=first, body={"text": "right"})
    event = bob.session.expect("edited")
    assert event["seq"] == first and "quote" not in event
    assert everywhere(circle, bob, reply) == [quote(circle, first, "right")] * 4
    # The changes that a client missed have only the message itself.
    joined = circle.alice.join(circle.room)
    back = circle.back(bob).join(
        circle.room, after={"epoch": joined["epoch"], "seq": reply}, afterChange=joined["change"] - 1
    )
    assert [(change["type"], change["seq"]) for change in back["changes"]] == [("edited", first)]


def test_a_deleted_text_is_in_no_quote(circle):
    bob = circle.live("bob")
    first = circle.send("a secret word")["seq"]
    reply = bob.session.send(circle.room, "reply", replyTo=first)["seq"]
    later = circle.send("later")["seq"]
    circle.alice.request("delete", room=circle.room, seq=first)
    bob.session.expect("deleted", seq=first)
    gone = quote(circle, first, deleted=True)
    assert everywhere(circle, bob, reply) == [gone] * 4
    assert circle.send("another reply", replyTo=first)["quote"] == gone
    # The message after the reply has none.
    assert everywhere(circle, bob, later) == [None] * 4
    # A deleted reply quotes nothing.
    bob.session.request("delete", room=circle.room, seq=reply)
    assert everywhere(circle, bob, reply) == [None] * 4


def test_quotes_survive_a_restart(gather):
    circle = gather("--presence-grace", "0")
    first = circle.send("Tea?")["seq"]
    reply = circle.send("reply", replyTo=first)["seq"]
    circle.restart()
    assert everywhere(circle, circle.alice, reply) == [quote(circle, first, "Tea?")] * 4


def test_an_opaque_body_has_no_preview(circle):
    bob = circle.live("bob")
    first = circle.send({"text": {"de": "Tee"}})["seq"]
    reply = circle.send("reply", replyTo=first)
    assert reply["quote"] == bob.session.expect("message", seq=reply["seq"])["quote"] == quote(circle, first)
    assert everywhere(circle, bob, reply["seq"]) == [quote(circle, first)] * 4


@pytest.fixture
def configured(gather):
    """Returns a circle whose rooms have this pattern."""

    def configured(**pattern):
        configuration = {"limits": {"sendRate": 0}, "rooms": [{"match": "room*", **pattern}]}
        return gather("--presence-grace", "0", configuration=configuration)

    return configured


def test_without_previews_quotes_have_no_text(configured):
    circle = configured(preview="none")
    bob = circle.live("bob")
    first = circle.send("ciphertext")["seq"]
    reply = circle.send("reply", replyTo=first)
    assert reply["quote"] == bob.session.expect("message", seq=reply["seq"])["quote"] == quote(circle, first)
    assert everywhere(circle, bob, reply["seq"]) == [quote(circle, first)] * 4


def test_a_message_that_has_left_the_history_is_not_quoted(configured):
    circle = configured(history={"count": 3})
    bob = circle.live("bob")
    first = circle.send("old")["seq"]
    reply = circle.send("reply", replyTo=first)["seq"]
    assert everywhere(circle, bob, reply)[0] == quote(circle, first, "old")
    circle.send("more")
    circle.send("even more")
    [kept] = [m for m in history(circle.relay, circle.room, bob.user) if m["seq"] == reply]
    assert kept["replyTo"] == first and "quote" not in kept
    # The relay still has the frame of the reply in memory, with the old quote.
    position = {"epoch": circle.alice.join(circle.room)["epoch"], "seq": first}
    joined = circle.back(bob).join(circle.room, after=position)
    assert joined["recovered"] is True and "quote" not in joined["messages"][0]
    assert "quote" not in circle.send("another reply", replyTo=first)


def test_an_old_text_ends_with_its_message(gather):
    # A short age of one room makes the relay look for old messages more often.
    rooms = [{"match": "short", "history": {"age": 1}}, {"match": "room*", "history": {"age": 86_400}}]
    circle = gather("--presence-grace", "0", configuration={"rooms": rooms})
    bob = circle.live("bob")
    first = circle.send("old")["seq"]
    reply = circle.send("reply", replyTo=first)["seq"]
    assert everywhere(circle, bob, reply) == [quote(circle, first, "old")] * 4
    execute(circle.relay, "UPDATE messages SET time = time - 90000000 WHERE seq = ?", first)
    first_kept = "SELECT first FROM rooms WHERE name = ?"
    eventually(lambda: value(circle.relay, first_kept, circle.room) == reply)
    # The memory of the relay has the frame of the reply, but not with the text of the message that is gone.
    eventually(lambda: everywhere(circle, bob, reply) == [None] * 4)


def test_a_room_that_keeps_nothing_has_no_quotes(circle, names):
    (live,) = names("live.room")
    reader = circle.back(circle.alice)
    for session in (circle.alice, reader):
        session.join(live)
    circle.alice.send(live, "Tea?")
    assert "quote" not in circle.alice.send(live, "reply", replyTo=1)
    event = reader.expect("message", body="reply")
    assert event["replyTo"] == 1 and "quote" not in event


def test_a_sender_without_the_right_to_read_old_messages_gets_no_quote(start, connect, secret):
    relay = start(secret=secret)

    def enter(user, *can):
        claims = {"rooms": [{"match": "*", "can": list(can)}]} if can else {}
        session = connect(relay, token=relay.token(user, **claims))
        session.join("room")
        return session

    alice = enter("alice")
    alice.send("room", "old")
    mallory = enter("mallory", "join", "send")
    assert "quote" not in mallory.send("room", "what was it?", replyTo=1)
    event = alice.expect("message", body="what was it?")
    assert event["replyTo"] == 1 and "quote" not in event
    kept = alice.request("history", room="room")["messages"]
    assert kept[1]["quote"] == {"seq": 1, "from": "alice", "preview": "old"}
    # Alice has the right. She does not show the message to others who lack it.
    assert alice.send("room", "this", replyTo=1)["quote"]["preview"] == "old"
    assert "quote" not in mallory.expect("message", body="this")


@pytest.mark.parametrize("messages", ["delete", "anonymize"])
def test_a_quote_does_not_name_an_erased_user(start, connect, messages):
    relay = start()
    zoe, bob = connect(relay, "zoe"), connect(relay, "bob")
    for session in (zoe, bob):
        joined = session.join("room")
    zoe.send("room", "kept-text")
    zoe.send("room", "deleted-text")
    zoe.request("delete", room="room", seq=2)
    for seq in (1, 2):
        assert bob.send("room", "reply", replyTo=seq)["quote"]["from"] == "zoe"
    erasure = call(relay, "DELETE", f"/v1/users/zoe?messages={messages}").json["erasure"]
    eventually(lambda: call(relay, "GET", f"/v1/erasures/{erasure}").json["state"] == "done")
    pages = (
        bob.join("room", after={"epoch": joined["epoch"], "seq": 2}, history=2)["messages"],
        bob.request("history", room="room", after=2)["messages"],
    )
    for page in pages:
        assert "zoe" not in json.dumps(page) and [message["seq"] for message in page] == [3, 4]
        first, second = (message["quote"] for message in page)
        assert first["from"] == second["from"] and first["from"].startswith("erased-")
        kept = {"preview": "kept-text"} if messages == "anonymize" else {"deleted": True}
        assert first == {"seq": 1, "from": first["from"]} | kept
        assert second == {"seq": 2, "from": first["from"], "deleted": True}
    files = [path for path in relay.data.rglob("*") if path.is_file()]
    for text in (b"zoe", b"deleted-text", *([b"kept-text"] if messages == "delete" else [])):
        assert [path.name for path in files if text in path.read_bytes()] == []
