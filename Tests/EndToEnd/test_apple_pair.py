# SPDX-License-Identifier: Apache-2.0
"""Pushes from the relay to the simulator of Apple's service. The two programs share no code for this."""

import pytest
from cryptography.hazmat.primitives import serialization

import apple
from apple import AppleSimulator
from certificates import write_key
from waiting import eventually


@pytest.fixture
def simulator(tmp_path):
    """The simulator, with the public key of the relay's signing key."""
    key = write_key(tmp_path / "provider.p8")
    (tmp_path / "public.pem").write_bytes(
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    simulator = AppleSimulator(tmp_path, "--key-file", tmp_path / "public.pem").start()
    simulator.phone(apple.DEVICE, isOn=True)
    yield simulator
    simulator.kill()


@pytest.fixture
def circle(gather, simulator, tmp_path):
    credential = {"keyFile": str(tmp_path / "provider.p8"), "keyID": apple.KEY_ID, "team": apple.TEAM}
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
