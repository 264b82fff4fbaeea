# SPDX-License-Identifier: Apache-2.0
"""The JavaScript client in a page that is hidden, frozen and put into the back-forward cache."""

import unittest

from page import BrowserTests, eventually
from served import call

START = """
const done = arguments[1]
import(new URL('/client/stillwire.js', location)).then(({ Stillwire }) => {
  const url = new URL('/v1/connect', location)
  url.protocol = 'ws'
  const relay = new Stillwire(url, { hello: { user: arguments[0] } })
  window.relay = relay
  window.states = []
  window.seen = []
  relay.addEventListener('state', ({ detail }) => states.push(detail.state))
  addEventListener('pageshow', ({ persisted }) => states.push(persisted ? 'persisted' : 'shown'))
  const room = relay.room(`room-${arguments[0]}`)
  room.addEventListener('message', ({ detail }) => seen.push(detail.body))
  relay.connect()
  return room.join()
}).then(() => done(null), (error) => done(String(error)))
"""


REPORT = """
const done = arguments[2]
import(new URL('/client/stillwire.js', location)).then(async ({ Reporter }) => {
  const reporter = new Reporter(location.origin, arguments[0])
  const focus = await reporter.focus(true)
  const filter = await reporter.filter({ active: true, allow: ['work'] })
  await reporter.received(arguments[1])
  await reporter.respond(arguments[1], { action: 'com.apple.UNNotificationDefaultActionIdentifier' })
  const refused = await new Reporter(location.origin, `swr_${'A'.repeat(43)}`).focus(true).catch(({ code }) => code)
  return [focus.applied, filter.applied, refused]
}).then(done, (error) => done(String(error)))
"""


class ClientTests(BrowserTests):
    def start(self, user):
        """Starts a client of this user in a new tab, in a document without its own scripts."""
        self.user = user
        self.driver.switch_to.new_window("tab")
        self.driver.get(f"{self.relay.url}/page/place.js")
        self.assertIsNone(self.driver.execute_async_script(START, user))

    def say(self, text):
        call(self.relay.url, "POST", f"rooms/room-{self.user}/messages", "bob", {"body": text, "from": "bob"})

    def activity(self):
        return call(self.relay.url, "GET", f"users/{self.user}/presence", "bob").get("activity")

    def value(self, name):
        return self.driver.execute_script(f"return window.{name}")

    def wait_for(self, what, condition):
        eventually(self.driver, what, condition)

    def test_a_hidden_page_is_in_the_background(self):
        self.start("hidden")
        self.assertEqual(self.activity(), "active")
        page = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        self.wait_for("the relay knows that the page is hidden", lambda: self.activity() == "background")
        self.driver.close()
        self.driver.switch_to.window(page)
        self.wait_for("the relay knows that the page is shown", lambda: self.activity() == "active")

    def test_a_frozen_page_misses_nothing(self):
        self.start("frozen")
        self.say("before")
        self.wait_for("the first message is shown", lambda: self.value("seen") == ["before"])
        self.driver.execute_cdp_cmd("Page.setWebLifecycleState", {"state": "frozen"})
        self.wait_for("the page's session has ended", lambda: self.value("states")[-1] == "waiting")
        self.say("meanwhile")
        self.driver.execute_cdp_cmd("Page.setWebLifecycleState", {"state": "active"})
        self.wait_for("the client has reconnected", lambda: self.value("states")[-1] == "open")
        self.say("after")
        self.wait_for("all messages are shown", lambda: self.value("seen") == ["before", "meanwhile", "after"])

    def test_a_page_continues_after_the_back_forward_cache(self):
        self.start("cached")
        self.say("before")
        self.wait_for("the first message is shown", lambda: self.value("seen") == ["before"])
        self.driver.get(f"{self.relay.url}/page/clock.js")
        self.say("meanwhile")
        self.driver.back()
        self.wait_for("the page is restored from the cache", lambda: "persisted" in (self.value("states") or []))
        self.wait_for("the missed message is shown", lambda: self.value("seen") == ["before", "meanwhile"])

    def test_a_reporter_needs_only_the_report_key(self):
        phone = {"platform": "simulator", "token": "reporter-phone"}
        key = call(self.relay.url, "PUT", "users/reporter/devices/phone", "reporter", phone)["reportKey"]
        body = {"from": "shop", "push": {"body": "Your tea"}}
        (device,) = call(self.relay.url, "POST", "users/reporter/notifications", "shop", body)["devices"]
        self.driver.switch_to.new_window("tab")
        self.driver.get(f"{self.relay.url}/page/place.js")
        self.wait_for("the push has arrived", lambda: self.arrived("reporter-phone"))
        result = self.driver.execute_async_script(REPORT, key, device["push"])
        self.assertEqual(result, [True, True, "unauthorized"])
        presence = call(self.relay.url, "GET", "users/reporter/presence", "bob")
        self.assertIs(presence["isFocused"], True)

    def arrived(self, token):
        return call(self.relay.url, "GET", f"simulator/devices/{token}", "bob")["notifications"]


if __name__ == "__main__":
    unittest.main()
