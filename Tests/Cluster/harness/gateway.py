# SPDX-License-Identifier: Apache-2.0
"""A Matrix gateway that records the event id of each push."""

import json
from collections import defaultdict
from typing import Any

from push_service import Answer, PushService, Request

APP = "org.example.chat"


class Gateway:
    """Accepts each push. It outlives the nodes, so that it sees the pushes of each leader."""

    def __init__(self) -> None:
        self._service = PushService()
        # A killed node resets its connections.
        self._service._server.handle_error = lambda *_: None
        self._service.handle = lambda request: Answer(200, b'{"rejected":[]}', {"Content-Type": "application/json"})

    @property
    def configuration(self) -> dict[str, Any]:
        """The app of the devices, for the relay's configuration."""
        return {"app": APP, "matrix": {"url": f"http://127.0.0.1:{self._service.port}/_matrix/push/v1/notify"}}

    def pushes(self) -> dict[tuple[str, str], list[str]]:
        """Returns the event ids of the pushes in the order of arrival, by (token, text)."""
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        for request in list(self._service.requests):
            notification = _parsed(request)
            text = notification.get("content", {}).get("body", "")
            for device in notification["devices"]:
                found[(device["pushkey"], text)].append(notification["event_id"])
        return found

    def close(self) -> None:
        self._service.close()


def _parsed(request: Request) -> dict[str, Any]:
    return json.loads(request.body)["notification"]
