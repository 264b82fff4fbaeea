# SPDX-License-Identifier: Apache-2.0
"""Calls: two callers and three devices of the callee, over real sockets."""

import threading
import time

import pytest

from api import call
from client import Refused
from phone import Phone
from relay import SLOW
from waiting import eventually

# The users of these tests share no room, and become members at once.
RELAY_OPTIONS = ("--rooms-invitations", "none")

DEVICES = ("phone", "tablet", "laptop")


class Pair:
    """Ann and Bob in their direct room. Bob has three devices. Carol shares a group with both."""

    def __init__(self, relay, connect, names):
        self.relay, self.connect = relay, connect
        self.ann, self.bob, self.carol, self.group = names("ann", "bob", "carol", "group")
        self.caller = connect(relay, self.ann, device="ann-phone")
        self.other = connect(relay, self.carol, device="carol-phone")
        self.devices = {name: connect(relay, self.bob, device=name) for name in DEVICES}
        self.room = self.caller.request("direct", user=self.bob)["room"]
        self.caller.request("create", room=self.group, members=[self.bob, self.carol])

    def ring(self, room=None, session=None, **fields):
        return (session or self.caller).request("ring", room=room or self.room, **fields)

    def phone(self, device="old-phone"):
        """A phone of Bob without a session, which shows pushes."""
        phone = Phone(self.relay, f"{self.bob}-{device}")
        self.devices["phone"].request("device", device=device, **phone.registration)
        return phone

    def state(self, rung, room=None):
        return call(self.relay, "GET", f"/v1/rooms/{room or self.room}/calls/{rung['seq']}", user=self.ann).json


@pytest.fixture
def pair(relay, connect, names):
    return Pair(relay, connect, names)


def alert(phone):
    shown = phone.notifications()
    return shown[0]["payload"]["aps"]["alert"].get("loc-key") if shown else None


def test_a_call_rings_at_all_sessions_of_all_members_although_none_has_joined_the_room(pair):
    rung = pair.ring(media="video")
    assert (rung["state"], rung["media"], rung["from"]) == ("ringing", "video", pair.ann)
    for session in (pair.caller, *pair.devices.values()):
        event = session.expect("call", room=pair.room, event="ring")
        assert (event["seq"], event["state"], event["media"]) == (rung["seq"], "ringing", "video")
    assert pair.other.received("call") == []


def test_a_session_that_connects_while_a_call_rings_gets_it(pair):
    rung = pair.ring()
    late = pair.connect(pair.relay, pair.bob, device="watch")
    assert late.expect("call", event="ring")["seq"] == rung["seq"]
    late.request("decline", room=pair.room, seq=rung["seq"])
    # A declined call does not ring again. The relay sends both calls together.
    pair.ring(pair.group, pair.other)
    again = pair.connect(pair.relay, pair.bob, device="car")
    again.expect("call", event="ring", room=pair.group)
    assert again.received("call", room=pair.room) == []


def test_an_answer_ends_the_ringing_on_the_other_devices(pair):
    phone = pair.phone()
    rung = pair.ring()
    eventually(lambda: alert(phone) == "Incoming call")
    for session in pair.devices.values():
        session.expect("call", event="ring")
    times = {}

    def wait(name):
        pair.devices[name].expect("call", event="answer")
        times[name] = time.monotonic()

    waits = [threading.Thread(target=wait, args=(name,)) for name in DEVICES[1:]]
    for thread in waits:
        thread.start()
    start = time.monotonic()
    reply = pair.devices["phone"].request("answer", room=pair.room, seq=rung["seq"])
    for thread in waits:
        thread.join()
    slowest = max(times.values()) - start
    print(f"\nanswered elsewhere after {slowest * 1000:.1f} ms")
    assert reply["state"] == "answered"
    assert reply["users"] == [{"user": pair.bob, "state": "answered", "device": "phone"}]
    event = pair.caller.expect("call", event="answer")
    assert (event["user"], event["device"], event["state"]) == (pair.bob, "phone", "answered")
    eventually(lambda: alert(phone) == "Answered on another device")
    # A second device is too late, and a repeated answer has no effect.
    with pytest.raises(Refused) as refused:
        pair.devices["tablet"].request("answer", room=pair.room, seq=rung["seq"])
    assert refused.value.error["code"] == "conflict"
    assert "device phone" in refused.value.error["message"]
    assert pair.devices["phone"].request("answer", room=pair.room, seq=rung["seq"])["state"] == "answered"
    assert pair.caller.request("hangup", room=pair.room, seq=rung["seq"])["state"] == "ended"
    for session in pair.devices.values():
        assert session.expect("call", event="hangup")["state"] == "ended"
    assert pair.caller.request("hangup", room=pair.room, seq=rung["seq"])["state"] == "ended"


def test_a_late_hang_up_of_another_device_does_not_end_an_answered_call(pair):
    rung = pair.ring()
    phone, tablet = pair.devices["phone"], pair.devices["tablet"]
    tablet.request("answer", room=pair.room, seq=rung["seq"])
    # The phone has lost the reply to its own answer, and hangs up: with its session, and over HTTP.
    error = phone.refusal("hangup", room=pair.room, seq=rung["seq"])
    assert (error["code"], "device tablet" in error["message"]) == ("conflict", True)
    path = f"/v1/rooms/{pair.room}/calls/{rung['seq']}/hangup"
    late = call(pair.relay, "POST", path, {"device": "phone"}, user=pair.bob)
    assert (late.status, late.problem["code"]) == (409, "conflict")
    error = phone.refusal("hangup", room=pair.room, seq=rung["seq"], device="watch")
    assert (error["code"], "device tablet" in error["message"]) == ("conflict", True)
    assert pair.state(rung)["state"] == "answered"
    # Without its session, the tablet cannot hang up any more.
    tablet.drop()
    listed = f"/v1/users/{pair.bob}/sessions"
    eventually(lambda: "tablet" not in str(call(pair.relay, "GET", listed).json))
    assert phone.request("hangup", room=pair.room, seq=rung["seq"])["state"] == "ended"
    event = pair.caller.expect("call", event="hangup")
    assert (event["user"], event["device"], event["state"]) == (pair.bob, "phone", "ended")


def test_a_session_hangs_up_for_a_phone_that_has_answered_over_http(pair):
    """The phone may be lost, so no session of it ends the call."""
    rung = pair.ring()
    tablet = pair.devices["tablet"]
    path = f"/v1/rooms/{pair.room}/calls/{rung['seq']}/answer"
    assert call(pair.relay, "POST", path, {"device": "lost"}, user=pair.bob).status == 200
    error = tablet.refusal("hangup", room=pair.room, seq=rung["seq"])
    assert (error["code"], "device lost" in error["message"]) == ("conflict", True)
    assert tablet.request("hangup", room=pair.room, seq=rung["seq"], device="lost")["state"] == "ended"
    event = pair.caller.expect("call", event="hangup")
    assert (event["user"], event["device"], event["state"]) == (pair.bob, "tablet", "ended")


def test_a_declined_call_ends_on_all_devices(pair):
    phone = pair.phone()
    rung = pair.ring()
    eventually(phone.notifications)
    pair.devices["tablet"].request("decline", room=pair.room, seq=rung["seq"])
    for session in (pair.caller, *pair.devices.values()):
        event = session.expect("call", event="decline")
        assert (event["state"], event["user"]) == ("declined", pair.bob)
    eventually(lambda: alert(phone) == "Declined on another device")
    with pytest.raises(Refused):
        pair.devices["phone"].request("answer", room=pair.room, seq=rung["seq"])


def test_a_cancelled_call_is_a_missed_call_on_phones(pair):
    phone = pair.phone()
    rung = pair.ring(push={"expires": 600})
    eventually(phone.notifications)
    assert pair.caller.request("hangup", room=pair.room, seq=rung["seq"])["state"] == "cancelled"
    for session in pair.devices.values():
        assert session.expect("call", event="hangup")["state"] == "cancelled"
    eventually(lambda: alert(phone) == "Missed call")


def test_a_call_that_nobody_answers_is_missed(pair):
    phone = pair.phone()
    rung = pair.ring(push={"expires": 1})
    for session in (pair.caller, *pair.devices.values()):
        assert session.expect("call", event="expire")["state"] == "missed"
    eventually(lambda: alert(phone) == "Missed call")
    page = call(pair.relay, "GET", f"/v1/rooms/{pair.room}/calls", user=pair.bob).json
    assert [(one["seq"], one["state"]) for one in page["calls"]] == [(rung["seq"], "missed")]
    assert pair.ring()["seq"] > rung["seq"]


def test_when_both_ring_one_call_wins_and_both_are_in_it(pair):
    replies = {}
    start = threading.Barrier(2)

    def ring(name, session):
        start.wait()
        replies[name] = session.request("ring", room=pair.room)

    sessions = {"ann": pair.caller, "bob": pair.devices["phone"]}
    threads = [threading.Thread(target=ring, args=item) for item in sessions.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winner, loser = sorted(replies.values(), key=lambda reply: "duplicate" in reply)
    assert "duplicate" not in winner and loser["duplicate"] is True
    assert winner["seq"] == loser["seq"] and loser["state"] == "answered"
    for session in (pair.caller, *pair.devices.values()):
        assert session.expect("call", event="answer")["seq"] == winner["seq"]
    assert len(call(pair.relay, "GET", f"/v1/rooms/{pair.room}/calls", user=pair.ann).json["calls"]) == 1


def test_a_second_caller_rings_at_the_same_time_in_another_room(pair):
    rung = pair.ring()
    other = pair.ring(pair.group, pair.other)
    phone = pair.devices["phone"]
    assert phone.expect("call", event="ring", room=pair.room)["from"] == pair.ann
    assert phone.expect("call", event="ring", room=pair.group)["from"] == pair.carol
    phone.request("answer", room=pair.room, seq=rung["seq"])
    phone.request("decline", room=pair.group, seq=other["seq"])
    # The group still rings for Ann, who then declines, too.
    assert pair.state(other, pair.group)["state"] == "ringing"
    assert pair.caller.request("decline", room=pair.group, seq=other["seq"])["state"] == "declined"
    assert pair.state(rung)["state"] == "answered"


def test_the_same_caller_rings_once_and_a_message_of_kind_call_is_a_call(pair):
    rung = pair.ring()
    again = pair.ring()
    assert (again["seq"], again["duplicate"]) == (rung["seq"], True)
    pair.caller.request("hangup", room=pair.room, seq=rung["seq"])
    pair.caller.join(pair.group)
    sent = pair.caller.send(pair.group, "Hello?", push={"kind": "call", "data": {"video": True}})
    event = pair.devices["phone"].expect("call", event="ring", room=pair.group)
    assert (event["seq"], event["media"]) == (sent["seq"], "video")
    pair.caller.request("delete", room=pair.group, seq=sent["seq"])
    event = pair.devices["phone"].expect("call", event="delete", room=pair.group)
    assert event["state"] == "cancelled"


def test_both_transports_give_the_same_call(pair):
    def ring():
        calls, key = f"/v1/rooms/{pair.room}/calls", {"Idempotency-Key": "k"}
        return call(pair.relay, "POST", calls, {"media": "audio"}, user=pair.ann, headers=key)

    rung = ring()
    assert rung.status == 201
    path = f"/v1/rooms/{pair.room}/calls/{rung.json['seq']}"
    again = ring()
    assert (again.status, again.json["seq"]) == (200, rung.json["seq"])
    answered = call(pair.relay, "POST", f"{path}/answer", {"device": "tablet"}, user=pair.bob)
    assert (answered.status, answered.json["state"]) == (200, "answered")
    assert call(pair.relay, "POST", f"{path}/answer", {"device": "phone"}, user=pair.bob).status == 409
    assert pair.devices["phone"].expect("call", event="answer")["device"] == "tablet"
    assert pair.caller.request("call", room=pair.room, seq=rung.json["seq"])["users"] == answered.json["users"]
    assert call(pair.relay, "POST", f"{path}/hangup", user=pair.bob).json["state"] == "ended"
    assert call(pair.relay, "GET", f"/v1/rooms/{pair.room}/calls/99", user=pair.bob).status == 404
    assert call(pair.relay, "POST", f"{path}/answer", {}, user=pair.carol).status == 403


def test_a_call_that_rings_when_the_relay_is_killed_is_still_missed(start, connect, names):
    relay = start(*RELAY_OPTIONS)
    pair = Pair(relay, connect, names)
    phone = pair.phone()
    # The device must be back before the end of the ringing.
    rung = pair.ring(push={"expires": 8 * SLOW})
    long = pair.ring(pair.group, pair.other)
    eventually(phone.notifications)
    relay.kill()
    relay.start()
    device = connect(relay, pair.bob, device="phone")
    # The other call still rings, and the device can answer it.
    assert device.expect("call", event="ring", room=pair.group)["seq"] == long["seq"]
    assert device.request("answer", room=pair.group, seq=long["seq"])["state"] == "answered"
    assert device.expect("call", event="expire", room=pair.room)["state"] == "missed"
    assert pair.state(rung)["state"] == "missed"


def test_a_group_call_rings_for_the_others_until_it_ends(pair):
    phone = pair.phone()
    rung = pair.ring(pair.group)
    eventually(lambda: alert(phone) == "Incoming call")
    pair.other.request("answer", room=pair.group, seq=rung["seq"])
    # A member who connects after another's answer may still answer.
    late = pair.connect(pair.relay, pair.bob, device="watch")
    event = late.expect("call", event="ring", room=pair.group)
    assert (event["seq"], event["state"]) == (rung["seq"], "answered")
    assert "ended" not in event
    assert alert(phone) == "Incoming call"
    # The end of the call ends the ringing at once, and not only at its end.
    assert pair.other.request("hangup", room=pair.group, seq=rung["seq"])["state"] == "ended"
    assert late.expect("call", event="hangup", room=pair.group)["ended"]
    eventually(lambda: alert(phone) == "Missed call")
    # The relay sends all calls that ring together.
    pair.ring()
    again = pair.connect(pair.relay, pair.bob, device="car")
    again.expect("call", event="ring", room=pair.room)
    assert again.received("call", room=pair.group) == []


def test_the_deletion_of_a_room_ends_its_call(pair):
    pair.ring(pair.group)
    phone = pair.devices["phone"]
    phone.expect("call", event="ring", room=pair.group)
    assert call(pair.relay, "DELETE", f"/v1/rooms/{pair.group}").status in (200, 204)
    phone.expect("room", event="deleted", room=pair.group)
    # A session that connects gets no call of the deleted room, and a new room of this name has its own calls.
    pair.caller.request("create", room=pair.group, members=[pair.bob])
    pair.ring()
    late = pair.connect(pair.relay, pair.bob, device="watch")
    late.expect("call", event="ring", room=pair.room)
    assert late.received("call", room=pair.group) == []
    rung = pair.ring(pair.group)
    assert late.expect("call", event="ring", room=pair.group)["seq"] == rung["seq"]


def test_a_caller_who_leaves_the_room_cancels_the_call(pair):
    rung = pair.ring(pair.group)
    pair.caller.request("leave", room=pair.group)
    for session in (pair.caller, pair.other, *pair.devices.values()):
        event = session.expect("call", event="hangup", room=pair.group)
        assert (event["seq"], event["state"], event["user"]) == (rung["seq"], "cancelled", pair.ann)
    assert pair.ring(pair.group, pair.other)["seq"] > rung["seq"]


@pytest.mark.parametrize("fields", [{}, {"ban": True}], ids=["removed", "banned"])
def test_a_member_who_is_removed_leaves_the_call(pair, fields):
    rung = pair.ring(pair.group)
    phone = pair.devices["phone"]
    phone.request("answer", room=pair.group, seq=rung["seq"])
    pair.caller.request("remove", room=pair.group, user=pair.bob, **fields)
    event = phone.expect("call", event="hangup", room=pair.group)
    assert (event["user"], event["state"]) == (pair.bob, "ended")
    assert pair.caller.expect("call", event="hangup")["seq"] == rung["seq"]
    # The call has not rung in vain for a member who did nothing.
    again = pair.ring(pair.group)
    pair.caller.request("remove", room=pair.group, user=pair.carol)
    event = pair.caller.expect("call", event="decline", seq=again["seq"])
    assert (event["user"], event["state"]) == (pair.carol, "declined")


def test_a_suspended_user_leaves_all_calls(pair):
    rung = pair.ring()
    group = pair.ring(pair.group)
    pair.devices["phone"].request("answer", room=pair.group, seq=group["seq"])
    assert call(pair.relay, "PUT", f"/v1/users/{pair.ann}/access", {"suspended": True}).status == 200
    for session in pair.devices.values():
        states = {room: session.expect("call", event="hangup", room=room)["state"] for room in (pair.room, pair.group)}
        assert states == {pair.room: "cancelled", pair.group: "ended"}
    assert pair.caller.closed() == 4507
    reply = pair.devices["phone"].refusal("answer", room=pair.room, seq=rung["seq"])
    assert reply["message"] == "the call is over: cancelled"


@pytest.mark.parametrize("is_caller", [False, True], ids=["the callee blocks", "the caller blocks"])
def test_a_ring_answers_no_call_of_a_blocked_user(pair, is_caller):
    phone = pair.devices["phone"]
    if is_caller:
        pair.caller.request("block", users=[pair.bob])
    else:
        phone.request("block", users=[pair.ann])
    rung = pair.ring()
    refused = phone.refusal("ring", room=pair.room)
    assert (refused["code"], "rings in the room already" in refused["message"]) == ("conflict", True)
    assert pair.state(rung)["state"] == "ringing"


def test_sessions_without_a_device_repeat_an_answer(pair):
    rung = pair.ring()
    web = pair.connect(pair.relay, pair.bob)
    assert web.request("answer", room=pair.room, seq=rung["seq"])["state"] == "answered"
    # The reply was lost with the connection.
    web.drop()
    web = pair.connect(pair.relay, pair.bob)
    assert web.request("answer", room=pair.room, seq=rung["seq"])["state"] == "answered"
    assert pair.devices["phone"].refusal("answer", room=pair.room, seq=rung["seq"])["code"] == "conflict"
    assert len(pair.caller.received("call", event="answer")) == 1


def test_a_user_cannot_answer_and_hang_up_for_ever(pair):
    rung = pair.ring(pair.group)
    pair.other.request("answer", room=pair.group, seq=rung["seq"])
    phone, name = pair.devices["phone"], {"room": pair.group, "seq": rung["seq"]}
    for _ in range(16):
        phone.request("answer", **name)
        phone.request("hangup", **name)
    refused = phone.refusal("answer", **name)
    assert (refused["code"], "16 times" in refused["message"]) == ("conflict", True)


def test_changes_of_a_call_count_as_sends(start, connect, names):
    relay = start("--limits-send-rate", 0.001, "--limits-send-burst", 3, *RELAY_OPTIONS)
    pair = Pair(relay, connect, names)
    rung = pair.ring(pair.group)
    name = {"room": pair.group, "seq": rung["seq"]}
    phone = pair.devices["phone"]
    for action in ("decline", "answer", "hangup"):
        phone.request(action, **name)
    for action in ("decline", "answer", "hangup"):
        refused = phone.refusal(action, **name)
        assert refused["code"] == "rate_limited" and refused["retryAfter"] > 0
    # The room has four times the burst: twelve requests with the ring. The call is over, so the others change nothing.
    last = connect(relay, pair.carol, device="carol-tablet")
    for session, count in ((pair.devices["tablet"], 3), (pair.other, 3), (last, 2)):
        for _ in range(count):
            assert session.request("hangup", **name)["state"] == "ended"
    refused = last.refusal("hangup", **name)
    assert (refused["code"], refused["message"]) == ("rate_limited", "too many messages to the room")


@pytest.fixture
def paced(start, connect, names):
    """Ann has called Bob as often as the pace allows. Each call was over at once."""
    pair = Pair(start("--pace-calls", 2, "--rooms-invitations", "none"), connect, names)
    for _ in range(2):
        rung = pair.ring()
        pair.caller.request("hangup", room=pair.room, seq=rung["seq"])
    return pair


def test_calls_above_the_pace_are_refused_if_they_ring_for_nobody(paced):
    paced.caller.join(paced.room)
    for type, fields in (("ring", {}), ("send", {"body": 1, "push": {"kind": "call"}})):
        error = paced.caller.refusal(type, room=paced.room, **fields)
        assert (error["code"], error["temporary"]) == ("rate_limited", True), type
        assert "`pace.calls`" in error["message"] and 0 < error["retryAfter"] <= 60, type
    # A backend that calls in the name of a user has the pace of this user.
    answer = call(paced.relay, "POST", f"/v1/rooms/{paced.room}/calls", {"from": paced.ann})
    assert (answer.status, answer.problem["code"]) == (429, "rate_limited")
    assert 0 < int(answer.headers["Retry-After"]) <= 60
    assert len(paced.caller.request("calls", room=paced.room)["calls"]) == 2
    # Bob has a pace of his own.
    assert paced.ring(session=paced.devices["phone"])["from"] == paced.bob


def test_a_call_rings_only_for_the_members_below_the_pace(paced):
    phone = paced.phone()
    rung = paced.ring(paced.group)
    assert "muted" not in paced.other.expect("call", event="ring", room=paced.group)
    assert paced.devices["phone"].expect("call", event="ring", room=paced.group)["muted"] is True
    late = paced.connect(paced.relay, paced.bob, device="late")
    assert late.expect("call", event="ring", room=paced.group)["muted"] is True
    # Bob sees the call, and may take part. His phone shows neither the call nor a missed call.
    answered = paced.devices["tablet"].request("answer", room=paced.group, seq=rung["seq"])
    assert answered["state"] == "answered"
    paced.caller.request("hangup", room=paced.group, seq=rung["seq"])
    second = paced.ring(paced.group)
    paced.caller.request("hangup", room=paced.group, seq=second["seq"])
    assert paced.caller.refusal("ring", room=paced.group)["code"] == "rate_limited"
    pushes = call(paced.relay, "GET", f"/v1/pushes?user={paced.bob}").json["pushes"]
    assert [push for push in pushes if push["room"] == paced.group] == [] and phone.notifications() == []
    unread = call(paced.relay, "GET", "/v1/users/me/rooms", user=paced.bob).json["rooms"]
    assert next(room["unread"] for room in unread if room["room"] == paced.group) >= 1


@pytest.mark.parametrize("members", [256, 257])
def test_a_call_in_a_room_at_the_limit_of_members(pair, members):
    for number in range(members - 3):
        path = f"/v1/rooms/{pair.group}/members/{pair.group}-{number}"
        assert call(pair.relay, "PUT", path).status in (200, 201, 204)
    if members > 256:
        refused = pair.caller.refusal("ring", room=pair.group)
        assert (refused["code"], "256 members" in refused["message"]) == ("too_large", True)
        return
    rung = pair.ring(pair.group)
    phone = pair.devices["phone"]
    phone.expect("call", event="ring", room=pair.group)
    pair.other.request("decline", room=pair.group, seq=rung["seq"])
    phone.expect("call", event="decline", room=pair.group)
    # The room grows. Only the caller and the users who have answered or declined get further events.
    assert call(pair.relay, "PUT", f"/v1/rooms/{pair.group}/members/{pair.group}-one-more").status in (200, 201, 204)
    pair.devices["tablet"].request("answer", room=pair.group, seq=rung["seq"])
    for session in (pair.caller, pair.other, phone):
        assert session.expect("call", event="answer")["user"] == pair.bob
    number = f"{pair.group}-1"
    silent = pair.connect(pair.relay, number)
    silent.expect("call", event="ring", room=pair.group)
    assert pair.other.request("answer", room=pair.group, seq=rung["seq"])["state"] == "answered"
    pair.caller.expect("call", event="answer", user=pair.carol)
    silent.request("ping")
    assert silent.received("call", event="answer") == []


def test_a_wrong_ring_is_refused(pair):
    """`BadFieldsTests` has all cases."""
    assert pair.caller.refusal("ring", room=pair.room, media="smell")["code"] == "bad_request"


def test_rooms_in_which_no_call_rings(pair, names):
    (alone,) = names("alone")
    pair.caller.request("create", room=alone)
    assert pair.caller.refusal("ring", room=alone)["code"] == "conflict"
    live = f"live.{alone}"
    pair.caller.join(live)
    assert pair.caller.refusal("ring", room=live)["code"] == "unsupported"
    assert pair.caller.refusal("answer", room=pair.room, seq=99)["code"] == "not_found"
    rung = pair.ring()
    assert pair.caller.refusal("answer", room=pair.room, seq=rung["seq"])["code"] == "conflict"
    assert pair.other.refusal("answer", room=pair.room, seq=rung["seq"])["code"] == "not_joined"


def test_a_muted_room_does_not_ring_and_a_blocked_caller_is_not_shown(pair):
    phone = pair.devices["phone"]
    phone.request("preferences", rooms={pair.room: {"level": "none"}})
    rung = pair.ring()
    assert phone.expect("call", event="ring")["muted"] is True
    pair.caller.request("hangup", room=pair.room, seq=rung["seq"])
    phone.expect("call", event="hangup")
    phone.request("block", users=[pair.ann])
    pair.ring()
    phone.request("ping")
    assert phone.received("call", event="ring") == []
