# SPDX-License-Identifier: Apache-2.0
"""Reads, changes or locks a relay's database from another process, while the relay runs or after its end."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from relay import DEADLINE, Relay


def rows(relay: Relay, query: str, *parameters: Any) -> list[tuple]:
    """Returns all rows of a query. The database is opened read-only."""
    uri = f"file:{relay.data}/stillwire.db?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=DEADLINE)) as database:
        return database.execute(query, parameters).fetchall()


def value(relay: Relay, query: str, *parameters: Any) -> Any:
    """Returns the first column of the first row of a query."""
    return rows(relay, query, *parameters)[0][0]


def execute(relay: Relay, statement: str, *parameters: Any) -> None:
    """Changes the database behind the relay."""
    with closing(sqlite3.connect(relay.data / "stillwire.db", timeout=DEADLINE)) as database, database:
        database.execute(statement, parameters)


def add_undecided_rooms(relay: Relay, count: int) -> None:
    """Adds rooms with a message whose pushes are not decided."""
    with closing(sqlite3.connect(relay.data / "stillwire.db")) as database, database:
        rooms = [(number, f"room{number}") for number in range(1, count + 1)]
        database.executemany("INSERT INTO rooms (id, name, epoch, seq) VALUES (?, ?, 'epoch', 1)", rooms)


@contextmanager
def reading(relay: Relay) -> Iterator[sqlite3.Connection]:
    """Reads the present state of the database until the context's end, as a backup does."""
    database = sqlite3.connect(f"file:{relay.data}/stillwire.db?mode=ro", uri=True, isolation_level=None)
    try:
        database.execute("BEGIN")
        database.execute("SELECT count(*) FROM messages").fetchall()
        yield database
    finally:
        database.close()


@contextmanager
def stuck_store(relay: Relay) -> Iterator[sqlite3.Connection]:
    """Holds the write lock of the database, so that the relay cannot commit until `rollback` or the context's end."""
    database = sqlite3.connect(relay.data / "stillwire.db", isolation_level=None)
    try:
        database.execute("BEGIN IMMEDIATE")
        yield database
    finally:
        database.close()
