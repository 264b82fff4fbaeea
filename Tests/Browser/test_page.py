# SPDX-License-Identifier: Apache-2.0
"""What a visitor of the demo page sees, played in a real browser against a running relay."""

import unittest

from page import Page, start_browser
from served import Served

# Shorter than the relay's grace of 10 s: who is away this soon has left cleanly.
AT_ONCE = 7
MARKUP = '<img src=x onerror="document.title=1"><b>hi</b>'


class PageTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.relay = Served()
        cls.addClassCleanup(cls.relay.stop)
        cls.driver = start_browser()
        cls.addClassCleanup(cls.driver.quit)

    def setUp(self):
        self.page = self.open_page()
        self.alice, self.bob = self.page.alice, self.page.bob
        self.eventually = self.page.eventually

    def open_page(self):
        page = Page(self.driver, self.relay.url)
        self.addCleanup(page.close)
        return page

    def tearDown(self):
        self.assertEqual(self.page.console_errors(), [], "the console shows errors")

    def wait_for_messages(self, panel, *texts):
        self.eventually(f"{panel.name} has the messages {texts}", lambda: panel.texts("message-text") == list(texts))

    def wait_for_notifications(self, panel, *texts):
        self.eventually(
            f"{panel.name}'s phone shows {texts}", lambda: panel.texts("notification-body") == list(texts)
        )

    def send_away(self, panel, witness):
        panel.press("go-away")
        self.eventually(
            f"{witness.name} sees {panel.name} away", lambda: witness.sees_online() is False, AT_ONCE
        )
        self.eventually(f"{panel.name}'s phone is locked", lambda: panel.shows("lock-screen"))

    def test_the_story(self):
        self.page.picture("1-both-connected")
        self.alice.say("Good morning")
        self.wait_for_messages(self.bob, "Good morning")

        self.bob.press("focus-switch")
        self.eventually("Alice learns of Bob's Focus", lambda: self.alice.shows("focus-notice"))
        self.assertIn("Bob has notifications silenced", self.alice.texts("focus-notice")[0])
        self.assertFalse(self.bob.shows("focus-notice"), "Bob is told of a Focus that Alice does not have")
        self.page.picture("2-bob-focused")

        self.bob.press("focus-switch")
        self.eventually("the notice goes with the Focus", lambda: not self.alice.shows("focus-notice"))

        self.send_away(self.bob, self.alice)
        self.alice.say("Are you there?")
        self.wait_for_notifications(self.bob, "Are you there?")
        self.assertFalse(self.bob.shows("silenced"), "silenced without a Focus")
        self.page.picture("3-on-the-lock-screen")

        self.bob.press("come-back")
        self.wait_for_messages(self.bob, "Good morning", "Are you there?")
        # A second copy of the first would have come before this one.
        self.alice.say("There you are")
        self.wait_for_messages(self.bob, "Good morning", "Are you there?", "There you are")
        self.wait_for_messages(self.alice, "Good morning", "Are you there?", "There you are")
        self.eventually("Alice sees Bob online", lambda: self.alice.sees_online() is True)
        self.assertEqual(self.bob.parts("notification"), [], "what was read is still on the phone")
        self.page.picture("4-bob-is-back")

    def test_a_tapped_notification_opens_the_conversation(self):
        self.send_away(self.bob, self.alice)
        self.alice.say("Tap me")
        self.wait_for_notifications(self.bob, "Tap me")
        self.bob.press("notification")
        self.wait_for_messages(self.bob, "Tap me")
        self.eventually("the conversation is shown", lambda: self.bob.shows("chat"))
        self.eventually("the notification is gone", lambda: not self.bob.parts("notification"))

    def test_a_focus_keeps_the_phone_quiet(self):
        self.bob.press("focus-switch")
        self.eventually("Alice learns of Bob's Focus", lambda: self.alice.shows("focus-notice"))
        self.send_away(self.bob, self.alice)
        self.assertTrue(self.alice.shows("focus-notice"), "the notice went with the connection")
        self.alice.say("No hurry")
        self.wait_for_notifications(self.bob, "No hurry")
        self.assertTrue(self.bob.shows("silenced"))
        self.page.picture("5-delivered-quietly")

    def test_notify_anyway_breaks_through(self):
        self.bob.press("focus-switch")
        self.eventually("Alice learns of Bob's Focus", lambda: self.alice.shows("focus-notice"))
        self.send_away(self.bob, self.alice)
        self.assertFalse(self.alice.shows("notify-anyway"), "offered for no message")
        self.alice.say("It is on fire")
        self.eventually("it was delivered quietly", lambda: self.bob.shows("silenced"))
        self.eventually("Alice may notify anyway", lambda: self.alice.shows("notify-anyway"))
        self.alice.press("notify-anyway")
        self.eventually("it lit up the screen", lambda: not self.bob.shows("silenced"))
        self.wait_for_notifications(self.bob, "It is on fire")
        self.assertFalse(self.alice.shows("notify-anyway"), "offered twice")
        self.eventually("Alice knows", lambda: self.alice.texts("fate") == ["Pushed to the phone"])

    def test_a_lost_connection_is_not_a_goodbye(self):
        self.bob.press("lose-connection")
        self.alice.say("Did the line drop?")
        self.wait_for_messages(self.alice, "Did the line drop?")
        self.assertTrue(self.alice.sees_online(), "Bob is away before the grace is over")
        self.assertEqual(self.bob.parts("notification"), [], "the phone was told before the grace was over")
        self.wait_for_notifications(self.bob, "Did the line drop?")
        self.eventually("Alice sees Bob away", lambda: self.alice.sees_online() is False)

    def test_typing_is_shown_until_the_message_comes(self):
        self.bob.type("Hm")
        self.eventually("Alice sees Bob typing", lambda: self.alice.shows("typing"))
        self.bob.say("m")
        self.wait_for_messages(self.alice, "Hmm")
        self.eventually("typing has ended", lambda: not self.alice.shows("typing"))

    def test_text_of_others_stays_text(self):
        title = self.driver.title
        self.alice.say(MARKUP)
        self.wait_for_messages(self.bob, MARKUP)
        self.send_away(self.bob, self.alice)
        self.alice.say(MARKUP)
        self.wait_for_notifications(self.bob, MARKUP)
        made = self.driver.execute_script(
            "return document.querySelectorAll('img, .bubble > *, .card-body > *, .entries pre > *').length"
        )
        self.assertEqual(made, 0, "text became elements")
        self.assertEqual(self.driver.title, title, "text was run")

    def test_a_reload_keeps_the_conversation_and_the_focus(self):
        self.alice.say("Remember this")
        self.wait_for_messages(self.bob, "Remember this")
        self.bob.press("focus-switch")
        self.eventually("Alice learns of Bob's Focus", lambda: self.alice.shows("focus-notice"))
        self.driver.refresh()
        self.page.wait_for_both()
        self.wait_for_messages(self.alice, "Remember this")
        self.wait_for_messages(self.bob, "Remember this")
        self.eventually("Bob's switch is on", self.bob.has_switched_focus_on)
        self.eventually("Alice still knows", lambda: self.alice.shows("focus-notice"))
        # The number of this report must be above those from before the reload.
        self.bob.press("focus-switch")
        self.eventually("the notice goes with the Focus", lambda: not self.alice.shows("focus-notice"))

    def test_visitors_do_not_meet(self):
        self.alice.say("Only here")
        self.wait_for_messages(self.bob, "Only here")
        place = self.driver.current_url
        other = self.open_page()
        self.assertNotEqual(self.driver.current_url, place)
        other.alice.say("Elsewhere")
        self.wait_for_messages(other.bob, "Elsewhere")

    def test_the_wire_log_shows_both_directions(self):
        self.alice.say("On the wire")
        self.wait_for_messages(self.bob, "On the wire")
        self.bob.press("focus-switch")
        for person, kind, name in [
            ("alice", "sent", "hello"),
            ("alice", "sent", "send"),
            ("bob", "heard", "message"),
            ("bob", "http", "200"),
        ]:
            row = f'[data-person="{person}"][data-kind="{kind}"][data-type="{name}"]'
            self.eventually(
                f"the log has {row}",
                lambda: self.driver.find_elements("css selector", f"[data-testid=wire-log] {row}"),
            )


if __name__ == "__main__":
    unittest.main()
