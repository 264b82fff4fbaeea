# SPDX-License-Identifier: Apache-2.0
"""Read-only queries of a relay's database, while the relay runs or after it has ended."""

import contextlib
import sqlite3
from typing import Any

from relay import Relay


def rows(relay: Relay, query: str, *parameters: Any) -> list[tuple]:
    """All rows of a query; SQLite refuses a query that would write."""
    uri = f"file:{relay.data / 'stillwire.db'}?mode=ro"
    with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
        return connection.execute(query, parameters).fetchall()


def value(relay: Relay, query: str, *parameters: Any) -> Any:
    """The first column of the first row of a query."""
    return rows(relay, query, *parameters)[0][0]
