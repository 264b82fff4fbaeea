# SPDX-License-Identifier: Apache-2.0
"""The relay that serves the page under test."""

import json
import os
import tempfile
import urllib.request
from pathlib import Path

from relay import CHECKOUT, Relay

WEB = CHECKOUT / "web"


def call(origin, method, path, user, body=None):
    """Requests `/v1/{path}` of a relay in open mode as `user`, and returns the JSON of the answer."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"X-Stillwire-User": user, "Content-Type": "application/json"}
    request = urllib.request.Request(f"{origin}/v1/{path}", data, headers, method=method)
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


class Served:
    """The relay at STILLWIRE_URL, or else a new process of STILLWIRE_BINARY. With options it is always a new one."""

    def __init__(self, *options):
        self._relay = None
        self.url = "" if options else os.environ.get("STILLWIRE_URL", "").rstrip("/")
        if not self.url:
            self._folder = tempfile.TemporaryDirectory(prefix="stillwire-")
            self._relay = Relay(Path(self._folder.name), "--web", WEB, *options).start()
            self.url = self._relay.origin

    def stop(self):
        """Ends the process that was started here, if any, and removes its files."""
        if self._relay:
            self._relay.stop()
            self._folder.cleanup()
