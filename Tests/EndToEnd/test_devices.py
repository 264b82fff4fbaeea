# SPDX-License-Identifier: Apache-2.0
"""The registration of a device: the effect of each field, and its limits."""

import pytest

from api import call
from phone import Phone
from waiting import eventually

RELAY_OPTIONS = ("--presence-grace", "0")


@pytest.fixture
def bob(circle):
    return circle.away("bob")


def rings(circle, bob, **fields):
    """Sends a message, and returns True if it is pushed to Bob's phone."""
    seq = circle.send("ring", **fields)["seq"]
    circle.pass_due()
    return seq in [one["payload"]["message"]["seq"] for one in bob.phone.notifications()]


def test_a_device_without_alerts_is_not_pushed_to(circle, bob):
    tablet = bob.register("tablet")
    bob.register(settings={"alerts": False})
    circle.send("hi")
    tablet.ring("hi")
    assert not rings(circle, bob)
    bob.register(settings={"alerts": True})
    assert rings(circle, bob)


def test_a_call_rings_without_alerts_where_the_phone_shows_it_itself(circle, bob):
    bob.register(settings={"alerts": False})
    assert not rings(circle, bob, push={"kind": "call"})
    calls = Phone(circle.relay, f"{bob.user}-calls")
    bob.register(settings={"alerts": False}, voipToken=calls.token)
    assert not rings(circle, bob, push={"kind": "call"})
    assert not rings(circle, bob)
    assert len(calls.notifications()) == 1


def test_a_call_to_its_own_token_is_for_the_app_to_report(circle, bob):
    calls = Phone(circle.relay, f"{bob.user}-calls")
    bob.register(voipToken=calls.token)
    sent = circle.send("Hello?", push={"kind": "call", "expires": 30, "data": {"video": True}})
    call = calls.nth(0)
    payload, headers = call["payload"], call["headers"]
    assert set(payload) == {"call", "ringUntil", "ringFor", "data"}
    assert (payload["call"], payload["ringUntil"]) == (headers["apns-id"], sent["time"] + 30_000)
    assert 0 < payload["ringFor"] <= 30_000
    assert payload["data"]["video"] is True
    assert payload["data"]["message"]["seq"] == sent["seq"]
    assert payload["data"]["communication"]["sender"]["id"] == circle.alice.user
    assert headers["apns-push-type"] == "voip" and headers["apns-topic"].endswith(".voip")
    assert (headers["apns-expiration"], headers["apns-priority"]) == ("0", "10")
    assert "apns-collapse-id" not in headers
    circle.pass_due()
    assert bob.phone.notifications() == []
    circle.send("a message")
    bob.phone.ring("a message")
    assert len(calls.notifications()) == 1


def test_a_token_for_calls_without_the_entitlement_causes_a_warning(gather):
    apps = [{"app": "org.example", "ringtone": "ring.caf"}, {"app": "org.calls", "entitlements": ["voip"]}]
    circle = gather("--presence-grace", "0", configuration={"apps": apps})
    bob = circle.away("bob")
    calls = Phone(circle.relay, f"{bob.user}-calls")
    fields = {"platform": "simulator", "token": bob.phone.token, "app": "org.example", "voipToken": calls.token}
    reply = bob.put("devices/phone", fields)
    (warning,) = reply["warnings"]
    assert (warning["code"], warning["at"]) == ("no_voip_entitlement", "/voipToken") and warning["message"]
    assert bob.ask("GET", "devices/phone").json["warnings"] == [warning]
    circle.send("Hello?", push={"kind": "call"})
    call_ = bob.phone.ring("Hello?")["payload"]
    assert call_["aps"]["sound"] == "ring.caf" and call_["communication"]["kind"] == "call"
    assert calls.notifications() == []
    push = call(circle.relay, "GET", f"/v1/pushes/{call_['communication']['notification']}").json
    codes = [reason["code"] for reason in push["explanation"]["decision"]["reasons"]]
    assert codes == ["nothing_against", "no_voip_entitlement"]
    assert push["explanation"]["facts"]["device"]["lacksVoIPEntitlement"] is True
    circle.send("Listen", push={"kind": "call", "sound": "own.caf"})
    assert bob.phone.ring("Listen")["payload"]["aps"]["sound"] == "own.caf"
    # A session gets the same warning.
    session = circle.back(bob)
    registered = session.request("device", device="phone", **fields)
    assert registered["warnings"] == [warning]
    assert "warnings" not in session.request("device", device="phone", **fields | {"app": "org.calls"})


def test_the_relays_own_texts_are_in_the_language_of_the_device(gather):
    texts = [
        {"language": "de", "missedCall": "Verpasster Anruf", "messages": "%@ Nachrichten", "newMessage": "Neu"},
        {"language": "de-CH", "newMessage": "Nöi"},
    ]
    circle = gather("--presence-grace", "0", configuration={"texts": texts})
    for locale, new, missed in [
        ("de_AT", {"body": "Neu"}, {"body": "Verpasster Anruf"}),
        ("de-CH", {"body": "Nöi"}, {"loc-key": "Missed call"}),
        ("fr_FR", {"loc-key": "New message"}, {"loc-key": "Missed call"}),
        (None, {"loc-key": "New message"}, {"loc-key": "Missed call"}),
    ]:
        person = circle.away("somebody")
        person.register(locale=locale)
        circle.send({"cipher": "x"}, push={"title": "T"})
        assert person.phone.nth(0)["payload"]["aps"]["alert"] == {"title": "T"} | new
        circle.send("Hello?", push={"kind": "call", "expires": 1, "title": "T"})
        eventually(lambda: person.phone.notifications()[-1]["payload"]["aps"]["alert"] == {"title": "T"} | missed)
        assert "sound" not in person.phone.notifications()[-1]["payload"]["aps"]
    held = circle.silenced("held")
    held.register(locale="de")
    for text in "one", "two":
        circle.send(text)
    held.prefer(onFocus="deliver")
    digest = eventually(held.phone.notifications)[-1]["payload"]
    assert digest["aps"]["alert"]["title"] == "2 Nachrichten" and digest["aps"]["sound"] == "default"
    assert "communication" not in digest and digest["push"]["notification"]


def test_a_read_on_another_device_sets_the_badge_of_a_simulated_phone(circle, bob):
    with bob.phone.events() as events:
        circle.send("hi")
        name, push = next(events)
        assert (name, push["payload"]["aps"]["badge"]) == ("notification", 1)
        tablet = circle.back(bob, device="tablet")
        tablet.join(circle.room)
        seq = push["payload"]["message"]["seq"]
        tablet.request("read", room=circle.room, seq=seq)
        expected = {
            "aps": {"badge": 0, "content-available": 1},
            "push": {"recipient": bob.user},
            "read": [{"room": circle.room, "seq": seq}],
        }
        name, push = next(events)
        assert (name, push["payload"]) == ("badge", expected)
    assert bob.phone.notifications() == []
    assert call(circle.relay, "GET", f"/v1/simulator/devices/{bob.phone.token}").json["badge"] == 0


def test_a_device_may_refuse_time_sensitive_pushes(circle, bob):
    for settings, level in ({}, "time-sensitive"), ({"timeSensitive": False}, "active"), ({"timeSensitive": True}, "time-sensitive"):
        bob.register(settings=settings)
        text = f"{settings}"
        circle.send(text, push={"level": "timeSensitive"})
        assert bob.phone.ring(text)["payload"]["aps"]["interruption-level"] == level


def test_a_registration_replaces_all_fields(circle, bob):
    fields = {"criteria": "home", "locale": "de", "timeZone": "Europe/Berlin", "app": "org.example"}
    bob.register(settings={"alerts": False, "timeSensitive": False}, voipToken="voip", **fields)
    shown = bob.ask("GET", "devices/phone").json
    assert shown.items() >= fields.items()
    assert shown["settings"] == {"alerts": False, "timeSensitive": False}
    bob.register()
    shown = bob.ask("GET", "devices/phone").json
    assert shown == {"device": "phone", "platform": "simulator", "settings": {"alerts": True, "timeSensitive": True}}
    assert rings(circle, bob)


def test_a_session_registers_a_device_like_http(circle, bob):
    session = circle.back(bob)
    fields = bob.phone.registration | {"criteria": "home", "settings": {"alerts": False}, "timeZone": "UTC"}
    session.request("device", device="phone", **fields)
    shown = bob.ask("GET", "devices/phone").json
    assert (shown["criteria"], shown["settings"]["alerts"], shown["timeZone"]) == ("home", False, "UTC")
    assert not rings(circle, bob)


def test_a_wrong_registration_is_rejected_and_changes_nothing(circle, bob):
    """`BadFieldsTests` has all cases."""
    kept = bob.ask("GET", "devices/phone").json
    body = bob.phone.registration | {"settings": {"alerts": False, "timeSensitive": 1}}
    answer = bob.ask("PUT", "devices/phone", body)
    assert (answer.status, answer.problem["code"]) == (422, "bad_request")
    assert answer.problem["at"] == "/settings/timeSensitive"
    assert circle.back(bob).refusal("device", device="phone", **body)["code"] == "bad_request"
    assert bob.ask("GET", "devices/phone").json == kept
    assert rings(circle, bob)


def test_a_registration_at_its_limits_is_accepted(bob):
    fields = {"criteria": "ü" * 64, "locale": "x" * 64, "timeZone": "America/Argentina/Buenos_Aires", "app": "x" * 255}
    bob.register(voipToken="v", **fields)
    assert bob.ask("GET", "devices/phone").json.items() >= fields.items()


def test_a_forgotten_device_has_no_reports(circle, bob):
    bob.prefer(onFocus="hold")
    bob.register("tablet")
    bob.focus(True)
    bob.filter("home")
    assert circle.send("hi", push={"criteria": "work"})["delivery"]["quiet"] == [bob.user]
    bob.forget()
    assert circle.send("hi", push={"criteria": "work"})["delivery"]["quiet"] == []
    assert circle.alice.request("presence", users=[bob.user])["presence"][0]["isFocused"] is None
