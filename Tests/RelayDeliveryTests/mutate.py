#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes the delivery in one place at a time, and expects a test to fail.

    python3 Tests/RelayDeliveryTests/mutate.py [--list] [--only PATTERN] [--since REVISION] [--jobs 2]

Each mutation is made in a copy of the package's pure part, which builds in seconds; the sources are never touched.
The exit status is 1 when a mutation survives that is not listed as equivalent.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SOURCES = ROOT / "Sources/RelayDelivery"
RULES = "Rules.swift"
FILES = [
    RULES, "DecisionInput.swift", "Decision.swift", "DeliveryPolicy.swift", "DeviceFacts.swift", "Criteria.swift",
    "FocusPolicy.swift", "DeviceRecord.swift", "ReportLedger.swift", "FocusLedger.swift", "FilterLedger.swift",
    "QuietHours+Facts.swift", "QuietClock.swift", "ZoneFile.swift", "PosixZone.swift", "TimeZones.swift",
    "Digest.swift", "Recipient.swift", "Membership.swift", "Planner.swift", "Phone/LaterPush.swift",
    "Phone/PhonePlanner.swift", "Phone/PhoneEntry.swift", "Phone/Removals.swift",
    "HoldPlanner.swift", "Releases.swift", "PushPace.swift", "MessageFacts+Reports.swift",
]  # fmt: skip

SETTINGS = """\
// swift-tools-version: 6.2
import PackageDescription

let swift: [SwiftSetting] = [
  .swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]
"""

# A dynamic library, so that a change in it rebuilds neither the tests nor their program.
PURE = """
let package = Package(
  name: "pure",
  products: [.library(name: "RelayPure", type: .dynamic, targets: ["RelayProtocol", "RelayJSON", "RelayDelivery"])],
  targets: [
    .target(name: "RelayProtocol", swiftSettings: swift),
    .target(name: "RelayJSON", dependencies: ["RelayProtocol"], swiftSettings: swift),
    .target(name: "RelayDelivery", dependencies: ["RelayJSON", "RelayProtocol"], swiftSettings: swift),
  ])
"""
TESTS = """
let package = Package(
  name: "mutants", dependencies: [.package(path: "pure")],
  targets: [
    .target(
      name: "SeededRandom", dependencies: [.product(name: "RelayPure", package: "pure")], path: "Tests/SeededRandom",
      swiftSettings: swift),
    .target(name: "ChildProcess", path: "Tests/ChildProcess", swiftSettings: swift),
    .testTarget(
      name: "RelayDeliveryTests", dependencies: ["ChildProcess", "SeededRandom", .product(name: "RelayPure", package: "pure")],
      exclude: [EXCLUDED], swiftSettings: swift)
  ])
"""

# These suites try many cases and take longest. They run only if no other suite has found the mutation.
SLOW = ["DecisionPropertyTests", "DecisionInvariantTests"]
# Compares the rules of all zones with zdump. It runs only for the mutations of these files, and after the others.
ZONES = "ZoneDumpTests"
ZONE_FILES = ["ZoneFile.swift", "PosixZone.swift"]

# Each pattern and its replacement, in code. Generics and arrows have no spaces around their angle brackets, so they do
# not match.
SWAPS = [
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
    (r" && ", " || "), (r" \|\| ", " && "), (r"(?<![\w.])!(?=[$\w(])", ""), (r"\.max\(\)", ".min()"),
    (r"\.min\(\)", ".max()"), (r"(?<![\w.])min\(", "max("), (r"(?<![\w.])max\(", "min("), (r" \+ (?=[\w(])", " - "),
    (r" - (?=[\w(])", " + "), (r"\.contains \{", ".allSatisfy {"), (r"\.allSatisfy \{", ".contains {"),
    (r"(?<![\w.])true(?![\w?])", "false"), (r"(?<![\w.])false(?![\w?])", "true"),
    (r"\.zero", ".seconds(1)"), (r"(?<=[(* .])(\d+)(?=[):,* ;]|$)", lambda m: str(int(m[1]) + 1)),
]  # fmt: skip

# Statements that a mutation removes.
STATEMENTS = re.compile(
    r"^\s+(?:(?:record|states|self|isFocused|focusSince)\b.* = .*|merge\(\)|advance\(to: now\)|defer \{ .* \}"
    r"|if .* \{ return .* \}|guard .* else \{ return .* \})$"
)

# Mutations that no caller can observe, with the reason.
EQUIVALENT = {
    # The two rules never match together: a recipient with a session is not away, the rule of notAllowed needs a device, and only the
    # strongest preference counts.
    "Rules.swift: rule receivedIdle after rule withinGrace",
    "Rules.swift: rule noDevice after rule notAllowed",
    "Rules.swift: rule hold after rule passive",
    # A device has at most one record.
    "FocusLedger.swift: `<` is `<=` in `public var records: [FocusRecord] { states.values.sorted { $0.device < $1.device } }`",
    "FilterLedger.swift: `<` is `<=` in `public var records: [FilterRecord] { states.values.sorted { $0.device < $1.device } }`",
    "FocusLedger.swift: `<` is `<=` in `let device = silent.min(by: { ($0.received - $0.steps, $0.device) < ($1.received - $1.steps, $1.device) })?.device`",
    "FilterLedger.swift: `<` is `<=` in `let device = silent.min(by: { ($0.received - $0.steps, $0.device) < ($1.received - $1.steps, $1.device) })?.device`",
    # The ledger advances after each report, and then bounds the settle window itself.
    "FocusLedger.swift: without `former.now(moment) + policy.settle` in `let end = former.settles ?? min(former.now(moment) + policy.settle, former.end(policy))`",
    # The result is the same, but slower.
    "QuietHours+Facts.swift: without `guard before != after else { return shown - before }`",
    "QuietClock.swift: `true` is `false` in `kept.removeAll(keepingCapacity: true)`",
    # The additional day has not begun.
    "QuietHours+Facts.swift: `1` is `2` in `for day in today - 1...today + 1 where days.contains(WallClock.weekday(of: day)) {`",
    # Without a function `==`, the compiler makes one of both members.
    "TimeZones.swift: `==` is `!=` in `static func == (a: Self, b: Self) -> Bool { a.bytes == b.bytes }`",
    # The estimate of the year is corrected, and a rule looks at the years before and after it.
    "PosixZone.swift: `+` is `-` in `let year = Self.year(at: second + standard)`",
    "PosixZone.swift: `1` is `2` in `for year in year - 1...year + 1 {`",
    "PosixZone.swift: `+` is `-` in `var year = 1970 + floored(day * 400, by: daysOfCycle).quotient`",
    "PosixZone.swift: `1970` is `1971` in `var year = 1970 + floored(day * 400, by: daysOfCycle).quotient`",
    "PosixZone.swift: `400` is `401` in `var year = 1970 + floored(day * 400, by: daysOfCycle).quotient`",
    "PosixZone.swift: `>` is `>=` in `while YearlyDate.firstDay(of: year) > day { year -= 1 }`",
    "PosixZone.swift: `1` is `2` in `while YearlyDate.firstDay(of: year) > day { year -= 1 }`",
    "PosixZone.swift: `<=` is `<` in `while YearlyDate.firstDay(of: year + 1) <= day { year += 1 }`",
    "PosixZone.swift: `1` is `2` in `while YearlyDate.firstDay(of: year + 1) <= day { year += 1 }`",
    # The parser has checked that the rule gives the offset of the last transition.
    "ZoneFile.swift: `>=` is `>` in `if let footer, second >= footer.from { return footer.rule.offset(at: second) }`",
    # The name of a local time follows each number, so no file ends with a number.
    "ZoneFile.swift: `>=` is `>` in `guard bytes.count - position >= size else { throw .truncated }`",
    # A version only has to be above 1, above 2, and the same in both headers.
    'ZoneFile.swift: `3` is `4` in `case UInt8(ascii: "3"): version = 3`',
    'ZoneFile.swift: `4` is `5` in `case UInt8(ascii: "4"): version = 4`',
    # A user has a device once, and none registered in 1970.
    "Recipient.swift: `<` is `<=` in `.max { ($0.registered?.rawValue ?? 0, $0.id) < ($1.registered?.rawValue ?? 0, $1.id) }?.timeZone`",
    "Recipient.swift: `0` is `1` in `.max { ($0.registered?.rawValue ?? 0, $0.id) < ($1.registered?.rawValue ?? 0, $1.id) }?.timeZone`",
    # The pairs are counted from the first one on.
    "PushPace.swift: `0` is `1` in `if counts[kind]?.count ?? 0 < Self.maxPairs { counts[kind, default: [:]][pair] = 1 }`",
}


@dataclasses.dataclass(frozen=True)
class Mutation:
    file: str
    what: str
    text: str  # the text of the whole file with the mutation

    @property
    def name(self) -> str:
        return f"{self.file}: {self.what}"

    @property
    def key(self) -> str:
        """The name without the line number."""
        return re.sub(r": \d+: ", ": ", self.name, count=1)


# The first code of a rule, or the mode of a silence.
RULE_NAMES = re.compile(r"(?<=\.end\(\.)\w+|(?<=, \.)\w+(?=\))|(?<=\[\.)\w+(?=\]\))|(?<=silence\(\.)\w+")


def structural(text: str) -> list[Mutation]:
    """Mutations of whole rules: left out, swapped with the next rule, or inverted. A rule is named by its first code."""
    head, list_text, tail = re.fullmatch(r"(.*= \[\n)(.*?\n)(\]\n.*)", text, re.S).groups()
    rules = list_text.rstrip("\n").split("\n\n")
    names = [RULE_NAMES.search(rule)[0] for rule in rules]

    def made(what: str, changed: list[str]) -> Mutation:
        return Mutation(RULES, what, head + "\n\n".join(changed) + "\n" + tail)

    mutations = []
    for at, (name, rule) in enumerate(zip(names, rules)):
        before, after = rules[:at], rules[at + 1 :]
        mutations.append(made(f"rule {name} is left out", before + after))
        if after:
            mutations.append(
                made(f"rule {name} after rule {names[at + 1]}", before + [after[0], rule] + after[1:])
            )
        inverted = re.sub(r"\? (.+) : nil", r"? nil : \1", rule)
        if inverted == rule:
            inverted = re.sub(r"\? nil : (\S+)", r"? \1 : nil", rule)
        if inverted != rule:
            mutations.append(made(f"rule {name} says the opposite", before + [inverted] + after))
    return mutations


def textual(file: str, text: str) -> list[Mutation]:
    lines = text.split("\n")
    mutations = []
    for at, line in enumerate(lines):
        code = line.split("//")[0]
        if not code.strip() or re.match(r"\s*(import|public import|///)", line) or " func <" in code and "rank" not in code:
            continue

        def made(what: str, new: str | None) -> None:
            changed = lines[:at] + ([] if new is None else [new]) + lines[at + 1 :]
            mutations.append(Mutation(file, f"{at + 1}: {what}", "\n".join(changed)))

        # Quoted text is masked, because it is for people. The columns stay the same.
        masked = re.sub(r'"[^"]*"', lambda m: '"' + "_" * (len(m[0]) - 2) + '"', code)
        for pattern, swap in SWAPS:
            for match in re.finditer(pattern, masked):
                if file == RULES and re.match(r"\s*Rule\(", line) and match.start() < line.index('"'):
                    continue
                put = swap(match) if callable(swap) else swap
                made(f"`{match[0].strip()}` is `{put.strip()}` in `{line.strip()}`",
                     line[: match.start()] + put + line[match.end() :])  # fmt: skip
        for what, new in shortened_lists(masked, line):
            made(what, new)
        if STATEMENTS.match(code):
            made(f"without `{line.strip()}`", None)
    return mutations


def shortened_lists(masked: str, line: str) -> list[tuple[str, str]]:
    """Returns the line without one condition, or without one argument of `min` or `max`, for each of them."""
    shortened = []
    for match in re.finditer(r"(?:\b(?:guard|if) |(?<![\w.])(?:min|max)\()", masked):
        isCall, parts, depth, begin = match[0].endswith("("), [], 0, match.end()
        for at in range(match.end(), len(masked)):
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(masked[at], 0)
            ends = depth < 0 if isCall else depth == 0 and re.match(r" (?:else )?\{", masked[at:])
            if ends or masked[at] == "," and depth == 0:
                parts.append(line[begin:at].strip())
                begin = at + 1
            if ends:
                break
        end = at
        for number, part in enumerate(parts if len(parts) > 1 else []):
            if re.match(r"(let|var) ", part):
                continue
            rest = parts[:number] + parts[number + 1 :]
            put = line[: match.end()] + ", ".join(rest) + line[end:]
            if isCall and len(rest) == 1:
                put = line[: match.start()] + rest[0] + line[end + 1 :]
            shortened.append((f"without `{part}` in `{line.strip()}`", put))
    return shortened


def all_mutations() -> list[Mutation]:
    mutations = []
    for file in FILES:
        text = (SOURCES / file).read_text()
        if file == RULES:
            mutations += structural(text)
        mutations += textual(file, text)
    return mutations


def changed_lines(file: str, revision: str) -> set[int]:
    """Returns the numbers of the lines that are new or different since the revision."""
    command = ["git", "diff", "--unified=0", "--no-ext-diff", "--find-renames", revision, "--", str(SOURCES)]
    diff = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    part = next((part for part in re.split(r"^diff ", diff, flags=re.M) if f"+++ b/Sources/RelayDelivery/{file}\n" in part), "")
    hunks = re.findall(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", part, re.M)
    return {line for begin, count in hunks for line in range(int(begin), int(begin) + int(count or 1))}


def since(revision: str, mutations: list[Mutation]) -> list[Mutation]:
    """Leaves out mutations of unchanged lines. A mutation of a whole rule has no line, and stays."""
    changed = {file: changed_lines(file, revision) for file in FILES}
    lines = [(mutation, re.match(r"(\d+): ", mutation.what)) for mutation in mutations]
    return [mutation for mutation, line in lines if not line or int(line[1]) in changed[mutation.file]]


class Bench:
    """A package of its own, in which one mutation at a time is built and tested."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.sources = folder / "pure/Sources/RelayDelivery"
        (folder / "pure/Sources").mkdir(parents=True)
        (folder / "Tests").mkdir()
        (folder / "pure/Package.swift").write_text(SETTINGS + PURE)
        # The mutated files do not need the linter, which takes longest to build.
        others = re.compile("import PushLint")
        excluded = ["mutate.py", *(file.name for file in HERE.glob("*.swift") if others.search(file.read_text()))]
        tests = TESTS.replace("EXCLUDED", json.dumps(excluded)[1:-1])
        (folder / "Package.swift").write_text(SETTINGS + tests)
        for target in ("RelayProtocol", "RelayJSON"):
            (folder / "pure/Sources" / target).symlink_to(ROOT / "Sources" / target)
        for target in ("ChildProcess", "RelayDeliveryTests", "SeededRandom"):
            (folder / "Tests" / target).symlink_to(ROOT / "Tests" / target)
        shutil.copytree(SOURCES, self.sources)
        # Seconds after which a test run counts as endless.
        self.patience = 1200.0

    def run(self, *command: str, seconds: float = 1200) -> tuple[bool, str]:
        try:
            done = subprocess.run(
                command, cwd=self.folder, capture_output=True, text=True, errors="replace", timeout=seconds
            )
        except subprocess.TimeoutExpired:
            return False, "no end"
        return done.returncode == 0, re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)

    def build(self, *what: str) -> tuple[bool, str]:
        return self.run("swift", "build", *what)

    def test(self, *which: str) -> tuple[bool, str]:
        # The program runs without `swift test`, which would leave an endless program running.
        program = self.folder / ".build/debug/mutantsPackageTests.xctest"
        return self.run(str(program), "--testing-library", "swift-testing", *which, seconds=self.patience)

    def check(self) -> tuple[bool, str]:
        """Builds and tests without a mutation."""
        built, output = self.build("--build-tests")
        if not built:
            return False, output
        start = time.monotonic()
        result = self.test()
        self.patience = max(60, 5 * (time.monotonic() - start))
        return result

    def attempt(self, mutation: Mutation) -> str:
        file = self.sources / mutation.file
        original = file.read_text()
        try:
            file.write_text(mutation.text)
            if not self.build("--product", "RelayPure")[0]:
                return "no program"
            slow = [*SLOW, ZONES] if mutation.file in ZONE_FILES else SLOW
            others = [part for name in [*SLOW, ZONES] for part in ("--skip", name)]
            result = self.detection(others) or self.detection(["--filter", "|".join(slow)])
            # Default arguments are compiled into their callers, so the tests are built again.
            if not result and self.build("--build-tests")[0]:
                result = self.detection([])
                file.write_text(original)
                self.build("--build-tests")
            return result or "SURVIVED"
        finally:
            file.write_text(original)

    def detection(self, which: list[str]) -> str | None:
        """Returns how these tests detected the mutation, or None if they passed."""
        passed, output = self.test(*which)
        if passed:
            return None
        failed = len(re.findall(r"^✘ Test \".*\" (?:with .*)?failed", output, re.M))
        return f"caught by {failed}" if failed else "caught, no end" if output == "no end" else "caught, crash"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--list", action="store_true", help="print the mutations without testing them")
    parser.add_argument("--only", default="", help="test only the mutations whose name matches this regular expression")
    parser.add_argument("--since", help="test only the mutations of rules, and of lines changed since this revision of git")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args()

    mutations = [mutation for mutation in all_mutations() if re.search(options.only, mutation.name)]
    if options.since:
        mutations = since(options.since, mutations)
    if options.list:
        for mutation in mutations:
            print(mutation.name)
        return 0

    with tempfile.TemporaryDirectory(prefix="mutants.") as scratch:
        benches: queue.Queue[Bench] = queue.Queue()
        for number in range(options.jobs):
            bench = Bench(pathlib.Path(scratch) / str(number))
            works, output = bench.check()
            if not works:
                print(output[-4000:], "\nThe tests fail without any mutation.", file=sys.stderr)
                return 2
            benches.put(bench)

        def attempt(mutation: Mutation) -> tuple[Mutation, str, float]:
            bench = benches.get()
            try:
                start = time.monotonic()
                return mutation, bench.attempt(mutation), time.monotonic() - start
            finally:
                benches.put(bench)

        survivors, counts = [], {"caught": 0, "no program": 0, "equal": 0}
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for mutation, result, took in pool.map(attempt, mutations):
                if result == "SURVIVED" and mutation.key in EQUIVALENT:
                    result = "equal"
                if result == "SURVIVED":
                    survivors.append(mutation)
                else:
                    counts[next(kind for kind in counts if result.startswith(kind))] += 1
                print(f"{result:<14} {took:5.1f} s  {mutation.name}", flush=True)

    print(f"\n{counts['caught']} caught, {counts['no program']} not compiled, {counts['equal']} that change nothing, "
          f"{len(survivors)} survived")  # fmt: skip
    for mutation in survivors:
        print(f"  {mutation.name}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
