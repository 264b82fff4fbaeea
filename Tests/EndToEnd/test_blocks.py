# SPDX-License-Identifier: Apache-2.0
"""Blocks: a blocked user sees the blocker as an unknown user, causes no pushes, and receives no notice of the block."""

import json

import pytest

from api import call
from database import value
from relay import Relay
from waiting import eventually

RELAY_OPTIONS = ("--presence-grace", "0")


@pytest.fixture
def pair(circle):
    """Alice's circle, and Bob in the room with a Focus on."""
    bob = circle.live("bob", name="Bob")
    bob.focus(True)
    circle.alice.expect("presence", user=bob.user, isFocused=True)
    circle.alice.forget_events()
    return circle, bob


def entry(session, user):
    return session.request("presence", users=[user])["presence"][0]


def unknown(user):
    """Returns the presence entry of an unknown user."""
    return {"user": user, "online": False, "isFocused": None}


def test_a_blocked_user_does_not_see_the_blocker(pair):
    circle, bob = pair
    alice = circle.alice
    assert entry(alice, bob.user)["online"] is True
    bob.block(alice)
    seen = alice.expect("presence", user=bob.user)
    assert {key: seen[key] for key in seen if key != "type"} == unknown(bob.user)
    assert entry(alice, bob.user) == unknown(bob.user)
    assert alice.request("watch", users=[bob.user])["presence"] == [unknown(bob.user)]
    entries = {entry["user"]: entry for entry in alice.join(circle.room)["members"]}
    assert entries[bob.user] == unknown(bob.user)
    entries = {entry["user"]: entry for entry in alice.request("presence", room=circle.room)["presence"]}
    assert entries[bob.user] == unknown(bob.user)


def test_a_blocker_still_sees_the_blocked_user(pair):
    circle, bob = pair
    bob.block(circle.alice)
    assert entry(bob.session, circle.alice.user)["online"] is True
    bob.session.forget_events()
    circle.alice.request("activity", state="idle")
    assert bob.session.expect("presence", user=circle.alice.user)["activity"] == "idle"


def test_a_blocked_user_receives_no_changes(pair):
    circle, bob = pair
    carol = circle.live("carol")
    bob.block(circle.alice)
    circle.alice.expect("presence", user=bob.user, online=False)
    for is_focused in (None, True):
        bob.focus(is_focused)
        carol.session.expect("presence", user=bob.user, isFocused=is_focused)
    bob.session.request("activity", state="idle")
    carol.session.expect("presence", user=bob.user, activity="idle")
    bob.prefer(shareFocus="none")
    carol.session.expect("presence", user=bob.user, isFocused=None)
    bob.session.close(1000)
    carol.session.expect("presence", user=bob.user, online=False)
    circle.back(bob)
    carol.session.expect("presence", user=bob.user, online=True)
    assert circle.alice.received("presence", user=bob.user) == []


def test_the_messages_of_both_arrive(pair):
    circle, bob = pair
    bob.block(circle.alice)
    circle.send("to bob", mentions=[bob.user])
    assert bob.session.expect("message", body="to bob")["from"] == circle.alice.user
    bob.session.send(circle.room, "to alice")
    circle.alice.expect("message", body="to alice")
    circle.alice.request("signal", room=circle.room, name="typing")
    bob.session.expect("signal", name="typing")


@pytest.mark.parametrize("push", [{}, {"kind": "call"}, {"level": "critical"}], ids=str)
def test_a_message_of_a_blocked_user_is_not_pushed_to_the_blocker(circle, push):
    bob, carol = circle.away("bob"), circle.live("carol")
    bob.block(circle.alice)
    circle.send("unheard", push=push, mentions=[bob.user])
    carol.session.send(circle.room, "heard")
    bob.phone.ring("heard")
    circle.pass_due()
    assert bob.phone.texts() == ["heard"]


def test_a_message_of_the_blocker_is_pushed_to_the_blocked_user(circle):
    bob = circle.away("bob")
    circle.alice.request("block", users=[bob.user])
    circle.send("hi")
    bob.phone.ring("hi")


def test_a_block_ends(pair):
    circle, bob = pair
    before = entry(circle.alice, bob.user)
    bob.block(circle.alice)
    circle.alice.expect("presence", user=bob.user, online=False)
    bob.unblock(circle.alice)
    again = circle.alice.expect("presence", user=bob.user)
    assert again["name"] == "Bob" and again["isFocused"] is True
    assert entry(circle.alice, bob.user) == before
    bob.session.close(1000)
    circle.alice.expect("presence", user=bob.user, online=False)
    circle.send("hi")
    bob.phone.ring("hi")


def test_a_repeated_block_or_unblock_has_no_effect(pair):
    circle, bob = pair
    for _ in range(2):
        bob.session.request("block", users=[circle.alice.user, circle.alice.user])
    assert entry(circle.alice, bob.user) == unknown(bob.user)
    for _ in range(2):
        bob.session.request("unblock", users=[circle.alice.user, "never-blocked"])
    assert entry(circle.alice, bob.user)["online"] is True


def test_a_blocker_looks_like_an_unknown_user(circle):
    """Replies, events and errors do not differ between the two."""
    bob = circle.stranger("bob", name="Bob")
    bob.block(circle.alice)
    bob.session.close(1000)
    alice, unknown_user = circle.alice, f"x{bob.user[1:]}"
    for ask in (
        lambda user: entry(alice, user),
        lambda user: alice.request("watch", users=[user])["presence"][0],
        lambda user: alice.request("block", users=[user])["type"],
        lambda user: alice.refusal("presence", users=[user, "no name"])["message"],
    ):
        seen = [json.dumps(ask(user)).replace(unknown_user, bob.user) for user in (bob.user, unknown_user)]
        assert seen[0] == seen[1]
    alice.forget_events()
    circle.back(bob)
    carol = circle.stranger("carol")
    alice.request("watch", users=[carol.user])
    carol.session.request("activity", state="idle")
    alice.expect("presence", user=carol.user, activity="idle")
    assert alice.received("presence", user=bob.user) == []


def test_the_online_count_does_not_reveal_a_block(pair):
    circle, bob = pair
    counts = [circle.alice.join(circle.room)["onlineCount"]]
    bob.block(circle.alice)
    counts.append(circle.alice.join(circle.room)["onlineCount"])
    assert counts == [2, 1]


def test_a_blocked_user_receives_no_receipts(gather):
    circle = gather(configuration={"rooms": [{"match": "*", "receipts": True}]})
    bob, carol = circle.live("bob", acks=True), circle.live("carol", acks=True)
    bob.block(circle.alice)
    seq = circle.send("hi")["seq"]
    for person in (bob, carol):
        person.session.request("received", room=circle.room, seq=seq)
        person.session.request("read", room=circle.room, seq=seq)
    circle.alice.expect("receipt", user=carol.user, kind="read")
    assert circle.alice.received("receipt", user=bob.user) == []
    # Other members still receive the receipts of the blocker.
    carol.session.expect("receipt", user=bob.user, kind="read")


def test_http_blocks_and_unblocks_users(pair):
    circle, bob = pair
    path = f"/v1/users/{bob.user}/blocks/{circle.alice.user}"
    for _ in range(2):
        answer = call(circle.relay, "PUT", path, user=bob.user, body=b"")
        assert (answer.status, answer.json) == (200, {"user": bob.user, "blocked": circle.alice.user})
    assert entry(circle.alice, bob.user) == unknown(bob.user)
    for _ in range(2):
        assert call(circle.relay, "DELETE", path, user=bob.user).status == 204
    assert entry(circle.alice, bob.user)["online"] is True
    answer = call(circle.relay, "PUT", f"/v1/users/{bob.user}/blocks/{bob.user}", b"", user=bob.user)
    assert (answer.status, answer.problem["at"]) == (422, "/path/other")
    answer = call(circle.relay, "PUT", f"/v1/users/{bob.user}/blocks/a%2Cb", b"", user=bob.user)
    assert (answer.status, answer.problem["at"]) == (422, "/path/other")


# Limits


@pytest.mark.parametrize("type", ["block", "unblock"])
@pytest.mark.parametrize("users", [None, "bob", [7], ["no name"], ["me"], {}, [f"u{n}" for n in range(257)]], ids=lambda _: "")
def test_wrong_users_are_refused(circle, type, users):
    assert circle.alice.refusal(type, users=users)["code"] == "bad_request"


def test_users_cannot_block_themselves(circle):
    bob = circle.stranger("bob")
    assert bob.session.refusal("block", users=[circle.alice.user, bob.user])["code"] == "bad_request"
    # The relay rejected the whole request.
    assert entry(circle.alice, bob.user)["online"] is True
    bob.session.request("unblock", users=[bob.user])


@pytest.mark.parametrize("end", [Relay.stop, Relay.kill], ids=["stop", "kill"])
def test_a_thousand_blocks_outlive_the_relay(gather, end):
    circle = gather("--presence-grace", 0)
    bob = circle.live("bob")
    users = [f"user-{number}" for number in range(999)] + [circle.alice.user]
    for first in range(0, 1_000, 250):
        bob.session.request("block", users=users[first : first + 250])
    bob.unblock(circle.stranger("carol"))
    bob.session.close(1000)
    circle.restart(end)
    session = circle.back(bob)
    session.join(circle.room)
    assert entry(circle.alice, bob.user) == unknown(bob.user)
    late = circle.back(type("", (), {"user": "user-500"}))
    late.join(circle.room)
    assert entry(late, bob.user) == unknown(bob.user)
    session.request("unblock", users=["user-500"])
    assert eventually(lambda: entry(late, bob.user)["online"])
    assert entry(circle.alice, bob.user) == unknown(bob.user)
    session.close(1000)
    late.expect("presence", user=bob.user, online=False)
    circle.send("unheard")
    late.send(circle.room, "heard")
    bob.phone.ring("heard")
    circle.pass_due()
    assert bob.phone.texts() == ["heard"]


def test_a_user_has_no_access_to_the_blocks_of_another(start, secret):
    relay = start(secret=secret)
    token = relay.token("bob")
    assert call(relay, "PUT", "/v1/users/me/blocks/alice", b"", token=token).status == 200
    for method in ("PUT", "DELETE"):
        for other in ("alice", "nobody"):
            answer = call(relay, method, f"/v1/users/{other}/blocks/bob", b"" if method == "PUT" else None, token=token)
            assert (answer.status, answer.problem["code"]) == (403, "forbidden")


def test_blocks_are_limited_and_make_no_rows_of_unknown_users(start, connect):
    relay = start("--limits-request-rate", 0)
    alice = connect(relay, "alice")

    def users():
        return value(relay, "SELECT count(*) FROM users")

    alice.request("block", users=["first"])
    before = users()
    for turn in range(5):
        names = [f"new.{turn}.{number}" for number in range(256)]
        alice.request("block", users=names)
        alice.request("unblock", users=names)
    assert users() == before
    for turn in range(3):
        alice.request("block", users=[f"kept.{turn}.{number}" for number in range(256)])
    error = alice.refusal("block", users=[f"more.{number}" for number in range(256)])
    assert (error["code"], error["temporary"]) == ("too_large", False)
    alice.request("unblock", users=["first"])
    alice.request("block", users=[f"kept.0.{number}" for number in range(256)])
    assert users() == before
