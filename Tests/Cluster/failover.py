# SPDX-License-Identifier: Apache-2.0
"""Runs faults against clusters under load, compares everything afterwards, and prints a table.

Each fault gets its own cluster, and is repeated there. Examples:

  python Tests/Cluster/failover.py --kills 50 --pauses 10
  python Tests/Cluster/failover.py --fault nats-leader-kill=20 --fault nats-all-kill=10 --rate 500
  python Tests/Cluster/failover.py --mixture 10 --seed 7
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "EndToEnd/shared")]

from harness.experiment import MIXTURE, Experiment, Report, table  # noqa: E402
from harness.faults import FAULTS  # noqa: E402
from harness.load import Plan  # noqa: E402
from relay import CHECKOUT  # noqa: E402


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="failover.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=0, metavar="N", help="the same as --fault leader-kill=N")
    parser.add_argument("--pauses", type=int, default=0, metavar="N", help="the same as --fault leader-pause=N")
    parser.add_argument(
        "--fault", action="append", default=[], metavar="NAME=N", help=f"names: {', '.join(FAULTS)}, or all"
    )
    parser.add_argument("--mixture", type=float, default=0, metavar="MINUTES", help="random faults for this time")
    parser.add_argument("--rate", type=float, default=2_000, metavar="N", help="messages in a second (default: 2000)")
    parser.add_argument("--push-rate", type=float, default=10, metavar="N", help="pushes in a second (default: 10)")
    parser.add_argument("--servers", type=int, default=3, choices=(0, 1, 3), help="NATS servers (default: 3)")
    parser.add_argument("--nodes", type=int, default=3, choices=(1, 2, 3), help="relays (default: 3)")
    parser.add_argument(
        "--goal", type=float, nargs=2, default=None, metavar=("MEDIAN", "WORST"),
        help="fail if nodes need more seconds from a fault to the first acknowledgement",
    )
    parser.add_argument("--rest", type=float, default=1.5, metavar="SECONDS", help="most time between two faults")
    parser.add_argument("--seed", type=int, default=None, help="the seed of all choices (default: a new one)")
    parser.add_argument("--binary", metavar="PATH", help="the relay (default: STILLWIRE_BINARY, or the newest build)")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the data and the logs of all processes here")
    return parser.parse_args()


def chosen(arguments: argparse.Namespace) -> dict[str, int]:
    """Returns the number of each fault."""
    counts = {"leader-kill": arguments.kills, "leader-pause": arguments.pauses}
    for text in arguments.fault:
        name, _, count = text.partition("=")
        for one in FAULTS if name == "all" else [name]:
            if one not in FAULTS:
                sys.exit(f"failover.py: there is no fault {one}")
            counts[one] = int(count or 1)
    return {name: count for name, count in counts.items() if count}


def binary(given: str | None) -> str:
    builds = [CHECKOUT / f".build/{kind}/stillwire" for kind in ("release", "debug")]
    newest = sorted((path for path in builds if path.exists()), key=lambda path: path.stat().st_mtime)
    found = given or os.environ.get("STILLWIRE_BINARY") or (str(newest[-1]) if newest else None)
    if found is None:
        sys.exit("failover.py: there is no build of the relay; name one with --binary")
    return os.path.abspath(found)


def run(name: str, count: int, arguments: argparse.Namespace, folder: Path, seed: int) -> Report:
    """Plays one experiment. A failure is part of its report."""
    plan = Plan(rate=arguments.rate, push_rate=arguments.push_rate, seed=seed)
    experiment = Experiment(folder, name, plan, servers=arguments.servers, nodes=arguments.nodes, seed=seed)
    try:
        with experiment:
            end = time.monotonic() + 60 * arguments.mixture
            number = 0
            while time.monotonic() < end if name == MIXTURE else number < count:
                number += 1
                experiment.rest(0.3, arguments.rest)
                fault = experiment.chance.choice(list(FAULTS)) if name == MIXTURE else name
                outcome = experiment.play(fault)
                print(f"  {number:4} {fault:22} {outcome.recovery:7.2f} s {outcome.silence:7.2f} s", flush=True)
            experiment.rest(0.3, arguments.rest)
            return experiment.finish()
    except Exception as failure:
        traceback.print_exc()
        experiment.report.failure = str(failure)
        return experiment.report


def main() -> int:
    arguments = options()
    os.environ["STILLWIRE_BINARY"] = binary(arguments.binary)
    seed = arguments.seed if arguments.seed is not None else random.randrange(1 << 32)
    experiments = chosen(arguments) | ({MIXTURE: 0} if arguments.mixture else {})
    if not experiments:
        sys.exit("failover.py: no fault is chosen, see --help")
    print(f"seed {seed}, {os.environ['STILLWIRE_BINARY']}", flush=True)
    top = Path(arguments.keep or tempfile.mkdtemp(prefix="failover-")).resolve()
    reports = []
    for name, count in experiments.items():
        print(name, flush=True)
        folder = top / name
        shutil.rmtree(folder, ignore_errors=True)
        report = run(name, count, arguments, folder, seed)
        if arguments.goal:
            report.check_times(*arguments.goal)
        reports.append(report)
        rate = report.messages / report.seconds if report.seconds else 0
        print(f"{report}\n{report.seconds:.0f} s, {rate:.0f} messages/s\n", flush=True)
    print(table(reports))
    is_good = all(report.is_good for report in reports)
    if arguments.keep is None and is_good:
        shutil.rmtree(top)
    else:
        print(f"\nthe data and the logs are in {top}")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
