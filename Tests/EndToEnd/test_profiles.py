# SPDX-License-Identifier: Apache-2.0
"""Profiles that a backend sets: the name, the picture and the address of a user without a token of that user."""

import pytest

from api import call
from people import pushed_sender
from relay import run

RELAY_OPTIONS = ("--presence-grace", "0")
HASH = "0f" * 32
PICTURE = {"avatar": "https://example.org/ann.png", "avatarSHA256": HASH}


def put(circle, user, body):
    return call(circle.relay, "PUT", f"/v1/users/{user}", body)


@pytest.fixture
def bob(circle):
    return circle.away("bob")


def sender(circle, bob, text):
    circle.send(text)
    return bob.phone.ring(text)["payload"]["communication"]["sender"]


def test_a_profile_reaches_phones(circle, bob):
    alice = circle.alice.user
    answer = put(circle, alice, {"handle": "+4930123", "handleType": "phoneNumber"} | PICTURE)
    wanted = {"handle": "+4930123", "handleType": "phoneNumber"} | PICTURE
    assert answer.status == 200 and answer.json == {"user": alice, "name": "Alice"} | wanted
    assert sender(circle, bob, "one").items() >= wanted.items()
    # A `hello` with a name does not remove the address.
    circle.back(circle.alice, name="Alice")
    assert sender(circle, bob, "two").items() >= wanted.items()
    # An absent member of the profile does not change, and null removes it.
    put(circle, alice, {"handle": None})
    changed = sender(circle, bob, "three")
    assert changed["handle"] == alice and "handleType" not in changed and changed["avatarSHA256"] == HASH
    put(circle, alice, {"avatar": "https://example.org/other.png"})
    assert "avatarSHA256" not in sender(circle, bob, "four")


def test_the_type_of_a_handle_and_the_hash_of_a_picture_change_alone(circle, bob):
    alice = circle.alice.user
    profile = {"user": alice, "name": "Alice", "handle": "+4930123", "avatar": PICTURE["avatar"]}
    assert put(circle, alice, {"handle": "+4930123", "avatar": PICTURE["avatar"]}).json == profile
    type, hash = {"handleType": "phoneNumber"}, {"avatarSHA256": HASH}
    for change, wanted in (
        (type, profile | type),
        (hash, profile | type | hash),
        ({"handleType": None}, profile | hash),
        (type, profile | type | hash),
        ({"avatarSHA256": None}, profile | type),
        ({"handleType": ""}, profile),
    ):
        answer = put(circle, alice, change)
        assert (answer.status, answer.json) == (200, wanted), change
    assert sender(circle, bob, "one").items() >= {"handle": "+4930123", "avatar": PICTURE["avatar"]}.items()


def test_a_refused_profile_changes_nothing(circle):
    alice = circle.alice.user
    for change in ({"name": "Eve", "handleType": "phoneNumber"}, {"name": "Eve", "avatarSHA256": HASH}):
        assert put(circle, alice, change).status == 422
    before = {"handle": "+4930123", "handleType": "phoneNumber"}
    assert put(circle, alice, before).json == {"user": alice, "name": "Alice"} | before
    assert put(circle, alice, {"handle": None, "handleType": "phoneNumber"}).problem["at"] == "/handleType"
    assert put(circle, alice, {}).json == {"user": alice, "name": "Alice"} | before


def test_a_new_name_is_shown_immediately(circle):
    carol = circle.live("carol", name="Carol")
    circle.alice.expect("presence", user=carol.user)
    assert put(circle, carol.user, {"name": "Caroline"}).json["name"] == "Caroline"
    assert circle.alice.expect("presence", user=carol.user, name="Caroline")


def test_the_profile_of_an_unknown_user_is_kept(circle, names, bob):
    (user,) = names("shop")
    assert put(circle, user, {"name": "The shop"}).json == {"user": user, "name": "The shop"}
    body = {"from": user, "push": {"body": "on its way"}}
    call(circle.relay, "POST", f"/v1/users/{bob.user}/notifications", body)
    assert bob.phone.ring("on its way")["payload"]["aps"]["alert"]["title"] == "The shop"


def test_a_wrong_profile_is_refused(circle):
    """`BadFieldsTests` has all cases."""
    answer = put(circle, circle.alice.user, {"nmae": "x"})
    assert (answer.status, answer.problem["code"], answer.problem["at"]) == (422, "bad_request", "/nmae")


def test_a_profile_is_for_backends(start, secret):
    relay = start(secret=secret)
    assert call(relay, "PUT", "/v1/users/alice", {}, token=relay.token("alice")).status == 403


def test_a_picture_is_loaded_over_https(relay, start, secret, connect, names):
    (user,) = names("ann")
    session = connect(user, avatar="https://example.org/ann.png")
    assert session.welcome["user"] == user
    guarded = start(secret=secret)
    token = guarded.token(user, avatar="http://example.org/ann.png")
    answer = call(guarded, "GET", f"/v1/users/{user}/preferences", token=token)
    assert answer.status == 401 and "avatar" in str(answer.json)


def test_a_token_of_the_command_has_a_handle(start, connect, secret, api_keys, backend, names):
    alice, bob, room = names("alice", "bob", "room")
    relay = start("--presence-grace", "0", "--api-keys-file", api_keys, secret=secret)
    handle = ("--handle", "+4930123", "--handle-type", "phoneNumber")
    made = run("token", "--secret-file", secret, "--user", alice, "--room", "*=join,send,create,presence", *handle)
    writer = connect(relay, token=made.stdout.strip())
    reader = connect(relay, token=relay.token(bob))
    writer.join(room)
    reader.join(room)
    sender = pushed_sender(writer, reader, relay, backend, room)
    assert (sender["handle"], sender["handleType"]) == ("+4930123", "phoneNumber")
    for wrong in (["--handle-type", "x"], ["--handle", ""], ["--avatar", "http://a.example/"]):
        assert run("token", "--secret-file", secret, "--user", alice, *wrong).returncode != 0
