# SPDX-License-Identifier: Apache-2.0
"""Connections to NATS servers that require TLS and a certificate, as the guide describes them."""

import pytest

from certificates import write_authority
from harness.node import Node
from harness.topology import Cluster
from waiting import eventually

pytestmark = pytest.mark.nodes


@pytest.fixture
def files(tmp_path):
    """The paths of an authority, and of a certificate and its key for all servers and nodes."""
    return write_authority(tmp_path)


def servers(authority, certificate, key):
    """Returns the arguments of servers that accept only clients with a certificate."""
    options = ["--tlsverify", "--tlscert", certificate, "--tlskey", key, "--tlscacert", authority]
    return {"scheme": "tls", "options": options}


def settings(authority, certificate, key):
    names = {"caFile": authority, "certificateFile": certificate, "keyFile": key}
    return {"cluster": {name: str(path) for name, path in names.items()}}


def test_nodes_use_tls_and_their_certificate(tmp_path, files):
    with Cluster(
        tmp_path / "cluster", servers=3, nodes=2, configuration=settings(*files), **servers(*files)
    ) as cluster:
        assert cluster.leader().request("PUT", "/v1/rooms/tea/members/ann").status == 201
        cluster.wait_equal()
        cluster.leader().kill()
        assert cluster.leader().request("GET", "/v1/rooms/tea/members").status == 200


@pytest.mark.parametrize("missing", ["the certificate", "the authority"])
def test_a_node_without_its_files_never_leads(tmp_path, files, missing):
    authority, certificate, key = files
    options = ["--cluster-certificate-file", certificate, "--cluster-key-file", key]
    if missing == "the certificate":
        options = ["--cluster-ca-file", authority]
    made = Cluster(tmp_path / "cluster", servers=1, nodes=1, **servers(*files))
    try:
        made.nats.start()
        node = Node(made.folder, "x", made.nats.urls, *options).start()
        # A wrong certificate may be corrected while the node waits, or the node refuses to start.
        eventually(lambda: not node.is_running or node.role == "standby")
        eventually(lambda: node.lines("no answer from the log"))
        assert not node.leads
        # The operator gets the next step.
        eventually(lambda: node.readiness.get("reason") == "log_unavailable")
        step = "set cluster.certificateFile" if missing == "the certificate" else "Check cluster.caFile"
        assert step in node.readiness["text"], node.readiness
        assert node.lines(step)
        node.kill()
    finally:
        made.close()
