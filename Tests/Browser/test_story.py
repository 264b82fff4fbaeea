# SPDX-License-Identifier: Apache-2.0
"""Tests the guided story: step by step, automatically, and from a link to one of its steps."""

import unittest

from page import BrowserTests, PageTests


class StoryTests(PageTests):
    def next_step(self):
        step = self.page.story_step() + 1
        next_button = self.page.find("next")
        self.eventually("it can be played", lambda: next_button.get_attribute("aria-disabled") == "false")
        self.page.press("next")
        self.eventually(f"step {step} is done", lambda: self.page.story_step() == step)
        self.page.picture(f"story-{step}")

    def test_every_step_shows_its_event(self):
        self.page.picture("story-0")
        self.next_step()
        self.assertIn("Bob has notifications silenced", self.alice.texts("focus-notice")[0])
        self.assertTrue(self.bob.is_chosen("mode-dnd"))

        self.next_step()
        self.assertTrue(self.bob.shows("lock-screen"))
        self.assertIs(self.alice.sees_online(), False)

        self.next_step()
        self.assertEqual(self.bob.notifications(), ["Tea at five?"])
        self.assertTrue(self.bob.shows("silenced"))
        self.assertTrue(self.alice.shows("notify-anyway"))
        self.eventually("the linter's result is shown", lambda: "nothing to object" in "".join(self.of(1, "linter")))
        self.assertIn("nothing_against", self.of(1, "reasons")[0])
        self.eventually("the job's life is shown", lambda: "sent" in "".join(self.of(1, "life")))

        self.next_step()
        self.assertEqual(self.bob.notifications(), ["Tea at five?"])
        self.assertFalse(self.bob.shows("silenced"), "the notification did not light up the screen")

        self.next_step()
        self.assertEqual(self.bob.texts("notification-body")[0], "Alice: And the good biscuits")
        self.eventually("one push announces both", lambda: self.of(2, "life") == ["heldmerged"])
        self.assertEqual(self.of(2, "outcome")[0][:4], "Hold")

        self.next_step()
        self.assertEqual(self.alice.texts("response"), ["Bob accepted"])
        self.assertTrue(self.bob.shows("chat"))
        texts = ["Tea at five?", "I have the blue pot", "And the good biscuits", "Bring Carol, too?"]
        self.wait_for_messages(self.bob, *texts)
        self.assertEqual(self.alice.texts("message-text"), texts)
        self.assertEqual(self.page.find("next").text, "Start over")

        place = self.page.place
        self.page.press("next")
        self.eventually("the story starts in another place", lambda: self.page.place not in ("", place))
        self.page.wait_for_both()
        self.assertEqual(self.alice.parts("message"), [])

    def of(self, seq, testid):
        return self.page.end(seq, self.bob, testid)

    def test_the_story_plays_automatically_until_it_is_paused(self):
        self.page.press("play")
        self.assertEqual(self.page.find("play").text, "Pause")
        self.eventually("two steps were played", lambda: self.page.story_step() >= 2)
        self.page.press("play")
        self.eventually("it pauses", lambda: self.page.find("play").text == "Play")
        self.assertLess(self.page.story_step(), 6)

    def test_the_story_starts_again_after_a_reload(self):
        """Bob's preference to hold messages and his connection remain."""
        self.bob.open_settings()
        self.bob.choose("on-focus-hold")
        self.driver.refresh()
        self.page.wait_for_both()
        for _ in range(3):
            self.next_step()
        self.assertEqual(self.bob.notifications(), ["Tea at five?"])

    def test_a_step_prepares_its_conditions(self):
        for _ in range(2):
            self.next_step()
        self.bob.press("come-back")
        self.bob.choose("mode-off")
        self.next_step()
        self.assertTrue(self.bob.shows("silenced"))

    def test_only_events_of_the_relay_complete_a_step(self):
        """Bob performs the action of the first step himself, which does not complete the step."""
        self.bob.choose("mode-dnd")
        self.wait_for_focus()
        self.assertEqual(self.page.story_step(), 0)
        self.next_step()


class LinkTests(BrowserTests):
    def test_a_link_plays_the_story_up_to_its_step(self):
        page = self.open_page("#/3")
        page.eventually("three steps are done", lambda: page.story_step() == 3)
        self.assertEqual(page.bob.notifications(), ["Tea at five?"])
        self.assertRegex(page.place, "^[a-z0-9]+$")

    def test_a_link_leads_to_a_place(self):
        first = self.open_page("#ourownplace")
        first.alice.say("Meet me here")
        page = self.open_page("#ourownplace")
        page.eventually("the message is shown", lambda: page.bob.texts("message-text") == ["Meet me here"])


if __name__ == "__main__":
    unittest.main()
