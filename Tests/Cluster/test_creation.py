# SPDX-License-Identifier: Apache-2.0
"""The creation of the log by several nodes at once: nats-server 2.9.10 may change its time of creation afterwards."""

import threading

import pytest

from harness.nats_client import NATSClient
from harness.topology import LOG, Cluster
from waiting import eventually

pytestmark = pytest.mark.nodes

#: Attempts to make the servers disagree. Each succeeds in about one of five cases.
ATTEMPTS = 3
SETTINGS = {
    "name": LOG,
    "subjects": ["stillwire.test.log"],
    "num_replicas": 3,
    "storage": "file",
    "discard": "new",
    "max_bytes": 1 << 30,
    "duplicate_window": 120_000_000_000,
    "deny_delete": True,
}


def create(port):
    """Requests the creation of the log. Some of several requests at the same time get no answer."""
    client = NATSClient(port)
    try:
        client.request(f"$JS.API.STREAM.CREATE.{LOG}", SETTINGS, within=3)
    except TimeoutError:
        pass
    finally:
        client.close()


def created(nats):
    return nats.leader(LOG).stream(LOG)["created"]


def test_a_changed_creation_time_does_not_stop_the_nodes(tmp_path):
    """Concurrent requests make two assignments of the stream, with two times of creation. A server that starts again
    uses the second one, and reports it when it leads the stream."""
    for attempt in range(ATTEMPTS):
        made = Cluster(tmp_path / str(attempt))
        try:
            made.nats.start()
            ports = [server.port for server in made.nats.all] * 4
            threads = [threading.Thread(target=create, args=(port,)) for port in ports]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            made.nats.wait_current(LOG)
            made.start()
            first = created(made.nats)
            for _ in range(4):
                old = made.nats.leader(LOG)
                old.kill()
                eventually(lambda: made.nats.leader(LOG))
                old.start()
                made.wait_whole()
                if created(made.nats) != first:
                    break
            else:
                continue
            # Nodes compare the log with their files at a start and at a takeover.
            victim = made.leader()
            victim.kill()
            victim.start()
            assert made.wait_whole().request("PUT", "/v1/rooms/tea/members/ann").status == 201
            return
        finally:
            made.close()
    pytest.skip("the servers agree on the creation time in each attempt")
