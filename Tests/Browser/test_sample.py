# SPDX-License-Identifier: Apache-2.0
"""The README's page, served from another origin than the relay's."""

import functools
import http.server
import re
import tempfile
import threading
import unittest
from pathlib import Path

from page import BrowserTests, eventually
from relay import CHECKOUT, Relay
from selenium.webdriver.common.by import By


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class SampleTests(BrowserTests):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stillwire-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "web").symlink_to(CHECKOUT / "web")
        handler = functools.partial(Quiet, directory=folder.name)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"

    def start(self, *options):
        """A relay with these options, and the README's page for it."""
        relay = Relay(self.folder, *options).start()
        self.addCleanup(relay.kill)
        (page,) = re.findall(r"```html\n(.*?)```", (CHECKOUT / "README.md").read_text(), re.DOTALL)
        address = relay.origin.replace("http", "ws")
        self.assertIn("ws://localhost:8080", page)
        (self.folder / "tea.html").write_text(page.replace("ws://localhost:8080", address))
        self.driver.get(f"{self.origin}/tea.html")

    def lines(self):
        return [line.text for line in self.driver.find_elements(By.CSS_SELECTOR, "li")]

    def test_it_talks_where_the_relay_lists_its_origin(self):
        self.start("--origins", self.origin)
        self.driver.find_element(By.NAME, "text").send_keys("Kettle is on\n")
        eventually(self.driver, "the message is shown", lambda: self.lines() == ["carol: Kettle is on"])

    def test_it_reports_that_the_relay_refuses_its_origin(self):
        self.start()
        eventually(self.driver, "the refusal is shown", lambda: len(self.lines()) == 1)
        self.assertIn(self.origin, self.lines()[0])
        self.assertIn("origins", self.lines()[0])


if __name__ == "__main__":
    unittest.main()
