# SPDX-License-Identifier: Apache-2.0
"""A client that reads more slowly than others write: its memory, its close, and the recovery of all messages."""

from metrics import metrics
from wire import Wire

QUEUE = 131_072
BODY = "x" * 30_000
MOST = 400


def test_a_slow_reader_needs_one_queue_and_loses_no_message(start, connect):
    # The long heartbeat and the long time for a pong prevent an earlier close for silence, even on a slow machine.
    patience = ("--limits-heartbeat", 600, "--limits-pong-timeout", 300)
    relay = start("--limits-send-rate", 0, "--limits-outgoing-queue", QUEUE, *patience)
    ann = connect(relay, "ann")
    ann.join("tea")
    with Wire(relay, receive_buffer=4096) as slow:
        slow.open("slow")
        slow.send_request("join", id=1, room="tea")
        epoch = slow.reply(1)["epoch"]
        largest, sent = 0.0, 0
        while sent < MOST and not metrics(relay)["stillwire_session_closes_total{4003}"]:
            sent += 1
            assert ann.send("tea", f"{sent} {BODY}")["seq"] == sent
            largest = max(largest, metrics(relay)["stillwire_outbox_bytes"])
        assert sent < MOST
        assert QUEUE / 2 < largest < QUEUE + 2 * len(BODY)
        # The relay drops the queue immediately, and not only after the client has read `bye`.
        assert metrics(relay)["stillwire_outbox_bytes"] < 2 * len(BODY)
        ending = slow.ending()
    assert (ending.bye["code"], ending.bye["reconnect"], ending.code) == (4003, True, 4003)
    shown = [frame["seq"] for frame in ending.frames if frame["type"] == "message"]
    assert shown == list(range(1, len(shown) + 1)) and len(shown) < sent

    back = connect(relay, "slow")
    joined = back.join("tea", after={"epoch": epoch, "seq": len(shown)})
    assert (joined["epoch"], joined["seq"]) == (epoch, sent)
    missed = joined["messages"]
    while not joined["recovered"] and len(shown) + len(missed) < sent:
        page = back.request("history", room="tea", after=len(shown) + len(missed), limit=50)
        missed += page["messages"]
    assert [message["seq"] for message in missed] == list(range(len(shown) + 1, sent + 1))
    assert all(message["body"] == f"{message['seq']} {BODY}" for message in missed)


def test_a_small_gap_is_recovered_by_the_join(start, connect):
    relay = start("--limits-send-rate", 0)
    ann = connect(relay, "ann")
    ann.join("tea")
    bob = connect(relay, "bob")
    epoch = bob.join("tea")["epoch"]
    ann.send("tea", 1)
    bob.expect("message", seq=1)
    bob.drop()
    for number in range(2, 12):
        ann.send("tea", number)
    joined = connect(relay, "bob").join("tea", after={"epoch": epoch, "seq": 1})
    assert joined["recovered"] is True
    assert [message["body"] for message in joined["messages"]] == list(range(2, 12))
