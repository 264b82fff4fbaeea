# SPDX-License-Identifier: Apache-2.0
"""Calls methods of the synchronous and of the asynchronous client in the same way."""

import inspect
from collections.abc import Callable
from typing import Any

import anyio
import httpx

from stillwire import AsyncStillwire, Stillwire


class Both:
    """A client of one kind. `call` returns the result of a call, and the list of an iteration."""

    def __init__(self, is_async: bool, url: str | list[str] = "http://relay", handler: Any = None, **settings: Any):
        self._is_async = is_async
        self._url = url
        self._handler = handler
        self._settings = settings
        #: The delays before retries.
        self.delays: list[float] = []
        #: The time of the client's clock, in seconds. No time passes by itself.
        self.now = 0.0

    def call(self, call: Callable[[Any], Any]) -> Any:
        return anyio.run(self._async, call) if self._is_async else self._sync(call)

    def _sync(self, call: Callable[[Any], Any]) -> Any:
        with httpx.Client(**self._transport) as http, Stillwire(self._url, http=http, **self._settings) as relay:
            if self._handler:
                relay._sleep = self.delays.append
                relay._now = lambda: self.now
            result = call(relay)
            return list(result) if inspect.isgenerator(result) else result

    async def _async(self, call: Callable[[Any], Any]) -> Any:
        async def sleep(delay: float) -> None:
            self.delays.append(delay)

        async with httpx.AsyncClient(**self._transport) as http:
            relay = AsyncStillwire(self._url, http=http, **self._settings)
            if self._handler:
                relay._sleep = sleep
                relay._now = lambda: self.now
            result = call(relay)
            if inspect.isasyncgen(result):
                return [value async for value in result]
            return await result

    @property
    def _transport(self) -> dict[str, Any]:
        # Certificates take most of the time that httpx needs for a new client.
        return {"transport": httpx.MockTransport(self._handler)} if self._handler else {"verify": False}
