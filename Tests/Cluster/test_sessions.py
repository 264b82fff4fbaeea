# SPDX-License-Identifier: Apache-2.0
"""A failover as clients see it: closed sessions, recovery, idempotency keys and presence."""

import json
import time

import pytest

from relay import DEADLINE
from rfc6455 import Wire
from waiting import eventually

pytestmark = pytest.mark.nodes


class Client:
    """A blocking session with one node."""

    def __init__(self, node, user):
        self._wire = Wire(node.port)
        assert self._wire.upgrade().status == 101
        self._ids = iter(range(1, 1_000))
        self.inbox = []
        self.code = None
        self.welcome = self.request("hello", user=user)

    def request(self, type, **fields):
        id = next(self._ids)
        self._wire.send_text(json.dumps({"type": type, "id": id} | fields))
        while (frame := self.next()).get("id") != id:
            self.inbox.append(frame)
        return frame

    def next(self):
        """Returns the next frame, or None at the end of the connection."""
        while (got := self._wire.next_frame()) is not None:
            opcode, _, payload = got
            if opcode == 1:
                return json.loads(payload)
            if opcode == 8:
                self.code = int.from_bytes(payload[:2])
                return None
        return None

    def cut(self):
        self._wire.socket.close()


def test_a_deposed_leader_closes_its_sessions(cluster):
    made = cluster(servers=1, nodes=2)
    leader = made.leader()
    client = Client(leader, "ann")
    client.request("join", room="tea")
    leader.pause()
    new = eventually(lambda: next((node for node in made.nodes if node is not leader and node.leads), None))
    Client(new, "bob").request("join", room="tea")
    leader.resume()
    begun = time.monotonic()
    frames = []
    while (frame := client.next()) is not None:
        frames.append(frame)
    assert time.monotonic() - begun < DEADLINE
    # The connection may end before the close frame arrives, but nothing else may arrive on it.
    assert [frame["type"] for frame in frames] in ([], ["bye"]), frames
    assert client.code in (None, 4000)
    if frames:
        assert frames[0]["code"] == 4000 and frames[0]["reconnect"]
    eventually(lambda: leader.is_standby)


def test_a_request_to_a_paused_leader_gets_no_answer_from_the_past(cluster):
    made = cluster(servers=1, nodes=2)
    leader = made.leader()
    client = Client(leader, "ann")
    client.request("join", room="tea")
    first = client.request("send", room="tea", body="one", key="one")
    leader.pause()
    client._wire.send_text(json.dumps({"type": "send", "id": "late", "room": "tea", "body": "two", "key": "two"}))
    new = eventually(lambda: next((node for node in made.nodes if node is not leader and node.leads), None))
    other = Client(new, "ann")
    other.request("join", room="tea")
    assert other.request("send", room="tea", body="one", key="one").get("duplicate")
    three = other.request("send", room="tea", body="three", key="three")
    assert three["seq"] == first["seq"] + 1
    leader.resume()
    while (frame := client.next()) is not None:
        assert frame["type"] == "bye" or (frame["type"], frame.get("temporary")) == ("error", True), frame
    again = other.request("send", room="tea", body="two", key="two")
    assert again["seq"] == three["seq"] + 1 and not again.get("duplicate")


def test_rooms_keep_their_epochs(cluster):
    made = cluster(servers=1, nodes=2)
    client = Client(made.leader(), "ann")
    epoch = client.request("join", room="tea")["epoch"]
    client.request("send", room="tea", body="one")
    made.leader().kill()
    client = Client(made.leader(), "ann")
    joined = client.request("join", room="tea", after={"epoch": epoch, "seq": 0})
    assert joined["epoch"] == epoch and joined["recovered"]
    assert [message["body"] for message in joined["messages"]] == ["one"]


def test_no_user_is_shown_as_offline_within_the_grace(cluster):
    made = cluster("--presence-grace", 20, servers=1, nodes=2)
    ann, bob = Client(made.leader(), "ann"), Client(made.leader(), "bob")
    ann.request("join", room="tea")
    bob.request("join", room="tea")
    made.leader().kill()
    new = made.leader()
    ann = Client(new, "ann")
    members = {member["user"]: member for member in ann.request("join", room="tea")["members"]}
    assert members["bob"]["online"], members
    bob = Client(new, "bob")
    bob.request("join", room="tea")
    ann.request("ping")
    offline = [frame for frame in ann.inbox if frame["type"] == "presence" and not frame["online"]]
    assert not offline


def test_a_leader_that_is_cut_off_shows_nothing_when_another_node_leads(cluster):
    made = cluster(servers=1, nodes=2, is_partitionable=True)
    old = made.leader()
    assert old.request("PUT", "/v1/rooms/tea/members/ann").status == 201
    (other,) = made.standbys()
    made.partitions[old.node].cut()
    eventually(lambda: other.leads, 3 * DEADLINE)
    # The old leader has stopped before the other one began, and has no proof since.
    for _ in range(3):
        answer = old.attempt("GET", "/v1/rooms/tea/messages")
        assert answer is None or answer.status in (307, 503), answer
    assert other.request("POST", "/v1/rooms/tea/messages", {"from": "ann", "body": 1}).status == 201
    made.partitions[old.node].open()
    made.wait_whole()
    made.wait_equal()
