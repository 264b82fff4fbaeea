# SPDX-License-Identifier: Apache-2.0
"""Bursts of messages to many members who are away: the relay decides each push once and in order, and serves others."""

import shutil
from collections import defaultdict

import pytest

from api import call
from client import Refused
from database import rows, stuck_store, value
from phone import Phone
from relay import Relay, running
from waiting import eventually

#: The number of members of the room `crowd`. All are away.
MEMBERS = 300
#: The number of members of the room `hundreds`. All are away. A message to this room costs its sender 3 tokens.
HUNDREDS = 200
MESSAGES = 25


def put(relay, path, body=None):
    answer = call(relay, "PUT", path, {} if body is None else body)
    assert answer.status in (200, 201), answer


def job_count(relay):
    return value(relay, "SELECT count(*) FROM jobs")


def seqs_by_user(relay):
    """Returns the seqs of each user's push jobs, in the order in which the jobs were stored."""
    found = defaultdict(list)
    for user, seq in rows(relay, "SELECT user, seq FROM jobs ORDER BY number"):
        found[user].append(seq)
    return found


@pytest.fixture(scope="module")
def crowds(tmp_path_factory):
    """The data of a relay with the two rooms. Each member has a device. Creating the data takes seconds."""
    with running(tmp_path_factory.mktemp("crowds"), "--limits-request-rate", 0) as relay:
        for number in range(MEMBERS):
            user = f"member{number}"
            put(relay, f"/v1/users/{user}/devices/phone", {"platform": "simulator", "token": f"{user}-phone"})
            for room in ("crowd", "hundreds") if number < HUNDREDS else ("crowd",):
                put(relay, f"/v1/rooms/{room}/members/{user}")
    return relay.data


@pytest.fixture
def start_crowded(crowds, tmp_path):
    """Starts a relay with a copy of the data."""
    relays = []

    def start_crowded(*options, **more):
        relay = Relay(tmp_path, "--presence-grace", 0, *options, **more)
        relays.append(relay)
        shutil.copytree(crowds, relay.data)
        return relay.start()

    yield start_crowded
    for relay in relays:
        relay.kill()


@pytest.fixture
def relay(start_crowded):
    return start_crowded("--limits-send-rate", 0, "--limits-request-rate", 0)


def burst(connect, relay):
    sender = connect(relay, "sender")
    sender.join("crowd")
    for id in [sender.begin("send", room="crowd", body=number) for number in range(MESSAGES)]:
        assert sender.reply(id)["delivery"]["push"] == MEMBERS


def expect_all_in_order(relay):
    """Waits until each message of the burst has one push job for each member, in the order of the messages."""
    eventually(lambda: job_count(relay) >= MEMBERS * MESSAGES, within=120)
    found = seqs_by_user(relay)
    assert len(found) == MEMBERS
    assert all(seqs == list(range(1, MESSAGES + 1)) for seqs in found.values())


def test_a_burst_pushes_every_message_to_every_member_in_order(connect, relay):
    burst(connect, relay)
    expect_all_in_order(relay)


def test_other_rooms_are_served_while_a_burst_is_decided(connect, relay):
    """The push for another room is stored among the pushes of a burst, although the burst was sent first."""
    put(relay, "/v1/users/friend/devices/phone", {"platform": "simulator", "token": "friend-phone"})
    put(relay, "/v1/rooms/elsewhere/members/friend")
    sender, writer = connect(relay, "sender"), connect(relay, "writer")
    sender.join("crowd")
    writer.join("elsewhere")
    # All messages are sent before the relay can store a message and decide its pushes.
    with stuck_store(relay):
        ids = [sender.begin("send", room="crowd", body=number) for number in range(MESSAGES)]
        other = writer.begin("send", room="elsewhere", body="hi")
    for id in ids:
        assert sender.reply(id)["delivery"]["push"] == MEMBERS
    assert writer.reply(other)["delivery"]["push"] == 1
    eventually(lambda: job_count(relay) == MEMBERS * MESSAGES + 1, within=120)
    users = [user for (user,) in rows(relay, "SELECT name FROM jobs JOIN users ON users.id = user ORDER BY jobs.number")]
    assert users.index("friend") < len(users) / 2


@pytest.mark.parametrize("end", [Relay.stop, Relay.kill], ids=["stop", "kill"])
def test_a_restart_decides_the_members_that_a_burst_left_undecided(connect, relay, end):
    burst(connect, relay)
    # A fast relay may already have decided all members.
    end(relay)
    relay.start()
    expect_all_in_order(relay)


def test_a_call_to_many_members_is_pushed_without_waits(connect, relay):
    """A call does not wait for receipts, even of members with a session. The relay decides the others in slices."""
    there = connect(relay, "member7", acks=True)
    there.join("crowd")
    sender = connect(relay, "caller")
    sender.join("crowd")
    sender.send("crowd", "hello")
    sender.send("crowd", "ring", push={"kind": "call"})
    calls = "SELECT count(*) FROM jobs JOIN users ON users.id = user WHERE name = 'member7' AND seq = 2"
    eventually(lambda: value(relay, calls) == 1, within=60)
    assert there.expect("message", body="ring")


def test_a_message_to_many_members_costs_more_than_one(connect, start_crowded):
    relay = start_crowded("--limits-send-rate", 0.01, "--limits-send-burst", 10)
    alice = connect(relay, "alice")
    for room in ("hundreds", "small"):
        alice.join(room)
    # The user has 20 tokens, and each message costs 3: 6 messages, and then one without pushes.
    for number in range(6):
        alice.send("hundreds", number)
    with pytest.raises(Refused) as refused:
        alice.send("hundreds", "more")
    assert (refused.value.error["code"], refused.value.error["temporary"]) == ("rate_limited", True)
    assert refused.value.error["retryAfter"] > 0
    alice.send("hundreds", "silent", push=False)


@pytest.fixture
def priced(connect, start_crowded, secret):
    """Alice has 20 tokens and has sent 3 messages of 3 tokens each."""
    relay = start_crowded("--limits-send-rate", 0.01, "--limits-send-burst", 10, secret=secret)
    token = relay.token("alice")
    alice = connect(relay, token=token)
    alice.join("hundreds")
    return relay, token, alice, [alice.send("hundreds", number)["seq"] for number in range(3)]


@pytest.mark.parametrize("change", [("edit", {"body": "new"}), ("delete", {})], ids=["edit", "delete"])
def test_a_change_costs_as_much_as_its_message(priced, change):
    _, _, alice, seqs = priced
    kind, fields = change
    for seq in seqs:
        alice.request(kind, room="hundreds", seq=seq, **fields)
    assert alice.refusal(kind, room="hundreds", seq=seqs[0], **fields)["code"] == "rate_limited"


@pytest.mark.parametrize("change", [("PUT", {"body": "new"}), ("DELETE", None)], ids=["edit", "delete"])
def test_a_change_over_http_costs_as_much(priced, change):
    relay, token, _, seqs = priced
    method, body = change
    paths = [f"/v1/rooms/hundreds/messages/{seq}" for seq in seqs + seqs[:1]]
    statuses = [call(relay, method, path, body, token=token).status for path in paths]
    assert [status == 429 for status in statuses] == [False, False, False, True]


def test_an_edit_reaches_all_phones_of_many_members(connect, relay):
    sender = connect(relay, "sender")
    sender.join("crowd")
    sender.send("crowd", "wrong")
    eventually(lambda: value(relay, "SELECT count(*) FROM jobs WHERE state = 'sent'") == MEMBERS, within=60)
    sender.request("edit", room="crowd", seq=1, body="edited")
    for member in (0, 63, 64, 150, MEMBERS - 1):
        Phone(relay, f"member{member}-phone").ring("edited")
    assert value(relay, "SELECT count(*) FROM pending_changes") == 0
