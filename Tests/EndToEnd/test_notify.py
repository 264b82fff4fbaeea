# SPDX-License-Identifier: Apache-2.0
"""Notify Anyway: the sender of a message overcomes the silence of its recipients."""

import pytest

from api import call
from waiting import eventually

RELAY_OPTIONS = ("--presence-grace", "0")


def notify(circle, seq, **fields):
    return circle.alice.request("notify", room=circle.room, seq=seq, **fields)["push"]


def refused(circle, seq, **fields):
    return circle.alice.refusal("notify", room=circle.room, seq=seq, **fields)


def is_anyway(notification):
    # A digest is not a communication.
    return notification["payload"].get("communication", {"notifyAnyway": False})["notifyAnyway"]


def anyway(phone):
    """Waits for a notification with `notifyAnyway`."""
    return eventually(lambda: [one for one in phone.notifications() if is_anyway(one)])[0]


def test_notify_anyway_ends_a_hold_once(circle):
    bob = circle.silenced("bob")
    seq = circle.send("wake up")["seq"]
    circle.pass_due()
    assert bob.phone.texts() == []
    assert notify(circle, seq) == 1
    notification = bob.phone.ring("wake up")
    assert is_anyway(notification)
    assert notification["payload"]["aps"]["interruption-level"] == "active"
    assert notify(circle, seq) == 0
    bob.prefer(onFocus="deliver")
    circle.pass_due()
    assert len(bob.phone.notifications()) == 1


def test_a_second_push_replaces_the_first(circle):
    bob, carol = circle.away("bob"), circle.away("carol")
    bob.focus(True)
    seq = circle.send("hi")["seq"]
    first = bob.phone.ring("hi")
    assert not is_anyway(first)
    assert notify(circle, seq) == 1
    again = anyway(bob.phone)
    assert again["headers"]["apns-collapse-id"] == first["headers"]["apns-collapse-id"]
    assert again["headers"]["apns-id"] != first["headers"]["apns-id"]
    circle.pass_due()
    # The phone shows it once, and no other recipient is notified again.
    assert len(bob.phone.notifications()) == len(carol.phone.notifications()) == 1
    assert not is_anyway(carol.phone.notifications()[0])


def test_only_named_users_are_notified(circle):
    bob, carol, dave = (circle.silenced(stem) for stem in ("bob", "carol", "dave"))
    seq = circle.send("hi")["seq"]
    assert notify(circle, seq, users=[bob.user, "nobody", circle.alice.user]) == 1
    bob.phone.ring("hi")
    circle.pass_due()
    assert carol.phone.texts() == dave.phone.texts() == []
    assert notify(circle, seq, users=[]) == 0
    assert notify(circle, seq, users=[bob.user, dave.user]) == 1
    dave.phone.ring("hi")
    assert notify(circle, seq) == 1
    carol.phone.ring("hi")


def test_a_recipient_who_was_not_silenced_is_left_out(circle):
    bob, carol, hidden = circle.away("bob"), circle.live("carol"), circle.silenced("dave")
    hidden.prefer(shareFocus="none")
    sent = circle.send("hi")
    assert sent["delivery"]["quiet"] == []
    bob.focus(True)
    assert notify(circle, sent["seq"]) == 0
    assert notify(circle, sent["seq"], users=[bob.user, carol.user, hidden.user]) == 0
    circle.pass_due()
    assert hidden.phone.texts() == []


LATER = {
    "no longer silenced": lambda bob, circle: bob.focus(None),
    "not shared any more": lambda bob, circle: bob.prefer(shareFocus="none"),
    "muted": lambda bob, circle: bob.prefer(rooms={circle.room: {"level": "none"}}),
    "blocked": lambda bob, circle: bob.block(circle.alice),
    "without a device": lambda bob, circle: bob.forget(),
    "without alerts": lambda bob, circle: bob.register(settings={"alerts": False}),
}


def test_the_count_does_not_reveal_later_changes(circle):
    people = [circle.silenced(f"bob{number}") for number in range(len(LATER))]
    seq = circle.send("hi")["seq"]
    for bob, change in zip(people, LATER.values()):
        change(bob, circle)
        assert notify(circle, seq, users=[bob.user]) == 1
    assert notify(circle, seq) == 0


def test_notify_anyway_does_not_overcome_a_block(circle):
    bob = circle.silenced("bob")
    bob.block(circle.alice)
    seq = circle.send("hi")["seq"]
    notify(circle, seq)
    bob.prefer(onFocus="deliver")
    circle.pass_due()
    assert bob.phone.texts() == []


def test_a_recipient_who_has_read_the_message_is_not_notified(circle):
    bob = circle.silenced("bob")
    seq = circle.send("hi")["seq"]
    session = circle.back(bob)
    session.join(circle.room)
    session.request("read", room=circle.room, seq=seq)
    assert notify(circle, seq) == 1
    circle.pass_due()
    assert bob.phone.texts() == []


def test_one_of_several_held_messages_is_pushed_alone(circle):
    bob = circle.silenced("bob")
    sent = [circle.send(text)["seq"] for text in ("one", "two", "three")]
    notify(circle, sent[1])
    bob.phone.ring("two")
    bob.prefer(onFocus="deliver")
    eventually(lambda: len(bob.phone.notifications()) == 2)
    (digest,) = [one for one in bob.phone.notifications() if not is_anyway(one)]
    assert [(part["seq"], part["count"]) for part in digest["payload"]["digest"]] == [(sent[2], 2)]


def test_a_message_of_a_digest_replaces_the_digest(circle):
    bob = circle.silenced("bob")
    sent = [circle.send(text)["seq"] for text in ("one", "two")]
    bob.prefer(onFocus="deliver")
    digest = bob.phone.nth(0)
    assert "digest" in digest["payload"]
    bob.prefer(onFocus="hold")
    notify(circle, sent[0])
    assert anyway(bob.phone)["headers"]["apns-collapse-id"] == digest["headers"]["apns-collapse-id"]
    circle.pass_due()
    assert bob.phone.texts() == ["one"]


# Refusals


def test_only_the_sender_may_notify_anyway(circle):
    bob, carol = circle.silenced("bob"), circle.live("carol")
    seq = circle.send("hi")["seq"]
    assert carol.session.refusal("notify", room=circle.room, seq=seq)["code"] == "forbidden"
    circle.pass_due()
    assert bob.phone.texts() == []
    assert notify(circle, seq) == 1


def test_a_missing_message_is_not_found(circle):
    bob = circle.silenced("bob")
    seq = circle.send("hi")["seq"]
    assert refused(circle, seq + 1)["code"] == "not_found"
    circle.alice.request("delete", room=circle.room, seq=seq)
    assert refused(circle, seq)["code"] == "not_found"
    bob.prefer(onFocus="deliver")
    circle.pass_due()
    assert bob.phone.texts() == []


def test_a_session_that_has_not_joined_is_refused(circle):
    assert circle.alice.refusal("notify", room="elsewhere", seq=1)["code"] == "not_joined"
    seq = circle.send("hi")["seq"]
    circle.alice.request("leave", room=circle.room, stay=True)
    assert refused(circle, seq)["code"] == "not_joined"


@pytest.mark.parametrize("wrong", [{"seq": 0}, {"users": ["no name"]}], ids=str)
def test_a_wrong_field_is_refused(circle, wrong):
    """`BadFieldsTests` has all cases."""
    bob = circle.silenced("bob")
    seq = circle.send("hi")["seq"]
    assert circle.alice.refusal("notify", **{"room": circle.room, "seq": seq} | wrong)["code"] == "bad_request"
    assert notify(circle, seq, users=[f"user-{number}" for number in range(255)] + [bob.user]) == 1


def test_a_recipient_is_notified_five_times_a_minute_at_most(circle):
    bob, carol = circle.silenced("bob"), circle.silenced("carol")
    sent = [circle.send(f"text {number}")["seq"] for number in range(7)]
    for seq in sent[:5]:
        assert notify(circle, seq, users=[bob.user]) == 1
    error = refused(circle, sent[5], users=[bob.user])
    assert (error["code"], error["temporary"]) == ("rate_limited", True)
    assert 0 < error["retryAfter"] <= 60
    # The limit does not affect other recipients and other senders.
    assert notify(circle, sent[5], users=[carol.user]) == 1
    dave = circle.live("dave")
    theirs = dave.session.send(circle.room, "from dave")["seq"]
    assert dave.session.request("notify", room=circle.room, seq=theirs, users=[bob.user])["push"] == 1
    # The relay rejects a request if one of its recipients is over the limit.
    assert refused(circle, sent[6])["code"] == "rate_limited"
    assert notify(circle, sent[6], users=[carol.user]) == 1
    circle.pass_due()
    assert len(bob.phone.notifications()) == 6


# Over HTTP


def test_http_notifies_anyway(circle):
    bob = circle.silenced("bob")
    seq = circle.send("hi")["seq"]
    path = f"/v1/rooms/{circle.room}/messages/{seq}/notify"
    for body, push in ({"users": [bob.user]}, 1), ({}, 0), (None, 0):
        answer = call(circle.relay, "POST", path, b"" if body is None else body, user=circle.alice.user)
        assert (answer.status, answer.json) == (200, {"push": push})
    assert is_anyway(bob.phone.ring("hi"))
    answer = call(circle.relay, "POST", path, {}, user=bob.user)
    assert (answer.status, answer.problem["code"]) == (403, "forbidden")
    for path, at in (path.replace(f"/{seq}/", "/0/"), "/path/seq"), (path.replace(f"/{seq}/", "/x/"), "/path/seq"):
        answer = call(circle.relay, "POST", path, {}, user=circle.alice.user)
        assert (answer.status, answer.problem["at"]) == (422, at)
    answer = call(circle.relay, "POST", f"/v1/rooms/{circle.room}/messages/9/notify", {}, user=circle.alice.user)
    assert answer.status == 404
