# SPDX-License-Identifier: Apache-2.0
"""Retention: messages end by count and by age, a reconnected client sees the gap, and the disk has no old messages."""

import pytest

from api import call
from database import execute, value
from waiting import eventually


@pytest.fixture
def keeping(start):
    """Starts a relay whose rooms keep `history`."""

    def keeping(**history):
        return start(configuration={"limits": {"sendRate": 0}, "rooms": [{"match": "r*", "history": history}]})

    return keeping


def seqs(reply):
    return [message["seq"] for message in reply["messages"]]


def fill(session, room, count):
    for id in [session.begin("send", room=room, body=number) for number in range(count)]:
        session.reply(id)


def stored(relay):
    return value(relay, "SELECT count(*) FROM messages")


@pytest.mark.parametrize("sent", [20, 200])
def test_the_newest_messages_are_the_history(keeping, connect, sent):
    relay = keeping(count=5)
    alice = connect(relay, "alice")
    epoch = alice.join("room")["epoch"]
    fill(alice, "room", sent)
    page = alice.request("history", room="room", limit=300)
    kept = list(range(sent - 4, sent + 1))
    assert (page["first"], seqs(page), page["more"]) == (sent - 4, kept, False)
    assert seqs(alice.join("room", history=300)) == kept
    assert seqs(alice.request("history", room="room", after=0)) == kept
    assert seqs(alice.request("history", room="room", before=sent - 2)) == kept[:2]
    over_http = call(relay, "GET", "/v1/rooms/room/messages?after=0", user="alice").json
    assert (over_http["first"], seqs(over_http)) == (sent - 4, kept)

    at_the_oldest = alice.join("room", after={"epoch": epoch, "seq": sent - 5})
    assert (at_the_oldest["recovered"], seqs(at_the_oldest)) == (True, kept)
    one_before = alice.join("room", after={"epoch": epoch, "seq": sent - 6}, history=2)
    assert (one_before["recovered"], one_before["epoch"], seqs(one_before)) == (False, epoch, kept[-2:])


def test_the_oldest_message_is_the_same_after_a_restart(keeping, connect):
    relay = keeping(count=5)
    alice = connect(relay, "alice")
    epoch = alice.join("room")["epoch"]
    fill(alice, "room", 100)
    relay.kill()
    relay.start()
    alice = connect(relay, "alice")
    for seen, recovered in ((94, False), (95, True), (100, True), (101, False)):
        assert alice.join("room", after={"epoch": epoch, "seq": seen})["recovered"] is recovered, seen
    assert alice.send("room", 1)["seq"] == 101


def test_a_busy_room_does_not_grow_on_disk(keeping, connect):
    relay = keeping(count=5)
    alice = connect(relay, "alice")
    alice.join("room")
    fill(alice, "room", 1000)
    eventually(lambda: stored(relay) < 200)


def test_old_messages_are_deleted_even_if_nobody_writes(keeping, connect):
    relay = keeping(age=1)
    alice = connect(relay, "alice")
    epoch = alice.join("room")["epoch"]
    fill(alice, "room", 3)
    eventually(lambda: stored(relay) == 0)
    page = eventually(lambda: (page := alice.request("history", room="room"))["first"] == 4 and page)
    assert (seqs(page), page["more"]) == ([], False)
    joined = alice.join("room", after={"epoch": epoch, "seq": 2}, history=10)
    assert (joined["recovered"], seqs(joined), joined["seq"]) == (False, [], 3)
    assert alice.join("room", after={"epoch": epoch, "seq": 3})["recovered"] is True
    assert alice.send("room", "next")["seq"] == 4
    assert alice.join("room", after={"epoch": epoch, "seq": 3})["recovered"] is True


def test_a_key_outlives_its_message(keeping, connect):
    relay = keeping(count=1)
    alice = connect(relay, "alice")
    alice.join("room")
    first = alice.send("room", 1, key="k")
    fill(alice, "room", 100)
    again = alice.send("room", 2, key="k")
    assert (again["duplicate"], again["seq"], again["time"]) == (True, 1, first["time"])


def test_a_room_that_no_longer_keeps_messages_is_emptied(keeping, connect):
    relay = keeping(count=5)
    alice = connect(relay, "alice")
    alice.join("room")
    fill(alice, "room", 3)
    assert relay.stop() == 0
    rooms = [{"match": "room", "history": {"count": 0}}, {"match": "short", "history": {"age": 1}}]
    relay.configure({"rooms": rooms})
    relay.start()
    eventually(lambda: stored(relay) == 0)
    assert connect(relay, "alice").join("room")["seq"] == 0


def test_a_room_keeps_a_thousand_messages_for_thirty_days_by_default(start, connect):
    # A short age of one room makes the relay look for old messages more often.
    relay = start("--limits-send-rate", 0, configuration={"rooms": [{"match": "short", "history": {"age": 1}}]})
    alice = connect(relay, "alice")
    alice.join("room")
    fill(alice, "room", 1000)
    assert alice.request("history", room="room", after=0, limit=1)["first"] == 1
    alice.send("room", "one more")
    assert alice.request("history", room="room", after=0, limit=1)["first"] == 2
    assert relay.stop() == 0
    hour, day = 3_600_000, 86_400_000
    execute(relay, "UPDATE messages SET time = time - ? WHERE seq < 902", 30 * day + hour)
    execute(relay, "UPDATE messages SET time = time - ? WHERE seq = 902", 30 * day - hour)
    relay.start()
    alice = connect(relay, "alice")
    alice.join("room")
    eventually(lambda: alice.request("history", room="room", after=0, limit=1)["first"] == 902)


def test_a_report_is_deleted_90_days_after_its_end(start, connect):
    # A short age of one room makes the relay look for old rows more often.
    relay = start(configuration={"rooms": [{"match": "short", "history": {"age": 1}}]})
    alice, bob = connect(relay, "alice"), connect(relay, "bob")
    for session in (alice, bob):
        session.join("room")
    reports = [
        bob.request("report", room="room", seq=alice.send("room", number)["seq"], reason="spam")["report"]
        for number in range(3)
    ]
    for report in reports[:2]:
        path = f"/v1/rooms/room/reports/{report}"
        assert call(relay, "PUT", path, {"state": "dismissed"}).status == 200
    assert relay.stop() == 0
    hour, day = 3_600_000, 86_400_000
    for age, report in zip((90 * day + hour, 90 * day - hour, 900 * day), reports, strict=True):
        execute(relay, "UPDATE message_reports SET time = time - ?1, closed = closed - ?1 WHERE id = ?2", age, report)
    relay.start()

    def listed():
        return [report["report"] for report in call(relay, "GET", "/v1/reports").json["reports"]]

    eventually(lambda: reports[0] not in listed())
    assert listed() == [reports[2], reports[1]]
