# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of both clients."""

import json
from typing import Any

import pytest

from relay import run


@pytest.fixture(scope="session")
def document() -> dict[str, Any]:
    """The OpenAPI document of the relay."""
    printed = run("document", "openapi")
    assert printed.returncode == 0, printed.stderr
    return json.loads(printed.stdout)


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def is_async(request: pytest.FixtureRequest) -> bool:
    return request.param
