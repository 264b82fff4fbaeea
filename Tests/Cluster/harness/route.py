# SPDX-License-Identifier: Apache-2.0
"""Connections of clients that follow the leader: they know the addresses of all nodes, and learn the leader's."""

import asyncio
import http.client
import io
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from rfc6455 import Connection, upgrade_request

#: The time in seconds that a client waits for an answer before it tries another node.
PATIENCE = 1.0


class FollowingConnection(Connection):
    """Keeps the head of the answer to its upgrade."""

    headers: http.client.HTTPMessage | None = None

    def _read_answer(self) -> bool:
        head = bytes(self._bytes)
        if not super()._read_answer():
            return False
        self.headers = http.client.parse_headers(io.BytesIO(head.partition(b"\r\n")[2]))
        return True


class Route:
    """The nodes of a cluster as one client knows them."""

    def __init__(self, ports: list[int], chance: random.Random):
        self._ports = ports
        self._chance = chance
        self.port = chance.choice(ports)

    def learn(self, url: str | None) -> bool:
        """Selects the leader that a node has named. Returns false if it named none, or the node that did not answer."""
        port = urlsplit(url).port if url else None
        if port not in self._ports or port == self.port:
            return False
        self.port = port
        return True

    def turn(self) -> None:
        """Selects another node."""
        others = [port for port in self._ports if port != self.port]
        if others:
            self.port = self._chance.choice(others)

    async def connect(self, on_text: Callable[[str], None]) -> FollowingConnection:
        """Opens a session with the leader. Tries until it succeeds."""
        while True:
            if (connection := await self._attempt(on_text)) is not None:
                return connection
            await asyncio.sleep(self._chance.uniform(0.02, 0.08))

    async def _attempt(self, on_text: Callable[[str], None]) -> FollowingConnection | None:
        connection = None
        try:
            async with asyncio.timeout(PATIENCE):
                connection = await FollowingConnection.dial(self.port)
                connection.on_text = on_text
                connection.write(upgrade_request(self.port))
                status = await connection.answer()
            if status == 101:
                return connection
            if not self.learn(connection.headers and connection.headers["Stillwire-Leader"]):
                self.turn()
        except (OSError, TimeoutError):
            self.turn()
        if connection is not None and not connection.ended.done():
            connection.cut()
        return None


@dataclass
class Response:
    status: int
    headers: http.client.HTTPMessage
    body: bytes


class HTTPLine:
    """A connection that sends HTTP requests one after the other. It follows redirects to the leader."""

    def __init__(self, route: Route):
        self._route = route
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._port = 0

    async def attempt(self, method: str, path: str, body: Any, headers: dict[str, str]) -> Response | None:
        """Sends a request once. Returns None if it must be sent again, because the node did not answer or refers to
        the leader."""
        try:
            async with asyncio.timeout(PATIENCE):
                response = await self._send(method, path, json.dumps(body).encode(), headers)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            self.close()
            self._route.turn()
            return None
        if response.status == 307:
            location = response.headers["Location"] or ""
            assert urlsplit(location).path == path, location
            if not self._route.learn(location):
                self._route.turn()
            return None
        return response

    def close(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()
        self._reader = self._writer = None

    async def _send(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Response:
        if self._writer is None or self._port != self._route.port:
            self.close()
            self._port = self._route.port
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        fields = {"Host": f"127.0.0.1:{self._port}", "Content-Type": "application/json"} | headers
        fields["Content-Length"] = str(len(body))
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())])
        self._writer.write(head.encode() + b"\r\n\r\n" + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        line, _, rest = answer.partition(b"\r\n")
        found = http.client.parse_headers(io.BytesIO(rest))
        content = await self._reader.readexactly(int(found["Content-Length"] or 0))
        if (found["Connection"] or "").lower() == "close":
            self.close()
        return Response(int(line.split()[1]), found, content)
