# SPDX-License-Identifier: Apache-2.0
"""Requests and their repetition as values. Nothing here sends."""

import random
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any
from urllib.parse import quote

from .errors import ConnectionFailedError, RelayError, StillwireError

#: Statuses that say that the relay has not performed a request.
TEMPORARY = {307, 429, 503}
#: Statuses after which a stream that was open is opened again: the relay or a proxy restarts, or a leader changes.
TEMPORARY_OF_STREAM = TEMPORARY | {502, 504}
#: The duration in seconds after which a stream counts as proven, and the delays begin with the first one again.
STEADY = 20.0
#: The longest `Retry-After` that the client waits for, in seconds. If the relay names a longer one, the call fails.
MAX_DELAY = 30.0


class Omitted(Enum):
    """The type of `OMITTED`."""

    OMITTED = "omitted"

    def __repr__(self) -> str:
        return "OMITTED"


#: The request does not have this field. In some requests, None has another meaning: it deletes a value.
OMITTED = Omitted.OMITTED


@dataclass(frozen=True, slots=True)
class Request:
    """A request to the relay."""

    method: str
    path: str
    query: Mapping[str, str | int | bool | None] | None = None
    body: Mapping[str, Any] | None = None
    #: True for a POST that only reads, or that has an idempotency key.
    is_repeatable: bool = False
    #: Statuses from 300 on whose answer is a result.
    also_expected: frozenset[int] | set[int] = frozenset()
    is_text: bool = False
    #: True if each node of a cluster answers for itself.
    is_of_node: bool = False
    #: Codes with which a node refuses the request because it does not lead.
    codes_of_standby: frozenset[str] | set[str] = frozenset()

    @property
    def is_idempotent(self) -> bool:
        """True if the request has no further effect when it is repeated."""
        if self.method != "POST":
            return True
        # The caller may have removed the idempotency key of a request that needs it for this.
        return self.is_repeatable and (self.body or {}).get("key", "") is not None

    @property
    def parameters(self) -> dict[str, str]:
        return {key: parameter(value) for key, value in (self.query or {}).items() if value is not None}

    @property
    def json(self) -> dict[str, Any] | None:
        if self.body is None:
            return None
        return {key: value for key, value in self.body.items() if value is not OMITTED}


def parameter(value: str | int | bool) -> str:
    """Returns a value of a query as text."""
    return ("false", "true")[value] if isinstance(value, bool) else str(value)


def segment(value: str | int) -> str:
    """Returns a value as one segment of a path."""
    text = str(value)
    if text in ("", ".", ".."):
        raise ValueError(f"{text!r} cannot be a part of a URL")
    return quote(text, safe="")


def new_key(key: str | None | Omitted) -> str | None:
    """Returns the idempotency key of a request, and a new one if the caller gives none."""
    return str(uuid.uuid4()) if key is OMITTED else key


def retry_delay(request: Request, failure: StillwireError, attempt: int, retries: int) -> float | None:
    """Returns the seconds to wait before the request is sent again, or None if it has failed.

    `attempt` is 0 for the first attempt. The client repeats a request only if a repetition has no further effect.
    """
    if attempt >= retries or not request.is_idempotent:
        return None
    if isinstance(failure, ConnectionFailedError):
        named = None
    elif isinstance(failure, RelayError) and failure.status in TEMPORARY:
        named = failure.retry_after
    else:
        return None
    backoff = 0.25 * 2.0**attempt * random.uniform(0.5, 1.0)
    delay = max(backoff, named or 0.0)
    return delay if delay <= MAX_DELAY else None


class StreamRetries:
    """The delays before a stream is opened again.

    A stream that was never open is opened again as often as a request. After that the client retries without a limit:
    a backend must not lose its stream because the relay restarts. A stream that ends soon counts as a failure, unless
    the relay has ended it in order, or another node has become the leader.
    """

    def __init__(self, request: Request, retries: int):
        self._request = request
        self._retries = retries
        self._attempt = 0
        self._node: bytes | None = None
        self._opened_at = 0.0

    def opened(self, now: float, node: bytes) -> None:
        if node != self._node:
            self._attempt = 0
        self._node = node
        self._opened_at = now

    def ended(self, now: float, is_handed_over: bool) -> float:
        """Returns the seconds until the next attempt, after the end of an open stream."""
        if is_handed_over or now - self._opened_at >= STEADY:
            self._attempt = 0
        return self._next()

    def failed(self, failure: StillwireError) -> float | None:
        """Returns the seconds until the next attempt. Returns None if the error does not end by itself."""
        if self._node is None:
            delay = retry_delay(self._request, failure, self._attempt, self._retries)
            self._attempt += 1
            return delay
        if isinstance(failure, ConnectionFailedError):
            return self._next()
        if isinstance(failure, RelayError) and failure.status in TEMPORARY_OF_STREAM:
            return max(self._next(), failure.retry_after or 0.0)
        return None

    def _next(self) -> float:
        ceiling = min(20.0, 0.5 * 2.0 ** min(self._attempt, 10))
        self._attempt += 1
        return ceiling * random.uniform(0.5, 1.0)
