# SPDX-License-Identifier: Apache-2.0
"""The page's pure modules, asked in the browser that runs them."""

import unittest

from page import start_browser
from served import Served

OPENING = {"epoch": "e1", "seq": 2, "read": 0, "messages": [{"seq": 1, "from": "a"}, {"seq": 2, "from": "b"}]}


class ModuleTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.relay = Served()
        cls.addClassCleanup(cls.relay.stop)
        cls.driver = start_browser()
        cls.addClassCleanup(cls.driver.quit)
        cls.driver.get(cls.relay.url)

    def run_module(self, name, expression, *arguments):
        """The value of a JavaScript expression over the module's exports, `m`, and `args`."""
        outcome = self.driver.execute_async_script(
            f"""
            const args = [...arguments], done = args.pop()
            import(new URL('{name}.js', document.baseURI)).then((m) => done([{expression}]), (e) => done(String(e)))
            """,
            *arguments,
        )
        self.assertIsInstance(outcome, list, outcome)
        return outcome[0]

    def converse(self, *inputs):
        return self.run_module("conversation", "args[0].reduce(m.conversationAfter, m.emptyConversation)", inputs)

    def seqs(self, conversation):
        return [message["seq"] for message in conversation["messages"]]

    def test_what_comes_twice_is_kept_once_and_in_order(self):
        again = {**OPENING, "recovered": True, "seq": 4, "messages": [{"seq": 2}, {"seq": 3}, {"seq": 4}]}
        conversation = self.converse(
            {"type": "joined", "reply": OPENING},
            {"type": "message", "seq": 4},
            {"type": "joined", "reply": again},
            {"type": "message", "seq": 3},
        )
        self.assertEqual(self.seqs(conversation), [1, 2, 3, 4])
        self.assertEqual(conversation["seq"], 4)

    def test_what_was_not_recovered_is_replaced(self):
        fresh = {"epoch": "e2", "seq": 1, "read": 1, "recovered": False, "messages": [{"seq": 1, "from": "c"}]}
        conversation = self.converse({"type": "joined", "reply": OPENING}, {"type": "joined", "reply": fresh})
        self.assertEqual([message["from"] for message in conversation["messages"]], ["c"])
        self.assertEqual((conversation["epoch"], conversation["seq"], conversation["read"]), ("e2", 1, 1))

    def test_a_draft_acknowledged_after_its_recovery_is_not_doubled(self):
        draft = {"key": "k", "body": "hi", "time": 1}
        stored = {**OPENING, "recovered": True, "seq": 3, "messages": [{"seq": 3, "from": "a", "body": "hi"}]}
        conversation = self.converse(
            {"type": "joined", "reply": OPENING},
            {"type": "composed", "draft": draft},
            {"type": "joined", "reply": stored},
            {"type": "sent", "key": "k", "from": "a", "reply": {"seq": 3, "time": 1, "duplicate": True}},
        )
        self.assertEqual((self.seqs(conversation), conversation["drafts"]), ([1, 2, 3], []))

    def test_only_the_refusals_end_the_coming_back(self):
        codes = [1000, 1006, 4000, 4003, 4499, 4500, 4506, 4999]
        self.assertEqual(
            self.run_module("reconnect", "args[0].map(m.comesBack)", codes), [True] * 5 + [False] * 3
        )

    def test_the_back_off_is_jittered_between_bounds(self):
        longest = self.run_module("reconnect", "[0, 1, 2, 99].map((n) => m.reconnectDelay(n, 0, () => 1))")
        self.assertEqual(longest, [500, 1000, 2000, 20_000])
        self.assertEqual(self.run_module("reconnect", "m.reconnectDelay(5, 3, () => 0)"), 3000)

    def phone(self, *pushes, focused=False, read=0):
        place = {"isFocused": focused, "readUpTo": {"room": "r", "epoch": "e", "seq": read}}
        return self.run_module("phone", "args[0].reduce((p, n) => m.phoneAfter(p, n, args[1]), [])", pushes, place)

    def test_a_push_replaces_the_one_with_its_collapse_id(self):
        shown = self.phone(push(1, "first"), push(2, "other"), push(1, "edited"))
        self.assertEqual([notification["body"] for notification in shown], ["other", "edited"])

    def test_only_what_may_breaks_through_a_focus(self):
        urgent = push(2, "urgent", level="time-sensitive")
        shown = self.phone(push(1, "plain"), urgent, push(3, "anyway", anyway=True), focused=True)
        quiet = {notification["body"]: notification["isQuiet"] for notification in shown}
        self.assertEqual(quiet, {"plain": True, "urgent": False, "anyway": False})

    def test_a_text_under_a_key_is_the_key_with_its_arguments(self):
        """As on a phone whose app has no text under it."""
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
        shown = [(card["title"], card["subtitle"], card["body"]) for card in self.phone(digest, plain)]
        self.assertEqual(
            shown, [("7 messages in 2 rooms", "two before one", "first line"), ("Ann", "", "New message")]
        )

    def test_what_was_read_does_not_come_to_the_phone(self):
        shown = self.phone(push(1, "read"), push(2, "new"), read=1)
        self.assertEqual([notification["body"] for notification in shown], ["new"])

    def test_a_focus_is_shown_only_on_a_clear_yes(self):
        entries = [None, {"isFocused": None}, {"isFocused": False}, {"isFocused": True}]
        self.assertEqual(
            self.run_module("presence", "args[0].map((e) => m.isSilenced(e))", entries), [False, False, False, True]
        )


def push(seq, text, level="active", anyway=False):
    return {
        "payload": {
            "aps": {"alert": {"title": "Alice", "body": text}, "thread-id": "r", "interruption-level": level},
            "communication": {"sender": {"id": "a", "name": "Alice"}, "notifyAnyway": anyway},
            "message": {"room": "r", "epoch": "e", "seq": seq},
        },
        "headers": {"apns-id": f"{seq} {text}", "apns-collapse-id": str(seq)},
        "time": 1,
    }


if __name__ == "__main__":
    unittest.main()
