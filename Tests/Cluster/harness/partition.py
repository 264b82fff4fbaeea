# SPDX-License-Identifier: Apache-2.0
"""The network between one node and the NATS servers: it can be cut, stalled and delayed."""

import subprocess
import sys
from pathlib import Path

from harness.nats import NATSServers


class Partition:
    """A proxy for each NATS server, in a process of its own. Nodes connect to `urls`.

    The connections of all other nodes are not affected.
    """

    def __init__(self, servers: NATSServers):
        program = Path(__file__).with_name("proxy.py")
        self._process = subprocess.Popen(
            [sys.executable, program, *(str(server.port) for server in servers.all)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.ports = [int(port) for port in self._process.stdout.readline().split()]
        assert len(self.ports) == len(servers.all)

    @property
    def urls(self) -> str:
        return ",".join(f"nats://127.0.0.1:{port}" for port in self.ports)

    def open(self) -> None:
        """Forwards everything, also what waited during a stall."""
        self._command("open")

    def cut(self) -> None:
        """Ends all connections, and every new one."""
        self._command("cut")

    def stall(self) -> None:
        """Keeps all connections open and forwards nothing, like a network that loses all packets."""
        self._command("stall")

    def delay(self, seconds: float) -> None:
        """Forwards each byte this much later, in both directions."""
        self._command(f"delay {seconds}")

    def close(self) -> None:
        """Ends the proxy, which exits at the end of its input."""
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _command(self, line: str) -> None:
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "done\n"
