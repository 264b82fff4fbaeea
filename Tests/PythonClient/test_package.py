# SPDX-License-Identifier: Apache-2.0
"""The wheel of the client: its files, its installation, and the examples of the documentation."""

import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

from relay import CHECKOUT, DEADLINE, run, running

PACKAGE = CHECKOUT / "Sources" / "StillwirePython"


def example(page: Path) -> str:
    """Returns the Python example of a page."""
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    return code


def output(*command: object, folder: Path) -> str:
    ended = subprocess.run([*map(str, command)], cwd=folder, capture_output=True, text=True, timeout=3 * DEADLINE)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_the_wheel_installs_in_an_empty_environment_and_runs_the_examples(tmp_path: Path) -> None:
    # Without isolation, the build uses the tools of the tests' environment, and no network.
    output(sys.executable, "-m", "build", "--no-isolation", "--outdir", tmp_path, PACKAGE, folder=tmp_path)
    version = run("--version").stdout.strip()
    wheel = tmp_path / f"stillwire-{version}-py3-none-any.whl"
    assert {file.name for file in tmp_path.iterdir()} == {wheel.name, f"stillwire-{version}.tar.gz"}
    information = f"stillwire-{version}.dist-info"
    modules = {f"stillwire/{file.name}" for file in (PACKAGE / "src" / "stillwire").iterdir() if file.is_file()}
    assert {"stillwire/py.typed", "stillwire/operations.py"} <= modules
    with zipfile.ZipFile(wheel) as files:
        assert set(files.namelist()) == modules | {
            f"{information}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "licenses/LICENSE")
        }
        assert "Requires-Dist: httpx" in files.read(f"{information}/METADATA").decode()

    environment = tmp_path / "venv"
    venv.create(environment)
    python = environment / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python)
    output(*pip, "install", "--no-index", "--no-deps", wheel, folder=tmp_path)
    # The packages that the client needs are those of the tests' environment.
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "tests.pth").write_text(sysconfig.get_path("purelib"))
    with running(tmp_path) as relay:
        printed = [
            output(python, "-c", example(page).replace("http://localhost:8080", relay.origin), folder=tmp_path)
            for page in (PACKAGE / "README.md", CHECKOUT / "web" / "docs" / "guides" / "backend.md")
        ]
    sent, message, missing = printed[0].splitlines()
    assert sent == "message 1"
    assert "'text': 'Kettle is on'" in message
    assert missing.startswith("404 not_found ")
    assert printed[1] == "forbidden: somebody else sent this message\n"


def test_the_licence_is_the_products() -> None:
    assert (PACKAGE / "LICENSE").read_bytes() == (CHECKOUT / "LICENSE").read_bytes()
