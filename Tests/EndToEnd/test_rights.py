# SPDX-License-Identifier: Apache-2.0
"""The rights of tokens, their renewal, and the keys of backends."""

import base64
import json
import itertools
import re
import subprocess
import time
from pathlib import Path

import pytest

from api import call
from client import Refused
from database import rows
from relay import run, running
from waiting import eventually


PROTOCOL = Path(__file__).parents[2] / "Sources/RelayProtocol/RelayProtocol.docc/Protocol.md"


@pytest.fixture(scope="module")
def relay(secret, api_keys, backend, tmp_path_factory):
    options = ("--api-keys-file", api_keys, "--tokens-grace", "0.5", "--presence-grace", "0.5")
    with running(tmp_path_factory.mktemp("relay"), *options, secret=secret) as relay:
        yield relay


@pytest.fixture
def enter(relay, connect):
    """Connects a user whose token has more claims."""

    def enter(user, **claims):
        return connect(relay, token=relay.token(user, **claims))

    return enter


def only(*rooms):
    """Returns the claim `rooms` from pairs of a pattern and its rights."""
    return {"rooms": [{"match": match, "can": can.split()} for match, can in rooms]}


# The rights of a token


def test_a_room_that_no_entry_matches_is_closed(enter, names):
    alice, room = names("alice", "room")
    session = enter(alice, **only(("other.*", "join send create")))
    assert session.refusal("join", room=room)["code"] == "forbidden"
    assert session.join(f"other.{room}")["room"] == f"other.{room}"


def test_the_first_matching_entry_applies(enter, names):
    alice, room = names("alice", "room")
    session = enter(alice, **only((f"{room}.a", "send"), (f"{room}.*", "join create")))
    assert session.refusal("join", room=f"{room}.a")["code"] == "forbidden"
    session.join(f"{room}.b")


def test_a_user_without_the_right_send_only_receives(enter, names):
    for prefix in ("", "live."):
        alice, bob, room = names("alice", "bob", prefix + "room")
        other = enter(bob)
        other.join(room)
        session = enter(alice, **only(("*", "join presence history")))
        session.join(room)
        assert session.refusal("send", room=room, body=1)["code"] == "forbidden"
        assert session.refusal("signal", room=room, name="typing")["code"] == "forbidden"
        other.send(room, "hello")
        session.expect("message", body="hello")


def test_a_user_without_the_right_history_gets_no_old_messages(relay, enter, names):
    alice, bob, room = names("alice", "bob", "room")
    other = enter(bob)
    position = other.join(room)
    other.send(room, "before")
    claims = only(("*", "join send presence"))
    session = enter(alice, **claims)
    reply = session.join(room, history=10, after={"epoch": position["epoch"], "seq": 0})
    assert (reply["messages"], reply["recovered"]) == ([], False)
    assert session.refusal("history", room=room)["code"] == "forbidden"
    answer = call(relay, "GET", f"/v1/rooms/{room}/messages", token=relay.token(alice, **claims))
    assert (answer.status, answer.json["code"]) == (403, "forbidden")
    other.send(room, "live")
    session.expect("message", body="live")


def test_a_user_without_the_right_presence_sees_no_members(enter, names):
    alice, bob, carol, room = names("alice", "bob", "carol", "room")
    other = enter(bob)
    other.join(room)
    session = enter(alice, **only(("*", "join send history")))
    reply = session.join(room)
    assert "members" not in reply
    assert reply["memberCount"] == 2
    assert session.refusal("presence", room=room)["code"] == "forbidden"
    enter(carol).join(room)
    other.request("focus", isFocused=True)
    assert not session.received("member") and not session.received("presence", user=bob)


def test_http_checks_the_same_rights(relay, enter, names):
    alice, bob, room = names("alice", "bob", "room")
    enter(bob).join(room)

    def answer(can, method, path, body=None):
        token = relay.token(alice, **only(("*", can)))
        answer = call(relay, method, f"/v1/rooms/{path}", body, token=token)
        return answer.status, answer.json.get("code")

    assert answer("send create", "PUT", f"{room}/members/me", b"") == (403, "forbidden")
    assert answer("join", "PUT", f"{room}/members/me", b"") == (201, None)
    assert answer("join history", "POST", f"{room}/messages", {"body": 1}) == (403, "forbidden")
    assert answer("send", "POST", f"{room}/messages", {"body": 1}) == (201, None)
    assert answer("join send history", "GET", f"{room}/members") == (403, "forbidden")
    assert answer("presence", "GET", f"{room}/members") == (200, None)


#: The requests of sessions that have joined the room. A session leaves a room in which it has no right.
JOINED = {"send", "edit", "delete", "notify", "react", "unreact", "history", "signal", "received", "read"}


def test_a_member_without_a_right_can_only_end_the_membership(relay, backend, enter, names):
    """Sends each request of the protocol's table that a session sends."""
    alice, bob, carol, room = names("alice", "bob", "carol", "room")
    members = {"room": room, "owner": bob, "members": [alice, carol]}
    assert call(relay, "POST", "/v1/rooms", members, token=backend).status == 201
    owner = enter(bob)
    owner.join(room)
    owner.send(room, "hi")
    call_seq = owner.request("ring", room=room)["seq"]
    section = PROTOCOL.read_text().split("#### Requests about rooms\n")[1].split("\n###")[0]
    frames = {found[1] for found in re.finditer(r"^\| `(\w+)`[ ,]", section, re.MULTILINE)}
    assert {"room", "report", "answer", "hangup", "read", "pins", "leave"} <= frames and len(frames) > 30
    session, limited = enter(alice), enter(carol)
    for one, user, can in ((session, alice, ""), (limited, carol, "join")):
        one.join(room)
        one.request("refresh", token=relay.token(user, **only((room, can))))
    assert session.expect("error", room=room)["code"] == "forbidden"
    session.forget_events()
    assert session.request("rooms")["rooms"] == []
    fields = {"room": room, "seq": 1, "user": carol, "users": [carol], "key": "k", "body": 1, "name": "typing"}
    fields |= {"reason": "spam", "role": "member", "report": 1, "state": "resolved"}
    # A response needs a notification. The others are about an invitation, which the member does not have.
    frames -= {"rooms", "leave", "respond", "invitations", "acceptInvitation", "declineInvitation"}

    def codes(session, frames):
        seqs = {frame: call_seq if frame in ("answer", "decline", "hangup", "call") else 1 for frame in frames}
        return {frame: session.outcome(frame, **fields | {"seq": seq}).get("code") for frame, seq in seqs.items()}

    assert codes(session, frames) == {frame: "not_joined" if frame in JOINED else "forbidden" for frame in frames}
    # A session with the right `join` stays in the room.
    others = JOINED - {"delete", "received", "read"}
    assert codes(limited, others) == dict.fromkeys(others, "forbidden")
    token = relay.token(alice, **only(("*", "")))
    answer = call(relay, "GET", f"/v1/rooms/{room}", token=token)
    assert (answer.status, answer.problem["code"], answer.problem["at"]) == (403, "forbidden", "/path/room")
    # The events of the room need the right, too.
    owner.request("update", room=room, title="Tea")
    owner.request("hangup", room=room, seq=call_seq)
    owner.request("react", room=room, seq=1, key="k")
    witness = enter(carol)
    owner.request("update", room=room, title="Coffee")
    assert witness.expect("room", event="updated")["title"] == "Coffee"
    assert [frame for frame in session.received("room") + session.received("call") if frame["room"] == room] == []
    session.request("leave", room=room)
    assert session.refusal("leave", room=room)["code"] == "not_joined"


def test_a_user_sends_only_under_their_own_name(relay, enter, names):
    alice, room = names("alice", "room")
    enter(alice).join(room)
    token = relay.token(alice)
    for sender in (alice, "somebody"):
        answer = call(relay, "POST", f"/v1/rooms/{room}/messages", {"from": sender, "body": 1}, token=token)
        assert (answer.status, answer.problem["code"], answer.problem["at"]) == (403, "forbidden", "/from")


def test_a_token_without_rooms_has_the_configured_rights(start, connect, secret):
    configuration = {"rooms": [{"match": "news.*", "can": ["join", "create", "history"]}]}
    relay = start(secret=secret, configuration=configuration)
    alice = connect(relay, token=relay.token("alice", rooms=None))
    alice.join("news.a")
    assert alice.refusal("send", room="news.a", body=1)["code"] == "forbidden"
    assert alice.refusal("join", room="other")["code"] == "forbidden"
    editor = connect(relay, token=relay.token("bob", **only(("news.*", "join send"))))
    editor.join("news.a")
    assert editor.send("news.a", 1)["seq"] == 1


def test_a_token_without_rooms_opens_only_rooms_with_a_membership(relay, backend, enter, names):
    """A membership gives rights, and a backend can give a membership. Other users have no access."""
    alice, bob, eve, direct = names("alice", "bob", "eve", "direct")
    claims = {"rooms": None}
    session = enter(alice)
    session.join(direct)
    session.send(direct, "for two")
    stranger = enter(eve, **claims)
    for room in (direct, f"new-{direct}", f"live.{direct}"):
        assert stranger.refusal("join", room=room, history=10)["code"] == "forbidden"
    token = relay.token(eve, **claims)
    answer = call(relay, "PUT", f"/v1/rooms/{direct}/members/me", b"", token=token)
    assert (answer.status, answer.problem["code"]) == (403, "forbidden")
    assert call(relay, "PUT", f"/v1/rooms/{direct}/members/{bob}", b"", token=backend).status == 201
    member = enter(bob, **claims)
    assert [one["body"] for one in member.join(direct, history=10)["messages"]] == ["for two"]
    member.send(direct, "thanks")
    session.expect("message", room=direct, body="thanks")
    assert call(relay, "DELETE", f"/v1/rooms/{direct}/members/{bob}", token=backend).status == 204
    assert member.refusal("join", room=direct)["code"] == "forbidden"


def test_a_token_without_rooms_permits_no_calls_and_no_urgent_levels(relay, backend, enter, names):
    """`urgent` needs a list of rights, in the token or in the pattern of the room."""
    alice, bob, room = names("alice", "bob", "room")
    for user in (alice, bob):
        assert call(relay, "PUT", f"/v1/rooms/{room}/members/{user}", b"", token=backend).status == 201
    phone = {"platform": "simulator", "token": f"{bob}-phone"}
    assert call(relay, "PUT", f"/v1/users/{bob}/devices/phone", phone, token=backend).status == 200
    question = {"room": room, "from": alice, "user": bob, "push": {"level": "critical"}}

    def level():
        answer = call(relay, "POST", "/v1/decisions", question, token=backend)
        (device,) = answer.json["devices"]
        return device["decision"]["outcome"]["level"]

    # A sender without a session counts as one whose token lists no rights.
    assert level() == "active"
    session = enter(alice, rooms=None)
    session.join(room)
    assert level() == "active"
    for type, fields in (("ring", {}), ("send", {"body": 1, "push": {"kind": "call"}})):
        error = session.refusal(type, room=room, **fields)
        assert (error["code"], "urgent" in error["message"]) == ("forbidden", True), type
    session.close(1000)
    listed = enter(alice)
    assert level() == "critical"
    assert listed.request("ring", room=room)["state"] == "ringing"


def test_membership_gives_rights_in_a_room_that_is_not_in_memory(start, connect, secret):
    relay = start(secret=secret)
    connect(relay, token=relay.token("alice")).join("tea")
    assert relay.stop() == 0
    relay.start()
    claims = {"rooms": None}
    assert connect(relay, token=relay.token("alice", **claims)).join("tea")["memberCount"] == 1
    stranger = connect(relay, token=relay.token("eve", **claims))
    assert stranger.refusal("join", room="tea")["code"] == "forbidden"


def test_the_first_join_of_a_room_needs_the_right_create(relay, enter, names):
    alice, bob, room = names("alice", "bob", "room")
    claims = only(("*", "join send history presence"))
    session = enter(alice, **claims)
    error = session.refusal("join", room=room)
    assert (error["code"], "create" in error["message"]) == ("forbidden", True)
    token = relay.token(alice, **claims)
    assert call(relay, "PUT", f"/v1/rooms/{room}/members/me", b"", token=token).status == 403
    enter(bob).join(room)
    session.join(room)
    session.join(f"live.{room}")  # a live room is not stored, so its first join creates nothing


def test_without_the_right_to_see_presence_a_reply_has_no_online_count(enter, names):
    alice, bob, room = names("alice", "bob", "room")
    enter(bob).join(room)
    reply = enter(alice, **only(("*", "join send history"))).join(room)
    assert "onlineCount" not in reply and reply["memberCount"] == 2


def test_a_token_without_rooms_cannot_change_the_account(relay, enter, names):
    (alice,) = names("alice")
    requests = [
        ("devices", "device", {"device": "d", "platform": "simulator", "token": f"{alice}-d"}, "PUT", "devices/d"),
        ("devices", "device", {"device": "d", "token": None}, "DELETE", "devices/d"),
        ("preferences", "preferences", {"onFocus": "hold"}, "PUT", "preferences"),
        ("preferences", "block", {"users": ["bob"]}, "PUT", "blocks/bob"),
        ("preferences", "unblock", {"users": ["bob"]}, "DELETE", "blocks/bob"),
    ]

    def allowed(**claims):
        session, token = enter(alice, **claims), relay.token(alice, **claims)
        found = set()
        for right, type, fields, method, path in requests:
            answer = call(relay, method, f"/v1/users/me/{path}", fields if method == "PUT" else None, token=token)
            if answer.status < 300:
                session.request(type, **fields)
                found.add(right)
            else:
                assert (answer.status, answer.problem["code"]) == (403, "forbidden")
                assert session.refusal(type, **fields)["code"] == "forbidden"
        return found

    assert allowed(rooms=None) == set()
    assert allowed(rooms=[]) == set()
    assert allowed(**only(("tea", ""))) == set()
    assert allowed(rooms=None, account=["devices"]) == {"devices"}
    assert allowed(**only(("tea", "join"))) == {"devices", "preferences"}
    assert allowed(**only(("tea", "join")), account=["preferences"]) == {"preferences"}
    assert allowed(**only(("tea", "join")), account=[]) == set()


def test_the_command_line_warns_of_missing_rights_of_a_token(secret):
    made = run("token", "--secret-file", secret, "--user", "alice", "--account", "devices")
    assert made.returncode == 0 and "without --room" in made.stderr
    payload = made.stdout.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    assert claims["account"] == ["devices"] and "rooms" not in claims
    assert run("token", "--secret-file", secret, "--user", "alice", "--room", "tea=join").stderr == ""
    wrong = run("token", "--secret-file", secret, "--user", "alice", "--account", "all")
    assert wrong.returncode != 0 and "devices, preferences" in wrong.stderr


def test_making_an_abandoned_empty_room_again_needs_the_right_create(enter, names):
    alice, bob, room = names("alice", "bob", "room")
    maker = enter(alice)
    maker.join(room)
    maker.request("leave", room=room)
    guest = enter(bob, **only((room, "join send")))
    assert guest.refusal("join", room=room)["code"] == "forbidden"
    maker.join(room)
    guest.join(room)
    maker.send(room, "hi")
    for session in (maker, guest):
        session.request("leave", room=room)
    # A room with messages continues to exist without members.
    guest.join(room)


# Pushes to members whose right is withdrawn


@pytest.mark.parametrize("way", ["refresh", "hello"])
def test_a_user_gets_no_pushes_of_a_room_that_the_token_no_longer_opens(relay, backend, enter, names, way):
    alice, bob, room, kept = names("alice", "bob", "room", "kept")
    writer = enter(alice)
    reader = enter(bob)
    for name in (room, kept):
        writer.join(name)
        reader.join(name)
    phone = f"{bob}-phone"
    reader.request("device", device="phone", platform="simulator", token=phone)
    less = only((kept, "join send history presence"))
    if way == "refresh":
        reader.request("refresh", token=relay.token(bob, **less))
        reader.close()
    else:
        reader.close()
        enter(bob, **less).close()

    def texts():
        answer = call(relay, "GET", f"/v1/simulator/devices/{phone}", token=backend)
        found = [] if answer.status == 404 else answer.json["notifications"]
        return [one["payload"]["aps"]["alert"]["body"] for one in found]

    def why():
        asked = {"room": room, "from": alice, "user": bob}
        answer = call(relay, "POST", "/v1/decisions", asked, token=backend)
        return {device["decision"]["reasons"][0]["code"] for device in answer.json["devices"]}

    writer.send(room, {"text": "secret"})
    writer.send(kept, {"text": "for all"})
    eventually(lambda: "for all" in texts())
    assert why() == {"not_a_member"}
    assert texts() == ["for all"]
    # The membership still exists: after a token that opens the room again, pushes are sent again.
    enter(bob).close()
    writer.send(room, {"text": "welcome back"})
    eventually(lambda: "welcome back" in texts())
    assert "secret" not in texts()


def test_withdrawn_rights_stay_withdrawn_after_a_restart(start, connect, secret):
    relay = start("--presence-grace", "0", secret=secret)
    bob = connect(relay, token=relay.token("bob"))
    writer = connect(relay, token=relay.token("alice"))
    for room in ("room", "kept"):
        bob.join(room)
        writer.join(room)
    bob.request("device", device="phone", platform="simulator", token="phone-of-bob")
    bob.request("refresh", token=relay.token("bob", **only(("kept", "join"))))
    assert relay.stop() == 0
    relay.start()
    writer = connect(relay, token=relay.token("alice"))
    for room in ("room", "kept"):
        writer.join(room)
        assert writer.send(room, 1)["delivery"]["push"] == 1

    def pushed():
        return [name for (name,) in rows(relay, "SELECT rooms.name FROM jobs JOIN rooms ON rooms.id = jobs.room")]

    eventually(pushed)
    assert pushed() == ["kept"]


def test_the_claim_watch_lists_the_users_who_may_be_watched(enter, relay, names):
    alice, bob, carol = names("alice", "bob", "carol")
    claims = {"watch": ["bob*"]}
    session = enter(alice, **claims)
    enter(bob)
    assert session.request("watch", users=[bob])["presence"][0]["online"] is True
    assert session.refusal("watch", users=[carol])["code"] == "forbidden"
    token = relay.token(alice, **claims)
    assert call(relay, "GET", f"/v1/users/{bob}/presence", token=token).status == 200
    assert call(relay, "GET", f"/v1/users/{carol}/presence", token=token).status == 403


def test_a_shared_room_without_the_right_presence_shows_no_members(relay, enter, names):
    alice, bob, room, open_room = names("alice", "bob", "room", "open")
    claims = only((open_room, "join presence"), ("*", "join send history"))
    other, session = enter(bob), enter(alice, **claims)
    other.request("focus", isFocused=True)
    for one in (other, session):
        one.join(room)
    assert session.refusal("presence", users=[bob])["code"] == "forbidden"
    assert session.refusal("watch", users=[bob])["code"] == "forbidden"
    token = relay.token(alice, **claims)
    assert call(relay, "GET", f"/v1/users/{bob}/presence", token=token).status == 403
    for one in (other, session):
        one.join(open_room)
    assert session.request("presence", users=[bob])["presence"][0]["isFocused"] is True
    # A user who may watch sees the online state, but the Focus only through a shared room.
    watcher = enter(alice, watch=["*"], **only(("*", "join send")))
    watcher.join(room)
    (entry,) = watcher.request("watch", users=[bob])["presence"]
    assert (entry["online"], entry["isFocused"]) == (True, None)
    other.request("focus", isFocused=False)
    other.request("activity", state="idle")
    assert watcher.expect("presence", user=bob, activity="idle")["isFocused"] is None


def test_a_watch_ends_with_the_shared_room_that_allowed_it(enter, names):
    alice, bob, carol, room, kept = names("alice", "bob", "carol", "room", "kept")
    session, other, friend = enter(alice), enter(bob), enter(carol)
    for one in (session, other):
        one.join(room)
    for one in (session, friend):
        one.join(kept)
    session.request("watch", users=[bob, carol])
    session.request("leave", room=room)
    states = itertools.cycle(["idle", "active"])

    def bob_is_heard_of():
        """Two users change their state at the same time. The event of one shows that the other's would have arrived."""
        state = next(states)
        other.request("activity", state=state)
        friend.request("activity", state=state)
        session.expect("presence", user=carol, activity=state)
        seen = session.received("presence", user=bob)
        session.forget_events()
        return bool(seen)

    eventually(lambda: not bob_is_heard_of())
    assert not bob_is_heard_of()


# Renewal


def test_a_session_ends_with_its_token(enter, names):
    (alice,) = names("alice")
    session = enter(alice, exp=int(time.time()) + 2)
    assert session.closed() == 4002
    (bye,) = [frame for frame in session.inbox if frame["type"] == "bye"]
    assert (bye["code"], bye["reconnect"]) == (4002, True)


def test_a_refreshed_session_stays_open(relay, enter, names):
    (alice,) = names("alice")
    session = enter(alice, exp=int(time.time()) + 2)
    later = int(time.time()) + 3600
    reply = session.request("refresh", token=relay.token(alice, exp=later))
    assert (reply["type"], reply["expires"]) == ("ok", later * 1000)
    witness = enter(alice, exp=int(time.time()) + 2)
    assert witness.closed() == 4002  # at this time the first token of the other session has expired, too
    session.request("ping")


def test_refresh_accepts_only_a_valid_token_of_the_same_user(relay, enter, names):
    alice, bob = names("alice", "bob")
    session = enter(alice)
    assert session.refusal("refresh", token=relay.token(bob))["code"] == "forbidden"
    assert session.refusal("refresh", token="nonsense")["code"] == "unauthorized"
    expired = relay.token(alice, exp=int(time.time()) - 60)
    assert session.refusal("refresh", token=expired)["code"] == "unauthorized"
    assert session.refusal("refresh")["code"] == "bad_request"
    session.request("ping")


def test_refresh_is_unsupported_in_open_mode(start, connect, names):
    (alice,) = names("alice")
    assert connect(start(), alice).refusal("refresh", token="a")["code"] == "unsupported"


def test_rights_that_a_newer_token_does_not_give_end_immediately(relay, enter, names):
    alice, bob, room, kept = names("alice", "bob", "room", "kept")
    other, session = enter(bob), enter(alice)
    for name in (room, kept):
        other.join(name)
        session.join(name)
    session.send(kept, "mine")
    session.request("refresh", token=relay.token(alice, **only((kept, "join"))))
    assert session.expect("error", room=room)["code"] == "forbidden"
    assert session.refusal("send", room=room, body=1)["code"] == "not_joined"
    assert session.refusal("send", room=kept, body=1)["code"] == "forbidden"
    other.send(room, "unheard")
    other.send(kept, "heard")
    session.expect("message", room=kept, body="heard")
    assert not session.received("message", room=room)
    assert session.refusal("history", room=kept)["code"] == "forbidden"


def test_a_watch_ends_when_the_right_ends(relay, enter, names):
    alice, bob, carol, room = names("alice", "bob", "carol", "room")
    session, friend = enter(alice, watch=["*"]), enter(carol)
    session.join(room)
    friend.join(room)
    session.request("watch", users=[bob, carol])
    session.request("refresh", token=relay.token(alice))
    session.request("presence", users=[carol])  # the reply follows a later read of the store
    session.forget_events()
    stranger = enter(bob)
    stranger.request("ping")
    friend.request("activity", state="idle")
    session.expect("presence", user=carol, activity="idle")
    assert not session.received("presence", user=bob)


# Backends


def test_an_api_key_acts_for_any_user(relay, backend, enter, names):
    alice, bob, room = names("alice", "bob", "room")
    session = enter(alice)
    session.join(room)
    message = {"from": bob, "body": "from a backend"}
    answer = call(relay, "POST", f"/v1/rooms/{room}/messages", message, token=backend)
    assert answer.status == 201
    assert session.expect("message", body="from a backend")["from"] == bob
    assert call(relay, "GET", f"/v1/users/{alice}/presence", token=backend).json["online"] is True


def test_an_api_key_opens_no_session_and_a_wrong_key_is_rejected(relay, backend, connect, names):
    (alice,) = names("alice")
    with pytest.raises(Refused) as refused:
        connect(relay, token=backend)
    assert refused.value.error["code"] == "unauthorized"
    wrong = backend[:-2] + ("AA" if not backend.endswith("AA") else "BB")
    assert call(relay, "GET", f"/v1/users/{alice}/presence", token=wrong).status == 401
    assert call(relay, "GET", f"/v1/users/{alice}/presence").status == 401


def test_a_revoked_key_is_no_longer_in_the_file(api_keys):
    made = run("api-key", "passing", "--file", api_keys)
    assert made.returncode == 0 and made.stdout.startswith("sw_")
    assert run("api-key", "passing", "--file", api_keys).returncode == 1
    assert run("api-key", "passing", "--file", api_keys, "--revoke").returncode == 0
    assert run("api-key", "passing", "--file", api_keys, "--revoke").returncode == 1
    assert "passing" not in api_keys.read_text()


# Keys of each kind


@pytest.mark.parametrize(
    ("algorithm", "kind"),
    [("ES256", "EC -pkeyopt ec_paramgen_curve:P-256"), ("RS256", "RSA -pkeyopt rsa_keygen_bits:2048"), ("EdDSA", "ED25519")],
)
def test_a_token_signed_with_a_private_key_is_accepted(start, connect, names, tmp_path, algorithm, kind):
    private, public = tmp_path / "private.pem", tmp_path / "public.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", *kind.split(), "-out", private], check=True, capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True, capture_output=True)
    relay = start("--tokens-keys", f"{algorithm}:one:{public}", "--tokens-audience", "chat", "--tokens-issuer", "login")
    (alice,) = names("alice")
    options = ["token", "--key-file", private, "--algorithm", algorithm, "--kid", "one", "--user", alice]
    made = run(*options, "--audience", "chat", "--issuer", "login", "--room", "a*=join,create", "--watch", "b*")
    assert made.returncode == 0, made.stderr
    session = connect(relay, token=made.stdout.strip())
    assert session.welcome["user"] == alice
    assert session.refusal("join", room="b")["code"] == "forbidden"
    session.join("abc")
    with pytest.raises(Refused):
        connect(relay, token=run(*options).stdout.strip())


def test_the_keys_of_a_set_are_selected_by_id(start, connect, tmp_path):
    keys = []
    for kid in ("old", "new"):
        private = tmp_path / f"{kid}.pem"
        subprocess.run(["openssl", "genpkey", "-algorithm", "ED25519", "-out", private], check=True)
        public = subprocess.run(
            ["openssl", "pkey", "-in", private, "-pubout", "-outform", "DER"], check=True, capture_output=True
        ).stdout
        # The key is the last part of the SubjectPublicKeyInfo (RFC 8410).
        x = base64.urlsafe_b64encode(public[-32:]).decode().rstrip("=")
        keys.append({"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": kid, "x": x})
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"keys": keys}))
    relay = start("--tokens-jwks-file", file)

    def token(signed_with, kid):
        options = ["--key-file", tmp_path / f"{signed_with}.pem", "--algorithm", "EdDSA", "--kid", kid]
        made = run("token", *options, "--user", "alice")
        assert made.returncode == 0, made.stderr
        return made.stdout.strip()

    for kid in ("old", "new"):
        assert connect(relay, token=token(kid, kid)).welcome["user"] == "alice"
    for signed_with, kid in (("old", "new"), ("new", "unknown")):
        with pytest.raises(Refused):
            connect(relay, token=token(signed_with, kid))


def test_a_small_rsa_key_is_refused_at_start(tmp_path):
    private, public = tmp_path / "private.pem", tmp_path / "public.pem"
    subprocess.run(["openssl", "genrsa", "-out", private, "1024"], check=True, capture_output=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True, capture_output=True)
    refused = run("serve", "--port", "0", "--data", tmp_path / "data", "--tokens-keys", f"RS256::{public}")
    assert refused.returncode == 1
    assert "is no public key for RS256" in refused.stderr
