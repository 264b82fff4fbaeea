# SPDX-License-Identifier: Apache-2.0
"""Wishes of users for their notifications: mentions by answers and reserved words, exceptions of quiet hours, a push of a
message that stays unread, and a list of rooms that holds pushes back.

`RelayDeliveryTests` proves the decisions.
"""

import time

import pytest

from api import call
from client import Refused
from waiting import eventually

RELAY_OPTIONS = ("--presence-grace", "0")

QUIET = {"from": "00:00", "to": "00:00", "timeZone": "UTC", "mode": "hold"}


def decided(circle, person, **fields):
    """Returns the outcome of a dry run of a message from Alice, and the codes of its reasons."""
    body = {"room": circle.room, "from": circle.alice.user, "user": person.user} | fields
    answer = call(circle.relay, "POST", "/v1/decisions", body)
    assert answer.status == 200, answer
    decision = answer.json["devices"][0]["decision"]
    return decision["outcome"], [reason["code"] for reason in decision["reasons"]]


def post(circle, text, key=None, **fields):
    """Sends a message as a backend, which has all rights."""
    path = f"/v1/rooms/{circle.room}/messages"
    body = {"from": circle.alice.user, "body": {"text": text}, **({"key": key} if key else {})} | fields
    return call(circle.relay, "POST", path, body)


# Mentions


def test_an_answer_to_a_users_message_is_a_mention(circle):
    bob = circle.live("bob")
    question = bob.session.send(circle.room, {"text": "Who helps?"})["seq"]
    bob.prefer(rooms={circle.room: {"level": "mentions"}})
    bob.session.close(1000)
    circle.alice.expect("presence", user=bob.user, online=False)
    circle.send({"text": "no answer"})
    circle.send({"text": "I do"}, replyTo=question)
    assert bob.phone.ring("I do")["payload"]["communication"]["mentionsMe"] is True
    assert bob.phone.texts() == ["I do"]
    (entry,) = [one for one in bob.ask("GET", "rooms").json["rooms"] if one["room"] == circle.room]
    assert (entry["unread"], entry["mentions"]) == (2, 1)
    # An answer to a message of another user is none.
    own = circle.send({"text": "mine"})["seq"]
    assert decided(circle, bob, replyTo=own)[1] == ["muted"]
    assert decided(circle, bob, replyTo=question)[0]["kind"] == "push"


def test_a_message_mentions_all_members_once_a_minute(circle):
    bob = circle.away("bob", rooms={circle.room: {"level": "mentions"}})
    first = post(circle, "fire drill", key="drill", mentions=["*"])
    assert first.status == 201, first
    assert bob.phone.ring("fire drill")["payload"]["communication"]["mentionsMe"] is True
    again = post(circle, "again", mentions=["*online"])
    assert (again.status, again.problem["code"]) == (429, "rate_limited")
    assert 0 < int(again.headers["Retry-After"]) <= 60
    # A retry is the same message.
    retry = post(circle, "fire drill", key="drill", mentions=["*"])
    assert (retry.status, retry.json["seq"], retry.json["duplicate"]) == (200, first.json["seq"], True)
    (entry,) = [one for one in bob.ask("GET", "rooms").json["rooms"] if one["room"] == circle.room]
    assert entry["mentions"] == 1


def test_a_message_mentions_the_members_who_are_online(circle):
    here, away = circle.live("here"), circle.away("away")
    for person in (here, away):
        person.prefer(rooms={circle.room: {"level": "mentions"}})
    here.session.request("activity", state="background")
    assert post(circle, "anybody?", mentions=["*online"]).status == 201
    assert here.session.expect("message")["mentions"] == ["*online"]
    here.phone.ring("anybody?")
    circle.pass_due()
    assert away.phone.texts() == []
    here.session.close(1000)
    counts = []
    for person in (here, away):
        (entry,) = [one for one in person.ask("GET", "rooms").json["rooms"] if one["room"] == circle.room]
        counts.append(entry["mentions"])
    assert counts == [1, 0]


def test_a_reserved_word_needs_the_right(circle):
    bob = circle.live("bob")
    with pytest.raises(Refused) as refused:
        bob.session.send(circle.room, {"text": "all"}, mentions=[bob.user, "*"])
    assert refused.value.error["code"] == "forbidden" and "mentionAll" in refused.value.error["message"]
    answer = post(circle, "all", mentions=["everybody?"])
    assert (answer.status, answer.problem["at"]) == (422, "/mentions/0")


def test_a_room_beyond_the_limit_pushes_to_users_who_are_named(gather):
    circle = gather("--limits-pushed-members-per-room", 2, "--presence-grace", 0)
    bob = circle.live("bob")
    circle.live("carol")
    seq = bob.session.send(circle.room, {"text": "Who?"})["seq"]
    bob.session.close(1000)
    circle.alice.expect("presence", user=bob.user, online=False)
    circle.send({"text": "to nobody"})
    assert post(circle, "to all", mentions=["*"]).status == 201
    circle.send({"text": "to Bob"}, mentions=[bob.user])
    circle.send({"text": "an answer"}, replyTo=seq)
    bob.phone.ring("to Bob")
    bob.phone.ring("an answer")
    assert set(bob.phone.texts()) == {"to Bob", "an answer"}
    assert decided(circle, bob)[1] == ["large_room"]
    everybody = decided(circle, bob, mentions=["*"], rights=["send", "mentionAll"])
    assert everybody == ({"kind": "none", "reason": "large_room"}, ["large_room"])
    assert decided(circle, bob, mentions=[bob.user])[0]["kind"] == "push"


# Quiet hours


def test_people_and_mentions_break_through_quiet_hours(circle):
    bob = circle.away("bob", quietHours=QUIET)
    assert decided(circle, bob)[1] == ["quiet_hours"]
    bob.prefer(breakThrough={"mentions": True})
    assert decided(circle, bob, mentions=[bob.user])[0]["kind"] == "push"
    assert decided(circle, bob)[1] == ["quiet_hours"]
    bob.prefer(breakThrough={"users": [circle.alice.user]})
    circle.send({"text": "wake up"})
    bob.phone.ring("wake up")
    assert bob.prefer(breakThrough=None)["breakThrough"] == {"users": [], "mentions": False}
    assert decided(circle, bob)[1] == ["quiet_hours"]


def test_time_sensitive_messages_obey_quiet_hours(circle):
    bob = circle.away("bob", quietHours=QUIET)
    assert decided(circle, bob, push={"level": "timeSensitive"})[0]["kind"] == "push"
    bob.prefer(quietTimeSensitive=True)
    assert decided(circle, bob, push={"level": "timeSensitive"})[1] == ["quiet_hours"]


def test_a_call_in_quiet_hours_is_missed_at_their_end(circle):
    bob = circle.away("bob", quietHours=QUIET, quietCalls=True)
    rung = circle.alice.request("ring", room=circle.room, push={"expires": 1})
    circle.alice.expect("call", seq=rung["seq"], state="missed")
    circle.pass_due()
    assert bob.phone.notifications() == []
    bob.prefer(quietHours=None)
    shown = bob.phone.nth(0)["payload"]
    assert shown["aps"]["alert"]["loc-key"] == "Missed call"
    circle.pass_due()
    assert len(bob.phone.notifications()) == 1


def test_a_call_does_not_ring_if_quiet_hours_end_while_it_rings(circle):
    bob = circle.away("bob", quietHours=QUIET, quietCalls=True)
    rung = circle.alice.request("ring", room=circle.room, push={"expires": 8})
    circle.pass_due()
    assert bob.phone.notifications() == []
    bob.prefer(quietHours=None)
    assert bob.phone.nth(0)["payload"]["aps"]["alert"]["loc-key"] == "Missed call"
    circle.alice.expect("call", seq=rung["seq"], state="missed")


# Open sessions


def test_a_message_is_pushed_that_stays_unread(circle):
    bob = circle.live("bob", acks=True)
    bob.prefer(pushUnreadAfter=10)
    for text in ("left alone", "read in time"):
        seq = circle.send({"text": text})["seq"]
        bob.session.request("received", room=circle.room, seq=seq)
        if text == "read in time":
            break
        bob.phone.ring(text)
    bob.session.request("read", room=circle.room, seq=seq)
    eventually(lambda: call(circle.relay, "GET", f"/v1/pushes?user={bob.user}").json["pushes"])
    time.sleep(11)
    circle.pass_due()
    # The read removes the first notification, and stops the push of the second message.
    assert bob.phone.texts() == []


def test_a_list_of_rooms_holds_pushes_back(circle):
    bob = circle.away("bob")
    laptop = circle.back(bob, inbox=True, acks=True)
    circle.send({"text": "in the list"})
    laptop.expect("inbox", room=circle.room, event="changed")
    assert decided(circle, bob)[1] == ["not_received_yet"]
    # The relay decides when the session has had 5 s for its pong.
    time.sleep(6)
    circle.pass_due()
    assert bob.phone.texts() == []
    laptop.request("activity", state="idle")
    circle.send({"text": "after"})
    bob.phone.ring("after")


# Fields

WRONG = [
    ({"quietCall": True}, "/quietCall", "did you mean quietCalls?"),
    ({"quietCalls": 1}, "/quietCalls", "must be true or false"),
    ({"pushUnreadAfter": 9}, "/pushUnreadAfter", "must be from 10 to 43200"),
    ({"pushUnreadAfter": 43_201}, "/pushUnreadAfter", "must be from 10 to 43200"),
    ({"breakThrough": {"user": []}}, "/breakThrough/user", "did you mean users?"),
    ({"breakThrough": {"users": [f"u{number}" for number in range(65)]}}, "/breakThrough/users", "at most 64 items"),
    ({"breakThrough": {"users": ["*"]}}, "/breakThrough/users/0", "is not a user name"),
    ({"rooms": {"tea": {"levels": "all"}}}, "/rooms/tea/levels", "did you mean level?"),
    ({"quietHours": QUIET | {"allow": []}}, "/quietHours/allow", "is not known here"),
]


def test_a_wrong_preference_is_refused(circle):
    bob = circle.live("bob")
    before = bob.prefer()
    for wrong, at, words in WRONG:
        answer = bob.ask("PUT", "preferences", wrong)
        assert (answer.status, answer.problem["code"], answer.problem["at"]) == (422, "bad_request", at)
        assert words in answer.problem["detail"]
        refused = bob.session.refusal("preferences", **wrong)
        assert refused["code"] == "bad_request" and words in refused["message"]
        assert bob.prefer() == before


def test_welcome_lists_the_preferences_that_the_relay_knows(circle):
    bob = circle.live("bob")
    assert sorted(bob.session.welcome["limits"]["preferences"]) == sorted(bob.prefer())
    users = [f"u{number}" for number in range(64)]
    assert sorted(bob.prefer(breakThrough={"users": users})["breakThrough"]["users"]) == sorted(users)


# The look of a room


def test_a_room_that_shrinks_to_two_stays_a_group(circle):
    bob, carol = circle.away("bob"), circle.live("carol")
    circle.send({"text": "three"})
    conversation = bob.phone.ring("three")["payload"]["communication"]["conversation"]
    assert (conversation["group"], conversation["recipientCount"]) == (True, 2)
    carol.session.request("leave", room=circle.room)
    circle.send({"text": "two"})
    conversation = bob.phone.ring("two")["payload"]["communication"]["conversation"]
    assert (conversation["group"], conversation["recipientCount"]) == (True, 1)


def test_a_room_of_two_without_a_title_is_no_group(circle):
    bob = circle.away("bob")
    circle.send({"text": "private"})
    assert bob.phone.ring("private")["payload"]["communication"]["conversation"]["group"] is False
    assert call(circle.relay, "PUT", f"/v1/rooms/{circle.room}", {"title": "Project"}).status == 200
    circle.send({"text": "project"})
    conversation = bob.phone.ring("project")["payload"]["communication"]["conversation"]
    assert (conversation["group"], conversation["recipientCount"], conversation["name"]) == (True, 1, "Project")
