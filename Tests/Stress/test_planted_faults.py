# SPDX-License-Identifier: Apache-2.0
"""One test for each planted fault: the checks of its scenario must find it."""

import pytest

from conftest import SEED
from stress.faults import FAULTS


@pytest.mark.parametrize("name", FAULTS)
def test_a_scenario_finds(name, outcome):
    if failure := outcome(name).failure:
        pytest.fail(f"python -m stress --seed {SEED} --fault {name}\n{failure}", pytrace=False)
