# SPDX-License-Identifier: Apache-2.0
"""The reasons for a push or for none, in a dry run and in the explanation of a push.

`RelayDeliveryTests` proves each rule. The cases here show one decision of each kind.
"""

import pytest

from api import call, history
from people import HOUR, now
from waiting import eventually

GRACE = 3600
RELAY_OPTIONS = ("--presence-grace", GRACE)


def ask(circle, person, **fields):
    """Asks for a dry run of a message from Alice, and returns the decisions by device."""
    body = {"room": circle.room, "from": circle.alice.user, "user": person.user} | fields
    answer = call(circle.relay, "POST", "/v1/decisions", body)
    assert answer.status == 200, answer
    assert {key: answer.json[key] for key in ("room", "from", "user")} == {key: body[key] for key in ("room", "from", "user")}
    return {one.get("device"): one for one in answer.json["devices"]}


def decided(circle, person, device="phone", **fields):
    """Returns the outcome for a device, with the codes of its reasons."""
    decision = ask(circle, person, **fields)[device]["decision"]
    assert all(reason["words"] for reason in decision["reasons"])
    return decision["outcome"], [reason["code"] for reason in decision["reasons"]]


def test_a_room_without_history_requests_no_push(circle, names):
    (room,) = names("live.room")
    circle.alice.join(room)
    live = circle.live("carol", room)
    assert decided(circle, live, room=room)[1][0] == "no_push_asked"


def test_a_session_may_yet_receive_it(circle):
    bob = circle.live("bob", acks=True)
    asked = circle.alice.request("ping")["time"]
    outcome, reasons = decided(circle, bob)
    assert (outcome["kind"], reasons) == ("wait", ["not_received_yet"])
    assert asked + 5_000 <= outcome["until"] <= circle.alice.request("ping")["time"] + 5_000
    assert decided(circle, bob, push={"kind": "call"})[0]["kind"] == "push"


def test_the_recipient_may_come_back(circle):
    bob = circle.live("bob")
    bob.session.drop()
    eventually(lambda: decided(circle, bob)[1] == ["within_grace"])
    assert decided(circle, bob)[0]["kind"] == "wait"


def test_a_recipient_without_a_device_has_one_decision(circle):
    bob = circle.away("bob")
    bob.forget()
    (decision,) = ask(circle, bob).items()
    assert (decision[0], decision[1]["decision"]["outcome"]) == (None, {"kind": "none", "reason": "no_device"})


def test_the_silence_holds(circle):
    bob = circle.away("bob", onFocus="hold")
    at = now()
    bob.focus(True, at=at)
    outcome, reasons = decided(circle, bob)
    assert (outcome, reasons) == ({"kind": "hold", "until": at + 12 * HOUR}, ["focused"])
    bob.filter("home")
    assert decided(circle, bob, push={"criteria": "work"})[1] == ["focused", "filtered"]
    answer = ask(circle, bob, push={"expires": 60})["phone"]
    assert answer["decision"]["outcome"]["until"] == answer["facts"]["now"] + 60_000
    assert decided(circle, bob, push={"level": "timeSensitive"})[0] == {"kind": "push", "level": "timeSensitive"}


def test_a_decision_names_every_rule_that_matches_the_deciding_one_first(circle):
    bob = circle.silenced("bob")
    bob.block(circle.alice)
    bob.prefer(rooms={circle.room: {"level": "none"}})
    bob.register(settings={"alerts": False})
    outcome, reasons = decided(circle, bob, push=False)
    assert outcome == {"kind": "none", "reason": "no_push_asked"}
    assert reasons == ["no_push_asked", "blocked", "muted", "not_allowed", "focused"]


def test_a_decision_contains_its_facts(circle):
    bob = circle.away("bob", onFocus="hold")
    bob.register(criteria="home", settings={"timeSensitive": False}, voipToken="voip")
    bob.filter("home")
    facts = ask(circle, bob, mentions=[bob.user], push={"criteria": "work"})["phone"]["facts"]
    assert (facts["message"]["criteria"], facts["recipient"]["isMentioned"]) == ("work", True)
    assert facts["recipient"]["onFocus"] == "hold"
    assert (facts["device"]["criteria"], facts["device"]["allowsTimeSensitive"]) == ("home", False)
    assert facts["device"]["hasVoIPToken"] is True and facts["device"]["filter"]["allow"] == ["home"]


def test_a_dry_run_does_nothing(circle):
    bob, carol = circle.away("bob"), circle.live("carol")
    for _ in range(3):
        assert decided(circle, bob)[0]["kind"] == "push"
    circle.pass_due()
    assert bob.phone.texts() == []
    assert history(circle.relay, circle.room, bob.user) == []
    assert carol.session.received("message") == []
    assert circle.send("first")["seq"] == 1
    assert bob.phone.ring("first")["payload"]["aps"]["badge"] == 1


def test_a_wrong_field_is_refused(circle):
    """`BadFieldsTests` has all cases."""
    body = {"room": circle.room, "from": circle.alice.user, "user": "bob", "push": {"level": "loud"}}
    answer = call(circle.relay, "POST", "/v1/decisions", body)
    assert (answer.status, answer.problem["code"], answer.problem["at"]) == (422, "bad_request", "/push/level")


def test_an_unknown_room_is_not_found(circle):
    body = {"room": "nowhere-at-all", "from": circle.alice.user, "user": "bob"}
    assert call(circle.relay, "POST", "/v1/decisions", body).status == 404


def level(circle, bob, **fields):
    body = {"room": circle.room, "from": circle.alice.user, "user": bob.user, "push": {"level": "timeSensitive"}}
    answer = call(circle.relay, "POST", "/v1/decisions", body | fields)
    assert answer.status == 200, answer
    (device,) = answer.json["devices"]
    return device["decision"]["outcome"]["level"], device["facts"]["message"]["isUrgentAllowed"]


def test_a_dry_run_has_the_rights_of_its_sender(circle, gather):
    bob = circle.away("bob")
    assert level(circle, bob) == ("timeSensitive", True)
    assert level(circle, bob, rights=["send", "push"]) == ("active", False)
    call_ = {"room": circle.room, "from": circle.alice.user, "user": bob.user, "push": {"kind": "call"}}
    assert call(circle.relay, "POST", "/v1/decisions", call_ | {"rights": ["send"]}).status == 403
    wrong = call(circle.relay, "POST", "/v1/decisions", call_ | {"rights": ["shout"]})
    assert (wrong.status, wrong.problem["at"]) == (422, "/rights")
    can = ["join", "send", "push", "history", "presence", "create"]
    calm = gather("--presence-grace", "0", configuration={"rooms": [{"match": "*", "can": can}]})
    carol = calm.away("carol")
    assert level(calm, carol) == ("active", False)
    # A sender without a session has the rights that the pattern of the room gives.
    assert level(calm, carol, **{"from": "somebody"}) == ("active", False)
    assert level(calm, carol, rights=["send", "urgent"]) == ("timeSensitive", True)


def test_critical_alerts_above_the_pace_have_a_lower_level(gather):
    circle = gather("--presence-grace", "0", "--pace-critical", "2")
    bob = circle.away("bob")
    for number in range(4):
        circle.send(f"alert {number}", push={"level": "critical"})
    bob.phone.ring("alert 3")
    found = call(circle.relay, "GET", f"/v1/pushes?user={bob.user}").json["pushes"]
    pushes = sorted(found, key=lambda push: push["seq"])
    assert [push["level"] for push in pushes] == ["critical", "critical", "timeSensitive", "timeSensitive"]
    explanation = call(circle.relay, "GET", f"/v1/pushes/{pushes[2]['id']}").json["explanation"]
    assert explanation["facts"]["recipient"]["isOverCriticalPace"] is True
    lowered = explanation["decision"]["reasons"][-1]
    assert (lowered["code"], "`pace.critical`" in lowered["words"]) == ("level_lowered", True)
    # Another sender has another pace, and every message is unread.
    circle.post("from a shop", **{"from": "shop", "push": {"level": "critical"}})
    assert bob.phone.ring("from a shop")["payload"]["aps"]["interruption-level"] == "critical"
    (entry,) = bob.ask("GET", "rooms").json["rooms"]
    assert entry["unread"] == 5


def test_decisions_and_pushes_are_for_backends(start, secret):
    relay = start(secret=secret)
    token = relay.token("alice")
    for method, path, body in ("POST", "/v1/decisions", {}), ("GET", "/v1/pushes/1", None):
        assert call(relay, method, path, body).status == 401
        assert call(relay, method, path, body, token=token).status == 403


# Explanations


def ids(notification):
    """Returns the ids of a push. A digest is not a communication, so its ids are in `push`."""
    return notification["payload"].get("communication") or notification["payload"]["push"]


def explained(circle, notification):
    answer = call(circle.relay, "GET", f"/v1/pushes/{ids(notification)['notification']}")
    assert answer.status == 200, answer
    return answer.json


def test_a_push_explains_itself(circle):
    bob = circle.away("bob")
    sent = circle.send("hi")
    notification = bob.phone.ring("hi")
    push = eventually(lambda: (found := explained(circle, notification))["state"] == "sent" and found)
    assert (push["room"], push["seq"], push["user"], push["device"]) == (circle.room, sent["seq"], bob.user, "phone")
    assert (push["level"], push["platform"]) == ("active", "simulator")
    assert len(push["attempts"]) == 1 and push["attempts"][0]["time"] >= sent["time"]
    assert [reason["code"] for reason in push["explanation"]["decision"]["reasons"]] == ["nothing_against"]
    assert push["explanation"]["facts"]["message"]["time"] == sent["time"]
    assert push["summary"]


@pytest.mark.parametrize("source", ["intent", "center", "manual", None])
def test_a_push_names_the_source_of_the_focus(circle, source):
    bob = circle.away("bob")
    bob.focus(True, **({"source": source} if source else {}))
    circle.send("hi")
    push = explained(circle, bob.phone.ring("hi"))
    assert push["explanation"]["facts"]["device"].get("focusSource") == source


def test_a_push_that_was_held_explains_its_release(circle):
    bob = circle.silenced("bob")
    sent = [circle.send(text)["seq"] for text in ("one", "two")]
    bob.prefer(onFocus="deliver")
    push = explained(circle, bob.phone.nth(0))
    assert (push["seq"], push["explanation"]["facts"]["recipient"]["onFocus"]) == (sent[1], "deliver")
    assert push["digest"] == [{"room": circle.room, "seq": sent[1], "count": 2}]


def test_a_push_that_notifies_anyway_is_marked(circle):
    bob = circle.silenced("bob")
    seq = circle.send("hi")["seq"]
    circle.alice.request("notify", room=circle.room, seq=seq)
    push = explained(circle, bob.phone.ring("hi"))
    assert push["notifyAnyway"] is True and push["explanation"]["facts"]["message"]["isNotifyAnyway"] is True


@pytest.mark.parametrize("id", ["nothing", "00000000-0000-0000-0000-000000000000", "1", "%00", "'"])
def test_an_unknown_push_is_not_found(circle, id):
    assert call(circle.relay, "GET", f"/v1/pushes/{id}").status in (400, 404)


def test_an_explanation_contains_no_text_and_no_token(circle):
    bob = circle.away("bob")
    circle.send("a secret")
    notification = bob.phone.ring("a secret")
    id = notification["payload"]["communication"]["notification"]
    text = call(circle.relay, "GET", f"/v1/pushes/{id}").body
    assert b"a secret" not in text and bob.phone.token.encode() not in text
