# SPDX-License-Identifier: Apache-2.0
"""python -m stress: plays scenarios, prints those that failed, and prints how to repeat them."""

import argparse
import asyncio
import os
import random
import sys
import time

import stress  # noqa: F401  (makes the shared modules known)
from relay import CHECKOUT

from stress.faults import FAULTS
from stress.registry import load
from stress.run import AT_ONCE, Outcome, play_all


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m stress", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="the seed of all random choices (default: a new one)")
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="WORD", help="play scenarios whose name has all these words"
    )
    parser.add_argument("--fault", nargs="*", metavar="NAME", help="plant only these faults (default: all)")
    parser.add_argument("--repeat", type=int, default=1, metavar="K", help="number of rounds, each with the next seed")
    parser.add_argument(
        "--binary", default=None, metavar="PATH", help="the relay (default: STILLWIRE_BINARY, or the debug build)"
    )
    parser.add_argument("--at-once", type=int, default=AT_ONCE, metavar="N", help="scenarios that run at the same time")
    parser.add_argument("--list", action="store_true", help="print the scenarios and their descriptions")
    options = parser.parse_args()
    binary = options.binary or os.environ.get("STILLWIRE_BINARY") or CHECKOUT / ".build/debug/stillwire"
    os.environ["STILLWIRE_BINARY"] = os.path.abspath(binary)

    scenarios = [one for one in load().values() if all(word in one.name for word in options.only)]
    if options.list:
        for one in scenarios:
            print(f"{one.name}\n    {one.play.__doc__.strip()}")
        return 0
    if options.fault is not None:
        scenarios = [FAULTS[name] for name in options.fault or FAULTS]
    if not scenarios:
        parser.error(f"no scenario has all of {options.only} in its name")

    first = options.seed if options.seed is not None else random.randrange(1 << 32)
    failed = 0
    for seed in range(first, first + options.repeat):
        failed += _round(scenarios, seed, options.at_once)
    return 1 if failed else 0


def _round(scenarios, seed: int, at_once: int) -> int:
    begun = time.monotonic()
    failed: list[Outcome] = []

    def report(outcome: Outcome) -> None:
        print(f"{'FAILED' if outcome.failure else 'ok':6} {outcome.seconds:6.2f} s  {outcome.name}", flush=True)
        if outcome.failure:
            failed.append(outcome)

    asyncio.run(play_all(scenarios, seed, report, at_once))
    for outcome in failed:
        option = "--fault" if outcome.name in FAULTS else "--only"
        print(f"\n{outcome.name} (--seed {seed} {option} {outcome.name})\n{outcome.failure}")
    print(f"\nseed {seed}: {len(scenarios)} scenarios, {len(failed)} failed, {time.monotonic() - begun:.1f} s")
    return len(failed)


sys.exit(main())
