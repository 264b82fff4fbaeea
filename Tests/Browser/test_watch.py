# SPDX-License-Identifier: Apache-2.0
"""Tests the room watcher with a room of a real relay, in open mode and with a token."""

import tempfile
import unittest
from pathlib import Path

from page import BrowserTests, console_errors, eventually, picture
from relay import Relay, run
from served import WEB, call
from tokens import secret_file


class WatchTests(BrowserTests):
    def setUp(self):
        self.driver.switch_to.new_window("tab")

    def watch(self, url, room, **fields):
        self.driver.get(f"{url}/watch/#{room}")
        for name, value in fields.items():
            self.find(f"watch-{name}").clear()
            self.find(f"watch-{name}").send_keys(value)
        self.find("watch-start").click()

    def find(self, testid):
        return self.driver.find_element("css selector", f"[data-testid={testid}]")

    def wait_for(self, what, testid, text):
        eventually(self.driver, what, lambda: text in self.find(testid).text)

    def test_a_room_in_open_mode(self):
        self.watch(self.relay.url, "lounge", user="eve")
        self.wait_for("it is connected", "watch-state", "Connected")
        self.wait_for("the list has eve", "watch-people", "eve")
        call(self.relay.url, "POST", "rooms/lounge/messages", "ann", {"body": {"text": "<b>Hello</b>"}})
        self.wait_for("the message is shown", "watch-events", '{"text":"<b>Hello</b>"}')
        self.find("watch-body").send_keys("Hello to you\n")
        self.wait_for("the own message is shown", "watch-events", "Hello to you")
        picture(self.driver, "watch")
        self.find("watch-stop").click()
        self.wait_for("the watcher is disconnected", "watch-state", "Not connected")
        self.assertEqual(console_errors(self.driver), [])

    def test_a_token_opens_a_closed_relay(self):
        with tempfile.TemporaryDirectory(prefix="stillwire-") as folder:
            secret = secret_file(Path(folder))
            relay = Relay(Path(folder), "--web", WEB, secret=secret).start()
            try:
                rights = "team=join,send,history,presence,create"
                made = run("token", "--secret-file", secret, "--user", "ann", "--room", rights)
                self.assertEqual(made.returncode, 0, made.stderr)
                token = made.stdout.strip()
                self.driver.get(relay.origin)
                eventually(self.driver, "the page shows the reason", lambda: self.find("needs-token").is_displayed())
                self.assertFalse(self.find("story").is_displayed())
                self.watch(relay.origin, "team", token="no token")
                self.wait_for("it is refused", "watch-state", "Refused")
                self.wait_for("the client's reason is shown", "watch-state", "it has no three parts")
                self.watch(relay.origin, "team", token=token)
                self.wait_for("it is connected", "watch-state", "Connected")
                self.wait_for("the list has ann", "watch-people", "ann")
                self.assertNotIn(token, self.driver.current_url)
                self.assertNotIn(token, self.find("watch-frames").get_property("textContent"))
            finally:
                relay.stop()


if __name__ == "__main__":
    unittest.main()
