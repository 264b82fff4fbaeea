# SPDX-License-Identifier: Apache-2.0
"""Plays scenarios, several at the same time. Scenarios with the same options share a relay."""

import asyncio
import random
import re
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from relay import SLOW, Relay

from stress.faults import Fault
from stress.registry import SCENARIOS, Scenario
from stress.stage import Stage, blocking, started

#: Seconds after which a scenario fails.
PATIENCE = 150.0 * SLOW
#: The number of scenarios that run at the same time.
AT_ONCE = 8


@dataclass
class Outcome:
    name: str
    seconds: float
    #: A description of the failure, or None.
    failure: str | None


class SharedRelays:
    """The shared relays. Each starts when it is first needed."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._relays: dict[object, asyncio.Task[Relay]] = {}

    async def relay(self, scenario: Scenario) -> Relay | None:
        if scenario.options is None:
            return None
        kind = (scenario.options, scenario.is_guarded)
        if kind not in self._relays:
            home = self._folder / str(len(self._relays))
            home.mkdir()
            starting = started(home, *scenario.options, guarded=scenario.is_guarded)
            self._relays[kind] = asyncio.create_task(starting)
        return await asyncio.shield(self._relays[kind])

    async def close(self) -> str | None:
        """Ends all relays. Returns their failures, or None."""
        faults = []
        for starting in self._relays.values():
            try:
                relay = await starting
                if (code := await blocking(relay.stop)) != 0:
                    faults.append(f"a shared relay ended with {code}:\n{relay.log.read_text()[-4000:]}")
            except AssertionError as failure:
                faults.append(str(failure))
        return "\n".join(faults) or None


async def play(scenario: Scenario, seed: int, shared: SharedRelays) -> Outcome:
    """Plays one scenario and checks its end."""
    begun = time.monotonic()
    stage = None
    failures = []
    try:
        stage = Stage(scenario.name, seed, await shared.relay(scenario))
        async with asyncio.timeout(PATIENCE):
            await _play_to_end(scenario, stage)
    except Exception as error:
        failures.append("".join(traceback.format_exception(_first(error), limit=-6)))
    if stage is not None:
        try:
            await stage.end()
        except Exception as error:
            failures.append(f"at the end: {error!r}")
        failures += stage.witness.faults
    return Outcome(scenario.name, time.monotonic() - begun, "\n".join(failures) or None)


def _first(error: BaseException) -> BaseException:
    """Returns the first error within nested exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def find(fault: type[Fault], seed: int, shared: SharedRelays) -> Outcome:
    """Plays a scenario with a planted fault until a check finds it. Fails if no check does."""
    begun = time.monotonic()
    scenario = SCENARIOS[fault.scenario]
    stage, failures = None, []
    try:
        stage = Stage(scenario.name, seed, await shared.relay(scenario))
        stage.fault = fault(seed)
        failures = await _failures_until(fault.finds, scenario, stage)
    except Exception as error:
        failures.append(repr(error))
    if stage is not None:
        await stage.end()
    is_found = any(re.search(fault.finds, failure) for failure in failures)
    failure = None if is_found else f"{fault.__doc__} No check of {scenario.name} found this fault: {failures}"
    return Outcome(fault.__name__, time.monotonic() - begun, failure)


async def _failures_until(pattern: str, scenario: Scenario, stage: Stage) -> list[str]:
    """Plays a scenario until a fault fits the pattern, and at most to the end. Returns the failures up to then."""
    found = asyncio.Event()
    stage.witness.on_fault = lambda what: found.set() if re.search(pattern, what) else None
    playing = asyncio.create_task(_play_to_end(scenario, stage))
    finding = asyncio.create_task(found.wait())
    await asyncio.wait([playing, finding], timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    finding.cancel()
    playing.cancel()
    (error,) = await asyncio.gather(playing, return_exceptions=True)
    return stage.witness.faults + ([repr(_first(error))] if isinstance(error, Exception) else [])


async def _play_to_end(scenario: Scenario, stage: Stage) -> None:
    await scenario.play(stage)
    await stage.settle()


async def play_all(
    scenarios: Iterable[Scenario | type[Fault]], seed: int, report: Callable[[Outcome], None], at_once: int = AT_ONCE
) -> None:
    """Plays all scenarios, and finds all planted faults, in a random order.

    Reports each outcome, and at last that of the shared relays.
    """
    order = list(scenarios)
    random.Random(seed).shuffle(order)
    gate = asyncio.Semaphore(at_once)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="stillwire-stress-") as folder:
        shared = SharedRelays(Path(folder))

        async def one(scenario: Scenario | type[Fault]) -> None:
            async with gate:
                report(await (play if isinstance(scenario, Scenario) else find)(scenario, seed, shared))

        await asyncio.gather(*(one(scenario) for scenario in order))
        report(Outcome("the_shared_relays", time.monotonic() - begun, await shared.close()))
