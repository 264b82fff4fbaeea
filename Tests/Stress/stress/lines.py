# SPDX-License-Identifier: Apache-2.0
"""Slow lines: connections that read a bounded number of bytes in a second."""

import asyncio

from rfc6455 import Connection

#: The receive buffer of a slow line, in bytes, so that the kernel reads little ahead.
SMALL_BUFFER = 4_096


class SlowConnection(Connection):
    """A connection that reads at most `rate` bytes in a second, in small parts."""

    #: None: the line is not slow any more.
    rate: float | None = None
    _resuming: asyncio.TimerHandle | None = None

    def data_received(self, text: bytes) -> None:
        super().data_received(text)
        if self.rate is not None:
            super().pause()
            self._resuming = asyncio.get_running_loop().call_later(len(text) / self.rate, self.resume)

    def pause(self) -> None:
        super().pause()
        if self._resuming is not None:
            self._resuming.cancel()
