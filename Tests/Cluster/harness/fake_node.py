#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program with the options of a node, to check the tests without a cluster. It uses only the standard library.

All fake nodes of a test share one database, and a lock on it elects the leader. A standby answers as a node does. The
node that gets the lock becomes the real relay, in the same process.
"""

import argparse
import fcntl
import json
import os
import socketserver
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path

REAL = os.environ["REAL_RELAY"]


class Standby(BaseHTTPRequestHandler):
    """Answers one request on each connection."""

    leader_file: Path

    def answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        leader = self.leader_file.read_text() if self.leader_file.exists() else None
        if self.path == "/live":
            self.respond(200, {"status": "live"})
        elif self.path == "/ready":
            self.respond(503, {"status": "standby", "leader": leader})
        elif leader is None or self.path == "/v1/connect":
            problem = {"status": 503, "code": "unavailable", "leader": leader}
            self.respond(503, problem, {"Retry-After": "1", "Stillwire-Leader": leader})
        else:
            self.respond(307, {}, {"Location": leader + self.path, "Stillwire-Leader": leader})

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def respond(self, status: int, body: object, headers: dict[str, str | None] | None = None) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            if value is not None:
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


class Listener(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["serve"])
    for name in ("data", "port", "cluster", "cluster-name", "cluster-node", "cluster-url"):
        parser.add_argument(f"--{name}", required=True)
    options, others = parser.parse_known_args()
    shared = Path(options.data).parent / "shared"
    shared.mkdir(exist_ok=True)
    if not Path(options.data).is_symlink():
        Path(options.data).symlink_to(shared)
    Standby.leader_file = shared.parent / "leader"
    listener = Listener(("127.0.0.1", int(options.port)), Standby)
    threading.Thread(target=listener.serve_forever, args=(0.02,), daemon=True).start()
    with (shared.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        listener.shutdown()
        listener.server_close()
        Standby.leader_file.write_text(options.cluster_url)
        # The relay keeps the descriptor open, and the lock ends with its process.
        os.set_inheritable(lock.fileno(), True)
        os.execv(REAL, [REAL, "serve", "--data", str(shared), "--port", options.port, *others])


if __name__ == "__main__":
    main()
