# SPDX-License-Identifier: Apache-2.0
"""The loads of the plots on the page about benchmarks: measures each one, and writes `runs.json`. Example:

  swift build -c release
  .build/venv/bin/python Tests/Benchmarks/loads.py --only focus

Needs a release build and a quiet machine. All loads take 10 minutes. `plots.py` draws the plots.
"""

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "EndToEnd" / "shared")]

import apple  # noqa: E402
from relay import CHECKOUT, Relay, running, tool  # noqa: E402

RUNS = Path(__file__).with_name("runs.json")


@dataclass(frozen=True)
class Load:
    """A load at several values of one option."""

    name: str
    option: str
    values: tuple[float, ...]
    #: The other options. `$DATA` is the relay's folder.
    arguments: str

    def command(self, value: object) -> str:
        return f"stillwire-bench {self.arguments} --{self.option} {value}"


LOADS = (
    Load("idle", "sessions", (2_000, 6_000, 12_000, 18_000), "idle --baseline --seconds 30"),
    Load("stored", "window", (1, 2, 4, 8, 16, 32), "durable --publishers 100 --baseline $DATA"),
    Load("fanout", "sessions", (10, 100, 1_000, 5_000), "fanout --window 8"),
    Load("rooms", "rooms", (5, 50, 500), "rooms --sessions 1000"),
    Load("focus", "rate", (100, 250, 500, 1_000), "focus --sessions 2000 --baseline $DATA"),
    Load("pushes", "members", (1, 10, 100), "pushes --through --rooms 100"),
)


def machine() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"{os.cpu_count()} cores of {model}, Linux {platform.release()}"


@contextmanager
def relay(folder: Path, *more: object, pushes: bool) -> Iterator[tuple[Relay, apple.AppleSimulator | None, str]]:
    """Yields a relay, its simulator if it sends pushes, and the options with which the relay was started."""
    options: list[object] = ["--limits-send-rate", 0, *more]
    if not pushes:
        with running(folder, *options) as started:
            yield started, None, shlex.join(map(str, options))
        return
    options += ["--pace-messages", 10_000]
    simulator, credential = apple.pair(folder)
    try:
        with running(folder, *options, configuration=apple.bench_configuration(simulator, credential)) as started:
            yield started, simulator, shlex.join(map(str, options))
    finally:
        simulator.kill()


def add_binaries(parser: argparse.ArgumentParser) -> None:
    """Adds an option for the folder of the programs that the tests' `binary` and `tool` return."""

    def use(folder: str) -> Path:
        os.environ["STILLWIRE_BINARY"] = str(Path(folder) / "stillwire")
        return Path(folder)

    release = str(CHECKOUT / ".build" / "release")
    parser.add_argument("--binaries", type=use, default=release, help="the folder of the programs")


def measure(load: Load) -> dict[str, Any]:
    points = []
    for value in load.values:
        # A relay of its own, so that no point depends on the data of another one.
        pushes = load.name == "pushes"
        with tempfile.TemporaryDirectory() as name, relay(Path(name), pushes=pushes) as (started, _, options):
            data = str(started.data)
            command = load.command(value).replace("$DATA", data).split()
            command[0] = tool("bench")
            done = subprocess.run([*command, "--port", str(started.port), "--json"], capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{shlex.join(command)} failed:\n{done.stdout}{done.stderr}")
            points.append({"value": value, "report": json.loads(done.stdout)})
        print(f"{load.name}: {load.option} {value}", flush=True)
    return {"machine": machine(), "option": load.option, "command": load.command("N"), "relay": f"stillwire serve {options}", "points": points}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [load.name for load in LOADS]
    parser.add_argument("--only", choices=names, action="append", default=[], help="the loads to measure (default: all)")
    add_binaries(parser)
    parser.add_argument("--output", type=Path, default=RUNS, help="the file with the results")
    arguments = parser.parse_args()
    runs = json.loads(arguments.output.read_text()) if arguments.output.exists() else {}
    for load in LOADS:
        if not arguments.only or load.name in arguments.only:
            runs[load.name] = measure(load)
            arguments.output.write_text(json.dumps(runs, indent=1) + "\n")


if __name__ == "__main__":
    main()
