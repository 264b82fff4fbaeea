# SPDX-License-Identifier: Apache-2.0
"""The tests' own tools with real NATS servers: elections, restarts, and networks that fail."""

import time

import pytest

from harness.nats_client import NATSClient
from harness.partition import Partition
from harness.topology import LOG
from waiting import eventually

SUBJECT = "stillwire.test.log"


def stored(server, count, first=1):
    """Publishes records, and returns the sequences in the answers."""
    client = NATSClient(server.port)
    try:
        return [client.request(SUBJECT, b"%d" % number)["seq"] for number in range(first, first + count)]
    finally:
        client.close()


def with_log(servers):
    client = NATSClient(servers.all[0].port)
    client.create_stream(LOG, SUBJECT, len(servers.all))
    client.close()
    servers.wait_current(LOG)
    return servers


def test_another_server_leads_the_log_after_a_kill(servers):
    nats = with_log(servers(3))
    assert stored(nats.all[1], 10) == list(range(1, 11))
    old = nats.leader(LOG)
    assert len(nats.followers(LOG)) == 2 and nats.meta_leader() is not None
    old.kill()
    new = eventually(lambda: nats.leader(LOG))
    assert new is not old
    assert stored(new, 5) == list(range(11, 16))
    old.start()
    nats.wait_current(LOG)
    # A follower stores the newest record with the next heartbeat of the leader.
    eventually(lambda: old.stream(LOG)["state"]["messages"] == 15)


def test_all_servers_keep_the_log_over_a_kill(servers):
    nats = with_log(servers(3))
    stored(nats.all[0], 10)
    for server in nats.all:
        server.kill()
    assert nats.leader(LOG) is None
    nats.start()
    nats.wait_current(LOG)
    assert stored(nats.all[2], 1) == [11]


def test_another_server_leads_the_log_after_a_request(servers):
    nats = with_log(servers(3))
    stored(nats.all[0], 10)
    old = nats.leader(LOG)
    client = NATSClient(nats.followers(LOG)[0].port)
    assert client.request(f"$JS.API.STREAM.LEADER.STEPDOWN.{LOG}")["success"] is True
    client.close()
    new = eventually(lambda: nats.leader(LOG))
    assert new is not old
    assert stored(new, 1) == [11]


def test_a_paused_leader_of_the_log_is_replaced(servers):
    nats = with_log(servers(3))
    old = nats.leader(LOG)
    old.pause()
    eventually(lambda: nats.leader(LOG) not in (None, old))
    old.resume()
    nats.wait_current(LOG)


def test_a_lone_server_leads_its_log(servers):
    nats = with_log(servers(1))
    assert stored(nats.all[0], 3) == [1, 2, 3]
    assert nats.leader(LOG) is nats.all[0]
    nats.all[0].kill()
    nats.start()
    nats.wait_current(LOG)
    assert stored(nats.all[0], 1) == [4]


@pytest.fixture
def partition(servers):
    """A network to a lone server with a log."""
    nats = with_log(servers(1))
    partition = Partition(nats)
    yield partition
    partition.close()


def test_a_stalled_network_delivers_late(partition):
    client = NATSClient(partition.ports[0])
    assert client.request(SUBJECT, b"1")["seq"] == 1
    partition.stall()
    with pytest.raises(TimeoutError):
        client.request(SUBJECT, b"2", within=0.3)
    client.close()
    partition.open()
    client = NATSClient(partition.ports[0])
    # The record that was sent during the stall is stored before this one.
    eventually(lambda: client.request("$JS.API.STREAM.INFO." + LOG)["state"]["last_seq"] == 2)
    client.close()


def test_a_cut_network_ends_connections(partition):
    client = NATSClient(partition.ports[0])
    partition.cut()
    with pytest.raises(OSError):
        client.request(SUBJECT, b"1")
    with pytest.raises(OSError):
        NATSClient(partition.ports[0])
    partition.open()
    client = NATSClient(partition.ports[0])
    assert client.request(SUBJECT, b"1")["seq"] == 1
    client.close()


def test_a_slow_network_delays_both_directions(partition):
    client = NATSClient(partition.ports[0])
    partition.delay(0.2)
    begun = time.monotonic()
    client.request(SUBJECT, b"1")
    assert time.monotonic() - begun >= 0.4
    client.close()
