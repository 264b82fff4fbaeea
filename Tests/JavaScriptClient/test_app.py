# SPDX-License-Identifier: Apache-2.0
"""The JavaScript client as apps use it: the examples of the README and of the guides."""

import json
import os
import shlex
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import tokens
from api import call
from programs import NODE, output
from relay import CHECKOUT, DEADLINE, Relay, run, running
from waiting import eventually

GUIDES = CHECKOUT / "web" / "docs" / "guides"
MAX_LINES = 29



@pytest.fixture
def relay(tmp_path: Path) -> Iterator[Relay]:
    with running(tmp_path) as relay:
        yield relay


def example(page: Path) -> str:
    """Returns the first JavaScript example of a page."""
    return re.findall(r"```js\n(.*?)```", page.read_text(), re.DOTALL)[0]


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """Writes the unchanged app of the guide next to the client that it imports."""
    code = example(GUIDES / "javascript.md")
    assert len(code.splitlines()) <= MAX_LINES
    assert "'ws'" not in code
    file = tmp_path / "app.mjs"
    file.write_text(code)
    (tmp_path / "web").symlink_to(CHECKOUT / "web")
    return file


class Running:
    """The running app of one user. Its output is written to a file."""

    def __init__(self, app: Path, relay: Relay, user: str, text: str, **environment: str):
        self._output = app.with_name(f"{user}.txt")
        address = relay.origin.replace("http", "ws") + "/v1/connect"
        with self._output.open("w") as output:
            self._process = subprocess.Popen(
                [*NODE, app, user, text], env={**os.environ, "RELAY": address, **environment},
                stdout=output, stderr=output,
            )

    def prints(self, line: str) -> None:
        """Waits for a line."""
        try:
            eventually(lambda: line in self._output.read_text().splitlines())
        except AssertionError:
            raise AssertionError(f"no {line!r} in {self._output.read_text()!r}") from None

    def interrupt(self) -> int:
        """Presses Ctrl-C, and returns the exit status."""
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(DEADLINE)

    def ended(self) -> tuple[int, str]:
        """Returns the exit status and the output of an app that ends by itself."""
        return self._process.wait(DEADLINE), self._output.read_text()

    def stop(self) -> None:
        self._process.kill()
        self._process.wait(DEADLINE)


def test_the_readmes_client_prints_its_message(relay: Relay, tmp_path: Path) -> None:
    file = tmp_path / "hello.mjs"
    # The README's client runs until somebody stops it.
    file.write_text(example(CHECKOUT / "README.md") + "relay.close()\n")
    (tmp_path / "web").symlink_to(CHECKOUT / "web")
    address = relay.origin.replace("http", "ws") + "/v1/connect"
    ended = subprocess.run([*NODE, file, address], capture_output=True, text=True, timeout=DEADLINE)
    assert (ended.returncode, ended.stdout) == (0, "ann: Kettle is on\n"), ended.stderr


def test_the_guides_app_talks_and_shows_silenced_users(relay: Relay, app: Path) -> None:
    ann = Running(app, relay, "ann", "Kettle is on")
    try:
        ann.prints("ann: Kettle is on")
        ann.prints("ann is here")
        bob = Running(app, relay, "bob", "On my way")
        try:
            # From the history, and from `quiet` in the reply to send.
            bob.prints("ann: Kettle is on")
            bob.prints("ann is here, silenced")
            bob.prints("ann has notifications silenced")
            ann.prints("bob: On my way")
            ann.prints("bob is here, silenced")
        finally:
            bob.stop()
    finally:
        ann.stop()


def test_the_guides_app_resets_the_focus_that_it_set(relay: Relay, app: Path) -> None:
    ann = Running(app, relay, "ann", "Kettle is on")
    try:
        ann.prints("ann: Kettle is on")
        assert focus_of(relay, "ann") is True
        assert ann.interrupt() == 0
    finally:
        ann.stop()
    # A false counts 3 s after a true.
    eventually(lambda: focus_of(relay, "ann") is False)


def focus_of(relay: Relay, user: str) -> bool | None:
    return call(relay, "GET", f"/v1/users/{user}/presence", user=user).json["isFocused"]


@pytest.fixture
def example_token(tmp_path: Path) -> Iterator[tuple[Relay, str]]:
    """A relay with a secret, and the token that the guide signs."""
    secret = tokens.secret_file(tmp_path)
    (command,) = re.findall(r"TOKEN=\$\(stillwire (token .*)\)", (GUIDES / "tokens.md").read_text())
    arguments = [str(secret) if word == "secret" else word for word in shlex.split(command)]
    made = run(*arguments)
    assert made.returncode == 0, made.stderr
    with running(tmp_path, secret=secret) as relay:
        yield relay, made.stdout.strip()


def test_the_guides_token_opens_the_guides_app(example_token: tuple[Relay, str], app: Path) -> None:
    relay, token = example_token
    ann = Running(app, relay, "nobody", "Kettle is on", TOKEN=token)
    try:
        ann.prints("ann: Kettle is on")
    finally:
        ann.stop()


def test_the_guides_app_ends_with_the_relays_reason(example_token: tuple[Relay, str], app: Path) -> None:
    relay, _ = example_token
    secret = relay.secret.read_text()
    for token, words in (
        (tokens.token(secret, tokens.claims("ann", exp=1_000_000_000)), "unauthorized: the token has expired"),
        (tokens.token(secret + "x", tokens.claims("ann")), "unauthorized: the token is not valid"),
    ):
        ann = Running(app, relay, "ann", "Hi", TOKEN=token)
        try:
            status, output = ann.ended()
            assert status != 0 and words in output, output
        finally:
            ann.stop()


def test_the_guides_app_passes_the_type_checker(app: Path) -> None:
    checked = app.with_name("tea.js")
    checked.write_text(app.read_text())
    app.with_name("package.json").write_text('{"type": "module"}')
    options = {
        "noEmit": True, "strict": True, "allowJs": True, "checkJs": True, "target": "es2022", "module": "es2022",
        "lib": ["es2022", "dom"], "moduleResolution": "node", "types": [], "preserveSymlinks": True,
    }  # fmt: skip
    files = [str(checked), str(CHECKOUT / "Tests" / "JavaScriptClient" / "types" / "process.d.ts")]
    app.with_name("tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": files}))
    output("tsc", "--project", ".", folder=app.parent)
