# SPDX-License-Identifier: Apache-2.0
"""Profiles that a backend sets: the name, the picture and the address of a user without a token of that user."""

import pytest

import tokens
from api import call
from relay import run
from waiting import eventually

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
    # A session that says who it is does not take the address away.
    circle.back(circle.alice, name="Alice")
    assert sender(circle, bob, "two").items() >= wanted.items()
    # An absent member stays, and null clears it.
    put(circle, alice, {"handle": None})
    told = sender(circle, bob, "three")
    assert told["handle"] == alice and "handleType" not in told and told["avatarSHA256"] == HASH
    put(circle, alice, {"avatar": "https://example.org/other.png"})
    assert "avatarSHA256" not in sender(circle, bob, "four")


def test_a_new_name_shows_at_once(circle, names):
    carol = circle.live("carol", name="Carol")
    circle.alice.expect("presence", user=carol.user)
    assert put(circle, carol.user, {"name": "Caroline"}).json["name"] == "Caroline"
    assert circle.alice.expect("presence", user=carol.user, name="Caroline")


def test_a_profile_of_somebody_unknown_is_kept(circle, names, bob):
    (user,) = names("shop")
    assert put(circle, user, {"name": "The shop"}).json == {"user": user, "name": "The shop"}
    body = {"from": user, "push": {"body": "on its way"}}
    call(circle.relay, "POST", f"/v1/users/{bob.user}/notifications", body)
    assert bob.phone.ring("on its way")["payload"]["aps"]["alert"]["title"] == "The shop"


@pytest.mark.parametrize(
    "body,at",
    [
        ({"avatar": "http://example.org/a.png"}, "/avatar"),
        ({"avatar": "a.png"}, "/avatar"),
        ({"avatarSHA256": HASH}, "/avatarSHA256"),
        (PICTURE | {"avatarSHA256": "0F" * 32}, "/avatarSHA256"),
        ({"handleType": "phoneNumber"}, "/handleType"),
        ({"handle": "x" * 257}, "/handle"),
        ({"name": "x" * 257}, "/name"),
        ({"nmae": "x"}, "/nmae"),
    ],
)
def test_a_wrong_profile_is_refused(circle, body, at):
    answer = put(circle, circle.alice.user, body)
    assert (answer.status, answer.problem["code"], answer.problem["at"]) == (422, "bad_request", at)


def test_a_profile_is_for_backends(start, secret):
    relay = start(secret=secret)
    assert call(relay, "PUT", "/v1/users/alice", {}, token=relay.token("alice")).status == 403


def test_a_picture_is_loaded_over_https(relay, start, secret, connect, names):
    (user,) = names("ann")
    session = connect(user, avatar="https://example.org/ann.png")
    assert session.welcome["user"] == user
    guarded = start(secret=secret)
    token = tokens.token(secret.read_text(), tokens.claims(user, avatar="http://example.org/ann.png"))
    answer = call(guarded, "GET", f"/v1/users/{user}/preferences", token=token)
    assert answer.status == 401 and "avatar" in str(answer.json)


def test_a_token_of_the_command_has_a_handle(start, connect, secret, names, tmp_path):
    alice, bob, room = names("alice", "bob", "room")
    backend = run("api-key", "tests", "--file", tmp_path / "keys").stdout.strip()
    relay = start("--presence-grace", "0", "--api-keys-file", tmp_path / "keys", secret=secret)

    def made(user, *options):
        ended = run("token", "--secret-file", secret, "--user", user, "--room", f"{room}=join,send,push,urgent,history,presence,create", *options)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    writer = connect(relay, token=made(alice, "--handle", "+4930123", "--handle-type", "phoneNumber"))
    reader = connect(relay, token=made(bob))
    writer.join(room)
    reader.join(room)
    reader.request("device", device="phone", platform="simulator", token=bob)
    reader.close(1000)
    writer.expect("presence", user=bob, online=False)
    writer.send(room, "hi")

    def notifications():
        return call(relay, "GET", f"/v1/simulator/devices/{bob}", token=backend).json["notifications"]

    told = eventually(notifications)[0]["payload"]["communication"]["sender"]
    assert (told["handle"], told["handleType"]) == ("+4930123", "phoneNumber")
    for wrong in (["--handle-type", "x"], ["--handle", ""], ["--avatar", "http://a.example/"]):
        assert run("token", "--secret-file", secret, "--user", alice, *wrong).returncode != 0
