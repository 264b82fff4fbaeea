# SPDX-License-Identifier: Apache-2.0
"""The files of the Debian package that are made from the texts of the program."""

import os
import re
import subprocess
import sys
from pathlib import Path

from relay import CHECKOUT, run

PACKAGE = CHECKOUT / "deploy" / "package"


def made(script: str, text: str, *arguments: object) -> str:
    command = [sys.executable, PACKAGE / script, *arguments]
    environment = os.environ | {"SOURCE_DATE_EPOCH": "0"}
    return subprocess.run(command, input=text, env=environment, capture_output=True, text=True, check=True).stdout


def test_the_default_configuration_shows_each_variable_with_a_default_that_the_relay_accepts() -> None:
    reference = run("reference").stdout
    file = made("settings.py", reference, CHECKOUT / "deploy" / "stillwire.service")
    lines = dict(re.findall(r"^#(STILLWIRE_\w+)=(.*)$", file, re.MULTILINE))
    variables = re.findall(r"^\| [^|]* \| [^|]* \| `(STILLWIRE_\w+)`", reference, re.MULTILINE)
    # The unit sets these by options, which have precedence.
    assert set(variables) - set(lines) == {"STILLWIRE_DATA", "STILLWIRE_WEB", "STILLWIRE_SECRET_FILE"}
    checked = run("serve", "--check", **{name: value for name, value in lines.items() if value})
    assert checked.returncode == 0 and not checked.stderr, checked.stderr
    assert all(line.startswith("#") for line in file.splitlines() if line)


def test_the_manual_has_a_page_for_each_command_with_each_option(tmp_path: Path) -> None:
    made("manual.py", run("--experimental-dump-help").stdout, "0.1.0", tmp_path)
    program = (tmp_path / "stillwire.1").read_text().replace("\\-", "-")
    for name in re.findall(r"^  (\S+) {2,}\S", run("--help").stdout.split("SUBCOMMANDS:")[1], re.MULTILINE):
        page = (tmp_path / f"stillwire-{name}.1").read_text().replace("\\-", "-")
        assert f"stillwire-{name}" in program
        for option in re.findall(r"^  (--[\w-]+)", run(name, "--help").stdout, re.MULTILINE):
            assert option in page
