# SPDX-License-Identifier: Apache-2.0
"""The registry of scenarios, and the kind of relay that each needs."""

import importlib
import math
import pkgutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from relay import SLOW

#: Options for scenarios with much traffic, without rate limits.
UNLIMITED = ("--limits-send-rate", 0, "--limits-request-rate", 0, "--limits-focus-rate", 0, "--presence-grace", 1)
#: The seconds within which a busy scenario answers a ping.
PONG = math.ceil(4 * SLOW)
#: Options with a short heartbeat, so that a dead connection is found within seconds.
BRISK = ("--limits-heartbeat", 1, "--limits-pong-timeout", PONG, "--presence-grace", 1, "--limits-hello-timeout", 1)


@dataclass(frozen=True)
class Scenario:
    name: str
    play: Callable[[Any], Awaitable[None]]
    #: The options of the relay that it shares with others. None if it starts its own relay.
    options: tuple[object, ...] | None
    is_guarded: bool


SCENARIOS: dict[str, Scenario] = {}


def scenario(*options: object, alone: bool = False, guarded: bool = False) -> Callable[[Any], Any]:
    """Registers a coroutine that gets a `Stage`. `alone`: it starts its own relays. `guarded`: in token mode."""

    def register(play: Callable[[Any], Awaitable[None]]) -> Callable[[Any], Awaitable[None]]:
        name = play.__name__
        assert name not in SCENARIOS, name
        assert play.__doc__, f"{name} has no description"
        SCENARIOS[name] = Scenario(name, play, None if alone else options, guarded)
        return play

    return register


def load() -> dict[str, Scenario]:
    """Returns the scenarios of all files."""
    import stress.scenarios as folder

    for module in pkgutil.iter_modules(folder.__path__):
        importlib.import_module(f"{folder.__name__}.{module.name}")
    return SCENARIOS
