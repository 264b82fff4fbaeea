# SPDX-License-Identifier: Apache-2.0
"""Tests calls: they ring on two devices of Bob, and each device shows how a call ends."""

import unittest

from page import PageTests
from selenium.webdriver.common.keys import Keys
from served import call


class CallTests(PageTests):
    def ring(self):
        self.alice.press("send-call")
        self.wait_for_ringing()

    def wait_for_ringing(self):
        self.eventually("the phone rings", lambda: self.bob.shows("accept-call"))
        self.eventually("the tablet rings", lambda: self.bob.shows("tablet-accept"))

    def wait_for_state(self, panel, text, part="call-state"):
        self.eventually(f"{panel.name} sees “{text}”", lambda: panel.shows(part) and panel.texts(part) == [text])

    def wait_for_line(self, text):
        self.alice.press("call-done")
        self.eventually("the conversation has it", lambda: self.alice.texts("call-line") == [text])

    def test_a_call_rings_on_both_devices_and_is_answered_on_one(self):
        self.assertTrue(self.bob.shows("tablet-idle"))
        self.ring()
        self.assertEqual(self.alice.texts("call-state"), ["Calling…"])
        self.assertEqual(self.bob.texts("call-state"), ["Incoming call"])
        self.page.picture("call-rings")
        self.bob.press("tablet-accept")
        self.wait_for_state(self.bob, "Answered elsewhere, on Bob’s tablet")
        self.assertFalse(self.bob.shows("accept-call"), "the phone still rings")
        self.wait_for_state(self.bob, "In the call", "tablet-state")
        self.wait_for_state(self.alice, "Bob answered, on the tablet")
        self.page.picture("call-answered-elsewhere")
        self.bob.press("call-done")
        self.eventually("the phone shows the room again", lambda: self.bob.shows("chat"))
        self.bob.press("tablet-hang-up")
        self.wait_for_state(self.alice, "Bob hung up")
        self.wait_for_state(self.bob, "You hung up", "tablet-state")
        self.bob.press("tablet-done")
        self.eventually("the tablet sleeps again", lambda: "Asleep" in "".join(self.bob.texts("tablet-idle")))
        self.wait_for_line("Ended · answered by Bob, on the tablet")

    def test_an_answer_on_the_phone_ends_the_ringing_of_the_tablet(self):
        self.ring()
        self.bob.press("accept-call")
        self.wait_for_state(self.bob, "Answered elsewhere, on Bob’s phone", "tablet-state")
        self.assertFalse(self.bob.shows("tablet-accept"), "the tablet still rings")
        self.wait_for_state(self.bob, "In the call")
        self.wait_for_state(self.alice, "Bob answered, on the phone")
        self.alice.press("hang-up")
        self.wait_for_state(self.bob, "Alice hung up")
        self.wait_for_line("Ended · answered by Bob, on the phone")

    def test_a_decline_ends_the_ringing_everywhere(self):
        self.ring()
        self.bob.press("decline-call")
        self.wait_for_state(self.bob, "You declined")
        self.wait_for_state(self.bob, "Declined elsewhere, on Bob’s phone", "tablet-state")
        self.wait_for_state(self.alice, "Bob declined")
        self.wait_for_line("Declined")

    def test_a_cancelled_call_is_a_missed_call(self):
        self.ring()
        self.alice.press("hang-up")
        self.wait_for_state(self.alice, "You cancelled the call")
        self.wait_for_state(self.bob, "Missed call: Alice hung up")
        self.wait_for_state(self.bob, "Missed call: Alice hung up", "tablet-state")
        self.wait_for_line("Cancelled before an answer")

    def ring_briefly(self):
        """Rings for 3 s. The page itself rings for the default time of 45 s."""
        body = {"push": {"expires": 3, "category": "demo.call"}, "body": {"text": "Call"}}
        call(self.page.origin, "POST", f"rooms/demo.{self.page.place}/calls", self.page.user(self.alice), body)

    def test_a_call_that_nobody_answers_is_missed(self):
        self.ring_briefly()
        self.wait_for_state(self.bob, "Missed call from Alice")
        self.wait_for_state(self.bob, "Missed call from Alice", "tablet-state")
        self.wait_for_state(self.alice, "Nobody answered")
        self.wait_for_line("Missed")

    def test_a_locked_phone_shows_a_missed_call_as_a_notification(self):
        self.send_away(self.bob, self.alice)
        self.ring_briefly()
        self.wait_for_notifications(self.bob, "Missed call")
        self.assertFalse(self.bob.shows("call"))
        self.wait_for_state(self.alice, "Nobody answered")

    def test_a_locked_phone_answers_without_a_session(self):
        self.send_away(self.bob, self.alice)
        self.ring()
        self.bob.press("accept-call")
        self.wait_for_state(self.alice, "Bob answered, on the phone")
        self.wait_for_state(self.bob, "In the call")
        self.wait_for_state(self.bob, "Answered elsewhere, on Bob’s phone", "tablet-state")
        self.eventually("the app is open", lambda: self.alice.texts("peer-presence") == ["online"])
        self.bob.press("hang-up")
        self.wait_for_state(self.alice, "Bob hung up")

    def test_a_locked_phone_rings_on_a_computer_whose_clock_is_ahead(self):
        source = "const now = Date.now; Date.now = () => now() + 3_600_000"
        script = self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source})
        self.addCleanup(self.driver.execute_cdp_cmd, "Page.removeScriptToEvaluateOnNewDocument", script)
        self.driver.refresh()
        self.page.wait_for_both()
        self.send_away(self.bob, self.alice)
        self.ring()

    def test_a_locked_phone_declines_without_a_session(self):
        self.send_away(self.bob, self.alice)
        self.ring()
        self.bob.press("decline-call")
        self.wait_for_state(self.alice, "Bob declined")
        self.wait_for_state(self.bob, "Declined elsewhere, on Bob’s phone", "tablet-state")
        self.eventually("the phone shows its lock screen", lambda: self.bob.shows("lock-screen"))

    def test_a_locked_phone_shows_a_call_that_was_answered_elsewhere(self):
        self.send_away(self.bob, self.alice)
        self.ring()
        self.bob.press("tablet-accept")
        self.wait_for_notifications(self.bob, "Answered on another device")
        self.assertFalse(self.bob.shows("call"))
        self.wait_for_state(self.alice, "Bob answered, on the tablet")

    def test_a_call_rings_in_the_list_of_rooms(self):
        """The session has joined no room."""
        self.bob.press("back")
        self.ring()
        self.bob.press("decline-call")
        self.wait_for_state(self.alice, "Bob declined")
        self.bob.press("call-done")
        self.eventually("the list is shown again", lambda: self.bob.shows("inbox"))

    def test_a_session_that_returns_reads_the_end_of_its_call(self):
        self.ring()
        self.bob.press("accept-call")
        self.wait_for_state(self.alice, "Bob answered, on the phone")
        self.driver.execute_script("document.querySelector('[data-testid=person-bob]').person.leave('killed')")
        self.alice.press("hang-up")
        self.wait_for_state(self.alice, "You hung up")
        self.driver.execute_script("document.querySelector('[data-testid=person-bob]').person.comeBack()")
        self.wait_for_state(self.bob, "Call ended")

    def test_a_focus_keeps_a_call_from_ringing(self):
        self.bob.choose("mode-dnd")
        self.wait_for_focus()
        self.send_away(self.bob, self.alice)
        self.alice.press("send-call")
        self.wait_for_notifications(self.bob, "Call")
        self.assertFalse(self.bob.shows("call"), "the call rings in spite of the Focus")
        self.assertFalse(self.bob.shows("tablet-accept"), "the tablet rings in spite of the Focus")
        self.assertTrue(self.bob.shows("silenced"))
        self.bob.press("demo.call.accept")
        self.wait_for_state(self.alice, "Bob answered, on the phone")
        self.wait_for_state(self.bob, "In the call")

    def test_a_call_to_a_group_rings_until_each_member_has_answered(self):
        self.page.add_carol()
        self.ring()
        self.eventually("Carol's phone rings", lambda: self.carol.shows("accept-call"))
        self.bob.press("accept-call")
        self.wait_for_state(self.alice, "Bob answered, on the phone")
        self.assertTrue(self.carol.shows("accept-call"), "the answer of Bob ended Carol's ringing")
        self.carol.press("decline-call")
        self.wait_for_state(self.carol, "You declined")
        self.wait_for_state(self.bob, "In the call")

    def test_the_keyboard_answers_and_ends_a_call(self):
        def focused():
            script = "return document.activeElement.dataset.part ?? document.activeElement.tagName"
            return self.driver.execute_script(script)

        self.alice.part("send-call").send_keys(Keys.ENTER)
        self.eventually("the caller can hang up", lambda: focused() == "hang-up")
        self.wait_for_ringing()
        self.assertEqual(self.bob.part("call").get_attribute("aria-label"), "Call on Bob’s phone")
        self.assertEqual(self.bob.part("tablet").get_attribute("aria-label"), "Bob’s tablet")
        self.assertEqual(self.bob.part("call-state").get_attribute("role"), "status")
        self.bob.part("tablet-accept").send_keys(Keys.ENTER)
        self.eventually("the tablet can hang up", lambda: focused() == "tablet-hang-up")
        self.bob.part("tablet-hang-up").send_keys(Keys.ENTER)
        self.eventually("the tablet can be closed", lambda: focused() == "tablet-done")
        self.bob.part("tablet-done").send_keys(Keys.ENTER)
        self.bob.part("call-done").send_keys(Keys.ENTER)
        self.eventually("the composer has the keyboard focus", lambda: focused() == "text")


if __name__ == "__main__":
    unittest.main()
