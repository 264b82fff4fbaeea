# SPDX-License-Identifier: Apache-2.0
"""A simulated phone, which the tests read through the relay's HTTP API."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from api import call
from relay import DEADLINE, Relay
from waiting import eventually


class Phone:
    """The notifications that the simulated gateway has delivered to one device token."""

    def __init__(self, relay: Relay, token: str):
        self.token = token
        self._relay = relay

    @property
    def registration(self) -> dict[str, Any]:
        """The fields that register this phone, without the name of the device."""
        return {"platform": "simulator", "token": self.token}

    def reach(self, is_reachable: bool) -> None:
        """Sets whether the gateway can reach the phone."""
        said = {"isReachable": is_reachable}
        answer = call(self._relay, "PUT", f"/v1/simulator/devices/{self.token}", said)
        assert (answer.status, answer.json) == (200, said), answer

    def notifications(self) -> list[dict[str, Any]]:
        answer = call(self._relay, "GET", f"/v1/simulator/devices/{self.token}")
        # The gateway does not know a token before its first delivery.
        if answer.status == 404:
            return []
        assert answer.status == 200, answer
        return answer.json["notifications"]

    def texts(self) -> list[str | None]:
        """The text of each notification, oldest first."""
        return [notification["payload"]["aps"]["alert"].get("body") for notification in self.notifications()]

    def ring(self, text: str, within: float = DEADLINE) -> dict[str, Any]:
        """Waits for the notification with this text."""

        def matching() -> list[dict[str, Any]]:
            return [one for one in self.notifications() if one["payload"]["aps"]["alert"].get("body") == text]

        return eventually(matching, within)[0]

    def nth(self, index: int) -> dict[str, Any]:
        """Waits for more than `index` notifications, and returns the one at `index`."""
        return eventually(lambda: self.notifications()[index:])[0]

    @contextmanager
    def events(self) -> Iterator[Iterator[tuple[str, Any]]]:
        """Opens the live stream, and yields pairs of event name and content."""
        connection = http.client.HTTPConnection("127.0.0.1", self._relay.port, timeout=DEADLINE)
        with closing(connection):
            connection.request("GET", f"/v1/simulator/devices/{self.token}/events")
            # The response must be closed, too, because it keeps the connection open.
            with connection.getresponse() as response:
                assert response.status == 200
                assert response.headers.get_content_type() == "text/event-stream"
                yield _server_sent(response)


def _server_sent(response: http.client.HTTPResponse) -> Iterator[tuple[str, Any]]:
    name, lines = "message", []
    while line := response.readline():
        field, _, value = line.decode().rstrip("\r\n").partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            lines.append(value)
        elif not field and lines:
            yield name, json.loads("\n".join(lines))
            name, lines = "message", []
