# SPDX-License-Identifier: Apache-2.0
"""Machines of a cluster: loopback, or network namespaces whose links can be pulled out."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass

#: This variable is set in the program's own network.
_INSIDE = "CLUSTER_TEST_NETWORK"


@dataclass(frozen=True)
class Host:
    """A machine: its address, and the command that starts a program there."""

    address: str = "127.0.0.1"
    enter: tuple[str, ...] = ()
    #: The end of its cable in the switch.
    port: str | None = None

    def pull(self) -> None:
        """Pulls out the cable. Nothing that the machine sends arrives any more, and nothing answers for it."""
        _ip("link", "set", self.port, "down")

    def plug(self) -> None:
        """Plugs the cable in again."""
        _ip("link", "set", self.port, "up")


#: This machine.
LOOPBACK = Host()


def installed(name: str) -> str:
    """The path of a program of the system. Users without rights do not search the folder of some of them."""
    return shutil.which(name) or f"/usr/sbin/{name}"


def enter_network() -> None:
    """Starts this program again in a network of its own, without any rights. The network ends with the program."""
    if os.environ.get(_INSIDE) is None:
        os.environ[_INSIDE] = "1"
        command = ["unshare", "--user", "--map-root-user", "--net", "--mount", sys.executable, *sys.argv]
        os.execvp(command[0], command)
    # The names of network namespaces are files.
    subprocess.run(["mount", "-t", "tmpfs", "names", "/run"], check=True)
    _ip("link", "set", "lo", "up")


def connect_hosts(count: int) -> list[Host]:
    """Makes machines that share a switch with this one. Requires `enter_network`."""
    _ip("link", "add", "switch", "type", "bridge")
    _ip("address", "add", "10.0.0.254/24", "dev", "switch")
    _ip("link", "set", "switch", "up")
    return [_connect(number) for number in range(1, count + 1)]


def _connect(number: int) -> Host:
    name, port, address = f"host{number}", f"port{number}", f"10.0.0.{number}"
    _ip("netns", "add", name)
    _ip("link", "add", port, "type", "veth", "peer", "name", "cable", "netns", name)
    _ip("link", "set", port, "master", "switch", "up")
    _ip("-n", name, "address", "add", f"{address}/24", "dev", "cable")
    for link in ("lo", "cable"):
        _ip("-n", name, "link", "set", link, "up")
    return Host(address, (installed("ip"), "netns", "exec", name), port)


def _ip(*arguments: str) -> None:
    subprocess.run([installed("ip"), *arguments], check=True)
