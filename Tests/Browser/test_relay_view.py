# SPDX-License-Identifier: Apache-2.0
"""Tests the view of the relay's decisions. It must show the running relay, also if another client changes something."""

import json
import unittest

from page import PageTests
from served import call


class RelayViewTests(PageTests):
    def of(self, seq, testid):
        return "".join(self.page.end(seq, self.bob, testid))

    def put(self, path, body):
        """Changes data of Bob without the page."""
        return call(self.page.origin, "PUT", path, self.page.user(self.bob), body)

    def test_a_wait_that_ends_in_a_push_shows_its_rules(self):
        self.bob.press("kill-app")
        self.alice.say("Hello?")
        self.eventually("it waits", lambda: self.of(1, "outcome").startswith("Wait until"))
        self.assertIn("within_grace", self.of(1, "reasons"))
        self.eventually("it is pushed", lambda: self.of(1, "outcome").endswith("Push"))
        self.assertIn("nothing_against", self.of(1, "reasons"))
        self.eventually("the job is sent", lambda: "sent" in self.of(1, "life"))

    def test_a_read_message_is_not_pushed(self):
        self.alice.say("You are here")
        self.wait_for_messages(self.bob, "You are here")
        self.eventually("the decision is shown", lambda: "not_received_yet" in self.of(1, "reasons"))
        self.eventually("it arrived", lambda: "An app has it" in self.of(1, "summary"))
        self.assertEqual(self.of(1, "life"), "")

    def test_the_view_shows_the_gateways_payload(self):
        self.send_away(self.bob, self.alice)
        self.alice.press("send-urgent")
        self.eventually("the payload is shown", lambda: self.of(1, "payload"))
        payload = json.loads(self.of(1, "payload"))
        self.assertEqual(payload["aps"]["interruption-level"], "time-sensitive")
        self.assertEqual(payload["communication"]["sender"]["name"], "Alice")
        self.eventually("the linter's result is shown", lambda: "nothing to object to" in self.of(1, "linter"))

    def test_a_job_is_retried_while_the_gateway_is_down(self):
        self.send_away(self.bob, self.alice)
        self.page.press("gateway-down")
        self.alice.say("Is the line open?")
        self.eventually("the job is retrying", lambda: "retrying" in self.of(1, "life"))
        self.eventually("a second attempt has failed", lambda: "2 × ConnectFailed" in self.of(1, "life"))
        self.page.picture("gateway-down")
        self.assertEqual(self.bob.notifications(), [], "a stopped gateway delivered a push")
        self.page.press("gateway-down")
        self.wait_for_notifications(self.bob, "Is the line open?")
        self.eventually("the job is sent", lambda: "sent" in self.of(1, "life"))

    def test_a_stopped_gateway_delivers_to_no_new_phone(self):
        self.page.press("gateway-down")
        self.page.add_carol()
        self.send_away(self.carol, self.bob)
        self.alice.say("Carol?")
        self.eventually("it is retrying", lambda: "retrying" in "".join(self.page.end(1, self.carol, "life")))
        self.assertEqual(self.carol.notifications(), [])

    def test_each_message_has_its_own_trace(self):
        self.alice.say("You see this")
        self.eventually("it arrived", lambda: "An app has it" in self.of(1, "summary"))
        self.send_away(self.bob, self.alice)
        self.alice.say("But not this")
        self.eventually("it arrived as well", lambda: "phone says" in self.of(2, "summary"))
        self.assertIn("An app has it", self.of(1, "summary"))

    def test_a_preference_from_another_client_changes_the_next_decision(self):
        self.bob.choose("mode-dnd")
        self.wait_for_focus()
        self.send_away(self.bob, self.alice)
        self.alice.say("First")
        self.eventually("it is pushed", lambda: self.of(1, "outcome") == "Push")
        self.put(f"users/{self.page.user(self.bob)}/preferences", {"onFocus": "hold"})
        self.alice.say("Second")
        self.eventually("it is held", lambda: self.of(2, "outcome").startswith("Hold until"))
        self.wait_for_notifications(self.bob, "First")
        self.bob.open_settings()
        self.eventually("Bob's settings show it", lambda: self.bob.is_chosen("on-focus-hold"))

    def test_the_frames_are_shown_on_demand(self):
        self.alice.say("On the wire")
        self.wait_for_messages(self.bob, "On the wire")
        self.bob.choose("mode-dnd")
        self.page.press("wire-toggle")
        for person, kind, name in [
            ("alice", "sent", "hello"),
            ("alice", "sent", "send"),
            ("bob", "received", "message"),
            ("bob", "http", "200"),
        ]:
            row = f'[data-person="{person}"][data-kind="{kind}"][data-type="{name}"]'
            self.eventually(
                f"the log has {row}",
                lambda: self.driver.find_elements("css selector", f"[data-testid=wire-log] {row}"),
            )


if __name__ == "__main__":
    unittest.main()
