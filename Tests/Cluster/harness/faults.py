# SPDX-License-Identifier: Apache-2.0
"""Faults. Each is a context: it harms the cluster, yields the moment of the harm, and repairs the cluster at its end."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from relay import DEADLINE

from harness.nats import NATSServer
from harness.node import Node
from harness.topology import LOG, Cluster

#: The time in seconds for which a fault pauses a process or cuts a network.
PAUSE = 6.0

Fault = Callable[[Cluster, random.Random], AbstractContextManager[float]]


@contextmanager
def leader_killed(cluster: Cluster, chance: random.Random) -> Iterator[float]:
    """SIGKILL of the leader. It starts again when another node leads."""
    victim = cluster.leader()
    moment = time.monotonic()
    victim.kill()
    with _until_replaced(cluster, victim):
        yield moment


@contextmanager
def leader_stopped(cluster: Cluster, chance: random.Random) -> Iterator[float]:
    """SIGTERM of the leader: it drains and ends. It starts again afterwards."""
    victim = cluster.leader()
    assert victim.stop() == 0
    moment = time.monotonic()
    with _until_replaced(cluster, victim):
        yield moment


@contextmanager
def leader_paused(cluster: Cluster, chance: random.Random) -> Iterator[float]:
    """SIGSTOP of the leader for 6 s. It must notice that another node leads before it answers anybody."""
    victim = cluster.leader()
    with _while_harmed(victim.pause, victim.resume) as moment:
        if len(cluster.nodes) == 1:
            time.sleep(PAUSE)
            victim.resume()
        yield moment


@contextmanager
def leader_stepped_down(cluster: Cluster, chance: random.Random) -> Iterator[float]:
    """The command of the operator, `POST /v1/cluster/step-down`."""
    leader = cluster.leader()
    moment = time.monotonic()
    answer = leader.request("POST", "/v1/cluster/step-down", {})
    assert answer.status in (200, 202, 204), answer
    yield moment


@contextmanager
def leader_cut(cluster: Cluster, chance: random.Random) -> Iterator[float]:
    """The leader loses its connections to NATS for 6 s, and gets no new ones. Its clients still reach it."""
    partition = cluster.partitions[cluster.leader().node]
    with _while_harmed(partition.cut, partition.open) as moment:
        yield moment


@contextmanager
def leader_stalled(cluster: Cluster, chance: random.Random) -> Iterator[float]:
    """The network between the leader and NATS loses everything for 6 s. What was sent arrives afterwards."""
    partition = cluster.partitions[cluster.leader().node]
    with _while_harmed(partition.stall, partition.open) as moment:
        yield moment


@contextmanager
def follower_killed(cluster: Cluster, chance: random.Random) -> Iterator[float]:
    """SIGKILL of a follower. Clients must not notice it."""
    victim = chance.choice(cluster.standbys())
    moment = time.monotonic()
    victim.kill()
    yield moment
    victim.start().wait_live()


@contextmanager
def follower_paused(cluster: Cluster, chance: random.Random) -> Iterator[float]:
    """SIGSTOP of a follower for 6 s."""
    victim = chance.choice(cluster.standbys())
    with _while_harmed(victim.pause, victim.resume) as moment:
        yield moment


@contextmanager
def nats_leader_killed(cluster: Cluster, chance: random.Random) -> Iterator[float]:
    """SIGKILL of the NATS server that leads the Raft group of the log."""
    with _server_killed(cluster, _leader(cluster)) as moment:
        yield moment


@contextmanager
def nats_follower_killed(cluster: Cluster, chance: random.Random) -> Iterator[float]:
    """SIGKILL of a NATS server that does not lead the log."""
    with _server_killed(cluster, chance.choice(cluster.nats.followers(LOG))) as moment:
        yield moment


@contextmanager
def nats_meta_leader_killed(cluster: Cluster, chance: random.Random) -> Iterator[float]:
    """SIGKILL of the NATS server that leads JetStream. It may lead the log, too."""
    with _server_killed(cluster, cluster.nats.meta_leader() or _leader(cluster)) as moment:
        yield moment


@contextmanager
def nats_leader_paused(cluster: Cluster, chance: random.Random) -> Iterator[float]:
    """SIGSTOP of the NATS server that leads the log, for 6 s. Its connections stay open."""
    victim = _leader(cluster)
    with _while_harmed(victim.pause, victim.resume) as moment:
        yield moment
    cluster.nats.restart_ill()
    cluster.nats.wait_current(LOG)


@contextmanager
def nats_all_killed(cluster: Cluster, chance: random.Random) -> Iterator[float]:
    """SIGKILL of all NATS servers. They start again after up to 2 s."""
    for server in cluster.nats.all:
        server.kill()
    moment = time.monotonic()
    time.sleep(chance.uniform(0, 2))
    for server in cluster.nats.all:
        server.start()
    yield moment
    cluster.nats.wait_current(LOG)


@contextmanager
def both_leaders_killed(cluster: Cluster, chance: random.Random) -> Iterator[float]:
    """SIGKILL of the leading node and of the NATS server that leads the log."""
    server, node = _leader(cluster), cluster.leader()
    moment = time.monotonic()
    server.kill()
    node.kill()
    if len(cluster.nats.all) == 1:
        server.start()
    yield moment
    if not server.is_running:
        server.start()
    node.start().wait_live()
    cluster.nats.wait_current(LOG)


#: All faults by name. Those of a partition need a cluster with partitions.
FAULTS: dict[str, Fault] = {
    "leader-kill": leader_killed,
    "leader-stop": leader_stopped,
    "leader-pause": leader_paused,
    "step-down": leader_stepped_down,
    "leader-cut": leader_cut,
    "leader-stall": leader_stalled,
    "follower-kill": follower_killed,
    "follower-pause": follower_paused,
    "nats-leader-kill": nats_leader_killed,
    "nats-follower-kill": nats_follower_killed,
    "nats-meta-leader-kill": nats_meta_leader_killed,
    "nats-leader-pause": nats_leader_paused,
    "nats-all-kill": nats_all_killed,
    "both-leaders-kill": both_leaders_killed,
}
PARTITIONS = {"leader-cut", "leader-stall"}


@contextmanager
def _server_killed(cluster: Cluster, victim: NATSServer) -> Iterator[float]:
    moment = time.monotonic()
    victim.kill()
    # A lone server has no replacement.
    if len(cluster.nats.all) == 1:
        victim.start()
    yield moment
    if not victim.is_running:
        victim.start()
    cluster.nats.wait_current(LOG)


def _leader(cluster: Cluster) -> NATSServer:
    cluster.nats.wait_current(LOG, 2 * DEADLINE)
    leader = cluster.nats.leader(LOG)
    assert leader is not None, "the log has no leader"
    return leader


@contextmanager
def _until_replaced(cluster: Cluster, victim: Node) -> Iterator[None]:
    """Starts a node that has ended when another one leads, or at once if there is no other one."""
    if len(cluster.nodes) == 1:
        victim.start()
    yield
    if not victim.is_running:
        victim.start()
    victim.wait_live()


@contextmanager
def _while_harmed(harm: Callable[[], object], repair: Callable[[], object]) -> Iterator[float]:
    """Yields the moment of the harm, and repairs it 6 s after that moment."""
    moment = time.monotonic()
    harm()
    try:
        yield moment
        time.sleep(max(0, moment + PAUSE - time.monotonic()))
    finally:
        repair()
