# SPDX-License-Identifier: Apache-2.0
"""Texts of one line: names, titles, statuses and reactions, which phones show in one line of a notification."""

import sqlite3
from contextlib import closing
from urllib.parse import quote

import pytest

from api import call, history
from client import Refused, Session
from wire import Wire

BAD = {
    "a line break": "Bank\nYour code is 1234",
    "a bell": "a\u0007b",
    "a separator of lines": "a\u2028b",
    "an override": "\u202enimdA",
    "an isolate": "\u2067Ann",
}
#: Joiners of emoji, marks of direction, and letters of two directions.
GOOD = "👩‍👩‍👧 \u200fאבא\u200e"
RULE = "must be one line"


@pytest.fixture
def ann(connect, names) -> Session:
    """A member of a room of her own, in which she has sent a message."""
    ann = connect(names("ann")[0], name="Ann")
    ann.room = names("room")[0]
    ann.request("create", room=ann.room)
    ann.join(ann.room)
    ann.send(ann.room, "hi")
    return ann


def requests(room):
    """Returns the requests of a session with a text of one line: the field, and the frame for a text."""
    return {
        "status": ("text", lambda text: {"type": "status", "text": text}),
        "emoji": ("emoji", lambda text: {"type": "status", "emoji": text}),
        "create": ("title", lambda text: {"type": "create", "title": text}),
        "update": ("title", lambda text: {"type": "update", "room": room, "title": text}),
        "react": ("key", lambda text: {"type": "react", "room": room, "seq": 1, "key": text}),
        "ring": ("title", lambda text: {"type": "ring", "room": room, "push": {"title": text}}),
        "send": ("title", lambda text: {"type": "send", "room": room, "body": 1, "push": {"title": text}}),
    }


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_a_session_gets_the_name_of_the_field(ann, connect, names, text):
    connect(names("bob")[0]).join(ann.room)
    for kind, (field, frame) in requests(ann.room).items():
        error = ann.refusal(**frame(text))
        assert error["code"] == "bad_request" and error["message"].startswith(f"{field} {RULE}"), kind
        # `ring` begins a call, and this session then is in it.
        ann.request(**frame(GOOD))


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_a_hello_with_such_a_name_is_refused(relay, connect, names, text):
    (bob,) = names("bob")
    with pytest.raises(Refused) as refused:
        connect(bob, name=text)
    error = refused.value.error
    assert error["code"] == "bad_request" and error["message"].startswith(f"name {RULE}")
    assert connect(bob, name=GOOD).welcome["name"] == GOOD


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_a_backend_gets_the_name_of_the_field(relay, ann, text):
    room, user = f"/v1/rooms/{ann.room}", f"/v1/users/{ann.user}"

    def answers(text):
        yield "/name", call(relay, "PUT", user, {"name": text})
        yield "/handle", call(relay, "PUT", user, {"handle": text})
        yield "/text", call(relay, "PUT", f"{user}/status", {"text": text})
        yield "/title", call(relay, "PUT", room, {"title": text})
        yield "/title", call(relay, "POST", "/v1/rooms", {"owner": ann.user, "title": text})
        yield "/path/key", call(relay, "PUT", f"{room}/messages/1/reactions/{quote(text)}", {"from": ann.user})
        yield "/push/title", call(relay, "POST", f"{user}/notifications", {"from": ann.user, "push": {"title": text}})
        category = {"id": "c", "actions": [{"id": "a", "title": text}]}
        yield "/categories/0/actions/0/title", call(relay, "PUT", "/v1/categories", {"categories": [category]})

    for field, answer in answers(text):
        assert answer.status in (400, 422), field
        problem = answer.problem
        # No target of a request has an ASCII control character, so that the relay does not read such a key.
        if problem["detail"] != "the target has a control character":
            assert problem["at"] == field and RULE in problem["detail"]
    for field, answer in answers(GOOD):
        assert answer.status in (200, 201), (field, answer)


def test_a_token_with_such_a_name_is_refused(start, connect, secret):
    relay = start(secret=secret)
    for text in BAD.values():
        with Wire(relay) as wire:
            wire.open().send_request("hello", id=1, token=relay.token("ann", name=text))
            (error,) = wire.ending().errors
        assert error["code"] == "unauthorized" and f"in the token, name {RULE}" in error["message"]
    assert connect(relay, token=relay.token("ann", name=GOOD)).welcome["name"] == GOOD


def test_stored_texts_of_several_lines_are_shown_as_lines(start, connect):
    relay = start("--rooms-invitations", "none")
    ann = connect(relay, "ann", name="Ann")
    ann.request("create", room="tea", title="Tea", members=["bob"])
    ann.join("tea")
    ann.send("tea", "hi")
    ann.request("status", text="Out")
    ann.request("react", room="tea", seq=1, key="👍")
    assert relay.stop() == 0
    with closing(sqlite3.connect(relay.data / "stillwire.db")) as database:
        bad = ("\n\u202eYour code",)
        database.execute("UPDATE users SET display_name = display_name || ? WHERE name = 'ann'", bad)
        database.execute("""UPDATE users SET status = '{"text":"Out' || char(0x202E) || '"}' WHERE name = 'ann'""")
        database.execute("UPDATE details SET title = title || ?", bad)
        database.execute("UPDATE reactions SET key = key || char(0x2066)")
        value = "replace(CAST(value AS TEXT), '👍', '👍' || char(0x2066))"
        database.execute(f"UPDATE annotations SET value = CAST({value} AS BLOB)")
        database.commit()
    relay.start()
    bob = connect(relay, "bob")
    (entry,) = bob.request("rooms")["rooms"]
    assert entry["title"] == "Tea Your code"
    members = {member["user"]: member for member in bob.join("tea")["members"]}
    assert (members["ann"]["name"], members["ann"]["status"]) == ("Ann Your code", {"text": "Out"})
    assert history(relay, "tea", "bob")[0]["reactions"] == [{"key": "👍", "count": 1, "users": ["ann"]}]
    # A change of another field does not fail.
    changed = call(relay, "PUT", "/v1/users/ann", {"avatar": "https://example.org/a.png"})
    assert (changed.status, changed.json["name"]) == (200, "Ann Your code")
    changed = call(relay, "PUT", "/v1/rooms/tea", {"metadata": {"color": "green"}})
    assert (changed.status, changed.json["title"]) == (200, "Tea Your code")
    # The user removes the reaction with the key that is shown.
    path = f"/v1/rooms/tea/messages/1/reactions/{quote('👍')}"
    assert call(relay, "DELETE", f"{path}?from=ann").json["reactions"] == []
