# SPDX-License-Identifier: Apache-2.0
"""`delivery` events: the result of a message, for a sender who requests reports.

`PlannerTests` proves which results a recipient hides.
"""

import time

import pytest

from waiting import eventually

RELAY_OPTIONS = ("--presence-grace", "0")


def report(circle, sent, **fields):
    """Waits for a report to the sender of a message."""
    return circle.alice.expect("delivery", room=circle.room, seq=sent["seq"], **fields)


def reports(circle):
    return [(event["user"], event["state"]) for event in circle.alice.received("delivery")]


def test_a_push_is_reported_when_the_gateway_has_it(circle):
    bob = circle.away("bob")
    bob.register("tablet")
    sent = circle.send("hi", report=True)
    assert report(circle, sent)["state"] == "pushed"
    circle.pass_due()
    assert reports(circle) == []
    assert bob.phone.texts() == ["hi"]


def test_a_receipt_and_a_read_are_reported(circle):
    bob, carol = circle.live("bob", acks=True), circle.live("carol", acks=True)
    sent = circle.send("hi", report=True)
    bob.session.request("received", room=circle.room, seq=sent["seq"])
    carol.session.request("read", room=circle.room, seq=sent["seq"])
    for person in (bob, carol):
        assert report(circle, sent, user=person.user)["state"] == "received"
    assert reports(circle) == []


def test_a_push_that_is_read_later_is_reported_twice(circle):
    bob = circle.away("bob")
    sent = circle.send("hi", report=True)
    report(circle, sent, state="pushed")
    session = circle.back(bob)
    session.join(circle.room)
    session.request("read", room=circle.room, seq=sent["seq"])
    assert report(circle, sent, state="received")["user"] == bob.user
    assert reports(circle) == []


def test_a_new_member_is_no_recipient_of_earlier_messages(circle):
    bob = circle.away("bob")
    report(circle, circle.send("one", report=True), user=bob.user)
    carol = circle.live("carol")
    sent = circle.send("two", report=True)
    carol.session.request("read", room=circle.room, seq=sent["seq"])
    # A report about the earlier message would arrive before this one.
    assert report(circle, sent, user=carol.user)["state"] == "received"
    assert [event for event in circle.alice.received("delivery") if event["user"] == carol.user] == []


@pytest.mark.parametrize("fields", [{}, {"report": False}, {"report": None}], ids=str)
def test_a_sender_who_requests_no_reports_receives_none(circle, fields):
    bob = circle.away("bob")
    circle.send("hi", **fields)
    bob.phone.ring("hi")
    circle.pass_due()
    assert reports(circle) == []


def test_each_session_of_the_sender_receives_the_reports(circle):
    bob, carol = circle.away("bob"), circle.live("carol")
    other = circle.back(circle.alice)
    sent = circle.send("hi", report=True)
    report(circle, sent, user=bob.user)
    assert other.expect("delivery")["user"] == bob.user
    assert carol.session.received("delivery") == []


def test_a_hold_is_reported_when_it_ends(circle):
    bob = circle.silenced("bob")
    sent = circle.send("hi", report=True)
    circle.pass_due()
    assert reports(circle) == []
    bob.prefer(onFocus="deliver")
    assert report(circle, sent)["state"] == "pushed"


def test_the_time_of_a_report_does_not_reveal_where_a_hidden_recipient_is(gather):
    """The delay is the same for recipients who are online, away or within the grace, and for a blocker."""
    circle = gather("--presence-grace", 6)
    online, lost = circle.live("online", acks=True), circle.live("lost", acks=True)
    blocker, away = circle.live("blocker", acks=True), circle.away("away", shareOnline="none")
    for person in (online, lost):
        person.prefer(shareOnline="none")
    blocker.block(circle.alice)
    lost.session.drop()
    before = time.monotonic()
    sent = circle.send("hi", report=True)
    # A sender receives no receipt from a user who has blocked the sender.
    blocker.session.request("read", room=circle.room, seq=sent["seq"])
    first = circle.alice.expect("delivery", room=circle.room, seq=sent["seq"], state="pushed")
    assert time.monotonic() - before > 5.9
    # The relay sends all reports together, 6 s after the message, before it answers another request.
    others = circle.alice.received("delivery", room=circle.room, seq=sent["seq"], state="pushed")
    reported = sorted(event["user"] for event in [first, *others])
    assert reported == sorted(person.user for person in (online, away, lost, blocker))
    assert circle.alice.received("delivery", user=blocker.user, state="received") == []
    circle.alice.forget_events()
    away.phone.ring("hi")
    lost.phone.ring("hi")
    assert reports(circle) == []
    assert blocker.phone.texts() == []


@pytest.mark.parametrize("before, after", [("none", "watchers"), ("watchers", "none")])
def test_a_recipient_who_changes_the_sharing_meanwhile_is_still_reported(gather, before, after):
    circle = gather("--presence-grace", 2)
    bob = circle.live("bob", acks=True)
    bob.prefer(shareOnline=before)
    bob.session.drop()
    sent = circle.send("hi", report=True)
    bob.prefer(shareOnline=after)
    assert report(circle, sent)["state"] == "pushed"
    bob.phone.ring("hi")
    circle.pass_due()
    assert reports(circle) == []


def test_a_hidden_recipient_who_receives_in_time_is_reported_as_usual(gather):
    circle = gather("--presence-grace", 2)
    bob = circle.live("bob", acks=True)
    bob.prefer(shareOnline="none")
    sent = circle.send("hi", report=True)
    bob.session.request("received", room=circle.room, seq=sent["seq"])
    assert report(circle, sent)["state"] == "received"
    carol = circle.away("carol", shareOnline="none")
    later = circle.send("later", report=True)
    # A report about the earlier message would arrive before this one.
    assert report(circle, later, user=carol.user)["state"] == "pushed"
    assert [event for event in circle.alice.received("delivery") if event["seq"] == sent["seq"]] == []


def test_an_online_recipient_who_hides_the_result_is_reported_as_pushed(circle):
    """The recipient's sessions do not acknowledge the message. The report is sent at the time of the push."""
    muting, hiding = circle.live("muting", acks=True), circle.live("hiding", acks=True)
    muting.prefer(rooms={circle.room: {"level": "none"}})
    hiding.prefer(shareFocus="none")
    sent = circle.send("hi", report=True)
    for person in (muting, hiding):
        assert report(circle, sent, user=person.user)["state"] == "pushed"
    hiding.phone.ring("hi")
    assert muting.phone.texts() == []


def test_a_large_room_has_no_reports(gather):
    circle = gather("--limits-member-list", 2, "--presence-grace", 0)
    bob = circle.away("bob")
    report(circle, circle.send("one", report=True), user=bob.user)
    carol = circle.live("carol")
    sent = circle.send("two", report=True)
    bob.phone.ring("two")
    carol.session.request("read", room=circle.room, seq=sent["seq"])
    circle.pass_due()
    assert reports(circle) == []


def test_a_report_field_that_is_no_boolean_is_refused(circle):
    assert circle.alice.refusal("send", room=circle.room, body=1, report="yes")["code"] == "bad_request"


def test_a_message_that_expires_while_it_is_held_is_neither_pushed_nor_reported(circle):
    bob = circle.silenced("bob")
    sent = circle.send("short", report=True, push={"expires": 1})
    circle.send("long", report=True)
    eventually(lambda: circle.alice.request("ping")["time"] > sent["time"] + 1_000)
    bob.prefer(onFocus="deliver")
    bob.phone.ring("long")
    assert report(circle, {"seq": sent["seq"] + 1})["state"] == "pushed"
    circle.pass_due()
    assert reports(circle) == []
    assert bob.phone.texts() == ["long"]


def test_each_message_of_a_digest_is_reported(circle):
    bob = circle.silenced("bob")
    sent = [circle.send(text, report=True) for text in ("one", "two")]
    bob.prefer(onFocus="deliver")
    assert "digest" in bob.phone.nth(0)["payload"]
    for one in sent:
        assert report(circle, one)["state"] == "pushed"


def test_a_message_over_http_is_reported_to_the_session_of_its_sender(circle):
    bob = circle.away("bob")
    sent = circle.post("hi", report=True)
    assert report(circle, sent, user=bob.user)["state"] == "pushed"
