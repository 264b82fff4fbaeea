# SPDX-License-Identifier: Apache-2.0
"""`delivery` events: how a message went, for a sender who asked."""

import time

import pytest

from waiting import eventually

RELAY_OPTIONS = ("--presence-grace", "0")


def told(circle, sent, **fields):
    """Waits for what the sender is told of a message."""
    return circle.alice.expect("delivery", room=circle.room, seq=sent["seq"], **fields)


def heard(circle):
    return [(event["user"], event["state"]) for event in circle.alice.heard("delivery")]


def test_a_push_is_told_once_it_is_with_the_gateway(circle):
    bob = circle.away("bob")
    bob.register("tablet")
    sent = circle.send("hi", report=True)
    assert told(circle, sent)["state"] == "pushed"
    circle.pass_due()
    assert heard(circle) == []
    assert bob.phone.texts() == ["hi"]


def test_who_receives_or_reads_it_is_told(circle):
    bob, carol = circle.live("bob", acks=True), circle.live("carol", acks=True)
    sent = circle.send("hi", report=True)
    bob.session.request("received", room=circle.room, seq=sent["seq"])
    carol.session.request("read", room=circle.room, seq=sent["seq"])
    for person in (bob, carol):
        assert told(circle, sent, user=person.user)["state"] == "received"
    assert heard(circle) == []


def test_a_push_that_is_read_later_is_told_twice(circle):
    bob = circle.away("bob")
    sent = circle.send("hi", report=True)
    told(circle, sent, state="pushed")
    session = circle.back(bob)
    session.join(circle.room)
    session.request("read", room=circle.room, seq=sent["seq"])
    assert told(circle, sent, state="received")["user"] == bob.user
    assert heard(circle) == []


@pytest.mark.parametrize("fields", [{}, {"report": False}, {"report": None}], ids=str)
def test_who_does_not_ask_is_told_nothing(circle, fields):
    bob = circle.away("bob")
    circle.send("hi", **fields)
    bob.phone.ring("hi")
    circle.pass_due()
    assert heard(circle) == []


def test_only_the_sender_is_told_on_whatever_session(circle):
    bob, carol = circle.away("bob"), circle.live("carol")
    other = circle.back(circle.alice)
    sent = circle.send("hi", report=True)
    told(circle, sent, user=bob.user)
    assert other.expect("delivery")["user"] == bob.user
    assert carol.session.heard("delivery") == []


def test_a_hold_is_told_when_it_ends(circle):
    bob = circle.silenced("bob")
    sent = circle.send("hi", report=True)
    circle.pass_due()
    assert heard(circle) == []
    bob.prefer(onFocus="deliver")
    assert told(circle, sent)["state"] == "pushed"


def test_who_hides_their_focus_is_told_of_as_if_there_were_none(circle):
    """Whatever becomes of the push; and what is received shows."""
    bob, carol = circle.silenced("bob", shareFocus="none"), circle.live("carol", acks=True)
    carol.prefer(shareFocus="none")
    sent = circle.send("hi", report=True)
    assert told(circle, sent, user=bob.user)["state"] == "pushed"
    carol.session.request("received", room=circle.room, seq=sent["seq"])
    assert told(circle, sent, user=carol.user)["state"] == "received"
    bob.prefer(onFocus="deliver")
    bob.phone.ring("hi")
    circle.pass_due()
    assert heard(circle) == []


def test_who_has_muted_the_room_is_told_of_as_if_not(circle):
    bob = circle.away("bob", rooms={circle.room: {"level": "none"}})
    sent = circle.send("hi", report=True)
    assert told(circle, sent)["user"] == bob.user
    session = circle.back(bob)
    session.join(circle.room)
    session.request("read", room=circle.room, seq=sent["seq"])
    assert told(circle, sent)["state"] == "received"


@pytest.mark.parametrize("place", ["live", "away", "within the grace"])
def test_of_who_has_blocked_the_sender_the_same_is_told_wherever_they_are(gather, place):
    """`pushed`, as of somebody who hides whether they are online, and no receipt."""
    circle = gather("--presence-grace", 6)
    bob, carol = circle.live("bob", acks=True), circle.live("carol", acks=True)
    bob.block(circle.alice)
    if place == "away":
        bob.session.close()
    elif place == "within the grace":
        bob.session.drop()
    sent = circle.send("hi", report=True)
    carol.session.request("read", room=circle.room, seq=sent["seq"])
    assert told(circle, sent, user=carol.user)["state"] == "received"
    assert told(circle, sent)["user"] == bob.user
    if place == "live":
        bob.session.request("read", room=circle.room, seq=sent["seq"])
    circle.pass_due()
    assert heard(circle) == []
    assert bob.phone.texts() == []


def test_the_time_of_a_report_does_not_reveal_where_a_hidden_recipient_is(gather):
    """One delay for recipients who are online, away or within the grace, and for a blocker."""
    circle = gather("--presence-grace", 6)
    online, lost = circle.live("online", acks=True), circle.live("lost", acks=True)
    blocker, away = circle.live("blocker", acks=True), circle.away("away", shareOnline="none")
    for person in (online, lost):
        person.prefer(shareOnline="none")
    blocker.block(circle.alice)
    lost.session.drop()
    before = time.monotonic()
    sent = circle.send("hi", report=True)
    first = circle.alice.expect("delivery", room=circle.room, seq=sent["seq"], state="pushed")
    assert time.monotonic() - before > 5.9
    # The relay sends all of them in one go, 6 s after the message: before it can answer anything else.
    others = circle.alice.heard("delivery", room=circle.room, seq=sent["seq"], state="pushed")
    reported = sorted(event["user"] for event in [first, *others])
    assert reported == sorted(person.user for person in (online, away, lost, blocker))
    circle.alice.forget_events()
    away.phone.ring("hi")
    lost.phone.ring("hi")
    assert heard(circle) == []


@pytest.mark.parametrize("before, after", [("none", "watchers"), ("watchers", "none")])
def test_a_recipient_who_hides_or_shows_themselves_meanwhile_is_reported_on(gather, before, after):
    circle = gather("--presence-grace", 2)
    bob = circle.live("bob", acks=True)
    bob.prefer(shareOnline=before)
    bob.session.drop()
    sent = circle.send("hi", report=True)
    bob.prefer(shareOnline=after)
    assert told(circle, sent)["state"] == "pushed"
    bob.phone.ring("hi")
    circle.pass_due()
    assert heard(circle) == []


def test_a_hidden_recipient_who_receives_in_time_is_reported_as_usual(gather):
    circle = gather("--presence-grace", 2)
    bob = circle.live("bob", acks=True)
    bob.prefer(shareOnline="none")
    sent = circle.send("hi", report=True)
    bob.session.request("received", room=circle.room, seq=sent["seq"])
    assert told(circle, sent)["state"] == "received"
    carol = circle.away("carol", shareOnline="none")
    later = circle.send("later", report=True)
    # The earlier report would be due before this one.
    assert told(circle, later, user=carol.user)["state"] == "pushed"
    assert [event for event in circle.alice.heard("delivery") if event["seq"] == sent["seq"]] == []


def test_who_is_there_and_hides_something_is_told_of_as_if_a_push_were_needed(circle):
    """Their sessions say nothing of it; when the push would have gone out is told."""
    muting, hiding = circle.live("muting", acks=True), circle.live("hiding", acks=True)
    muting.prefer(rooms={circle.room: {"level": "none"}})
    hiding.prefer(shareFocus="none")
    sent = circle.send("hi", report=True)
    for person in (muting, hiding):
        assert told(circle, sent, user=person.user)["state"] == "pushed"
    hiding.phone.ring("hi")
    assert muting.phone.texts() == []


def test_who_mutes_within_the_grace_is_told_of_when_it_is_over(gather):
    circle = gather("--presence-grace", 2)
    muting = circle.live("muting")
    muting.prefer(rooms={circle.room: {"level": "none"}})
    muting.session.drop()
    sent = circle.send("hi", report=True)
    assert told(circle, sent, user=muting.user)["state"] == "pushed"
    assert circle.alice.request("ping")["time"] >= sent["time"] + 1_000
    assert muting.phone.texts() == []


def test_without_a_device_only_who_hides_something_is_told_of(circle):
    bob, carol = circle.away("bob", shareFocus="none"), circle.away("carol")
    for person in (bob, carol):
        person.forget()
    sent = circle.send("hi", report=True)
    assert told(circle, sent)["user"] == bob.user
    circle.pass_due()
    assert heard(circle) == []


def test_in_a_large_room_nothing_is_told(gather):
    circle = gather("--limits-member-list", 2, "--presence-grace", 0)
    bob = circle.away("bob")
    told(circle, circle.send("one", report=True), user=bob.user)
    carol = circle.live("carol")
    sent = circle.send("two", report=True)
    bob.phone.ring("two")
    carol.session.request("read", room=circle.room, seq=sent["seq"])
    circle.pass_due()
    assert heard(circle) == []


def test_what_is_wrong_is_refused(circle):
    assert circle.alice.refusal("send", room=circle.room, body=1, report="yes")["code"] == "bad_request"


def test_a_message_that_expires_while_it_is_held_is_not_told_of(circle):
    bob = circle.silenced("bob")
    sent = circle.send("short", report=True, push={"expires": 1})
    circle.send("long", report=True)
    eventually(lambda: circle.alice.request("ping")["time"] > sent["time"] + 1_000)
    bob.prefer(onFocus="deliver")
    bob.phone.ring("long")
    assert told(circle, {"seq": sent["seq"] + 1})["state"] == "pushed"
    circle.pass_due()
    assert heard(circle) == []


def test_each_message_of_a_digest_is_told_of(circle):
    bob = circle.silenced("bob")
    sent = [circle.send(text, report=True) for text in ("one", "two")]
    bob.prefer(onFocus="deliver")
    assert "digest" in bob.phone.nth(0)["payload"]
    for one in sent:
        assert told(circle, one)["state"] == "pushed"


def test_over_http_a_sender_with_a_session_is_told(circle):
    bob = circle.away("bob")
    sent = circle.post("hi", report=True)
    assert told(circle, sent, user=bob.user)["state"] == "pushed"
