# SPDX-License-Identifier: Apache-2.0
"""The relay that serves the page under test."""

import os
import re
import subprocess
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
START_TIMEOUT = 30


class Relay:
    """A relay to test against: the one at STILLWIRE_URL, else a process of STILLWIRE_BINARY of our own."""

    def __init__(self):
        self._process = None
        self._data = None
        self.url = os.environ.get("STILLWIRE_URL", "").rstrip("/")
        if self.url:
            return
        binary = os.environ.get("STILLWIRE_BINARY")
        if not binary:
            raise RuntimeError("set STILLWIRE_URL to a running relay, or STILLWIRE_BINARY to the program")
        self._data = tempfile.TemporaryDirectory(prefix="stillwire-")
        command = [binary, "serve", "--port", "0", "--address", "127.0.0.1"]
        command += ["--data", self._data.name, "--web", str(WEB)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace")
        self.url = self._announced()

    def stop(self):
        """Ends the process that was started here, if any, and removes its files."""
        if self._process:
            self._process.terminate()
            try:
                self._process.wait(15)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process.stdout.close()
        if self._data:
            self._data.cleanup()

    def _announced(self):
        # Killing the process ends its output, which ends the loop below.
        deadline = threading.Timer(START_TIMEOUT, self._process.kill)
        deadline.start()
        try:
            for line in self._process.stdout:
                if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                    # A pipe that nobody reads would stop the relay when it is full.
                    threading.Thread(target=self._process.stdout.read, daemon=True).start()
                    return found[0]
        finally:
            deadline.cancel()
        self.stop()
        raise RuntimeError("the relay did not say within 30 s where it listens")
