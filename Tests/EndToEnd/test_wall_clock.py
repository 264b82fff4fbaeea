# SPDX-License-Identifier: Apache-2.0
"""A wall clock that is set while the relay runs: times of day follow it, and running waits do not change."""

import json
import time

import pytest

from api import call
from people import HOUR
from push_service import Answer, PushService
from waiting import eventually
from wall_clock import Clock

GRACE = 4


def noticed(relay, times: int = 1) -> None:
    """Waits until the relay has noticed this number of jumps of its wall clock."""
    eventually(lambda: relay.log.read_text().count("the wall clock was set") >= times)


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path)


@pytest.fixture
def circle(gather, clock):
    return gather("--presence-grace", GRACE, under=clock.under)


@pytest.mark.parametrize("seconds", [-3600, 3600], ids=["back", "forward"])
def test_a_message_in_the_grace_is_pushed_at_its_end(circle, clock, seconds):
    bob = circle.live("bob")
    before = time.monotonic()
    bob.session.drop()
    circle.send("are you there")
    clock.set(seconds)
    bob.phone.ring("are you there")
    assert time.monotonic() - before > GRACE - 0.2


@pytest.mark.parametrize("seconds", [600, -3600])
def test_the_clock_of_a_welcome_has_no_steps(circle, connect, names, clock, seconds):
    before, began = circle.alice.welcome, time.monotonic()
    clock.set(seconds)
    noticed(circle.relay)
    after = connect(circle.relay, *names("other")).welcome
    assert abs(after["time"] - before["time"]) > 500_000
    # Both clocks are read one after the other, so that a difference of some milliseconds is left.
    assert -100 < after["clock"] - before["clock"] < 1000 * (time.monotonic() - began) + 5_000


def test_a_message_right_after_the_step_is_pushed_at_once(circle, clock):
    bob = circle.away("bob")
    for number in range(1, 6):
        clock.set(number * HOUR // 1000)
        circle.send(f"text {number}")
        bob.phone.ring(f"text {number}")


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_a_step_begins_no_new_minute_of_the_pace(circle, clock, seconds):
    bob = circle.away("bob")
    for number in range(6):
        circle.send(f"alert {number}", push={"level": "critical"})
    clock.set(seconds)
    noticed(circle.relay)
    circle.send("after the step", push={"level": "critical"})
    shown = bob.phone.ring("after the step")
    assert shown["payload"]["aps"]["interruption-level"] == "time-sensitive"


def test_a_hold_that_ends_after_the_clock_was_set_back_waits_no_longer(circle, clock):
    clock.set(HOUR // 1000)
    noticed(circle.relay, 1)
    bob = circle.live("bob", acks=True)  # Bob's client never acknowledges a message
    bob.prefer(onFocus="hold")
    bob.focus(True)
    circle.send("held")
    bob.session.expect("message", body="held")
    eventually(lambda: held_pushes(circle, bob))
    clock.set(0)
    noticed(circle.relay, 2)
    bob.focus(False)
    bob.phone.ring("held")


def is_focused(circle, person):
    return call(circle.relay, "GET", f"/v1/users/{person.user}/presence").json["isFocused"]


def test_a_focus_ends_by_its_age_also_while_the_machine_is_suspended(circle, clock):
    bob = circle.away("bob", onFocus="hold")
    bob.focus(True)
    circle.send("held")
    circle.pass_due()
    assert bob.phone.texts() == []
    clock.suspend(13 * 3600)  # a Focus counts for 12 h
    bob.phone.ring("held")
    circle.alice.expect("presence", user=bob.user, isFocused=None)


@pytest.mark.parametrize("seconds", [600, 40 * 86_400, -600, -40 * 86_400])
def test_a_focus_and_its_hold_do_not_end_by_a_step(circle, clock, seconds):
    bob = circle.away("bob", onFocus="hold")
    bob.focus(True)
    circle.send("held")
    eventually(lambda: held_pushes(circle, bob))
    clock.set(seconds)
    circle.send("right after the step")
    noticed(circle.relay)
    circle.pass_due()
    assert bob.phone.texts() == [] and is_focused(circle, bob) is True
    circle.relay.kill()
    circle.relay.start()
    eventually(lambda: call(circle.relay, "GET", "/ready").status == 200)
    assert len(held_pushes(circle, bob)) == 2 and is_focused(circle, bob) is True
    clock.set(0)
    noticed(circle.relay, 2)
    assert len(held_pushes(circle, bob)) == 2 and is_focused(circle, bob) is True
    bob.focus(False)
    eventually(lambda: bob.phone.texts())


#: Quiet hours that last one hour.
LUNCH = {"from": "12:00", "to": "13:00", "days": [1, 2, 3, 4, 5, 6, 7], "timeZone": "UTC", "mode": "hold"}


def ahead(second_of_day):
    """Returns the seconds until a time of day, but at least an hour, so that the test does not depend on the time."""
    return 3600 + (second_of_day - 3600 - int(time.time())) % 86400


def pushes(circle, person, state):
    return call(circle.relay, "GET", f"/v1/pushes?user={person.user}&state={state}").json["pushes"]


def held_pushes(circle, person):
    return pushes(circle, person, "held")


def test_quiet_hours_end_if_the_clock_is_set_back_before_their_start(circle, clock):
    noon = ahead(12 * 3600 + 1800)
    clock.set(noon)
    noticed(circle.relay, 1)
    bob = circle.away("bob", quietHours=LUNCH)
    circle.send("held")
    circle.pass_due()
    assert bob.phone.texts() == []
    clock.set(noon - 3600)
    bob.phone.ring("held")


def test_quiet_hours_end_at_their_time(circle, clock):
    bob = circle.away("bob", quietHours=LUNCH)
    offset = ahead(13 * 3600 - 6)
    clock.set(offset)
    noticed(circle.relay)
    circle.send("held")
    assert held_pushes(circle, bob)
    end = -(-(time.time() + offset) // 3600) * 3_600_000
    assert bob.phone.ring("held")["time"] >= end


def test_a_focus_that_was_reported_before_the_clock_was_set_back_gives_way_to_the_next(circle, clock):
    clock.set(HOUR // 1000)
    noticed(circle.relay, 1)
    bob = circle.away("bob")
    bob.focus(True)
    clock.set(0)
    noticed(circle.relay, 2)
    assert bob.focus(False)["applied"] is True
    circle.alice.expect("presence", user=bob.user, isFocused=False)


@pytest.mark.parametrize("seconds", [61, 3600])
def test_a_push_that_is_being_sent_is_not_sent_again(gather, clock, seconds):
    service = PushService()
    service.handle = lambda request: None  # the service does not answer
    try:
        app = {"app": "chat", "topics": ["chat"], "matrix": {"url": f"http://127.0.0.1:{service.port}/push"}}
        configuration = {"apps": [app]}
        circle = gather("--presence-grace", "0", under=clock.under, configuration=configuration)
        bob, carol = circle.away("bob"), circle.away("carol")
        bob.put("devices/phone", {"platform": "http", "token": "one", "app": "chat"})
        circle.send("once")
        eventually(lambda: service.requests)
        clock.set(seconds)
        noticed(circle.relay)
        # The relay claims and sends other pushes in the meantime.
        for text in ("two", "three", "four"):
            circle.send(text)
            carol.phone.ring(text)
        assert len(service.requests) == 1
        (job,) = call(circle.relay, "GET", f"/v1/pushes?user={bob.user}&state=sending").json["pushes"]
        assert job["attempts"] == []
    finally:
        service.close()


def test_a_repeated_send_stays_a_duplicate_after_a_step(circle, clock):
    rooms = (circle.room, "live.tea")
    circle.alice.join("live.tea")
    first = [circle.alice.request("send", room=room, body="pay 10", key="k") for room in rooms]
    for number, seconds in enumerate((600, -3600, 40 * 86_400), start=1):
        clock.set(seconds)
        noticed(circle.relay, number)
        for room, sent in zip(rooms, first):
            again = circle.alice.request("send", room=room, body="pay 10", key="k")
            assert (again["duplicate"], again["seq"]) == (True, sent["seq"])


def test_keys_expire_while_the_machine_is_suspended(circle, clock):
    rooms = (circle.room, "live.tea")
    circle.alice.join("live.tea")
    first = [circle.alice.request("send", room=room, body="pay 10", key="k") for room in rooms]
    for number, (seconds, is_duplicate) in enumerate([(280, True), (30, False)], start=1):
        clock.suspend(seconds)
        eventually(lambda: circle.relay.log.read_text().count("the machine was suspended") == number)
        for room, sent in zip(rooms, first):
            again = circle.alice.request("send", room=room, body="pay 10", key="k")
            assert (again["seq"] == sent["seq"]) is is_duplicate
    assert "the wall clock was set" not in circle.relay.log.read_text()
    assert "clock" not in call(circle.relay, "GET", "/ready").json


def test_a_clock_that_is_40_days_ahead_deletes_nothing_and_an_operator_confirms_it(connect, start, clock):
    # The relay checks for old messages at least once in 7 s.
    relay = start(under=clock.under, configuration={"rooms": [{"match": "*", "history": {"age": 60}}]})
    ann = connect(relay, "ann")
    ann.join("tea")

    def history():
        return [message["body"] for message in ann.request("history", room="tea")["messages"]]

    ann.request("send", room="tea", body="keep me")
    clock.set(40 * 86_400)
    eventually(lambda: "nothing is deleted by its age" in relay.log.read_text())
    assert history() == ["keep me"]
    clock.set(0)
    noticed(relay, 2)
    ready = call(relay, "GET", "/ready")
    assert ready.status == 200 and ready.json["clock"]["cause"] == "step"
    assert 86_000 < ready.json["clock"]["wait"] <= 86_400
    assert 'stillwire_clock_wait_seconds{cause="step"} 86' in call(relay, "GET", "/metrics").body.decode()
    # By the relay's clock, the message is older than 60 s. The relay checks for old messages at least once in 7 s, and
    # must keep this one.
    clock.set(120)
    noticed(relay, 3)
    time.sleep(7)
    assert history() == ["keep me"]
    relay.kill()
    relay.start()
    ann = connect(relay, "ann")
    ann.join("tea")
    assert call(relay, "GET", "/ready").json["clock"]["cause"] == "step"
    assert history() == ["keep me"]
    assert call(relay, "POST", "/v1/clock/confirm").json == {"waited": True}
    assert call(relay, "POST", "/v1/clock/confirm").json == {"waited": False}
    assert "clock" not in call(relay, "GET", "/ready").json
    eventually(lambda: history() == [])


def test_a_waiting_push_does_not_expire_by_a_large_step(circle, clock):
    bob = circle.away("bob")
    device = f"/v1/simulator/devices/{bob.user}-phone"
    assert call(circle.relay, "PUT", device, {"isReachable": False}).status == 200
    circle.send("on its way")
    eventually(lambda: pushes(circle, bob, "retrying"))
    clock.set(40 * 86_400)
    noticed(circle.relay)
    # The next attempt is after the step. During an attempt, no push is retrying.
    after = (time.time() + 86_400) * 1000
    eventually(lambda: any(push["attempts"][-1]["time"] > after for push in pushes(circle, bob, "retrying")))
    assert call(circle.relay, "PUT", device, {"isReachable": True}).status == 200
    bob.phone.ring("on its way")


def test_a_waiting_silent_push_does_not_expire_by_a_large_step(gather, clock):
    service = PushService()
    statuses = []
    service.handle = lambda request: Answer(statuses[0]) if statuses[0] != 200 else Answer(200, b'{"rejected":[]}')
    try:
        app = {"app": "chat", "topics": ["chat"], "matrix": {"url": f"http://127.0.0.1:{service.port}/push"}}
        configuration = {"apps": [app]}
        circle = gather("--presence-grace", "0", under=clock.under, configuration=configuration)
        circle.away("bob").put("devices/phone", {"platform": "http", "token": "one", "app": "chat"})
        statuses.append(502)
        circle.send({"state": 1}, push={"silent": True})
        eventually(lambda: service.requests)
        clock.set(40 * 86_400)
        noticed(circle.relay)
        count = len(service.requests)
        eventually(lambda: len(service.requests) > count)
        statuses[0] = 200
        count = len(service.requests)
        eventually(lambda: len(service.requests) > count)
        # It shows nothing.
        assert "event_id" not in json.loads(service.requests[-1].body)["notification"]
    finally:
        service.close()


def test_a_device_whose_clock_was_ahead_reports_in_its_order(circle):
    bob = circle.away("bob")
    now = int(time.time() * 1000)
    ahead = now + 30 * 86_400_000
    reports = {"focus": {"isFocused": True}, "filter": {"active": True, "allow": ["work"]}}
    for what, report in reports.items():

        def put(number):
            answer = bob.put(what, report | {"number": number, "device": "mac"})
            return answer["applied"], answer.get("number")

        assert put(ahead) == (True, None)
        # Its numbers keep their order while its clock is ahead.
        assert put(ahead - 1) == (False, ahead)
        assert put(ahead + 1) == (True, None)
        # Its clock was corrected.
        assert put(now) == (True, None)
        assert put(now - 1) == (False, now)


def test_the_list_of_sessions_has_the_end_of_the_token_after_a_step(connect, start, clock, secret, api_keys, backend):
    relay = start("--api-keys-file", api_keys, secret=secret, under=clock.under)
    expiry = int(time.time()) + 3600
    ann = connect(relay, token=relay.token("ann", exp=expiry))

    def expires():
        (session,) = call(relay, "GET", "/v1/users/ann/sessions", token=backend).json["sessions"]
        return session["expires"]

    end = expires()
    assert expiry * 1000 <= end <= expiry * 1000 + 600_000
    for number, seconds in enumerate((600, 40 * 86_400), start=1):
        clock.set(seconds)
        noticed(relay, number)
        assert expires() == end
    assert ann.request("ping")["type"] == "pong"
