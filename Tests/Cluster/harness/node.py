# SPDX-License-Identifier: Apache-2.0
"""A relay that is a node of a cluster: starts it, kills it, pauses it, and reads its role."""

import http.client
import json
import re
from pathlib import Path
from typing import Any

from api import Answer
from relay import DEADLINE, SLOW, binary, run
from waiting import eventually

from harness.hosts import LOOPBACK, Host
from harness.processes import Program, free_port


class Node(Program):
    """A relay with its own data and port. It keeps both over restarts. Without `servers` it is a single relay."""

    #: A replacement of the relay under test, such as `fake_node.py`.
    program: Path | None = None

    def __init__(
        self,
        folder: Path,
        name: str,
        servers: str | None,
        *options: object,
        cluster: str = "test",
        host: Host = LOOPBACK,
        **settings: str,
    ):
        super().__init__(folder, f"node-{name}", host)
        self.node = name
        self.port = free_port()
        self.data = folder / f"node-{name}"
        self.options = [str(option) for option in options]
        self._settings = settings
        self.cluster_options = (
            []
            if servers is None
            else ["--cluster", servers, "--cluster-name", cluster, "--cluster-node", name, "--cluster-url", self.url]
        )

    @property
    def url(self) -> str:
        return f"http://{self.host.address}:{self.port}"

    @property
    def database(self) -> Path:
        return self.data / "stillwire.db"

    def start(self) -> "Node":
        """Starts the process. It may take a moment until it answers."""
        place = ["--data", str(self.data), "--address", self.host.address, "--port", str(self.port)]
        program = str(self.program or binary())
        self.launch([program, "serve", *place, *self.cluster_options, *self.options], **self._settings)
        return self

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        timeout: float = DEADLINE,
    ) -> Answer:
        """Sends one request to this node on a new connection, and follows no redirect."""
        sent = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection(self.host.address, self.port, timeout=timeout)
        try:
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def attempt(self, method: str, path: str, **more: Any) -> Answer | None:
        """The same, but returns None if the node does not answer within a second. A paused node does not."""
        if not self.is_running or self.is_paused:
            return None
        try:
            return self.request(method, path, timeout=SLOW, **more)
        except (OSError, http.client.HTTPException):
            return None

    @property
    def leads(self) -> bool:
        """True if the node says that it serves clients."""
        answer = self.attempt("GET", "/ready")
        return answer is not None and answer.status == 200

    @property
    def readiness(self) -> dict[str, Any]:
        """The body of `/ready`: `status`, and `leader` at a standby. Empty without an answer."""
        answer = self.attempt("GET", "/ready")
        try:
            return {} if answer is None else answer.json
        except json.JSONDecodeError:
            return {}

    @property
    def is_standby(self) -> bool:
        return self.readiness.get("status") == "standby"

    @property
    def role(self) -> str:
        """A word for reports: `dead`, `paused`, `silent`, or the status in `/ready`."""
        if not self.is_running:
            return "dead"
        if self.is_paused:
            return "paused"
        return self.readiness.get("status", "silent")

    def wait_live(self, within: float = DEADLINE) -> "Node":
        def is_live() -> bool:
            assert self.is_running, f"{self.name} died:\n{self.tail()}"
            answer = self.attempt("GET", "/live")
            return answer is not None and answer.status == 200

        eventually(is_live, within)
        return self

    def reset_cluster(self) -> None:
        """Runs the operator's command that begins a new log with this node's data."""
        made = run("cluster", "reset", "--data", self.data, *self.cluster_options, "--confirm")
        assert made.returncode == 0, made.stderr + made.stdout

    @property
    def report(self) -> dict[str, Any]:
        """The JSON of `/v1/cluster`. Empty without an answer."""
        answer = self.attempt("GET", "/v1/cluster")
        return answer.json if answer is not None and answer.status == 200 else {}

    def status(self) -> tuple[int, str]:
        """The exit code and the output of `stillwire cluster status`."""
        made = run("cluster", "status", "--url", self.url)
        return made.returncode, made.stdout + made.stderr

    def metrics(self) -> dict[str, float]:
        """Returns the samples of `/metrics`, by name with labels."""
        text = self.request("GET", "/metrics").body.decode()
        found = re.findall(r"^([a-z_]+(?:\{[^}]*\})?) (-?[0-9.e+-]+)$", text, re.MULTILINE)
        return {name: float(value) for name, value in found}
