# SPDX-License-Identifier: Apache-2.0
"""Tests the page's pure modules in a browser."""

import unittest

from page import BrowserTests

class ModuleTests(BrowserTests):
    def setUp(self):
        # A document without its own scripts.
        self.driver.get(f"{self.relay.url}/page/place.js")

    def run_module(self, name, expression, *arguments):
        """Returns the value of a JavaScript expression, or of its promise. It can use the exports as `m`, and `args`."""
        outcome = self.driver.execute_async_script(
            f"""
            const args = [...arguments], done = args.pop()
            import(new URL('/{name}.js', location))
              .then(async (m) => done([await ({expression})]))
              .catch((e) => done(String(e)))
            """,
            *arguments,
        )
        self.assertIsInstance(outcome, list, outcome)
        return outcome[0]

    def converse(self, *inputs):
        return self.run_module("page/conversation", "args[0].reduce(m.conversationAfter, m.emptyConversation)", inputs)

    def test_a_reset_removes_the_messages_before_it(self):
        conversation = self.converse(
            {"type": "message", "seq": 1, "from": "a"},
            {"type": "composed", "draft": {"key": "k", "body": "hi", "time": 1}},
            {"type": "reset", "reason": "epoch"},
            {"type": "joined", "reply": {"epoch": "e2", "read": 1}},
            {"type": "message", "seq": 1, "from": "c"},
        )
        self.assertEqual([message["from"] for message in conversation["messages"]], ["c"])
        self.assertEqual((conversation["epoch"], conversation["read"]), ("e2", 1))
        self.assertEqual([draft["key"] for draft in conversation["drafts"]], ["k"], "a draft was lost")

    def test_a_delivery_state_never_goes_back(self):
        conversation = self.converse(
            {"type": "message", "seq": 1, "from": "a"},
            {"type": "message", "seq": 2, "from": "a"},
            {"type": "delivery", "seq": 2, "state": "pushed"},
            {"type": "receipt", "seq": 2, "kind": "received"},
            {"type": "delivery", "seq": 2, "state": "onPhone"},
        )
        self.assertEqual(conversation["fates"], {"1": "received", "2": "received"})

    def test_a_change_of_a_message_changes_its_quotes(self):
        quote = {"seq": 1, "from": "a", "preview": "Tea?"}
        start = [
            {"type": "message", "seq": 1, "from": "a", "body": {"text": "Tea?"}},
            {"type": "message", "seq": 2, "from": "b", "body": "yes", "quote": quote},
            {"type": "composed", "draft": {"key": "k", "body": "no", "time": 1, "quote": quote}},
        ]
        edited = {"type": "edited", "seq": 1, "body": {"text": "Coffee?"}}
        deleted = {"type": "deleted", "seq": 1}
        for events, expected in [
            ([], quote),
            ([edited], quote | {"preview": "Coffee?"}),
            ([edited, deleted], {"seq": 1, "from": "a", "deleted": True}),
            ([{"type": "edited", "seq": 2, "body": "no"}], quote),
        ]:
            with self.subTest(events=events):
                conversation = self.converse(*start, *events)
                self.assertEqual(conversation["messages"][1]["quote"], expected)
                self.assertEqual(conversation["drafts"][0]["quote"], expected)
        gone = self.converse(*start, {"type": "deleted", "seq": 2})["messages"][1]
        self.assertIsNone(gone.get("quote"), "a deleted reply has a quote")

    def test_a_response_is_reported_once(self):
        response = {"type": "response", "seq": 1, "user": "bob", "text": "accepted"}
        self.assertEqual(
            self.converse(response, response)["responses"], {"1": [{"user": "bob", "text": "accepted"}]}
        )

    def rooms(self, *inputs):
        """Returns the list of rooms after these inputs, as room, unread and title of each entry."""
        rooms = self.run_module("page/room-list", "args[0].reduce(m.roomsAfter, m.noRooms)", inputs)
        return [(entry["room"], entry["unread"], entry.get("title")) for entry in rooms]

    def test_the_list_of_rooms_has_the_newest_activity_first(self):
        listed = {"type": "listed", "rooms": [entry("a"), entry("b"), entry("c", time=50)]}
        self.assertEqual([room for room, *_ in self.rooms(listed)], ["a", "b", "c"])
        changed = {"type": "changed", "entry": entry("c", seq=2, time=150, unread=1)}
        self.assertEqual([room for room, *_ in self.rooms(listed, changed)], ["c", "a", "b"])
        # A new title is no activity.
        titled = {"type": "changed", "entry": entry("b", title="Tea")}
        self.assertEqual(self.rooms(listed, titled), [("a", 0, None), ("b", 0, "Tea"), ("c", 0, None)])
        removed = {"type": "removed", "room": "a"}
        self.assertEqual([room for room, *_ in self.rooms(listed, removed)], ["b", "c"])

    def test_the_order_of_rooms_does_not_depend_on_the_clock(self):
        # The newest message of a has an earlier time, because the relay's clock was set back.
        listed = {"type": "listed", "rooms": [entry("a", seq=9, time=10), entry("b", seq=1, time=1000)]}
        self.assertEqual([room for room, *_ in self.rooms(listed)], ["a", "b"])
        changed = {"type": "changed", "entry": entry("c", seq=1, time=5)}
        said = {"type": "said", "room": "b", "seq": 2, "time": 6, "from": "a", "preview": ""}
        self.assertEqual([room for room, *_ in self.rooms(listed, changed, said)], ["b", "c", "a"])

    def test_an_older_entry_does_not_replace_a_newer_one(self):
        changed = {"type": "changed", "entry": entry("a", seq=2, time=2, unread=1)}
        late = {"type": "listed", "rooms": [entry("a", seq=1, time=1)]}
        self.assertEqual(self.rooms(changed, late), [("a", 1, None)])
        read = {"type": "listed", "rooms": [entry("a", seq=2, time=2, read=2)]}
        self.assertEqual(self.rooms(changed, read), [("a", 0, None)])
        self.assertEqual(self.rooms(changed, late | {"isReset": True}), [("a", 0, None)])

    def test_a_room_that_was_left_is_not_in_the_next_list(self):
        first = {"type": "listed", "rooms": [entry("a"), entry("b")]}
        self.assertEqual(self.rooms(first, {"type": "listed", "rooms": [entry("b")]}), [("b", 0, None)])

    def invitations(self, *inputs):
        """Returns room and title of each invitation after these inputs."""
        expression = "args[0].reduce(m.invitationsAfter, m.noInvitations)"
        invitations = self.run_module("page/invitations", expression, inputs)
        return [(invitation["room"], invitation.get("title")) for invitation in invitations]

    def test_the_newest_invitation_is_first_until_it_ends(self):
        listed = {"type": "listed", "invitations": [invitation("b", "bob"), invitation("a", "ann")]}
        added = {"type": "added", "invitation": invitation("c", "ann")}
        self.assertEqual(self.invitations(listed, added), [("c", None), ("b", None), ("a", None)])
        again = {"type": "added", "invitation": invitation("a", "ann", title="Tea")}
        self.assertEqual(self.invitations(listed, again), [("a", "Tea"), ("b", None)])
        ended = {"type": "ended", "room": "b"}
        for inputs, rooms in [
            ([listed, added, ended], ["c", "a"]),
            ([listed, added, ended, ended], ["c", "a"]),
            ([listed, added, {"type": "blocked", "user": "ann"}], ["b"]),
            ([listed, added, {"type": "blocked", "user": "eve"}], ["c", "b", "a"]),
            ([listed, {"type": "listed", "invitations": []}], []),
        ]:
            with self.subTest(inputs=inputs):
                self.assertEqual([room for room, _ in self.invitations(*inputs)], rooms)

    def test_the_text_of_an_invitation(self):
        for fields, text in [
            ({"kind": "direct", "members": 2}, "wants to write to you"),
            ({"title": "Tea", "members": 1}, "invites you to Tea · 1 member"),
            ({"members": 12}, "invites you to a group · 12 members"),
        ]:
            with self.subTest(text=text):
                shown = invitation("a", "ann") | fields
                self.assertEqual(self.run_module("page/invitations", "m.invitationText(args[0])", shown), text)
        for by, name in [({"user": "ann"}, "ann"), ({"user": "ann", "name": "Ann"}, "Ann")]:
            self.assertEqual(self.run_module("page/invitations", "m.inviterOf(args[0])", {"by": by}), name)

    def device(self, *events, device="phone", user="bob"):
        """Returns phase and text of a call on a device after these events."""
        return self.run_module(
            "page/call-state",
            """[args[0].reduce((call, event) => m.callAfter(call, event, args[1]), m.noCall)]
              .map((call) => [call.phase, m.callText(call, args[1], (user) => user)])[0]""",
            events,
            {"user": user, "device": device},
        )

    def test_each_end_of_a_call_has_its_text(self):
        ring = about_call("ring")
        answer = about_call("answer", user="bob", device="tablet")
        ended = {"ended": 9}
        for events, bob, alice in [
            ([ring], ["ringing", "Incoming call"], ["calling", "Calling…"]),
            ([ring, answer], ["over", "Answered elsewhere, on bob’s tablet"], ["talking", "bob answered, on the tablet"]),
            (
                [ring, about_call("answer", user="bob", device="phone")],
                ["talking", "In the call"],
                ["talking", "bob answered, on the phone"],
            ),
            (
                [ring, about_call("decline", user="bob", device="tablet", state="declined", **ended)],
                ["over", "Declined elsewhere, on bob’s tablet"],
                ["over", "bob declined"],
            ),
            (
                [ring, about_call("hangup", user="alice", device="phone", state="cancelled", **ended)],
                ["over", "Missed call: alice hung up"],
                ["over", "You cancelled the call"],
            ),
            (
                [ring, about_call("expire", state="missed", **ended)],
                ["over", "Missed call from alice"],
                ["over", "Nobody answered"],
            ),
            # Another member of a group has answered.
            ([ring, about_call("answer", user="carol")], ["ringing", "Incoming call"], ["talking", "carol answered"]),
            ([ring | {"muted": True}], ["none", ""], ["none", ""]),
            # An event of another call changes nothing.
            ([ring, answer | {"seq": 2}], ["ringing", "Incoming call"], ["calling", "Calling…"]),
            # A device in a call does not ring for another one.
            ([ring, ring | {"seq": 2}, answer], ["over", "Answered elsewhere, on bob’s tablet"], None),
        ]:
            with self.subTest(events=events):
                self.assertEqual(self.device(*events), bob)
                if alice:
                    self.assertEqual(self.device(*events, user="alice"), alice)

    def test_a_call_that_is_read_has_the_state_that_its_events_would_give(self):
        def read(state, *users, **fields):
            named = [dict(zip(("user", "state", "device"), user)) for user in users]
            return about_call("read", state=state, users=named) | fields

        ring, ended = about_call("ring"), {"ended": 9}
        for after, bob in [
            (read("ringing"), ["ringing", "Incoming call"]),
            (read("answered", ("bob", "answered", "phone")), ["talking", "In the call"]),
            (read("answered", ("bob", "answered", "tablet")), ["over", "Answered elsewhere, on bob’s tablet"]),
            (read("declined", ("bob", "declined", "tablet"), **ended), ["over", "Declined elsewhere, on bob’s tablet"]),
            (read("missed", **ended), ["over", "Missed call from alice"]),
            (read("cancelled", **ended), ["over", "Missed call: alice hung up"]),
            (read("ended", ("bob", "left", "phone"), **ended), ["over", "Call ended"]),
        ]:
            with self.subTest(after=after):
                self.assertEqual(self.device(ring, after), bob)

    def test_only_refusals_stop_the_reconnects(self):
        codes = [1000, 1006, 4000, 4003, 4499, 4500, 4506, 4999]
        self.assertEqual(
            self.run_module("client/reconnect", "args[0].map(m.comesBack)", codes), [True] * 5 + [False] * 3
        )

    def test_the_backoff_has_jitter_below_a_ceiling(self):
        longest = self.run_module("client/reconnect", "[0, 1, 2, 99].map((n) => m.reconnectDelay(n, 0, () => 1))")
        self.assertEqual(longest, [500, 1000, 2000, 20_000])
        self.assertEqual(self.run_module("client/reconnect", "m.reconnectDelay(5, 3, () => 0)"), 3000)
        raised = self.run_module("client/reconnect", "[0, 99].map((n) => m.reconnectDelay(n, 0, () => 1, 8))")
        self.assertEqual(raised, [8000, 20_000])

    def phone(self, *pushes, focus=None, read=0, phone=None, now=0):
        place = {
            "focus": {"mode": "off", "people": [], "allowsApp": False, "filter": "none"} | (focus or {}),
            "readUpTo": {"user": "bob", "room": "r", "epoch": "e", "seq": read},
            "now": now,
        }
        start = phone or {}
        return self.run_module(
            "page/phone",
            "args[0].reduce((p, n) => m.phoneAfter(p, n, args[1]), { ...m.emptyPhone, ...args[2] })",
            pushes,
            place,
            start,
        )

    def cards(self, *pushes, **more):
        return self.phone(*pushes, **more)["notifications"]

    def test_a_push_replaces_the_one_with_its_collapse_id(self):
        shown = self.cards(push(1, "first"), push(2, "other"), push(1, "edited"))
        self.assertEqual([notification["body"] for notification in shown], ["other", "edited"])

    def test_a_phone_shows_the_pushes_that_its_focus_allows(self):
        alice, app, keeps = {"people": ["a"]}, {"allowsApp": True}, {"allowsApp": True, "filter": "out"}
        home, work = push(1, "t", label="home"), push(1, "t", label="work")
        for focus, one, why, is_quiet in [
            ({"mode": "off"}, push(1, "t"), "", False),
            ({"mode": "off"}, push(1, "t", level="passive"), "Passive", True),
            ({"mode": "dnd"}, push(1, "t"), "Silenced by Do Not Disturb", True),
            ({"mode": "dnd"}, push(1, "t", level="time-sensitive"), "Time sensitive", False),
            ({"mode": "dnd"}, push(1, "t", level="critical"), "Critical", False),
            ({"mode": "dnd"}, push(1, "t", anyway=True), "Notified anyway", False),
            ({"mode": "dnd", **alice, **app}, push(1, "t"), "Silenced by Do Not Disturb", True),
            ({"mode": "work"}, push(1, "t"), "Silenced by Work", True),
            ({"mode": "work", **alice}, push(1, "t"), "Work allows Alice", False),
            ({"mode": "work", **app}, push(1, "t"), "Work allows this app", False),
            ({"mode": "work", **keeps}, push(1, "t"), "Work allows this app", False),
            ({"mode": "work", **keeps}, work, "Work allows this app", False),
            ({"mode": "work", **keeps}, home, "Filtered by Work", True),
            ({"mode": "dnd", **keeps}, home, "Silenced by Do Not Disturb", True),
        ]:
            with self.subTest(focus=focus, why=why):
                (card,) = self.cards(one, focus=focus)
                self.assertEqual((card["why"], card["isQuiet"]), (why, is_quiet))

    def test_a_call_rings_until_it_expires(self):
        call = push(1, "Calling", kind="call")
        call["headers"]["apns-expiration"] = "60"
        self.assertEqual(self.phone(call)["call"]["from"], "Alice")
        self.assertIsNone(self.phone(call, now=60_000)["call"], "an expired call rings")
        silenced = self.phone(call, focus={"mode": "dnd"})
        self.assertIsNone(silenced["call"])
        self.assertEqual(len(silenced["notifications"]), 1)
        missed = push(1, "Missed call", level="passive", kind="call")
        after = self.phone(call, missed)
        self.assertIsNone(after["call"])
        self.assertEqual([card["body"] for card in after["notifications"]], ["Missed call"])

    def test_a_call_that_is_over_has_no_buttons(self):
        for kind, text, extension, category in [
            ("call", "Incoming call", True, "c"),
            ("call", "Missed call", True, None),
            ("call", "Declined on another device", True, None),
            ("call", "Missed call", False, "c"),
            ("message", "Missed call", True, "c"),
        ]:
            with self.subTest(kind=kind, text=text, extension=extension):
                one = push(1, None, level="passive", kind=kind)
                one["payload"]["aps"] |= {"category": "c", "alert": {"title": "Alice", "loc-key": text}}
                (card,) = self.cards(one, phone={"hasExtension": extension})
                self.assertEqual(card.get("category"), category)

    def test_reading_leaves_the_notifications_of_other_accounts(self):
        shown = self.phone(push(1, "Bob's"), push(2, "Eve's", recipient="eve"))
        read = {"user": "bob", "room": "r", "epoch": "e", "seq": 9}
        for expression, left in [
            ("m.phoneAfterReading(args[0], args[1])", ["Eve's"]),
            ("m.phoneAfterReading(args[0], { ...args[1], epoch: 'f' })", ["Eve's"]),
            ("m.phoneWithoutAccount(args[0], 'eve')", ["Bob's"]),
        ]:
            with self.subTest(expression=expression):
                phone = self.run_module("page/phone", expression, shown, read)
                self.assertEqual([card["body"] for card in phone["notifications"]], left)
        late = self.cards(push(1, "Bob's"), push(2, "Eve's", recipient="eve"), read=9)
        self.assertEqual([card["body"] for card in late], ["Eve's"])

    def test_a_call_to_another_account_is_a_notification(self):
        call = push(1, "Calling", kind="call", recipient="eve")
        call["headers"]["apns-expiration"] = "60"
        phone = self.phone(call)
        self.assertEqual((phone["call"], len(phone["notifications"])), (None, 1))

    def test_an_answered_notification_does_not_appear_again(self):
        one = push(1, "first")
        gone = self.run_module(
            "page/phone",
            """[args[0]].reduce((p, n) => m.phoneAfter(p, n, args[1]), m.phoneWithout(m.phoneAfter(m.emptyPhone, args[0],
            args[1]), { id: '1', push: '1 first' }))""",
            one,
            {"focus": {"mode": "off"}, "readUpTo": {}, "now": 0},
        )
        self.assertEqual(gone["notifications"], [])

    def test_messages_of_people_do_not_wait_for_the_summary(self):
        plain = push(3, "order")
        del plain["payload"]["communication"]
        urgent = push(4, "urgent", level="time-sensitive")
        pushes = [push(1, "low", level="passive"), push(2, "message"), plain, urgent]
        cards = self.cards(*pushes, phone={"hasSummary": True})
        self.assertEqual([card["isSummarized"] for card in cards], [True, False, True, False])
        without = self.cards(*pushes, phone={"hasSummary": True, "hasExtension": False})
        self.assertEqual([card["isSummarized"] for card in without], [True, True, True, False])

    def test_the_extension_replaces_the_title_and_the_subtitle(self):
        def group(**conversation):
            one = push(1, "hi")
            one["payload"]["aps"]["alert"] |= {"title": "Own title", "subtitle": "Own subtitle"}
            one["payload"]["communication"]["conversation"] = {"id": "r", "group": True} | conversation
            return one

        plain = group()
        del plain["payload"]["communication"]
        fixed = group(recipientCount=3)
        del fixed["payload"]["aps"]["mutable-content"]
        for one, extension, title, subtitle, is_person in [
            (group(group=False), True, "Alice", "", True),
            (group(recipientCount=3), True, "Alice", "To you and 2 others", True),
            (group(recipientCount=2), True, "Alice", "To you and 1 other", True),
            (group(recipientCount=1), True, "Alice", "To you", True),
            (group(recipientCount=3, name="Tea"), True, "Alice", "Tea", True),
            (group(recipientCount=3, name="Tea"), False, "Own title", "Own subtitle", False),
            (plain, True, "Own title", "Own subtitle", False),
            (fixed, True, "Own title", "Own subtitle", False),
        ]:
            with self.subTest(one=one, extension=extension):
                (card,) = self.cards(one, phone={"hasExtension": extension})
                self.assertEqual((card["title"], card["subtitle"], card["isPerson"]), (title, subtitle, is_person))

    def test_nobody_breaks_through_without_the_extension(self):
        allowed = {"mode": "work", "people": ["a"]}
        off = {"hasExtension": False}
        for one, focus, is_quiet in [
            (push(1, "t"), allowed, True),
            (push(1, "t", anyway=True), {"mode": "dnd"}, True),
            (push(1, "t", level="time-sensitive"), allowed, False),
            (push(1, "t"), allowed | {"allowsApp": True}, False),
        ]:
            (card,) = self.cards(one, focus=focus, phone=off)
            self.assertEqual(card["isQuiet"], is_quiet)
        # iOS does not compare the id of the sender.
        (card,) = self.cards(push(1, "t"), focus={"mode": "work", "people": ["1"]})
        self.assertTrue(card["isQuiet"])

    def test_a_phone_that_is_not_silenced_plays_the_sound_of_a_push(self):
        silent = push(2, "silent")
        del silent["payload"]["aps"]["sound"]
        cards = self.cards(push(1, "loud"), silent, push(3, "passive", level="passive"))
        self.assertEqual([card["hasSound"] for card in cards], [True, False, False])
        (card,) = self.cards(push(1, "loud"), focus={"mode": "dnd"})
        self.assertFalse(card["hasSound"])

    def test_a_call_is_a_notification_without_the_extension(self):
        call = push(1, "Calling", kind="call")
        call["headers"]["apns-expiration"] = "60"
        phone = self.phone(call, phone={"hasExtension": False})
        self.assertIsNone(phone["call"])
        self.assertEqual([card["hasSound"] for card in phone["notifications"]], [True])

    def test_an_opened_app_removes_notifications_without_a_conversation(self):
        plain = push(2, "order")
        del plain["payload"]["communication"], plain["payload"]["message"]
        phone = self.run_module(
            "page/phone",
            """m.phoneAfter(m.phoneAfterOpening(args[0].reduce((p, n) => m.phoneAfter(p, n, args[1]), m.emptyPhone)),
            args[0][1], args[1])""",
            [push(1, "message"), plain],
            {"focus": {"mode": "off"}, "readUpTo": {}, "now": 0},
        )
        self.assertEqual([card["body"] for card in phone["notifications"]], ["message"])

    def test_a_plain_notification_can_be_answered(self):
        plain = push(1, "order")
        del plain["payload"]["communication"]
        plain["payload"]["push"] = {"notification": "n", "receipt": "r"}
        (card,) = self.cards(plain)
        self.assertEqual(card["notification"], "n")

    def test_a_push_without_a_text_sets_the_badge(self):
        badge = push(1, "first")
        badge["payload"]["aps"] = {"badge": 7}
        phone = self.phone(badge)
        self.assertEqual((phone["badge"], phone["notifications"]), (7, []))

    def test_a_push_removes_the_notifications_that_it_names(self):
        digest = [{"room": "r", "seq": 3}, {"room": "s", "seq": 5}]
        changed = push(2, "digest", digest=digest, replaces={"room": "r", "seq": 3})
        three = [push(seq, str(seq)) for seq in (1, 2, 3)]
        read, far = {"read": [{"room": "r", "seq": 2}]}, {"read": [{"room": "r", "seq": 9}]}
        rest = {"read": far["read"] + [{"room": "s", "seq": 5}]}
        for pushes, removal, left in [
            (three, read, ["3"]),
            (three, {"removed": [{"room": "r", "seq": 2}]}, ["1", "3"]),
            (three, {"read": [{"room": "s", "seq": 9}], "removed": [{"room": "s", "seq": 1}]}, ["1", "2", "3"]),
            ([push(4, "Eve's", recipient="eve"), three[0]], far, ["Eve's"]),
            ([push(1, "Eve's", recipient="eve")], {"removed": [{"room": "r", "seq": 1}]}, ["Eve's"]),
            ([push(3, "digest", digest=digest)], far, ["digest"]),
            ([push(3, "digest", digest=digest)], rest, []),
            ([changed], {"removed": [{"room": "r", "seq": 3}]}, []),
            ([changed], {"removed": [{"room": "r", "seq": 2}]}, ["digest"]),
            ([changed], rest, []),
        ]:
            with self.subTest(pushes=pushes, removal=removal):
                background = push(20, "removal")
                background["payload"] = {"aps": {"content-available": 1}, "push": {"recipient": "bob"}} | removal
                alert = push(21, "next")
                alert["payload"] |= removal
                self.assertEqual([card["body"] for card in self.cards(*pushes, background)], left)
                self.assertEqual([card["body"] for card in self.cards(*pushes, alert)], [*left, "next"])

    def test_a_phone_drops_the_notifications_that_the_gateway_has_lost(self):
        pushes = [push(1, "first"), push(2, "second")]
        badges = [
            (pushes, ["first", "second"], 0),
            (pushes[1:], ["second"], 7),
            ([], [], 7),
        ]
        for listed, left, badge in badges:
            with self.subTest(left=left):
                phone = self.run_module(
                    "page/phone",
                    "m.phoneAfterListing(args[0], { notifications: args[1], badge: 7 })",
                    self.phone(*pushes),
                    listed,
                )
                self.assertEqual(([card["body"] for card in phone["notifications"]], phone["badge"]), (left, badge))

    def feed(self, *steps):
        """Returns what a feed passes on after these steps: `open`, `push`, the `list` of pushes, `close`."""
        return self.run_module(
            "page/push-feed",
            """(async () => {
              const heard = [], asked = []
              const push = (id) => ({ headers: { 'apns-id': id } })
              const name = ({ headers }) => headers['apns-id']
              let stream
              window.EventSource = class extends EventTarget {
                constructor() { super(); stream = this }
                close() { stream = null }
              }
              window.fetch = () => new Promise((answer) => asked.push(answer))
              const feed = new m.PushFeed('t', (live) => heard.push(name(live)),
                ({ notifications }) => heard.push(notifications.map(name)))
              for (const [step, value] of args[0]) {
                if (step === 'open') { feed.follow(true); stream.onopen() }
                if (step === 'close') feed.follow(false)
                if (step === 'push') {
                  stream.dispatchEvent(Object.assign(new Event('notification'), { data: JSON.stringify(push(value)) }))
                }
                if (step !== 'list') continue
                asked.shift()({ ok: value !== null, json: async () => ({ notifications: value.map(push) }) })
                // All promises that follow from the answer are settled before the next task.
                await new Promise((settled) => setTimeout(settled))
              }
              return heard
            })()""",
            steps,
        )

    def test_a_feed_passes_on_the_list_before_the_live_pushes(self):
        opened = ("open", None)
        for steps, heard in [
            ([opened, ("list", ["1"]), ("push", "2")], [["1"], "2"]),
            ([opened, ("push", "2"), ("push", "3"), ("list", ["1", "2"])], [["1", "2"], "3"]),
            ([opened, ("push", "1"), ("list", None), ("push", "2")], ["1", "2"]),
            # The list of an earlier start says nothing about a later one.
            ([opened, ("close", None), opened, ("list", ["1"]), ("list", ["2"])], [["2"]]),
        ]:
            with self.subTest(steps=steps):
                self.assertEqual(self.feed(*steps), heard)

    def test_a_localization_key_is_shown_with_its_arguments(self):
        """A phone shows this if its app has no text for the key."""
        digest = push(1, "first line")
        digest["payload"]["aps"]["alert"] |= {
            "title-loc-key": "%@ messages in %@ rooms",
            "title-loc-args": ["7", "2"],
            "subtitle-loc-key": "%2$@ before %1$@",
            "subtitle-loc-args": ["one", "two"],
        }
        digest["payload"]["aps"]["alert"].pop("title", None)
        plain = push(2, None)
        plain["payload"]["aps"]["alert"] = {"title": "Ann", "loc-key": "New message"}
        # Neither push is a message from a person.
        for one in digest, plain:
            del one["payload"]["communication"]
        shown = [(card["title"], card["subtitle"], card["body"]) for card in self.cards(digest, plain)]
        self.assertEqual(
            shown, [("7 messages in 2 rooms", "two before one", "first line"), ("Ann", "", "New message")]
        )

    def test_a_read_message_is_not_shown_on_the_phone(self):
        shown = self.cards(push(1, "read"), push(2, "new"), read=1)
        self.assertEqual([notification["body"] for notification in shown], ["new"])

    def test_only_a_known_focus_is_shown(self):
        entries = [None, {"isFocused": None}, {"isFocused": False}, {"isFocused": True}]
        self.assertEqual(
            self.run_module("client/presence", "args[0].map((e) => m.isSilenced(e))", entries), [False, False, False, True]
        )


def entry(room, seq=0, time=None, unread=0, read=0, **fields):
    """An entry of the relay's list of rooms."""
    message = {"lastMessage": {"seq": seq, "time": time, "from": "a"}} if time is not None else {}
    own = {"unread": unread, "mentions": 0, "read": read}
    return {"room": room, "kind": "group", "members": {"count": 2}} | own | message | fields


def invitation(room, by, **fields):
    """An invitation as the relay lists it."""
    return {"room": room, "kind": "group", "members": 1, "by": {"user": by}, "time": 1} | fields


def about_call(event, **fields):
    """An event about a call of Alice."""
    return {"event": event, "room": "r", "seq": 1, "from": "alice", "state": "ringing", "ringUntil": 60_000} | fields


def push(seq, text, level="active", anyway=False, kind="message", label=None, digest=None, **origin):
    aps = {"alert": {"title": "Alice", "body": text}, "thread-id": "r", "interruption-level": level}
    aps |= {"mutable-content": 1} | ({} if level == "passive" else {"sound": "default"})
    return {
        "payload": {
            "aps": aps | ({"filter-criteria": label} if label else {}),
            "communication": {
                "kind": kind,
                "sender": {"id": "1", "name": "Alice", "handle": "a"},
                "notifyAnyway": anyway,
                "recipient": "bob",
            }
            | origin,
            "message": {"room": "r", "epoch": "e", "seq": seq},
        }
        | ({"digest": digest} if digest else {}),
        "headers": {"apns-id": f"{seq} {text}", "apns-collapse-id": str(seq)},
        "time": 1,
    }


if __name__ == "__main__":
    unittest.main()
