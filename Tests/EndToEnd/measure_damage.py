# SPDX-License-Identifier: Apache-2.0
"""Damages the root and a leaf of each table and each index, one after the other, at the start of a relay and in use.

  python Tests/EndToEnd/measure_damage.py --only users,rooms

Prints the behaviour of the relay for each page, and exits with 1 after a fault. The list of tables and indexes is that of
the database, so a new one is tested, too. All pages take about ten minutes.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent / "shared")]

import damage  # noqa: E402


def shown(outcome: damage.Outcome) -> str:
    if outcome.seconds is None:
        return f"ended by itself with {outcome.exit}: {outcome.text.split(' is damaged ')[-1].split(': ')[0]}"
    failed = f", {len(outcome.failures)} requests failed" if outcome.failures else ""
    return f"/ready {outcome.code} {outcome.text}{failed}; SIGTERM: {outcome.exit} after {outcome.seconds:.1f} s"


def measure(filled: Path, folder: Path, names: set[str]) -> int:
    """Tests all pages. Returns the number of faults."""
    faults = 0
    for tree in damage.trees(filled):
        if names and tree.name not in names:
            continue
        for kind, page in (("root", tree.root), ("leaf", damage.leaf(filled, tree))):
            if page is None:
                continue
            outcome = damage.at_start(filled, folder, page)
            fault = damage.fault_at_start(outcome, folder, is_root=kind == "root")
            faults += report(tree, kind, "start", outcome, fault)
            outcome = damage.in_use(filled, folder, page)
            faults += report(tree, kind, "in use", outcome, damage.fault_in_use(outcome))
    return faults


def report(tree: damage.Tree, page: str, moment: str, outcome: damage.Outcome, fault: str | None) -> bool:
    print(f"{tree.kind:5} {tree.name:40} {page:4} {moment:6} {shown(outcome)}", flush=True)
    if fault:
        print(f"      FAULT: {fault}", flush=True)
    return fault is not None


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="measure_damage.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="NAMES", help="tables and indexes, separated by commas (default: all)")
    arguments = parser.parse_args()
    names = set(filter(None, arguments.only.split(",")))
    with tempfile.TemporaryDirectory() as folder:
        faults = measure(damage.filled(Path(folder)), Path(folder) / "copy", names)
    print(f"{faults} faults")
    sys.exit(faults > 0)


if __name__ == "__main__":
    main()
