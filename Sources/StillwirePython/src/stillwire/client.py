# SPDX-License-Identifier: Apache-2.0
"""The clients of a relay, with httpx."""

import copy
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, closing
from itertools import count
from types import TracebackType
from typing import Any, Self, TypedDict

import anyio
import httpx

from . import types
from .addresses import Addresses
from .errors import RelayError, StillwireError, connection_error, relay_error
from .operations import AsyncOperations, Operations
from .requests import OMITTED, Omitted, Request, StreamRetries, retry_delay, segment
from .version import __version__

#: The minimum timeout of a stream without bytes, in seconds, and the same for a node of a cluster. The relay sends a
#: comment every 15 s.
_SILENCE = 45.0
_SILENCE_OF_NODE = 20.0
#: The maximum timeout to connect to a node of a cluster, in seconds: a machine without power refuses no connection.
_CONNECT = 5.0
#: The largest pages that the relay returns.
_MESSAGES = 300
_ENTRIES = 100


class LockScreenEvent(TypedDict):
    """An event of a simulated phone.

    `notification`, `badge` and `removed` have a `Notification`, and `cleared` has a `count`.
    """

    event: str
    data: Any


class PresenceEvent(TypedDict):
    """An event of the presence stream, see "Presence for backends" in the protocol.

    `presence` has the new entry of a user. `reset` means that the entries of all users must be read again.
    `resumed` means that the stream has missed nothing, and `end` that it ends; `reset` and `end` have a `reason`.
    """

    id: str
    event: str
    data: Any


class _Settings:
    """The settings that both clients share."""

    def __init__(
        self,
        url: str | Sequence[str],
        api_key: str | Callable[[], str] | None,
        user: str | None,
        timeout: float,
        retries: int,
    ):
        self._addresses = Addresses(url)
        self._api_key = api_key
        self._user = user
        self._timeout = timeout
        self._retries = retries
        #: A time in seconds that never goes back.
        self._now: Callable[[], float] = time.monotonic

    def with_options(
        self, *, user: str | None | Omitted = OMITTED, timeout: float | None = None, retries: int | None = None
    ) -> Self:
        """Returns a client with other settings, which uses the same connections.

        Args:
            user: The user in whose name the client sends its requests: the header `X-Stillwire-User`.
            timeout: The timeout of each attempt in seconds: to connect, and for each wait for bytes.
            retries: The maximum number of retries.
        """
        other = copy.copy(self)
        other._user = self._user if isinstance(user, Omitted) else user
        other._timeout = self._timeout if timeout is None else timeout
        other._retries = self._retries if retries is None else retries
        return other

    def _arguments(self, request: Request, url: str) -> dict[str, Any]:
        """Returns the arguments for httpx."""
        headers = {"User-Agent": f"stillwire-python/{__version__}"}
        if self._api_key is not None:
            key = self._api_key if isinstance(self._api_key, str) else self._api_key()
            headers["Authorization"] = f"Bearer {key}"
        if self._user is not None:
            headers["X-Stillwire-User"] = self._user
        return {
            "method": request.method, "url": url + request.path, "params": request.parameters,
            "json": request.json, "headers": headers, "timeout": self._timeouts(self._timeout),
        }  # fmt: skip

    def _timeouts(self, read: float) -> httpx.Timeout:
        connect = min(self._timeout, _CONNECT) if self._addresses.are_several else self._timeout
        return httpx.Timeout(self._timeout, connect=connect, read=read)

    def _delay(self, request: Request, failure: StillwireError, attempt: int) -> float:
        """Returns the seconds until the next attempt. Raises the failure if it is final."""
        delay = retry_delay(request, failure, attempt, self._retries)
        if delay is None:
            raise failure
        return delay

    def _endless(self, request: Request, url: str, after: str = "") -> dict[str, Any]:
        arguments = self._arguments(request, url)
        if after:
            arguments["headers"]["Last-Event-ID"] = after
        silence = _SILENCE_OF_NODE if self._addresses.are_several else _SILENCE
        return {**arguments, "timeout": self._timeouts(max(self._timeout, silence))}


def _result(request: Request, response: httpx.Response) -> Any:
    """Returns the result of an answer. Raises its error."""
    is_problem = response.headers.get("content-type", "").startswith("application/problem+json")
    if not response.is_success and (is_problem or response.status_code not in request.also_expected):
        raise relay_error(response)
    if request.is_text or response.status_code == 204:
        return response.text if request.is_text else None
    try:
        return response.json()
    except ValueError:
        raise RelayError(response.status_code, title="the answer is not JSON", detail=response.text[:200]) from None


def _lock_screen_events(token: str) -> Request:
    return Request("GET", f"/v1/simulator/devices/{segment(token)}/events")


def _presence_events(users: list[str] | None) -> Request:
    query = {"users": ",".join(users)} if users is not None else {}
    return Request("GET", "/v1/presence/events", query=query)


class _EventReader:
    """Reads server-sent events, line by line."""

    def __init__(self, position: str = "") -> None:
        self._event = ""
        self._data = ""
        self._id = ""
        self.position = position
        """The id of the last complete event that has one."""
        self.is_handed_over = False
        """True if the relay has ended the stream because it shuts down, or because another node leads."""

    def read_numbered(self, line: str) -> PresenceEvent | None:
        """Returns the event with its id that ends with this line."""
        if line.startswith("id:"):
            self._id = line[3:].strip()
        if not line.strip():
            self.position = self._id or self.position
        event = self.read(line)
        if event is None:
            return None
        self.is_handed_over = event["event"] == "end" and event["data"].get("reason") == "shutdown"
        return {"id": self._id, **event}

    def read(self, line: str) -> LockScreenEvent | None:
        """Returns the event that ends with this line."""
        field, _, value = line.partition(":")
        if field == "event":
            self._event = value.strip()
        elif field == "data":
            self._data += value.strip()
        elif not line and self._data:
            event: LockScreenEvent = {"event": self._event, "data": json.loads(self._data)}
            self._event = self._data = ""
            return event
        return None


class Stillwire(_Settings, Operations):
    """A client of a relay. Threads can share it.

    All methods raise a `StillwireError`. The client repeats a request after 429, 503 and a lost connection if a
    repetition has no further effect: GET, PUT, DELETE, requests with an idempotency key, and requests that only read.

    `is_live`, `is_ready`, `get_cluster`, `read_metrics` and `publish_snapshot` are about the node that answers. This is
    the leader, or the first node of the list if the client has not found the leader yet. For another node, make a
    client with its URL alone. `step_down` finds the leader.

    Args:
        url: The URL of the relay, such as `https://relay.example.org`, or those of all nodes of a cluster. The client
            tries these URLs until the leader answers, and connects to no URL outside the list.
        api_key: An API key, or a function that returns one. It can also be a user's token.
        user: The user in whose name the client sends its requests: the header `X-Stillwire-User`.
        timeout: The timeout of each attempt in seconds: to connect, and for each wait for bytes. With several URLs, the
            timeout to connect is at most 5 s.
        retries: The maximum number of retries.
        http: A client of httpx with your own settings. You close it yourself.
    """

    def __init__(
        self,
        url: str | Sequence[str],
        *,
        api_key: str | Callable[[], str] | None = None,
        user: str | None = None,
        timeout: float = 10.0,
        retries: int = 3,
        http: httpx.Client | None = None,
    ):
        super().__init__(url, api_key, user, timeout, retries)
        self._is_owner = http is None
        self._http = http or httpx.Client()
        self._sleep: Callable[[float], None] = time.sleep

    def close(self) -> None:
        """Closes the connections."""
        if self._is_owner:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, request: Request) -> Any:
        for attempt in count():
            turn = self._addresses.round(request)
            is_trying = True
            while is_trying:
                try:
                    result = _result(request, self._http.request(**self._arguments(request, turn.url)))
                    turn.answered()
                    return result
                except httpx.TransportError as error:
                    failure: StillwireError = connection_error(error)
                except RelayError as error:
                    failure = error
                is_trying = turn.next(failure)
            self._sleep(self._delay(request, failure, attempt))

    def _open(self, request: Request, after: str = "") -> httpx.Response:
        """Opens a stream at the leader, after this event. The caller closes the response."""
        turn = self._addresses.round(request)
        while True:
            try:
                sent = self._http.build_request(**self._endless(request, turn.url, after))
                response = self._http.send(sent, stream=True)
                if response.is_success:
                    turn.answered()
                    return response
                with closing(response):
                    response.read()
                failure: StillwireError = relay_error(response)
            except httpx.TransportError as error:
                failure = connection_error(error)
            if not turn.next(failure):
                raise failure

    def iterate_messages(self, room: str, *, after: int = 0) -> Iterator[types.Message | types.DeletedMessage]:
        """Iterates over the stored messages of a room, oldest first, and requests further pages when it needs them.

        Args:
            after: Only messages newer than this message.
        """
        while True:
            page = self.list_messages(room, after=after, limit=_MESSAGES)
            yield from page["messages"]
            if not page["more"] or not page["messages"]:
                return
            after = page["messages"][-1]["seq"]

    def iterate_members(self, room: str) -> Iterator[types.Presence]:
        """Iterates over the members of a room by name, and requests further pages when it needs them."""
        after = None
        while True:
            page = self.list_members(room, after=after, limit=_ENTRIES)
            yield from page["members"]
            if not page["more"] or not page["members"]:
                return
            after = page["members"][-1]["user"]

    def iterate_pushes(
        self, *, state: types.PushState | None = None, user: str | None = None
    ) -> Iterator[types.Push]:
        """Iterates over the pushes, newest first, and requests further pages when it needs them.

        Args:
            state: Only pushes in this state.
            user: Only pushes to this user.
        """
        after = None
        while True:
            page = self.list_pushes(state=state, user=user, after=after, limit=_ENTRIES)
            yield from page["pushes"]
            if not page["more"] or not page["pushes"]:
                return
            after = page["pushes"][-1]["id"]

    def follow_lock_screen(self, token: str) -> Iterator[LockScreenEvent]:
        """Follows a simulated phone's lock screen, until the connection ends. Tests of a backend use it.

        Args:
            token: The token that the device was registered with.
        """
        reader = _EventReader()
        try:
            with closing(self._open(_lock_screen_events(token))) as response:
                for line in response.iter_lines():
                    if event := reader.read(line.rstrip("\n")):
                        yield event
        except httpx.TransportError as error:
            raise connection_error(error) from error

    def follow_presence(
        self, users: list[str] | None = None, *, after: str | None = None
    ) -> Iterator[PresenceEvent]:
        """Follows the presence and the Focus of users, and reconnects until you stop.

        After a lost connection, and after an event `end`, the client connects again, without a limit. The stream
        continues after the last event, and begins with `resumed` or `reset`. The method raises a permanent error
        immediately, for example 401 or 403. It raises any error if the first stream does not open within the retries.

        Args:
            users: Names of users, and patterns such as `team-*`: at most 100. Default: all users.
            after: The `id` of the last event that you have handled. The stream continues after it.
        """
        request = _presence_events(users)
        position = after or ""
        retries = StreamRetries(request, self._retries)
        while True:
            try:
                response = self._open(request, position)
            except StillwireError as failure:
                delay = retries.failed(failure)
                if delay is None:
                    raise
                self._sleep(delay)
                continue
            retries.opened(self._now(), response.url.netloc)
            reader = _EventReader(position)
            with closing(response):
                try:
                    for line in response.iter_lines():
                        if event := reader.read_numbered(line.rstrip("\n")):
                            yield event
                        position = reader.position
                except httpx.TransportError:
                    pass  # The connection is lost.
            self._sleep(retries.ended(self._now(), reader.is_handed_over))


class AsyncStillwire(_Settings, AsyncOperations):
    """An asynchronous client of a relay, for asyncio and trio. `Stillwire` describes the arguments and the retries."""

    def __init__(
        self,
        url: str | Sequence[str],
        *,
        api_key: str | Callable[[], str] | None = None,
        user: str | None = None,
        timeout: float = 10.0,
        retries: int = 3,
        http: httpx.AsyncClient | None = None,
    ):
        super().__init__(url, api_key, user, timeout, retries)
        self._is_owner = http is None
        self._http = http or httpx.AsyncClient()
        self._sleep = anyio.sleep

    async def close(self) -> None:
        """Closes the connections."""
        if self._is_owner:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _send(self, request: Request) -> Any:
        for attempt in count():
            turn = self._addresses.round(request)
            is_trying = True
            while is_trying:
                try:
                    result = _result(request, await self._http.request(**self._arguments(request, turn.url)))
                    turn.answered()
                    return result
                except httpx.TransportError as error:
                    failure: StillwireError = connection_error(error)
                except RelayError as error:
                    failure = error
                is_trying = turn.next(failure)
            await self._sleep(self._delay(request, failure, attempt))

    async def _open(self, request: Request, after: str = "") -> httpx.Response:
        """Opens a stream at the leader, after this event. The caller closes the response."""
        turn = self._addresses.round(request)
        while True:
            try:
                sent = self._http.build_request(**self._endless(request, turn.url, after))
                response = await self._http.send(sent, stream=True)
                if response.is_success:
                    turn.answered()
                    return response
                async with aclosing(response):
                    await response.aread()
                failure: StillwireError = relay_error(response)
            except httpx.TransportError as error:
                failure = connection_error(error)
            if not turn.next(failure):
                raise failure

    async def iterate_messages(
        self, room: str, *, after: int = 0
    ) -> AsyncIterator[types.Message | types.DeletedMessage]:
        """Iterates over the stored messages of a room, as `Stillwire.iterate_messages` does."""
        while True:
            page = await self.list_messages(room, after=after, limit=_MESSAGES)
            for message in page["messages"]:
                yield message
            if not page["more"] or not page["messages"]:
                return
            after = page["messages"][-1]["seq"]

    async def iterate_members(self, room: str) -> AsyncIterator[types.Presence]:
        """Iterates over the members of a room, as `Stillwire.iterate_members` does."""
        after = None
        while True:
            page = await self.list_members(room, after=after, limit=_ENTRIES)
            for member in page["members"]:
                yield member
            if not page["more"] or not page["members"]:
                return
            after = page["members"][-1]["user"]

    async def iterate_pushes(
        self, *, state: types.PushState | None = None, user: str | None = None
    ) -> AsyncIterator[types.Push]:
        """Iterates over the pushes, as `Stillwire.iterate_pushes` does."""
        after = None
        while True:
            page = await self.list_pushes(state=state, user=user, after=after, limit=_ENTRIES)
            for push in page["pushes"]:
                yield push
            if not page["more"] or not page["pushes"]:
                return
            after = page["pushes"][-1]["id"]

    async def follow_lock_screen(self, token: str) -> AsyncIterator[LockScreenEvent]:
        """Follows a simulated phone's lock screen, as `Stillwire.follow_lock_screen` does."""
        reader = _EventReader()
        try:
            async with aclosing(await self._open(_lock_screen_events(token))) as response:
                async for line in response.aiter_lines():
                    if event := reader.read(line.rstrip("\n")):
                        yield event
        except httpx.TransportError as error:
            raise connection_error(error) from error

    async def follow_presence(
        self, users: list[str] | None = None, *, after: str | None = None
    ) -> AsyncIterator[PresenceEvent]:
        """Follows the presence and the Focus of users, as `Stillwire.follow_presence` does."""
        request = _presence_events(users)
        position = after or ""
        retries = StreamRetries(request, self._retries)
        while True:
            try:
                response = await self._open(request, position)
            except StillwireError as failure:
                delay = retries.failed(failure)
                if delay is None:
                    raise
                await self._sleep(delay)
                continue
            retries.opened(self._now(), response.url.netloc)
            reader = _EventReader(position)
            async with aclosing(response):
                try:
                    async for line in response.aiter_lines():
                        if event := reader.read_numbered(line.rstrip("\n")):
                            yield event
                        position = reader.position
                except httpx.TransportError:
                    pass  # The connection is lost.
            await self._sleep(retries.ended(self._now(), reader.is_handed_over))
