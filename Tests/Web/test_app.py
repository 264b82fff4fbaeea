# SPDX-License-Identifier: Apache-2.0
"""The JavaScript client as apps get it: the app of the README, and the types."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from relay import CHECKOUT, DEADLINE, Relay
from waiting import eventually

#: Where Debian puts `ws`, as npm would put it into `node_modules`.
MODULES = "/usr/share/nodejs"
MOST_LINES = 29


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[Relay]:
    relay = Relay(tmp_path).start()
    try:
        yield relay
        assert relay.stop() == 0
    finally:
        relay.kill()


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """The README's app, as it stands there, beside what it imports."""
    (code,) = re.findall(r"```js\n(.*?)```", (CHECKOUT / "README.md").read_text(), re.DOTALL)
    assert len(code.splitlines()) <= MOST_LINES
    file = tmp_path / "app.mjs"
    file.write_text(code)
    (tmp_path / "web").symlink_to(CHECKOUT / "web")
    (tmp_path / "node_modules").symlink_to(MODULES)
    return file


class Running:
    """The app of one user; what it prints grows in a file."""

    def __init__(self, app: Path, relay: Relay, user: str, text: str):
        self._output = app.with_name(f"{user}.txt")
        address = relay.origin.replace("http", "ws") + "/v1/connect"
        with self._output.open("w") as output:
            self._process = subprocess.Popen(
                ["node", app, user, text], env={**os.environ, "RELAY": address}, stdout=output, stderr=output
            )

    def prints(self, line: str) -> None:
        """Waits for a line."""
        try:
            eventually(lambda: line in self._output.read_text().splitlines())
        except AssertionError:
            raise AssertionError(f"no {line!r} in {self._output.read_text()!r}") from None

    def stop(self) -> None:
        self._process.kill()
        self._process.wait(DEADLINE)


def test_the_readmes_app_talks_and_shows_who_is_silenced(relay: Relay, app: Path) -> None:
    ann = Running(app, relay, "ann", "Kettle is on")
    try:
        ann.prints("ann: Kettle is on")
        ann.prints("ann is here")
        bob = Running(app, relay, "bob", "On my way")
        try:
            # From the history, and by the relay's word about who is quiet.
            bob.prints("ann: Kettle is on")
            bob.prints("ann is here, silenced")
            bob.prints("ann has notifications silenced")
            ann.prints("bob: On my way")
            ann.prints("bob is here, silenced")
        finally:
            bob.stop()
    finally:
        ann.stop()


def test_the_types_are_what_apps_may_write() -> None:
    compiled = subprocess.run(
        ["tsc", "--noEmit", "--strict", "--target", "es2022", "--module", "es2022", "--lib", "es2022,dom",
         "--moduleResolution", "node", "Tests/Web/types/use.ts"],
        cwd=CHECKOUT, capture_output=True, text=True, timeout=3 * DEADLINE,
    )  # fmt: skip
    assert compiled.returncode == 0, compiled.stdout


def test_the_types_name_what_there_is() -> None:
    """Every export and every method of the classes, and nothing else."""
    types = (CHECKOUT / "web" / "stillwire.d.ts").read_text()
    script = """
      const m = await import('./web/stillwire.js')
      const { Room } = await import('./web/room.js')
      const names = (type) => Object.getOwnPropertyNames(type.prototype).filter((name) => name !== 'constructor').sort()
      console.log(JSON.stringify([Object.keys(m).sort(), names(m.Stillwire), names(Room)]))
    """
    found = subprocess.run(
        ["node", "--input-type=module", "--eval", script], cwd=CHECKOUT, capture_output=True, text=True, timeout=DEADLINE
    )
    assert found.returncode == 0, found.stderr

    def methods(kind: str, name: str) -> list[str]:
        (body,) = re.findall(rf"export {kind} {name}\b[^\n]*{{\n(.*?)\n}}", types, re.DOTALL)
        return sorted(set(re.findall(r"^  (\w+)\(", body, re.MULTILINE)) - {"constructor"})

    exported = sorted(re.findall(r"^export (?:class|const|function) (\w+)", types, re.MULTILINE))
    expected = [exported, methods("class", "Stillwire"), methods("interface", "Room")]
    assert found.stdout.strip() == re.sub(r"\s", "", str(expected)).replace("'", '"')
