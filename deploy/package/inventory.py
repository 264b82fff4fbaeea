# SPDX-License-Identifier: Apache-2.0
"""Prints the parts of the product: those in the program, in the documentation, and the Debian packages that it needs.

    inventory.py copyright               the licences and notices, as text
    inventory.py sbom VERSION PACKAGE…   an SBOM in JSON (CycloneDX 1.5)

Runs in a checkout with the Python of `make docs`. The variable PACKAGES names the folder of the build, which has the
sources of the parts."""

import json
import os
import shutil
import subprocess
import sys
import time
from importlib.metadata import files, metadata
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
CHECKOUTS = Path(os.environ["PACKAGES"]) / "checkouts"
APACHE = "/usr/share/common-licenses/Apache-2.0"


def licence(text: str) -> str:
    if "Runtime Library Exception" in text:
        return "Apache-2.0 WITH Swift-exception"
    if "Apache License" in text:
        return "Apache-2.0"
    assert "Permission is hereby granted, free of charge" in text, f"an unknown licence: {text[:60]}"
    return "MIT"


def swift_parts() -> list[dict]:
    """The parts of the program: the packages of `Package.resolved`, and the libraries of the toolchain."""
    toolchain = Path(shutil.which("swift")).resolve().parents[1]
    words = subprocess.run(["swift", "--version"], capture_output=True, text=True, check=True).stdout.split()
    version, text = words[words.index("version") + 1], (toolchain / "share/swift/LICENSE.txt").read_text()
    url = "https://github.com/swiftlang/swift"
    parts = [{"name": "swift", "version": version, "url": url, "texts": [text]}]
    for pin in json.loads((CHECKOUT / "Package.resolved").read_text())["pins"]:
        url = pin["location"].removesuffix(".git")
        folder = CHECKOUTS / url.rsplit("/", 1)[1]
        patterns = ("LICENSE*", "NOTICE*", "Sources/*/LICENSE*")
        texts = [file.read_text().strip("\n") for pattern in patterns for file in sorted(folder.glob(pattern))]
        parts.append({"name": pin["identity"], "version": pin["state"]["version"], "url": url, "texts": texts})
    return parts


def site_parts() -> list[dict]:
    """The packages whose scripts and styles are in the documentation."""
    lines = (CHECKOUT / "web/docs/site/requirements.txt").read_text().splitlines()
    names = [line.split(">=")[0] for line in lines if line and not line.startswith("#")]
    return [
        {
            "name": name,
            "version": metadata(name)["Version"],
            "url": f"https://pypi.org/project/{name}",
            "texts": licences(name),
        }
        for name in names
    ]


def licences(name: str) -> list[str]:
    """The texts of the licences in a Python package."""
    found = [file for file in files(name) or [] if "LICENSE" in file.name and "dist-info" in str(file)]
    return [file.locate().read_text().strip("\n") for file in sorted(found)]


def print_copyright() -> None:
    print("Stillwire, copyright of its authors, has the Apache License, version 2.0:")
    print(f"{APACHE} has its text.\n")
    print("The program and its documentation contain these parts.")
    for part in swift_parts() + site_parts():
        print(f"\n{'=' * 80}\n{part['name']} {part['version']} {part['url']}")
        for text in part["texts"]:
            is_apache = "TERMS AND CONDITIONS FOR USE" in text
            rest = text[text.index("## Runtime Library Exception") :] if "## Runtime Library" in text else ""
            print(f"\nApache License 2.0: {APACHE}\n{rest}" if is_apache else f"\n{text}")


def print_sbom(version: str, packages: list[str]) -> None:
    own = {"type": "application", "name": "stillwire", "version": version}
    own["licenses"] = [{"license": {"id": "Apache-2.0"}}]
    parts = []
    for part in swift_parts():
        purl = f"pkg:swift/{part['url'].removeprefix('https://')}@{part['version']}"
        parts.append(library(part, purl) | {"licenses": [{"expression": licence(part["texts"][0])}]})
    for part in site_parts():
        parts.append(library(part, f"pkg:pypi/{part['name']}@{part['version']}"))
    for name in packages:
        shown = ["dpkg-query", "--show", "--showformat", "${Version} ${Architecture}", name]
        installed, architecture = subprocess.run(shown, capture_output=True, text=True, check=True).stdout.split()
        purl = f"pkg:deb/debian/{name}@{installed}?arch={architecture}&distro=bookworm"
        parts.append(library({"name": name, "version": installed}, purl))
    clock = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"])))
    document = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1}
    print(json.dumps(document | {"metadata": {"timestamp": clock, "component": own}, "components": parts}, indent=1))


def library(part: dict, purl: str) -> dict:
    return {"type": "library", "bom-ref": purl, "name": part["name"], "version": part["version"], "purl": purl}


if sys.argv[1] == "copyright":
    print_copyright()
else:
    print_sbom(sys.argv[2], sys.argv[3:])
