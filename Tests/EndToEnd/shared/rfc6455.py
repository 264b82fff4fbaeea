# SPDX-License-Identifier: Apache-2.0
"""The tests' WebSocket client: the frames of RFC 6455, `Wire` for blocking code and `Connection` for asyncio.

Both send any bytes that a test gives them, including bytes that the RFC forbids.
"""

import asyncio
import base64
import hashlib
import http.client
import io
import os
import socket
import struct
import time
from collections.abc import AsyncIterator, Callable

from api import Answer
from relay import DEADLINE

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
SUBPROTOCOL = "stillwire.v1.json"


def frame(
    opcode: int, payload: bytes = b"", *, is_final: bool = True, reserved: int = 0, is_masked: bool = True
) -> bytes:
    """Returns one frame. By default it is complete and masked, as clients must send it."""
    length, masked_bit = len(payload), 0x80 if is_masked else 0
    head = bytes([(0x80 if is_final else 0) | reserved << 4 | opcode])
    if length < 126:
        head += bytes([masked_bit | length])
    elif length < 65536:
        head += bytes([masked_bit | 126]) + struct.pack("!H", length)
    else:
        head += bytes([masked_bit | 127]) + struct.pack("!Q", length)
    if not is_masked:
        return head + payload
    mask = os.urandom(4)
    pattern = (mask * (length // 4 + 1))[:length]
    return head + mask + (int.from_bytes(payload) ^ int.from_bytes(pattern)).to_bytes(length)


def next_frame(received: bytearray) -> tuple[int, bool, bytes] | None:
    """Removes the next frame from `received`: returns opcode, is_final and payload, or None if it is incomplete."""
    if len(received) < 2:
        return None
    assert not received[1] & 0x80, "the server masks its frames"
    assert not received[0] & 0x70, "the server sets reserved bits"
    length, start = received[1] & 0x7F, 2
    if length == 126:
        length, start = int.from_bytes(received[2:4]), 4
    elif length == 127:
        length, start = int.from_bytes(received[2:10]), 10
    if len(received) < start or len(received) < start + length:
        return None
    opcode, is_final = received[0] & 0x0F, bool(received[0] & 0x80)
    payload = bytes(received[start : start + length])
    del received[: start + length]
    return opcode, is_final, payload


def upgrade_request(port: int, headers: dict[str, str | None] | None = None, path: str = "/v1/connect") -> bytes:
    """Returns the request that opens a WebSocket. A header with the value None is left out."""
    wanted = {
        "Host": f"127.0.0.1:{port}",
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
        "Sec-WebSocket-Protocol": SUBPROTOCOL,
    } | (headers or {})
    lines = [f"{name}: {value}" for name, value in wanted.items() if value is not None]
    return "\r\n".join([f"GET {path} HTTP/1.1", *lines, "", ""]).encode()


def check_proof(request: bytes, headers: http.client.HTTPMessage) -> None:
    """Fails unless the relay derived Sec-WebSocket-Accept from the key of the request (RFC 6455, section 4.2.2)."""
    key = request.partition(b"Sec-WebSocket-Key: ")[2].partition(b"\r\n")[0]
    proof = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
    assert headers["Sec-WebSocket-Accept"] == base64.b64encode(proof).decode(), headers.items()


class Wire:
    """A blocking connection, from this loopback address. It sends no pong and no close by itself."""

    def __init__(self, port: int, receive_buffer: int | None = None, address: str | None = None):
        self.port = port
        self.socket = socket.socket()
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(DEADLINE)
        if address is not None:
            self.socket.bind((address, 0))
        self.socket.connect(("127.0.0.1", port))
        self._received = bytearray()

    def send_bytes(self, text: bytes) -> None:
        self.socket.sendall(text)

    def send_text(self, text: str | bytes) -> None:
        self.send_bytes(frame(TEXT, text.encode() if isinstance(text, str) else text))

    def upgrade(self, headers: dict[str, str | None] | None = None, path: str = "/v1/connect") -> Answer:
        """Sends the handshake and returns the answer. A header with the value None is left out."""
        request = upgrade_request(self.port, headers, path)
        self.send_bytes(request)
        answer = self.response()
        if answer.status == 101:
            check_proof(request, answer.headers)
        return answer

    def response(self) -> Answer:
        """Reads an HTTP response. The response that begins a WebSocket has no body."""
        end = time.monotonic() + DEADLINE
        while (length := self._received.find(b"\r\n\r\n")) < 0:
            self._receive(end)
        status_line, _, fields = self._take(length + 4, end).partition(b"\r\n")
        headers = http.client.parse_headers(io.BytesIO(fields))
        body = self._take(int(headers.get("Content-Length", 0)), end)
        return Answer(int(status_line.split()[1]), headers, body)

    def next_frame(self, within: float | None = DEADLINE) -> tuple[int, bool, bytes] | None:
        """Returns opcode, is_final and payload of the next frame, or None if the connection has ended.

        If `within` is None, the timeout of the socket does not change.
        """
        end = None if within is None else time.monotonic() + within
        try:
            while (got := next_frame(self._received)) is None:
                self._receive(end)
            return got
        except ConnectionError:
            return None

    def _take(self, count: int, end: float) -> bytes:
        while len(self._received) < count:
            self._receive(end)
        taken = bytes(self._received[:count])
        del self._received[:count]
        return taken

    def _receive(self, end: float | None) -> None:
        if end is not None:
            self.socket.settimeout(max(0.001, end - time.monotonic()))
        got = self.socket.recv(1 << 18)
        if not got:
            raise ConnectionError("the connection has ended")
        self._received += got


class Connection(asyncio.Protocol):
    """A connection for asyncio. It answers the relay's close, and also pings if `answers_pings` is true.

    It calls `on_text` with each text message. By default it queues the messages for `text` and `async for`.
    """

    def __init__(self, on_text: Callable[[str], None] | None = None):
        self._texts: asyncio.Queue[str | None] = asyncio.Queue()
        self.on_text = on_text or self._texts.put_nowait
        self.answers_pings = True
        #: The status of the answer to the upgrade, or None before it.
        self.status: int | None = None
        #: The relay's close code. 1005 for a close frame without a code, None without a close frame.
        self.code: int | None = None
        self.pings = 0
        #: The payload of the newest ping.
        self.ping = b""
        self.has_said_close = False
        self.is_closed_by_server = False
        #: True if this side has ended the connection without a close.
        self.may_be_cut = False
        self.ended = asyncio.get_running_loop().create_future()
        self._answered = asyncio.get_running_loop().create_future()
        self._bytes = bytearray()
        self._pieces = bytearray()
        self._transport: asyncio.Transport = None

    @classmethod
    async def dial(cls, port: int, receive_buffer: int | None = None) -> "Connection":
        """Opens a TCP connection and sends nothing."""
        bare = socket.socket()
        bare.setblocking(False)
        if receive_buffer is not None:
            bare.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(DEADLINE):
            await loop.sock_connect(bare, ("127.0.0.1", port))
            _, connection = await loop.create_connection(cls, sock=bare)
        return connection

    @classmethod
    async def open(cls, port: int, headers: dict[str, str | None] | None = None, **dial: int | None) -> "Connection":
        """Opens a connection and upgrades it."""
        connection = await cls.dial(port, **dial)
        connection.write(upgrade_request(port, headers))
        if (status := await connection.answer()) is None:
            raise ConnectionError("the relay ended the connection instead of upgrading it")
        assert status == 101, f"the upgrade was answered by {status}"
        return connection

    async def __aenter__(self) -> "Connection":
        return self

    async def __aexit__(self, error: type[BaseException] | None, *_: object) -> None:
        if self.ended.done():
            return
        if error is None:
            self.close()
            await self.end()
        else:
            self.cut()

    async def answer(self) -> int | None:
        """Returns the status of the answer to the upgrade, or None if the connection ends before it."""
        async with asyncio.timeout(DEADLINE):
            return await asyncio.shield(self._answered)

    async def end(self, within: float = DEADLINE) -> int | None:
        """Waits until the connection has ended, and returns the close code."""
        async with asyncio.timeout(within):
            await asyncio.shield(self.ended)
        return self.code

    # Writing

    def write(self, text: bytes) -> None:
        self._transport.write(text)

    def send_text(self, text: str | bytes) -> None:
        self.write(frame(TEXT, text.encode() if isinstance(text, str) else text))

    def close(self, code: int = 1000) -> None:
        """Sends a close frame. The relay then ends the connection."""
        self.has_said_close = True
        self.write(frame(CLOSE, struct.pack("!H", code)))

    def cut(self) -> None:
        """Ends the connection without a close frame."""
        self.may_be_cut = True
        self._transport.abort()

    def reset(self) -> None:
        """Ends the connection with RST, like a crashed machine or a firewall."""
        self.may_be_cut = True
        bare = self._transport.get_extra_info("socket")
        bare.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def pause(self) -> None:
        """Stops reading, so that frames remain in the relay's queue."""
        self._transport.pause_reading()

    def resume(self) -> None:
        self._transport.resume_reading()

    # Reading

    async def text(self, within: float = DEADLINE) -> str:
        """Returns the next text message. Raises ConnectionError if the connection has ended."""
        async with asyncio.timeout(within):
            if (text := await self._texts.get()) is None:
                raise ConnectionError(f"the connection has ended with {self.code}")
            return text

    async def __aiter__(self) -> AsyncIterator[str]:
        while (text := await self._texts.get()) is not None:
            yield text

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        if not self._answered.done():
            self._answered.set_result(self.status)
        self._texts.put_nowait(None)
        if not self.ended.done():
            self.ended.set_result(None)

    def data_received(self, text: bytes) -> None:
        self._bytes += text
        if self.status is None and not self._read_answer():
            return
        while self.status == 101 and (got := next_frame(self._bytes)) is not None:
            self._frame_came(*got)

    def _read_answer(self) -> bool:
        head, found, rest = self._bytes.partition(b"\r\n\r\n")
        if not found:
            return False
        self.status = int(head.split()[1])
        self._bytes = rest
        if not self._answered.done():
            self._answered.set_result(self.status)
        return True

    def _frame_came(self, opcode: int, is_final: bool, payload: bytes) -> None:
        if opcode == PING:
            self.pings += 1
            self.ping = payload
            if self.answers_pings:
                self.write(frame(PONG, payload))
        elif opcode == CLOSE and self.code is None:
            self.code = int.from_bytes(payload[:2]) if payload else 1005
            if not self.has_said_close:
                self.is_closed_by_server = True
                self.close(self.code if self.code != 1005 else 1000)
        elif opcode in (TEXT, CONTINUATION):
            self._pieces += payload
            if is_final:
                text, self._pieces = self._pieces.decode(), bytearray()
                self.on_text(text)
