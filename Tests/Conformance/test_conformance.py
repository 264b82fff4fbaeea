# SPDX-License-Identifier: Apache-2.0
"""Plays every case of every script to every client."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clients import CLIENTS
from match import filled
from player import play_case


def cases() -> Iterator[Any]:
    """Returns the cases of all scripts, once for each value of their `each`."""
    for file in sorted((Path(__file__).parent / "scripts").glob("*.json")):
        for case in json.loads(file.read_text())["cases"]:
            each = case.get("each", {"": [None]})
            for values in zip(*each.values(), strict=True):
                named = dict(zip(each, values, strict=True))
                suffix = "".join(f", {name} {value}" for name, value in named.items() if name)
                yield pytest.param(
                    filled({**case, "each": None}, named, is_strict=False), id=f"{file.stem}: {case['name']}{suffix}"
                )


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("case", list(cases()))
def test_conformance(client: str, case: dict[str, Any]) -> None:
    asyncio.run(play_case(CLIENTS[client], case))
