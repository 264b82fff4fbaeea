# SPDX-License-Identifier: Apache-2.0
"""Tests phones with several accounts, notifications that are withdrawn, and phones that were off."""

import unittest

from page import PageTests
from served import call


class PhoneTests(PageTests):
    def screen(self, panel):
        """The lock screen as the gateway has it."""
        return call(self.page.origin, "GET", f"simulator/devices/{self.page.user(panel)}-phone", self.page.user(panel))

    def switch_off(self, panel, witness):
        panel.press("switch-off")
        self.eventually("the gateway cannot reach the phone", lambda: not self.screen(panel)["isReachable"])
        self.eventually(f"{witness.name} sees {panel.name} away", lambda: witness.sees_online() is False)

    def switch_on(self, panel):
        self.assertEqual(panel.texts("come-back"), ["Switch on"])
        panel.press("come-back")
        self.eventually(f"{panel.name}'s phone is on", lambda: panel.shows("notifications"))

    def cards(self, panel):
        """The account and the text of each notification, newest first."""
        return list(zip(panel.texts("account"), panel.notifications()))

    def test_a_phone_with_two_accounts_names_the_account_of_each_notification(self):
        self.page.add_carol()
        self.bob.open_settings()
        self.eventually("Bob knows Carol", lambda: self.bob.parts("account-carol"))
        self.bob.choose("account-carol")
        self.carol.press("go-away")
        self.send_away(self.bob, self.alice)
        self.alice.say("For both")
        self.eventually("one is under the other", lambda: self.bob.texts("unfold") == ["1 more from Alice"])
        self.bob.press("unfold")
        both = [("For Bob", "For both"), ("For Carol", "For both")]
        self.eventually("both are named", lambda: sorted(self.cards(self.bob)) == both)
        self.eventually("the badge is the sum", lambda: self.bob.texts("badge") == ["2"])
        self.assertEqual(self.cards(self.carol), [("", "For both")])
        self.page.picture("two-accounts")
        self.carol.press("come-back")
        self.eventually("Carol's is withdrawn", lambda: self.cards(self.bob) == both[:1])
        self.eventually("the badge is Bob's", lambda: self.bob.texts("badge") == ["1"])
        self.carol.press("go-away")
        self.alice.say("Again")
        again = {("For Bob", "Again"), ("For Carol", "Again")}
        self.eventually("it comes for both", lambda: again < set(self.cards(self.bob)))
        self.bob.choose("account-carol")
        self.eventually("Bob's are left", lambda: self.cards(self.bob) == [("", "Again"), ("", "For both")])

    def test_a_read_on_the_tablet_withdraws_the_notification(self):
        self.send_away(self.bob, self.alice)
        self.alice.say("Read it anywhere")
        self.wait_for_notifications(self.bob, "Read it anywhere")
        self.page.picture("before-the-read")
        self.bob.press("tablet-read")
        self.wait_for_notifications(self.bob)
        self.eventually("the badge is gone", lambda: self.bob.texts("badge") == [""])
        self.page.picture("after-the-read")

    def test_a_phone_that_was_off_shows_the_missed_call(self):
        self.switch_off(self.bob, self.alice)
        self.assertFalse(self.bob.shows("notifications"))
        self.alice.press("send-call")
        self.eventually("the tablet rings", lambda: self.bob.shows("tablet-accept"))
        self.alice.press("hang-up")
        self.eventually("the call is over", lambda: self.alice.texts("call-state") == ["You cancelled the call"])
        self.assertEqual(self.bob.parts("notification"), [])
        self.switch_on(self.bob)
        self.wait_for_notifications(self.bob, "Missed call")
        self.assertFalse(self.bob.shows("demo.call.accept"), "a call that is over can be accepted")
        self.page.picture("missed-call")
        self.assertFalse(self.bob.shows("accept-call"))
        self.bob.press("come-back")
        self.eventually("Bob is back", lambda: self.alice.sees_online() is True)

    def test_a_reload_switches_the_phone_on(self):
        self.switch_off(self.bob, self.alice)
        self.driver.refresh()
        self.page.wait_for_both()
        self.eventually("the gateway reaches the phone", lambda: self.screen(self.bob)["isReachable"])


if __name__ == "__main__":
    unittest.main()
