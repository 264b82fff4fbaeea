# SPDX-License-Identifier: Apache-2.0
"""A process with a log file. It dies with this process. Also chooses ports that stay free while a process is dead."""

import random
import re
import signal
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path

from relay import CHECKOUT, DEADLINE, environment
from waiting import eventually

from harness.hosts import LOOPBACK, Host

_given: set[int] = set()


def free_port() -> int:
    """Returns a free port on loopback.

    The port is below the range from which the system gives ports to outgoing connections. Such a connection could
    otherwise take the port of a killed process before its restart.
    """
    while True:
        port = random.SystemRandom().randrange(12_000, 32_000)
        if port in _given:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        return port


class Reaper:
    """A process that kills all others when this process ends, also after SIGKILL.

    PR_SET_PDEATHSIG does not do it: a node loses that setting when it replaces itself, because another thread than the
    first one calls execv.
    """

    PROGRAM = """
import os, sys
pids = set()
for line in sys.stdin:
    (pids.add if line[0] == "+" else pids.discard)(int(line[1:]))
for pid in pids:
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        pass
"""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", self.PROGRAM], stdin=subprocess.PIPE, text=True, start_new_session=True
        )

    def note(self, line: str) -> None:
        """`+PID` for a started process, `-PID` for one that has ended."""
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()


@cache
def _reaper() -> Reaper:
    return Reaper()


class Program:
    """A process that a test kills, pauses and starts again. Its output is in `log`, over all starts."""

    def __init__(self, folder: Path, name: str, host: Host = LOOPBACK):
        self.name = name
        self.host = host
        self.folder = folder
        self.log = folder / f"{name}.log"
        self.is_paused = False
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    def launch(self, command: list[str], **settings: str) -> None:
        """Starts the process, in a session of its own.

        The system would otherwise send SIGHUP to this process and all others when the shell that started the tests ends
        while one of them is paused.
        """
        assert not self.is_running, f"{self.name} runs already"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self.host.enter, *command],
                env=environment(**settings),
                cwd=CHECKOUT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        _reaper().note(f"+{self.pid}")

    def kill(self) -> None:
        """Ends the process with SIGKILL. Harmless if it has already ended."""
        self.is_paused = False
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            _reaper().note(f"-{self.pid}")

    def stop(self, within: float = DEADLINE) -> int:
        """Ends the process with SIGTERM and returns its exit code."""
        assert self.is_running, f"{self.name} died:\n{self.tail()}"
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(within)
        finally:
            self.kill()

    def pause(self) -> None:
        """Stops the process with SIGSTOP, and waits until it has stopped. Its connections stay open."""
        self._process.send_signal(signal.SIGSTOP)
        self.is_paused = True
        # The signal reaches the threads one after the other.
        eventually(lambda: all(state == "T" for state in self._thread_states()), every=0.001)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)
        self.is_paused = False

    def _thread_states(self) -> list[str]:
        stats = Path(f"/proc/{self.pid}/task").glob("*/stat")
        return [stat.read_text().rpartition(")")[2].split()[0] for stat in stats]

    def lines(self, pattern: str = "") -> list[str]:
        """Returns the lines of the log that contain a match of the pattern."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return [line for line in text.splitlines() if re.search(pattern, line)]

    def tail(self, count: int = 20) -> str:
        return "\n".join(self.lines()[-count:])
