# SPDX-License-Identifier: Apache-2.0
"""Prints the figures of the client packages in CONTRIBUTING.md: dependencies, build times and sizes.

    .build/venv/bin/python Tests/SwiftPackage/measure.py [--folder FOLDER]

It builds an empty app in release, once with `StillwireExtension` and once with `StillwireClient`. The time is that of
the processors: other programs change the duration.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "EndToEnd/shared"))

from relay import CHECKOUT  # noqa: E402
from test_package import app, built, output, swift  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, help="the folder of the app; it must not exist")
    folder = parser.parse_args().folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    app(folder, f'.package(name: "stillwire", path: "{CHECKOUT}", traits: [])')
    # The first resolution downloads all repositories.
    print(swift("package", "show-dependencies", app=folder, timeout=None), flush=True)
    # The extension first: the app then builds only what the extension lacks.
    for product in ("Service", "App"):
        before = processor()
        # A loaded machine builds for longer than a test may take.
        swift("build", "--configuration", "release", "--product", product, app=folder, timeout=None)
        seconds = processor() - before
        program = folder / ".build/release" / product
        stripped = folder / f"{product}-stripped"
        subprocess.run(["strip", "-o", stripped, program], check=True)
        nio = sum("NIO" in name for name in built(folder, "release"))
        sizes = f"{size(program)}, {size(stripped)} stripped"
        print(f"{product}: {seconds:.0f} s of processor time, {sizes}, {nio} modules of NIO", flush=True)
    (package,) = json.loads(output("npm", "pack", "--json", "--dry-run", CHECKOUT / "web/client", folder=folder))
    packed, unpacked = package["size"] / 1e3, package["unpackedSize"] / 1e3
    print(f"npm: {package['filename']} has {packed:.1f} kB, {unpacked:.1f} kB unpacked")
    for file in package["files"]:
        print(f"  {file['size']:>7,}  {file['path']}")


def processor() -> float:
    """The processor time of all programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def size(file: Path) -> str:
    return f"{file.stat().st_size / 1e6:.1f} MB"


if __name__ == "__main__":
    main()
