# SPDX-License-Identifier: Apache-2.0
"""Plays the chosen scenarios and planted faults at the same time. Each test waits for the outcome of its own."""

import asyncio
import os
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest

from stress.faults import FAULTS
from stress.registry import load
from stress.run import Outcome, play_all

SEED = int(os.environ.get("STILLWIRE_SEED") or random.randrange(1 << 32))


def pytest_report_header() -> str:
    return f"seed: {SEED} (STILLWIRE_SEED)"


@pytest.fixture(scope="session")
def outcome(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Outcome]]:
    """Returns a function that waits for a scenario's outcome. All chosen scenarios run in the background."""
    scenarios = load()
    chosen = {item.callspec.params["name"] for item in request.session.items if hasattr(item, "callspec")}
    outcomes: dict[str, Future[Outcome]] = {name: Future() for name in [*chosen, "the_shared_relays"]}

    def report(outcome: Outcome) -> None:
        outcomes[outcome.name].set_result(outcome)

    def play() -> None:
        try:
            plays = [FAULTS[name] if name in FAULTS else scenarios[name] for name in sorted(chosen)]
            asyncio.run(play_all(plays, SEED, report))
        finally:
            for waiting in outcomes.values():
                waiting.cancel()

    playing = threading.Thread(target=play, name="scenarios")
    playing.start()
    asked: set[str] = set()

    def outcome_of(name: str) -> Outcome:
        if name not in asked or name == "the_shared_relays":
            asked.add(name)
            return outcomes[name].result()
        # A test that runs once more plays its scenario again, alone.
        playing.join()
        again: list[Outcome] = []
        asyncio.run(play_all([FAULTS.get(name) or scenarios[name]], SEED, again.append))
        return next(outcome for outcome in again if outcome.name == name)

    yield outcome_of
    playing.join()
