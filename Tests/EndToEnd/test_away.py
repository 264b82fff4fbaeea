# SPDX-License-Identifier: Apache-2.0
"""The pushes to members who are away, and the waits before them.

`DecisionTests` proves the waits to the millisecond, and `PlannerTests` calls, own messages and background sessions.
"""

import json
import time

import pytest

from api import call
from phone import Phone
from relay import DEADLINE
from rfc6455 import PING, PONG, frame
from waiting import eventually
from wire import Wire

GRACE = 2.0
#: The seconds in which a live session must acknowledge a message (`not_received_yet`).
ANSWER = 5.0
#: The seconds after a message in which a user may return to an idle session (`received_idle`).
IDLE = 30.0
RELAY_OPTIONS = ("--presence-grace", GRACE)


@pytest.fixture
def alice(connect, names):
    """The sender."""
    return connect(names("alice")[0], name="Alice")


@pytest.fixture
def room(alice, names):
    (room,) = names("room")
    alice.join(room)
    return room


@pytest.fixture
def member(connect, names, relay, room, phone):
    """Makes a member with a phone. Returns the session and the phone."""

    def member(stem, **hello):
        session = connect(names(stem)[0], **hello)
        session.join(room)
        return session, phone(relay, session)

    return member


@pytest.fixture
def away(member, alice):
    """Makes a member with a phone who has closed the session. Returns the user and the phone."""

    def away(stem):
        session, phone = member(stem)
        session.close(1000)
        alice.expect("presence", user=session.user, online=False)
        return session.user, phone

    return away


@pytest.fixture
def afterwards(away, alice, room):
    """Waits until all due pushes were sent: a later message reaches the phone of another member."""
    _, marker = away("marker")

    def afterwards():
        alice.send(room, "afterwards")
        marker.ring("afterwards")

    return afterwards


@pytest.mark.parametrize("leave", [lambda bob: bob.drop(), lambda bob: bob.close(1001)], ids=["cut", "1001"])
def test_a_message_after_an_unclean_end_is_pushed_after_the_grace(alice, room, member, leave):
    bob, phone = member("bob")
    ended = time.monotonic()
    leave(bob)
    alice.send(room, "are you there")
    phone.ring("are you there")
    assert time.monotonic() - ended > GRACE - 0.1
    assert len(phone.notifications()) == 1


def test_a_message_after_a_clean_close_is_pushed_immediately(start, connect, phone):
    relay = start("--presence-grace", 600)
    alice, bob = connect(relay, "alice"), connect(relay, "bob")
    alice.join("room")
    bob.join("room")
    bobs = phone(relay, bob)
    bob.close(1000)
    alice.expect("presence", user="bob", online=False)
    alice.send("room", "are you there")
    bobs.ring("are you there")


def test_a_user_who_returns_within_the_grace_and_reads_gets_no_push_and_causes_no_event(alice, room, member, connect):
    readers = {"read": member("bob", acks=True), "received": member("carol", acks=True), None: member("dave")}
    last, last_phone = member("erin")
    epoch = alice.join(room)["epoch"]
    alice.forget_events()
    for session, _ in [*readers.values(), (last, last_phone)]:
        session.drop()
    seq = alice.send(room, "while you were out")["seq"]
    for kind, (session, _) in readers.items():
        back = connect(session.user, acks=kind is not None)
        joined = back.join(room, after={"epoch": epoch, "seq": 0})
        assert [message["body"] for message in joined["messages"]] == ["while you were out"]
        if kind is not None:
            back.request(kind, room=room, seq=seq)
    last_phone.ring("while you were out")
    alice.expect("presence", user=last.user, online=False)
    assert {presence["user"] for presence in alice.received("presence")} <= {last.user}
    alice.send(room, "and now")
    last_phone.ring("and now")
    assert [phone.texts() for _, phone in readers.values()] == [[], [], []]


def test_a_live_session_that_does_not_acknowledge_gets_a_push(alice, room, member, names, relay, afterwards):
    """A client that acknowledges sends `received`. For another client a pong counts."""
    quiet = [member("bob"), member("carol", acks=True), member("dave", acks=True)]
    _, only_ponging = member("erin", acks=True)
    (silent,) = names("frank")
    silent_phone = Phone(relay, f"{silent}-phone")
    with Wire(relay) as wire:
        wire.open(silent)
        wire.send_request("join", id="join", room=room)
        wire.reply("join")
        wire.send_request("device", id="device", device="phone", **silent_phone.registration)
        wire.reply("device")
        sent = time.monotonic()
        seq = alice.send(room, "hello?")["seq"]
        quiet[1][0].request("received", room=room, seq=seq)
        quiet[2][0].request("read", room=room, seq=seq)
        for phone in (silent_phone, only_ponging):
            phone.ring("hello?")
            assert time.monotonic() - sent > ANSWER - 0.1
        afterwards()
    assert [phone.texts() for _, phone in quiet] == [[], [], []]


def test_one_ping_is_out_at_a_time_and_the_next_follows_its_pong(alice, room, names, relay):
    with Wire(relay) as wire:
        wire.open(*names("quiet"))
        wire.send_request("join", id="join", room=room)
        wire.reply("join")

        def pings():
            """The payloads of the pings before the reply to a request that is sent now."""
            wire.send_request("ping", id="here")
            payloads, text = [], {}
            while text.get("id") != "here":
                opcode, payload = wire.frame()
                if opcode == PING:
                    payloads.append(payload)
                else:
                    text = json.loads(payload)
            return payloads

        for number in range(3):
            alice.send(room, number)
        (first,) = pings()
        alice.send(room, 3)
        assert pings() == []
        wire.send_bytes(frame(PONG, first))
        (second,) = pings()
        wire.send_bytes(frame(PONG, second))
        assert pings() == []


def test_a_read_in_one_session_counts_for_the_others(alice, room, connect, member, names, relay, afterwards):
    (user,) = names("bob")
    silent_phone = Phone(relay, f"{user}-phone")
    _, later = member("carol", acks=True)
    with Wire(relay) as wire:
        wire.open(user)
        wire.send_request("join", id="join", room=room)
        wire.reply("join")
        other = connect(user, acks=True)
        other.request("device", device="phone", **silent_phone.registration)
        other.join(room)
        seq = alice.send(room, "hello?")["seq"]
        other.request("read", room=room, seq=seq)
        later.ring("hello?")
        afterwards()
    assert silent_phone.texts() == []


def test_a_frozen_page_counts_as_in_the_background_until_it_sends_a_frame(start, connect, phone):
    relay = start("--presence-grace", 600)
    alice, bob = connect(relay, "alice"), connect(relay, "bob", acks=True)
    for session in (alice, bob):
        session.join("room")
    rung = phone(relay, bob)

    def activity():
        return alice.request("presence", users=["bob"])["presence"][0]["activity"]

    # Bob's session answers pings, but sends no `received`.
    alice.send("room", "frozen?")
    assert activity() == "active"
    eventually(lambda: activity() == "background", within=60)
    sent = alice.send("room", "at once")
    assert rung.ring("at once")["time"] - sent["time"] < ANSWER * 1000
    bob.request("ping")
    eventually(lambda: activity() == "active")


def test_a_session_in_the_background_is_not_waited_for(start, connect, phone):
    relay = start("--presence-grace", 600)
    alice, bob, carol = connect(relay, "alice"), connect(relay, "bob"), connect(relay, "carol", activity="background")
    for session in (alice, bob, carol):
        session.join("room")
    phones = [phone(relay, session) for session in (bob, carol)]
    bob.request("activity", state="background")
    sent = alice.send("room", "put away")
    for session, rung in zip((bob, carol), phones):
        # Both times come from the relay's clock.
        assert rung.ring("put away")["time"] - sent["time"] < ANSWER * 1000
        session.expect("message", body="put away")
    bob.request("activity", state="active")
    alice.send("room", "taken up")
    phones[1].ring("taken up")
    assert phones[0].texts() == ["put away"]


def test_an_idle_desktop_does_not_prevent_the_push(alice, room, member, afterwards):
    """An idle session receives the message. Only a user who returns to it, or reads, cancels the push."""
    left, left_phone = member("bob", acks=True, activity="idle")
    ponging, ponging_phone = member("carol", activity="idle")
    touched, touched_phone = member("dave", acks=True, activity="idle")
    reading, reading_phone = member("erin", acks=True, activity="idle")
    sent = alice.send(room, "anybody there?")
    for session in (left, touched, reading):
        session.request("received", room=room, seq=sent["seq"])
    touched.request("activity", state="active")
    reading.request("read", room=room, seq=sent["seq"])
    ponging.expect("message")
    for phone in (left_phone, ponging_phone):
        # Both times come from the relay's clock.
        assert phone.ring("anybody there?", within=IDLE + DEADLINE)["time"] - sent["time"] >= IDLE * 1000
    afterwards()
    assert (touched_phone.texts(), reading_phone.texts()) == ([], [])


def test_a_member_who_is_online_only_in_another_room_is_pushed_to(start, connect, phone):
    relay = start("--presence-grace", 600)
    alice, stayed, came = connect(relay, "alice"), connect(relay, "stayed"), connect(relay, "came")
    phones = [phone(relay, session) for session in (stayed, came)]
    for session in (alice, stayed, came):
        session.join("room")
        session.join("other")
    stayed.request("leave", room="room", stay=True)
    came.close(1000)
    alice.expect("presence", user="came", online=False)
    connect(relay, "came").join("other")
    alice.send("room", "over here")
    for each in phones:
        each.ring("over here")
    assert stayed.received("message") == []


def test_a_session_in_another_room_does_not_end_the_grace(alice, room, member, connect, names):
    bob, phone = member("bob")
    (other,) = names("other")
    connect(bob.user).join(other)
    bob.drop()
    sent = alice.send(room, "hello")
    assert sent["delivery"]["waiting"] == 1
    phone.ring("hello")


def test_a_message_with_a_repeated_key_is_pushed_once(alice, room, away):
    _, phone = away("bob")
    for _ in range(3):
        alice.send(room, "once", key="k")
    alice.send(room, "twice")
    phone.ring("twice")
    assert sorted(phone.texts()) == ["once", "twice"]


def test_a_user_who_left_the_room_is_not_pushed_to(alice, room, member, afterwards):
    bob, phone = member("bob")
    bob.request("leave", room=room)
    bob.close(1000)
    alice.send(room, "among us")
    afterwards()
    assert phone.texts() == []


def test_every_device_gets_pushes_until_it_is_removed(alice, room, member, names, phone, relay):
    bob, first = member("bob")
    second = phone(relay, bob, "tablet")
    third = Phone(relay, names("bob-watch")[0])
    path = f"/v1/users/{bob.user}/devices"
    assert call(relay, "PUT", f"{path}/watch", third.registration, user=bob.user).status == 200
    bob.close(1000)
    alice.expect("presence", user=bob.user, online=False)
    alice.send(room, "everywhere")
    for each in (first, second, third):
        each.ring("everywhere")
    assert call(relay, "DELETE", f"{path}/watch", user=bob.user).status == 204
    assert call(relay, "DELETE", f"{path}/watch", user=bob.user).status == 204
    forgotten = second.registration | {"token": None}
    assert call(relay, "PUT", f"{path}/tablet", forgotten, user=bob.user).status == 200
    alice.send(room, "here")
    first.ring("here")
    alice.send(room, "again")
    first.ring("again")
    assert (second.texts(), third.texts()) == (["everywhere"], ["everywhere"])


def test_a_new_token_replaces_the_old_one_of_the_device(alice, room, member, phone, relay):
    bob, old = member("bob")
    new = phone(relay, bob)
    bob.close(1000)
    alice.expect("presence", user=bob.user, online=False)
    for text in ("one", "two"):
        alice.send(room, text)
        new.ring(text)
    assert old.texts() == []


def test_a_live_room_pushes_nothing(alice, member, names, afterwards):
    bob, phone = member("bob")
    (stem,) = names("stage")
    for session in (alice, bob):
        session.join(f"live.{stem}")
    bob.close(1000)
    alice.expect("presence", user=bob.user, online=False)
    alice.send(f"live.{stem}", "only now")
    afterwards()
    assert phone.texts() == ["afterwards"]


def test_a_room_over_the_limit_of_pushed_members_pushes_nothing(start, connect, phone):
    relay = start("--limits-pushed-members-per-room", 3, "--presence-grace", 0)
    alice, bob, carol = (connect(relay, user) for user in ("alice", "bob", "carol"))
    bobs = phone(relay, bob)
    for session in (alice, bob, carol):
        session.join("room")
        session.join("small")
    bob.close(1000)
    alice.expect("presence", user="bob", online=False)
    alice.send("room", "at the limit")
    bobs.ring("at the limit")
    dave = connect(relay, "dave")
    dave.join("room")
    alice.send("room", "one past it")
    alice.send("small", "in a smaller room")
    bobs.ring("in a smaller room")
    dave.request("leave", room="room")
    alice.send("room", "at the limit again")
    bobs.ring("at the limit again")
    assert bobs.texts() == ["at the limit", "in a smaller room", "at the limit again"]


def test_a_push_that_waits_for_the_grace_survives_a_restart(start, connect, phone):
    relay = start("--presence-grace", 5)
    alice, bob = connect(relay, "alice"), connect(relay, "bob")
    alice.join("room")
    bob.join("room")
    bobs = phone(relay, bob)
    bob.drop()
    alice.send("room", "not lost")
    assert relay.stop() == 0
    relay.start()
    bobs.ring("not lost")


def test_a_restart_sends_no_push_twice(start, connect, phone):
    """The relay has pushed to one member before its end. Another member was still within the grace."""
    relay = start("--presence-grace", 5)
    alice, gone, cut = (connect(relay, user) for user in ("alice", "gone", "cut"))
    for session in (alice, gone, cut):
        session.join("room")
    gones, cuts = (phone(relay, session) for session in (gone, cut))
    gone.close(1000)
    alice.expect("presence", user="gone", online=False)
    cut.drop()
    alice.send("room", "once")
    gones.ring("once")
    assert relay.stop() == 0
    relay.start()
    cuts.ring("once")
    alice = connect(relay, "alice")
    alice.join("room")
    alice.send("room", "afterwards")
    gones.ring("afterwards")
    # A restart clears the simulated phones.
    assert gones.texts() == ["afterwards"]


def test_the_simulated_gateway_streams_its_notifications(alice, room, away):
    _, phone = away("bob")
    with phone.events() as events:
        for text in ("one", "two"):
            alice.send(room, text)
            name, notification = next(events)
            assert name == "notification"
            assert notification["payload"]["aps"]["alert"]["body"] == text
            assert notification in phone.notifications()


def test_a_closed_event_stream_is_released(start, connect, phone):
    relay = start()
    bobs = phone(relay, connect(relay, "bob"))
    before = relay.open_files
    for _ in range(20):
        with bobs.events():
            pass
    eventually(lambda: relay.open_files <= before + 2)
