# SPDX-License-Identifier: Apache-2.0
"""The answers of a standby, and the commands of the operator over HTTP."""

import http.client

import pytest

import documents
import tokens
from api import Answer
from harness.topology import Cluster
from relay import DEADLINE, run
from rfc6455 import Wire
from waiting import eventually

pytestmark = pytest.mark.nodes

ORIGIN = "http://127.0.0.1:5173"
OPTIONS = ("--origins", ORIGIN)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A leader and a standby."""
    with Cluster(tmp_path_factory.mktemp("pair"), *OPTIONS, servers=1, nodes=2) as cluster:
        yield cluster.leader(), cluster.standbys()[0]


def connect(node, **headers) -> Answer:
    """Requests a WebSocket, and returns the answer."""
    wire = Wire(node.port)
    try:
        return wire.upgrade(headers)
    finally:
        wire.socket.close()


def test_a_standby_is_live_and_not_ready(pair):
    leader, standby = pair
    assert standby.request("GET", "/live").status == 200
    ready = standby.request("GET", "/ready")
    assert ready.status == 503
    assert ready.json.items() >= {"status": "standby", "leader": leader.url}.items()
    assert leader.request("GET", "/ready").status == 200


def test_a_standby_refuses_a_socket_and_names_the_leader(pair):
    leader, standby = pair
    answer = connect(standby)
    assert answer.status == 503, answer
    assert answer.headers["Retry-After"] == "1" and answer.headers["Stillwire-Leader"] == leader.url
    problem = answer.problem
    assert problem["code"] == "unavailable" and problem["leader"] == leader.url


def test_a_page_may_read_the_leader(pair):
    leader, standby = pair
    answer = standby.request("GET", "/v1/connect", headers={"Origin": ORIGIN})
    assert answer.status == 503, answer
    assert answer.headers["Access-Control-Allow-Origin"] == ORIGIN
    exposed = answer.headers["Access-Control-Expose-Headers"].lower().replace(" ", "").split(",")
    assert "stillwire-leader" in exposed


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_a_standby_redirects_a_request_with_its_path_and_query(pair, method):
    leader, standby = pair
    path = "/v1/rooms/tea/messages?limit=3&after=1"
    answer = standby.request(method, path, None if method in ("GET", "DELETE") else {"body": 1})
    assert answer.status == 307, answer
    assert answer.headers["Location"] == leader.url + path
    assert answer.headers["Stillwire-Leader"] == leader.url


def test_a_client_that_follows_the_redirect_is_served(pair):
    leader, standby = pair
    made = leader.request("PUT", "/v1/rooms/tea/members/ann")
    assert made.status in (200, 201), made
    location = standby.request("GET", "/v1/rooms/tea/members").headers["Location"]
    assert location.startswith(leader.url)
    connection = http.client.HTTPConnection("127.0.0.1", leader.port)
    connection.request("GET", location.removeprefix(leader.url))
    assert connection.getresponse().status == 200
    connection.close()


def test_both_nodes_have_metrics_and_describe_the_cluster(pair):
    for node in pair:
        assert node.request("GET", "/metrics").status == 200
        answer = node.request("GET", "/v1/cluster")
        documents.check_answer("GET", "/v1/cluster", answer.status, answer.headers["Content-Type"], answer.body)
    assert b'stillwire_cluster_role{role="leader"} 1' in pair[0].request("GET", "/metrics").body
    assert b'stillwire_cluster_role{role="follower"} 1' in pair[1].request("GET", "/metrics").body


def test_without_a_leader_a_standby_asks_for_patience(cluster):
    made = cluster(servers=1, nodes=2)
    standby = made.standbys()[0]
    made.nats.all[0].kill()
    for node in made.nodes:
        node.kill()
    standby.start().wait_live()
    answer = eventually(lambda: standby.attempt("GET", "/v1/rooms/tea/members"))
    assert answer.status == 503, answer
    assert answer.headers["Retry-After"] == "1" and answer.problem["code"] == "unavailable"
    assert connect(standby).status == 503
    readiness = eventually(lambda: standby.readiness if "reason" in standby.readiness else None)
    assert readiness["reason"] == "log_unavailable" and readiness["text"].startswith("no answer from the log: ")


def test_nodes_connect_again_after_nats_has_refused_their_user(cluster):
    made = cluster(servers=1, nodes=2)
    server = made.nats.all[0]
    server.kill()
    server.extra = ["--user", "ann", "--pass", "secret"]
    server.start()
    # The client of NATS gives up after two refusals.
    for node in made.nodes:
        eventually(lambda: "cluster.credentialsFile" in node.readiness.get("text", ""))
        assert node.readiness["reason"] == "log_unavailable", node.readiness
    server.kill()
    server.extra = []
    server.start()
    made.wait_whole()
    assert made.leader().request("PUT", "/v1/rooms/tea/members/ann").status == 201


def test_a_standby_connects_again_if_its_server_stays_silent(cluster):
    made = cluster(servers=1, nodes=2)
    server, standby = made.nats.all[0], made.standbys()[0]
    pid = standby.pid
    # The connection stays open.
    server.pause()
    eventually(lambda: standby.lines("this node connects again"), 2 * DEADLINE)
    server.resume()
    made.wait_whole()
    assert standby.is_running and standby.pid == pid


def test_in_open_mode_only_the_own_machine_controls_the_cluster(tmp_path):
    with Cluster(tmp_path, "--open-to-network", "--trusted-proxies", "127.0.0.1", servers=1, nodes=2) as cluster:
        away = {"X-Forwarded-For": "203.0.113.7"}
        for node in cluster.nodes:
            for method, path in (("GET", ""), ("POST", "/snapshot"), ("POST", "/step-down")):
                answer = node.request(method, f"/v1/cluster{path}", headers=away)
                assert answer.status == 403, (node.node, answer)
            assert node.request("GET", "/v1/cluster").status == 200
        assert cluster.leader().request("GET", "/v1/rooms/tea/members", headers=away).status != 403


def test_the_commands_of_the_operator_are_in_the_audit_log(cluster, tmp_path):
    secret, keys = tokens.secret_file(tmp_path), tmp_path / "api-keys"
    added = run("api-key", "operator", "--file", keys)
    assert added.returncode == 0, added.stderr
    made = cluster("--secret-file", secret, "--api-keys-file", keys, servers=1, nodes=2)
    headers = {"Authorization": f"Bearer {added.stdout.strip()}"}
    leader = made.leader()
    for path in ("snapshot", "step-down"):
        answer = leader.request("POST", f"/v1/cluster/{path}", {}, headers)
        assert answer.status == 200, answer
    eventually(lambda: leader.is_standby)
    # The next leader has the entries, too.
    page = made.wait_whole().request("GET", "/v1/audit", headers=headers).json
    found = [(entry["key"], entry["operation"], entry["result"]) for entry in page["entries"]]
    assert found == [("operator", "stepDown", "ok"), ("operator", "publishSnapshot", "ok")]


def test_the_operator_moves_the_leadership(cluster):
    made = cluster(servers=1, nodes=2)
    leader = made.leader()
    pid = leader.pid
    answer = leader.request("POST", "/v1/cluster/step-down", {})
    assert answer.status == 200, answer
    eventually(lambda: leader.is_standby)
    assert made.wait_whole() is not leader, made.logs()
    assert leader.is_running and leader.pid == pid
