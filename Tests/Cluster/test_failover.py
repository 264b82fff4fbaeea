# SPDX-License-Identifier: Apache-2.0
"""Each fault once under load: nothing acknowledged is lost or doubled, and the nodes' tables are equal.

`failover.py` plays the same faults many times.
"""

import os
from pathlib import Path

import pytest

from harness.experiment import Experiment
from harness.faults import FAULTS
from harness.load import Plan

pytestmark = pytest.mark.nodes

#: A small load, because other tests run at the same time.
PLAN = Plan(rate=float(os.environ.get("STILLWIRE_CLUSTER_RATE", "200")), writers=4, http_writers=1, push_rate=4)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_breaks_no_promise(tmp_path: Path, name: str):
    with Experiment(tmp_path, name, PLAN) as experiment:
        experiment.rest()
        experiment.play(name)
        experiment.rest()
        report = experiment.finish()
        assert report.is_good, str(report)
        assert report.messages > 0 and report.pushes > 0


def test_a_lone_nats_server_loses_nothing_over_kills(tmp_path: Path):
    with Experiment(tmp_path, "one server", PLAN, servers=1) as experiment:
        for name in ("nats-all-kill", "leader-kill", "both-leaders-kill"):
            experiment.rest()
            experiment.play(name)
        report = experiment.finish()
        assert report.is_good, str(report)
