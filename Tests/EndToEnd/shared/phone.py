# SPDX-License-Identifier: Apache-2.0
"""A simulated phone, which the tests read through the relay's HTTP API."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from api import call
from relay import DEADLINE, Relay
from streams import follow
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
        with follow(self._relay, path=f"/v1/simulator/devices/{self.token}/events") as stream:
            yield stream
