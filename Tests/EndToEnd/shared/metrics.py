# SPDX-License-Identifier: Apache-2.0
"""Parses `/metrics`, and compares two results."""

import re

from api import call
from relay import Relay

_SAMPLE = re.compile(r'([a-z_]+)(?:\{([a-z_]+)="([^"\\]+)"\})? ([0-9.e+-]+|\+Inf)')


class Metrics(dict[str, float]):
    """The samples by name, with their types. The name of a sample with a label is `name{value}`."""

    def __init__(self, text: str):
        super().__init__()
        self.types: dict[str, str] = {}
        helped = set()
        for line in text.splitlines():
            if line.startswith("# HELP "):
                helped.add(line.split(" ", 3)[2])
            elif line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                assert name in helped and name not in self.types, line
                self.types[name] = kind
            else:
                found = _SAMPLE.fullmatch(line)
                assert found, line
                name, _, label, value = found.groups()
                key = name if label is None else f"{name}{{{label}}}"
                assert key not in self, line
                self[key] = float(value)

    def since(self, before: "Metrics") -> dict[str, float]:
        """Returns the differences of all samples that changed."""
        return {name: value - before.get(name, 0) for name, value in self.items() if value != before.get(name, 0)}


def metrics(relay: Relay) -> Metrics:
    answer = call(relay, "GET", "/metrics")
    assert answer.status == 200, answer
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    return Metrics(answer.body.decode())
