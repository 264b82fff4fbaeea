# SPDX-License-Identifier: Apache-2.0
"""`stillwire-bench`: its reports, and its errors when it cannot measure."""

import contextlib
import json
import socket
import subprocess

import pytest

import apple
from metrics import metrics
from relay import DEADLINE, api_key, environment, run_tool, tool
from waiting import eventually

RELAY_OPTIONS = ("--limits-send-rate", "0")


def bench(relay, load, *options):
    return run_tool("bench", load, "--port", relay.port, *options)


def measured(relay, load, *options):
    """Returns the report of a successful load."""
    ended = bench(relay, load, "--json", *options)
    assert ended.returncode == 0, ended
    report = json.loads(ended.stdout)
    assert report["load"] == load
    assert set(report["faults"].values()) == {0}
    assert report["problems"] == []
    return report


def assert_refused(ended, *named, code=64):
    assert ended.returncode == code, ended
    assert ended.stdout == ""
    for name in named:
        assert str(name) in ended.stderr


def test_fanout_in_a_closed_loop(relay):
    report = measured(relay, "fanout", "--sessions", 50, "--window", 8, "--body", 64, "--seconds", 1)
    assert report["options"] == {"sessions": 50, "rooms": 1, "publishers": 1, "body": 64, "window": 8}
    messages, latency = report["messages"], report["latency"]
    assert messages["seconds"] >= 1
    assert messages["delivered"] == pytest.approx(50 * messages["published"], rel=0.2)
    assert 0 < latency["p50"] <= latency["p90"] <= latency["p99"] <= latency["p999"] <= latency["largest"] < 20
    assert report["relay"]["processor"] > 0
    assert report["relay"]["memory"] > 1024 * 1024
    assert report["server"].startswith("stillwire/")


def test_fanout_in_an_open_loop(relay):
    report = measured(
        relay, "fanout", "--sessions", 20, "--rooms", 4, "--publishers", 4, "--rate", 200, "--seconds", 1
    )
    assert report["options"]["rate"] == 200
    assert "window" not in report["options"]
    assert report["messages"]["published"] == pytest.approx(200, rel=0.2)


def test_rooms(relay):
    report = measured(relay, "rooms", "--sessions", 20, "--rooms", 10, "--publishers", 5, "--seconds", 0.5)
    assert report["messages"]["delivered"] > 0


def test_the_relay_is_found_among_many_listeners(relay):
    """The program finds the relay's process in the system's table of all sockets."""
    with contextlib.ExitStack() as open_sockets:
        for _ in range(60):
            open_sockets.enter_context(socket.create_server(("127.0.0.1", 0)))
        report = measured(relay, "idle", "--sessions", 10, "--seconds", 0.1)
    assert "processor" in report["session"]


def test_idle(relay):
    report = measured(relay, "idle", "--sessions", 100, "--seconds", 0.5)
    assert report["opening"]["p50"] > 0
    assert "processor" in report["session"]
    assert "baseline" not in report


def test_idle_with_a_baseline(start):
    relay = start("--limits-heartbeat", 0.5)
    report = measured(relay, "idle", "--sessions", 20, "--seconds", 2.5, "--baseline")
    assert report["heartbeat"]["pings"] >= 20
    assert report["baseline"]["pings"] >= 20


def test_durable_with_a_baseline(relay, tmp_path):
    report = measured(
        relay, "durable", "--publishers", 8, "--window", 2, "--seconds", 0.5, "--warm-up", 0.2, "--baseline", tmp_path
    )
    assert report["messages"]["acknowledged"] > 0
    assert 0 < report["latency"]["p50"] <= report["latency"]["p999"]
    baseline = report["baseline"]
    assert baseline["rows"] > 0
    assert baseline["ratio"] == pytest.approx(report["messages"]["acknowledged"] / baseline["rows"])
    assert list(tmp_path.iterdir()) == []


def test_durable_in_an_open_loop(relay):
    report = measured(relay, "durable", "--publishers", 4, "--rate", 100, "--seconds", 1, "--warm-up", 0)
    # A loaded machine sends some messages after the measurement.
    assert 30 <= report["messages"]["acknowledged"] <= 130


def test_focus_with_a_baseline(relay, tmp_path):
    report = measured(
        relay, "focus", "--sessions", 200, "--rate", 50, "--seconds", 1, "--warm-up", 0.2, "--baseline", tmp_path
    )
    assert report["options"] == {"sessions": 200, "rooms": 100, "connections": 8, "rate": 50}
    # A loaded machine sends some reports after the measurement.
    assert 15 <= report["reports"]["answered"] <= 65
    # Each user has one room-mate.
    assert report["reports"]["events"] == pytest.approx(report["reports"]["answered"], rel=0.3)
    for latency in report["latency"], report["eventLatency"]:
        assert 0 < latency["p50"] <= latency["p99"] < 20
    assert report["writes"]["calls"] > 0
    assert report["writes"]["bytes"] > 0
    assert report["baseline"]["answered"] > 0
    assert report["baselineWrites"]["calls"] > 0
    assert list(tmp_path.iterdir()) == []


def test_focus_alone_in_larger_rooms(start, secret, api_keys, backend, tmp_path):
    """Each report of a user changes the Focus: four users report many times, and three room-mates receive each change."""
    key = tmp_path / "key"
    key.write_text(backend + "\n")
    relay = start("--api-keys-file", api_keys, secret=secret)
    options = ("--sessions", 4, "--rooms", 1, "--seconds", 0.5, "--warm-up", 0)
    report = measured(relay, "focus", "--alone", *options, "--secret-file", secret, "--api-key-file", key)
    assert report["options"] == {"sessions": 4, "rooms": 1, "connections": 1, "alone": 1}
    assert report["reports"]["answered"] > 4 / 0.5
    assert report["reports"]["events"] == pytest.approx(3 * report["reports"]["answered"], rel=0.3)
    ended = bench(relay, "focus", "--json", *options, "--secret-file", secret)
    assert ended.returncode == 1
    report = json.loads(ended.stdout)
    assert report["faults"]["refused"] > 0
    assert report["problems"][0]["text"].startswith("a report: HTTP/1.1 401")


def test_presence(relay):
    report = measured(
        relay, "presence", "--sessions", 30, "--within", 0.5, "--flapping", 5, "--rate", 50, "--seconds", 0.5
    )
    # Each member receives an event for every later join.
    assert report["joinEvents"]["member"] == 30 * 29 / 2
    assert report["flaps"]["flaps"] > 5
    assert report["flapEvents"]["presence"] > 0
    assert report["faults"]["misinformed"] == 0


def test_reconnect(relay):
    report = measured(
        relay, "reconnect", "--sessions", 40, "--rooms", 4, "--rate", 100, "--away", 0.5
    )
    # At least one message, which the ten sessions of a room missed. On a quiet machine they are about 50.
    assert report["recovery"]["messages"] >= 10
    assert report["opening"]["largest"] > 0
    assert report["latency"]["p50"] > 0


SHORT_DECISIONS = ("--recipients", 16, "--devices", 3, "--connections", 4, "--seconds", 0.5, "--warm-up", 0.1)


def test_decisions(relay):
    report = measured(relay, "decisions", *SHORT_DECISIONS, "--prefix", "bench|a+b")
    assert report["options"] == {"connections": 4, "devices": 3, "recipients": 16, "rooms": 2}
    decisions, latency = report["decisions"], report["latency"]
    assert decisions["requests"] > 0
    assert decisions["decisions"] == pytest.approx(3 * decisions["requests"])
    assert 0 < latency["p50"] <= latency["p90"] <= latency["p99"] <= latency["p999"] <= latency["largest"] < 20
    assert report["relay"]["perDecision"] > 0


def test_decisions_with_an_api_key(start, secret, api_keys, backend, tmp_path):
    key = tmp_path / "key"
    key.write_text(backend + "\n")
    options = ("--api-keys-file", api_keys)
    relay = start(*options, secret=secret)
    report = measured(relay, "decisions", *SHORT_DECISIONS, "--api-key-file", key)
    assert report["decisions"]["decisions"] > 0
    assert_refused(bench(relay, "decisions"), "Error: POST /v1/rooms: status 401, a token or an API key", code=1)
    without_phones = start(*options, "--simulated-phones", "false", secret=secret)
    ended = bench(without_phones, "decisions", "--api-key-file", key)
    assert_refused(ended, "Error: PUT /v1/users/bench-", "status 422, simulated phones are not accepted", code=1)


@pytest.fixture
def pair(tmp_path):
    simulator, credential = apple.pair(tmp_path)
    yield simulator, credential
    simulator.kill()


def test_pushes_through_a_relay(start, pair):
    relay = start(*RELAY_OPTIONS, "--pace-messages", 10000, configuration=apple.bench_configuration(*pair))
    options = ("--rooms", 5, "--members", 4, "--at-once", 40, "--seconds", 1, "--warm-up", 0.2)
    report = measured(relay, "pushes", "--through", *options)
    assert report["options"] == {"rooms": 5, "members": 4, "connections": 8, "atOnce": 40}
    assert report["pushes"]["ended"] > 0
    assert report["relay"]["perPush"] > 0
    assert report["writes"]["bytes"] > 0


def test_unexpected_decisions_are_faults(start):
    relay = start("--limits-pushed-members-per-room", 5)
    ended = bench(relay, "decisions", "--json", *SHORT_DECISIONS)
    assert ended.returncode == 1, ended
    report = json.loads(ended.stdout)
    assert report["faults"]["wrong"] > 0
    texts = [problem["text"] for problem in report["problems"]]
    assert "plain: none (large_room) instead of push active (nothing_against)" in texts
    # The rule about large rooms does not apply to a recipient whom the message mentions.
    assert not [text for text in texts if text.startswith("mentioned")]
    assert report["decisions"]["decisions"] > 0


def test_refused_decisions_are_faults(start, secret, tmp_path):
    keys, key = tmp_path / "keys", tmp_path / "key"
    # The preparation needs fewer requests than the burst, and the decisions need more.
    scopes = [{"scope": "slow", "rate": 0.01, "burst": 60}]
    key.write_text(api_key(keys, "slow", "--scope", "slow"))
    relay = start("--api-keys-file", keys, secret=secret, configuration={"apiKeyScopes": scopes})
    options = ("--recipients", 8, "--devices", 1, "--seconds", 0.5, "--warm-up", 0)
    ended = bench(relay, "decisions", "--json", *options, "--api-key-file", key)
    assert ended.returncode == 1, ended
    report = json.loads(ended.stdout)
    assert report["faults"]["refused"] > 0
    assert report["problems"][0]["text"].startswith("status 429")


def test_messages_that_are_not_recovered_are_faults(relay):
    ended = bench(
        relay, "reconnect", "--json", "--sessions", 4, "--rooms", 1, "--rate", 20, "--away", 1, "--prefix", "live.b"
    )
    assert ended.returncode == 1, ended
    assert json.loads(ended.stdout)["faults"]["unrecovered"] == 4


def test_the_table_and_the_json_agree(relay):
    ended = bench(relay, "fanout", "--sessions", 10, "--seconds", 0.5)
    assert ended.returncode == 0, ended
    assert ended.stdout.startswith("fanout on stillwire/")
    for word in ("messages", "latency", "relay", "generator", "faults        none"):
        assert word in ended.stdout


def test_tokens(secret, start):
    relay = start("--limits-send-rate", 0, secret=secret)
    measured(relay, "fanout", "--sessions", 5, "--seconds", 0.5, "--secret-file", secret)
    assert_refused(bench(relay, "fanout", "--sessions", 5), "no session could be opened: error: forbidden", code=1)
    assert_refused(bench(relay, "fanout", "--token-file", "LICENSE"), "error: unauthorized", code=1)


def test_sessions_that_the_relay_closes_are_faults(start):
    relay = start()
    command = [tool("bench"), "idle", "--json", "--port", relay.port, "--sessions", 20, "--seconds", DEADLINE]
    with subprocess.Popen([str(word) for word in command], env=environment(), stdout=subprocess.PIPE) as running:
        eventually(lambda: metrics(relay)["stillwire_seats"] == 20)
        relay.stop()
        output, _ = running.communicate(timeout=DEADLINE)
    assert running.returncode == 1
    report = json.loads(output)
    assert report["faults"]["closed"] == 20
    assert report["problems"][0]["text"].startswith("close: 4000")


def test_rates_are_not_measured_for_the_relay(start):
    relay = start()
    assert_refused(bench(relay, "fanout"), "50 sends a second", "--limits-send-rate 0", code=1)
    assert_refused(bench(relay, "fanout", "--rate", 51), "50 sends a second", code=1)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--window", 0), "--window must be from 1 to 65536, not 0"),
        (("--rate", -1), "--rate"),
        (("--rate", 5, "--window", 5), "exclude each other"),
        (("--sessions", 10, "--rooms", 11), "--rooms"),
        (("--body", 10), "--body must be from 37"),
        (("--prefix", "a b"), "--prefix"),
        (("--prefix", "x" * 129), "--prefix"),
        (("--pid", 0), "--pid 0"),
        (("--port", 65536), "--port"),
        (("--secret-file", "a", "--token-file", "b"), "exclude each other"),
    ],
)
def test_wrong_options_are_refused(options, named):
    assert_refused(run_tool("bench", "fanout", *options), named)


@pytest.mark.parametrize(
    ("load", "options", "named"),
    [
        ("durable", ("--window", 65), "--window must be from 1 to 64"),
        ("durable", ("--rate", 10, "--baseline", "."), "--baseline"),
        ("focus", ("--sessions", 10, "--rooms", 6), "--rooms must be from 1 to 5"),
        ("focus", ("--alone", "--rate", 10), "--alone and --rate"),
        ("focus", ("--token-file", "a"), "--token-file"),
        ("pushes", (), "--ca-file"),
        ("pushes", ("--through", "--members", 0), "--members must be from 1 to 1000"),
        ("pushes", ("--through", "--streams", 1), "--streams has no effect with --through"),
        ("pushes", ("--rooms", 1), "--rooms has no effect without --through"),
        ("presence", ("--sessions", 10, "--flapping", 10), "--flapping must be from 1 to 9"),
        ("reconnect", ("--sessions", 10, "--rooms", 11), "--rooms must be from 1 to 10"),
        ("idle", ("--seconds", 0), "--seconds"),
        ("decisions", ("--connections", 0), "--connections must be from 1 to 1000"),
        ("decisions", ("--devices", 0), "--devices must be from 1 to 1000"),
        ("decisions", ("--recipients", 7), "--recipients must be from 8 to 100000"),
        ("decisions", ("--recipients", 17, "--rooms", 3), "--rooms must be from 1 to 2"),
        ("decisions", ("--seconds", 36_001), "--seconds"),
        ("decisions", ("--port", 0), "--port must be from 1 to 65535"),
        ("decisions", ("--pid", 0), "--pid 0"),
        ("decisions", ("--prefix", "a b"), "--prefix"),
        ("decisions", ("--secret-file", "a"), "--secret-file"),
        ("none", (), "none"),
    ],
)
def test_wrong_options_of_other_loads_are_refused(load, options, named):
    assert_refused(run_tool("bench", load, *options), named)


def test_an_error_is_one_line(relay, tmp_path):
    missing = tmp_path / "missing"
    ended = bench(relay, "durable", "--seconds", 0.1, "--warm-up", 0, "--baseline", missing)
    assert_refused(ended, "Error: --baseline", missing, code=1)
    strange = tmp_path / "strange"
    strange.write_text("a key")
    for load, options, named in [
        ("focus", ("--baseline", missing), missing),
        ("focus", ("--api-key-file", missing), missing),
        ("pushes", ("--through", "--rooms", 1, "--members", 1), "status 422"),
        ("fanout", ("--address", "127.0.0.1", "--port", 1), "no relay at 127.0.0.1 port 1"),
        ("fanout", ("--secret-file", missing), missing),
        ("fanout", ("--token-file", missing), missing),
        ("fanout", ("--sessions", 1_000_000), "open files"),
        ("decisions", ("--address", "127.0.0.1", "--port", 1), "no relay at 127.0.0.1 port 1"),
        ("decisions", ("--api-key-file", missing), missing),
        ("decisions", ("--api-key-file", strange), "invalid character"),
        # By default, the limit of the relay is 16 devices.
        ("decisions", ("--devices", 17), "status 413"),
    ]:
        ended = bench(relay, load, *options)
        assert_refused(ended, "Error: ", named, code=1)
        assert len(ended.stderr.splitlines()) == 1


def test_two_thousand_join_one_room_without_an_event_for_each(relay):
    command = [tool("bench"), "presence", "--json", "--port", relay.port]
    command += ["--sessions", 2_000, "--within", 10, "--seconds", 0, "--prefix", "stored.bench"]
    ended = subprocess.run(
        [str(word) for word in command], env=environment(), capture_output=True, text=True, timeout=10 * DEADLINE
    )
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    events = report["joinEvents"]
    # Up to the limit `memberList`, each member receives an event for each join. Above it, the relay sends one count
    # each second.
    assert events["member"] <= 256 * 255 / 2
    assert events["presence"] <= 256 * 256
    assert events["perSession"] < 200  # An event for each join would be 1,000.
    assert report["faults"]["misinformed"] == 0
