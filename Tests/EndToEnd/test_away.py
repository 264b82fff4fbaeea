# SPDX-License-Identifier: Apache-2.0
"""When the phone of somebody who is away rings, and when it stays still."""

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
#: Seconds that a live session has for saying that it received a message (rule 7 of the decision).
ANSWER = 5.0
#: Seconds from a message's time that an idle session has for somebody to come back to it (rule 8).
IDLE = 30.0
RELAY_OPTIONS = ("--presence-grace", GRACE)


@pytest.fixture
def alice(connect, names):
    """Somebody who writes."""
    return connect(names("alice")[0], name="Alice")


@pytest.fixture
def room(alice, names):
    (room,) = names("room")
    alice.join(room)
    return room


@pytest.fixture
def member(connect, names, relay, room, phone):
    """Makes a member of the room who has a phone: the session and the phone."""

    def member(stem, **hello):
        session = connect(names(stem)[0], **hello)
        session.join(room)
        return session, phone(relay, session)

    return member


@pytest.fixture
def away(member, alice):
    """Makes a member who said goodbye and has a phone: user and phone."""

    def away(stem):
        session, phone = member(stem)
        session.close(1000)
        alice.expect("presence", user=session.user, online=False)
        return session.user, phone

    return away


@pytest.fixture
def afterwards(away, alice, room):
    """Proves that what was due has been pushed: a later message reaches the phone of somebody away."""
    _, marker = away("marker")

    def afterwards():
        alice.send(room, "afterwards")
        marker.ring("afterwards")

    return afterwards


@pytest.mark.parametrize("leave", [lambda bob: bob.drop(), lambda bob: bob.close(1001)], ids=["cut", "1001"])
def test_an_unclean_end_rings_after_the_grace_and_not_before(alice, room, member, leave):
    bob, phone = member("bob")
    ended = time.monotonic()
    leave(bob)
    alice.send(room, "are you there")
    phone.ring("are you there")
    assert time.monotonic() - ended > GRACE - 0.1
    assert len(phone.notifications()) == 1


def test_goodbye_rings_at_once(start, connect, phone):
    relay = start("--presence-grace", 600)
    alice, bob = connect(relay, "alice"), connect(relay, "bob")
    alice.join("room")
    bob.join("room")
    bobs = phone(relay, bob)
    bob.close(1000)
    alice.expect("presence", user="bob", online=False)
    alice.send("room", "are you there")
    bobs.ring("are you there")


def test_back_within_the_grace_and_reading_means_no_ring_and_no_event(alice, room, member, connect):
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
    assert {presence["user"] for presence in alice.heard("presence")} <= {last.user}
    alice.send(room, "and now")
    last_phone.ring("and now")
    assert [phone.texts() for _, phone in readers.values()] == [[], [], []]


def test_a_session_in_the_background_does_not_end_the_grace(alice, room, member, connect):
    desktop, phone = member("bob", acks=True)
    connect(desktop.user, activity="background", acks=True).join(room)
    flickering, other = member("carol", acks=True)
    connect(flickering.user, activity="background", acks=True).join(room)
    ended = time.monotonic()
    desktop.drop()
    flickering.drop()
    seq = alice.send(room, "are you there")["seq"]
    back = connect(flickering.user, acks=True)
    back.join(room, after={"epoch": alice.join(room)["epoch"], "seq": seq - 1})
    back.request("received", room=room, seq=seq)
    phone.ring("are you there")
    assert time.monotonic() - ended > GRACE - 0.1
    assert other.texts() == []


def test_a_live_session_that_says_nothing_gets_a_ring(alice, room, member, names, relay, afterwards):
    """Nobody's word but the client's own counts: a pong for those who do not acknowledge, else `received`."""
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
            """What was pinged before the reply to a request sent now."""
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


def test_reading_on_one_session_answers_for_a_silent_one(alice, room, connect, member, names, relay, afterwards):
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


def test_background_is_away(start, connect, phone):
    relay = start("--presence-grace", 600)
    alice, bob, carol = connect(relay, "alice"), connect(relay, "bob"), connect(relay, "carol", activity="background")
    for session in (alice, bob, carol):
        session.join("room")
    phones = [phone(relay, session) for session in (bob, carol)]
    bob.request("activity", state="background")
    alice.send("room", "put away")
    for session, rung in zip((bob, carol), phones):
        rung.ring("put away", within=ANSWER - 0.5)
        session.expect("message", body="put away")
    bob.request("activity", state="active")
    alice.send("room", "taken up")
    phones[1].ring("taken up")
    assert phones[0].texts() == ["put away"]


def test_a_desktop_that_was_left_gets_a_ring_on_the_phone(alice, room, member, afterwards):
    """A tab that receives by itself is no attention, unless somebody comes back to it."""
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
        # By the relay's clock, from the message's time.
        assert phone.ring("anybody there?", within=IDLE + DEADLINE)["time"] - sent["time"] >= IDLE * 1000
    afterwards()
    assert (touched_phone.texts(), reading_phone.texts()) == ([], [])


def test_a_call_waits_for_nobody(start, connect, phone):
    relay = start("--presence-grace", 600)
    alice = connect(relay, "alice")
    alice.join("room")
    hellos = {"active": {"acks": True}, "idle": {"acks": True, "activity": "idle"}, "cut": {}}
    members = {}
    for user, hello in hellos.items():
        session = connect(relay, user, **hello)
        session.join("room")
        members[user] = session, phone(relay, session)
    members["cut"][0].drop()
    alice.send("room", "before the call")
    seq = alice.send("room", "ring ring", push={"kind": "call"})["seq"]
    for user in ("active", "idle"):
        members[user][0].request("received", room="room", seq=seq)
    for _, rung in members.values():
        # A machine that receives it is nobody who answers, so it rings; and long before an idle one is given up.
        rung.ring("ring ring")
    assert members["cut"][1].texts() == ["ring ring"]


def test_who_is_there_in_another_room_only_is_pushed_to(start, connect, phone):
    """Whatever they look at, it is not this room: nobody is waited for who is not in it."""
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
    assert stayed.heard("message") == []


def test_who_was_cut_off_from_this_room_has_the_grace_though_in_another(alice, room, member, connect, names):
    bob, phone = member("bob")
    (other,) = names("other")
    connect(bob.user).join(other)
    bob.drop()
    sent = alice.send(room, "hello")
    assert sent["delivery"]["waiting"] == 1
    phone.ring("hello")


def test_nobody_is_pushed_to_for_their_own_message(alice, room, member, relay):
    bob, bobs = member("bob")
    carol, carols = member("carol")
    for session in (bob, carol):
        session.close(1000)
        alice.expect("presence", user=session.user, online=False)
    posted = call(relay, "POST", f"/v1/rooms/{room}/messages", {"from": bob.user, "body": "from afar"}, user=bob.user)
    assert posted.status == 201
    carols.ring("from afar")
    alice.send(room, "answer")
    bobs.ring("answer")
    assert bobs.texts() == ["answer"]


def test_a_key_seen_again_rings_once(alice, room, away):
    _, phone = away("bob")
    for _ in range(3):
        alice.send(room, "once", key="k")
    alice.send(room, "twice")
    phone.ring("twice")
    assert sorted(phone.texts()) == ["once", "twice"]


def test_who_left_the_room_is_not_pushed_to(alice, room, member, afterwards):
    bob, phone = member("bob")
    bob.request("leave", room=room)
    bob.close(1000)
    alice.send(room, "among us")
    afterwards()
    assert phone.texts() == []


def test_every_device_rings_until_it_is_forgotten(alice, room, member, names, phone, relay):
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


def test_a_token_belongs_to_who_registered_it_last(alice, room, member):
    carol, carols = member("carol")
    bob, bobs = member("bob")
    bob.request("device", device="shared", **carols.registration)
    for session in (bob, carol):
        session.close(1000)
        alice.expect("presence", user=session.user, online=False)
    for text in ("one", "two"):
        alice.send(room, text)
        bobs.ring(text)
        carols.ring(text)
    assert sorted(carols.texts()) == ["one", "two"]


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


def test_a_room_with_more_members_than_are_pushed_to_pushes_nothing(start, connect, phone):
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


def test_what_waits_for_the_grace_survives_a_restart(start, connect, phone):
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


def test_a_restart_rings_nobody_a_second_time(start, connect, phone):
    """One member was pushed to before the end, another was still within the grace."""
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
    # The phones' memory begins anew with the relay.
    assert gones.texts() == ["afterwards"]


def test_the_gateways_events_tell_of_a_push_as_it_happens(alice, room, away):
    _, phone = away("bob")
    with phone.events() as events:
        for text in ("one", "two"):
            alice.send(room, text)
            name, notification = next(events)
            assert name == "notification"
            assert notification["payload"]["aps"]["alert"]["body"] == text
            assert notification in phone.notifications()


def test_an_event_stream_that_was_closed_is_let_go(start, connect, phone):
    relay = start()
    bobs = phone(relay, connect(relay, "bob"))
    before = relay.open_files
    for _ in range(20):
        with bobs.events():
            pass
    eventually(lambda: relay.open_files <= before + 2)
