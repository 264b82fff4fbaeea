# SPDX-License-Identifier: Apache-2.0
"""`/metrics`: each action changes the counters by the exact amount."""

import subprocess

import pytest

from api import call
from client import Session
from metrics import Metrics, metrics
from relay import Relay
from waiting import eventually
from wire import Wire

RELAY_OPTIONS = ("--presence-grace", "0")


def moved(relay: Relay, before: Metrics, name: str) -> float:
    return metrics(relay).since(before).get(name, 0)


def test_the_format_is_prometheus(relay):
    samples = metrics(relay)
    for name, kind in samples.types.items():
        if kind == "counter":
            assert name.endswith("_total"), name
        elif kind == "histogram":
            buckets = [value for key, value in samples.items() if key.startswith(f"{name}_bucket")]
            assert buckets == sorted(buckets) and buckets[-1] == samples[f"{name}_count"], name
    assert samples["process_open_fds"] > 3
    assert samples["process_resident_memory_bytes"] > 1 << 20
    text = call(relay, "GET", "/metrics").body
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
    assert checked.returncode == 0, checked.stderr


def test_a_stored_message_moves_each_counter_once(relay, connect, names):
    ann_name, bob_name, room = names("ann", "bob", "tea")
    ann, bob = connect(ann_name), connect(bob_name)
    ann.join(room)
    bob.join(room)
    ann.expect("member", event="joined")
    before = metrics(relay)
    ann.send(room, "hello")
    bob.expect("message")
    change = metrics(relay).since(before)
    for name in (
        "stillwire_messages_total{true}",
        "stillwire_deliveries_total",
        "stillwire_fan_out_seconds_count",
        "stillwire_acknowledgement_seconds_count",
        "stillwire_frames_received_total",
    ):
        assert change.get(name) == 1, name
    assert change["stillwire_store_group_size_sum"] >= 1
    assert change["stillwire_store_commit_seconds_count"] >= 1
    assert "stillwire_messages_total{false}" not in change
    assert not any(name.startswith("stillwire_errors_total") for name in change)


def test_errors_count_once_on_every_path(relay, connect, names):
    ann = connect(*names("ann"))
    before = metrics(relay)
    assert ann.refusal("send", room="nowhere", body=1)["code"] == "not_joined"
    assert ann.refusal("join", room="no room")["code"] == "bad_request"
    assert call(relay, "GET", "/v1/rooms/nowhere/messages").status == 404
    change = metrics(relay).since(before)
    assert change["stillwire_errors_total{not_joined}"] == 1
    assert change["stillwire_errors_total{bad_request}"] == 1
    assert change["stillwire_errors_total{not_found}"] == 1
    assert change["stillwire_http_responses_total{4xx}"] == 1


def test_recoveries_are_counted_by_result(relay, connect, names):
    ann_name, room = names("ann", "tea")
    ann = connect(ann_name)
    before = metrics(relay)
    joined = ann.join(room)
    ann.join(room, after={"epoch": joined["epoch"], "seq": 0})
    ann.join(room, after={"epoch": "another", "seq": 0})
    change = metrics(relay).since(before)
    for result in ("not_asked", "recovered", "not_recovered"):
        assert change[f"stillwire_recoveries_total{{{result}}}"] == 1


def test_a_push_is_decided_and_sent_once(relay, connect, names, phone):
    ann_name, bob_name, room = names("ann", "bob", "tea")
    ann, bob = connect(ann_name), connect(bob_name)
    lock_screen = phone(relay, bob)
    ann.join(room)
    bob.join(room)
    bob.close()
    ann.expect("presence", user=bob_name, online=False)
    before = metrics(relay)
    ann.send(room, "come")
    eventually(lambda: lock_screen.notifications)
    eventually(lambda: moved(relay, before, "stillwire_pushes_total{sent}") == 1)
    change = metrics(relay).since(before)
    assert change["stillwire_decisions_total{push}"] == 1
    after = eventually(lambda: (found := metrics(relay))["stillwire_push_jobs{sending}"] == 0 and found)
    assert after["stillwire_push_job_oldest_age_seconds"] == 0


def test_the_gauges_are_zero_after_all_clients_have_left(start):
    relay = start("--presence-grace", "0")
    sessions = [Session(relay, f"user-{number}") for number in range(8)]
    for session in sessions:
        session.join("live.a")
        session.join("live.b")
    sessions[0].send("live.a", "x" * 1000)
    assert metrics(relay)["stillwire_seats"] == 16
    with Wire(relay) as wire:
        wire.open("cut")
        for session in sessions[:4]:
            session.close()
        for session in sessions[4:]:
            session.drop()
    names = ("sessions", "users", "seats", "members", "frames", "frame_bytes", "outbox_bytes")

    def left() -> dict[str, float]:
        now = metrics(relay)
        return {name: now[f"stillwire_{name}"] for name in names}

    eventually(lambda: not any(left().values()))
    last = metrics(relay)
    # The request for the metrics is one exchange.
    assert last["stillwire_exchanges"] == 1
    assert last["stillwire_sessions_accepted_total"] == 9
    assert last["stillwire_session_closes_total{1000}"] == 4
    assert last["stillwire_session_closes_total{1006}"] == 5
    assert last["stillwire_presence_transitions_total{online}"] == 9
    assert last["stillwire_presence_transitions_total{offline}"] == 9


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_metrics_are_only_read(relay, method):
    answer = call(relay, method, "/metrics", b"" if method == "POST" else None)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")


def test_with_tokens_metrics_need_more_than_a_token(start, secret):
    relay = start(secret=secret)
    assert call(relay, "GET", "/metrics").status == 401
    assert call(relay, "GET", "/metrics", token=relay.token("ann")).status == 403


def test_with_tokens_metrics_are_for_backends(start, secret, api_keys, backend):
    relay = start("--api-keys-file", api_keys, secret=secret)
    answer = call(relay, "GET", "/metrics", token=backend)
    assert answer.status == 200
    assert Metrics(answer.body.decode())["stillwire_sessions"] == 0


def test_with_tokens_metrics_can_be_opened(start, secret):
    relay = start("--metrics-open", secret=secret)
    assert metrics(relay)["stillwire_sessions"] == 0
