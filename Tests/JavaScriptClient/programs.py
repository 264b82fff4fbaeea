# SPDX-License-Identifier: Apache-2.0
"""The programs that run and check the JavaScript client."""

import subprocess
from pathlib import Path

from relay import DEADLINE

HERE = Path(__file__).resolve().parent
#: Node with the global WebSocket that Node 22 and later have.
NODE = ["node", "--require", HERE / "websocket.cjs"]


def output(*command: object, folder: Path, **environment: str) -> str:
    """Runs a program in a folder, and returns its output. Fails with its messages if the program fails."""
    ended = subprocess.run(
        [*map(str, command)], cwd=folder, capture_output=True, text=True, timeout=3 * DEADLINE, env=environment or None
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout
