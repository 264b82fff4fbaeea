# SPDX-License-Identifier: Apache-2.0
"""The status of users, which presence shows."""

import pytest

from api import call
from relay import Relay

PALM = {"text": "On holiday", "emoji": "🌴"}


def presence(relay, user, **more):
    return call(relay, "GET", f"/v1/users/{user}/presence", **more).json


def test_others_see_a_status_and_its_end(relay, connect, names):
    ann, bob, eve, room = names("ann", "bob", "eve", "room")
    session, second, reader, watcher = connect(ann), connect(ann), connect(bob), connect(eve)
    session.join(room)
    reader.join(room)
    watcher.request("watch", users=[ann])
    assert session.request("status", **PALM)["status"] == PALM
    for other in (reader, watcher, second):
        assert other.expect("presence", user=ann, status=PALM)["online"] is True
    # A new status replaces the whole status.
    assert session.request("status", text="Back soon", emoji=None)["status"] == {"text": "Back soon"}
    assert "emoji" not in reader.expect("presence", user=ann, status={"text": "Back soon"})["status"]
    members = {entry["user"]: entry for entry in connect(eve).join(room)["members"]}
    assert members[ann]["status"] == {"text": "Back soon"} and "status" not in members[bob]
    assert session.request("status")["status"] is None
    while "status" in reader.expect("presence", user=ann):
        pass
    assert "status" not in presence(relay, ann)
    # The session that sets a status knows it from the reply.
    assert session.received("presence", user=ann) == []


def test_a_status_stays_while_the_user_is_offline(relay, connect, names):
    ann, bob = names("ann", "bob")
    session, watcher = connect(ann), connect(bob)
    session.request("status", **PALM)
    watcher.request("watch", users=[ann])
    session.close()
    assert watcher.expect("presence", user=ann, online=False)["status"] == PALM


def test_a_status_is_hidden_with_the_online_state(relay, connect, names):
    ann, bob, eve = names("ann", "bob", "eve")
    session, watcher, blocked = connect(ann), connect(bob), connect(eve)
    for other in (watcher, blocked):
        other.request("watch", users=[ann])
    session.request("block", users=[eve])
    assert "status" not in blocked.expect("presence", user=ann, online=False)
    session.request("status", **PALM)
    watcher.expect("presence", user=ann, status=PALM)
    session.request("preferences", shareOnline="none")
    assert "status" not in watcher.expect("presence", user=ann, online=False)
    session.request("status", text="hidden")
    for other in (watcher, blocked):
        assert other.request("presence", users=[ann])["presence"] == [{"user": ann, "online": False, "isFocused": None}]
        assert other.received("presence", user=ann, status={"text": "hidden"}) == []
    assert presence(relay, ann)["status"] == {"text": "hidden"}, "a backend sees all"


def test_a_backend_sets_the_status_of_anybody(relay, connect, names):
    ann, bob = names("ann", "bob")
    watcher = connect(bob)
    watcher.request("watch", users=[ann])
    answer = call(relay, "PUT", f"/v1/users/{ann}/status", PALM)
    assert (answer.status, answer.json) == (200, {"status": PALM})
    assert watcher.expect("presence", user=ann, status=PALM)["online"] is False
    call(relay, "PUT", f"/v1/users/{ann}", {"name": "Ann"})
    assert watcher.expect("presence", user=ann, name="Ann")["status"] == PALM
    assert call(relay, "PUT", f"/v1/users/{ann}/status", {}).json == {"status": None}
    assert "status" not in presence(relay, ann)


def test_a_status_ends_at_its_time(relay, connect, names):
    ann, bob, room = names("ann", "bob", "room")
    session, reader = connect(ann), connect(bob)
    session.join(room)
    reader.join(room)
    until = session.request("ping")["time"] + 1_500
    assert session.request("status", text="Lunch", until=until)["status"] == {"text": "Lunch", "until": until}
    reader.expect("presence", user=ann, status={"text": "Lunch", "until": until})
    reader.inbox.clear()
    assert "status" not in reader.expect("presence", user=ann)
    assert reader.request("ping")["time"] >= until
    assert "status" not in session.expect("presence", user=ann)


@pytest.mark.parametrize("end", [Relay.stop, Relay.kill], ids=["stop", "kill"])
def test_a_status_survives_a_restart_and_ends_after_it(start, connect, end):
    relay = start()
    ann, bob = connect(relay, "ann"), connect(relay, "bob")
    for session in (ann, bob):
        session.join("room")
    until = ann.request("ping")["time"] + 6_000
    bob.request("status", **PALM)
    ann.request("status", text="Lunch", until=until)
    end(relay)
    relay.start()
    bob = connect(relay, "bob")
    members = {entry["user"]: entry for entry in bob.join("room")["members"]}
    assert members["bob"]["status"] == PALM
    if members["ann"].get("status"):  # On a slow machine the status has ended by now.
        assert members["ann"]["status"] == {"text": "Lunch", "until": until}
        while "status" in bob.expect("presence", user="ann"):
            pass
    assert bob.request("ping")["time"] >= until
    assert "status" not in presence(relay, "ann")


@pytest.mark.parametrize(
    "body, at",
    [
        ({"text": "x" * 101}, "/text"),
        ({"txet": "x"}, "/txet"),
    ],
)
def test_a_wrong_status_changes_nothing(relay, connect, names, body, at):
    (ann,) = names("ann")
    session = connect(ann)
    session.request("status", **PALM)
    answer = call(relay, "PUT", f"/v1/users/{ann}/status", body)
    assert (answer.status, answer.problem["code"], answer.problem["at"]) == (422, "bad_request", at)
    if at != "/txet":
        assert session.refusal("status", **body)["code"] == "bad_request"
    assert presence(relay, ann)["status"] == PALM


def test_bytes_that_are_not_utf8_are_refused(relay, names):
    (ann,) = names("ann")
    answer = call(relay, "PUT", f"/v1/users/{ann}/status", b'{"text":"\xff"}')
    assert answer.status == 400 and "status" not in presence(relay, ann)


def test_the_longest_status_is_accepted(relay, connect, names):
    (ann,) = names("ann")
    longest = {"text": "🌴" * 80, "emoji": "x" * 32}
    assert connect(ann).request("status", **longest)["status"] == longest


def test_a_token_needs_the_right_to_change_preferences(start, connect, secret, api_keys, backend):
    relay = start("--api-keys-file", api_keys, secret=secret)
    plain = relay.token("ann")
    assert call(relay, "PUT", "/v1/users/me/status", PALM, token=plain).status == 200
    assert call(relay, "PUT", "/v1/users/bob/status", PALM, token=plain).status == 403
    assert call(relay, "PUT", "/v1/users/bob/status", PALM, token=backend).status == 200
    bare = relay.token("ann", rooms=None)
    assert call(relay, "PUT", "/v1/users/me/status", {}, token=bare).status == 403
    assert connect(relay, token=bare).refusal("status")["code"] == "forbidden"
