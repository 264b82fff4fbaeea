# SPDX-License-Identifier: Apache-2.0
"""The load, the faults and the comparison without a cluster: with a single relay, and with fake nodes."""

import os
from pathlib import Path

import pytest

from harness.experiment import Experiment, Outcome, Report, table
from harness.hosts import Host
from harness.load import Plan
from harness.nats_client import NATSClient
from harness.node import Node
from harness.topology import LOG, Cluster
from relay import binary

pytestmark = pytest.mark.skipif("STILLWIRE_BINARY" not in os.environ, reason="the tests need a relay")


def test_a_single_relay_keeps_its_promises_over_a_kill(tmp_path: Path):
    plan = Plan(rate=400, writers=4, http_writers=1, push_rate=5, phones=10)
    with Experiment(tmp_path, "leader-kill", plan, servers=0, nodes=1) as experiment:
        experiment.rest()
        experiment.play("leader-kill")
        experiment.rest()
        report = experiment.finish()
        assert report.is_good, str(report)
        assert report.messages > 0 and report.repeats > 0 and report.pushes > 0
        assert "| leader-kill | 1 |" in table([report])


@pytest.mark.parametrize(
    "times, is_good",
    [([("leader-kill", 1.0), ("leader-kill", 2.0)], True), ([("leader-kill", 1.6)], False),
     ([("leader-kill", 1.0), ("leader-kill", 1.0), ("leader-kill", 2.1)], False), ([("nats-all-kill", 9.0)], True)],
)
def test_a_slow_recovery_is_a_failure(times: list[tuple[str, float]], is_good: bool):
    report = Report("mixture", outcomes=[Outcome(fault, recovery, recovery) for fault, recovery in times])
    report.check_times(1.5, 2)
    assert report.is_good == is_good


@pytest.fixture
def fake_nodes(monkeypatch: pytest.MonkeyPatch):
    """Replaces the nodes of clusters by fake ones, which do not create the log in NATS."""
    add = Cluster.add

    def add_with_log(cluster: Cluster, name: str, host: Host) -> Node:
        if not cluster.nodes:
            client = NATSClient(cluster.nats.all[0].port)
            client.create_stream(LOG, "stillwire.test.log", len(cluster.nats.all))
            client.close()
        return add(cluster, name, host)

    monkeypatch.setattr(Cluster, "add", add_with_log)
    monkeypatch.setenv("REAL_RELAY", binary())
    monkeypatch.setattr(Node, "program", Path(__file__).with_name("harness") / "fake_node.py")


@pytest.mark.parametrize("name", ["leader-kill", "leader-stop", "follower-kill", "nats-leader-kill"])
def test_clients_follow_fake_nodes(tmp_path: Path, fake_nodes: None, name: str):
    plan = Plan(rate=200, writers=2, http_writers=1, push_rate=0)
    with Experiment(tmp_path, name, plan) as experiment:
        experiment.rest()
        experiment.play(name)
        report = experiment.finish()
        assert report.is_good, str(report)
