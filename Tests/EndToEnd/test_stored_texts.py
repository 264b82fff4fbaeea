# SPDX-License-Identifier: Apache-2.0
"""The stored texts of messages: each place in the list of the protocol needs the rights of the list."""

import re
from pathlib import Path

import pytest

import tokens
from api import call
from database import value
from relay import running
from waiting import eventually

PAGE = Path(__file__).parents[2] / "Sources/RelayProtocol/RelayProtocol.docc/Protocol.md"
TEXT = "OLDTEXT"
#: The rights that the requests of these tests need besides those of the list.
OTHERS = {"join", "send", "presence"}
CATEGORY = {"id": "c", "actions": [{"id": "reply", "title": "Reply", "textInput": {"button": "Send", "placeholder": "Text"}, "posts": True}]}


def listed():
    """Returns the rows of the list: a place, its need, and whether live messages need less."""
    section = PAGE.read_text().split("#### Stored texts\n")[1].split("\n###")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [tuple(line.strip("| ").split(" | ")) for line in lines[1:]]


LIST = listed()


@pytest.fixture(scope="module")
def relay(secret, api_keys, backend, tmp_path_factory):
    options = ("--api-keys-file", api_keys, "--simulated-phones", "true", "--presence-grace", "0")
    with running(tmp_path_factory.mktemp("relay"), *options, secret=secret) as relay:
        made = call(relay, "PUT", "/v1/categories", {"categories": [CATEGORY]}, token=backend)
        assert made.status == 200, made
        yield relay


class World:
    """Ann has sent a text to a room of which the reader is a member. The reader has all rights in another room, `mark`,
    whose events show that those of the room would have arrived."""

    def __init__(self, relay, connect, names, backend):
        self.relay, self.connect, self.api_key = relay, connect, backend
        self.ann, self.reader, self.room, self.mark = names("ann", "reader", "room", "mark")
        for room in (self.room, self.mark):
            members = {"room": room, "owner": self.ann, "members": [self.reader]}
            assert self.backend("POST", "/v1/rooms", members).status == 201
        self.author = connect(relay, token=relay.token(self.ann))
        for room in (self.room, self.mark):
            self.author.join(room)
        self.author.send(self.room, {"text": TEXT})

    def backend(self, method, path, body=None):
        return call(self.relay, method, path, body, token=self.api_key)

    def token(self, rights):
        everything = [*tokens.RIGHTS, "moderate"]
        rooms = [{"match": self.mark, "can": everything}, {"match": self.room, "can": sorted(rights)}]
        return self.relay.token(self.reader, rooms=rooms, account=["devices"])

    def session(self, rights, **hello):
        return self.connect(self.relay, token=self.token(rights), **hello)

    def http(self, rights, method, path, body=None):
        """The text of the answer to the reader."""
        return call(self.relay, method, path, body, token=self.token(rights)).body.decode()

    def joined(self, rights):
        """A session of the reader in the room, if the rights permit it."""
        session = self.session(rights)
        session.outcome("join", room=self.room)
        session.join(self.mark)
        return session

    def events(self, session):
        """The texts of all events of the room that the session has received until now."""
        self.author.send(self.mark, "end")
        session.expect("message", room=self.mark, body="end")
        return texts(session, self.room)

    def shown(self, phone):
        """The texts on a simulated phone."""
        answer = self.backend("GET", f"/v1/simulator/devices/{phone}")
        return answer.body.decode() if answer.status == 200 else ""

    def register(self, user, phone):
        registration = {"platform": "simulator", "token": phone}
        token = self.relay.token(user)
        assert call(self.relay, "PUT", f"/v1/users/{user}/devices/phone", registration, token=token).status == 200


def texts(session, room):
    return "".join(frame.text for frame in session.inbox if frame.get("room") == room)


# How a reader with these rights asks for the text. Each function returns all texts that the reader gets.


def history(world, rights):
    session = world.joined(rights)
    path = f"/v1/rooms/{world.room}/messages"
    return session.outcome("history", room=world.room).text + world.http(rights, "GET", path)


def join(world, rights):
    session = world.session(rights)
    first = session.outcome("join", room=world.room, history=10)
    epoch = world.author.join(world.room)["epoch"]
    again = session.outcome("join", room=world.room, after={"epoch": epoch, "seq": 0}, maxBytes=16_384)
    return first.text + again.text + texts(session, world.room)


def room_list(world, rights):
    session = world.session(rights)
    position = session.request("rooms")["position"]
    world.author.send(world.room, {"text": TEXT})
    changes = session.request("rooms", since=position)
    return session.request("rooms").text + changes.text + world.http(rights, "GET", "/v1/users/me/rooms")


def inbox(world, rights):
    # The relay stores a change of rights after the welcome. The change removes a room from the list, so earlier positions
    # get `reset` in place of events.
    world.session(rights).close()
    query = "SELECT count(*) FROM members JOIN rooms ON rooms.id = room WHERE rooms.name = ? AND is_withdrawn"
    eventually(lambda: value(world.relay, query, world.room) == ("join" not in rights))
    session = world.session(rights, inbox=True)
    position = session.welcome["inbox"]["position"]
    session.close()
    world.author.send(world.room, {"text": TEXT})
    world.author.send(world.mark, "end")
    again = world.session(rights, inbox={"since": position})
    again.expect("inbox", room=world.mark)
    world.author.send(world.room, {"text": TEXT})
    world.author.send(world.mark, "end")
    again.expect("inbox", room=world.mark)
    return texts(again, world.room)


def pins(world, rights):
    world.author.request("pin", room=world.room, seq=1)
    session = world.session(rights)
    return session.outcome("pins", room=world.room).text + world.http(rights, "GET", f"/v1/rooms/{world.room}/pins")


def quote(world, rights):
    session = world.joined(rights)
    world.author.send(world.room, "answer", replyTo=1)
    return world.events(session)


def sent_quote(world, rights):
    session = world.joined(rights)
    sent = session.outcome("send", room=world.room, body="mine", replyTo=1)
    message = {"body": "mine", "replyTo": 1}
    answer = world.http(rights, "POST", f"/v1/rooms/{world.room}/messages", message)
    # The session also gets the message that was sent over HTTP.
    return sent.text + answer + world.events(session)


def edits(world, rights):
    session = world.joined(rights)
    world.author.request("edit", room=world.room, seq=1, body={"text": f"{TEXT}!"})
    return world.events(session)


def reaction_events(world, rights):
    world.author.request("react", room=world.room, seq=1, key=TEXT)
    session = world.joined(rights)
    world.author.request("react", room=world.room, seq=1, key="other")
    return world.events(session)


def changes(world, rights):
    found = edits(world, rights), reaction_events(world, rights)
    assert (TEXT in found[0]) == (TEXT in found[1])
    return "".join(found)


def reactions(world, rights):
    world.author.request("react", room=world.room, seq=1, key=TEXT)
    session = world.joined(rights)
    path = f"/v1/rooms/{world.room}/messages/1/reactions/mine"
    found = [session.outcome(type, room=world.room, seq=1, key="mine").text for type in ("react", "unreact")]
    return "".join([*found, world.http(rights, "PUT", path), world.http(rights, "DELETE", path)])


def responses(world, rights):
    """The reader has sent a message. Ann has answered it with a response that the relay has posted."""
    phone = f"{world.ann}-phone"
    world.register(world.ann, phone)
    world.author.request("activity", state="background")
    token = world.relay.token(world.ann)
    for room, text in ((world.room, TEXT), (world.mark, "end")):
        message = {"from": world.reader, "body": {"text": f"to {room}"}, "push": {"category": "c"}}
        assert world.backend("POST", f"/v1/rooms/{room}/messages", message).status == 201
        eventually(lambda room=room: f"to {room}" in world.shown(phone))
        pushes = world.backend("GET", f"/v1/pushes?user={world.ann}").json["pushes"]
        (id,) = (push["id"] for push in pushes if push["room"] == room)
        path = f"/v1/notifications/{id}/responses"
        answer = call(world.relay, "POST", path, {"action": "reply", "text": text}, token=token)
        assert answer.json["posted"], answer
    session = world.session(rights)
    assert session.expect("response", room=world.mark)["text"] == "end"
    found = [frame for frame in session.inbox if frame.fits("response", {"room": world.room})]
    assert len(found) == ("join" in rights)
    return texts(session, world.room)


def pushes(world, rights):
    phone = f"{world.reader}-phone"
    world.register(world.reader, phone)
    world.session(rights).close()
    world.author.send(world.room, {"text": TEXT})
    world.author.send(world.mark, {"text": "end"})
    eventually(lambda: "end" in world.shown(phone))
    return world.shown(phone)


PROBES = {
    "`history`,": history,
    "`join`:": join,
    "`rooms`,": room_list,
    "the event `inbox`:": inbox,
    "`pins`,": pins,
    "`quote` of the event": quote,
    "`quote` of the reply": sent_quote,
    "the events `edited` and `reactions`": changes,
    "`reactions`": reactions,
    "the event `response`:": responses,
    "the payload of a push,": pushes,
}
#: The paths of places for API keys.
PATHS = {
    "`GET /v1/users/{user}/export`": "/v1/users/{ann}/export",
    "`GET /v1/simulator/": "/v1/simulator/devices/{reader}-phone",
}


def entry(table, place):
    """Returns the entry of a table whose key is the beginning of the place."""
    (found,) = [value for beginning, value in table.items() if place.startswith(beginning)]
    return found


@pytest.fixture
def world(relay, connect, names, backend):
    return lambda: World(relay, connect, names, backend)


def test_the_list_has_a_test_for_each_place():
    assert len(LIST) == len(PROBES) + len(PATHS)


@pytest.mark.parametrize(("place", "need"), [row[:2] for row in LIST if row[1] != "API key"])
def test_a_text_needs_the_rights_of_its_place(world, place, need):
    probe = entry(PROBES, place)
    needed = set(re.findall(r"`(\w+)`", need))
    assert needed
    assert TEXT in probe(world(), OTHERS | needed)
    for right in sorted(needed):
        found = probe(world(), (OTHERS | needed) - {right})
        assert TEXT not in found, (place, right)
    if "history" not in needed:
        assert TEXT in probe(world(), needed)


@pytest.mark.parametrize("place", [row[0] for row in LIST if row[1] == "API key"])
def test_a_text_needs_an_api_key(world, place):
    world = world()
    pushes(world, OTHERS)
    path = entry(PATHS, place).format(ann=world.ann, reader=world.reader)
    assert TEXT in world.backend("GET", path).body.decode()
    for user in (world.ann, world.reader):
        token = world.relay.token(user)
        assert call(world.relay, "GET", path, token=token).status == 403


def test_a_session_without_the_right_to_the_history_gets_the_live_texts(world):
    """The messages since the join, with their edits, their reactions, and the quotes of answers to them."""
    world = world()
    session = world.joined(OTHERS)
    seq = world.author.send(world.room, {"text": "live"})["seq"]
    assert session.expect("message", room=world.room)["body"] == {"text": "live"}
    world.author.request("react", room=world.room, seq=seq, key="first")
    assert [one["key"] for one in session.expect("reactions", seq=seq)["reactions"]] == ["first"]
    reply = session.request("react", room=world.room, seq=seq, key="mine")
    assert [one["key"] for one in reply["reactions"]] == ["first", "mine"]
    world.author.send(world.room, "answer", replyTo=seq)
    assert session.expect("message", body="answer")["quote"]["preview"] == "live"
    # The answers of this sender have no quotes, also for others: the sender could read old messages by them.
    witness = world.joined(OTHERS | {"history"})
    assert "quote" not in session.request("send", room=world.room, body="own", replyTo=seq)
    for one in (witness, world.author):
        assert "quote" not in one.expect("message", body="own")
    world.author.request("edit", room=world.room, seq=seq, body={"text": "changed"})
    assert session.expect("edited", seq=seq)["body"] == {"text": "changed"}
    # Events without a text are about all messages.
    world.author.request("pin", room=world.room, seq=1)
    session.expect("pinned", seq=1)
    world.author.request("delete", room=world.room, seq=1)
    session.expect("deleted", seq=1)
    # A newer token may give the right.
    world.author.request("edit", room=world.room, seq=seq, body={"text": "again"})
    session.request("refresh", token=world.token(OTHERS | {"history"}))
    assert session.request("history", room=world.room)["messages"][1]["body"] == {"text": "again"}
