# SPDX-License-Identifier: Apache-2.0
"""Tests of the attacks' script: it must not print figures of an attack that did not take place."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from relay import Relay
from stress.attacks import measure_during, send_requests


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[Relay]:
    relay = Relay(tmp_path, "--limits-send-rate", 1, "--limits-send-burst", 1).start()
    yield relay
    relay.kill()


def test_an_observer_that_dies_ends_the_run(relay):
    with pytest.raises(RuntimeError, match="the observer died"):
        measure_during(relay.port, lambda: relay.kill() or "")


def test_an_attacker_goes_on_after_the_relay_has_closed_its_session(relay):
    # The relay closes a session after 1,000 refusals.
    send = {"type": "send", "room": "crowd", "body": {}}
    bursts = []

    def burst(number: int) -> list[dict]:
        bursts.append(number)
        return [send] * 1_100

    answers = send_requests(relay.port, 3, "crowd", burst, pause=0)
    assert answers["closed with 4006"] + answers["connection ended"] == len(bursts) >= 2, answers
    assert answers["rate_limited"] >= 999, answers
