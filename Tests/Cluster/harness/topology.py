# SPDX-License-Identifier: Apache-2.0
"""A cluster: NATS servers, nodes, and, if a test requires them, a partition for each node."""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from relay import DEADLINE
from waiting import eventually
from wall_clock import Clock

from harness.hosts import LOOPBACK, Host
from harness.nats import NATSServers
from harness.node import Node
from harness.partition import Partition
from harness.tables import Contents, contents, differences

#: The name of the cluster, and the names of the streams that follow from it.
NAME = "test"
LOG = f"{NAME}-log"
SNAPSHOTS = f"{NAME}-snapshots"


class Cluster:
    """`nodes` relays and `servers` NATS servers. Without servers, a single relay, to check the tests themselves.

    Each of the `hosts` has one node and one NATS server.

    With `has_clocks`, each node has a wall clock of its own, which the test sets. `nats` has more arguments of
    `NATSServers`.
    """

    def __init__(
        self,
        folder: Path,
        *options: object,
        servers: int = 3,
        nodes: int = 3,
        is_partitionable: bool = False,
        has_clocks: bool = False,
        configuration: dict[str, Any] | None = None,
        hosts: Sequence[Host] = (LOOPBACK,) * 3,
        **nats: Any,
    ):
        self.folder = folder
        self.options = list(options)
        self.nats = NATSServers(folder / "nats", servers, hosts=hosts, **nats) if servers else None
        self.partitions: dict[str, Partition] = {}
        folder.mkdir(parents=True, exist_ok=True)
        if configuration is not None:
            (folder / "stillwire.json").write_text(json.dumps(configuration))
            self.options += ["--config", folder / "stillwire.json"]
        self._is_partitionable = is_partitionable
        self._has_clocks = has_clocks
        self.clocks: dict[str, Clock] = {}
        self.nodes: list[Node] = []
        self._count = nodes
        self._hosts = hosts

    # Life

    def start(self, within: float = 2 * DEADLINE) -> "Cluster":
        """Starts everything, and waits until one node leads and all others are standbys."""
        if self.nats is not None:
            self.nats.start(within)
        for number in range(self._count):
            self.add("xyz"[number], self._hosts[number])
        for node in self.nodes:
            node.start()
        self.wait_whole(within)
        return self

    def add(self, name: str, host: Host = LOOPBACK) -> Node:
        """Adds a node without starting it."""
        urls = None if self.nats is None else self.nats.urls
        if self._is_partitionable:
            self.partitions[name] = Partition(self.nats)
            urls = self.partitions[name].urls
        settings = {}
        if self._has_clocks:
            folder = self.folder / f"clock-{name}"
            folder.mkdir()
            self.clocks[name] = Clock(folder)
            settings = self.clocks[name].environment
        node = Node(self.folder, name, urls, *self.options, cluster=NAME, host=host, **settings)
        self.nodes.append(node)
        return node

    def close(self) -> None:
        """Kills everything."""
        for node in self.nodes:
            with suppress(ProcessLookupError):
                node.kill()
        for partition in self.partitions.values():
            partition.close()
        if self.nats is not None:
            self.nats.close()

    def __enter__(self) -> "Cluster":
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    # Roles

    def leader_now(self) -> Node | None:
        """The node that says that it leads, or None."""
        leaders = [node for node in self.nodes if node.leads]
        return leaders[0] if leaders else None

    def leader(self, within: float = 2 * DEADLINE) -> Node:
        try:
            return eventually(self.leader_now, within, 0.05)
        except AssertionError:
            raise AssertionError(f"no node leads: {self.roles}\n{self.logs()}") from None

    @property
    def roles(self) -> dict[str, str]:
        return {node.node: node.role for node in self.nodes}

    def standbys(self) -> list[Node]:
        """The live nodes that do not lead."""
        leader = self.leader()
        return [node for node in self.nodes if node is not leader and node.is_running]

    def is_whole(self) -> bool:
        """True if one node leads, and all others follow it. Fails if one has ended."""
        for node in self.nodes:
            assert node.is_running, f"{node.name} has ended"
        leader = self.leader_now()
        if leader is None:
            return False
        others = [node.readiness for node in self.nodes if node is not leader]
        return all(other.get("status") == "standby" and other.get("leader") == leader.url for other in others)

    def wait_whole(self, within: float = 3 * DEADLINE) -> Node:
        """Waits until each node runs and has its role, and each NATS server has all records. Returns the leader."""
        try:
            eventually(self.is_whole, within, 0.05)
        except AssertionError as failure:
            raise AssertionError(f"{failure}; the roles are {self.roles}\n{self.logs()}") from None
        if self.nats is not None:
            self.nats.wait_current(LOG, within)
        return self.leader()

    def logs(self) -> str:
        return "\n".join(f"--- {node.name}\n{node.tail()}" for node in self.nodes)

    # The data

    def wait_equal(self, within: float = 3 * DEADLINE) -> None:
        """Waits until the files of all running nodes have the same rows. The load must have ended."""

        def are_equal() -> bool:
            found = [contents(node.database) for node in self.nodes]
            return all(other.hashes == found[0].hashes for other in found[1:])

        try:
            eventually(are_equal, within, 0.5)
        except AssertionError:
            raise AssertionError("\n".join(self.differences())) from None

    def stopped_contents(self) -> dict[str, Contents]:
        """Kills all nodes and returns the contents of their files."""
        for node in self.nodes:
            node.kill()
        return {node.node: contents(node.database) for node in self.nodes}

    def differences(self) -> list[str]:
        """Describes the rows in which the nodes' files differ."""
        first, *others = self.nodes
        found = []
        for other in others:
            found += [f"{first.node}, {other.node}: {line}" for line in differences(first.database, other.database)]
        return found
