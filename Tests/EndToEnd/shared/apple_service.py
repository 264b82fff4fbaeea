# SPDX-License-Identifier: Apache-2.0
"""A substitute for Apple's push service, made with the h2 library. The test answers each request."""

import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings


@dataclass
class Request:
    """A push as it arrived."""

    number: int
    connection: "Connection"
    stream: int
    headers: dict[str, str]
    body: bytes = b""

    @property
    def token(self) -> str:
        return self.headers[":path"].removeprefix("/3/device/")

    def answer(self, status: int = 200, body: bytes = b"", **headers: str) -> None:
        fields = [(":status", str(status)), ("apns-id", self.headers["apns-id"])]
        fields += [(name.replace("_", "-"), value) for name, value in headers.items()]
        with self.connection.sending() as h2_connection:
            h2_connection.send_headers(self.stream, fields, end_stream=not body)
            if body:
                h2_connection.send_data(self.stream, body, end_stream=True)

    def refuse(self, status: int, reason: str, timestamp: int | None = None, **headers: str) -> None:
        more = "" if timestamp is None else f',"timestamp":{timestamp}'
        self.answer(status, f'{{"reason":"{reason}"{more}}}'.encode(), **headers)

    def reset(self, code: h2.errors.ErrorCodes = h2.errors.ErrorCodes.INTERNAL_ERROR) -> None:
        with self.connection.sending() as h2_connection:
            h2_connection.reset_stream(self.stream, code)

    def go_away(self, last: int) -> None:
        """Sends GOAWAY: no stream above `last` was processed, and the service accepts no more."""
        with self.connection.sending() as h2_connection:
            h2_connection.close_connection(last_stream_id=last)


class Connection:
    def __init__(self, service: "Service", number: int, sock: ssl.SSLSocket):
        self.number = number
        self.sock = sock
        self.pings = 0
        self._service = service
        self._lock = threading.RLock()
        self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        self._open: dict[int, Request] = {}

    class _Sending:
        def __init__(self, connection: "Connection"):
            self._connection = connection

        def __enter__(self) -> h2.connection.H2Connection:
            self._connection._lock.acquire()
            return self._connection._h2

        def __exit__(self, *error: object) -> None:
            try:
                with suppress(OSError):
                    self._connection.sock.sendall(self._connection._h2.data_to_send())
            finally:
                self._connection._lock.release()

    def sending(self) -> "_Sending":
        return Connection._Sending(self)

    def allow(self, streams: int) -> None:
        with self.sending() as h2_connection:
            h2_connection.update_settings({h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: streams})

    def cut(self) -> None:
        with suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)

    def serve(self) -> None:
        with self.sending() as h2_connection:
            h2_connection.local_settings = h2.settings.Settings(
                client=False, initial_values={h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: self._service.streams}
            )
            h2_connection.initiate_connection()
        with suppress(OSError, h2.exceptions.ProtocolError):
            while data := self.sock.recv(65536):
                with self.sending() as h2_connection:
                    events = h2_connection.receive_data(data)
                for event in events:
                    self._take(event)
        self.sock.close()

    def _take(self, event: object) -> None:
        match event:
            case h2.events.RequestReceived(stream_id=stream, headers=headers):
                fields = {_text(name): _text(value) for name, value in headers}
                self._open[stream] = Request(self._service.next_number(), self, stream, fields)
            case h2.events.DataReceived(stream_id=stream, data=data, flow_controlled_length=length):
                self._open[stream].body += data
                with self.sending() as h2_connection:
                    h2_connection.acknowledge_received_data(length, stream)
            case h2.events.StreamEnded(stream_id=stream):
                self._service.take(self._open.pop(stream))
            case h2.events.PingReceived():
                self.pings += 1


class Service:
    """Listens on 127.0.0.1 with TLS. `handle` may answer a request. By default all requests get 200."""

    def __init__(self, certificate: Path, key: Path):
        self.streams = 100
        self.handle: Callable[[Request], None] = Request.answer
        self.requests: list[Request] = []
        self.connections: list[Connection] = []
        self._numbers = 0
        self._lock = threading.Lock()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        self._context.set_alpn_protocols(["h2"])
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        for connection in self.connections:
            connection.cut()

    def next_number(self) -> int:
        with self._lock:
            self._numbers += 1
            return self._numbers

    def take(self, request: Request) -> None:
        with self._lock:
            self.requests.append(request)
        self.handle(request)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with suppress(OSError, ssl.SSLError):
            secure = self._context.wrap_socket(sock, server_side=True)
            connection = Connection(self, len(self.connections), secure)
            self.connections.append(connection)
            connection.serve()


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
