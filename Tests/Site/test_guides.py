# SPDX-License-Identifier: Apache-2.0
"""The examples of the guides: a relay accepts the requests and the configurations, and Node parses the code."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from relay import CHECKOUT, DEADLINE, run, running

PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "web" / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def with_blocks(language: str, word: str = "") -> list:
    """The pages with a code block of a language that contains a word."""
    return [
        pytest.param(page, id=page.stem) for page in PAGES if any(word in block for block in blocks(page, language))
    ]


@pytest.mark.parametrize("page", with_blocks("sh", "curl"))
def test_the_relay_accepts_the_requests_of_a_page(page: Path, tmp_path: Path) -> None:
    script = "\n".join(block for block in blocks(page, "sh") if "curl" in block)
    requests = script.count("curl ")
    with running(tmp_path) as relay:
        script = script.replace("localhost:8080", relay.origin.removeprefix("http://"))
        script = re.sub(r"curl (?:-f )?", "curl --silent --show-error --fail-with-body -w '\\\\ndone\\\\n' ", script)
        played = subprocess.run(["bash", "-e", "-c", script], capture_output=True, text=True, timeout=DEADLINE)
    assert played.returncode == 0, played.stdout + played.stderr
    assert played.stdout.count("\ndone\n") == requests


@pytest.mark.parametrize("page", with_blocks("json"))
def test_the_relay_accepts_the_configurations_of_a_page(page: Path, tmp_path: Path) -> None:
    for block in blocks(page, "json"):
        configuration = json.loads(block)
        # The key files exist on the reader's machine only.
        configuration.pop("apps", None)
        if keys := configuration.get("apiKeysFile"):
            (tmp_path / keys).touch()
        file = tmp_path / "stillwire.json"
        file.write_text(json.dumps(configuration))
        checked = run("serve", "--check", "--config", str(file))
        assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("page", with_blocks("js"))
def test_the_code_of_a_page_is_javascript(page: Path, tmp_path: Path) -> None:
    for number, block in enumerate(blocks(page, "js")):
        file = tmp_path / f"{number}.mjs"
        file.write_text(block)
        checked = subprocess.run(["node", "--check", file], capture_output=True, text=True, timeout=DEADLINE)
        assert checked.returncode == 0, checked.stderr
