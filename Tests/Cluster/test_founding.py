# SPDX-License-Identifier: Apache-2.0
"""The first start of a cluster, new and broken nodes, and data without a log."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from harness.nats_client import NATSClient
from harness.tables import contents, rows
from harness.topology import LOG, Cluster
from relay import DEADLINE, run
from waiting import eventually

pytestmark = pytest.mark.nodes


def write(node, count, room="tea"):
    """Stores messages over HTTP."""
    assert node.request("PUT", f"/v1/rooms/{room}/members/ann").status in (200, 201)
    for number in range(count):
        body = {"from": "ann", "body": number}
        assert node.request("POST", f"/v1/rooms/{room}/messages", body).status == 201


def test_all_nodes_of_a_new_cluster_have_one_installation(cluster):
    made = cluster(servers=3, nodes=3)
    write(made.leader(), 5)
    made.wait_equal()
    assert len(made.nats.leader(LOG).stream(LOG)["cluster"]["replicas"]) == 2


def test_a_new_node_loads_a_snapshot(cluster):
    made = cluster(servers=1, nodes=2)
    write(made.leader(), 20)
    answer = made.leader().request("POST", "/v1/cluster/snapshot", {})
    assert answer.status in (200, 202, 204), answer
    write(made.leader(), 20)
    made.add("new").start()
    made.wait_whole()
    made.wait_equal()


def test_a_node_without_its_file_loads_a_snapshot(cluster):
    made = cluster(servers=1, nodes=3)
    write(made.leader(), 20)
    victim = made.standbys()[0]
    victim.kill()
    for file in victim.data.glob("stillwire.db*"):
        file.unlink()
    write(made.leader(), 5)
    victim.start()
    made.wait_whole()
    made.wait_equal()


def test_nodes_start_with_tables_of_another_program(cluster):
    """Litestream creates two tables, and one of them has no primary key."""
    made = cluster(servers=1, nodes=2)
    write(made.leader(), 5)
    made.wait_equal()
    for node in made.nodes:
        node.kill()
        with closing(sqlite3.connect(node.database)) as database, database:
            database.execute("CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)")
            database.execute("CREATE TABLE _litestream_lock (id INTEGER)")
            database.execute("INSERT INTO _litestream_seq VALUES (1, 7)")
    for node in made.nodes:
        node.start()
    made.wait_whole()
    write(made.leader(), 5)
    eventually(lambda: all(number_of_messages(node) == 10 for node in made.nodes))
    for node in made.nodes:
        lines = [line for line in node.tail(200).splitlines() if "other programs have created tables" in line]
        assert len(lines) == 1 and "_litestream_lock _litestream_seq" in lines[0]


def number_of_messages(node):
    with closing(sqlite3.connect(f"file:{node.database}?mode=ro", uri=True)) as database:
        return database.execute("SELECT count(*) FROM messages").fetchone()[0]


def test_all_nodes_restart_with_their_data(cluster):
    made = cluster(servers=1, nodes=3)
    write(made.leader(), 20)
    made.wait_equal()
    for node in made.nodes:
        node.kill()
    made.nats.all[0].kill()
    made.nats.start()
    for node in made.nodes:
        node.start()
    leader = made.wait_whole()
    assert len(rows(leader.database, "SELECT 1 FROM messages")) == 20
    write(leader, 1)
    made.wait_equal()


def test_a_node_that_was_away_catches_up(cluster):
    made = cluster(servers=1, nodes=2)
    victim = made.standbys()[0]
    victim.kill()
    write(made.leader(), 50)
    victim.start()
    made.wait_whole()
    made.wait_equal()


def bodies(node, room="tea"):
    return [message["body"] for message in node.request("GET", f"/v1/rooms/{room}/messages").json["messages"]]


def test_a_single_relay_becomes_a_cluster(tmp_path):
    """The operator decides that its data begin the cluster. Without the decision the node serves nobody."""
    with Cluster(tmp_path, servers=0, nodes=1) as single:
        write(single.leader(), 5)
        begun = epoch(single.leader())
        assert single.nodes[0].stop() == 0
        before = contents(single.nodes[0].database).counts
    made = Cluster(tmp_path, servers=1, nodes=2)
    try:
        made.nats.start()
        node = made.add("x").start().wait_live()
        eventually(lambda: node.role == "alarm")
        readiness = node.readiness
        assert readiness["alarm"] == "unrelated_file" and "stillwire cluster reset" in readiness["text"], readiness
        eventually(lambda: node.lines("stillwire cluster reset"))
        node.kill()
        assert contents(node.database).counts == before

        node.reset_cluster()
        node.start()
        made.add("y").start()
        made.wait_whole()
        assert bodies(made.leader()) == list(range(5)) and epoch(made.leader()) == begun
        write(made.leader(), 5)
        made.wait_equal()
        made.leader().kill()
        assert bodies(made.leader()) == [*range(5), *range(5)]
    finally:
        made.close()


def test_a_reset_needs_a_database_and_stopped_nodes(cluster, tmp_path):
    made = cluster(servers=1, nodes=1)
    leader = made.leader()
    write(leader, 5)
    for folder, text in ((tmp_path / "empty", "has no database"), (copy(leader, tmp_path / "copy"), "Stop all nodes")):
        result = run("cluster", "reset", "--data", folder, *leader.cluster_options, "--confirm")
        assert result.returncode != 0 and text in result.stderr, result
    write(leader, 1)
    assert len(bodies(leader)) == 6


def test_a_restored_node_serves_only_after_a_reset(cluster, tmp_path):
    """Otherwise the node would follow the log, which undoes the restore."""
    made = cluster(servers=1, nodes=2)
    write(made.leader(), 5)
    backup = run("backup", "--data", made.leader().data, tmp_path / "backup.db")
    assert backup.returncode == 0, backup.stderr
    write(made.leader(), 1)
    made.wait_equal()
    for node in made.nodes:
        node.kill()
    chosen = made.nodes[0]
    restored = run("restore", tmp_path / "backup.db", "--data", chosen.data)
    assert restored.returncode == 0 and "stillwire cluster reset" in restored.stdout, restored
    chosen.start().wait_live()
    eventually(lambda: chosen.role == "alarm")
    assert chosen.readiness["alarm"] == "unrelated_file"
    reset(made)
    assert bodies(made.leader()) == list(range(5))
    write(made.leader(), 1)
    made.wait_equal()


def copy(node, folder):
    """Copies the database of a node that runs."""
    folder.mkdir()
    source, target = sqlite3.connect(node.database), sqlite3.connect(folder / "stillwire.db")
    source.backup(target)
    source.close()
    target.close()
    return folder


def epoch(node, room="tea"):
    return node.request("GET", f"/v1/rooms/{room}/messages").json["epoch"]


def lose_log(made):
    """Kills everything, and removes the files of the NATS server, as the loss of its disk does."""
    for process in [*made.nodes, *made.nats.all]:
        process.kill()
    for server in made.nats.all:
        shutil.rmtree(server.folder / server.name)
    made.nats.start()


def reset(made):
    """Begins the cluster again with the data of the first of two nodes, as the guide describes."""
    for node in made.nodes:
        node.kill()
    chosen, other = made.nodes
    chosen.reset_cluster()
    shutil.rmtree(other.data)
    for node in made.nodes:
        node.start()
    made.wait_whole()


def test_a_lost_log_raises_an_alarm_until_the_operator_resets_the_cluster(cluster):
    made = cluster(servers=1, nodes=2)
    write(made.leader(), 5)
    begun = epoch(made.leader())
    made.wait_equal()
    lose_log(made)
    for node in made.nodes:
        node.start()
    eventually(lambda: all(node.role == "alarm" for node in made.nodes))
    assert {node.readiness["alarm"] for node in made.nodes} == {"recreated"}
    for node in made.nodes:
        assert node.request("GET", "/v1/rooms/tea/messages").status == 503
    reset(made)
    # The chosen file may lack messages that clients have seen.
    assert bodies(made.leader()) == list(range(5)) and epoch(made.leader()) != begun
    write(made.leader(), 1)
    made.wait_equal()


def test_a_deleted_stream_stops_the_nodes_that_run_until_a_reset(cluster):
    made = cluster(servers=1, nodes=2)
    leader = made.leader()
    write(leader, 5)
    made.wait_equal()
    client = NATSClient(made.nats.all[0].port)
    assert client.request(f"$JS.API.STREAM.DELETE.{LOG}")["success"] is True
    client.close()
    # The leader acknowledges nothing without the log.
    answer = leader.attempt("POST", "/v1/rooms/tea/messages", body={"from": "ann", "body": "lost"})
    assert answer is None or answer.status != 201
    eventually(lambda: all(node.role == "alarm" for node in made.nodes), 3 * DEADLINE)
    assert {node.readiness["alarm"] for node in made.nodes} == {"recreated"}
    reset(made)
    assert bodies(made.leader()) == list(range(5))
    write(made.leader(), 1)
    made.wait_equal()


def test_a_new_cluster_does_not_replace_a_lost_one(cluster):
    """The log is lost, and a new node starts first: the other nodes must not drop their data for its empty file."""
    made = cluster(servers=1, nodes=1)
    write(made.leader(), 5)
    lose_log(made)
    new = made.add("new").start()
    eventually(lambda: new.leads)
    old = made.nodes[0].start()
    eventually(lambda: old.role == "alarm")
    old.kill()
    assert len(rows(old.database, "SELECT 1 FROM messages")) == 5
