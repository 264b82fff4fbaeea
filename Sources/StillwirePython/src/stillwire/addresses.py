# SPDX-License-Identifier: Apache-2.0
"""The addresses of a relay or of the nodes of a cluster, and the order in which a client tries them.

This module sends no request.
"""

from collections.abc import Sequence
from urllib.parse import urlsplit

import httpx

from .errors import RelayError, StillwireError, UnavailableError
from .requests import Request

#: Errors of httpx after which no byte of the request has reached a node.
UNSENT = (httpx.ConnectError, httpx.ConnectTimeout)
#: Statuses of a proxy that cannot reach its node.
GATEWAY = {502, 504}


class Addresses:
    """The URLs of a relay, or of all nodes of a cluster.

    Thread-safe: a wrong first address costs only an extra attempt.
    """

    def __init__(self, urls: str | Sequence[str]):
        self.urls = [url.rstrip("/") for url in ([urls] if isinstance(urls, str) else urls)]
        if not self.urls:
            raise ValueError("a client needs the URL of a relay")
        #: The index of the address with which the next round begins.
        self.first = 0

    @property
    def are_several(self) -> bool:
        return len(self.urls) > 1

    def round(self, request: Request) -> "Round":
        """Begins to try the addresses, with the one that has answered last as the leader."""
        return Round(self, request)


class Round:
    """Tries each address at most once for a request."""

    def __init__(self, addresses: Addresses, request: Request):
        self._addresses = addresses
        self._request = request
        self._at = addresses.first
        self._tried: set[int] = set()

    @property
    def url(self) -> str:
        return self._addresses.urls[self._at]

    def answered(self) -> None:
        """Notes that this address has answered as the leader. Each node answers requests about itself."""
        if not self._request.is_of_node:
            self._addresses.first = self._at

    def next(self, failure: StillwireError) -> bool:
        """Selects the address for the next attempt. Returns False if this round is over.

        A standby node names the leader. The client compares it with its addresses, and connects to no other: a wrong
        answer could send the API key to any host.
        """
        if isinstance(failure, RelayError) and not self._is_elsewhere(failure):
            self.answered()
            return False
        # A request that has reached a node may have taken effect.
        if not self._request.is_idempotent and not self._is_unperformed(failure):
            return False
        self._tried.add(self._at)
        urls = self._addresses.urls
        leader = _node(failure.leader) if isinstance(failure, RelayError) and failure.leader else None
        named = [index for index, url in enumerate(urls) if _node(url) == leader]
        others = [(self._at + step) % len(urls) for step in range(1, len(urls))]
        for index in [*named, *others]:
            if index not in self._tried:
                self._at = index
                return True
        return False

    def _is_elsewhere(self, failure: RelayError) -> bool:
        """True if another node may perform the request."""
        return failure.is_standby or failure.status in GATEWAY or failure.code in self._request.codes_of_standby

    def _is_unperformed(self, failure: StillwireError) -> bool:
        """True if the node has certainly not performed the request. An answer of a proxy proves nothing."""
        if isinstance(failure, RelayError):
            known = {UnavailableError.handles, *self._request.codes_of_standby}
            return failure.code in known or failure.leader is not None
        return isinstance(failure.__cause__, UNSENT)


def _node(url: str) -> tuple[str, str, int | None, str] | None:
    """Returns the parts of a URL that identify a node."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
        return parts.scheme, parts.hostname or "", port, parts.path.rstrip("/")
    except ValueError:
        return None
