# SPDX-License-Identifier: Apache-2.0
"""An HTTP/2 client, made with the h2 library, that shows every frame to the test."""

import json
import socket
import ssl
from pathlib import Path
from typing import Any

import h2.config
import h2.connection
import h2.events
import h2.settings

from relay import DEADLINE


class Answer:
    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.body = b""
        #: The error code of a RST_STREAM.
        self.reset: int | None = None
        self.is_complete = False

    @property
    def status(self) -> int:
        return int(self.headers[":status"])

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def reason(self) -> str:
        return self.json["reason"]


class Connection:
    """One connection. It reads events only during `wait`."""

    def __init__(self, port: int, certificate: Path):
        context = ssl.create_default_context(cafile=str(certificate))
        context.set_alpn_protocols(["h2"])
        tcp = socket.create_connection(("127.0.0.1", port), DEADLINE)
        self.socket = context.wrap_socket(tcp, server_hostname="localhost")
        assert self.socket.selected_alpn_protocol() == "h2"
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self.answers: dict[int, Answer] = {}
        self.goaway: h2.events.ConnectionTerminated | None = None
        self.is_closed = False
        self._has_settings = False
        self._unread = b""
        self.h2.initiate_connection()
        self._flush()
        self.wait(lambda: self._has_settings)

    @property
    def streams(self) -> int:
        """The maximum number of concurrent streams that the server allows."""
        return self.h2.remote_settings.max_concurrent_streams

    def send(
        self,
        path: str,
        headers: dict[str, str] | list[tuple[str, str]],
        body: bytes | Any = b"",
        method: str = "POST",
        is_last: bool = True,
    ) -> int:
        """Sends a request and returns its stream. Does not wait for the answer."""
        stream = self.h2.get_next_available_stream_id()
        pairs = list(headers.items()) if isinstance(headers, dict) else headers
        first = [(":method", method), (":scheme", "https"), (":path", path), (":authority", "localhost")]
        self.h2.send_headers(stream, first + pairs)
        self.answers[stream] = Answer()
        self.data(stream, body if isinstance(body, bytes) else json.dumps(body).encode(), is_last)
        return stream

    def data(self, stream: int, body: bytes, is_last: bool = True) -> None:
        """Sends a body, and waits for the server's flow control."""
        while len(body) > 0:
            self.wait(lambda: self.h2.local_flow_control_window(stream) > 0 or self.answers[stream].is_complete)
            if self.answers[stream].is_complete:
                return
            size = min(len(body), self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
            self.h2.send_data(stream, body[:size])
            body = body[size:]
            self._flush()
        if is_last:
            self.h2.end_stream(stream)
        self._flush()

    def answer(self, stream: int) -> Answer:
        answer = self.answers[stream]
        self.wait(lambda: answer.is_complete)
        assert answer.is_complete, "there was no answer"
        return answer

    def request(self, *arguments: Any, **others: Any) -> Answer:
        return self.answer(self.send(*arguments, **others))

    def wait(self, condition: Any, seconds: float = DEADLINE) -> bool:
        """Reads until `condition` is true, the connection ends, or nothing arrives for `seconds`."""
        while not condition() and not self.is_closed:
            if not self._read(seconds):
                break
        return bool(condition())

    def close(self) -> None:
        self.socket.close()

    def _flush(self) -> None:
        data = self.h2.data_to_send()
        try:
            self.socket.sendall(data)
        except OSError:
            self.is_closed = True

    def _read(self, seconds: float) -> bool:
        self.socket.settimeout(seconds)
        try:
            data = self.socket.recv(65_536)
        except TimeoutError:
            return False
        except OSError:
            data = b""
        if not data:
            self.is_closed = True
            return False
        self._unread += data
        while len(self._unread) >= 9 and len(self._unread) >= (size := 9 + int.from_bytes(self._unread[:3], "big")):
            frame, self._unread = self._unread[:size], self._unread[size:]
            for event in self.h2.receive_data(frame):
                self._see(event)
        self._flush()
        return True

    def _see(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.RemoteSettingsChanged():
                self._has_settings = True
            case h2.events.ResponseReceived():
                self.answers[event.stream_id].headers = dict(event.headers)
            case h2.events.DataReceived():
                self.answers[event.stream_id].body += event.data
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case h2.events.StreamEnded():
                self.answers[event.stream_id].is_complete = True
            case h2.events.StreamReset():
                self.answers[event.stream_id].reset = int(event.error_code)
                self.answers[event.stream_id].is_complete = True
            case h2.events.ConnectionTerminated():
                self.goaway = event
                # The library closes the connection at GOAWAY, but earlier streams can still get their answers.
                self.h2.state_machine.state = h2.connection.ConnectionState.CLIENT_OPEN
