# SPDX-License-Identifier: Apache-2.0
"""One test for each scenario. `python -m stress` repeats one by its seed."""

import pytest

from conftest import SEED
from stress.registry import load


@pytest.mark.parametrize("name", load())
def test_scenario(name, outcome):
    if failure := outcome(name).failure:
        pytest.fail(f"python -m stress --seed {SEED} --only {name}\n{failure}", pytrace=False)


def test_the_shared_relays_end_well(outcome):
    if failure := outcome("the_shared_relays").failure:
        pytest.fail(f"seed {SEED}: {failure}", pytrace=False)
