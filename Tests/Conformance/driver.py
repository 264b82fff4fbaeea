# SPDX-License-Identifier: Apache-2.0
"""A client under test: the process of its driver, with commands as input and the events of its app as output."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any


class Driver:
    """The process of a driver. Its output waits in `events`, by kind."""

    def __init__(self, command: Sequence[str], url: str, options: dict[str, Any]):
        self._command = [*command, url, json.dumps(options)]
        self.events: defaultdict[str, asyncio.Queue[dict[str, Any]]] = defaultdict(asyncio.Queue)
        self.log: list[str] = []

    async def __aenter__(self) -> "Driver":
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            *self._command, stdin=pipe, stdout=pipe, stderr=pipe, limit=1 << 24
        )
        #: Is done when the driver has ended, for any reason.
        self.reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *error: object) -> None:
        self._process.stdin.close()
        try:
            complaints = await asyncio.wait_for(self._process.stderr.read(), 10)
            code = await asyncio.wait_for(self._process.wait(), 10)
        except TimeoutError:
            self._process.kill()
            complaints, code = b"it did not exit at the end of its input", None
        finally:
            self.reading.cancel()
        # Another failure is more useful than the driver's reaction to it.
        if error[0] is None or complaints and code:
            assert not code and not complaints, f"the driver failed ({code}): {complaints.decode()}"

    @property
    def pid(self) -> int:
        return self._process.pid

    def command(self, name: str, **fields: Any) -> None:
        line = json.dumps({"do": name, **fields})
        self.log.append(f"do     {line}")
        self._process.stdin.write(line.encode() + b"\n")

    async def settle(self) -> None:
        """Returns when the client has processed everything that is due now."""
        self.command("sync")
        await self.events["synced"].get()

    async def _read(self) -> None:
        async for line in self._process.stdout:
            self.log.append(f"app    {line.decode().rstrip()[:500]}")
            event = json.loads(line)
            self.events[event.pop("app")].put_nowait(event)
