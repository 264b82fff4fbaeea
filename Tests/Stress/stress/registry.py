# SPDX-License-Identifier: Apache-2.0
"""The scenarios by name, and what kind of relay each is played on."""

import importlib
import math
import pkgutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from relay import SLOW

#: Bulk traffic, that rates would only stretch.
UNLIMITED = ("--limits-send-rate", 0, "--limits-request-rate", 0, "--limits-focus-rate", 0, "--presence-grace", 1)
#: Seconds within which a scenario's own loop must come round to answering a ping.
PONG = math.ceil(2 * SLOW)
#: A quick heart, so that ghosts are found within seconds.
BRISK = ("--limits-heartbeat", 1, "--limits-pong-timeout", PONG, "--presence-grace", 1, "--limits-hello-timeout", 1)


@dataclass(frozen=True)
class Scenario:
    name: str
    play: Callable[[Any], Awaitable[None]]
    #: The options of the relay that it shares with others; None: it starts its own.
    options: tuple[object, ...] | None
    is_guarded: bool


SCENARIOS: dict[str, Scenario] = {}


def scenario(*options: object, alone: bool = False, guarded: bool = False) -> Callable[[Any], Any]:
    """Registers a coroutine over a `Stage`; `alone`: it starts its relays; `guarded`: in token mode."""

    def register(play: Callable[[Any], Awaitable[None]]) -> Callable[[Any], Awaitable[None]]:
        name = play.__name__
        assert name not in SCENARIOS, name
        assert play.__doc__, f"{name} does not say what it shows"
        SCENARIOS[name] = Scenario(name, play, None if alone else options, guarded)
        return play

    return register


def load() -> dict[str, Scenario]:
    """All scenarios of all files."""
    import stress.scenarios as folder

    for module in pkgutil.iter_modules(folder.__path__):
        importlib.import_module(f"{folder.__name__}.{module.name}")
    return SCENARIOS
