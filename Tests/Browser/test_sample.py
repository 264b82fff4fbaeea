# SPDX-License-Identifier: Apache-2.0
"""Tests the guide's page and a client that are served from another origin than the relay's."""

import contextlib
import functools
import http.server
import re
import socket
import tempfile
import textwrap
import threading
import unittest
from pathlib import Path

from page import BrowserTests, eventually
from relay import CHECKOUT, Relay
from selenium.webdriver.common.by import By
from served import WEB


GUIDE = CHECKOUT / "web" / "docs" / "guides" / "javascript.md"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


CLIENT = """
const [url] = arguments
window.errors = []
import(new URL('../client/stillwire.js', location)).then(({ Stillwire }) => {
  window.relay = new Stillwire(`${url.replace('http', 'ws')}/v1/connect`, { hello: { user: 'ann' } })
  relay.addEventListener('error', ({ detail }) => errors.push(detail))
  relay.room('tea').join().then(() => (window.joined = 'ok'), ({ code }) => (window.joined = code))
  relay.connect()
})
"""


class HostChanger:
    """A proxy that changes Host in requests of /v1/connect. `with` returns its origin.

    Other requests keep their Host, so that the browser can load the client: it loads modules with an Origin.
    """

    def __init__(self, port):
        self.port = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        own = self.listener.getsockname()[1]
        self.origin = f"http://127.0.0.1:{own}"
        self.hosts = (f"\r\nHost: 127.0.0.1:{own}\r\n".encode(), f"\r\nHost: localhost:{port}\r\n".encode())

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self.origin

    def __exit__(self, *_):
        # Wakes the thread that waits in accept().
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                browser, _ = self.listener.accept()
                relay = socket.create_connection(("127.0.0.1", self.port))
                threading.Thread(target=self.copy, args=(browser, relay, self.hosts), daemon=True).start()
                threading.Thread(target=self.copy, args=(relay, browser, None), daemon=True).start()

    @staticmethod
    def copy(source, target, hosts):
        """Copies until either side ends. The head of a request is small enough for one read."""
        with contextlib.suppress(OSError), source, target:
            while data := source.recv(65536):
                target.sendall(data.replace(*hosts) if hosts and b" /v1/connect " in data else data)
            target.shutdown(socket.SHUT_RDWR)


class SampleTests(BrowserTests):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="stillwire-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "web").symlink_to(CHECKOUT / "web")
        (self.folder / "client").symlink_to(CHECKOUT / "web" / "client")
        handler = functools.partial(Quiet, directory=folder.name)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"

    def start(self, *options):
        """Starts a relay with these options, and opens the guide's page for it."""
        relay = Relay(self.folder, *options).start()
        self.addCleanup(relay.kill)
        guide = GUIDE.read_text()
        (page,) = re.findall(r"```html\n(.*?)```", guide, re.DOTALL)
        # The first program of the guide is for Node, and the second one is that of the page.
        program = re.findall(r"```js\n(.*?)```", guide, re.DOTALL)[1]
        self.assertIn("ws://localhost:8080", program)
        (self.folder / "tea.html").write_text(textwrap.dedent(page))
        (self.folder / "tea.js").write_text(program.replace("ws://localhost:8080", relay.origin.replace("http", "ws")))
        self.driver.get(f"{self.origin}/tea.html")

    def lines(self):
        return [line.text for line in self.driver.find_elements(By.CSS_SELECTOR, "li")]

    def test_the_page_connects_if_the_relay_lists_its_origin(self):
        self.start("--origins", self.origin)
        self.driver.find_element(By.NAME, "text").send_keys("Kettle is on\n")
        eventually(self.driver, "the message is shown", lambda: self.lines() == ["carol: Kettle is on"])

    def test_the_page_reports_that_the_relay_refuses_its_origin(self):
        self.start()
        eventually(self.driver, "the refusal is shown", lambda: len(self.lines()) == 1)
        self.assertIn(self.origin, self.lines()[0])
        self.assertIn("origins", self.lines()[0])

    def open_client(self, origin, url):
        """Opens a client for `url` in a page of `origin`. The page stores its errors and states."""
        self.driver.get(f"{origin}/web/page/place.js" if origin == self.origin else f"{origin}/page/place.js")
        self.driver.execute_script(CLIENT, url)

    def read(self, name):
        return self.driver.execute_script(f"return window.{name}")

    def test_a_client_ends_if_the_relay_does_not_list_its_page(self):
        relay = Relay(self.folder).start()
        self.addCleanup(relay.kill)
        self.open_client(self.origin, relay.origin)
        eventually(self.driver, "the join has failed", lambda: self.read("joined"))
        self.assertEqual(self.read("relay.state"), "refused")
        self.assertEqual(self.read("joined"), "refused")
        self.assertIn("origins", self.read("relay.reason"))
        self.assertEqual([error["code"] for error in self.read("errors")], ["forbidden"])

    def test_a_client_behind_a_proxy_that_changes_host_reports_it(self):
        relay = Relay(self.folder, "--web", WEB).start()
        self.addCleanup(relay.kill)
        with HostChanger(relay.port) as origin:
            self.open_client(origin, origin)
            eventually(self.driver, "the reason is reported", lambda: self.read("errors"))
            (error,) = self.read("errors")
            self.assertEqual(error["code"], "handshake")
            self.assertRegex(error["message"], "Host.*origins")
            self.assertIn(self.read("relay.state"), ("waiting", "connecting"))


if __name__ == "__main__":
    unittest.main()
