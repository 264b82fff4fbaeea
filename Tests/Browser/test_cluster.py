# SPDX-License-Identifier: Apache-2.0
"""Tests the page of `make run-cluster` in a real browser: a button kills the leader, and Alice and Bob continue."""

import os
import random
import socket
import subprocess
import tempfile
from contextlib import ExitStack

from page import BrowserTests
from relay import CHECKOUT


def free_ports(count, distance=0):
    """Returns the first of `count` free ports on loopback, and requires as many at a distance."""
    while True:
        first = random.SystemRandom().randrange(12_000, 28_000)
        wanted = [*range(first, first + count)] + [first + distance + number for number in range(count if distance else 0)]
        with ExitStack() as held:
            try:
                for port in wanted:
                    held.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except OSError:
                continue
        return first


class RunningCluster:
    """The processes of `deploy/run-cluster`."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="stillwire-cluster-")
        port, nats = free_ports(4), free_ports(3, 2_000)
        binary = os.environ.get("STILLWIRE_BINARY", str(CHECKOUT / ".build/debug/stillwire"))
        command = [str(CHECKOUT / "deploy/run-cluster"), "--port", str(port), "--nats-port", str(nats)]
        command += ["--data", self._folder.name, "--program", binary]
        self.url = f"http://127.0.0.1:{port}"
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in self._process.stdout:
            if line.startswith("Open "):
                return
        raise AssertionError(f"run-cluster has ended with {self._process.wait()}")

    def stop(self):
        self._process.terminate()
        self._process.stdout.read()
        self._process.wait()
        self._folder.cleanup()


class ClusterTests(BrowserTests):
    serve = RunningCluster

    def test_alice_and_bob_continue_when_a_button_kills_the_leader(self):
        page = self.open_page("?cluster")
        name = lambda: page.find("leader-name").text  # noqa: E731
        page.eventually("the page shows the leader", lambda: name().startswith("Node "))
        killed = name()
        page.alice.say("Before")
        page.eventually("Bob has the message", lambda: page.bob.texts("message-text") == ["Before"])
        page.press("kill-leader")
        page.eventually("another node leads", lambda: name().startswith("Node ") and name() != killed)
        page.picture("cluster-failover")
        page.bob.say("After")
        for panel in (page.alice, page.bob):
            page.eventually(
                f"{panel.name} has both messages",
                lambda panel=panel: panel.texts("message-text") == ["Before", "After"],
            )

    def test_only_the_address_of_a_cluster_shows_the_button(self):
        page = self.open_page()
        self.assertFalse(page.find("leader").is_displayed())
