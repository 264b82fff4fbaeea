# SPDX-License-Identifier: Apache-2.0
"""One test for each planted fault: the checks of its scenario must find it."""

import asyncio

import pytest

from conftest import SEED
from stress.faults import FAULTS, Fault
from stress.registry import load
from stress.run import Outcome, play_all


@pytest.mark.parametrize("name", FAULTS)
def test_a_scenario_finds(name, outcome):
    if failure := outcome(name).failure:
        pytest.fail(f"python -m stress --seed {SEED} --fault {name}\n{failure}", pytrace=False)


class ChangesNothing(Fault):
    """Changes nothing."""

    scenario = "reports_repeated_after_a_lost_reply_count_once"
    finds = "was found"


def test_a_fault_that_no_check_finds_is_a_failure():
    load()
    outcomes: list[Outcome] = []
    asyncio.run(play_all([ChangesNothing], SEED, outcomes.append))
    assert outcomes[0].failure == f"Changes nothing. No check of {ChangesNothing.scenario} found this fault: []"
