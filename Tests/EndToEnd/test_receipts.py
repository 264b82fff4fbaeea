# SPDX-License-Identifier: Apache-2.0
"""Receipts of pushes from an app extension, and the fields with which it shows the sender."""

import json
import time
import uuid

import pytest

from api import call
from people import pushed_sender
from relay import Relay

RELAY_OPTIONS = ("--presence-grace", "0")


@pytest.fixture
def bob(circle):
    return circle.away("bob")


def arrive(circle, bob, **fields):
    """Sends a message, and returns the `communication` of its push."""
    known = len(bob.phone.notifications())
    circle.send("hi", **fields)
    return bob.phone.nth(known)["payload"]["communication"]


def send_receipt(relay, notification, receipt):
    return call(relay, "POST", f"/v1/notifications/{notification}/received", {"receipt": receipt})


@pytest.mark.parametrize("excess", [0, 1])
def test_a_body_before_authentication_is_short(circle, excess):
    path = f"/v1/notifications/{uuid.uuid4()}/received"
    body = json.dumps({"receipt": "1"}).encode()
    body += b" " * (1_024 - len(body) + excess)
    answer = call(circle.relay, "POST", path, body)
    assert (answer.status, answer.problem["code"]) == ((413, "too_large") if excess else (401, "unauthorized"))


def test_a_report_key_is_read_before_the_body(circle):
    path = f"/v1/notifications/{uuid.uuid4()}/received"
    answer = call(circle.relay, "POST", path, b"no JSON", token="swr_unknown")
    assert (answer.status, answer.problem["code"]) == (401, "unauthorized")


def explained(circle, notification):
    answer = call(circle.relay, "GET", f"/v1/pushes/{notification}")
    assert answer.status == 200
    return answer.json


def test_the_first_receipt_of_a_push_counts(circle, bob):
    communication = arrive(circle, bob)
    assert "received" not in explained(circle, communication["notification"])
    before = time.time()
    first = send_receipt(circle.relay, communication["notification"], communication["receipt"])
    assert first.status == 200 and before - 1 < first.json["received"] / 1000 < time.time() + 1
    again = send_receipt(circle.relay, communication["notification"], communication["receipt"])
    assert (again.status, again.json) == (200, first.json)
    assert explained(circle, communication["notification"])["received"] == first.json["received"]


@pytest.mark.parametrize("receipt", ["", "x", "1.x", "9999999999.AAAAAAAAAAAAAAAAAAAAAA"])
def test_a_wrong_receipt_is_refused(circle, bob, receipt):
    communication = arrive(circle, bob)
    answer = send_receipt(circle.relay, communication["notification"], receipt)
    assert (answer.status, answer.json["code"], answer.json["at"]) == (401, "unauthorized", "/receipt")
    assert "received" not in explained(circle, communication["notification"])


def test_a_receipt_is_for_one_push(circle, bob):
    first, second = arrive(circle, bob), arrive(circle, bob)
    assert send_receipt(circle.relay, second["notification"], first["receipt"]).status == 401


def test_a_receipt_outlives_a_crash(gather):
    circle = gather("--presence-grace", "0")
    bob = circle.away("bob")
    communication = arrive(circle, bob)
    circle.restart(Relay.kill)
    assert send_receipt(circle.relay, communication["notification"], communication["receipt"]).status == 200
    assert send_receipt(circle.relay, communication["notification"], "1.x").status == 401


def test_a_sender_who_requests_reports_receives_the_receipt(circle, bob):
    communication = arrive(circle, bob, report=True)
    circle.alice.expect("delivery", user=bob.user, state="pushed")
    send_receipt(circle.relay, communication["notification"], communication["receipt"])
    circle.alice.expect("delivery", user=bob.user, state="onPhone")


def test_a_hidden_receipt_does_not_reach_the_sender(circle, bob):
    bob.prefer(shareFocus="none")
    communication = arrive(circle, bob, report=True)
    circle.alice.expect("delivery", user=bob.user, state="pushed")
    send_receipt(circle.relay, communication["notification"], communication["receipt"])
    assert not circle.alice.received("delivery", user=bob.user)


def test_a_handle_is_the_claim_or_the_user(start, connect, secret, api_keys, backend, names):
    relay = start("--presence-grace", "0", "--api-keys-file", api_keys, secret=secret)
    for claims in ({"handle": "+4930123", "handleType": "phoneNumber"}, {"handle": ""}, {}):
        alice, bob, room = names("alice", "bob", "room")
        writer = connect(relay, token=relay.token(alice, **claims))
        reader = connect(relay, token=relay.token(bob))
        assert not {"handle", "handleType"} & set(writer.welcome)
        writer.join(room)
        assert "+4930123" not in str(reader.join(room)["members"])
        sender = pushed_sender(writer, reader, relay, backend, room)
        wanted = claims if claims.get("handle") else {"handle": alice}
        assert {name: sender[name] for name in ("handle", "handleType") if name in sender} == wanted
