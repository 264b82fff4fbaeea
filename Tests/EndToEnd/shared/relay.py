# SPDX-License-Identifier: Apache-2.0
"""A relay process: starts it on a free port, stops it cleanly, or kills it. Also runs other programs of the package."""

import json
import os
import re
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tokens

CHECKOUT = Path(__file__).resolve().parents[3]
#: The factor by which the relay is slower than usual, for example under sanitizers.
SLOW = float(os.environ.get("STILLWIRE_SLOW", "1"))
#: The timeout in seconds for everything that must happen. It is long, because a loaded machine with two cores is slow.
DEADLINE = 40.0 * SLOW

_ADDRESS = re.compile(r"http://[^\s/:]+:(\d+)")


def binary() -> str:
    """The path of the relay under test."""
    return os.path.abspath(os.environ["STILLWIRE_BINARY"])


def tool(name: str) -> str:
    """The path of another program of the package, in the same folder as the relay: `bench`, `simulator`."""
    return os.path.join(os.path.dirname(binary()), f"stillwire-{name}")


def environment(**settings: str) -> dict[str, str]:
    """Returns the environment of the caller, in which `settings` replace all settings of a relay."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("STILLWIRE_")}
    return kept | settings


def run(*arguments: object, **settings: str) -> subprocess.CompletedProcess[str]:
    """Runs the relay's program to its end. Fails if the program does not end."""
    return run_program(binary(), *arguments, **settings)


def checked(
    folder: Path, configuration: Any, *options: object, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Checks a configuration, which is a value or a text, as `stillwire.json` of the folder."""
    file = folder / "stillwire.json"
    file.write_text(configuration if isinstance(configuration, str) else json.dumps(configuration))
    return run("serve", "--check", "--config", file, *options, **settings)


def api_key(file: Path, name: str = "tests", *options: object) -> str:
    """Adds an API key to the file, and returns the key."""
    made = run("api-key", name, "--file", file, *options)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def run_tool(name: str, *arguments: object, **settings: str) -> subprocess.CompletedProcess[str]:
    """Runs another program of the package to its end, see `tool`."""
    return run_program(tool(name), *arguments, **settings)


def run_program(program: str, *arguments: object, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *map(str, arguments)],
        env=environment(**settings),
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )


class Relay:
    """A relay on 127.0.0.1. It keeps its data after `stop` or `kill`, so that `start` can follow.

    It serves no page without the option `--web`, because it would read and compress the files at each start.
    `configuration` is the content of a configuration file. `under` is a command that runs the relay in its own process,
    such as `prlimit`.
    """

    def __init__(
        self,
        folder: Path,
        *options: object,
        secret: Path | None = None,
        configuration: Any = None,
        under: tuple[str, ...] = (),
        **settings: str,
    ):
        self.data = folder / "data"
        self.log = folder / "relay.log"
        self.secret = secret
        self.port = 0
        self._under = under
        self._options = [str(option) for option in options]
        self._configuration = folder / "stillwire.json"
        if configuration is not None:
            self.configure(configuration)
            self._options += ["--config", str(self._configuration)]
        self._settings = settings
        self._process: subprocess.Popen[str] | None = None

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def open_files(self) -> int:
        """The number of open descriptors of the process, including its connections."""
        return len(os.listdir(f"/proc/{self._process.pid}/fd"))

    @property
    def open_sockets(self) -> int:
        """The number of open sockets. Unlike files, they do not depend on the readers of the database."""
        folder, count = f"/proc/{self._process.pid}/fd", 0
        for name in os.listdir(folder):
            try:
                count += os.readlink(f"{folder}/{name}").startswith("socket:")
            except FileNotFoundError:
                # It was closed after the listing.
                pass
        return count

    def limit_file_size(self, size: int | None) -> None:
        """Limits the size of the files that the process writes, in bytes. None removes the limit."""
        soft = resource.RLIM_INFINITY if size is None else size
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (soft, resource.RLIM_INFINITY))

    def start(self) -> "Relay":
        command = [*self._under, binary(), "serve", "--data", str(self.data)]
        if "--address" not in self._options:
            command += ["--address", "127.0.0.1"]
        if "--port" not in self._options:
            command += ["--port", "0"]
        if self.secret is not None:
            command += ["--secret-file", str(self.secret)]
            if "--simulated-phones" not in self._options:
                command += ["--simulated-phones", "true"]
        with self.log.open("a") as log:
            self._process = subprocess.Popen(
                command + self._options,
                env=environment(**self._settings),
                cwd=CHECKOUT,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        is_ready = threading.Event()
        threading.Thread(target=self._read_output, args=(is_ready,), daemon=True).start()
        is_ready.wait(DEADLINE)
        if self.port == 0:
            self.kill()
            raise AssertionError(f"the relay did not start:\n{self.log.read_text()[-2000:]}")
        return self

    def signal(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Sends a signal and does not wait."""
        process = self._process
        assert process is not None and process.poll() is None, f"the relay died:\n{self.log.read_text()[-2000:]}"
        process.send_signal(number)

    def ended(self, within: float = DEADLINE) -> int:
        """Waits for the end of the process and returns its exit code, which is negative after a signal."""
        try:
            return self._process.wait(within)
        finally:
            self.kill()

    def stop(self) -> int:
        """Stops the relay with SIGTERM and returns its exit code."""
        self.signal()
        return self.ended()

    def kill(self) -> None:
        """Ends the process immediately with SIGKILL. Harmless if it has already ended."""
        self.port = 0
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert "does not declare" not in self.log.read_text(errors="replace"), "a command has an undeclared error"

    def configure(self, configuration: Any) -> None:
        """Changes the configuration file. A text is written as it is."""
        text = configuration if isinstance(configuration, str) else json.dumps(configuration)
        self._configuration.write_text(text)

    def reload(self, configuration: Any = None) -> str:
        """Changes the file unless it is None, and sends SIGHUP. Returns the lines of the log up to the result."""
        if configuration is not None:
            self.configure(configuration)
        before, lines = len(self.log.read_text()), ""
        self.signal(signal.SIGHUP)
        end = time.monotonic() + DEADLINE
        while not any(f"the configuration {word}" in lines for word in ("was read again", "is not changed")):
            assert time.monotonic() < end, lines
            time.sleep(0.01)
            lines = self.log.read_text()[before:]
        return lines

    def token(self, user: str, **claims: Any) -> str:
        """Returns a token with these claims. By default, it has all rights except `moderate` in every room."""
        return tokens.token(self.secret.read_text(), tokens.claims(user, **claims))

    def _read_output(self, is_ready: threading.Event) -> None:
        process = self._process
        for line in process.stdout:
            found = _ADDRESS.search(line)
            if found and not is_ready.is_set():
                self.port = int(found.group(1))
                is_ready.set()
        is_ready.set()


@contextmanager
def running(folder: Path, *options: object, **more: Any) -> Iterator[Relay]:
    """Runs a relay with these options. At the context's end it must still run, and stop without an error."""
    relay = Relay(folder, *options, **more).start()
    try:
        yield relay
        assert relay.stop() == 0
    finally:
        relay.kill()
