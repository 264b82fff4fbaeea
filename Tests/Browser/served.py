# SPDX-License-Identifier: Apache-2.0
"""The relay that serves the page under test."""

import os
import tempfile
from pathlib import Path

from relay import CHECKOUT, Relay

WEB = CHECKOUT / "web"


class Served:
    """The relay at STILLWIRE_URL, else a process of STILLWIRE_BINARY of our own."""

    def __init__(self):
        self._relay = None
        self.url = os.environ.get("STILLWIRE_URL", "").rstrip("/")
        if not self.url:
            self._folder = tempfile.TemporaryDirectory(prefix="stillwire-")
            self._relay = Relay(Path(self._folder.name)).start()
            self.url = self._relay.origin

    def stop(self):
        """Ends the process that was started here, if any, and removes its files."""
        if self._relay:
            self._relay.stop()
            self._folder.cleanup()
