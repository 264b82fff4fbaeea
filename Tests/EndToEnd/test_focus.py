# SPDX-License-Identifier: Apache-2.0
"""Focus: reports over HTTP and in a session, and the users who see it.

`FocusLedgerTests` and `FocusDecayTests` prove the order of reports, the state of several devices, and every end.
"""

import pytest

from api import call
from people import HOUR, now


@pytest.fixture
def pair(connect, names):
    """Alice, who may see Bob's Focus, and Bob."""
    alice_name, bob_name, room = names("alice", "bob", "room")
    alice, bob = connect(alice_name), connect(bob_name)
    alice.join(room)
    bob.join(room)
    alice.expect("presence", user=bob_name)
    alice.inbox.clear()
    return alice, bob, room


@pytest.fixture
def report(relay):
    """Sends the request that an intent handler on a user's phone sends. Returns the fields of the answer."""

    def report(user, is_focused, **fields):
        fields = {"isFocused": is_focused, "device": "phone", "source": "intent"} | fields
        answer = call(relay, "PUT", f"/v1/users/{user}/focus", fields, user=user)
        assert answer.status == 200, answer
        return answer.json

    return report


def shown(session, user):
    """Returns the Focus of `user` as `session` sees it now."""
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
    # Between two Focus modes a device reports `false` for a moment, so `false` has to settle.
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


def test_a_users_own_sessions_see_the_focus(pair, report):
    _, bob, _ = pair
    report(bob.user, True)
    bob.expect("presence", user=bob.user, isFocused=True)


def test_me_is_the_user_of_the_request(pair, relay):
    alice, bob, _ = pair
    answer = call(relay, "PUT", "/v1/users/me/focus", {"isFocused": True}, user=bob.user)
    assert (answer.status, answer.json["applied"]) == (200, True)
    alice.expect("presence", user=bob.user, isFocused=True)


def test_a_user_in_no_room_sees_their_own_focus(connect, names, relay):
    (user,) = names("alone")
    alone = connect(user)
    since = alone.request("focus", isFocused=True)["focusSince"]
    (entry,) = alone.request("presence", users=[user])["presence"]
    for seen in (entry, call(relay, "GET", "/v1/users/me/presence", user=user).json):
        assert (seen["isFocused"], seen["focusSince"]) == (True, since)


def test_a_focus_is_reported_over_the_socket(pair):
    alice, bob, _ = pair
    reply = bob.request("focus", isFocused=True, source="manual")
    assert (reply["type"], reply["applied"], reply["isFocused"]) == ("ok", True, True)
    assert "focusSince" in reply
    alice.expect("presence", user=bob.user, isFocused=True)
    # The report was for the device `default`.
    assert bob.request("focus", isFocused=None, device="default")["applied"] is True
    alice.expect("presence", user=bob.user, isFocused=None)


def test_the_device_of_hello_is_the_default(connect, pair):
    _, bob, _ = pair
    tablet = connect(bob.user, device="tablet")
    assert tablet.request("focus", isFocused=True)["isFocused"] is True
    assert bob.request("focus", isFocused=None, device="tablet")["applied"] is True
    # A session gets no event of a change that it has made. If the relay merges this change with an earlier one of
    # another session, all sessions get the event.
    tablet.expect("presence", user=bob.user, isFocused=None)


def test_null_ends_a_focus_immediately(pair, report):
    alice, bob, _ = pair
    report(bob.user, True)
    alice.expect("presence", user=bob.user, isFocused=True)
    assert report(bob.user, None)["isFocused"] is None
    assert "focusSince" not in alice.expect("presence", user=bob.user, isFocused=None)


def test_a_device_without_authorization_has_no_focus(pair, report):
    alice, bob, _ = pair
    report(bob.user, True, authorization="authorized")
    alice.expect("presence", user=bob.user, isFocused=True)
    answer = report(bob.user, True, authorization="denied")
    assert (answer["applied"], answer["isFocused"]) == (True, None)
    alice.expect("presence", user=bob.user, isFocused=None)


def test_a_focus_that_is_not_renewed_ends_and_its_number_is_free(pair, report):
    alice, bob, _ = pair
    answer = report(bob.user, True, number=100, at=now() - 12 * HOUR + 2_000)
    assert answer["isFocused"] is True
    alice.expect("presence", user=bob.user, isFocused=True)
    alice.expect("presence", user=bob.user, isFocused=None)
    assert report(bob.user, True, number=1)["applied"] is True


def test_a_new_registration_resets_the_number_of_a_device(pair, report, phone, relay):
    _, bob, _ = pair
    assert report(bob.user, True, number=100)["applied"] is True
    phone(relay, bob)
    assert report(bob.user, False, number=1)["applied"] is True


def test_only_users_who_share_a_room_see_a_focus(connect, names, pair, report):
    alice, bob, room = pair
    carol_name, elsewhere = names("carol", "elsewhere")
    carol = connect(carol_name)
    carol.join(elsewhere)
    report(bob.user, True)
    alice.expect("presence", user=bob.user, isFocused=True)
    assert carol.received("presence") == []
    assert shown(alice, bob.user) is True
    assert shown(carol, bob.user) is None
    # Sharing a room ends when one of the two leaves it.
    alice.request("leave", room=room)
    assert shown(alice, bob.user) is None


def test_a_focus_outlives_the_session(connect, pair, report):
    alice, bob, room = pair
    bob.close(1000)
    alice.expect("presence", user=bob.user, online=False)
    assert report(bob.user, True)["isFocused"] is True
    presence = alice.expect("presence", user=bob.user)
    assert (presence["online"], presence["isFocused"]) == (False, True)
    connect(bob.user)
    presence = alice.expect("presence", user=bob.user)
    assert (presence["online"], presence["isFocused"]) == (True, True)


def test_a_focus_outlives_a_restart(start, connect):
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
