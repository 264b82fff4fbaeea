# SPDX-License-Identifier: Apache-2.0
"""Draws the plots of the page about benchmarks, from the results of `loads.py`. Needs `matplotlib` (PyPI):

  python3 -m venv .build/plots && .build/plots/bin/pip install matplotlib==3.11.2 && .build/plots/bin/python Tests/Benchmarks/plots.py
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

RUNS = Path(__file__).with_name("runs.json")
FOLDER = Path(__file__).resolve().parents[2] / "web" / "docs" / "reference" / "benchmarks"

Report = dict[str, Any]
#: The label of a line, and its value in a report.
Line = tuple[str, Callable[[Report], float]]

RELAY, MINIMAL = "Stillwire", "minimal server"

#: For each load, its plots: the label of the axis, the lines, and whether both axes are logarithmic.
PLOTS: dict[str, list[tuple[str, list[Line], bool]]] = {
    "idle": [
        ("memory of a session, KiB", [(RELAY, lambda report: report["session"]["memory"] / 1024)], False),
        (
            "processor, % of a core",
            [
                (RELAY, lambda report: 100 * report["relay"]["processor"]),
                (MINIMAL, lambda report: 100 * report["baseline"]["processor"]),
            ],
            False,
        ),
    ],
    "stored": [
        (
            "messages stored in a second",
            [
                (RELAY, lambda report: report["messages"]["acknowledged"]),
                ("SQLite alone", lambda report: report["baseline"]["rows"]),
            ],
            True,
        ),
        ("processor of a message, µs", [(RELAY, lambda report: 1e6 * report["relay"]["perMessage"])], True),
    ],
    "fanout": [("processor of a delivery, ns", [(RELAY, lambda report: 1e9 * report["relay"]["perDelivery"])], True)],
    "rooms": [("processor of a delivery, ns", [(RELAY, lambda report: 1e9 * report["relay"]["perDelivery"])], True)],
    "focus": [
        (
            "processor of a report, µs",
            [
                (RELAY, lambda report: 1e6 * report["relay"]["perReport"]),
                (MINIMAL, lambda report: 1e6 * report["baseline"]["perReport"]),
            ],
            False,
        ),
        (
            "delay at room-mates, ms",
            [
                ("p50", lambda report: 1e3 * report["eventLatency"]["p50"]),
                ("p99", lambda report: 1e3 * report["eventLatency"]["p99"]),
            ],
            False,
        ),
    ],
    "pushes": [("processor of a push, µs", [(RELAY, lambda report: 1e6 * report["relay"]["perPush"])], True)],
}

COLORS = ["#0b57d0", "#b3541e"]


def draw(name: str, load: dict[str, Any]) -> None:
    plots = PLOTS[name]
    figure, axes = plt.subplots(1, len(plots), figsize=(4.4 * len(plots), 3), squeeze=False)
    values = [point["value"] for point in load["points"]]
    for axis, (label, lines, is_logarithmic) in zip(axes[0], plots, strict=True):
        for color, (line, value) in zip(COLORS, lines):
            axis.plot(values, [value(point["report"]) for point in load["points"]], "o-", color=color, label=line)
        if is_logarithmic:
            axis.set_xscale("log")
            axis.set_yscale("log" if len(lines) > 1 else "linear")
        axis.set_xticks(values, [f"{value:,}" for value in values], minor=False)
        axis.set_xticks([], minor=True)
        if axis.get_yscale() == "linear":
            axis.set_ylim(0, 1.1 * max(max(line.get_ydata()) for line in axis.lines))
        axis.set_xlabel(f"--{load['option']}")
        axis.set_title(label, fontsize=10)
        axis.grid(color="#dddddd")
        axis.spines[["top", "right"]].set_visible(False)
        if len(lines) > 1:
            axis.legend(frameon=False)
    figure.tight_layout()
    # No date and no random names, so that equal results make equal files.
    figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None}, facecolor="white")
    plt.close(figure)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    plt.rcParams |= {"svg.hashsalt": "stillwire", "svg.fonttype": "none", "font.sans-serif": ["Arial", "DejaVu Sans"]}
    for name, load in json.loads(RUNS.read_text()).items():
        draw(name, load)


if __name__ == "__main__":
    main()
