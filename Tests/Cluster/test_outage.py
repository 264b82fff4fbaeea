# SPDX-License-Identifier: Apache-2.0
"""The log does not answer: requests wait, the leader stops serving, and it can still be ended."""

import time

import pytest

from harness.topology import Cluster
from rfc6455 import Wire
from waiting import eventually

pytestmark = pytest.mark.nodes


@pytest.fixture
def made(cluster):
    """Two nodes, and a room with one message."""
    made = cluster(servers=1, nodes=2)
    assert made.leader().request("PUT", "/v1/rooms/tea/members/ann").status == 201
    assert send(made.leader(), "a") == 1
    return made


def send(node, key):
    """Sends a message. Returns its seq, or None if it is not acknowledged."""
    body = {"from": "ann", "body": key, "key": key}
    answer = node.attempt("POST", "/v1/rooms/tea/messages", body=body)
    return answer.json["seq"] if answer is not None and answer.status in (200, 201) else None


def role(node):
    """Returns the node's role, or None without an answer: the process is being replaced."""
    answer = node.attempt("GET", "/v1/cluster")
    return None if answer is None or answer.status != 200 else answer.json["role"]


def end_log(made: Cluster) -> None:
    made.nats.all[0].kill()


def test_an_outage_delays_requests(made):
    leader = made.leader()
    end_log(made)
    begun = time.monotonic()
    assert send(leader, "b") is None
    assert time.monotonic() - begun >= 1
    # Another node may lead, so this one answers only for itself.
    eventually(lambda: leader.request("GET", "/ready").status == 503)
    assert leader.request("GET", "/v1/rooms/tea/messages").status == 503
    assert Wire(leader.port).upgrade().status == 503
    assert leader.request("GET", "/live").status == 200
    made.nats.start()
    assert eventually(lambda: send(made.leader(), "b")) == 2
    assert eventually(lambda: send(made.leader(), "c")) == 3


def test_a_leader_without_the_log_follows_and_can_be_ended(made):
    leader = made.leader()
    pid = leader.pid
    end_log(made)
    eventually(lambda: role(leader) in ("loading", "follower"))
    assert leader.is_running and leader.pid == pid
    assert leader.stop() == 0


def test_a_signal_with_an_unanswered_request_ends_the_leader(made):
    leader = made.leader()
    end_log(made)
    assert send(leader, "b") is None
    assert leader.stop(30) == 0
