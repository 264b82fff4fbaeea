# SPDX-License-Identifier: Apache-2.0
"""`stillwire top`: the screen in a terminal, its end, and the output to a file."""

import os
import pty
import signal
import subprocess

import pytest

from relay import binary, run
from waiting import eventually

BEGIN, END = b"\x1b[?1049h", b"\x1b[?1049l"


class Terminal:
    """A command whose input and output are a terminal."""

    def __init__(self, *arguments):
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen([binary(), *arguments], stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        os.set_blocking(self._master, False)
        self.output = b""

    def read(self):
        """Returns everything that the command has written."""
        try:
            while part := os.read(self._master, 65_536):
                self.output += part
        except (BlockingIOError, OSError):
            pass
        return self.output

    def shows(self, text):
        eventually(lambda: text in self.read())

    def press(self, key):
        os.write(self._master, key)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self._master)


@pytest.fixture
def top(relay):
    terminal = Terminal("top", "--url", relay.origin)
    yield terminal
    terminal.close()


def ended(terminal):
    assert terminal.process.wait(timeout=20) == 0
    output = terminal.read()
    assert output.count(BEGIN) == output.count(END) == 1 and output.rstrip().endswith(END), output[-200:]


def test_the_screen_changes_and_ends_with_q(relay, connect, names, top):
    ann, room = names("ann", "room")
    session = connect(ann)
    session.join(room)
    top.shows(BEGIN)
    session.request("send", room=room, body=1)
    top.shows(room.encode())
    screens = top.read().count(b"MESSAGES/S")
    eventually(lambda: top.read().count(b"MESSAGES/S") > screens + 1)
    assert top.process.poll() is None
    top.press(b"x")
    top.press(b"q")
    ended(top)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(top, number):
    top.shows(b"MESSAGES/S")
    top.process.send_signal(number)
    ended(top)


def test_a_relay_that_has_ended_is_a_line_of_the_screen(start):
    relay = start()
    terminal = Terminal("top", "--url", relay.origin)
    try:
        terminal.shows(b"MESSAGES/S")
        relay.stop()
        terminal.shows(b"does not answer")
        terminal.press(b"q")
        ended(terminal)
    finally:
        terminal.close()


def test_without_a_terminal_it_prints_one_screen(relay):
    printed = run("top", "--url", relay.origin)
    assert printed.returncode == 0 and printed.stdout.startswith(f"stillwire top  {relay.origin}  up "), printed
    assert "\x1b" not in printed.stdout and printed.stdout.count("MESSAGES/S") == 1


def test_it_does_not_begin_without_a_relay():
    for url in "http://127.0.0.1:9", "there":
        refused = run("top", "--url", url)
        assert refused.returncode == 1 and refused.stderr.startswith("stillwire: ") and not refused.stdout, refused
