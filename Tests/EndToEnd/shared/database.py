# SPDX-License-Identifier: Apache-2.0
"""A relay's database, read or locked from outside, while the relay runs or after it has ended."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from relay import DEADLINE, Relay


def rows(relay: Relay, query: str, *parameters: Any) -> list[tuple]:
    """All rows of a query; SQLite refuses a query that would write."""
    uri = f"file:{relay.data}/stillwire.db?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=DEADLINE)) as database:
        return database.execute(query, parameters).fetchall()


def value(relay: Relay, query: str, *parameters: Any) -> Any:
    """The first column of the first row of a query."""
    return rows(relay, query, *parameters)[0][0]


@contextmanager
def stuck_store(relay: Relay) -> Iterator[sqlite3.Connection]:
    """Holds the write lock of the database, so that the relay can commit nothing until `rollback` or the end."""
    database = sqlite3.connect(relay.data / "stillwire.db", isolation_level=None)
    try:
        database.execute("BEGIN IMMEDIATE")
        yield database
    finally:
        database.close()
