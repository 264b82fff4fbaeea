# SPDX-License-Identifier: Apache-2.0
"""A substitute for the push services of browsers and for Matrix gateways: an HTTP/1.1 service."""

import http.server
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Request:
    """A request as it arrived."""

    path: str
    #: The names are in lower case.
    headers: dict[str, str]
    body: bytes


@dataclass
class Answer:
    status: int = 201
    body: bytes = b""
    headers: dict[str, str] | None = None


class PushService:
    """Listens on 127.0.0.1, with TLS if it has a certificate. `handle` returns the answer, or None for no answer.

    `connections` counts all connections, with or without a request.
    """

    def __init__(self, certificate: Path | None = None, key: Path | None = None):
        self.handle: Callable[[Request], Answer | None] = lambda request: Answer()
        self.requests: list[Request] = []
        self.connections = 0
        self._silence = threading.Event()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.port = self._server.server_address[1]
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._silence.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                service.connections += 1
                super().setup()

            def do_POST(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                assert len(headers) == len(self.headers), "the request has a header twice"
                request = Request(self.path, headers, self.rfile.read(int(headers["content-length"])))
                service.requests.append(request)
                answer = service.handle(request)
                if answer is None:
                    service._silence.wait()
                    return
                self.send_response(answer.status)
                for name, value in (answer.headers or {}).items():
                    self.send_header(name, value)
                if "Content-Length" not in (answer.headers or {}):
                    self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            def log_message(self, *arguments: object) -> None:
                pass

        return Handler
