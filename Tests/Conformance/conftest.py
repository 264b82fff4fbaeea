# SPDX-License-Identifier: Apache-2.0
"""How long the tests with a breaking network go on."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--disconnects", type=int, default=25, help="losses of the connection in the stream")
    parser.addoption("--messages", type=int, default=2500, help="messages of the stream")
    parser.addoption("--seed", type=int, default=1, help="of when and how the network breaks")
    parser.addoption("--reconnects", type=int, default=600, help="reconnects over which memory must stay flat")


@pytest.fixture
def option(request: pytest.FixtureRequest) -> object:
    """The options of the command line."""
    return request.config.option
