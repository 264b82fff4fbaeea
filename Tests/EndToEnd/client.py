# SPDX-License-Identifier: Apache-2.0
"""A small well-behaved client: one `Session` is one connection of one user."""

import itertools
import json
import re
import socket
import time
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

import documents
from relay import DEADLINE, Relay

SUBPROTOCOL = "stillwire.v1.json"

_decoder = json.JSONDecoder()


class Frame(dict):
    """A parsed frame that remembers the text it came as, and is as the relay's document says."""

    def __init__(self, text: str):
        super().__init__(json.loads(text))
        self.text = text
        documents.check_frame(self)

    @property
    def body_text(self) -> str:
        """The value of `body` exactly as it stands in the frame."""
        start = re.search(r'"body"\s*:\s*', self.text).end()
        _, end = _decoder.raw_decode(self.text, start)
        return self.text[start:end]

    def fits(self, expected: dict[str, Any]) -> bool:
        return all(key in self and self[key] == value for key, value in expected.items())


class Refused(Exception):
    """A request was answered by `error`."""

    def __init__(self, error: Frame):
        super().__init__(error.text)
        self.error = error


class Session:
    """Frames that nobody has asked for yet wait in `inbox`, in the order of their arrival."""

    def __init__(self, relay: Relay, user: str | None = None, *, headers: dict[str, str] | None = None, **hello: Any):
        self.inbox: list[Frame] = []
        self.user = user
        self._ids = itertools.count(1)
        self._types: dict[int, str] = {}
        self._socket = connect(
            f"ws://127.0.0.1:{relay.port}/v1/connect",
            subprotocols=[SUBPROTOCOL],
            additional_headers=headers,
            compression=None,
            ping_interval=None,
            max_size=None,
            max_queue=None,
            proxy=None,
            legacy=True,
            open_timeout=DEADLINE,
            close_timeout=DEADLINE,
        )
        self.subprotocol = self._socket.subprotocol
        greeting = ({} if user is None else {"user": user}) | hello
        try:
            self.welcome = self.request("hello", **greeting)
        except BaseException:
            self.drop()
            raise

    # Requests

    def send_text(self, text: str) -> None:
        self._socket.send(text)

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
        """The reply, or the `error` in its place."""
        try:
            return self.request(type, **fields)
        except Refused as refused:
            return refused.error

    def refusal(self, type: str, **fields: Any) -> Frame:
        """The `error` that answers a request which must not succeed."""
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
        """Sends a body that is spelled exactly as given."""
        id = next(self._ids)
        self.send_text(f'{{"type":"send","id":{id},"room":"{room}","body":{body}}}')
        return self.reply(id)

    # Events

    def expect(self, type: str, within: float = DEADLINE, **fields: Any) -> Frame:
        """The first frame of this type with these fields; frames before it stay in the inbox."""
        expected = {"type": type} | fields
        return self._next(lambda frame: frame.fits(expected), repr(expected), within)

    def next_frame(self, within: float = DEADLINE) -> Frame:
        """The first frame that nobody has asked for yet, whatever it is."""
        return self._next(lambda _: True, "anything", within)

    def heard(self, type: str, **fields: Any) -> list[Frame]:
        """The matching frames that arrived before the reply to a ping sent now."""
        self.request("ping")
        return [frame for frame in self.inbox if frame.fits({"type": type} | fields)]

    def forget_events(self) -> None:
        """Empties the inbox of all that was sent before the reply to a ping sent now."""
        self.request("ping")
        self.inbox.clear()

    # The end

    def close(self, code: int = 1000) -> None:
        self._socket.close(code)

    def drop(self) -> None:
        """Ends the connection without a close frame."""
        try:
            self._socket.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()

    def closed(self, within: float = DEADLINE) -> int | None:
        """Waits until the server has closed and returns its close code; what came before is in the inbox."""
        end = time.monotonic() + within
        while True:
            try:
                self.inbox.append(self._receive(end))
            except ConnectionClosed as closed:
                return closed.rcvd.code if closed.rcvd else None

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
        return Frame(self._socket.recv(timeout=max(0.001, end - time.monotonic())))
