# SPDX-License-Identifier: Apache-2.0
"""Tests the list of rooms on the phones: unread messages of rooms that are not joined, titles, and reconnects."""

import unittest

from page import PageTests
from served import call

#: The rooms that a person's session has joined, as the relay's replies to `join` and `leave` on the wire show.
JOINED = """
const { person } = document.querySelector(`[data-testid=person-${arguments[0]}]`)
window.joined ??= {}
const rooms = (window.joined[arguments[0]] = [])
person.addEventListener('wire', ({ detail: { kind, name, text } }) => {
  if (kind === 'sent' && name === 'join') rooms.push(JSON.parse(text).room)
})
"""


class RoomListTests(PageTests):
    def rows(self, panel):
        """Returns title, preview, mention and number of unread messages of each row that is shown."""
        return [
            tuple(
                row.find_element("css selector", part).get_property("textContent") if shown else ""
                for part, shown in (
                    (".row-title", True),
                    (".row-preview", True),
                    (".row-mention [aria-hidden]", self.is_shown(row, ".row-mention")),
                    (".row-unread span", self.is_shown(row, ".row-unread")),
                )
            )
            for row in panel.parts("row")
        ]

    @staticmethod
    def is_shown(row, part):
        return row.find_element("css selector", part).is_displayed()

    def wait_for_rows(self, panel, *rows):
        def match():
            found.append(self.rows(panel))
            return found[-1] == list(rows)

        found = []
        try:
            self.eventually(f"{panel.name}'s rooms are {rows}", match)
        except AssertionError as error:
            raise AssertionError(f"{error}, but {found[-1:]}") from None

    def open_list(self, panel):
        panel.press("back")
        self.eventually(f"{panel.name} sees the rooms", lambda: panel.shows("inbox"))

    def open_row(self, panel, title):
        def press():
            (row,) = [row for row in panel.parts("row") if row.find_element("css selector", ".row-title").text == title]
            return row.click() is None

        self.eventually(f"{panel.name} can open {title}", press)
        self.eventually(f"{title} is open", lambda: panel.shows("chat") and panel.texts("peer-name")[0] == title)

    def open_direct(self, panel, other):
        self.open_list(panel)
        panel.press(f"message-{other.name.lower()}")
        self.eventually("it is open", lambda: panel.shows("chat") and panel.texts("peer-name") == [other.name])

    def room(self, panel):
        return self.driver.execute_script(
            "return document.querySelector(`[data-testid=person-${arguments[0]}]`).person.room", panel.name.lower()
        )

    def test_an_unread_message_shows_without_a_join_and_is_gone_after_reading(self):
        self.driver.execute_script(JOINED, "bob")
        self.open_direct(self.alice, self.bob)
        self.alice.say("Psst")
        self.eventually("Bob's open room shows the number", lambda: self.bob.texts("back-count") == ["1"])
        self.assertEqual(self.bob.part("back").get_attribute("aria-label"), "Rooms, 1 unread")
        self.open_list(self.bob)
        self.wait_for_rows(self.bob, ("Alice", "Alice: Psst", "", "1"), ("Everyone", "No messages yet", "", ""))
        self.alice.say("Look here, @Bob")
        self.wait_for_rows(
            self.bob, ("Alice", "Alice: Look here, @Bob", "@", "2"), ("Everyone", "No messages yet", "", "")
        )
        self.assertEqual(self.driver.execute_script("return window.joined.bob"), [], "the list joined a room")
        self.page.picture("rooms")
        self.open_row(self.bob, "Alice")
        self.wait_for_messages(self.bob, "Psst", "Look here, @Bob")
        self.eventually("Alice sees that it is read", lambda: self.alice.texts("fate") in (["Delivered"], ["Read"]))
        self.open_list(self.bob)
        self.wait_for_rows(
            self.bob, ("Alice", "Alice: Look here, @Bob", "", ""), ("Everyone", "No messages yet", "", "")
        )
        self.open_row(self.bob, "Everyone")
        self.assertEqual(self.bob.texts("back-count"), [""])

    def test_two_people_have_one_direct_room(self):
        for panel in (self.alice, self.bob):
            self.open_list(panel)
        # Both press before either list shows a direct room.
        press = "for (const button of arguments) button.click()"
        self.driver.execute_script(press, self.alice.part("message-bob"), self.bob.part("message-alice"))
        for panel, other in ((self.alice, self.bob), (self.bob, self.alice)):
            self.eventually("the direct room is open", lambda: panel.shows("chat") and panel.sees_online() is True)
            self.eventually("it has the other's name", lambda: panel.texts("peer-name") == [other.name])
        self.assertEqual(self.room(self.alice), self.room(self.bob))
        self.alice.say("Only us")
        self.wait_for_messages(self.bob, "Only us")
        self.assertFalse(self.alice.shows("rename"), "a direct room has no title")
        for panel in (self.alice, self.bob):
            self.open_list(panel)
            self.eventually("the list has two rooms", lambda: len(panel.parts("row")) == 2)
            self.assertEqual(panel.parts(f"message-{'bob' if panel is self.alice else 'alice'}"), [])

    def test_a_new_title_shows_in_all_lists(self):
        self.page.add_carol()
        self.open_list(self.alice)
        self.alice.press("new-group")
        self.eventually("the group is open", lambda: self.alice.texts("peer-name") == ["Picnic"])
        for panel in (self.bob, self.carol):
            self.open_list(panel)
            self.eventually("the group is listed", lambda: ("Picnic", "No messages yet", "", "") in self.rows(panel))
        self.open_row(self.carol, "Picnic")
        self.rename(self.alice, "Tea party")
        self.eventually("the open room has the title", lambda: self.carol.texts("peer-name") == ["Tea party"])
        self.wait_for_rows(
            self.bob, ("Tea party", "No messages yet", "", ""), ("Everyone", "No messages yet", "", "")
        )
        self.open_list(self.alice)
        self.eventually("Alice's list has it", lambda: "Tea party" in self.alice.texts("row-title"))

    def rename(self, panel, title):
        panel.press("rename")
        panel.part("title").clear()
        panel.part("title").send_keys(f"{title}\n")
        self.eventually("the room has the title", lambda: panel.texts("peer-name") == [title])

    def test_the_newest_activity_is_first(self):
        self.open_direct(self.alice, self.bob)
        self.alice.say("Direct")
        self.open_list(self.bob)
        self.wait_for_rows(self.bob, ("Alice", "Alice: Direct", "", "1"), ("Everyone", "No messages yet", "", ""))
        self.open_list(self.alice)
        self.wait_for_rows(self.alice, ("Bob", "You: Direct", "", ""), ("Everyone", "No messages yet", "", ""))
        self.open_row(self.alice, "Everyone")
        self.alice.say("To everyone")
        self.wait_for_rows(self.bob, ("Everyone", "Alice: To everyone", "", "1"), ("Alice", "Alice: Direct", "", "1"))
        self.open_list(self.alice)
        self.wait_for_rows(self.alice, ("Everyone", "You: To everyone", "", ""), ("Bob", "You: Direct", "", ""))

    def test_the_list_is_right_after_a_reconnect(self):
        self.open_direct(self.alice, self.bob)
        self.alice.say("Before")
        self.open_list(self.bob)
        self.wait_for_rows(self.bob, ("Alice", "Alice: Before", "", "1"), ("Everyone", "No messages yet", "", ""))
        self.bob.press("lose-network")
        self.eventually("Bob's phone has no network", lambda: self.bob.shows("no-network"))
        self.alice.say("While you were away")
        self.wait_for_messages(self.alice, "Before", "While you were away")
        # Another session of Bob reads the first message.
        room = self.room(self.alice)
        call(self.page.origin, "PUT", f"rooms/{room}/read", self.page.user(self.bob), {"seq": 1})
        call(self.page.origin, "PUT", f"rooms/demo.{self.page.place}", self.page.user(self.alice), {"title": "Tea"})
        self.bob.press("come-back")
        self.eventually("the list is shown again", lambda: self.bob.shows("inbox"))
        self.wait_for_rows(
            self.bob, ("Alice", "Alice: While you were away", "", "1"), ("Tea", "No messages yet", "", "")
        )

    def test_an_open_room_that_changes_during_an_absence_is_right_in_the_list(self):
        self.open_direct(self.alice, self.bob)
        self.alice.say("Hello")
        self.open_list(self.bob)
        self.open_row(self.bob, "Alice")
        self.wait_for_messages(self.bob, "Hello")
        self.bob.press("lose-network")
        self.alice.say("Goodbye")
        self.wait_for_messages(self.alice, "Hello", "Goodbye")
        self.bob.press("come-back")
        self.wait_for_messages(self.bob, "Hello", "Goodbye")
        self.open_list(self.bob)
        self.wait_for_rows(self.bob, ("Alice", "Alice: Goodbye", "", ""), ("Everyone", "No messages yet", "", ""))

    def test_a_notification_opens_its_room(self):
        self.open_direct(self.alice, self.bob)
        self.bob.press("go-away")
        self.alice.say("In private")
        self.wait_for_notifications(self.bob, "In private")
        self.bob.press("notification-body")
        self.wait_for_messages(self.bob, "In private")
        self.assertEqual(self.bob.texts("peer-name"), ["Alice"])
        self.eventually("the notification is gone", lambda: not self.bob.parts("notification"))

    def test_the_relays_view_names_only_the_members_of_a_room(self):
        self.page.add_carol()
        self.open_direct(self.alice, self.bob)
        self.alice.say("Not for Carol")
        self.eventually("the decision about Bob is shown", lambda: self.page.end(1, self.bob, "reasons"))
        self.eventually("Carol is not named", lambda: not self.page.end(1, self.carol, "end-head"))
        trace = self.page.find("trace").get_property("textContent")
        self.assertNotIn("to Carol", trace)

    def test_the_story_returns_to_the_room_of_all(self):
        self.open_direct(self.alice, self.bob)
        self.open_list(self.bob)
        self.page.press("next")
        self.eventually("the first step is done", lambda: self.page.story_step() == 1)
        self.assertTrue(self.alice.shows("focus-notice"))
        self.assertTrue(self.bob.shows("chat"))

    def test_the_keyboard_opens_and_leaves_a_room(self):
        def focused():
            return self.driver.execute_script(
                "const { dataset, tagName } = document.activeElement; return dataset.part ?? dataset.testid ?? tagName"
            )

        self.alice.part("back").send_keys("\n")
        self.eventually("the keyboard focus is in the list", lambda: focused() == "row")
        self.assertEqual(self.alice.part("rows").get_attribute("aria-label"), "Rooms of Alice, newest first")
        self.alice.part("row").send_keys("\n")
        self.eventually("the keyboard focus is in the composer", lambda: focused() == "text")
        self.alice.part("rename").send_keys("\n")
        self.assertEqual(focused(), "title")
        self.driver.switch_to.active_element.send_keys("\ue00c")
        self.assertEqual(focused(), "rename")


if __name__ == "__main__":
    unittest.main()
