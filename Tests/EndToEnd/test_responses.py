# SPDX-License-Identifier: Apache-2.0
"""Responses to notifications reach the sender of the message once and in order, even with a long delay."""

import itertools
import time

import pytest

from api import call, history
from relay import SLOW
from waiting import eventually
from wire import Wire

RELAY_OPTIONS = ("--presence-grace", "0")
OPEN = "com.apple.UNNotificationDefaultActionIdentifier"
DISMISS = "com.apple.UNNotificationDismissActionIdentifier"
WRITTEN = {"button": "Send", "placeholder": "Message"}
CATEGORIES = [
    {
        "id": "invitation",
        "actions": [
            {"id": "accept", "title": "Accept"},
            {"id": "decline", "title": "Decline"},
            {"id": "comment", "title": "Comment", "textInput": WRITTEN},
            {"id": "reply", "title": "Reply", "textInput": WRITTEN, "posts": True},
        ],
    },
    {"id": "other", "actions": [{"id": "later", "title": "Later"}]},
]

_texts = itertools.count(1)


def declare(relay):
    assert call(relay, "PUT", "/v1/categories", {"categories": CATEGORIES}).status == 200


@pytest.fixture(autouse=True)
def registry(request):
    if "relay" in request.fixturenames:
        declare(request.getfixturevalue("relay"))


@pytest.fixture
def bob(circle):
    return circle.away("bob")


def notify(circle, person, **push):
    """Sends a message, and returns the id of the notification on the phone and the seq."""
    text = f"text {next(_texts)}"
    sent = circle.send(text, push={"category": "invitation"} | push)
    return person.phone.ring(text)["payload"]["communication"]["notification"], sent["seq"]


def respond(circle, person, notification, action="accept", /, **fields):
    """Sends a response over HTTP, as the user."""
    path = f"/v1/notifications/{notification}/responses"
    return call(circle.relay, "POST", path, {"action": action} | fields, user=person.user)


def event(circle, person, notification, seq, action="accept", **fields):
    """Returns the event that the sender receives for a response."""
    frame = {"type": "response", "notification": notification, "room": circle.room, "seq": seq, "user": person.user}
    return frame | {"action": action} | fields


def responses(session):
    """Returns all responses that a session has received until now."""
    return [dict(frame) for frame in session.received("response")]


def test_accept_reaches_the_sender(circle, bob):
    id, seq = notify(circle, bob)
    assert circle.back(bob).request("respond", notification=id, action="accept")["type"] == "ok"
    assert dict(circle.alice.expect("response")) == event(circle, bob, id, seq)


def test_a_response_over_http_reaches_the_sender(circle, bob):
    id, seq = notify(circle, bob)
    answer = respond(circle, bob, id, "comment", text="yes ✓")
    assert answer.status == 201
    body = answer.json
    assert abs(body.pop("time") - time.time() * 1000) < 60_000
    assert body == {"notification": id, "room": circle.room, "seq": seq, "action": "comment"}
    assert dict(circle.alice.expect("response")) == event(circle, bob, id, seq, "comment", text="yes ✓")


def test_a_backend_responds_for_the_user_that_it_names(circle, bob):
    id, seq = notify(circle, bob)
    path = f"/v1/notifications/{id}/responses"
    nobody = call(circle.relay, "POST", path, {"action": "accept"})
    assert (nobody.status, nobody.problem["at"]) == (422, "/user")
    assert call(circle.relay, "POST", path, {"action": "accept", "user": bob.user}).status == 201
    assert dict(circle.alice.expect("response")) == event(circle, bob, id, seq)


@pytest.mark.parametrize("action", [OPEN, DISMISS])
@pytest.mark.parametrize("category", ["invitation", None])
def test_the_actions_of_the_system_reach_the_sender(circle, bob, action, category):
    id, seq = notify(circle, bob, category=category)
    assert respond(circle, bob, id, action).status == 201
    assert dict(circle.alice.expect("response")) == event(circle, bob, id, seq, action)


def test_every_session_of_the_sender_receives_a_response(circle, bob):
    tablet = circle.back(circle.alice)
    id, seq = notify(circle, bob)
    respond(circle, bob, id)
    for session in (circle.alice, tablet):
        assert dict(session.expect("response")) == event(circle, bob, id, seq)


# Once


def test_a_repeated_response_is_not_sent_again(circle, bob):
    id, seq = notify(circle, bob)
    session = circle.back(bob)
    first = respond(circle, bob, id)
    for _ in range(2):
        session.request("respond", notification=id, action="accept")
        again = respond(circle, bob, id)
        assert (again.status, again.json) == (200, first.json | {"duplicate": True})
    assert responses(circle.alice) == [event(circle, bob, id, seq)]


def test_the_same_key_is_the_same_response(circle, bob):
    id, seq = notify(circle, bob)
    first = respond(circle, bob, id, key="k")
    again = respond(circle, bob, id, "decline", key="k")
    assert (again.status, again.json) == (200, first.json | {"duplicate": True})
    path = f"/v1/notifications/{id}/responses"
    headers = {"Idempotency-Key": "k"}
    assert call(circle.relay, "POST", path, {"action": "decline"}, user=bob.user, headers=headers).status == 200
    assert responses(circle.alice) == [event(circle, bob, id, seq)]


def test_a_message_is_answered_on_one_device_only(circle):
    bob = circle.live("bob")
    tablet = bob.register("tablet")
    bob.session.close(1000)
    circle.alice.expect("presence", user=bob.user, online=False)
    id, seq = notify(circle, bob)
    other = eventually(tablet.notifications)[-1]["payload"]["communication"]["notification"]
    assert other != id
    assert respond(circle, bob, id, "accept").status == 201
    for notification in (id, other):
        answer = respond(circle, bob, notification, "decline")
        assert (answer.status, answer.problem["code"]) == (409, "conflict")
    assert respond(circle, bob, other, "accept").status == 200
    assert circle.back(bob).refusal("respond", notification=id, action="decline")["code"] == "conflict"
    assert responses(circle.alice) == [event(circle, bob, id, seq)]


def test_an_opened_notification_can_still_be_answered(circle, bob):
    id, seq = notify(circle, bob)
    assert [respond(circle, bob, id, action).status for action in (DISMISS, OPEN, "accept", OPEN)] == [201, 201, 201, 200]
    assert [response["action"] for response in responses(circle.alice)] == [DISMISS, OPEN, "accept"]


# Rejected responses


def test_a_user_cannot_answer_the_notification_of_another(circle, bob):
    carol = circle.away("carol")
    id, _ = notify(circle, bob)
    for person in (carol, circle.alice):
        answer = respond(circle, person, id)
        assert (answer.status, answer.problem["code"], answer.problem["at"]) == (404, "not_found", "/path/id")
    assert circle.back(carol).refusal("respond", notification=id, action="accept")["code"] == "not_found"
    assert respond(circle, bob, "dd03c85b-fe98-48f9-98b0-2da51fbeeed8").status == 404
    assert responses(circle.alice) == []


def test_a_deleted_message_cannot_be_answered(circle, bob):
    id, seq = notify(circle, bob)
    circle.alice.request("delete", room=circle.room, seq=seq)
    assert respond(circle, bob, id).problem["code"] == "not_found"


def test_a_user_who_has_left_the_room_cannot_answer(circle, bob):
    id, _ = notify(circle, bob)
    assert call(circle.relay, "DELETE", f"/v1/rooms/{circle.room}/members/{bob.user}").status == 204
    answer = respond(circle, bob, id)
    assert (answer.status, answer.problem["code"]) == (403, "not_joined")


@pytest.mark.parametrize(
    "fields, at",
    [
        ({"action": "later"}, "/action"),
        ({"action": "accept", "text": "no text here"}, "/text"),
        ({"action": "reply", "text": " \n"}, "/text"),
    ],
)
def test_a_response_that_the_category_does_not_allow_is_rejected(circle, bob, fields, at):
    """`ResponseRequestTests` has all cases."""
    id, _ = notify(circle, bob)
    answer = call(circle.relay, "POST", f"/v1/notifications/{id}/responses", fields, user=bob.user)
    assert (answer.status, answer.problem["code"], answer.problem["at"]) == (422, "bad_request", at)
    assert circle.back(bob).refusal("respond", notification=id, **fields)["code"] == "bad_request"
    assert responses(circle.alice) == []


def test_without_a_category_only_the_systems_actions_are_allowed(circle, bob):
    id, _ = notify(circle, bob, category=None)
    assert respond(circle, bob, id).problem["at"] == "/action"


def test_the_longest_text_reaches_the_sender(circle, bob):
    id, seq = notify(circle, bob)
    text = "é" * 2048
    assert respond(circle, bob, id, "comment", text=text, key="k" * 128).status == 201
    assert dict(circle.alice.expect("response")) == event(circle, bob, id, seq, "comment", text=text)


def test_a_blocked_sender_receives_no_response(circle, bob):
    id, _ = notify(circle, bob)
    bob.block(circle.alice)
    assert respond(circle, bob, id).status == 201
    assert responses(circle.alice) == []


# Late responses


@pytest.mark.parametrize("kills", [(), ("before",), ("after",), ("before", "after")], ids=lambda kills: "+".join(kills))
def test_accept_reaches_a_sender_who_was_away(gather, kills):
    circle = gather(*RELAY_OPTIONS)
    declare(circle.relay)
    bob = circle.away("bob")
    id, seq = notify(circle, bob)
    circle.alice.close(1000)

    def kill(when):
        if when in kills:
            circle.relay.kill()
            circle.relay.start()

    kill("before")
    assert respond(circle, bob, id).status == 201
    kill("after")
    back = circle.back(circle.alice)
    assert dict(back.expect("response")) == event(circle, bob, id, seq)
    # The relay does not send a received response again.
    eventually(lambda: not responses(circle.back(circle.alice)))
    circle.relay.kill()
    circle.relay.start()
    assert responses(circle.back(circle.alice)) == []
    assert respond(circle, bob, id).status == 200


def test_an_unconfirmed_response_is_sent_again(circle, bob):
    id, seq = notify(circle, bob)
    circle.alice.close(1000)
    with Wire(circle.relay) as wire:
        wire.open(circle.alice.user)
        respond(circle, bob, id)
        while (got := wire.text())["type"] != "response":
            pass
        assert dict(got) == event(circle, bob, id, seq)
        # The client sends no pong, so the response is not confirmed.
    assert dict(circle.back(circle.alice).expect("response")) == event(circle, bob, id, seq)


def test_many_responses_arrive_in_their_order(circle):
    people = [circle.away(f"person{number}") for number in range(5)]
    expected, waiting = [], []
    for number in range(8):
        text = f"many {number}"
        seq = circle.send(text, push={"category": "invitation"})["seq"]
        waiting += [(person, text, seq) for person in people]
    circle.alice.close(1000)
    for person, text, seq in waiting:
        id = person.phone.ring(text)["payload"]["communication"]["notification"]
        assert respond(circle, person, id).status == 201
        expected.append(event(circle, person, id, seq))
    back = circle.back(circle.alice)
    assert [dict(back.expect("response")) for _ in expected] == expected
    assert responses(back) == []


def test_long_responses_do_not_fill_the_queue_of_a_session(gather):
    """All responses together exceed the limit of the queue, but a single response does not."""
    circle = gather(*RELAY_OPTIONS, "--limits-outgoing-queue", 16_384)
    declare(circle.relay)
    bob = circle.away("bob")
    sent = [notify(circle, bob) for _ in range(9)]
    circle.alice.close(1000)
    expected, text = [], "x" * 4_000
    for id, seq in sent:
        assert respond(circle, bob, id, "comment", text=text).status == 201
        expected.append(event(circle, bob, id, seq, "comment", text=text))
    back = circle.back(circle.alice)
    assert [dict(back.expect("response")) for _ in expected] == expected


# Texts that are posted


def test_a_text_is_posted_as_an_answer(circle, bob):
    carol = circle.stranger("carol")
    carol.session.join(circle.room)
    id, seq = notify(circle, bob)
    session = circle.back(bob)
    session.join(circle.room)
    session.request("respond", notification=id, action="reply", text="on my way")
    for listener in (circle.alice, carol.session, session):
        message = listener.expect("message", room=circle.room, **{"from": bob.user})
        assert (message["body"], message["replyTo"]) == ({"text": "on my way"}, seq)
        assert (message["quote"]["seq"], message["quote"]["preview"][:5]) == (seq, "text ")
    assert dict(circle.alice.expect("response")) == event(circle, bob, id, seq, "reply", text="on my way")


def test_a_response_moves_the_read_mark_to_its_message_only(circle, bob):
    id, seq = notify(circle, bob)
    circle.send("between")
    bob.phone.ring("between")
    assert respond(circle, bob, id, "reply", text="yes").status == 201
    circle.send("after")
    assert bob.phone.ring("after")["payload"]["aps"]["badge"] == 2
    assert circle.back(bob).join(circle.room)["read"] == seq


def test_a_text_is_posted_once_also_after_a_kill(gather):
    circle = gather(*RELAY_OPTIONS)
    declare(circle.relay)
    bob = circle.away("bob")
    id, seq = notify(circle, bob)
    first = respond(circle, bob, id, "reply", text="yes")
    assert (first.status, first.json["posted"]) == (201, seq + 1)
    for _ in range(2):
        again = respond(circle, bob, id, "reply", text="yes")
        assert (again.status, again.json) == (200, first.json | {"duplicate": True})
        assert respond(circle, bob, id, "reply", text="no").status == 409
        circle.restart()
    assert [message["body"] for message in history(circle.relay, circle.room, bob.user)][1:] == [{"text": "yes"}]


def test_a_user_without_the_right_send_posts_no_text(start, secret, api_keys, backend, connect, names):
    relay = start(*RELAY_OPTIONS, "--api-keys-file", api_keys, secret=secret)
    assert call(relay, "PUT", "/v1/categories", {"categories": CATEGORIES}, token=backend).status == 200
    alice, bob, room = names("alice", "bob", "room")
    sender = connect(relay, token=relay.token(alice))
    sender.join(room)
    token = relay.token(bob, rooms=[{"match": "*", "can": ["join"]}])
    reader = connect(relay, token=token)
    reader.join(room)
    reader.request("device", device="phone", platform="simulator", token=f"{bob}-phone")
    reader.close(1000)
    sender.expect("presence", user=bob, online=False)
    sender.send(room, "hi", push={"category": "invitation"})

    def shown():
        answer = call(relay, "GET", f"/v1/simulator/devices/{bob}-phone", token=backend)
        return answer.status == 200 and answer.json["notifications"]

    id = eventually(shown)[0]["payload"]["communication"]["notification"]
    path = f"/v1/notifications/{id}/responses"
    refused = call(relay, "POST", path, {"action": "reply", "text": "hi"}, token=token)
    assert (refused.status, refused.problem["code"]) == (403, "forbidden")
    error = connect(relay, token=token).refusal("respond", notification=id, action="reply", text="hi")
    assert error["code"] == "forbidden"
    assert call(relay, "POST", path, {"action": "accept", "user": bob}, token=token).problem["code"] == "forbidden"
    assert call(relay, "POST", path, {"action": "accept"}, token=token).status == 201
    assert sender.expect("response")["action"] == "accept"
    assert sender.received("message") == []


# Calls


@pytest.mark.parametrize("action", ["accept", DISMISS])
def test_a_call_that_was_answered_is_not_missed(circle, bob, action):
    seconds = 2 * SLOW
    id, _ = notify(circle, bob, kind="call", expires=seconds)
    missed, _ = notify(circle, bob, kind="call", expires=seconds)
    assert respond(circle, bob, id, action).status == 201

    def shown():
        return {
            one["payload"]["communication"]["notification"]: one["payload"]["aps"]["alert"].get("loc-key")
            for one in bob.phone.notifications()
        }

    eventually(lambda: shown()[missed] == "Missed call")
    assert shown()[id] != "Missed call"


def without_room(circle, person, **push):
    """Sends a push from a backend, and returns its id."""
    body = {"from": circle.alice.user, "push": {"category": "invitation"} | push}
    answer = call(circle.relay, "POST", f"/v1/users/{person.user}/notifications", body)
    return answer.json["devices"][0]["push"]


def test_a_notification_without_a_room_is_answered(circle, bob):
    id = without_room(circle, bob)
    answer = respond(circle, bob, id, "comment", text="yes")
    assert answer.status == 201 and "room" not in answer.json and "seq" not in answer.json
    expected = {"type": "response", "notification": id, "user": bob.user, "action": "comment", "text": "yes"}
    assert dict(circle.alice.expect("response")) == expected
    other = without_room(circle, bob)
    assert respond(circle, bob, other, "reply", text="yes").problem["at"] == "/action"


def test_a_sender_who_has_left_the_room_receives_no_texts(circle, bob):
    id, seq = notify(circle, bob)
    circle.alice.request("leave", room=circle.room)
    respond(circle, bob, id, "comment", text="yes")
    assert dict(circle.alice.expect("response")) == event(circle, bob, id, seq, "comment")
