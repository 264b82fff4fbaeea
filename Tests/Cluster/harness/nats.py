# SPDX-License-Identifier: Apache-2.0
"""NATS servers with JetStream: one server, or three that replicate their streams.

`NATS_SERVER` names another program than the one of the system.
"""

import http.client
import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from relay import DEADLINE
from waiting import eventually

from harness.hosts import LOOPBACK, Host, installed
from harness.processes import Program, free_port


def program() -> str:
    """The path of the program."""
    return os.environ.get("NATS_SERVER") or installed("nats-server")


class NATSServer(Program):
    """One server. It keeps its port and its folder over restarts."""

    def __init__(
        self,
        folder: Path,
        name: str,
        host: Host,
        route: int,
        routes: list[str],
        options: Sequence[object] = (),
    ):
        super().__init__(folder, f"nats-{name}", host)
        self.server = name
        self.port = free_port()
        self.monitor = free_port()
        self._arguments = ["-a", host.address, "-p", self.port, "-m", self.monitor, "--name", name]
        self._arguments += ["-js", "-sd", folder / f"nats-{name}", *options]
        #: More arguments for the next start.
        self.extra: list[object] = []
        self._disk: list[str] = []
        if len(routes) > 1:
            own = f"nats://{host.address}:{route}"
            self._arguments += ["--cluster_name", "test", "--cluster", own, "--routes", ",".join(routes)]
            # Clients would otherwise learn the addresses of all servers, and connect without their proxies.
            self._arguments += ["--no_advertise"]

    def start(self) -> None:
        self.launch([*self._disk, program(), *map(str, [*self._arguments, *self.extra])])

    def limit_disk(self, megabytes: int) -> None:
        """Gives the server a disk of its own with this size, from its next start on. A restart keeps the files.

        The disk is a file system in memory. It is mounted in a namespace of the server, so that no rights are needed.
        """
        folder = self.folder / self.name
        kept = self.folder / f"{self.name}-kept"
        for path in (folder, kept):
            path.mkdir(exist_ok=True)
        script = (
            f"mount -t tmpfs -o size={megabytes}m disk {folder} && cp -a {kept}/. {folder} && exec \"$@\""
        )
        self._disk = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]

    def fill_disk(self) -> Path:
        """Fills the disk of `limit_disk`. Returns the file that frees the space again."""
        file = self._inside / "filler"
        with file.open("wb", buffering=0) as filler, suppress(OSError):
            while True:
                filler.write(bytes(1 << 16))
        return file

    def keep_disk(self) -> None:
        """Copies the files of the disk, so that the next start has them. The server must not write meanwhile."""
        kept = self.folder / f"{self.name}-kept"
        shutil.rmtree(kept)
        shutil.copytree(self._inside, kept)

    @property
    def _inside(self) -> Path:
        """The folder of the disk, as the server sees it."""
        return Path(f"/proc/{self.pid}/root{(self.folder / self.name).resolve()}")

    def monitored(self, path: str) -> Any:
        """Returns the JSON of the monitoring port, or None without an answer. A paused server does not answer."""
        connection = http.client.HTTPConnection(self.host.address, self.monitor, timeout=1)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            body = response.read()
            return json.loads(body) if response.status == 200 else None
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    @property
    def is_healthy(self) -> bool:
        return self.is_running and self.monitored("/healthz") is not None

    @property
    def meta_leader(self) -> str | None:
        """The name of the server that this one sees as the leader of JetStream."""
        return ((self.monitored("/jsz") or {}).get("meta_cluster") or {}).get("leader")

    def stream(self, name: str) -> dict[str, Any] | None:
        """Returns the details of a stream, as this server sees them, or None."""
        answer = self.monitored("/jsz?accounts=1&streams=1&config=1&raft=1") or {}
        for account in answer.get("account_details", []):
            for stream in account.get("stream_detail", []):
                if stream["name"] == name:
                    return stream
        return None


class NATSServers:
    """One or three servers. With the scheme `tls`, the options must name the servers' certificate."""

    def __init__(
        self,
        folder: Path,
        count: int = 3,
        *,
        hosts: Sequence[Host] = (LOOPBACK,) * 3,
        scheme: str = "nats",
        options: Sequence[object] = (),
    ):
        assert count in (1, 3)
        places = [(host, free_port()) for host in hosts[:count]]
        routes = [f"nats://{host.address}:{route}" for host, route in places]
        self.all = [
            NATSServer(folder, name, host, route, routes, options) for name, (host, route) in zip("abc", places)
        ]
        self._scheme = scheme

    @property
    def urls(self) -> str:
        return ",".join(f"{self._scheme}://{server.host.address}:{server.port}" for server in self.all)

    def start(self, within: float = DEADLINE) -> "NATSServers":
        """Starts the servers that do not run, and waits until JetStream accepts requests."""
        for server in self.all:
            if not server.is_running:
                server.start()
        self.wait_healthy(within)
        return self

    def wait_healthy(self, within: float = DEADLINE) -> None:
        eventually(lambda: all(server.is_healthy for server in self.all), within, 0.1)
        if len(self.all) > 1:
            eventually(lambda: self.meta_leader() is not None, within, 0.1)

    def restart_ill(self, within: float = DEADLINE) -> None:
        """Restarts the servers that do not become healthy. After a pause on a busy machine, 2.9.10 may need this."""
        with suppress(AssertionError):
            return self.wait_healthy(within)
        for server in self.all:
            if not server.is_healthy:
                server.kill()
                server.start()

    def meta_leader(self) -> NATSServer | None:
        """The server that leads JetStream: the one that names itself."""
        return self._naming_itself(lambda server: server.meta_leader)

    def leader(self, stream: str, *, without: NATSServer | None = None) -> NATSServer | None:
        """The server that leads the Raft group of a stream, or None during an election. Does not ask `without`."""
        if len(self.all) == 1:
            return self.all[0] if self.all[0].stream(stream) else None

        def leader_seen_by(server: NATSServer) -> str | None:
            details = server.stream(stream) or {}
            return (details.get("cluster") or {}).get("leader")

        return self._naming_itself(leader_seen_by, without)

    def followers(self, stream: str) -> list[NATSServer]:
        leader = self.leader(stream)
        return [server for server in self.all if server is not leader and server.is_running]

    def is_current(self, stream: str) -> bool:
        """True if the stream has a leader, and all its replicas have all its messages."""
        leader = self.leader(stream)
        if leader is None:
            return False
        cluster = (leader.stream(stream) or {}).get("cluster") or {}
        replicas = cluster.get("replicas", [])
        return all(replica.get("current") and not replica.get("offline") for replica in replicas)

    def wait_current(self, stream: str, within: float = 2 * DEADLINE) -> None:
        self.wait_healthy(within)
        eventually(lambda: self.is_current(stream), within, 0.1)

    def close(self) -> None:
        for server in self.all:
            with suppress(ProcessLookupError):
                server.kill()

    def _naming_itself(self, seen, without: NATSServer | None = None) -> NATSServer | None:
        for server in self.all:
            if server is without or not server.is_running or server.is_paused:
                continue
            if seen(server) == server.server:
                return server
        return None
