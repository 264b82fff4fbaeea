# SPDX-License-Identifier: Apache-2.0
"""A small client that obeys the protocol: one `Session` is one connection of one user."""

import contextlib
import itertools
import json
import queue
import socket
import struct
import threading
import time
from typing import Any

import documents
import frames
from relay import DEADLINE, Relay
from rfc6455 import CLOSE, CONTINUATION, PING, PONG, TEXT, Wire, frame


class Frame(frames.Frame):
    """A parsed frame that matches the relay's document."""

    def __init__(self, text: str):
        super().__init__(text)
        documents.check_frame(self)


class ConnectionClosed(Exception):
    """The connection has ended. `code` is the relay's close code, or None without a close."""

    def __init__(self, code: int | None):
        super().__init__(f"the connection has ended with {code}")
        self.code = code


class Line:
    """A WebSocket connection with a reading thread, which answers pings and the relay's close, and queues texts."""

    def __init__(self, port: int, headers: dict[str, str] | None = None):
        self._wire = Wire(port)
        answer = self._wire.upgrade(headers)
        assert answer.status == 101, answer
        self.subprotocol = answer.headers["Sec-WebSocket-Protocol"]
        #: The relay's close code. 1005 for a close frame without a code, None without a close frame.
        self.code: int | None = None
        self._has_sent_close = False
        self._texts: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        # The lock is needed because the thread answers pings while the test sends.
        self._sending = threading.Lock()
        self._wire.socket.settimeout(None)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, text: str) -> None:
        self._write(frame(TEXT, text.encode()))

    def receive(self, within: float) -> str:
        """Returns the next text. Raises TimeoutError, or ConnectionClosed after the last text."""
        try:
            text = self._texts.get(timeout=max(0.001, within))
        except queue.Empty:
            raise TimeoutError from None
        if text is None:
            self._texts.put(None)
            raise ConnectionClosed(self.code)
        return text

    def close(self, code: int) -> None:
        """Closes as in RFC 6455: the relay answers with a close frame and ends the connection."""
        with contextlib.suppress(ConnectionClosed):
            self._write(self._closing(code))
        self._reader.join(DEADLINE)
        self.cut()

    def cut(self) -> None:
        """Ends the connection without a close frame."""
        with contextlib.suppress(OSError):
            self._wire.socket.shutdown(socket.SHUT_RDWR)
        self._reader.join(DEADLINE)

    def _closing(self, code: int) -> bytes:
        self._has_sent_close = True
        return frame(CLOSE, struct.pack("!H", code))

    def _write(self, text: bytes) -> None:
        try:
            with self._sending:
                self._wire.send_bytes(text)
        except OSError:
            raise ConnectionClosed(self.code) from None

    def _read(self) -> None:
        try:
            with contextlib.suppress(OSError, ConnectionClosed):
                self._read_frames()
        finally:
            self._texts.put(None)
            self._wire.socket.close()

    def _read_frames(self) -> None:
        pieces = b""
        while (got := self._wire.next_frame(None)) is not None:
            opcode, is_final, payload = got
            if opcode == PING:
                self._write(frame(PONG, payload))
            elif opcode == CLOSE:
                self.code = int.from_bytes(payload[:2]) if payload else 1005
                if not self._has_sent_close:
                    self._write(self._closing(self.code if payload else 1000))
            elif opcode in (TEXT, CONTINUATION):
                pieces += payload
                if is_final:
                    self._texts.put(pieces.decode())
                    pieces = b""


class Refused(Exception):
    """The relay answered a request with `error`."""

    def __init__(self, error: Frame):
        super().__init__(error.text)
        self.error = error


class Session:
    """A connection of one user. `inbox` has the frames that the test has not taken yet, in the order of arrival."""

    def __init__(self, relay: Relay, user: str | None = None, *, headers: dict[str, str] | None = None, **hello: Any):
        self.inbox: list[Frame] = []
        self.user = user
        self._ids = itertools.count(1)
        self._types: dict[int, str] = {}
        self._line = Line(relay.port, headers)
        self.subprotocol = self._line.subprotocol
        greeting = ({} if user is None else {"user": user}) | hello
        try:
            self.welcome = self.request("hello", **greeting)
        except BaseException:
            self.drop()
            raise

    # Requests

    def send_text(self, text: str) -> None:
        self._line.send(text)

    def post(self, type: str, **fields: Any) -> None:
        """Sends a request without `id`, which gets no `ok`."""
        self.send_text(json.dumps({"type": type} | fields))

    def begin(self, type: str, **fields: Any) -> int:
        """Sends a request and returns its id; `reply` waits for the answer."""
        id = next(self._ids)
        self._types[id] = type
        self.send_text(json.dumps({"type": type, "id": id} | fields))
        return id

    def reply(self, id: int | str) -> Frame:
        reply = self._next(lambda frame: frame.get("id") == id, f"a reply to {id!r}")
        if reply["type"] == "error":
            raise Refused(reply)
        documents.check_reply(self._types.pop(id, ""), reply)
        return reply

    def request(self, type: str, **fields: Any) -> Frame:
        return self.reply(self.begin(type, **fields))

    def outcome(self, type: str, **fields: Any) -> Frame:
        """Sends a request and returns the reply or the `error`."""
        try:
            return self.request(type, **fields)
        except Refused as refused:
            return refused.error

    def refusal(self, type: str, **fields: Any) -> Frame:
        """Sends a request that must fail, and returns the `error`."""
        try:
            reply = self.request(type, **fields)
        except Refused as refused:
            return refused.error
        raise AssertionError(f"accepted: {reply.text}")

    def join(self, room: str, **fields: Any) -> Frame:
        return self.request("join", room=room, **fields)

    def send(self, room: str, body: Any, **fields: Any) -> Frame:
        return self.request("send", room=room, body=body, **fields)

    def send_body_text(self, room: str, body: str) -> Frame:
        """Sends a message whose body is this JSON text, byte for byte."""
        id = next(self._ids)
        self.send_text(f'{{"type":"send","id":{id},"room":"{room}","body":{body}}}')
        return self.reply(id)

    # Events

    def expect(self, type: str, within: float = DEADLINE, **fields: Any) -> Frame:
        """Waits for the first frame of this type with these fields. Earlier frames remain in the inbox."""
        return self._next(lambda frame: frame.fits(type, fields), repr({"type": type} | fields), within)

    def next_frame(self, within: float = DEADLINE) -> Frame:
        """Returns the first frame that the test has not taken yet, of any type."""
        return self._next(lambda _: True, "anything", within)

    def received(self, type: str, **fields: Any) -> list[Frame]:
        """Sends a ping, and returns the matching frames that arrived before its reply."""
        self.request("ping")
        return [frame for frame in self.inbox if frame.fits(type, fields)]

    def forget_events(self) -> None:
        """Sends a ping, and removes all frames that arrived before its reply from the inbox."""
        self.request("ping")
        self.inbox.clear()

    # The end

    def close(self, code: int = 1000) -> None:
        self._line.close(code)

    def drop(self) -> None:
        """Ends the connection without a close frame."""
        self._line.cut()

    def closed(self, within: float = DEADLINE) -> int | None:
        """Waits until the relay has closed, and returns the close code. Earlier frames are in the inbox."""
        end = time.monotonic() + within
        while True:
            try:
                self.inbox.append(self._receive(end))
            except ConnectionClosed as closed:
                return closed.code

    def _next(self, fits, wanted: str, within: float = DEADLINE) -> Frame:
        for position, frame in enumerate(self.inbox):
            if fits(frame):
                return self.inbox.pop(position)
        end = time.monotonic() + within
        while True:
            try:
                frame = self._receive(end)
            except TimeoutError:
                raise AssertionError(f"{self.user} waits for {wanted} and has {self.inbox}") from None
            except ConnectionClosed as closed:
                raise AssertionError(f"{self.user} waits for {wanted}: {closed}; has {self.inbox}") from None
            if fits(frame):
                return frame
            self.inbox.append(frame)

    def _receive(self, end: float) -> Frame:
        return Frame(self._line.receive(end - time.monotonic()))
