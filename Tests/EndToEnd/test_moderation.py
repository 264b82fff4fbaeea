# SPDX-License-Identifier: Apache-2.0
"""Moderation: restricted members, rooms that are read-only, deletions by moderators, and reports of messages.

`ModerationCommandTests` proves the ranks, the bounds and the rate.
"""

import contextlib

import pytest

from api import call
from client import Refused
from people import HOUR, now
from phone import Phone
from waiting import eventually

# The users of these tests share no room, and become members at once.
RELAY_OPTIONS = ("--rooms-invitations", "none")


class Club:
    """A group with an owner, a moderator and a member. All have joined it."""

    def __init__(self, relay, connect, names):
        self.relay, self.connect = relay, connect
        self.ann, self.bob, self.eve, self.room = names("ann", "bob", "eve", "club")
        self.owner, self.moderator, self.member = (connect(relay, user) for user in (self.ann, self.bob, self.eve))
        self.owner.request("create", room=self.room, members=[self.bob, self.eve])
        self.owner.request("roles", room=self.room, user=self.bob, role="moderator")
        for session in self.sessions:
            session.join(self.room)
        for session in self.sessions:
            session.forget_events()

    @property
    def sessions(self):
        return (self.owner, self.moderator, self.member)

    def restrict(self, until=None, user=None, by=None):
        return (by or self.moderator).request("restrict", room=self.room, user=user or self.eve, until=until)


@pytest.fixture
def club(relay, connect, names):
    return Club(relay, connect, names)


def refusals(session, room, seq):
    """Sends every request that puts something into the room, and returns the errors."""
    requests = {
        "send": {"body": "hi"},
        "signal": {"name": "typing"},
        "edit": {"seq": seq, "body": "more"},
        "react": {"seq": seq, "key": "👍"},
        "notify": {"seq": seq},
        "ring": {},
    }
    return {type: session.refusal(type, room=room, **fields) for type, fields in requests.items()}


# Restrictions


def test_a_restriction_in_a_direct_room_survives_a_leave(club):
    room = club.owner.request("direct", user=club.eve)["room"]
    until = now() + HOUR
    answer = call(club.relay, "PUT", f"/v1/rooms/{room}/restrictions", {"user": club.eve, "until": until})
    assert answer.status == 200, answer
    club.owner.join(room)
    club.member.join(room)
    club.member.request("leave", room=room)
    assert club.member.request("direct", user=club.ann)["room"] == room
    club.member.join(room)
    for type, fields in {"send": {"body": "hi"}, "pin": {"seq": 1}}.items():
        assert club.member.refusal(type, room=room, **fields)["code"] == "restricted", type


def test_a_restricted_member_reads_but_sends_nothing(club):
    own = club.member.send(club.room, "before")["seq"]
    until = now() + HOUR
    reply = club.restrict(until)
    assert (reply["user"], reply["until"]) == (club.eve, until)
    club.restrict(until)
    for session in club.sessions:
        event = session.expect("member", user=club.eve)
        assert (event["event"], event["restrictedUntil"], event["by"]) == ("restricted", until, club.bob)
    for type, error in refusals(club.member, club.room, own).items():
        assert (error["code"], error["until"], error["temporary"]) == ("restricted", until, False), type
    # The member still gets messages, reads, and removes the own contents.
    club.owner.send(club.room, "calm down")
    assert club.member.expect("message")["body"] == "calm down"
    assert len(club.member.request("history", room=club.room)["messages"]) == 2
    club.member.request("unreact", room=club.room, seq=own, key="👍")
    club.member.request("delete", room=club.room, seq=own)
    # A repeated restriction is no second event.
    assert club.owner.received("member") == []


def test_the_state_is_in_the_lists_of_members_and_in_the_record(club):
    until = now() + HOUR
    club.restrict(until)
    tablet = club.connect(club.relay, club.eve)
    joined = tablet.join(club.room)
    assert joined["restrictedUntil"] == until
    listed = {entry["user"]: entry.get("restrictedUntil") for entry in joined["members"]}
    assert listed == {club.ann: None, club.bob: None, club.eve: until}
    page = call(club.relay, "GET", f"/v1/rooms/{club.room}/members").json["members"]
    assert {entry["user"]: entry.get("restrictedUntil") for entry in page} == listed
    assert tablet.request("room", room=club.room)["restrictedUntil"] == until
    assert "restrictedUntil" not in club.owner.request("room", room=club.room)
    assert "restrictedUntil" not in club.owner.join(club.room)


def test_the_end_of_a_restriction_is_an_event(club):
    club.restrict(now() + HOUR)
    reply = club.restrict(None)
    assert "until" not in reply
    for session in club.sessions:
        session.expect("member", user=club.eve, event="restricted")
        event = session.expect("member", user=club.eve)
        assert (event["event"], "restrictedUntil" in event) == ("unrestricted", False)
    club.member.send(club.room, "thanks")
    # To end no restriction is no error and no event.
    club.restrict(None)
    assert club.owner.received("member") == []


def test_a_restricted_member_who_becomes_an_owner_sends_again(club):
    club.restrict(now() + HOUR)
    club.owner.request("roles", room=club.room, user=club.eve, role="owner")
    for session in club.sessions:
        session.expect("member", user=club.eve, event="restricted")
        assert session.expect("role", user=club.eve)["role"] == "owner"
        event = session.expect("member", user=club.eve)
        assert (event["event"], event["role"], event["by"]) == ("unrestricted", "owner", club.ann)
        assert "restrictedUntil" not in event
    club.member.send(club.room, "my room")
    assert "restrictedUntil" not in club.member.join(club.room)


def test_a_restricted_owner_who_repeats_the_role_stays_restricted(club):
    body = {"user": club.ann, "until": now() + HOUR}
    assert call(club.relay, "PUT", f"/v1/rooms/{club.room}/restrictions", body).status == 200
    club.owner.request("roles", room=club.room, user=club.ann, role="owner")
    assert club.owner.refusal("send", room=club.room, body="hi")["code"] == "restricted"
    assert club.member.received("role") == []


def test_a_restricted_member_who_succeeds_the_last_owner_sends_again(club):
    until = now() + HOUR
    for user in (club.bob, club.eve):
        club.restrict(until, user=user, by=club.owner)
    club.owner.request("leave", room=club.room)
    owner = club.member.expect("role")["user"]
    event = club.member.expect("member", user=owner, event="unrestricted")
    assert (event["role"], "by" in event) == ("owner", False)
    first, second = (club.moderator, club.member) if owner == club.bob else (club.member, club.moderator)
    first.send(club.room, "my room")
    assert second.refusal("send", room=club.room, body="hi")["until"] == until


def test_a_restriction_ends_by_time(club):
    until = now() + 1_000
    club.restrict(until)
    sent = []

    def sends():
        with contextlib.suppress(Refused):
            sent.append(club.member.send(club.room, "late"))
        return sent

    eventually(sends)
    assert sent[0]["time"] >= until
    assert [event["event"] for event in club.owner.received("member")] == ["restricted"]
    assert "restrictedUntil" not in club.member.join(club.room)


def test_nobody_escapes_a_restriction_by_a_new_membership(club):
    until = now() + HOUR
    club.restrict(until)
    club.member.request("leave", room=club.room)
    again = club.connect(club.relay, club.eve)
    assert again.join(club.room)["restrictedUntil"] == until
    assert again.refusal("send", room=club.room, body="hi")["until"] == until
    assert club.owner.expect("member", user=club.eve, event="left")
    assert club.owner.expect("member", user=club.eve, event="joined")


def test_a_restriction_and_read_only_survive_a_restart(start, connect, names):
    club = Club(relay := start(*RELAY_OPTIONS), connect, names)
    until = now() + HOUR
    club.restrict(until)
    club.owner.request("update", room=club.room, readOnly=True)
    for session in club.sessions:
        session.drop()
    relay.kill()
    relay.start()
    member, moderator = connect(relay, club.eve), connect(relay, club.bob)
    joined = member.join(club.room)
    assert (joined["restrictedUntil"], joined["readOnly"]) == (until, True)
    assert member.refusal("send", room=club.room, body="hi")["until"] == until
    moderator.join(club.room)
    moderator.request("restrict", room=club.room, user=club.eve)
    error = member.refusal("send", room=club.room, body="hi")
    assert (error["code"], "until" in error) == ("restricted", False)
    moderator.send(club.room, "news")


def test_rooms_without_members_to_moderate_have_no_restrictions(relay, connect, names):
    ann, bob, live = names("ann", "bob", "live.club")
    session, other = connect(ann), connect(bob)
    pair = session.request("direct", user=bob)["room"]
    until = now() + HOUR
    assert session.refusal("restrict", room=pair, user=bob, until=until)["code"] == "unsupported"
    assert session.refusal("update", room=pair, readOnly=True)["code"] == "unsupported"
    assert session.refusal("create", kind="direct", members=[bob], readOnly=True)["code"] == "bad_request"
    for member in (session, other):
        member.join(live)
    assert session.refusal("restrict", room=live, user=bob, until=until)["code"] == "unsupported"
    assert session.refusal("report", room=live, seq=1, reason="spam")["code"] == "unsupported"


def test_a_token_with_the_right_moderate_restricts_and_sends_to_a_room_that_is_read_only(start, connect, secret):
    relay = start(secret=secret)
    rights = ["join", "send", "history", "presence", "create"]

    def token(user, *more):
        return relay.token(user, rooms=[{"match": "*", "can": rights + list(more)}])

    mod = connect(relay, token=token("mod", "moderate"))
    eve = connect(relay, token=token("eve"))
    for session in (mod, eve):
        session.join("tea")
    mod.request("update", room="tea", readOnly=True)
    mod.send("tea", "news")
    assert eve.refusal("send", room="tea", body="hi")["code"] == "restricted"
    until = now() + HOUR
    mod.request("restrict", room="tea", user="eve", until=until)
    assert eve.refusal("send", room="tea", body="hi")["until"] == until
    # Over HTTP the problem document has the same fields.
    headers = {"Authorization": f"Bearer {token('eve')}"}
    answer = call(relay, "POST", "/v1/rooms/tea/messages", {"body": "hi"}, headers=headers)
    assert (answer.status, answer.problem["code"], answer.problem["until"]) == (403, "restricted", until)


def test_a_restricted_member_answers_no_call_and_no_notification(club):
    phone = Phone(club.relay, f"{club.eve}-phone")
    club.member.request("device", device="phone", **phone.registration)
    actions = [{"id": "reply", "title": "Reply", "textInput": {"button": "Send", "placeholder": "Text"}, "posts": True}]
    registry = {"categories": [{"id": "chat", "actions": actions}]}
    assert call(club.relay, "PUT", "/v1/categories", registry).status == 200
    club.member.drop()
    eventually(lambda: not club.owner.request("presence", users=[club.eve])["presence"][0]["online"])
    club.owner.send(club.room, {"text": "Are you there?"}, push={"category": "chat"})
    notification = phone.ring("Are you there?")["payload"]["communication"]["notification"]
    until = now() + HOUR
    club.restrict(until)
    member = club.connect(club.relay, club.eve)
    error = member.refusal("respond", notification=notification, action="reply", text="yes")
    assert (error["code"], error["until"]) == ("restricted", until)
    rung = club.owner.request("ring", room=club.room)
    error = member.refusal("answer", room=club.room, seq=rung["seq"])
    assert (error["code"], error["until"]) == ("restricted", until)
    assert member.request("decline", room=club.room, seq=rung["seq"])["state"] == "ringing"


# Rooms that are read-only


def test_only_moderators_and_owners_send_to_a_room_that_is_read_only(club):
    own = club.member.send(club.room, "before")["seq"]
    version = club.owner.request("room", room=club.room)["version"]
    reply = club.moderator.request("update", room=club.room, readOnly=True, version=version)
    assert (reply["readOnly"], reply["version"]) == (True, version + 1)
    for session in (club.owner, club.member):
        event = session.expect("room", event="updated")
        assert (event["readOnly"], event["by"]) == (True, club.bob)
    assert club.member.request("room", room=club.room)["readOnly"] is True
    assert club.member.join(club.room)["readOnly"] is True
    for type, error in refusals(club.member, club.room, own).items():
        assert (error["code"], "until" in error) == ("restricted", False), type
    for session in (club.owner, club.moderator):
        session.send(club.room, "news")
    # Members answer the calls of moderators.
    rung = club.moderator.request("ring", room=club.room)
    assert club.member.request("answer", room=club.room, seq=rung["seq"])["state"] == "answered"
    # A member with a new role sends at once, and no longer after its end.
    club.owner.request("roles", room=club.room, user=club.eve, role="moderator")
    club.member.send(club.room, "thanks")
    club.owner.request("roles", room=club.room, user=club.eve, role="member")
    assert club.member.refusal("send", room=club.room, body="hi")["code"] == "restricted"
    stale = club.owner.refusal("update", room=club.room, readOnly=False, version=version)
    assert stale["code"] == "conflict"
    assert "readOnly" not in club.owner.request("update", room=club.room, readOnly=False)
    club.member.send(club.room, "at last")
    assert club.member.refusal("update", room=club.room, readOnly=True)["code"] == "forbidden"


def test_the_users_of_a_call_send_signals_in_a_room_that_is_read_only(club, names):
    (dan,) = names("dan")
    club.owner.request("add", room=club.room, user=dan)
    bystander = club.connect(club.relay, dan)
    bystander.join(club.room)
    club.owner.request("update", room=club.room, readOnly=True)
    rung = club.moderator.request("ring", room=club.room)
    assert club.member.refusal("signal", room=club.room, name="offer")["code"] == "restricted"
    club.member.request("answer", room=club.room, seq=rung["seq"])
    club.member.request("signal", room=club.room, name="offer", body={"sdp": 1})
    signal = club.moderator.expect("signal", name="offer")
    assert (signal["from"], signal["body"]) == (club.eve, {"sdp": 1})
    for session in (club.owner, bystander):
        assert session.received("signal") == []
    assert bystander.refusal("signal", room=club.room, name="offer")["code"] == "restricted"
    assert club.member.refusal("send", room=club.room, body="hi")["code"] == "restricted"
    # A restriction applies in a call, too.
    until = now() + HOUR
    club.restrict(until)
    assert club.member.refusal("signal", room=club.room, name="offer")["until"] == until
    club.restrict(None)
    club.member.request("signal", room=club.room, name="candidate")
    club.member.request("hangup", room=club.room, seq=rung["seq"])
    assert club.member.refusal("signal", room=club.room, name="offer")["code"] == "restricted"


def test_a_member_who_leaves_the_newer_of_two_calls_sends_signals_for_the_older_one(club):
    club.owner.request("update", room=club.room, readOnly=True)
    calls = {}
    for caller in (club.moderator, club.owner):
        calls[caller.user] = caller.request("ring", room=club.room)["seq"]
        club.member.request("answer", room=club.room, seq=calls[caller.user])
    club.member.request("signal", room=club.room, name="newer")
    club.owner.expect("signal", name="newer")
    club.member.request("hangup", room=club.room, seq=calls[club.ann])
    club.member.request("signal", room=club.room, name="older")
    assert club.moderator.expect("signal")["name"] == "older"
    assert club.owner.received("signal") == []


def test_the_users_of_a_call_send_signals_after_a_restart(start, connect, names):
    club = Club(relay := start(*RELAY_OPTIONS), connect, names)
    club.owner.request("update", room=club.room, readOnly=True)
    rung = club.moderator.request("ring", room=club.room)
    club.member.request("answer", room=club.room, seq=rung["seq"])
    for session in club.sessions:
        session.drop()
    relay.kill()
    relay.start()
    member, moderator = connect(relay, club.eve), connect(relay, club.bob)
    for session in (member, moderator):
        session.join(club.room)
    member.request("signal", room=club.room, name="offer")
    assert moderator.expect("signal")["from"] == club.eve
    moderator.request("hangup", room=club.room, seq=rung["seq"])
    assert member.refusal("signal", room=club.room, name="offer")["code"] == "restricted"


def test_a_room_can_be_read_only_from_the_begin(connect, names):
    ann, bob, room = names("ann", "bob", "news")
    owner, member = connect(ann), connect(bob)
    assert owner.request("create", room=room, members=[bob], readOnly=True)["readOnly"] is True
    for session in (owner, member):
        assert session.join(room)["readOnly"] is True
    owner.send(room, "news")
    assert member.refusal("send", room=room, body="hi")["code"] == "restricted"


# Deletions


def test_a_deletion_by_a_moderator_names_the_moderator(club):
    first, second, third = (club.member.send(club.room, text)["seq"] for text in ("one", "two", "three"))
    known = club.owner.join(club.room)
    club.moderator.request("delete", room=club.room, seq=first)
    club.member.request("delete", room=club.room, seq=second)
    assert call(club.relay, "DELETE", f"/v1/rooms/{club.room}/messages/{third}").status == 204
    deleted = {event["seq"]: event.get("by") for event in club.owner.received("deleted")}
    assert deleted == {first: club.bob, second: None, third: None}
    page = club.owner.request("history", room=club.room)["messages"]
    assert {message["seq"]: message.get("by") for message in page} == deleted
    after = {"epoch": known["epoch"], "seq": known["seq"]}
    back = club.connect(club.relay, club.ann).join(club.room, after=after, afterChange=known["change"])
    assert {change["seq"]: change.get("by") for change in back["changes"]} == deleted


# Reports


def test_a_report_goes_to_the_list_of_the_moderators(club):
    seq = club.owner.send(club.room, "buy pills")["seq"]
    made = club.member.request("report", room=club.room, seq=seq, reason="spam")
    assert (made["from"], made["user"], made["reason"], made["state"]) == (club.ann, club.eve, "spam", "open")
    again = club.member.request("report", room=club.room, seq=seq, reason="worse")
    assert (again["report"], again["reason"], again["duplicate"]) == (made["report"], "spam", True)
    listed = club.moderator.request("reports", room=club.room)
    assert (listed["reports"], listed["more"]) == ([{key: made[key] for key in made.keys() - {"type", "id"}}], False)
    assert club.member.refusal("reports", room=club.room)["code"] == "forbidden"
    stranger = club.connect(club.relay, "stranger")
    assert stranger.refusal("report", room=club.room, seq=seq, reason="spam")["code"] == "not_joined"

    ended = club.moderator.request("resolve", room=club.room, report=made["report"], state="resolved")
    assert (ended["state"], ended["by"]) == ("resolved", club.bob)
    assert club.moderator.request("reports", room=club.room, state="open")["reports"] == []
    assert club.member.refusal("resolve", room=club.room, report=made["report"], state="open")["code"] == "forbidden"
    assert club.moderator.refusal("resolve", room=club.room, report=10**9, state="resolved")["code"] == "not_found"


def test_a_backend_reads_and_ends_the_reports_of_all_rooms(club):
    path = f"/v1/rooms/{club.room}"
    made = []
    for number in range(3):
        seq = club.owner.send(club.room, number)["seq"]
        body = {"user": club.eve, "reason": f"reason {number}"}
        answer = call(club.relay, "POST", f"{path}/messages/{seq}/reports", body)
        assert answer.status == 201
        assert call(club.relay, "POST", f"{path}/messages/{seq}/reports", body).status == 200
        made.append(answer.json["report"])
    page = call(club.relay, "GET", f"{path}/reports?limit=2").json
    assert ([report["report"] for report in page["reports"]], page["more"]) == ([made[2], made[1]], True)
    page = call(club.relay, "GET", f"{path}/reports?limit=2&before={made[1]}").json
    assert ([report["report"] for report in page["reports"]], page["more"]) == ([made[0]], False)
    ended = call(club.relay, "PUT", f"{path}/reports/{made[0]}", {"state": "dismissed"})
    assert (ended.json["state"], "by" in ended.json) == ("dismissed", False)
    newest = call(club.relay, "GET", "/v1/reports?state=open&limit=2").json
    assert [report["report"] for report in newest["reports"]] == [made[2], made[1]]
    assert call(club.relay, "GET", "/v1/reports?limit=101").status == 422


def test_reports_end_with_their_room_and_with_their_people(club):
    seq = club.owner.send(club.room, "buy pills")["seq"]
    mine = club.member.request("report", room=club.room, seq=seq, reason="a reason of Eve")["report"]
    other = club.moderator.request("report", room=club.room, seq=seq, reason="a reason of Bob")["report"]
    exported = call(club.relay, "GET", f"/v1/users/{club.eve}/export").body.decode()
    assert "a reason of Eve" in exported and "a reason of Bob" not in exported

    def ids():
        return [report["report"] for report in call(club.relay, "GET", "/v1/reports").json["reports"]]

    assert {mine, other} <= set(ids())
    erasure = call(club.relay, "DELETE", f"/v1/users/{club.eve}?messages=delete").json["erasure"]
    eventually(lambda: call(club.relay, "GET", f"/v1/erasures/{erasure}").json["state"] == "done")
    assert mine not in ids() and other in ids()
    club.owner.request("deleteRoom", room=club.room)
    assert other not in ids()
