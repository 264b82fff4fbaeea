# SPDX-License-Identifier: Apache-2.0
"""Privacy: each request and event shows only the presence that a user shares with the viewer."""

import itertools
import re

import pytest

from api import call

RELAY_OPTIONS = ("--presence-grace", "0")

AUDIENCES = ["rooms", "watchers", "none"]
#: For each audience: True if users who share a room see the value, and True if users who only watch see it.
SHOWN = {"rooms": (True, False), "watchers": (True, True), "none": (False, False)}


# Requests


class Viewer:
    """A user with a token, and all requests for the presence of another user."""

    def __init__(self, relay, connect, user, **claims):
        self.token = relay.token(user, **claims)
        self.session = connect(relay, token=self.token)
        self.user = user
        self._relay = relay

    def seen(self, user, room=None):
        """Returns the entries of `user` from all requests. With a room, includes the requests for the room."""
        get = call(self._relay, "GET", f"/v1/users/{user}/presence", token=self.token).json
        posted = call(self._relay, "POST", "/v1/presence", {"users": [user]}, token=self.token).json
        entries = [
            get,
            *posted["presence"],
            *self.session.request("presence", users=[user])["presence"],
            *self.session.request("watch", users=[user])["presence"],
        ]
        if room is not None:
            listed = call(self._relay, "GET", f"/v1/rooms/{room}/members", token=self.token).json
            lists = [
                self.session.join(room)["members"],
                self.session.request("presence", room=room)["presence"],
                listed["members"],
            ]
            entries += [entry for members in lists for entry in members if entry["user"] == user]
            assert len(entries) == 7
        return entries

    def online_counts(self, room):
        listed = call(self._relay, "GET", f"/v1/rooms/{room}/members", token=self.token).json
        return {self.session.join(room)["onlineCount"], listed["onlineCount"]}


@pytest.fixture
def views(start, connect, secret):
    """Bob, whose presence the others see, and three viewers: a room member, a user who may watch, and a stranger."""
    relay = start("--presence-grace", 0, secret=secret)
    bob = Viewer(relay, connect, "bob", name="Bob")
    bob.session.join("room")
    inside = Viewer(relay, connect, "inside")
    inside.session.join("room")
    outside = Viewer(relay, connect, "outside", watch=["*"])
    outside.session.join("elsewhere")
    stranger = Viewer(relay, connect, "stranger")
    return bob, inside, outside, stranger


def test_everybody_sees_the_presence_that_is_shared_with_them(views):
    bob, inside, outside, stranger = views
    bob.session.request("focus", isFocused=True)
    for focus, online in itertools.product(AUDIENCES, AUDIENCES):
        bob.session.request("preferences", shareFocus=focus, shareOnline=online)
        for viewer, room, is_outside in (inside, "room", False), (outside, None, True):
            for entry in viewer.seen("bob", room):
                sees_online, sees_focus = SHOWN[online][is_outside], SHOWN[focus][is_outside]
                assert entry["name"] == "Bob"
                assert (entry["online"], entry["isFocused"]) == (sees_online, sees_focus or None)
                assert ("focusSince" in entry) is sees_focus
                assert ("activity" in entry, "lastSeen" in entry) == (sees_online, sees_online)
        assert inside.online_counts("room") == {1 if online == "none" else 2}
        # Users see their own state completely.
        for entry in bob.seen("bob", "room"):
            assert (entry["online"], entry["isFocused"]) == (True, True)
    # A stranger cannot even find out if the user exists.
    for user in ("bob", "nobody"):
        assert stranger.session.refusal("presence", users=[user])["code"] == "forbidden"
        assert stranger.session.refusal("watch", users=[user])["code"] == "forbidden"
        assert call(bob._relay, "GET", f"/v1/users/{user}/presence", token=stranger.token).status == 403
    refusals = [stranger.session.refusal("watch", users=[user])["message"] for user in ("bob", "nobody")]
    assert refusals[0].replace("bob", "nobody") == refusals[1]


def test_nobody_else_sees_a_focus(views):
    """A user who has left the room does not see it any more."""
    bob, inside, outside, _ = views
    bob.session.request("focus", isFocused=True)
    inside.session.expect("presence", user="bob", isFocused=True)
    outside.session.join("room")
    assert {entry["isFocused"] for entry in outside.seen("bob", "room")} == {True}
    outside.session.request("leave", room="room")
    assert {entry["isFocused"] for entry in outside.seen("bob")} == {None}
    outside.session.forget_events()
    bob.session.request("focus", isFocused=None)
    inside.session.expect("presence", user="bob", isFocused=None)
    assert outside.session.received("presence", user="bob") == []


def test_a_focus_is_hidden_without_the_right_presence(views, connect):
    bob, _, _, _ = views
    bob.session.request("focus", isFocused=True)
    rooms = [{"match": "*", "can": ["join", "send", "history", "push"]}]
    blind = Viewer(bob._relay, connect, "blind", rooms=rooms)
    blind.session.join("room")
    assert blind.session.send("room", "hi")["delivery"] == {"live": 0, "push": 2, "waiting": 0, "quiet": []}
    bob.session.request("focus", isFocused=None)
    bob.session.expect("message", body="hi")
    assert blind.session.received("presence", user="bob") == []


# Events


@pytest.fixture
def watched(circle):
    """Bob in Alice's room, and a user in no room who watches him."""
    bob, watcher = circle.live("bob"), circle.stranger("watcher")
    watcher.session.request("watch", users=[bob.user])
    circle.alice.forget_events()
    return circle, bob, watcher.session


def settle(circle, *sessions):
    """Waits until the relay has sent all earlier changes: the event of a later change has arrived."""
    mover = circle.live("mover")
    for session in sessions:
        session.request("watch", users=[mover.user])
    mover.session.request("activity", state="idle")
    mover.session.request("activity", state="background")
    for session in sessions:
        session.expect("presence", user=mover.user, activity="background")


HIDDEN_CHANGES = {
    "focus": lambda circle, bob: [bob.focus(value, number=number) for number, value in enumerate((True, None, True))],
    "online": lambda circle, bob: (bob.session.close(1000), circle.back(bob)),
    "activity": lambda circle, bob: bob.session.request("activity", state="background"),
}


@pytest.mark.parametrize("change", HIDDEN_CHANGES)
def test_a_change_that_is_not_shared_is_no_event(watched, change):
    circle, bob, watcher = watched
    sessions = (circle.alice, watcher)
    bob.prefer(shareFocus="none", shareOnline="none")
    circle.alice.expect("presence", user=bob.user, online=False)
    settle(circle, *sessions)
    for session in sessions:
        session.forget_events()
    HIDDEN_CHANGES[change](circle, bob)
    settle(circle, *sessions)
    for session in sessions:
        assert session.received("presence", user=bob.user) == []
    # The change has happened, and is visible as soon as it is shared.
    bob.prefer(shareFocus="watchers", shareOnline="watchers")
    shown = circle.alice.expect("presence", user=bob.user)
    assert {"focus": shown["isFocused"], "online": shown["online"], "activity": "activity" in shown}[change]


@pytest.mark.parametrize("share", AUDIENCES)
@pytest.mark.parametrize("what", ["shareFocus", "shareOnline"])
def test_events_go_to_users_who_may_see_the_change(watched, what, share):
    circle, bob, watcher = watched
    bob.prefer(**{"shareFocus": "none", "shareOnline": "none"} | {what: share})
    settle(circle, circle.alice, watcher)
    for session in (circle.alice, watcher):
        session.forget_events()
    bob.focus(True)
    bob.session.request("activity", state="idle")
    settle(circle, circle.alice, watcher)
    for session, is_shown in zip((circle.alice, watcher), SHOWN[share], strict=True):
        received = session.received("presence", user=bob.user)
        assert bool(received) is is_shown
        for event in received:
            assert (event["isFocused"], event["online"]) == (
                (True, False) if what == "shareFocus" else (None, True)
            )


def test_a_new_sharing_preference_applies_immediately(watched):
    circle, bob, watcher = watched
    bob.focus(True)
    circle.alice.expect("presence", user=bob.user, isFocused=True)
    assert watcher.received("presence", isFocused=True) == []
    bob.prefer(shareFocus="watchers")
    assert watcher.expect("presence", user=bob.user, isFocused=True)["focusSince"]
    bob.prefer(shareFocus="none")
    for session in (circle.alice, watcher):
        assert "focusSince" not in session.expect("presence", user=bob.user, isFocused=None)
    bob.prefer(shareOnline="rooms")
    gone = watcher.expect("presence", user=bob.user, online=False)
    assert "lastSeen" not in gone and "activity" not in gone
    assert circle.alice.received("presence", user=bob.user) == []
    bob.prefer(shareOnline="none")
    assert "lastSeen" not in circle.alice.expect("presence", user=bob.user, online=False)
    bob.session.expect("presence", user=bob.user, isFocused=True)
    # The user's own sessions receive no hidden state.
    assert all(event["online"] for event in bob.session.received("presence", user=bob.user))


def test_in_a_large_room_the_count_follows_visible_users(gather):
    circle = gather("--limits-member-list", 2, "--presence-grace", 0)
    bob, carol = circle.live("bob"), circle.live("carol")
    circle.alice.expect("counts", memberCount=3, onlineCount=3)
    bob.prefer(shareOnline="none")
    circle.alice.expect("counts", memberCount=3, onlineCount=2)
    bob.session.close(1000)
    session = circle.back(bob)
    session.join(circle.room)
    session.close(1000)
    carol.session.close(1000)
    circle.alice.expect("counts", onlineCount=1)
    assert [event["onlineCount"] for event in circle.alice.received("counts")] == []


# The sender's view


class Plain:
    """Replaces the parts of a frame that differ between messages."""

    def __init__(self, *names):
        self._names = names

    def __call__(self, frame):
        text = frame.text
        for name in self._names:
            text = text.replace(name, "NAME")
        return re.sub(r'"(id|seq|time|lastSeen)":\d+', r'"\1":0', text)


def frames_after_send(circle, person, until, **fields):
    """Sends a message from Alice, and returns all frames that she receives until `until` is true, in order."""
    alice = circle.alice
    alice.forget_events()
    id = alice.begin("send", room=circle.room, body="hi", **fields)
    frames = []
    while not until(frames):
        frames.append(alice.next_frame())
    alice.request("ping")
    return [Plain(person.user, circle.room, alice.user)(frame) for frame in frames + alice.inbox]


def has_reply(frames):
    return any(frame["type"] == "ok" for frame in frames)


def has_news(frames):
    return has_reply(frames) and any(frame["type"] == "delivery" for frame in frames)


def sender_frames(circle, prepare, where="away", **fields):
    """Returns the frames that a sender receives after a message to a person. `prepare` changes the person first."""
    person = circle.live("bob") if where == "live" else circle.away("bob")
    prepare(circle, person)
    return frames_after_send(circle, person, has_news if fields.get("report") else has_reply, **fields)


def normal(circle, person):
    pass


def hiding(circle, person):
    person.prefer(shareFocus="none", onFocus="hold")
    person.focus(True)
    person.filter("home")


SECRET = {
    "held": hiding,
    "held by quiet hours": lambda circle, person: person.prefer(
        shareFocus="none",
        quietHours={"from": "00:00", "to": "00:00", "days": [1, 2, 3, 4, 5, 6, 7], "timeZone": "UTC", "mode": "hold"},
    ),
    "muted": lambda circle, person: person.prefer(rooms={circle.room: {"level": "none"}}),
    "without alerts": lambda circle, person: (
        person.prefer(shareFocus="none"),
        person.register(settings={"alerts": False}),
    ),
    "with two devices": lambda circle, person: (person.register("tablet"), hiding(circle, person)),
}


@pytest.mark.parametrize("report", [False, True], ids=["unasked", "asked"])
@pytest.mark.parametrize("secret", SECRET)
def test_a_sender_sees_no_difference_from_a_normal_push(circle, secret, report):
    expected = sender_frames(circle, normal, report=report)
    assert len(expected) == (2 if report else 1)
    circle.room = f"{circle.room}-2"
    circle.alice.join(circle.room)
    assert sender_frames(circle, SECRET[secret], report=report) == expected


def test_a_sender_sees_no_difference_for_a_blocking_member(circle):
    """A blocker looks like a member who shares the online state with nobody."""
    expected = sender_frames(circle, lambda circle, person: person.prefer(shareOnline="none"), report=True)
    circle.room = f"{circle.room}-2"
    circle.alice.join(circle.room)
    assert sender_frames(circle, lambda circle, person: person.block(circle.alice), report=True) == expected


def test_notify_anyway_reveals_no_hidden_member(circle):
    hidden, plain = circle.away("bob"), circle.away("carol")
    hiding(circle, hidden)
    seq = circle.send("hi")["seq"]
    replies = [
        circle.alice.request("notify", room=circle.room, seq=seq, users=[user])["push"]
        for user in (hidden.user, plain.user, "nobody")
    ]
    assert replies == [0, 0, 0]
