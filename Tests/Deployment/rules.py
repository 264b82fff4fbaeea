# SPDX-License-Identifier: Apache-2.0
"""The files of `deploy/prometheus`, and the program that checks them."""

import shutil
import subprocess
from typing import Any

import yaml

from relay import CHECKOUT, DEADLINE

FOLDER = CHECKOUT / "deploy" / "prometheus"
RULES = FOLDER / "stillwire.rules.yml"
CONFIGURATION = FOLDER / "prometheus.yml"
DASHBOARD = FOLDER / "dashboard.json"


def program(name: str) -> str:
    """The path of a program of the package `prometheus`."""
    found = shutil.which(name)
    assert found, f"{name} is missing. `deploy/install-packages test` installs it."
    return found


def promtool(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [program("promtool"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE)


def groups() -> dict[str, list[dict[str, Any]]]:
    """The alerts by group."""
    return {group["name"]: group["rules"] for group in yaml.safe_load(RULES.read_text())["groups"]}


def alerts() -> dict[str, dict[str, Any]]:
    """The alerts by name."""
    return {rule["alert"]: rule for rules in groups().values() for rule in rules}
