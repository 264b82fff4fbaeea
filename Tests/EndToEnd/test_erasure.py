# SPDX-License-Identifier: Apache-2.0
"""The erasure of users: nothing of the person is left in the files and in the log."""

import sqlite3
from contextlib import closing

import pytest

from api import call
from client import Refused
from database import rows, value
from metrics import metrics
from waiting import eventually


def erase(relay, user, messages):
    answer = call(relay, "DELETE", f"/v1/users/{user}?messages={messages}")
    assert answer.status == 202, answer
    begun = answer.json
    assert (begun["state"], begun["messages"]) == ("running", messages)
    return begun


def state(relay, erasure):
    answer = call(relay, "GET", f"/v1/erasures/{erasure}")
    assert answer.status == 200, answer
    return answer.json


def finished(relay, begun):
    """Waits for the end of an erasure, and returns its last state."""
    return eventually(lambda: (found := state(relay, begun["erasure"]))["state"] == "done" and found)


def found_in_files(relay, *texts):
    """Returns the texts that a file of the relay's data, or its log, contains."""
    files = [path for path in relay.data.rglob("*") if path.is_file()] + [relay.log]
    assert any(path.name.endswith("-wal") for path in files) and relay.log in files
    contents = {path.name: path.read_bytes() for path in files}
    return [(text, name) for text in texts for name, bytes in contents.items() if text.encode() in bytes]


SECRETS = ("zoe", "Zoe Zephyr", "+49301234567", "kettle-text", "edited-text", "zoe-token", "lunch-status", "reply-text")


@pytest.fixture
def full(start, connect):
    """A relay with Zoe, who is online with two sessions and has something of each type."""
    relay = start("--presence-grace", 600)
    zoe, bob, eve = connect(relay, "zoe", device="phone"), connect(relay, "bob"), connect(relay, "eve")
    second = connect(relay, "zoe")
    call(relay, "PUT", "/v1/users/zoe", {"name": "Zoe Zephyr", "handle": "+49301234567"})
    zoe.request("device", device="phone", platform="simulator", token="zoe-token")
    bob.request("device", device="phone", platform="simulator", token="bob-token")
    zoe.request("status", text="lunch-status")
    zoe.request("focus", isFocused=True, device="phone")
    zoe.request("filter", active=True, allow=["work"], device="phone")
    zoe.request("preferences", onFocus="hold")
    zoe.request("block", users=["mallory"])
    bob.request("block", users=["zoe"])
    bob.request("unblock", users=["zoe"])
    eve.request("block", users=["zoe"])
    for session in (zoe, bob):
        session.join("tea")
    for number in range(30):
        zoe.send("tea", {"text": f"kettle-text {number}"}, key=f"key-{number}")
    zoe.request("edit", room="tea", seq=3, body={"text": "edited-text"})
    zoe.request("delete", room="tea", seq=4)
    bob.send("tea", {"text": "theirs"}, mentions=["zoe", "eve"])
    group = zoe.request("create", room="jam", kind="group", members=["bob"], key="made")["room"]
    zoe.request("direct", user="bob")
    bob.request("create", room="closed", kind="group")
    call(relay, "PUT", "/v1/rooms/closed/members/zoe")
    call(relay, "DELETE", "/v1/rooms/closed/members/zoe?ban=true")
    call(
        relay, "POST", "/v1/users/zoe/notifications", {"from": "bob", "push": {"body": "reply-text"}}
    )
    call(
        relay, "POST", "/v1/users/bob/notifications", {"from": "zoe", "push": {"body": "reply-text"}}
    )
    # Bob is away, so that he gets pushes of messages of Zoe.
    bob.close()
    zoe.send("tea", {"text": "kettle-text pushed"})
    zoe.join(group)
    zoe.send(group, {"text": "kettle-text in a group"})
    eventually(lambda: value(relay, "SELECT count(*) FROM jobs WHERE state IN ('sent', 'waiting', 'held')") >= 2)
    call(relay, "PUT", "/v1/users/zoe/access", {"suspended": False, "reason": None})
    zoe.request("add", room=group, user="frank")
    connect(relay, "dan").request("create", room="den", members=["zoe"])
    assert value(relay, "SELECT count(*) FROM invitations") == 2
    return relay, (zoe, second)


def assert_nothing_is_left(relay):
    [(id,)] = rows(relay, "SELECT id FROM users WHERE name LIKE 'erased-%'")
    assert rows(relay, "SELECT * FROM members WHERE user = ?", id) == []
    own = ("devices", "focus", "filters", "blocks", "bans", "keys", "creations", "jobs", "silenced", "responses")
    for table in own:
        assert rows(relay, f"SELECT * FROM {table} WHERE user = ?", id) == [], table
    assert rows(relay, "SELECT * FROM directs WHERE 'zoe' IN (low, high)") == []
    assert rows(relay, "SELECT * FROM invitations") == []
    assert rows(relay, "SELECT name FROM erasures") == [(None,)]


def test_nothing_of_an_erased_user_is_left(full, connect):
    relay, sessions = full
    begun = erase(relay, "zoe", "delete")
    assert begun["sessions"] == 2
    for session in sessions:
        assert session.closed() == 4506
    done = finished(relay, begun)
    assert done["leftRooms"] == 3 and done["changedMessages"] == 33 and done["finished"] >= done["started"]
    assert_nothing_is_left(relay)
    assert found_in_files(relay, *SECRETS) == []
    # The text of another user stays, and the group has another owner.
    assert found_in_files(relay, "theirs")
    bob = connect(relay, "bob")
    history = bob.request("history", room="tea", limit=100)["messages"] if bob.join("tea") else []
    assert {message.get("from") for message in history} == {None, "bob"}
    [theirs] = [message for message in history if message.get("from") == "bob"]
    assert theirs["mentions"][1] == "eve" and theirs["mentions"][0].startswith("erased-")
    assert {member["user"] for member in call(relay, "GET", "/v1/rooms/jam/members").json["members"]} == {"bob"}
    assert bob.request("update", room="jam", title="Now mine")["title"] == "Now mine"


def test_an_anonymous_user_keeps_the_messages(full, connect):
    relay, sessions = full
    done = finished(relay, erase(relay, "zoe", "anonymize"))
    assert done["changedMessages"] == 34
    assert_nothing_is_left(relay)
    kept = ("kettle-text", "edited-text")
    assert found_in_files(relay, *[secret for secret in SECRETS if secret not in kept]) == []
    bob = connect(relay, "bob")
    joined = bob.join("tea", after=None)
    history = bob.request("history", room="tea", limit=100)["messages"]
    senders = {message.get("from") for message in history} - {None, "bob"}
    assert len(senders) == 1 and senders.pop().startswith("erased-")
    assert {member["user"] for member in joined["members"]} == {"bob"}


@pytest.mark.parametrize("messages", ["delete", "anonymize"])
def test_an_erasure_continues_after_a_kill(full, messages):
    relay, _ = full
    begun = erase(relay, "zoe", messages)
    relay.kill()
    relay.start()
    done = finished(relay, begun)
    assert done["leftRooms"] == 3
    assert_nothing_is_left(relay)
    kept = ("kettle-text", "edited-text") if messages == "anonymize" else ()
    assert found_in_files(relay, *[secret for secret in SECRETS if secret not in kept]) == []


def test_others_see_the_user_leave_and_the_messages_disappear(relay, connect, names):
    ann, bob, room = names("ann", "bob", "room")
    session, reader, watcher = connect(ann), connect(bob), connect(f"{bob}-2")
    reader.join(room)
    session.join(room)
    seqs = {session.send(room, {"number": number})["seq"] for number in range(3)}
    watcher.request("watch", users=[ann])
    begun = erase(relay, ann, "delete")
    assert session.closed() == 4506
    assert reader.expect("member", room=room, user=ann, event="left")
    assert {reader.expect("deleted", room=room)["seq"] for _ in seqs} == seqs
    shown = watcher.expect("presence", user=ann, online=False)
    assert set(shown) == {"type", "user", "online", "isFocused"}
    finished(relay, begun)


@pytest.mark.parametrize(("messages", "is_deleted"), [("delete", False), ("delete", True), ("anonymize", False)])
def test_lists_change_although_nobody_has_joined_the_room(start, connect, messages, is_deleted):
    relay = start()
    group = {"room": "tea", "owner": "bob", "members": ["ann", "zoe"]}
    assert call(relay, "POST", "/v1/rooms", group).status == 201
    assert call(relay, "POST", "/v1/rooms/tea/messages", {"from": "zoe", "body": "text"}).status == 201
    if is_deleted:
        assert call(relay, "DELETE", "/v1/rooms/tea/messages/1?from=zoe").status < 300
    # After a restart the room is not in memory.
    relay.kill()
    relay.start()
    ann = connect(relay, "ann", inbox=True)
    call(relay, "POST", "/v1/rooms", {"room": "jam", "owner": "bob", "members": ["ann"]})
    ann.expect("inbox", event="changed", room="jam")
    begun = erase(relay, "zoe", messages)
    last = ann.expect("inbox", event="changed", room="tea")["lastMessage"]
    assert last["from"].startswith("erased-")
    assert last.get("deleted") is (True if messages == "delete" else None)
    finished(relay, begun)


def test_an_erased_user_returns_as_a_new_one(relay, connect, names):
    ann, room = names("ann", "room")
    session = connect(ann, name="Ann")
    session.join(room)
    session.send(room, {"text": "old"})
    connect(f"{ann}-other").join(room)
    session.request("preferences", onFocus="hold")
    begun = erase(relay, ann, "anonymize")
    assert session.closed() == 4506
    finished(relay, begun)
    again = connect(ann)
    assert "name" not in again.welcome
    assert again.request("preferences")["onFocus"] == "deliver"
    assert again.request("rooms")["rooms"] == []
    again.join(room)
    assert again.send(room, {"text": "new"})["seq"] == 2
    history = again.request("history", room=room)["messages"]
    assert [message["from"] == ann for message in history] == [False, True]
    again.request("ping")


def test_nobody_uses_the_name_until_the_rows_are_erased(relay, connect, names):
    """The user is still a member of many rooms in memory."""
    ann, bob, *rooms = names("ann", "bob", *[f"room{number}" for number in range(60)])
    reader = connect(bob)
    for room in rooms:
        made = call(relay, "POST", "/v1/rooms", {"room": room, "owner": bob, "join": "invited", "members": [ann]})
        assert made.status == 201, made
        reader.join(room)
    begun = erase(relay, ann, "delete")
    # A backend that adds the name at once gets an answer that is true at the end.
    added = {room: call(relay, "PUT", f"/v1/rooms/{room}/members/{ann}").status for room in rooms[::10]}
    assert set(added.values()) <= {503, 201}
    finished(relay, begun)
    members = {
        room: ann in {each["user"] for each in call(relay, "GET", f"/v1/rooms/{room}/members").json["members"]}
        for room in rooms
    }
    assert members == {room: added.get(room) == 201 for room in rooms}
    again = connect(ann)
    with pytest.raises(Refused):
        again.join(rooms[1])


def test_a_finished_erasure_is_not_repeated(full):
    relay, _ = full
    begun = erase(relay, "zoe", "delete")
    finished(relay, begun)
    later = erase(relay, "zoe", "delete")
    assert later["erasure"] != begun["erasure"]
    finished(relay, later)


def test_others_see_that_reactions_and_calls_end(relay, connect, names):
    ann, bob, room = names("ann", "bob", "room")
    session, reader = connect(ann), connect(bob)
    reader.join(room)
    session.join(room)
    seq = reader.send(room, {"text": "theirs"})["seq"]
    session.request("react", room=room, seq=seq, key="+1")
    assert reader.expect("reactions", room=room, seq=seq)["reactions"]
    call_seq = session.request("ring", room=room)["seq"]
    assert reader.expect("call", room=room, seq=call_seq)["state"] == "ringing"
    begun = erase(relay, ann, "delete")
    assert reader.expect("reactions", room=room, seq=seq)["reactions"] == []
    ended = reader.expect("call", room=room, seq=call_seq)
    assert (ended["state"], ended["user"]) == ("cancelled", ann)
    finished(relay, begun)


def test_a_user_who_does_not_return_is_not_stored_again(start, connect):
    relay = start("--presence-grace", 0.2)
    ann = connect(relay, "ann")
    done = finished(relay, erase(relay, "ann", "delete"))
    assert ann.closed() == 4506 and done["leftRooms"] == 0
    # The store keeps the order of writes, so a presence of Ann would be stored before this one.
    bob = connect(relay, "bob")
    bob.join("room")
    bob.send("room", 1)
    assert value(relay, "SELECT count(*) FROM users WHERE name = 'ann'") == 0


def test_a_failing_erasure_shows_its_failure_and_goes_on_later(start, connect):
    relay = start()
    ann, bob = connect(relay, "ann"), connect(relay, "bob")
    for session in (ann, bob):
        session.join("tea")

    def change(sql):
        with closing(sqlite3.connect(relay.data / "stillwire.db", timeout=10)) as database:
            database.execute(sql)

    change("CREATE TRIGGER stuck BEFORE UPDATE ON erasures BEGIN SELECT RAISE(ABORT, 'planted'); END")
    begun = erase(relay, "ann", "delete")
    failing = eventually(lambda: "failure" in (found := state(relay, begun["erasure"])) and found)
    assert (failing["state"], failing["failure"]["cause"]) == ("running", "internal")
    assert failing["failure"]["retry"] >= failing["failure"]["time"] + 1000
    assert metrics(relay)["stillwire_erasures_failing"] == 1
    eventually(lambda: "an erasure has failed, and the relay will try it again" in relay.log.read_text())
    # Nobody may block the name, and requests that only select users go on.
    assert bob.refusal("block", users=["ann"])["code"] == "unavailable"
    for type in ("unblock", "watch", "presence"):
        bob.request(type, users=["ann"])
    change("DROP TRIGGER stuck")
    assert "failure" not in finished(relay, begun)
    assert metrics(relay)["stillwire_erasures_failing"] == 0
    bob.request("block", users=["ann"])


def test_restrictions_end_with_the_user(relay, connect, names):
    (ann,) = names("ann")
    call(relay, "PUT", f"/v1/users/{ann}/access", {"suspended": True, "reason": "spam"})
    finished(relay, erase(relay, ann, "delete"))
    assert call(relay, "GET", f"/v1/users/{ann}/access").json == {"user": ann, "suspended": False}
    connect(ann)


def test_an_unknown_user_can_be_erased(relay, connect, names):
    ann, bob = names("ann", "bob")
    session = connect(bob)
    session.request("block", users=[ann])
    session.request("create", members=[ann])
    session.request("direct", user=ann)
    finished(relay, erase(relay, ann, "delete"))
    assert found_in_files(relay, f"\"{ann}\"") == []
    assert value(relay, "SELECT count(*) FROM blocks WHERE other = ?", ann) == 0
    assert value(relay, "SELECT count(*) FROM invitations WHERE user = ?", ann) == 0
    assert value(relay, "SELECT count(*) FROM directs WHERE ? IN (low, high)", ann) == 0
    # The block has ended in memory, too.
    other = connect(ann)
    other.request("watch", users=[bob])
    assert other.request("presence", users=[bob])["presence"][0]["online"] is True


@pytest.mark.parametrize("query, at", [("", "/query/messages"), ("?messages=keep", "/query/messages")])
def test_the_treatment_of_messages_is_needed(relay, names, query, at):
    answer = call(relay, "DELETE", f"/v1/users/{names('ann')[0]}{query}")
    assert answer.status == 422 and answer.problem["at"] in (at, "/messages")


def test_erasures_are_for_backends(start, secret, api_keys, backend):
    relay = start("--api-keys-file", api_keys, secret=secret)
    token = relay.token("ann")
    assert call(relay, "DELETE", "/v1/users/ann?messages=delete", token=token).status == 403
    assert call(relay, "GET", "/v1/erasures/none", token=token).status == 403
    assert call(relay, "GET", "/v1/erasures/none", token=backend).status == 404
