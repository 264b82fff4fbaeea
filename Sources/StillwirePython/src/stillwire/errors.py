# SPDX-License-Identifier: Apache-2.0
"""The errors of the client. `except StillwireError` catches all of them."""

from typing import Any, ClassVar

import httpx


class StillwireError(Exception):
    """A call has failed."""


class ConnectionFailedError(StillwireError):
    """No answer arrived. The relay may have performed the request."""


class RequestTimeoutError(ConnectionFailedError):
    """No answer arrived within the timeout. The relay may have performed the request."""


class RelayError(StillwireError):
    """The relay, or a proxy in front of it, has refused the request.

    An error of the relay is a problem document (RFC 9457), and belongs to one of the subclasses. An error of a proxy
    belongs to this class itself, with an empty `code`.
    """

    #: The `code` of the errors of this class.
    handles: ClassVar[str] = ""

    def __init__(
        self,
        status: int,
        *,
        code: str = "",
        title: str = "",
        detail: str = "",
        at: str | None = None,
        retry_after: float | None = None,
        until: int | None = None,
        leader: str | None = None,
    ):
        super().__init__(f"{status} {code or title}: {detail}" + (f" (at {at})" if at else ""))
        #: The HTTP status.
        self.status = status
        #: The error code of the protocol, such as `not_found`.
        self.code = code
        #: The reason phrase of the status.
        self.title = title
        #: One sentence for a developer.
        self.detail = detail
        #: The location in the request, as a JSON pointer: `/push/sound`, `/path/room`.
        self.at = at
        #: Seconds until the same request may succeed.
        self.retry_after = retry_after
        #: The end of a restriction, in milliseconds since 1970.
        self.until = until
        #: The URL of the leader of a cluster, if a standby node has answered.
        self.leader = leader

    @property
    def is_standby(self) -> bool:
        """True if another node of a cluster may perform the request."""
        return self.status == 503 or 300 <= self.status < 400


class BadRequestError(RelayError):
    """The request is not valid: `at` names the location."""

    handles = "bad_request"


class UnauthorizedError(RelayError):
    """The relay requires an API key or a token, or the given one is not valid."""

    handles = "unauthorized"


class ForbiddenError(RelayError):
    """The caller has no permission for this request."""

    handles = "forbidden"


class RestrictedError(ForbiddenError):
    """A moderator has restricted the user in the room: `until` has the end. Or the room is read-only."""

    handles = "restricted"


class NotJoinedError(ForbiddenError):
    """The user is no member of the room."""

    handles = "not_joined"


class NotFoundError(RelayError):
    """The object does not exist."""

    handles = "not_found"


class UnsupportedError(RelayError):
    """The relay or the room does not support the request."""

    handles = "unsupported"


class ConflictError(RelayError):
    """The request conflicts with the state of the object."""

    handles = "conflict"


class TooLargeError(RelayError):
    """The request, or a list in it, exceeds a limit."""

    handles = "too_large"


class RateLimitedError(RelayError):
    """A rate is exceeded: `retry_after` has the seconds to wait."""

    handles = "rate_limited"


class UnavailableError(RelayError):
    """The relay starts, stops, or cannot use its store at present."""

    handles = "unavailable"


class InternalError(RelayError):
    """The relay has a fault. Its log has the details."""

    handles = "internal"


def _subclasses(kind: type[RelayError]) -> list[type[RelayError]]:
    return [kind, *(other for child in kind.__subclasses__() for other in _subclasses(child))]


#: The class of each error code.
BY_CODE = {kind.handles: kind for kind in _subclasses(RelayError)}


def connection_error(error: httpx.TransportError) -> ConnectionFailedError:
    """Returns the error for a request without an answer."""
    kind = RequestTimeoutError if isinstance(error, httpx.TimeoutException) else ConnectionFailedError
    failure = kind(f"{type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure


def relay_error(response: httpx.Response) -> RelayError:
    """Returns the error of an answer."""
    problem = _problem(response)
    if problem is None:
        text = response.text[:200] if response.is_closed else ""
        return RelayError(
            response.status_code,
            title=response.reason_phrase,
            detail=text,
            retry_after=_retry_after(response, {}),
            leader=response.headers.get("stillwire-leader"),
        )
    return BY_CODE.get(problem["code"], RelayError)(
        response.status_code,
        code=problem["code"],
        title=str(problem.get("title", "")),
        detail=str(problem.get("detail", "")),
        at=problem.get("at"),
        retry_after=_retry_after(response, problem),
        until=problem.get("until"),
        leader=problem.get("leader") or response.headers.get("stillwire-leader"),
    )


def _problem(response: httpx.Response) -> dict[str, Any] | None:
    if not response.headers.get("content-type", "").startswith("application/problem+json"):
        return None
    try:
        problem: Any = response.json()
        return problem if isinstance(problem["code"], str) else None
    except (ValueError, TypeError, KeyError):
        return None


def _retry_after(response: httpx.Response, problem: dict[str, Any]) -> float | None:
    try:
        return float(problem.get("retryAfter", response.headers.get("retry-after")))
    except (TypeError, ValueError):
        return None
