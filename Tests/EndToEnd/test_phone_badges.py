# SPDX-License-Identifier: Apache-2.0
"""The number on the icon: each way in which it falls, and the ends of a call on each kind of device."""

import pytest

from api import call
from phone import Phone
from waiting import eventually

RELAY_OPTIONS = ("--presence-grace", "0")


class Icon:
    """Bob's phone, with one unread message of Alice in her room and one of Carol in another room."""

    def __init__(self, circle, names):
        self.circle, self.relay = circle, circle.relay
        (self.other,) = names("other")
        self.carol = circle.stranger("carol")
        self.carol.session.join(self.other)
        self.bob = circle.live("bob", circle.room, self.other)
        # Bob has read the room before the first unread message.
        self.bob.session.close(1000)
        circle.alice.expect("presence", user=self.bob.user, online=False)
        circle.send("from Alice")
        self.carol.session.send(self.other, "from Carol")
        self.waits_for(2)

    def waits_for(self, badge, texts=None):
        def matches():
            shown = call(self.relay, "GET", f"/v1/simulator/devices/{self.bob.phone.token}").json
            alerts = [one["payload"]["aps"]["alert"] for one in shown["notifications"]]
            found = [alert.get("loc-key") or alert.get("body") for alert in alerts]
            return shown["badge"] == badge and (texts is None or found == texts)

        eventually(matches)

    def request(self, method, path, body=None, status=200):
        answer = call(self.relay, method, path, body, user=self.bob.user)
        assert answer.status == status, answer


@pytest.fixture
def icon(circle, names):
    return Icon(circle, names)


def read(icon):
    session = icon.circle.back(icon.bob)
    session.join(icon.other)
    session.request("read", room=icon.other, seq=1)


def send(icon):
    session = icon.circle.back(icon.bob)
    session.join(icon.other)
    session.send(icon.other, "an answer")


def leave(icon):
    icon.request("DELETE", f"/v1/rooms/{icon.other}/members/{icon.bob.user}", status=204)


def delete_the_room(icon):
    icon.request("DELETE", f"/v1/rooms/{icon.other}", status=204)


def delete_the_message(icon):
    icon.carol.session.request("delete", room=icon.other, seq=1)


def mute(icon):
    icon.bob.prefer(rooms={icon.other: {"level": "none"}})


def only_mentions(icon):
    icon.bob.prefer(rooms={icon.other: {"level": "mentions"}})


def block(icon):
    icon.bob.block(icon.carol)


def filter(icon):
    icon.bob.prefer(rooms={icon.other: {"criteria": "home"}, icon.circle.room: {"criteria": "work"}})
    icon.bob.filter("work")


def erase_the_sender(icon):
    icon.carol.session.close(1000)
    answer = call(icon.relay, "DELETE", f"/v1/users/{icon.carol.user}?messages=delete")
    assert answer.status == 202, answer


#: Each way, and the texts that stay on the lock screen.
WAYS = {
    read: ["from Alice"],
    send: ["from Alice"],
    leave: ["from Alice"],
    delete_the_room: ["from Alice"],
    delete_the_message: ["from Alice", "Message deleted"],
    mute: ["from Alice", "from Carol"],
    only_mentions: ["from Alice", "from Carol"],
    block: ["from Alice"],
    filter: ["from Alice", "from Carol"],
    erase_the_sender: ["from Alice", "Message deleted"],
}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_the_number_falls_and_the_lock_screen_keeps_what_may_stay(icon, way):
    way(icon)
    icon.waits_for(1, WAYS[way])


def test_a_number_without_alerts_rises_and_falls(circle):
    """Alerts off leaves the badge on."""
    bob = circle.live("bob")
    bob.register(settings={"alerts": False})
    bob.session.close(1000)
    circle.alice.expect("presence", user=bob.user, online=False)
    circle.send("one")
    badge = lambda: call(circle.relay, "GET", f"/v1/simulator/devices/{bob.phone.token}").json["badge"]  # noqa: E731
    eventually(lambda: badge() == 1)
    assert bob.phone.notifications() == []


@pytest.mark.parametrize("event", ["answer", "decline"])
def test_a_call_that_is_answered_or_declined_counts_as_read(icon, event):
    session = icon.circle.back(icon.carol)
    rung = session.request("ring", room=icon.other)
    icon.waits_for(3)
    path = f"/v1/rooms/{icon.other}/calls/{rung['seq']}/{event}"
    answer = call(icon.relay, "POST", path, {"user": icon.bob.user, "device": "phone"}, user=icon.bob.user)
    assert answer.status == 200, answer
    icon.waits_for(2)


def test_a_read_and_a_sign_out_of_one_account_correct_the_sum(circle, names):
    work, home = circle.away("work"), circle.away("home")
    phone = Phone(circle.relay, *names("phone"))
    for user in work, home:
        user.register(token=phone.token)
    badge = lambda: call(circle.relay, "GET", f"/v1/simulator/devices/{phone.token}").json["badge"]  # noqa: E731
    circle.send("one")
    eventually(lambda: len(phone.notifications()) == 2 and badge() == 2)
    home.forget()
    eventually(lambda: badge() == 1)
    session = circle.back(work)
    session.join(circle.room)
    session.request("read", room=circle.room, seq=1)
    # The pause between two pushes of a badge is a minute, and a push with removals does not wait for it.
    eventually(lambda: badge() == 0)


# MARK: Calls

#: The kinds of devices: two that get alerts, one that gets calls on a token of their own, and one that is off.
KINDS = ["phone", "tablet", "calls", "off"]


class Callee:
    """Dan with four phones and no session, and Erin who calls him."""

    def __init__(self, circle, names):
        self.circle, self.relay = circle, circle.relay
        self.dan = circle.away("dan")
        self.dan.forget()
        self.erin = circle.stranger("erin")
        self.erin.session.join(circle.room)
        self.phones = {kind: Phone(self.relay, f"{self.dan.user}-{kind}") for kind in KINDS}
        self.screen = Phone(self.relay, f"{self.dan.user}-screen")
        for kind, phone in self.phones.items():
            fields = {"voipToken": self.screen.token} if kind == "calls" else {}
            self.dan.put(f"devices/{kind}", phone.registration | fields)
        self.phones["off"].reach(False)

    def ring(self, **fields):
        rung = self.erin.session.request("ring", room=self.circle.room, **fields)
        for phone in (self.phones["phone"], self.phones["tablet"], self.screen):
            phone.nth(0)
        return rung

    def end(self, rung, event, device):
        path = f"/v1/rooms/{self.circle.room}/calls/{rung['seq']}/{event}"
        answer = call(self.relay, "POST", path, {"user": self.dan.user, "device": device}, user=self.dan.user)
        assert answer.status == 200, answer

    def keys(self):
        """The key of the text that each phone shows, or `None`."""
        shown = {kind: phone.notifications() for kind, phone in self.phones.items()}
        assert all(len(pushes) <= 1 for pushes in shown.values()), shown
        return {
            kind: pushes[0]["payload"]["aps"]["alert"].get("loc-key") if pushes else None
            for kind, pushes in shown.items()
        }


@pytest.fixture
def callee(circle, names):
    return Callee(circle, names)


@pytest.mark.parametrize("is_cancelled", [False, True], ids=["rings out", "cancelled"])
def test_each_phone_shows_a_missed_call(callee, is_cancelled):
    rung = callee.ring(**({} if is_cancelled else {"push": {"expires": 3}}))
    if is_cancelled:
        callee.erin.session.request("hangup", room=callee.circle.room, seq=rung["seq"])
    on = {kind: "Missed call" for kind in KINDS if kind != "off"} | {"off": None}
    eventually(lambda: callee.keys() == on)
    callee.phones["off"].reach(True)
    eventually(lambda: callee.keys() == dict.fromkeys(KINDS, "Missed call"))


@pytest.mark.parametrize("event, text", [("answer", "Answered"), ("decline", "Declined")])
def test_the_phone_that_ends_the_call_removes_its_own_alert(callee, event, text):
    rung = callee.ring()
    callee.end(rung, event, "phone")
    ended = {"phone": None, "tablet": f"{text} on another device", "calls": None, "off": None}
    eventually(lambda: callee.keys() == ended)
    callee.phones["off"].reach(True)
    callee.circle.pass_due()
    assert callee.keys() == ended
