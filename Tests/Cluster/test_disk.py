# SPDX-License-Identifier: Apache-2.0
"""A node whose disk is full, or whose database is damaged. A limit of file sizes plays the disk."""

import resource
import shutil
import sqlite3
import time
from contextlib import closing

import pytest

from waiting import eventually

pytestmark = pytest.mark.nodes


def fill(node):
    """Lets no file of the process grow beyond the present size of SQLite's log."""
    size = node.database.with_name("stillwire.db-wal").stat().st_size
    assert size > node.log.stat().st_size
    resource.prlimit(node.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def free(node):
    resource.prlimit(node.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def post(node, number):
    """Sends a message with its number as the key. Returns None without a clear answer."""
    headers = {"Idempotency-Key": f"message-{number}"}
    return node.attempt("POST", "/v1/rooms/tea/messages", body={"from": "ann", "body": number}, headers=headers)


def post_history(node):
    """Makes a room with 20 messages."""
    assert node.request("PUT", "/v1/rooms/tea/members/ann").status == 201
    for number in range(20):
        assert post(node, number).status == 201


def damage(node):
    """Writes over all pages of the database and of its log, while the node uses them."""
    for file in node.data.glob("stillwire.db*"):
        with file.open("r+b") as opened:
            opened.write(b"\xff" * file.stat().st_size)


def test_a_leader_without_its_database_leaves(cluster):
    """No transaction reaches COMMIT, so the leader finds the failure itself."""
    made = cluster(servers=1, nodes=2)
    first, other = made.leader(), made.standbys()[0]
    assert first.request("PUT", "/v1/rooms/tea/members/ann").status == 201
    assert post(first, 0).status == 201
    first.database.rename(first.data / "lost.db")
    answer = post(first, 1)
    assert answer is None or answer.status == 503, answer
    eventually(lambda: other.leads)
    assert post(other, 1).status in (200, 201)
    # The node begins without data, and loads a snapshot.
    made.wait_whole()
    made.wait_equal()


def test_a_standby_without_its_folder_begins_again(cluster):
    made = cluster(servers=1, nodes=2)
    first, other = made.leader(), made.standbys()[0]
    assert first.request("PUT", "/v1/rooms/tea/members/ann").status == 201
    # A snapshot that is being loaded would make the folder again.
    eventually(lambda: "loaded snapshot" in other.log.read_text())
    # At once, because the node makes files in it.
    shutil.rmtree(other.data.rename(other.data.with_name("removed")))
    eventually(lambda: f"{other.data} was removed or replaced while the relay runs" in other.log.read_text())
    assert post(first, 0).status == 201
    eventually(other.database.exists)
    made.wait_whole()
    made.wait_equal()


def test_a_leader_with_a_full_disk_leaves_and_a_standby_with_one_does_not_take_over(cluster):
    made = cluster(servers=1, nodes=2)
    first, other = made.leader(), made.standbys()[0]
    post_history(first)
    pid = first.pid
    fill(first)
    answer = post(first, 20)
    assert answer is None or answer.status == 503, answer
    # The other node has the group, and recognizes the repetition.
    eventually(lambda: other.leads)
    assert post(other, 20).status in (200, 201)
    eventually(lambda: first.readiness.get("reason") == "file_failed")
    readiness = first.readiness
    assert readiness["status"] == "standby" and readiness["text"], readiness
    assert first.pid == pid and first.is_running

    other.kill()
    time.sleep(4)
    assert not first.leads and first.readiness["reason"] == "file_failed", first.readiness
    free(first)
    eventually(lambda: first.leads)
    other.start()
    made.wait_whole()
    for number in range(21, 25):
        assert post(first, number).status == 201
    made.wait_equal()
    messages = first.request("GET", "/v1/rooms/tea/messages").json["messages"]
    assert [message["body"] for message in messages] == list(range(25))


def root(node, table):
    """Returns the size of a page and the root page of a table. The database is closed."""
    with closing(sqlite3.connect(node.database)) as database:
        (size,) = database.execute("PRAGMA page_size").fetchone()
        (page,) = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
        return size, page


def test_a_leader_with_a_damaged_database_leaves_and_loads_a_snapshot(cluster):
    made = cluster(servers=1, nodes=2)
    first, other = made.leader(), made.standbys()[0]
    post_history(first)
    damage(first)
    eventually(lambda: (answer := post(first, 20)) is None or answer.status != 201)
    eventually(lambda: other.leads)
    assert post(other, 20).status in (200, 201)
    made.wait_whole()
    made.wait_equal()
    log = first.log.read_text()
    assert "the database is damaged: the leader steps down" in log and "loaded snapshot" in log
    messages = other.request("GET", "/v1/rooms/tea/messages?limit=100").json["messages"]
    assert [message["body"] for message in messages] == list(range(21))


def test_a_leader_with_a_damaged_database_and_no_standby_leads_again_with_all_data(cluster):
    made = cluster(servers=1, nodes=1)
    node = made.leader()
    post_history(node)
    damage(node)
    eventually(lambda: (answer := post(node, 20)) is None or answer.status != 201)
    eventually(lambda: "loaded snapshot" in node.log.read_text() and node.leads)
    assert post(node, 20).status in (200, 201)
    messages = node.request("GET", "/v1/rooms/tea/messages?limit=100").json["messages"]
    assert [message["body"] for message in messages] == list(range(21))


def test_a_node_with_a_damaged_database_keeps_it_at_its_start_and_loads_a_snapshot(cluster):
    made = cluster(servers=1, nodes=2)
    first, other = made.leader(), made.standbys()[0]
    post_history(first)
    made.wait_equal()
    assert other.stop() == 0
    loaded = other.log.read_text().count("loaded snapshot")
    size, page = root(other, "users")
    with other.database.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(bytes(size))
    other.start()
    eventually(lambda: other.log.read_text().count("loaded snapshot") > loaded)
    made.wait_whole()
    assert post(first, 20).status == 201
    made.wait_equal()
    assert "is damaged" in other.log.read_text()
    assert (other.data / "stillwire.db.diverged").exists()


def test_a_node_whose_damaged_database_has_no_position_waits_for_the_operator(cluster):
    made = cluster(servers=1, nodes=2)
    other = made.standbys()[0]
    assert other.stop() == 0
    size, page = root(other, "installation")
    with other.database.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(bytes(size))
    damaged = other.database.read_bytes()
    other.start()
    eventually(lambda: other.readiness.get("reason") == "file_failed")
    assert "is damaged" in other.readiness["text"]
    assert other.database.read_bytes() == damaged
    assert other.stop() == 0
    # The step of the guide.
    other.data.rename(other.data.with_name("moved"))
    other.start()
    made.wait_whole()
    made.wait_equal()
