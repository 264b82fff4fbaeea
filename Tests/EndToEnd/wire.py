# SPDX-License-Identifier: Apache-2.0
"""A blocking connection that checks text frames against the AsyncAPI document."""

import itertools
import json
import time
from dataclasses import dataclass, field
from typing import Any

import rfc6455
from client import Frame
from relay import DEADLINE, Relay
from rfc6455 import CLOSE, TEXT


_numbers = itertools.cycle(range(1, 255))


@dataclass
class Ending:
    """The end of a connection: the text frames before it, and the close code, or None without a close."""

    frames: list[Frame] = field(default_factory=list)
    code: int | None = None

    @property
    def bye(self) -> Frame | None:
        return self.frames[-1] if self.frames and self.frames[-1].get("type") == "bye" else None

    @property
    def errors(self) -> list[Frame]:
        return [frame for frame in self.frames if frame["type"] == "error"]


class Wire(rfc6455.Wire):
    """Sends no pong and no close by itself."""

    def __init__(self, relay: Relay, receive_buffer: int | None = None, address: str | None = None):
        self.relay = relay
        super().__init__(relay.port, receive_buffer, address)

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send_request(self, type: str, **fields: Any) -> None:
        self.send_text(json.dumps({"type": type} | fields))

    def open(self, user: str | None = None, **hello: Any) -> "Wire":
        """Upgrades the connection. With a user, also sends `hello` and waits for `welcome`."""
        assert self.upgrade().status == 101
        if user is not None:
            self.send_request("hello", user=user, **hello)
            assert self.text()["type"] == "welcome"
        return self

    def frame(self, within: float = DEADLINE) -> tuple[int, bytes] | None:
        """Returns opcode and payload of the next frame, or None if the connection has ended."""
        got = self.next_frame(within)
        return got and (got[0], got[2])

    def text(self, within: float = DEADLINE) -> Frame:
        """Returns the next text frame. Skips pings before it."""
        end = time.monotonic() + within
        while True:
            got = self.frame(end - time.monotonic())
            assert got is not None, "the connection has ended"
            assert got[0] != CLOSE, f"closed: {got[1]!r}"
            if got[0] == TEXT:
                return Frame(got[1].decode())

    def reply(self, id: int | str) -> Frame:
        """Returns the frame with this id. Skips the frames before it."""
        while (got := self.text()).get("id") != id:
            pass
        return got

    def ending(self, within: float = DEADLINE) -> Ending:
        """Reads until the connection ends."""
        end, ending = time.monotonic() + within, Ending()
        while (got := self.frame(end - time.monotonic())) is not None:
            opcode, payload = got
            if opcode == TEXT:
                ending.frames.append(Frame(payload.decode()))
            elif opcode == CLOSE:
                ending.code = int.from_bytes(payload[:2]) if payload else 1005
                break
        return ending


def new_address() -> str:
    """Returns a loopback address without refusals. From the third refusal of an address on, the relay answers late."""
    return f"127.1.{next(_numbers)}.1"


def refusal(
    relay: Relay, headers: dict[str, str] | None = None, address: str | None = None, **hello: object
) -> tuple[Frame, int]:
    """Sends a `hello` that must fail. Returns its error and the close code."""
    with Wire(relay, address=address or new_address()) as wire:
        assert wire.upgrade(headers).status == 101
        wire.send_request("hello", id=1, **hello)
        ending = wire.ending()
    assert [one["type"] for one in ending.frames] == ["error", "bye"]
    assert ending.errors[0]["id"] == 1
    assert ending.bye["code"] == ending.code
    assert ending.bye["reconnect"] is (ending.code < 4500)
    return ending.errors[0], ending.code
