# SPDX-License-Identifier: Apache-2.0
"""Tests the invitations on the phones: a person accepts, declines or blocks, and sees each change at once."""

import unittest

from page import PageTests
from served import Served, call
from test_quality import AXE, RUN_AXE

#: Connects strangers, who share no room with the people of the page.
CONNECT = """
const done = arguments[1]
import(new URL('/client/stillwire.js', location)).then(async ({ Stillwire }) => {
  window.strangers ??= {}
  const url = new URL('/v1/connect', location)
  url.protocol = 'ws'
  for (const [user, name] of Object.entries(arguments[0])) {
    const stranger = (window.strangers[user] = new Stillwire(url, { hello: { user, name }, page: null }))
    const welcome = new Promise((resolve) => stranger.addEventListener('welcome', resolve, { once: true }))
    stranger.connect()
    await welcome
  }
}).then(() => done(null), (error) => done(String(error)))
"""
REQUEST = """
const [user, type, fields, done] = arguments
window.strangers[user].request(type, fields).then((reply) => done(reply), (error) => done({ error: String(error) }))
"""


class Invited(PageTests):
    def invitations(self, panel):
        """Returns the inviter and the text of each invitation that is shown."""
        return list(zip(panel.texts("invitation-name"), panel.texts("invitation-text")))

    def wait_for_invitations(self, panel, *invitations):
        self.eventually(
            f"{panel.name}'s invitations are {invitations}", lambda: self.invitations(panel) == list(invitations)
        )

    def open_list(self, panel):
        panel.press("back")
        self.eventually(f"{panel.name} sees the rooms", lambda: panel.shows("inbox"))

    def press(self, panel, name, button):
        """Presses a button of the newest invitation by the user with this name."""

        def press():
            row = panel.parts("invitation")[panel.texts("invitation-name").index(name)]
            return row.find_element("css selector", f"[data-testid=invitation-{button}-button]").click() is None

        self.eventually(f"{button} can be pressed", press)


class InvitationTests(Invited):
    def setUp(self):
        super().setUp()
        self.dora, self.eve = (f"{name}-{self.page.place}" for name in ("dora", "eve"))
        connected = self.driver.execute_async_script(CONNECT, {self.dora: "Dora", self.eve: "Eve"})
        self.assertIsNone(connected)

    def request(self, by, type, /, **fields):
        reply = self.driver.execute_async_script(REQUEST, by, type, fields)
        self.assertNotIn("error", reply)
        return reply

    def invite(self, panel, by, title):
        """Creates a group, to which the user only invites this person. Returns the room."""
        return self.request(by, "create", kind="group", title=title, members=[self.page.user(panel)])["room"]

    def members(self, room):
        return {entry["user"] for entry in call(self.page.origin, "GET", f"rooms/{room}/members", self.dora)["members"]}

    def focused(self):
        return self.driver.execute_script(
            "const { dataset, tagName } = document.activeElement; return dataset.part ?? dataset.testid ?? tagName"
        )

    def test_an_invitation_appears_and_is_accepted(self):
        room = self.invite(self.alice, self.eve, "Chess")
        self.eventually("Alice's open room shows the number", lambda: self.alice.texts("back-count") == ["1"])
        self.assertEqual(self.alice.part("back").get_attribute("aria-label"), "Rooms, 1 invitation")
        self.open_list(self.alice)
        self.wait_for_invitations(self.alice, ("Eve", "invites you to Chess · 1 member"))
        self.assertEqual(self.alice.texts("invitations-title"), ["1 invitation"])
        self.assertEqual(self.alice.texts("row-title"), ["Everyone"], "an invitation is no room")
        self.assertEqual(self.members(room), {self.eve})
        self.request(self.dora, "direct", user=self.page.user(self.alice))
        newest_first = ("Dora", "wants to write to you"), ("Eve", "invites you to Chess · 1 member")
        self.wait_for_invitations(self.alice, *newest_first)
        self.assertEqual(self.alice.texts("invitations-title"), ["2 invitations"])
        self.page.picture("invitations")
        self.press(self.alice, "Eve", "accept")
        self.eventually("the room is open", lambda: self.alice.shows("chat") and self.alice.texts("peer-name") == ["Chess"])
        self.assertEqual(self.focused(), "text")
        self.assertEqual(self.members(room), {self.eve, self.page.user(self.alice)})
        self.alice.say("Hello, Eve")
        self.wait_for_messages(self.alice, "Hello, Eve")
        self.open_list(self.alice)
        self.eventually("the room is listed", lambda: self.alice.texts("row-title") == ["Chess", "Everyone"])
        self.assertTrue(self.alice.parts("message-eve"), "the list offers a direct room with Eve by her name")
        self.wait_for_invitations(self.alice, newest_first[0])
        self.page.picture("invitation-accepted")

    def test_messages_before_the_acceptance_are_read_after_it(self):
        room = self.request(self.eve, "direct", user=self.page.user(self.bob))["room"]
        self.request(self.eve, "join", room=room)
        self.request(self.eve, "send", room=room, body={"text": "Are you the Bob with the tea?"})
        self.open_list(self.bob)
        self.wait_for_invitations(self.bob, ("Eve", "wants to write to you"))
        self.assertNotIn("the Bob with the tea", self.bob.part("inbox").get_property("textContent"))
        self.press(self.bob, "Eve", "accept")
        self.wait_for_messages(self.bob, "Are you the Bob with the tea?")
        self.assertEqual(self.bob.texts("peer-name"), ["Eve"])
        self.open_list(self.bob)
        self.eventually("it has the name of Eve", lambda: self.bob.texts("row-title") == ["Eve", "Everyone"])

    def test_a_declined_invitation_disappears(self):
        room = self.invite(self.alice, self.eve, "Chess")
        self.open_list(self.alice)
        self.wait_for_invitations(self.alice, ("Eve", "invites you to Chess · 1 member"))
        self.press(self.alice, "Eve", "decline")
        self.wait_for_invitations(self.alice)
        self.assertEqual(self.alice.texts("invitations-title"), [""])
        self.eventually("the keyboard focus is in the list", lambda: self.focused() == "row")
        self.assertEqual(self.alice.texts("row-title"), ["Everyone"])
        self.assertEqual(self.members(room), {self.eve})
        self.page.picture("invitation-declined")
        # The inviter may invite again.
        self.assertIs(self.request(self.eve, "add", room=room, user=self.page.user(self.alice))["invited"], True)
        self.wait_for_invitations(self.alice, ("Eve", "invites you to Chess · 1 member"))

    def test_a_block_ends_all_invitations_of_the_inviter(self):
        self.open_list(self.alice)
        for title in ("Chess", "Go"):
            self.invite(self.alice, self.eve, title)
        self.invite(self.alice, self.dora, "Books")
        books = ("Dora", "invites you to Books · 1 member")
        self.wait_for_invitations(
            self.alice, books, ("Eve", "invites you to Go · 1 member"), ("Eve", "invites you to Chess · 1 member")
        )
        self.press(self.alice, "Eve", "block")
        self.wait_for_invitations(self.alice, books)
        self.page.picture("invitation-blocked")
        # Eve's next invitation is hidden. Dora's, which is later, is shown.
        self.request(self.eve, "direct", user=self.page.user(self.alice))
        self.invite(self.alice, self.dora, "Jam")
        self.wait_for_invitations(self.alice, ("Dora", "invites you to Jam · 1 member"), books)

    def test_a_withdrawn_invitation_disappears(self):
        room = self.invite(self.alice, self.eve, "Chess")
        self.open_list(self.alice)
        self.wait_for_invitations(self.alice, ("Eve", "invites you to Chess · 1 member"))
        self.withdraw(self.alice, self.eve, room)
        self.wait_for_invitations(self.alice)

    def test_the_invitations_are_right_after_a_reconnect(self):
        chess, books = self.invite(self.bob, self.eve, "Chess"), self.invite(self.bob, self.dora, "Books")
        self.open_list(self.bob)
        self.eventually("both are shown", lambda: len(self.invitations(self.bob)) == 2)
        self.lose_network(self.bob)
        self.withdraw(self.bob, self.eve, chess)
        go = self.invite(self.bob, self.eve, "Go")
        self.bob.press("come-back")
        self.wait_for_invitations(
            self.bob, ("Eve", "invites you to Go · 1 member"), ("Dora", "invites you to Books · 1 member")
        )
        self.lose_network(self.bob)
        self.withdraw(self.bob, self.eve, go)
        self.withdraw(self.bob, self.dora, books)
        self.bob.press("come-back")
        self.wait_for_invitations(self.bob)

    def lose_network(self, panel):
        panel.press("lose-network")
        self.eventually(f"{panel.name}'s phone has no network", lambda: panel.shows("no-network"))

    def withdraw(self, panel, by, room):
        self.request(by, "remove", room=room, user=self.page.user(panel))

    def test_the_notification_of_an_invitation_opens_the_list(self):
        self.send_away(self.bob, self.alice)
        self.invite(self.bob, self.eve, "Chess")
        self.wait_for_notifications(self.bob, "Eve invites you to Chess")
        self.page.picture("invitation-notification")
        self.bob.press("notification-body")
        self.eventually("Bob sees the rooms", lambda: self.bob.shows("inbox"))
        self.wait_for_invitations(self.bob, ("Eve", "invites you to Chess · 1 member"))
        self.assertFalse(self.bob.parts("notification"))

    def test_a_visitor_meets_a_stranger(self):
        self.alice.open_settings()
        self.alice.press("stranger")
        self.eventually("Alice has an invitation", lambda: self.alice.texts("back-count") == ["1"])
        self.open_list(self.alice)
        self.wait_for_invitations(self.alice, ("Dora", "wants to write to you"))
        self.press(self.alice, "Dora", "accept")
        hello = "Hello, this is Dora. Do you sell teapots?"
        self.wait_for_messages(self.alice, hello)
        # They share a room now, so Dora needs no invitation.
        self.alice.press("stranger")
        self.wait_for_messages(self.alice, hello, hello)
        self.assertEqual(self.alice.texts("back-count"), [""])

    def test_the_keyboard_and_screen_readers_reach_the_buttons(self):
        self.invite(self.alice, self.eve, "Chess")
        self.request(self.dora, "direct", user=self.page.user(self.alice))
        self.open_list(self.alice)
        self.eventually("both are shown", lambda: len(self.invitations(self.alice)) == 2)
        names = [
            self.alice.parts(f"invitation-{button}-button")[1].get_property("textContent")
            for button in ("accept", "decline", "block")
        ]
        self.assertEqual(
            names, ["Accept the invitation of Eve to Chess", "Decline the invitation of Eve to Chess", "Block Eve"]
        )
        self.assertEqual(
            self.alice.parts("invitation-accept-button")[0].get_property("textContent"), "Accept the invitation of Dora"
        )
        self.assertEqual(self.alice.part("invitations").get_attribute("aria-label"), "Invitations of Alice, newest first")
        self.driver.execute_script(AXE)
        for scheme in ("light", "dark"):
            features = [{"name": "prefers-color-scheme", "value": scheme}]
            self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
            self.assertEqual(self.driver.execute_async_script(RUN_AXE), [])
        self.alice.parts("invitation-decline-button")[0].send_keys("\n")
        self.wait_for_invitations(self.alice, ("Eve", "invites you to Chess · 1 member"))
        self.alice.part("invitation-accept-button").send_keys("\n")
        self.eventually("the room is open", lambda: self.alice.texts("peer-name") == ["Chess"])


class AcquaintedTests(Invited):
    """On this relay, people who share a room invite each other, too."""

    @staticmethod
    def serve():
        return Served("--rooms-invitations", "all")

    def test_a_direct_room_begins_with_an_invitation(self):
        self.open_list(self.alice)
        self.alice.press("message-bob")
        self.eventually("the room is open", lambda: self.alice.shows("chat") and self.alice.texts("peer-name") == ["Bob"])
        self.alice.say("Psst")
        self.wait_for_messages(self.alice, "Psst")
        self.open_list(self.bob)
        self.wait_for_invitations(self.bob, ("Alice", "wants to write to you"))
        self.press(self.bob, "Alice", "accept")
        self.wait_for_messages(self.bob, "Psst")
        self.bob.say("Yes?")
        self.wait_for_messages(self.alice, "Psst", "Yes?")

    def test_a_person_who_writes_to_the_inviter_accepts(self):
        self.open_list(self.alice)
        self.alice.press("message-bob")
        self.open_list(self.bob)
        self.wait_for_invitations(self.bob, ("Alice", "wants to write to you"))
        self.bob.press("message-alice")
        self.eventually("both see each other", lambda: self.alice.sees_online() is True and self.bob.sees_online() is True)
        self.open_list(self.bob)
        self.wait_for_invitations(self.bob)
        self.eventually("Bob's list has it", lambda: self.bob.texts("row-title") == ["Alice", "Everyone"])

    def test_the_story_needs_no_invitation(self):
        self.page.press("next")
        self.eventually("the first step is done", lambda: self.page.story_step() == 1)
        self.page.press("next")
        self.eventually("the second step is done", lambda: self.page.story_step() == 2)
        self.page.press("next")
        self.eventually("the third step is done", lambda: self.page.story_step() == 3)


if __name__ == "__main__":
    unittest.main()
