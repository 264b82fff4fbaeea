# SPDX-License-Identifier: Apache-2.0
"""HTTP requests to the relay. Each answer is checked against the OpenAPI document."""

import http.client
import json
from dataclasses import dataclass
from typing import Any

import documents
from relay import DEADLINE, Relay


@dataclass
class Answer:
    """A complete response."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def problem(self) -> dict[str, Any]:
        """The problem document (RFC 9457) of an error."""
        assert self.headers.get_content_type() == "application/problem+json", self
        document = self.json
        assert document.get("status", self.status) == self.status, self
        return document


def call(
    relay: Relay,
    method: str,
    path: str,
    body: Any = None,
    *,
    user: str | None = None,
    token: str | None = None,
    headers: dict[str, str] | None = None,
) -> Answer:
    """Sends one request on a new connection. A `body` that is not bytes is sent as JSON."""
    sent = dict(headers or {})
    if user is not None:
        sent["X-Stillwire-User"] = user
    if token is not None:
        sent["Authorization"] = f"Bearer {token}"
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
    if body is not None:
        sent.setdefault("Content-Type", "application/json")
    connection = http.client.HTTPConnection("127.0.0.1", relay.port, timeout=DEADLINE)
    try:
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        answer = Answer(response.status, response.headers, response.read())
        documents.check_answer(method, path, answer.status, answer.headers.get_content_type(), answer.body)
        return answer
    finally:
        connection.close()


def history(relay: Relay, room: str, user: str) -> list[dict[str, Any]]:
    """Returns all messages of a room, which it reads page by page."""
    messages: list[dict[str, Any]] = []
    while True:
        after = messages[-1]["seq"] if messages else 0
        answer = call(relay, "GET", f"/v1/rooms/{room}/messages?after={after}&limit=300", user=user)
        assert answer.status == 200, answer
        messages += answer.json["messages"]
        if not answer.json["more"]:
            return messages
