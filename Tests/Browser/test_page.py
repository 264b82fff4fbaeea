# SPDX-License-Identifier: Apache-2.0
"""Tests the demo page as visitors see and use it, in a real browser with a running relay."""

import unittest

from page import PageTests
from served import call

MARKUP = '<img src=x onerror="document.title=1"><b>hi</b>'


class ConversationTests(PageTests):
    def test_messages_arrive_and_are_read(self):
        self.alice.say("Good morning")
        self.wait_for_messages(self.bob, "Good morning")
        self.eventually("Alice sees that it is delivered", lambda: self.alice.texts("fate") == ["Delivered"])

    def test_nothing_is_missing_after_a_return(self):
        self.alice.say("Good morning")
        self.wait_for_messages(self.bob, "Good morning")
        self.send_away(self.bob, self.alice)
        self.alice.say("Are you there?")
        self.wait_for_notifications(self.bob, "Are you there?")
        self.assertFalse(self.bob.shows("silenced"), "silenced without a Focus")
        self.bob.press("come-back")
        self.wait_for_messages(self.bob, "Good morning", "Are you there?")
        # A duplicate would arrive before this message.
        self.alice.say("There you are")
        self.wait_for_messages(self.bob, "Good morning", "Are you there?", "There you are")
        self.wait_for_messages(self.alice, "Good morning", "Are you there?", "There you are")
        self.eventually("Alice sees Bob online", lambda: self.alice.sees_online() is True)
        self.eventually("the read messages are removed from the phone", lambda: not self.bob.notifications())

    def test_a_tapped_notification_opens_the_conversation(self):
        self.send_away(self.bob, self.alice)
        self.alice.say("Tap me")
        self.wait_for_notifications(self.bob, "Tap me")
        self.bob.press("notification-body")
        self.wait_for_messages(self.bob, "Tap me")
        self.eventually("the conversation is shown", lambda: self.bob.shows("chat"))
        self.eventually("the notification is gone", lambda: not self.bob.parts("notification"))

    def test_a_reply_quotes_its_message(self):
        self.alice.say("Tea or coffee?")
        self.wait_for_messages(self.bob, "Tea or coffee?")
        self.bob.press("reply")
        self.eventually("the composer names the message", lambda: self.bob.shows("replying"))
        self.bob.press("no-reply")
        self.eventually("the reply is cancelled", lambda: not self.bob.shows("replying"))
        self.bob.press("reply")
        self.bob.say("Tea")
        self.assertFalse(self.bob.shows("replying"), "the next message would be a reply, too")
        for panel in (self.alice, self.bob):
            self.wait_for_messages(panel, "Tea or coffee?", "Tea")
            self.eventually("the quote is shown", lambda: panel.texts("quote") == ["", "Alice: Tea or coffee?"])

    def test_typing_is_shown_until_the_message_arrives(self):
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
        self.eventually("the relay's view has the payload", lambda: MARKUP[:9] in "".join(self.page.end(2, self.bob, "payload")))
        self.page.press("wire-toggle")
        self.eventually("the frames are shown", lambda: self.page.find("wire-log").find_elements("css selector", "li"))
        made = self.driver.execute_script(
            "return document.querySelectorAll('img, .bubble > *, .card-body > *, .trace q > *, pre > *').length"
        )
        self.assertEqual(made, 0, "text became elements")
        self.assertEqual(self.driver.title, title, "text was run")

    def test_a_reload_keeps_the_conversation_and_the_focus(self):
        self.alice.say("Remember this")
        self.wait_for_messages(self.bob, "Remember this")
        self.bob.choose("mode-dnd")
        self.wait_for_focus()
        self.driver.refresh()
        self.page.wait_for_both()
        self.wait_for_messages(self.alice, "Remember this")
        self.wait_for_messages(self.bob, "Remember this")
        self.assertTrue(self.bob.is_chosen("mode-dnd"))
        self.eventually("Alice still sees the notice", lambda: self.alice.shows("focus-notice"))
        # The number of this report must be above those from before the reload.
        self.bob.choose("mode-off")
        self.eventually("the notice ends with the Focus", lambda: not self.alice.shows("focus-notice"))

    def test_invalid_stored_data_is_ignored(self):
        self.driver.execute_script(
            """
            for (const [key, value] of arguments[0]) sessionStorage.setItem(key, value)
            """,
            [
                [f"stillwire.{self.page.user(self.alice)}", "{oops"],
                [f"stillwire.{self.page.user(self.bob)}", '{"focus":{"mode":"x"}}'],
                ["stillwire.place", "A" * 300],
            ],
        )
        self.driver.refresh()
        self.page.wait_for_both()

    def test_visitors_have_separate_places(self):
        self.alice.say("Only here")
        self.wait_for_messages(self.bob, "Only here")
        place = self.driver.current_url
        other = self.open_page()
        self.assertNotEqual(self.driver.current_url, place)
        other.alice.say("Elsewhere")
        self.wait_for_messages(other.bob, "Elsewhere")

    def test_carol_makes_it_a_group(self):
        self.page.add_carol()
        self.bob.choose("mode-dnd")
        self.carol.choose("mode-dnd")
        self.eventually(
            "Alice sees both in the notice", lambda: "Bob and Carol have" in "".join(self.alice.texts("focus-notice"))
        )
        self.alice.say("All of you")
        self.wait_for_messages(self.bob, "All of you")
        self.wait_for_messages(self.carol, "All of you")
        self.driver.refresh()
        self.page.wait_for_both()
        self.wait_for_messages(self.carol, "All of you")


class DepartureTests(PageTests):
    """People who are idle, in the background, without an app or without a network."""

    def test_a_killed_app_gets_a_push_after_the_grace(self):
        self.bob.press("kill-app")
        self.alice.say("Did the line drop?")
        self.wait_for_messages(self.alice, "Did the line drop?")
        self.assertTrue(self.alice.sees_online(), "Bob is away before the grace is over")
        self.assertEqual(self.bob.parts("notification"), [], "a push arrived before the end of the grace")
        self.wait_for_notifications(self.bob, "Did the line drop?")
        self.eventually("Alice sees Bob away", lambda: self.alice.sees_online() is False)

    def test_without_a_network_messages_arrive_after_its_return(self):
        self.bob.press("lose-network")
        self.eventually("Bob's phone has no network", lambda: self.bob.shows("no-network"))
        self.alice.say("Are you in a tunnel?")
        self.eventually("the gateway has the push", lambda: "sent" in "".join(self.page.end(1, self.bob, "life")))
        self.assertEqual(self.bob.parts("notification"), [], "a push came without a network")
        self.bob.press("come-back")
        self.wait_for_messages(self.bob, "Are you in a tunnel?")

    def test_a_hidden_page_misses_no_removal(self):
        self.send_away(self.bob, self.alice)
        self.alice.say("Read it on the train")
        self.wait_for_notifications(self.bob, "Read it on the train")
        origin, user = self.page.origin, self.page.user(self.bob)
        room, own = f"demo.{self.page.place}", self.driver.current_window_handle
        screen = lambda: call(origin, "GET", f"simulator/devices/{user}-phone", user)  # noqa: E731
        self.driver.switch_to.new_window("tab")
        try:
            call(origin, "PUT", f"rooms/{room}/read", user, {"seq": 1})
            self.eventually("the gateway has removed it", lambda: screen()["notifications"] == [])
        finally:
            self.driver.close()
            self.driver.switch_to.window(own)
        self.wait_for_notifications(self.bob)
        self.eventually("the badge is gone", lambda: self.bob.texts("badge") == [""])

    def test_an_app_in_the_background_gets_a_push_immediately(self):
        self.bob.choose("activity-background")
        self.eventually("Alice sees it", lambda: "background" in self.alice.texts("peer-presence")[0])
        self.alice.say("Look here")
        self.wait_for_notifications(self.bob, "Look here")

    def test_a_push_waits_while_the_app_is_idle(self):
        self.bob.choose("activity-idle")
        self.eventually("Alice sees it", lambda: "idle" in self.alice.texts("peer-presence")[0])
        self.alice.say("Are you asleep?")
        self.wait_for_messages(self.bob, "Are you asleep?")
        self.eventually("it waits", lambda: "Wait" in "".join(self.page.end(1, self.bob, "outcome")))
        self.bob.choose("activity-active")
        self.eventually("Alice sees that it is delivered", lambda: self.alice.texts("fate") == ["Delivered"])


class FocusTests(PageTests):
    """The pushes that a Focus lets through, and the decisions of the relay."""

    def test_the_last_of_quick_changes_counts(self):
        self.driver.execute_script(
            """
            const { person } = document.querySelector('[data-testid=person-bob]')
            for (const mode of ['dnd', 'off', 'dnd', 'work', 'off']) person.setFocus({ mode })
            """
        )
        self.eventually("the relay has the last report", lambda: self.presence()["isFocused"] is False)
        self.assertFalse(self.alice.shows("focus-notice"))

    def presence(self):
        return self.driver.execute_async_script(
            "fetch(`v1/users/${arguments[0]}/presence`).then((reply) => reply.json()).then(arguments[1])",
            self.page.user(self.bob),
        )

    def test_a_focus_that_could_not_be_reported_is_reported_later(self):
        offline = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.driver.execute_cdp_cmd("Network.enable", {})
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
        self.bob.choose("mode-dnd")
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions", offline | {"offline": False})
        self.wait_for_focus()
        # Discards the browser's error about the failed call.
        self.page.console_errors()

    def quietly(self, text):
        self.alice.say(text)
        self.wait_for_notifications(self.bob, text)
        self.eventually("it was delivered quietly", lambda: self.bob.shows("silenced"))

    def why(self):
        return self.bob.texts("why")

    def work(self, *choices):
        self.bob.choose("mode-work")
        for choice in choices:
            self.bob.choose(choice)

    def test_a_focus_keeps_the_phone_quiet(self):
        self.bob.choose("mode-dnd")
        self.wait_for_focus()
        self.assertFalse(self.bob.shows("focus-notice"), "Bob sees a notice although Alice has no Focus")
        self.send_away(self.bob, self.alice)
        self.assertTrue(self.alice.shows("focus-notice"), "the notice ended with the connection")
        self.quietly("No hurry")
        self.assertEqual(self.why(), ["Silenced by Do Not Disturb"])
        self.assertEqual(self.bob.texts("badge"), ["1"])

    def test_notify_anyway_breaks_through(self):
        self.bob.choose("mode-dnd")
        self.wait_for_focus()
        self.send_away(self.bob, self.alice)
        self.assertFalse(self.alice.shows("notify-anyway"), "offered without a message")
        self.quietly("It is on fire")
        self.eventually("Alice may notify anyway", lambda: self.alice.shows("notify-anyway"))
        self.alice.press("notify-anyway")
        self.eventually("it lit up the screen", lambda: not self.bob.shows("silenced"))
        self.wait_for_notifications(self.bob, "It is on fire")
        self.assertEqual(self.why(), ["Notified anyway"])
        self.assertFalse(self.alice.shows("notify-anyway"), "offered twice")

    def test_an_allowed_person_breaks_through(self):
        self.work("allows-alice")
        self.wait_for_focus()
        self.send_away(self.bob, self.alice)
        self.alice.say("It is me")
        self.eventually("it lit up the screen", lambda: self.why() == ["Work allows Alice"])
        self.assertFalse(self.bob.shows("silenced"))

    def test_an_allowed_app_is_not_silenced_at_all(self):
        self.work()
        self.wait_for_focus()
        self.bob.choose("allows-app")
        self.eventually("the notice ends", lambda: not self.alice.shows("focus-notice"))
        self.send_away(self.bob, self.alice)
        self.alice.say("Through")
        self.eventually("it lit up the screen", lambda: self.why() == ["Work allows this app"])

    def test_a_filter_uses_the_label_of_the_conversation(self):
        self.work("allows-app", "filter-out")
        self.send_away(self.bob, self.alice)
        self.quietly("From home")
        self.assertEqual(self.why(), ["Filtered by Work"])
        self.assertIn('"filter-criteria": "home"', self.page.end(1, self.bob, "payload")[0])
        self.bob.choose("filter-in")
        self.alice.say("From work")
        self.eventually("it lit up the screen", lambda: "Work allows this app" in self.why())

    def test_a_time_sensitive_message_breaks_through(self):
        self.bob.choose("mode-dnd")
        self.wait_for_focus()
        self.send_away(self.bob, self.alice)
        self.alice.press("send-urgent")
        self.eventually("it lit up the screen", lambda: self.why() == ["Time sensitive"])

    def test_a_focus_that_is_not_shared_is_not_shown(self):
        self.bob.choose("mode-dnd")
        self.wait_for_focus()
        self.bob.open_settings()
        self.bob.choose("share-focus")
        self.eventually("Alice does not see the Focus", lambda: not self.alice.shows("focus-notice"))
        self.send_away(self.bob, self.alice)
        self.quietly("The phone knows all the same")

    def test_a_passive_notification_waits_for_the_summary(self):
        self.bob.open_settings()
        self.bob.choose("on-focus-passive")
        self.bob.choose("summary")
        self.bob.choose("mode-dnd")
        self.wait_for_focus()
        self.send_away(self.bob, self.alice)
        self.alice.say("Whenever you like")
        self.eventually("it waits for the summary", lambda: self.bob.shows("summary"))
        self.eventually("it is passive", lambda: "passive" in "".join(self.page.end(1, self.bob, "outcome")))
        self.assertEqual(self.why(), ["Passive"])
        self.bob.press("deliver-summary")
        self.eventually("it is delivered", lambda: self.bob.shows("silenced"))

    def test_held_messages_arrive_as_one_digest(self):
        self.bob.open_settings()
        self.bob.choose("on-focus-hold")
        self.bob.choose("mode-dnd")
        self.wait_for_focus()
        self.send_away(self.bob, self.alice)
        self.alice.say("One")
        self.alice.say("Two")
        self.eventually("both are held", lambda: self.held(1) and self.held(2))
        self.assertEqual(self.bob.notifications(), [], "a held push arrived at the phone")
        self.bob.choose("mode-off")
        self.wait_for_notifications(self.bob, "Alice: Two")
        self.eventually("one push announces both", lambda: self.page.end(1, self.bob, "life") == ["heldmerged"])

    def test_a_notification_of_a_shop_shows_no_person(self):
        self.bob.open_settings()
        self.send_away(self.bob, self.alice)
        self.bob.press("order")
        self.wait_for_notifications(self.bob, "Your Darjeeling is on its way")
        (card,) = self.bob.parts("notification")
        self.assertEqual((card.get_attribute("data-person-shown"), card.get_attribute("data-sound")), ("false", "true"))
        self.assertIn("Tea shop", card.text)
        self.bob.press("come-back")
        self.eventually("the opened app has removed it", lambda: not self.bob.parts("notification"))

    def test_without_the_extension_nobody_breaks_through(self):
        self.bob.open_settings()
        self.bob.choose("mode-work")
        self.bob.choose("allows-alice")
        self.bob.choose("extension")
        self.wait_for_focus()
        self.send_away(self.bob, self.alice)
        self.alice.say("It is me")
        self.wait_for_notifications(self.bob, "It is me")
        (card,) = self.bob.parts("notification")
        self.assertEqual((card.get_attribute("data-person-shown"), card.get_attribute("data-sound")), ("false", "false"))
        self.assertEqual(self.why(), ["Silenced by Work"])
        self.bob.choose("extension")
        self.alice.say("Still me")
        self.eventually("it breaks through", lambda: self.bob.notifications()[:1] == ["Still me"])
        self.assertIn("Work allows Alice", self.why())

    def held(self, seq):
        return "".join(self.page.end(seq, self.bob, "outcome")).startswith("Hold until")


class AnswerTests(PageTests):
    """Responses to notifications on the lock screen."""

    def setUp(self):
        super().setUp()
        self.send_away(self.bob, self.alice)

    def test_an_invitation_is_accepted(self):
        self.alice.press("send-invitation")
        self.wait_for_notifications(self.bob, "Dinner on Friday?")
        self.bob.press("demo.accept")
        self.eventually("Alice sees the response", lambda: self.alice.texts("response") == ["Bob accepted"])
        self.assertEqual(self.bob.notifications(), [], "the answered notification is still shown")
        self.assertEqual(self.bob.texts("badge"), [""])

    def test_an_invitation_is_declined(self):
        self.alice.press("send-invitation")
        self.wait_for_notifications(self.bob, "Dinner on Friday?")
        self.bob.press("demo.decline")
        self.eventually("Alice sees the response", lambda: self.alice.texts("response") == ["Bob declined"])

    def test_a_reply_becomes_a_message(self):
        self.alice.say("Tea?")
        self.wait_for_notifications(self.bob, "Tea?")
        self.bob.press("demo.reply")
        self.bob.part("reply-text").send_keys("In a")
        self.alice.say("Or coffee?")
        self.eventually("both notifications are shown", lambda: len(self.bob.notifications()) == 2)
        self.bob.part("reply-text").send_keys(" minute\n")
        self.wait_for_messages(self.alice, "Tea?", "Or coffee?", "In a minute")
        self.eventually("the relay's view has the reply", lambda: self.page.end(3, self.alice, "outcome"))
        self.assertTrue(self.bob.shows("lock-screen"), "the reply opened the app")

    def test_notifications_fold_into_stacks(self):
        for text in ["One", "Two", "Three"]:
            self.alice.say(text)
        self.wait_for_notifications(self.bob, "Three")
        self.assertEqual(self.bob.texts("unfold"), ["2 more from Alice"])
        self.bob.press("unfold")
        self.wait_for_notifications(self.bob, "Three", "Two", "One")
        self.assertEqual(self.bob.texts("badge"), ["3"])


#: Records each request of the page in `sentRequests`: the path, and the headers that authenticate it.
RECORD = """
window.sentRequests = []
const send = window.fetch
window.fetch = (url, options) => {
  const { Authorization: bearer, 'X-Stillwire-User': user } = options?.headers ?? {}
  window.sentRequests.push({ path: new URL(url).pathname, bearer, user })
  return send(url, options)
}
"""


class ExtensionTests(PageTests):
    """The requests of the phone's extensions, which have no token of the person."""

    def setUp(self):
        super().setUp()
        script = self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": RECORD})
        self.addCleanup(self.driver.execute_cdp_cmd, "Page.removeScriptToEvaluateOnNewDocument", script)
        self.driver.refresh()
        self.page.wait_for_both()

    def requests(self, end):
        sent = self.driver.execute_script("return window.sentRequests")
        return [request for request in sent if request["path"].endswith(end)]

    def test_the_extensions_report_with_the_key_of_the_phone(self):
        self.bob.choose("mode-work")
        self.bob.choose("filter-in")
        self.eventually("the filter is reported", lambda: self.requests("/filter"))
        self.wait_for_focus()
        self.bob.choose("mode-off")
        self.eventually("the notice ends with the Focus", lambda: not self.alice.shows("focus-notice"))
        self.send_away(self.bob, self.alice)
        self.alice.press("send-invitation")
        self.wait_for_notifications(self.bob, "Dinner on Friday?")
        self.bob.press("demo.accept")
        self.eventually("Alice sees the response", lambda: self.alice.texts("response") == ["Bob accepted"])
        for end in ("/focus", "/filter", "/responses"):
            requests = self.requests(end)
            self.assertTrue(requests, end)
            for request in requests:
                self.assertRegex(request.get("bearer") or "", r"^Bearer swr_[\w-]{43}$", end)
                self.assertIsNone(request.get("user"), end)
        # The app itself has the name of the person.
        for request in self.requests("/preferences"):
            self.assertIn(request["user"], [self.page.user(panel) for panel in (self.alice, self.bob)])


if __name__ == "__main__":
    unittest.main()
