# SPDX-License-Identifier: Apache-2.0
"""The HTTP client of the Stillwire relay, for backends."""

from . import types
from .client import AsyncStillwire, LockScreenEvent, PresenceEvent, Stillwire
from .errors import (
    BadRequestError,
    ConflictError,
    ConnectionFailedError,
    ForbiddenError,
    InternalError,
    NotFoundError,
    NotJoinedError,
    RateLimitedError,
    RelayError,
    RequestTimeoutError,
    RestrictedError,
    StillwireError,
    TooLargeError,
    UnauthorizedError,
    UnavailableError,
    UnsupportedError,
)
from .requests import OMITTED, Omitted
from .version import __version__

__all__ = [
    "OMITTED",
    "AsyncStillwire",
    "BadRequestError",
    "ConflictError",
    "ConnectionFailedError",
    "ForbiddenError",
    "InternalError",
    "LockScreenEvent",
    "NotFoundError",
    "NotJoinedError",
    "Omitted",
    "PresenceEvent",
    "RateLimitedError",
    "RelayError",
    "RequestTimeoutError",
    "RestrictedError",
    "Stillwire",
    "StillwireError",
    "TooLargeError",
    "UnauthorizedError",
    "UnavailableError",
    "UnsupportedError",
    "__version__",
    "types",
]
