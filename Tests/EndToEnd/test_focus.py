# SPDX-License-Identifier: Apache-2.0
"""Focus: reported by one short HTTP call, shown to those who share a room."""

import pytest

from api import call
from people import HOUR, now
from waiting import eventually


@pytest.fixture
def pair(connect, names):
    """Alice, who is to see Bob's Focus, and Bob."""
    alice_name, bob_name, room = names("alice", "bob", "room")
    alice, bob = connect(alice_name), connect(bob_name)
    alice.join(room)
    bob.join(room)
    alice.expect("presence", user=bob_name)
    alice.inbox.clear()
    return alice, bob, room


@pytest.fixture
def report(relay):
    """What the intent handler of a user's phone calls; returns the answer's fields."""

    def report(user, is_focused, **fields):
        fields = {"isFocused": is_focused, "device": "phone", "source": "intent"} | fields
        answer = call(relay, "PUT", f"/v1/users/{user}/focus", fields, user=user)
        assert answer.status == 200, answer
        return answer.json

    return report


def shown(session, user):
    """Whether `session` sees that `user` is focused, as a new question answers it."""
    (entry,) = session.request("presence", users=[user])["presence"]
    return entry["isFocused"]


def test_a_focus_reaches_the_other_as_presence(pair, report):
    alice, bob, room = pair
    before = now()
    answer = report(bob.user, True)
    assert (answer["applied"], answer["isFocused"]) == (True, True)
    assert "settlesAt" not in answer
    presence = alice.expect("presence", user=bob.user)
    assert (presence["online"], presence["isFocused"], presence["focusSince"]) == (True, True, answer["focusSince"])
    assert before - 60_000 < presence["focusSince"] < now() + 60_000
    entries = {entry["user"]: entry for entry in alice.join(room)["members"]}
    assert entries[bob.user]["isFocused"] is True and entries[alice.user]["isFocused"] is None
    # Between two Focus modes a device says no for a moment, so a no has to settle.
    again = report(bob.user, False)
    assert (again["applied"], again["isFocused"], again["focusSince"]) == (True, True, answer["focusSince"])
    assert now() - 60_000 < again["settlesAt"] < now() + 60_000
    presence = alice.expect("presence", user=bob.user, isFocused=False)
    assert "focusSince" not in presence
    # The session gets the same answer as the HTTP call.
    since = bob.request("focus", isFocused=True, device="phone")["focusSince"]
    settling = bob.request("focus", isFocused=False, device="phone")
    assert (settling["isFocused"], settling["focusSince"]) == (True, since)
    assert settling["settlesAt"] > since


def test_ones_own_sessions_see_it_too(pair, report):
    _, bob, _ = pair
    report(bob.user, True)
    bob.expect("presence", user=bob.user, isFocused=True)


def test_me_is_the_user_of_the_request(pair, relay):
    alice, bob, _ = pair
    answer = call(relay, "PUT", "/v1/users/me/focus", {"isFocused": True}, user=bob.user)
    assert (answer.status, answer.json["applied"]) == (200, True)
    alice.expect("presence", user=bob.user, isFocused=True)


def test_ones_own_is_seen_without_any_room(connect, names, relay):
    (user,) = names("alone")
    alone = connect(user)
    since = alone.request("focus", isFocused=True)["focusSince"]
    (entry,) = alone.request("presence", users=[user])["presence"]
    for seen in (entry, call(relay, "GET", "/v1/users/me/presence", user=user).json):
        assert (seen["isFocused"], seen["focusSince"]) == (True, since)


def test_it_can_be_reported_over_the_socket(pair):
    alice, bob, _ = pair
    reply = bob.request("focus", isFocused=True, source="manual")
    assert (reply["type"], reply["applied"], reply["isFocused"]) == ("ok", True, True)
    assert "focusSince" in reply
    alice.expect("presence", user=bob.user, isFocused=True)
    # Without a device it was the device `default`.
    assert bob.request("focus", isFocused=False, device="default")["applied"] is True
    alice.expect("presence", user=bob.user, isFocused=False)


def test_the_device_of_hello_is_the_default(connect, pair):
    _, bob, _ = pair
    tablet = connect(bob.user, device="tablet")
    assert tablet.request("focus", isFocused=True)["isFocused"] is True
    assert bob.request("focus", isFocused=False, device="tablet")["applied"] is True
    bob.expect("presence", user=bob.user, isFocused=False)


def test_null_is_not_told(pair, report):
    alice, bob, _ = pair
    report(bob.user, True)
    alice.expect("presence", user=bob.user, isFocused=True)
    assert report(bob.user, None)["isFocused"] is None
    assert "focusSince" not in alice.expect("presence", user=bob.user, isFocused=None)


@pytest.mark.parametrize("authorization", ["denied", "restricted", "notDetermined", "notSupported"])
def test_without_authorization_nothing_is_known(pair, report, authorization):
    alice, bob, _ = pair
    report(bob.user, True, authorization="authorized")
    alice.expect("presence", user=bob.user, isFocused=True)
    answer = report(bob.user, True, authorization=authorization)
    assert (answer["applied"], answer["isFocused"]) == (True, None)
    alice.expect("presence", user=bob.user, isFocused=None)


def test_a_number_that_is_not_above_the_newest_is_ignored(pair, report):
    alice, bob, _ = pair
    assert report(bob.user, True, number=5)["applied"] is True
    for number in (5, 4, 0):
        answer = report(bob.user, False, number=number)
        assert (answer["applied"], answer["isFocused"]) == (False, True)
    # The number decides, though this report is older by its time.
    assert report(bob.user, False, number=6, at=now() - 30_000)["applied"] is True
    alice.expect("presence", user=bob.user, isFocused=False)


def test_without_a_number_an_older_report_is_ignored(pair, report):
    _, bob, _ = pair
    at = now() - 20_000
    assert report(bob.user, True, at=at)["applied"] is True
    answer = report(bob.user, False, at=at - 1)
    assert (answer["applied"], answer["isFocused"]) == (False, True)
    assert report(bob.user, False, at=at - 1, number=9)["applied"] is False
    assert report(bob.user, False, at=at)["applied"] is True
    assert report(bob.user, True, at=at + 1)["applied"] is True
    assert report(bob.user, False)["applied"] is True


@pytest.mark.parametrize("ahead", [120_000, HOUR, 10**15])
def test_a_clock_that_is_far_ahead_blocks_nothing(pair, report, ahead):
    _, bob, _ = pair
    assert report(bob.user, True, at=now() + ahead)["applied"] is True
    assert report(bob.user, False)["applied"] is True


def test_a_clock_that_is_a_little_ahead_is_believed(pair, report):
    _, bob, _ = pair
    assert report(bob.user, True, at=now() + 50_000)["applied"] is True
    assert report(bob.user, False)["applied"] is False


def test_a_yes_that_is_never_renewed_is_forgotten_with_its_number(pair, report):
    alice, bob, _ = pair
    answer = report(bob.user, True, number=100, at=now() - 12 * HOUR + 2_000)
    assert answer["isFocused"] is True
    alice.expect("presence", user=bob.user, isFocused=True)
    alice.expect("presence", user=bob.user, isFocused=None)
    assert report(bob.user, True, number=1)["applied"] is True


def test_what_is_renewed_is_not_forgotten(pair, report):
    alice, bob, _ = pair
    report(bob.user, True, at=now() - 12 * HOUR + 1_500)
    since = alice.expect("presence", user=bob.user, isFocused=True)["focusSince"]
    assert report(bob.user, True)["focusSince"] == since
    report(bob.user, True, device="other", at=now() - 12 * HOUR + 2_000)
    report(alice.user, True, at=now() - 12 * HOUR + 2_500)
    # By now all that was not renewed has decayed.
    bob.expect("presence", user=alice.user, isFocused=None)
    assert shown(alice, bob.user) is True
    assert alice.heard("presence", user=bob.user) == []


def test_each_device_counts_its_own_numbers(pair, report):
    _, bob, _ = pair
    assert report(bob.user, True, number=100)["applied"] is True
    assert report(bob.user, True, number=1, device="tablet")["applied"] is True


def test_registering_a_device_anew_forgets_its_number(pair, report, phone, relay):
    _, bob, _ = pair
    assert report(bob.user, True, number=100)["applied"] is True
    phone(relay, bob)
    assert report(bob.user, False, number=1)["applied"] is True


def test_any_yes_is_yes_else_any_no_is_no(pair, report):
    alice, bob, _ = pair
    assert report(bob.user, False, device="mac")["isFocused"] is False
    assert report(bob.user, True, device="phone")["isFocused"] is True
    assert report(bob.user, False, device="tablet")["isFocused"] is True
    assert report(bob.user, None, device="phone")["isFocused"] is False
    assert report(bob.user, None, device="tablet")["isFocused"] is False
    assert report(bob.user, None, device="mac")["isFocused"] is None
    assert shown(alice, bob.user) is None


def test_only_those_who_share_a_room_see_it(connect, names, pair, report):
    alice, bob, room = pair
    carol_name, elsewhere = names("carol", "elsewhere")
    carol = connect(carol_name)
    carol.join(elsewhere)
    report(bob.user, True)
    alice.expect("presence", user=bob.user, isFocused=True)
    assert carol.heard("presence") == []
    assert shown(alice, bob.user) is True
    assert shown(carol, bob.user) is None
    # Sharing a room ends when one of the two leaves it.
    alice.request("leave", room=room)
    assert shown(alice, bob.user) is None


def test_it_outlives_the_session_and_the_last_word_is_seen_on_return(connect, pair, report):
    alice, bob, room = pair
    bob.close(1000)
    alice.expect("presence", user=bob.user, online=False)
    assert report(bob.user, True)["isFocused"] is True
    presence = alice.expect("presence", user=bob.user)
    assert (presence["online"], presence["isFocused"]) == (False, True)
    connect(bob.user)
    presence = alice.expect("presence", user=bob.user)
    assert (presence["online"], presence["isFocused"]) == (True, True)


def test_it_outlives_a_restart(start, connect):
    relay = start()
    alice, bob = connect(relay, "alice"), connect(relay, "bob")
    alice.join("room")
    bob.join("room")
    since = bob.request("focus", isFocused=True, number=7)["focusSince"]
    bob.close(1000)
    assert relay.stop() == 0
    relay.start()
    entries = {entry["user"]: entry for entry in connect(relay, "alice").join("room")["members"]}
    bob_entry = entries["bob"]
    assert (bob_entry["online"], bob_entry["isFocused"], bob_entry["focusSince"]) == (False, True, since)
    bob = connect(relay, "bob")
    assert bob.request("focus", isFocused=False, number=7)["applied"] is False
    assert bob.request("focus", isFocused=False, number=8)["applied"] is True


def test_of_quick_changes_the_newest_is_what_remains(pair, report):
    alice, bob, _ = pair
    for number, is_focused in enumerate([True, False, True, None, True, False], start=1):
        report(bob.user, is_focused, number=number)
    eventually(lambda: alice.heard("presence", user=bob.user, isFocused=False))
    assert alice.heard("presence")[-1]["isFocused"] is False
    assert shown(alice, bob.user) is False
