# SPDX-License-Identifier: Apache-2.0
"""The states of the operator's table in the guide: what `/ready`, `cluster status`, the metrics and the alerts say."""

import shutil
import subprocess
import time

import pytest

from harness.alerts import alerts, firing
from harness.nats_client import NATSClient
from harness.topology import LOG, SNAPSHOTS, Cluster
from relay import DEADLINE
from waiting import eventually

pytestmark = pytest.mark.nodes

#: NATS notices a server that is gone after at most 10 s.
NOTICED = 2 * DEADLINE


def show(state: str, made: Cluster) -> None:
    """Prints the state, for the table in the guide."""
    for node in made.nodes:
        if node.is_running:
            code, text = node.status()
            print(f"--- {state}: {node.node}: /ready {node.readiness}\ncluster status: {code}\n{text.strip()}")
    print(f"alerts: {sorted(firing([node for node in made.nodes if node.is_running]))}")


def codes(node) -> list[str]:
    return sorted({warning["code"] for warning in node.report.get("warnings", [])})


def current(node) -> list[int]:
    """The current replicas of both streams."""
    return [stream["current"] for _, stream in sorted(node.report.get("replicas", {}).items())]


def write(node, key: str) -> int | None:
    """Sends a message. Returns its seq, or None if it is not acknowledged."""
    body = {"from": "ann", "body": key, "key": key}
    answer = node.attempt("POST", "/v1/rooms/tea/messages", body=body)
    return answer.json["seq"] if answer is not None and answer.status in (200, 201) else None


def begin(made: Cluster) -> Cluster:
    """Makes a room with a message."""
    leader = made.leader()
    assert leader.request("PUT", "/v1/rooms/tea/members/ann").status == 201
    assert write(leader, "first") == 1
    return made


def settles(made: Cluster, alerts: set[str]) -> None:
    """Waits until exactly these alerts fire: for a moment, a busy machine may also have no leader."""

    def do_fire() -> bool:
        try:
            return firing(made.nodes) == alerts
        except ConnectionRefusedError:  # a leader that steps down starts its process again
            return False

    eventually(do_fire, NOTICED)


def test_the_rules_of_prometheus_are_known():
    names = {name.removeprefix("Stillwire") for name in alerts()}
    assert {"NoLeader", "LostReplicas", "LogUnreachable", "LeaderUnproved", "NodeBehind"} <= names


def test_a_healthy_cluster_has_no_alert(cluster):
    made = begin(cluster(servers=3, nodes=2))
    for node in made.nodes:
        eventually(lambda: current(node) == [3, 3] and node.report.get("lag") == 0)
        code, text = node.status()
        assert code == 0 and "3 of 3 replicas of the log" in text and "lag:      0 records" in text, text
        assert not codes(node)
    assert "clock: " in made.standbys()[0].status()[1]
    settles(made, set())
    show("healthy", made)


def test_one_nats_server_is_down(cluster):
    made = begin(cluster(servers=3, nodes=2))
    victim = made.nats.followers(LOG)[0]
    victim.kill()
    for node in made.nodes:
        eventually(lambda: current(node) == [2, 2] and codes(node) == ["lost_replicas"], NOTICED)
        warnings = node.report["warnings"]
        assert all(victim.server in warning["text"] for warning in warnings), warnings
        code, text = node.status()
        assert code == 0 and "2 of 3 replicas of the log" in text and "warning:  lost_replicas: " in text, text
        eventually(lambda: node.lines("lost_replicas: the stream of the log has 2 of 3"))

    def is_ready() -> bool:
        ready = made.leader().request("GET", "/ready")
        return ready.status == 200 and {warning["code"] for warning in ready.json["warnings"]} == {"lost_replicas"}

    eventually(is_ready, NOTICED)
    settles(made, {"LostReplicas"})
    show("one NATS server is down", made)
    victim.start()
    for node in made.nodes:
        eventually(lambda: current(node) == [3, 3] and not codes(node), NOTICED)
        eventually(lambda: node.lines("lost_replicas has ended"))
    settles(made, set())


def can_mount() -> bool:
    command = ["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    return shutil.which("unshare") is not None and subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="this system permits no namespaces for users")
@pytest.mark.parametrize("count", [1, 3])
def test_a_full_disk_of_a_nats_server(tmp_path, count):
    """The server needs a restart, although its disk has space again."""
    made = Cluster(tmp_path / "cluster", servers=count, nodes=2)
    try:
        # NATS uses three quarters of the disk, and reserves the limits of both streams.
        for server in made.nats.all:
            server.limit_disk(200)
        made.options += ["--cluster-max-log", 64 << 20, "--cluster-max-snapshots", 64 << 20]
        begin(made.start())
        # 2.9.10 elects no other leader of a stream whose leader has a full disk.
        victim = made.nats.followers(LOG)[0] if count == 3 else made.nats.all[0]
        file = victim.fill_disk()
        leader = made.leader()
        if count == 3:
            # The stream of the snapshots shows it when a snapshot is published, or has no leader.
            eventually(lambda: all(current(node)[:1] == [2] for node in made.nodes), NOTICED)
            assert write(made.leader(), "second") == 2
            settles(made, {"LostReplicas"})
        else:
            eventually(lambda: write(leader, "second") is None)
            # 2.15.1 still describes the log, but stores nothing.
            reasons = {"takeover_refused", "log_unavailable"}
            eventually(lambda: all(node.readiness.get("reason") in reasons for node in made.nodes), NOTICED)
            eventually(lambda: "NoLeader" in firing(made.nodes))
        show(f"a full disk of {count}", made)
        file.unlink()
        time.sleep(5)
        # Nothing has changed.
        if count == 3:
            assert not made.nats.is_current(LOG)
        else:
            assert made.leader_now() is None
        victim.pause()
        victim.keep_disk()
        victim.kill()
        victim.start()
        made.wait_whole()
        eventually(lambda: all(current(node) == [count, count] for node in made.nodes), NOTICED)
        assert eventually(lambda: write(made.leader(), "second")) == 2
        settles(made, set())
    finally:
        made.close()


@pytest.mark.parametrize("harm", ["stall", "cut"])
def test_a_standby_is_cut_off(cluster, harm):
    made = begin(cluster(servers=1, nodes=2, is_partitionable=True))
    leader, standby = made.leader(), made.standbys()[0]
    eventually(lambda: standby.report.get("lag") == 0)
    getattr(made.partitions[standby.node], harm)()
    eventually(lambda: standby.report.get("reachesLog") is False and "lag" not in standby.report)
    for number in range(20):
        assert write(leader, f"key-{number}")
    report = standby.report
    assert 0 < report["sequence"] < leader.report["sequence"] and "lag" not in report, report
    readiness = standby.request("GET", "/ready")
    assert readiness.status == 503 and readiness.json["reason"] == "log_unavailable", readiness.json
    code, text = standby.status()
    assert code == 1 and "lag:      unknown" in text and "log:      no answer" in text, text
    assert not any("lag_records" in name for name in standby.metrics())
    settles(made, {"LogUnreachable"})
    assert leader.request("GET", "/ready").status == 200
    show("a standby is cut off", made)
    made.partitions[standby.node].open()
    eventually(lambda: standby.report.get("lag") == 0, NOTICED)
    settles(made, set())


def test_the_position_of_the_file_shows_before_nats_answers(cluster):
    made = begin(cluster(servers=1, nodes=2))
    standby = made.standbys()[0]
    eventually(lambda: standby.report.get("lag") == 0)
    standby.kill()
    made.nats.all[0].kill()
    standby.start().wait_live()
    # The node reports its position at once, and the obstacle when it has missed NATS.
    report = eventually(lambda: report if (report := standby.report).get("sequence") and "obstacle" in report else None)
    assert report["term"] == 1 and "lag" not in report and report["reachesLog"] is False, report
    assert report["obstacle"]["code"] == "log_unavailable", report
    assert "lag:      unknown" in standby.status()[1]


def test_a_leader_without_a_proof_answers_its_operator(cluster):
    made = begin(cluster(servers=1, nodes=2))
    leader = made.leader()
    made.nats.all[0].pause()
    ready = eventually(lambda: (leader.readiness if leader.readiness.get("reason") == "no_proof" else None))
    assert ready["status"] == "standby" and "leader" not in ready, ready
    report = leader.report
    assert report["role"] == "leader" and report["obstacle"]["code"] == "no_proof" and "lag" not in report, report
    code, text = leader.status()
    assert code == 1 and "obstacle: no_proof: " in text, text
    assert leader.metrics()["stillwire_cluster_unproved_seconds"] > 0
    # All others wait.
    assert leader.request("GET", "/v1/rooms/tea/messages").status == 503
    eventually(lambda: "LeaderUnproved" in firing([leader]))
    print(f"--- no proof: /ready {ready}\n{text}\nalerts: {sorted(firing([leader]))}")
    pid = leader.pid
    answer = leader.request("POST", "/v1/cluster/step-down", {})
    assert answer.status == 200, answer
    eventually(lambda: leader.report.get("role") in ("loading", "follower"))
    assert leader.is_running and leader.pid == pid
    assert leader.lines("the operator has requested it")
    made.nats.all[0].resume()
    made.wait_whole()
    assert write(made.leader(), "second") == 2


def test_a_wrong_clock_is_shown_and_prevents_no_takeover(cluster):
    made = begin(cluster(servers=1, nodes=2, has_clocks=True))
    leader, standby = made.leader(), made.standbys()[0]
    made.clocks[standby.node].set(600)
    eventually(lambda: codes(standby) == ["clock_differs"], NOTICED)
    report = standby.report
    assert 599 < report["clockDifference"] < 601, report
    code, text = standby.status()
    assert code == 0 and "s ahead of the leader's" in text and "warning:  clock_differs: " in text, text
    assert leader.request("GET", "/ready").status == 200 and not codes(leader)
    settles(made, {"ClocksDiffer"})
    show("a wrong clock", made)
    # The repetition of a request that the old leader has stored has no further effect.
    leader.kill()
    eventually(lambda: standby.leads)
    assert write(standby, "first") == 1
    leader.start()
    made.wait_whole()
    # The other node is 600 s behind now.
    eventually(lambda: codes(leader) == ["clock_differs"], NOTICED)
    assert leader.report["clockDifference"] < -599
    standby.kill()
    eventually(lambda: leader.leads)
    assert write(leader, "first") == 1
    messages = leader.request("GET", "/v1/rooms/tea/messages").json["messages"]
    assert [message["body"] for message in messages] == ["first"]


def test_a_standby_whose_clock_agrees_takes_over_first(cluster):
    made = begin(cluster(servers=1, nodes=3, has_clocks=True))
    for _ in range(3):
        old = made.leader()
        wrong, right = made.standbys()
        made.clocks[wrong.node].set(600)
        eventually(lambda: codes(wrong) == ["clock_differs"] and not codes(right), NOTICED)
        old.kill()
        eventually(lambda: made.leader_now() is right)
        made.clocks[wrong.node].set(0)
        old.start()
        made.wait_whole()
        eventually(lambda: not any(codes(node) for node in made.nodes), NOTICED)


def separate(nats) -> None:
    """Lets different servers lead the log, the snapshots, and all servers."""

    def leaders():
        found = [nats.leader(LOG), nats.leader(SNAPSHOTS), nats.meta_leader()]
        return None if None in found else found

    def are_separate() -> bool:
        found = eventually(leaders, NOTICED)
        if len(set(found)) == 3:
            return True
        name = f"STREAM.LEADER.STEPDOWN.{SNAPSHOTS}" if found[1] in (found[0], found[2]) else f"STREAM.LEADER.STEPDOWN.{LOG}"
        client = NATSClient(found[0].port)
        client.request(f"$JS.API.{name}")
        client.close()
        return False

    eventually(are_separate, 4 * NOTICED, 0.5)
    nats.wait_current(LOG)


def test_a_new_leader_does_not_wait_for_a_leader_of_the_snapshots(cluster):
    made = begin(cluster(servers=3, nodes=2))
    separate(made.nats)
    leader, standby = made.leader(), made.standbys()[0]
    made.nats.leader(SNAPSHOTS).kill()
    begun = time.monotonic()
    leader.kill()
    eventually(lambda: standby.leads)
    seconds = time.monotonic() - begun
    # The election has not ended.
    assert made.nats.leader(SNAPSHOTS) is None, seconds
    print(f"led after {seconds:.2f} s")


def test_a_standby_follows_while_the_servers_have_no_leader(cluster):
    made = begin(cluster(servers=3, nodes=3))
    separate(made.nats)
    leader = made.leader()
    made.nats.meta_leader().kill()
    begun = time.monotonic()
    seqs = [eventually(lambda: write(leader, f"key-{number}")) for number in range(5)]
    assert seqs == list(range(2, 7))
    sequence = leader.report["sequence"]
    for standby in made.standbys():
        eventually(lambda: standby.report.get("sequence", 0) >= sequence)
    seconds = time.monotonic() - begun
    # The election has not ended.
    assert made.nats.meta_leader() is None, seconds
    print(f"followed after {seconds:.2f} s")
