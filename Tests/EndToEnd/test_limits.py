# SPDX-License-Identifier: Apache-2.0
"""The limits of a session, and the errors and close codes above them."""

import time

import pytest

from api import call
from client import Refused
from wire import Wire


def test_a_refused_send_frees_its_key(start, connect):
    relay = start("--limits-send-rate", 2, "--limits-send-burst", 1)
    alice = connect(relay, "alice")
    alice.join("room")
    alice.send("room", "one")
    error = alice.refusal("send", room="room", body="two", key="k")
    assert error["code"] == "rate_limited"
    time.sleep(error["retryAfter"])
    assert "duplicate" not in alice.send("room", "two", key="k")


def test_zero_lifts_the_rate(start, connect):
    relay = start("--limits-send-rate", 0)
    alice = connect(relay, "alice")
    alice.join("room")
    for id in [alice.begin("send", room="room", body=1) for _ in range(1_000)]:
        last = alice.reply(id)
    assert last["seq"] == 1_000


def test_one_room_too_many_is_too_large(start, connect):
    relay = start("--limits-rooms-per-session", 2)
    alice = connect(relay, "alice")
    for room in ("one", "two", "one"):
        alice.join(room)
    error = alice.refusal("join", room="three")
    assert (error["code"], error["temporary"]) == ("too_large", False)
    other = connect(relay, "alice")
    assert other.join("three")["memberCount"] == 1
    alice.request("leave", room="one")
    alice.join("three")


def test_one_session_too_many_is_closed(start, connect):
    relay = start("--limits-sessions-per-user", 2)
    first, _ = connect(relay, "alice"), connect(relay, "alice")
    with Wire(relay) as wire:
        wire.open()
        wire.send_request("hello", id=1, user="alice")
        ending = wire.ending()
    assert [one["type"] for one in ending.frames] == ["error", "bye"]
    assert (ending.bye["code"], ending.bye["reconnect"], ending.code) == (4504, False, 4504)
    connect(relay, "bob")
    first.close(1000)
    connect(relay, "alice")


def test_a_new_session_replaces_a_dead_one(start, connect):
    relay = start("--limits-sessions-per-user", 2)
    live = connect(relay, "alice")
    # As after a change of the network: nobody answers a ping, and nobody closes the connection.
    with Wire(relay) as dead:
        dead.open("alice")
        connect(relay, "alice").request("ping")
        ending = dead.ending()
        assert (ending.bye["code"], ending.bye["reconnect"], ending.code) == (4004, True, 4004)
        live.request("ping")


def test_one_device_too_many_is_too_large(start, connect):
    relay = start("--limits-devices-per-user", 2)
    alice = connect(relay, "alice")

    def registration(number):
        return {"device": f"device{number}", "platform": "simulator", "token": f"token{number}"}

    for number in (1, 2, 1):
        alice.request("device", **registration(number))
    assert alice.refusal("device", **registration(3))["code"] == "too_large"
    alice.request("device", **registration(1) | {"token": None})
    alice.request("device", **registration(3))


def test_the_frame_limit_can_be_changed(start):
    relay = start("--limits-frame", 2048)
    for size, is_served in ((2048, True), (2049, False)):
        with Wire(relay) as wire:
            wire.open("alice")
            text = '{"type":"ping","id":1,"pad":"' + "x" * (size - 31) + '"}'
            assert len(text) == size
            wire.send_text(text)
            if is_served:
                assert wire.reply(1)["type"] == "pong"
            else:
                assert wire.ending().code == 4505


def test_the_nesting_limit_can_be_changed(start, connect):
    relay = start("--limits-nesting", 10)
    alice = connect(relay, "alice")
    alice.join("room")
    assert alice.send_body_text("room", "[" * 8 + "]" * 8)["seq"] == 1
    with pytest.raises(Refused) as refused:
        alice.send_body_text("room", "[" * 12 + "]" * 12)
    assert refused.value.error["code"] == "bad_request"


def test_the_limit_of_history_bounds_joins_and_pages(start, connect):
    relay = start("--limits-history", 2)
    alice = connect(relay, "alice")
    epoch = alice.join("room")["epoch"]
    for number in range(3):
        alice.send("room", number)
    for type, field in (("join", "history"), ("history", "limit")):
        assert len(alice.request(type, room="room", **{field: 2})["messages"]) == 2
        assert alice.refusal(type, room="room", **{field: 3})["code"] == "bad_request"
    assert len(alice.request("history", room="room")["messages"]) == 2
    for seen, recovered in ((1, True), (0, False)):
        joined = alice.join("room", after={"epoch": epoch, "seq": seen})
        assert (joined["recovered"], len(joined["messages"])) == (recovered, 2 if recovered else 0)


def test_devices_that_only_report_a_focus_count_as_devices(start, connect):
    relay = start("--limits-devices-per-user", 2)
    alice = connect(relay, "alice")
    for device in ("one", "two", "one"):
        assert alice.request("focus", isFocused=True, device=device)["applied"] is True
    assert alice.refusal("focus", isFocused=True, device="three")["code"] == "too_large"
    connect(relay, "bob").request("focus", isFocused=True, device="three")


def test_zero_lifts_other_limits_as_well(start, connect):
    names = ("rooms-per-session", "rooms-per-user", "sessions-per-user", "devices-per-user", "watched")
    rates = ("request-rate", "focus-rate")
    relay = start(*(option for name in names + rates for option in (f"--limits-{name}", 0)))
    alice = connect(relay, "alice")
    for id in [alice.begin("join", room=f"room{number}") for number in range(1_001)]:
        alice.reply(id)
    assert len([connect(relay, "alice") for _ in range(32)]) == 32
    for number in range(17):
        alice.request("device", device=f"device{number}", platform="simulator", token=f"token{number}")
        alice.request("focus", isFocused=True, device=f"device{number}")
    assert len(alice.request("watch", users=[f"user{number}" for number in range(1_025)])["presence"]) == 1_025


REQUESTS = """activity add block call calls create deleteRoom device direct history join leave notify pins ping preferences
presence refresh remove report reports resolve respond restrict roles room rooms status unblock unwatch update
watch""".split()


def test_requests_of_all_sessions_of_a_user_share_a_rate(start, connect, secret):
    relay = start("--limits-request-rate", 0.01, "--limits-request-burst", 10, secret=secret)
    token = relay.token("alice")
    sessions = [connect(relay, token=token) for _ in range(3)]
    for session in sessions[:2]:
        for _ in range(5):
            session.join("room")
            session.request("leave", room="room")
    for type in REQUESTS:
        error = sessions[2].refusal(type)
        assert (error["code"], error["temporary"]) == ("rate_limited", True), type
        assert "the user exceeds twice the limit `requestRate`" in error["message"], type
        assert error["retryAfter"] > 0
    refused = call(relay, "GET", "/v1/users/me/rooms", token=token)
    assert (refused.status, refused.problem["code"]) == (429, "rate_limited")
    assert "the user exceeds twice the limit `requestRate`" in refused.problem["detail"]
    connect(relay, token=relay.token("bob")).join("room")


def test_requests_over_http_count_together_with_those_of_sessions(start, connect, secret):
    relay = start("--limits-request-rate", 0.01, "--limits-request-burst", 2, secret=secret)
    token = relay.token("alice")
    alice = connect(relay, token=token)
    for _ in range(4):
        assert call(relay, "GET", "/v1/users/me/rooms", token=token).status == 200
    assert "the user exceeds" in alice.refusal("rooms")["message"]
    assert call(relay, "GET", "/v1/users/me/rooms", token=relay.token("bob")).status == 200


def test_long_lists_of_names_cost_more_than_one_request(start, connect):
    # The user has 40 tokens. The first request costs 21 of them, and each refused one costs 1.
    relay = start("--limits-request-rate", 0.01, "--limits-request-burst", 20)
    alice = connect(relay, "alice")
    names = [f"name{number}" for number in range(700)]
    alice.request("block", users=names[:200])
    assert alice.refusal("block", users=names[:200])["code"] == "rate_limited"
    assert alice.refusal("watch", users=names)["code"] == "rate_limited"
    alice.request("block", users=names[:5])
