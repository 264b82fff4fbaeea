# SPDX-License-Identifier: Apache-2.0
"""Fixtures: clusters that end with their test. Tests of nodes are skipped if the relay cannot form a cluster."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from harness.nats import NATSServers
from harness.topology import Cluster
from relay import run


@cache
def _can_cluster() -> bool:
    return "STILLWIRE_BINARY" in os.environ and "--cluster" in run("serve", "--help").stdout


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "nodes: requires a relay with the option --cluster")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("nodes") and not _can_cluster():
            item.add_marker(pytest.mark.skip(reason="the relay has no option --cluster"))


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Callable[..., NATSServers]]:
    """Starts NATS servers: `servers(3)`."""
    with ExitStack() as ends:

        def start(count: int) -> NATSServers:
            made = NATSServers(tmp_path / "nats", count)
            ends.callback(made.close)
            return made.start()

        yield start


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    """Starts a cluster with these options."""
    with ExitStack() as ends:
        yield lambda *options, **more: ends.enter_context(Cluster(tmp_path / "cluster", *options, **more))
