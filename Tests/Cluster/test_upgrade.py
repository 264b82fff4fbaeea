# SPDX-License-Identifier: Apache-2.0
"""An upgrade of the nodes, one after the other, to a release that changes the tables. The load goes on.

The program `NextRelease` of the package plays that release.
"""

from pathlib import Path

import pytest

from harness.experiment import Experiment
from harness.load import Plan
from harness.node import Node
from harness.tables import contents
from relay import binary
from waiting import eventually

pytestmark = pytest.mark.nodes

PLAN = Plan(rate=200, writers=4, http_writers=1, push_rate=4)


@pytest.fixture
def next_release():
    program = Path(binary()).with_name("NextRelease")
    if not program.exists():
        pytest.skip("the program NextRelease is not built: swift build")
    return program


def upgrade(node: Node, program: Path) -> None:
    """Stops a node, installs the other program, and starts the node."""
    assert node.stop() == 0
    node.program = program
    node.start().wait_live()


def has_new_tables(node: Node) -> bool:
    return "next_release" in contents(node.database).counts


def test_an_upgrade_that_changes_the_tables(tmp_path, next_release):
    with Experiment(tmp_path, "upgrade", PLAN) as experiment:
        cluster = experiment.cluster
        experiment.rest()
        old = cluster.leader()
        for node in cluster.standbys():
            upgrade(node, next_release)
            cluster.wait_whole()
            experiment.rest()
        # The tables are those of the leader.
        assert cluster.leader() is old and not any(has_new_tables(node) for node in cluster.nodes)

        assert old.request("POST", "/v1/cluster/step-down", {}).status == 200
        new = eventually(lambda: next((node for node in cluster.nodes if node is not old and node.leads), None))
        assert has_new_tables(new)
        # The old leader reads the record of the migration.
        eventually(lambda: old.role == "alarm")
        readiness = old.readiness
        assert readiness["alarm"] == "unknown_schema" and "Upgrade this node" in readiness["text"], readiness
        assert old.lines("alarm unknown_schema: .*Upgrade this node")
        experiment.rest()

        upgrade(old, next_release)
        cluster.wait_whole()
        experiment.rest()
        report = experiment.finish()
        assert report.is_good, str(report)
        assert report.messages > 0 and report.pushes > 0
        assert all(has_new_tables(node) for node in cluster.nodes)
        # There is no way back.
        old.program = None
        old.start()
        eventually(lambda: old.role == "alarm")
        assert old.readiness["alarm"] == "newer_schema" and "Upgrade this node" in old.readiness["text"]


def test_the_leader_is_upgraded_first(tmp_path, next_release):
    """An old node takes over. The upgraded node comes back as a standby, and changes no table until it leads."""
    with Experiment(tmp_path, "upgrade", PLAN) as experiment:
        cluster = experiment.cluster
        first = cluster.leader()
        upgrade(first, next_release)
        assert cluster.wait_whole() is not first
        experiment.rest()
        assert not any(has_new_tables(node) for node in cluster.nodes)
        # The others are upgraded afterwards, the leader last.
        for node in cluster.standbys():
            if node is not first:
                upgrade(node, next_release)
                cluster.wait_whole()
        upgrade(cluster.leader(), next_release)
        cluster.wait_whole()
        experiment.rest()
        report = experiment.finish()
        assert report.is_good, str(report)
        assert all(has_new_tables(node) for node in cluster.nodes)
