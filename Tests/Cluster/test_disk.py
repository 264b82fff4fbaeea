# SPDX-License-Identifier: Apache-2.0
"""A node whose disk is full. A limit of file sizes plays the disk."""

import resource
import shutil
import time

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
    shutil.rmtree(other.data)
    eventually(lambda: f"{other.data} was removed or replaced while the relay runs" in other.log.read_text())
    assert post(first, 0).status == 201
    eventually(other.database.exists)
    made.wait_whole()
    made.wait_equal()


def test_a_leader_with_a_full_disk_leaves_and_a_standby_with_one_does_not_take_over(cluster):
    made = cluster(servers=1, nodes=2)
    first, other = made.leader(), made.standbys()[0]
    assert first.request("PUT", "/v1/rooms/tea/members/ann").status == 201
    for number in range(20):
        assert post(first, number).status == 201
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
