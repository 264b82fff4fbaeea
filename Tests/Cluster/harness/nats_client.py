# SPDX-License-Identifier: Apache-2.0
"""A small NATS client: requests with one answer, enough for JetStream's API."""

import itertools
import json
import socket
from typing import Any

from relay import DEADLINE

_numbers = itertools.count(1)


class NATSClient:
    """A connection to one server. Raises OSError if it ends, and TimeoutError without an answer."""

    def __init__(self, port: int, within: float = DEADLINE, address: str = "127.0.0.1"):
        self._socket = socket.create_connection((address, port), within)
        self._stream = self._socket.makefile("rb")
        self._line()
        self._socket.sendall(b'CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\nPING\r\n')
        while self._line() != b"PONG":
            pass

    def request(self, subject: str, payload: Any = b"", within: float = DEADLINE) -> Any:
        """Returns the JSON of the answer. None if nobody answers the subject."""
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        number = next(_numbers)
        inbox = f"_INBOX.test.{id(self)}.{number}"
        self._socket.settimeout(within)
        head = f"SUB {inbox} {number}\r\nUNSUB {number} 1\r\nPUB {subject} {inbox} {len(data)}\r\n"
        self._socket.sendall(head.encode() + data + b"\r\n")
        return self._answer(inbox)

    def create_stream(self, name: str, subject: str, replicas: int) -> None:
        settings = {"name": name, "subjects": [subject], "num_replicas": replicas, "storage": "file"}
        answer = self.request(f"$JS.API.STREAM.CREATE.{name}", settings)
        assert answer is not None and "error" not in answer, answer

    def close(self) -> None:
        self._stream.close()
        self._socket.close()

    def _answer(self, inbox: str) -> Any:
        while True:
            words = self._line().split()
            if words[0] == b"PING":
                self._socket.sendall(b"PONG\r\n")
            elif words[0] in (b"MSG", b"HMSG"):
                body = self._stream.read(int(words[-1]) + 2)[:-2]
                if words[1].decode() != inbox:
                    # A late answer to an earlier request.
                    continue
                # The only answers with headers are those of the server: nobody answers the subject.
                return None if words[0] == b"HMSG" else json.loads(body)

    def _line(self) -> bytes:
        line = self._stream.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the connection has ended")
        return line[:-2]
