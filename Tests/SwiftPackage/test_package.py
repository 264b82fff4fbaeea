# SPDX-License-Identifier: Apache-2.0
"""The Swift package as an app adds it: by the URL of a git repository, with a version, and without the server."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from relay import CHECKOUT, DEADLINE

#: The packages that an app resolves beside Stillwire: SwiftNIO with its own dependencies.
CLIENT = {
    "swift-atomics", "swift-collections", "swift-nio", "swift-nio-ssl", "swift-nio-transport-services", "swift-system",
}  # fmt: skip
GUIDE = CHECKOUT / "Sources/StillwireClient/StillwireClient.docc/GettingStarted.md"
#: The line with which the guide adds the package.
DEPENDENCY = re.search(r"^  (\.package\(.*\)),$", GUIDE.read_text(), re.MULTILINE)[1]
VERSION = re.search(r'from: "([^"]+)"', DEPENDENCY)[1]

MANIFEST = """\
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "App",
  dependencies: [{dependency}],
  targets: [
    .executableTarget(name: "App", dependencies: [.product(name: "StillwireClient", package: "stillwire")]),
    .executableTarget(name: "Service", dependencies: [.product(name: "StillwireExtension", package: "stillwire")]),
  ]
)
"""
PROGRAM = """\
import {library}

print(RelayAddress("https://relay.example.org")!)
"""


def output(*command: object, folder: Path, timeout: float | None = 10 * DEADLINE) -> str:
    """Runs a program in a folder, and returns its output. Fails with its messages if the program fails."""
    ended = subprocess.run(
        [*map(str, command)], cwd=folder, capture_output=True, text=True, timeout=timeout,
        env={**os.environ, "GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "test",
             "GIT_CONFIG_KEY_1": "user.email", "GIT_CONFIG_VALUE_1": "test@example.org"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def swift(command: str, *arguments: str, app: Path, timeout: float | None = 10 * DEADLINE) -> str:
    """Runs SwiftPM, which stores its caches beside the app: the user's caches may have another repository's tags."""
    places = [f"--{name}-path={app / name}" for name in ("cache", "config", "security")]
    return output("swift", command, *places, *arguments, folder=app, timeout=timeout)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git repository with this checkout as its only commit, and the tag of the version."""
    folder = tmp_path_factory.mktemp("release") / "stillwire"
    for name in output("git", "ls-files", "--cached", "--others", "--exclude-standard", folder=CHECKOUT).splitlines():
        if (CHECKOUT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(CHECKOUT / name, folder / name)
    output("git", "init", "--quiet", folder=folder)
    output("git", "add", "--all", folder=folder)
    output("git", "commit", "--quiet", "--message", "release", folder=folder)
    output("git", "tag", VERSION, folder=folder)
    return folder


def app(folder: Path, dependency: str) -> Path:
    """An app that is empty except for one line of code, and its service extension."""
    (folder / "Package.swift").write_text(MANIFEST.format(dependency=dependency))
    for target, library in (("App", "StillwireClient"), ("Service", "StillwireExtension")):
        (folder / "Sources" / target).mkdir(parents=True)
        (folder / "Sources" / target / "main.swift").write_text(PROGRAM.format(library=library))
    return folder


def identities(package: dict) -> set[str]:
    """The identities of the packages that a package depends on, and that these depend on."""
    found = set()
    for dependency in package["dependencies"]:
        found |= {dependency["identity"]} | identities(dependency)
    return found


def resolved(app: Path) -> dict:
    """The package of Stillwire that SwiftPM selects for an app, with its dependencies."""
    (package,) = json.loads(swift("package", "show-dependencies", "--format", "json", app=app))["dependencies"]
    return package


def built(app: Path, configuration: str) -> set[str]:
    """The Swift modules that an app has compiled. SwiftPM makes folders for all other targets too."""
    return {file.stem for file in (app / ".build" / configuration / "Modules").glob("*.swiftmodule")}


def test_an_app_adds_the_version_without_the_packages_of_the_server(release: Path, tmp_path: Path) -> None:
    dependency = re.sub(r'url: "[^"]+"', f'url: "file://{release}"', DEPENDENCY)
    folder = app(tmp_path, dependency)
    stillwire = resolved(folder)
    assert stillwire["version"] == VERSION
    assert identities(stillwire) == CLIENT
    # A package with a version must not use unsafe flags, in all targets that the app uses.
    swift("build", "--product", "Service", app=folder)
    # An extension has little memory, so its library builds nothing of NIO.
    modules = built(folder, "debug")
    assert {"StillwireExtension", "StillwireApple"} <= modules
    assert not [name for name in modules if "NIO" in name]
    assert output(folder / ".build/debug/Service", folder=folder) == "https://relay.example.org\n"


def test_an_app_adds_a_checkout_without_the_packages_of_the_server(tmp_path: Path) -> None:
    folder = app(tmp_path, f'.package(name: "stillwire", path: "{CHECKOUT}", traits: [])')
    assert identities(resolved(folder)) == CLIENT


def test_the_guide_has_the_version_of_the_product() -> None:
    source = (CHECKOUT / "Sources/RelayProtocol/Version.swift").read_text()
    assert f'stillwireVersion = "{VERSION}"' in source


def test_each_package_of_the_server_requires_the_trait() -> None:
    manifest = json.loads(output("swift", "package", "dump-package", folder=CHECKOUT))
    uses = [
        (product["product"][1], (product["product"][3] or {}).get("traits"))
        for target in manifest["targets"]
        for product in target["dependencies"]
        if "product" in product and target["name"] != "StillwireClient"
    ]
    assert len(uses) > 20
    assert {traits[0] if traits else None for _, traits in uses} == {"Server"}
    assert [trait["name"] for trait in manifest["traits"] if trait["name"] != "default"] == ["Server"]
