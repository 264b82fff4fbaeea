# SPDX-License-Identifier: Apache-2.0
"""The options of the tests with a breaking network, which determine their duration."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--disconnects", type=int, default=25, help="lost connections during the stream")
    parser.addoption("--messages", type=int, default=2500, help="messages of the stream")
    parser.addoption("--seed", type=int, default=1, help="seed of the times and types of network faults")
    parser.addoption("--reconnects", type=int, default=600, help="reconnects during which the memory must not grow")


@pytest.fixture
def option(request: pytest.FixtureRequest) -> object:
    """The options of the command line."""
    return request.config.option
