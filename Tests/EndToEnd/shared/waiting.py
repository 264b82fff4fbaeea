# SPDX-License-Identifier: Apache-2.0
"""Waits for a condition instead of a time."""

import time
from collections.abc import Callable
from typing import TypeVar

from relay import DEADLINE

Value = TypeVar("Value")


def eventually(condition: Callable[[], Value], within: float = DEADLINE, every: float = 0.03) -> Value:
    """Returns the first true value of `condition`. Fails with its last value after `within` seconds."""
    end = time.monotonic() + within
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"still {value!r} after {within} s")
        time.sleep(every)
