# SPDX-License-Identifier: Apache-2.0
"""The libraries for apps use only declarations that the package's minimum systems have.

The compiler of Linux ignores `@available` of Apple's systems, but modules keep it. The test reads each reference of a
library from the syntax tree of the compiler, and compares its declaration with the minimum systems of Package.swift.
`AppleTypeTests` does the same for Apple's own frameworks, which do not exist here.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from relay import CHECKOUT

#: The libraries of apps without Apple's frameworks, each after the libraries that it imports.
LIBRARIES = ["RelayProtocol", "RelayJSON", "StillwireExtension", "StillwireClient", "StillwireUI"]
#: The modules that they import on Apple's systems, with the modules inside of these. NIO's sockets are for Linux only.
IMPORTED = [
    "Swift", "_Concurrency", "_StringProcessing", "Foundation", "FoundationEssentials", "FoundationNetworking",
    "Observation", "Synchronization", "NIOCore", "NIOHTTP1", "NIOWebSocket", "NIOConcurrencyHelpers",
]  # fmt: skip
#: Declarations that exist on earlier systems, but do something else there.
UNRELIABLE = {
    "assumeIsolated": "before iOS 18, assumeIsolated traps outside of a task of the actor",
    "preconditionIsolated": "before iOS 18, preconditionIsolated traps outside of a task of the actor",
}
#: References that the compiler writes. On earlier systems it writes `next()` instead.
OF_COMPILER = {"next(isolation:)"}

BUILD = CHECKOUT / ".build/debug"
COMPILER = Path(shutil.which("swiftc") or "swiftc").resolve().parent

Versions = dict[str, tuple[int, int]]


class Reference(NamedTuple):
    file: str
    usr: str
    name: str
    #: The systems that run this code: the minimum systems, or those of an attribute or a condition around it.
    systems: Versions


def version(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return int(major), int(minor.partition(".")[0] or 0)


@cache
def minimum() -> Versions:
    """The systems of Package.swift."""
    found = re.search(r"platforms: \[(.*)\]", (CHECKOUT / "Package.swift").read_text())
    assert found
    return {system: (int(major), 0) for system, major in re.findall(r"\.(\w+)\(\.v(\d+)\)", found[1])}


def search_paths() -> list[str]:
    """The compiler's arguments for the modules of the build, and for the C modules behind them."""
    maps = [*BUILD.glob("C*/module.modulemap")]
    for name in ("swift-atomics/Sources/_AtomicsShims", "swift-nio-ssl/Sources/CNIOBoringSSL",
                 "swift-nio/Sources/CNIOWindows"):  # fmt: skip
        maps.append(CHECKOUT / ".build/checkouts" / name / "include/module.modulemap")
    arguments = (("-Xcc", f"-fmodule-map-file={file}") for file in maps if file.exists())
    return ["-I", str(BUILD / "Modules"), *(word for pair in arguments for word in pair)]


def run(*command: object) -> str:
    ended = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-4_000:]
    return ended.stdout


@pytest.fixture(scope="module")
def needed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, Versions]]:
    """The public declarations of the imported modules that need later systems, by USR: their names and systems."""
    folder = tmp_path_factory.mktemp("symbols")
    target = json.loads(run(COMPILER / "swiftc", "-print-target-info"))["target"]["triple"]
    for module in IMPORTED:
        run(
            COMPILER / "swift-symbolgraph-extract", "-module-name", module, "-target", target, "-output-dir", folder,
            "-minimum-access-level", "public", "-skip-synthesized-members", *search_paths(),
        )  # fmt: skip
    found = {}
    for file in folder.iterdir():
        for symbol in json.loads(file.read_text())["symbols"]:
            systems = {}
            for rule in symbol.get("availability", []):
                since = rule.get("introduced", {})
                if rule.get("domain") in minimum():
                    systems[rule["domain"]] = (since.get("major", 0), since.get("minor", 0))
                    if rule.get("isUnconditionallyUnavailable"):
                        systems[rule["domain"]] = (1_000, 0)
            if any(since > minimum()[system] for system, since in systems.items()):
                found[symbol["identifier"]["precise"]] = (symbol["names"]["title"], systems)
    return found


def raised(systems: Versions, rules: Iterator[tuple[str, str]]) -> Versions:
    """The systems that run code behind a condition or an attribute."""
    stated = {system: version(text) for system, text in rules if system in systems}
    return {system: max(least, stated.get(system, least)) for system, least in systems.items()}


def references(node: Any, file: str, systems: Versions) -> Iterator[Reference]:
    """Each reference of a syntax tree."""
    if isinstance(node, list):
        for child in node:
            yield from references(child, file, systems)
    if not isinstance(node, dict):
        return
    rules = ((a["domain"], a["introduced"]) for a in node.get("attrs", [])
             if a["_kind"] == "available_attr" and "introduced" in a)  # fmt: skip
    systems = raised(systems, rules)
    if node.get("_kind") == "decl_ref" and node.get("decl_usr"):
        yield Reference(file, node["decl_usr"], node.get("base_name", ""), systems)
    for key, child in node.items():
        if key == "protocol" and isinstance(child, str):
            yield Reference(file, child, "", systems)
        inner = systems
        if node.get("_kind") == "if_stmt" and key == "then_stmt":
            queries = [q for c in node["conditions"] if c["_kind"] == "#available" for q in c["queries"]]
            inner = raised(systems, ((q["domain"], q["version"]) for q in queries if "version" in q))
        yield from references(child, file, inner)


def faults(library: str, needed: dict[str, tuple[str, Versions]], folder: Path, *changes: tuple[str, str, str]) -> set:
    """The references of a library that its minimum systems lack, with these changes: a file, a text, its replacement.

    Compiles the branch of `canImport(Darwin)`.
    """
    sources = folder / library
    shutil.copytree(CHECKOUT / "Sources" / library, sources, ignore=shutil.ignore_patterns("*.docc"))
    for name, text, replacement in changes:
        (file,) = sources.rglob(name)
        assert text in file.read_text()
        file.write_text(file.read_text().replace(text, replacement))
    arguments, trees = [], []
    for file in sorted(sources.rglob("*.swift")):
        file.write_text(file.read_text().replace("canImport(Darwin)", "true"))
        trees.append(file.with_suffix(".json"))
        arguments += ["-primary-file", file, "-o", trees[-1]]
    run(
        COMPILER / "swiftc", "-frontend", "-dump-ast", "-dump-ast-format", "json", "-swift-version", "6",
        "-parse-as-library", "-module-name", library, "-package-name", CHECKOUT.name.lower(), *search_paths(),
        "-plugin-path", COMPILER.parent / "lib/swift/host/plugins",
        *(f for name in ("InternalImportsByDefault", "MemberImportVisibility")
          for f in ("-enable-upcoming-feature", name)), *arguments,
    )  # fmt: skip
    found, count = set(), 0
    for tree in trees:
        for reference in references(json.loads(tree.read_text()).get("items", []), tree.stem, minimum()):
            count += 1
            if reference.name in UNRELIABLE:
                found.add(f"{reference.file}: {UNRELIABLE[reference.name]}")
            name, since = needed.get(reference.usr, ("", {}))
            late = {system for system, value in since.items() if value > reference.systems[system]}
            if late and name not in OF_COMPILER:
                system = "iOS" if "iOS" in late else min(late)
                found.add(f"{reference.file}: {name} needs {system} {since[system][0]}")
    assert count > 300, "the syntax tree has another format"
    return found


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_library_uses_what_its_minimum_systems_have(library: str, needed: dict, tmp_path: Path) -> None:
    assert len(needed) > 100
    assert faults(library, needed, tmp_path) == set()


#: Mistakes in a file of a library, and the fault that the test finds.
MISTAKES = [
    ("StillwireClient", "Engine.swift", "executor.asUnowned", "loop.executor.asUnowned",
     "Engine: executor needs iOS 17"),
    ("StillwireClient", "Engine.swift", "self.onLoop {", "self.assumeIsolated {",
     "Engine: before iOS 18, assumeIsolated traps outside of a task of the actor"),
    ("StillwireClient", "LoopExecutor.swift", "_ job: UnownedJob) { run(job) }",
     "_ job: consuming ExecutorJob) { run(UnownedJob(job)) }", "LoopExecutor: init(_:) needs iOS 17"),
    ("RelayJSON", "String+UTF8.swift", "if #available(iOS 18, macOS 15, tvOS 18, watchOS 11, visionOS 2, *) {",
     "if true {", "String+UTF8: init(validating:as:) needs iOS 18"),
    ("StillwireUI", "RoomModel.swift", "@available(iOS 17, macOS 14, tvOS 17, visionOS 1, watchOS 10, *)", "",
     "RoomModel: Observable needs iOS 17"),
]  # fmt: skip


@pytest.mark.parametrize(("library", "file", "text", "mistake", "fault"), MISTAKES)
def test_a_mistake_is_found(
    library: str, file: str, text: str, mistake: str, fault: str, needed: dict, tmp_path: Path
) -> None:
    assert fault in faults(library, needed, tmp_path, (file, text, mistake))
