# SPDX-License-Identifier: Apache-2.0
"""`kill -9` under load: no acknowledged message is lost, and no client has received a message that was not stored."""

import asyncio
import os
import random

import pytest

from api import history
from client import Session
from database import rows
from crowd import Crowd, Sender
from phone import Phone
from waiting import eventually

CRASHES = int(os.environ.get("STILLWIRE_CRASHES", "3"))
ROOMS = [f"room{number}" for number in range(5)]
SENDERS_OF_A_ROOM = 10
#: Fewer than a room keeps, and few enough that a machine under load needs only seconds.
MESSAGES_OF_A_SENDER = 60

JOBS = """
SELECT rooms.name, jobs.seq, users.name, jobs.device, count(*)
FROM jobs JOIN rooms ON rooms.id = jobs.room JOIN users ON users.id = jobs.user
GROUP BY 1, 2, 3, 4
"""


def push_jobs(relay):
    """Returns the number of push jobs in any state, by (room, seq, user, device)."""
    return {tuple(key): count for *key, count in rows(relay, JOBS)}


def go_away(relay, room, user, devices, leave):
    """Makes a member of the room who has these devices and no session."""
    session = Session(relay, user)
    session.join(room)
    for device in devices:
        session.request("device", device=device, **Phone(relay, f"{user}-{device}").registration)
    leave(session)


def missing(relay, rooms, away):
    """Returns the missing push jobs of the members who are away, for the messages of others."""
    jobs = push_jobs(relay)
    wanted = {
        (room, message["seq"], user, device)
        for room, messages in rooms.items()
        for message in messages
        for user, devices in away(room).items()
        for device in devices
        if message["from"] != user
    }
    assert not [key for key, count in jobs.items() if count > 1], "two jobs for one message on one device"
    return wanted - jobs.keys()


@pytest.mark.parametrize("round", range(CRASHES))
def test_a_kill_breaks_no_promise(start, round):
    chance = random.Random(round)
    relay = start("--limits-send-rate", 0, "--presence-grace", 1)

    def away(room):
        """The members of a room who are away: one has closed, and one was cut off and is in the grace at the kill."""
        return {f"gone-{room}": ["phone", "tablet"], f"cut-{room}": ["phone"]}

    for room in ROOMS:
        gone, cut = away(room).items()
        go_away(relay, room, *gone, leave=lambda session: session.close(1000))
        go_away(relay, room, *cut, leave=lambda session: session.drop())

    crowd = Crowd(
        relay,
        [
            Sender(f"sender{number}-{room}", room, MESSAGES_OF_A_SENDER)
            for room in ROOMS
            for number in range(SENDERS_OF_A_ROOM)
        ],
    )
    in_all = len(crowd.senders) * MESSAGES_OF_A_SENDER
    asyncio.run(crowd.talk(kill_after=chance.randrange(in_all // 20, in_all * 2 // 3)))
    assert crowd.acknowledged > 0
    relay.start()

    rooms = {room: history(relay, room, "operator") for room in ROOMS}
    for room, messages in rooms.items():
        assert [message["seq"] for message in messages] == list(range(1, len(messages) + 1))
        bodies = {message["seq"]: message["body"] for message in messages}
        assert len(set(bodies.values())) == len(bodies), "a message is there twice"
        for sender in crowd.senders:
            if sender.room == room:
                promised = {seq: body for body, seq in sender.acknowledged.items()}
                assert promised.items() <= bodies.items()
                assert sender.seen.items() <= bodies.items()
    for sender in crowd.senders:
        assert all(
            message["body"] in sender.acknowledged or message["body"] in sender.unanswered
            for message in rooms[sender.room]
            if message["from"] == sender.user
        )
    eventually(lambda: not missing(relay, rooms, away), every=0.2)

    asyncio.run(crowd.repeat())
    for room in ROOMS:
        messages = history(relay, room, "operator")
        sent = {body for sender in crowd.senders if sender.room == room for body in sender.acknowledged}
        assert sorted(message["body"] for message in messages) == sorted(sent)
        rooms[room] = messages
    eventually(lambda: not missing(relay, rooms, away), every=0.2)
    assert relay.stop() == 0
