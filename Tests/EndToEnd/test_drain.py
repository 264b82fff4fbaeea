# SPDX-License-Identifier: Apache-2.0
"""Graceful shutdown: the notices to clients, their order, and the limited duration."""

import asyncio
import http.client
import json
import signal
import socket
import time

from api import call, history
from client import Session
from database import stuck_store
from metrics import metrics
from relay import DEADLINE, Relay
from rfc6455 import Connection
from waiting import eventually
from wire import Wire

#: The maximum duration of a shutdown with any clients, in seconds.
LONGEST = 90.0


def test_readiness_fails_before_sessions_are_closed(start, connect):
    relay = start("--drain-delay", "2")
    ann = connect(relay, "ann")
    ann.join("tea")
    relay.signal()
    eventually(lambda: call(relay, "GET", "/ready").status == 503)
    assert call(relay, "GET", "/live").status == 200
    # A client that connects before the load balancer has noticed is served like the others.
    bob = connect(relay, "bob")
    bob.join("tea")
    ann.send("tea", "still here")
    assert bob.expect("message")["body"] == "still here"
    assert (ann.closed(), bob.closed()) == (4000, 4000)
    for session in (ann, bob):
        bye = session.inbox[-1]
        assert (bye["type"], bye["code"], bye["reconnect"]) == ("bye", 4000, True)
        # Two sessions are few.
        assert bye["jitter"] == 0.2
        assert 0 <= bye["retryAfter"] <= bye["jitter"]
    assert relay.ended() == 0


def test_a_request_in_progress_is_answered(start, connect):
    relay = start()
    ann = connect(relay, "ann")
    ann.join("tea")
    with socket.create_connection(("127.0.0.1", relay.port), DEADLINE) as slow:
        body = b'{"body":"late","from":"ann"}'
        head = (
            f"POST /v1/rooms/tea/messages HTTP/1.1\r\nHost: 127.0.0.1:{relay.port}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        slow.sendall(head.encode() + body[:5])
        # The relay has read the head of the slow request before it answers this one.
        assert call(relay, "GET", "/live").status == 200
        relay.signal()
        assert ann.closed() == 4000
        slow.sendall(body[5:])
        answer = http.client.HTTPResponse(slow)
        answer.begin()
        assert (answer.status, answer.headers["Connection"]) == (201, "close")
        assert json.loads(answer.read())["seq"] == 1
        assert relay.ended() == 0
    relay.start()
    assert [message["body"] for message in history(relay, "tea", "ann")] == ["late"]


def test_the_time_of_the_last_request_survives_the_end(start, connect):
    relay = start()

    def last_seen() -> int:
        return call(relay, "GET", "/v1/users/ann/presence").json["lastSeen"]

    # The relay stores the time of the hello at once, and that of later requests at its end. It shows whole seconds.
    for _ in range(6):
        ann = connect(relay, "ann")
        first = last_seen()
        while (newest := last_seen()) == first:
            ann.request("ping")
            time.sleep(0.05)
        assert relay.stop() == 0
        relay.start()
        assert last_seen() >= newest


def test_a_second_signal_ends_the_relay_immediately(start, connect):
    relay = start("--drain-delay", "600")
    ann = connect(relay, "ann")
    ann.join("tea")
    ann.send("tea", "stored")
    relay.signal()
    eventually(lambda: call(relay, "GET", "/ready").status == 503)
    relay.signal(signal.SIGINT)
    assert relay.ended() == 128 + signal.SIGINT
    relay.start()
    assert [message["body"] for message in history(relay, "tea", "ann")] == ["stored"]


def test_a_crowd_under_load_ends_and_keeps_acknowledged_messages(start):
    relay = start()

    async def talk(number: int, acknowledged: dict[str, int]) -> int | None:
        """Sends until the relay closes; returns the close code."""
        room, body = f"room-{number % 10}", 0
        async with await Connection.open(relay.port) as socket:
            socket.send_text(json.dumps({"type": "hello", "user": f"user-{number}"}))
            socket.send_text(json.dumps({"type": "join", "room": room}))
            socket.send_text(json.dumps({"type": "send", "id": 1, "room": room, "body": body}))
            async for text in socket:
                frame = json.loads(text)
                if "id" not in frame:
                    continue
                if frame["type"] == "ok":
                    acknowledged[f"{room} {frame['seq']}"] = body
                    body += 1
                else:
                    await asyncio.sleep(frame["retryAfter"])
                if not socket.ended.done():
                    socket.send_text(json.dumps({"type": "send", "id": 1, "room": room, "body": body}))
            return socket.code

    async def run() -> dict[str, int]:
        acknowledged: dict[str, int] = {}
        talking = [asyncio.create_task(talk(number, acknowledged)) for number in range(60)]
        while len(acknowledged) < 300:
            await asyncio.sleep(0.01)
        relay.signal()
        assert await asyncio.gather(*talking) == [4000] * 60
        return acknowledged

    acknowledged = asyncio.run(run())
    assert relay.ended() == 0
    relay.start()
    kept = {
        f"room-{room} {message['seq']}": message["body"]
        for room in range(10)
        for message in history(relay, f"room-{room}", "user-0")
    }
    assert {place: kept.get(place) for place in acknowledged} == acknowledged


def test_slow_and_silent_readers_delay_the_end_by_a_few_seconds(start, connect):
    relay = start()
    ann = connect(relay, "ann")
    ann.join("live.a")
    stream = socket.create_connection(("127.0.0.1", relay.port), DEADLINE)
    with Wire(relay, receive_buffer=4096) as stuck, stream, Wire(relay) as silent:
        stuck.open("stuck")
        stuck.send_request("join", id=1, room="live.a")
        assert stuck.reply(1)["type"] == "ok"
        silent.upgrade()
        stream.sendall(
            f"GET /v1/simulator/devices/phone/events HTTP/1.1\r\nHost: 127.0.0.1:{relay.port}\r\n\r\n".encode()
        )
        assert stream.recv(100)
        # Sends more than the buffers of the sockets hold.
        blocked(relay, ann)
        began = time.monotonic()
        relay.signal()
        assert relay.ended(LONGEST) == 0
        assert time.monotonic() - began < LONGEST
        ending = b""
        while got := stream.recv(65536):
            ending += got


def begin(session: Session, relay: Relay, body: str) -> int:
    """Sends a message to `tea`, and waits until the relay has read it. Does not wait for the reply."""
    read = metrics(relay)["stillwire_frames_received_total"]
    id = session.begin("send", room="tea", body=body)
    eventually(lambda: metrics(relay)["stillwire_frames_received_total"] > read)
    return id


def test_a_message_on_its_way_to_a_slow_store_is_acknowledged_before_the_end(start, connect):
    relay = start()
    ann, bob = connect(relay, "ann"), connect(relay, "bob")
    ann.join("tea")
    bob.join("tea")
    with stuck_store(relay) as database:
        id = begin(ann, relay, "late")
        relay.signal()
        assert bob.closed() == 4000
        database.rollback()
        assert ann.reply(id)["seq"] == 1
        assert ann.closed() == 4000
    assert relay.ended() == 0
    relay.start()
    assert [message["body"] for message in history(relay, "tea", "ann")] == ["late"]


def test_a_store_that_hangs_delays_the_end_for_a_limited_time(start, connect):
    relay = start()
    ann = connect(relay, "ann")
    ann.join("tea")
    ann.send("tea", "before")
    with stuck_store(relay):
        begin(ann, relay, "never acknowledged")
        relay.signal()
        assert ann.closed() == 4000
        assert relay.ended(LONGEST) == 0
    relay.start()
    assert [message["body"] for message in history(relay, "tea", "ann")] == ["before"]


def blocked(relay: Relay, sender: Session) -> None:
    """Sends messages to `live.a` until the relay's outgoing queue is not empty."""
    def waits() -> bool:
        for _ in range(20):
            sender.send("live.a", "x" * 30_000)
        return metrics(relay)["stillwire_outbox_bytes"] > 100_000

    eventually(waits)
