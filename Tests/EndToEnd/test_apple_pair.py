# SPDX-License-Identifier: Apache-2.0
"""Pushes from the relay to the simulator of Apple's service. The two programs share no code for this."""

import pytest

import apple
from waiting import eventually


@pytest.fixture
def pair(tmp_path):
    simulator, credential = apple.pair(tmp_path)
    simulator.phone(apple.DEVICE, isOn=True)
    yield simulator, credential
    simulator.kill()


@pytest.fixture
def simulator(pair):
    return pair[0]


@pytest.fixture
def circle(gather, pair):
    simulator, credential = pair
    settings = {
        "apps": [{"app": apple.TOPIC, "credential": credential}],
        "apple": {"host": "localhost", "port": simulator.port, "caFile": str(simulator.certificate)},
    }
    circle = gather("--presence-grace", "0", configuration=settings)
    circle.away("bob").register(platform="apns", token=apple.DEVICE, app=apple.TOPIC)
    return circle


def shown(simulator):
    return [one["payload"]["aps"]["alert"]["body"] for one in simulator.control("GET", f"/phones/{apple.DEVICE}")["shown"]]


def test_the_service_accepts_the_pushes_of_the_relay(circle, simulator):
    for number in range(3):
        circle.send(f"{number}")
    eventually(lambda: shown(simulator) == ["0", "1", "2"])
    counts = simulator.control("GET", "/counts")
    assert counts["connections"] == 1, counts


@pytest.mark.parametrize(
    "fault",
    [
        {"action": "resetStream"},
        {"action": "resetConnection"},
        {"action": "goAway"},
        {"action": "answer", "reason": "Shutdown"},
        {"action": "answer", "reason": "InternalServerError"},
        {"action": "answer", "reason": "TooManyProviderTokenUpdates"},
    ],
    ids=lambda fault: fault.get("reason", fault["action"]),
)
def test_no_push_is_lost_when_the_service_fails(circle, simulator, fault):
    simulator.faults(fault | {"times": 1})
    circle.send("hi")
    eventually(lambda: shown(simulator) == ["hi"])
