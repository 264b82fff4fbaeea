# SPDX-License-Identifier: Apache-2.0
"""A bare TCP connection that speaks as much WebSocket as a test wants, right or wrong."""

import base64
import http.client
import io
import json
import os
import socket
import struct
import time
from dataclasses import dataclass, field
from typing import Any

from api import Answer
from client import Frame
from relay import DEADLINE, Relay

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


@dataclass
class Ending:
    """How a connection ended: the text frames until then, and the close code, None for a cut."""

    frames: list[Frame] = field(default_factory=list)
    code: int | None = None

    @property
    def bye(self) -> Frame | None:
        return self.frames[-1] if self.frames and self.frames[-1].get("type") == "bye" else None

    @property
    def errors(self) -> list[Frame]:
        return [frame for frame in self.frames if frame["type"] == "error"]


def frame(opcode: int, payload: bytes = b"", *, is_final: bool = True, reserved: int = 0) -> bytes:
    """One masked frame."""
    length = len(payload)
    head = bytes([(0x80 if is_final else 0) | reserved << 4 | opcode])
    if length < 126:
        head += bytes([0x80 | length])
    elif length < 65536:
        head += b"\xfe" + struct.pack("!H", length)
    else:
        head += b"\xff" + struct.pack("!Q", length)
    mask = os.urandom(4)
    pattern = (mask * (length // 4 + 1))[:length]
    masked = (int.from_bytes(payload) ^ int.from_bytes(pattern)).to_bytes(length)
    return head + mask + masked


class Wire:
    """Answers nothing on its own: no pong, no close."""

    def __init__(self, relay: Relay, receive_buffer: int | None = None):
        self.relay = relay
        self._socket = socket.socket()
        if receive_buffer is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._socket.settimeout(DEADLINE)
        self._socket.connect(("127.0.0.1", relay.port))
        self._bytes = b""

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    # Writing

    def send_bytes(self, text: bytes) -> None:
        self._socket.sendall(text)

    def send_text(self, text: str | bytes) -> None:
        self.send_bytes(frame(TEXT, text.encode() if isinstance(text, str) else text))

    def send_request(self, type: str, **fields: Any) -> None:
        self.send_text(json.dumps({"type": type} | fields))

    # Opening

    def upgrade(self, headers: dict[str, str | None] | None = None, path: str = "/v1/connect") -> Answer:
        """Asks for a session; a header whose value is None is left out."""
        wanted = {
            "Host": f"127.0.0.1:{self.relay.port}",
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
            "Sec-WebSocket-Protocol": "stillwire.v1.json",
        } | (headers or {})
        lines = [f"{name}: {value}" for name, value in wanted.items() if value is not None]
        self.send_bytes("\r\n".join([f"GET {path} HTTP/1.1", *lines, "", ""]).encode())
        return self.response()

    def response(self) -> Answer:
        """Reads an HTTP response; a response that begins a WebSocket has no body."""
        end = time.monotonic() + DEADLINE
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self._take(1, end)
        status_line, _, fields = head.partition(b"\r\n")
        headers = http.client.parse_headers(io.BytesIO(fields))
        body = self._take(int(headers.get("Content-Length", 0)), end)
        return Answer(int(status_line.split()[1]), headers, body)

    def open(self, user: str | None = None, **hello: Any) -> "Wire":
        """Upgrades and, when a user is named, says `hello` and waits for `welcome`."""
        assert self.upgrade().status == 101
        if user is not None:
            self.send_request("hello", user=user, **hello)
            assert self.text()["type"] == "welcome"
        return self

    # Reading

    def frame(self, within: float = DEADLINE) -> tuple[int, bytes] | None:
        """The next frame of whatever kind, or None when the connection has ended."""
        end = time.monotonic() + within
        try:
            first, second = self._take(2, end)
            length = second & 0x7F
            if length == 126:
                (length,) = struct.unpack("!H", self._take(2, end))
            elif length == 127:
                (length,) = struct.unpack("!Q", self._take(8, end))
            return first & 0x0F, self._take(length, end)
        except ConnectionError:
            return None

    def text(self, within: float = DEADLINE) -> Frame:
        """The next text frame; pings before it are passed over."""
        end = time.monotonic() + within
        while True:
            got = self.frame(end - time.monotonic())
            assert got is not None, "the connection has ended"
            assert got[0] != CLOSE, f"closed: {got[1]!r}"
            if got[0] == TEXT:
                return Frame(got[1].decode())

    def reply(self, id: int | str) -> Frame:
        """The frame with this id; others before it are passed over."""
        while (got := self.text()).get("id") != id:
            pass
        return got

    def ending(self, within: float = DEADLINE) -> Ending:
        """Reads until the server closes or cuts the connection."""
        end, ending = time.monotonic() + within, Ending()
        while (got := self.frame(end - time.monotonic())) is not None:
            opcode, payload = got
            if opcode == TEXT:
                ending.frames.append(Frame(payload.decode()))
            elif opcode == CLOSE:
                ending.code = struct.unpack("!H", payload[:2])[0] if payload else 1005
                break
        return ending

    def _take(self, count: int, end: float) -> bytes:
        while len(self._bytes) < count:
            self._socket.settimeout(max(0.001, end - time.monotonic()))
            self._fill()
        taken, self._bytes = self._bytes[:count], self._bytes[count:]
        return taken

    def _fill(self) -> None:
        got = self._socket.recv(65536)
        if not got:
            raise ConnectionError("the connection has ended")
        self._bytes += got
