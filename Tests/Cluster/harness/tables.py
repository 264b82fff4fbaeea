# SPDX-License-Identifier: Apache-2.0
"""Compares the files of nodes: the rows of every table that the cluster replicates."""

import hashlib
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from relay import DEADLINE

#: Tables with rows of the node itself, such as its position in the log.
LOCAL = {"installation"}


@dataclass
class Contents:
    """The number of rows and their hash, for each replicated table."""

    counts: dict[str, int]
    hashes: dict[str, str]


def contents(database: Path) -> Contents:
    """Reads all tables in one transaction. The process of the file may run."""
    counts, hashes = {}, {}
    with closing(_opened(database)) as connection:
        for table in _tables(connection):
            digest, count = hashlib.sha256(), 0
            for row in _rows(connection, table):
                digest.update(repr(row).encode())
                count += 1
            counts[table], hashes[table] = count, digest.hexdigest()[:16]
        statements = connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").fetchall()
        hashes["the schema"] = hashlib.sha256(repr(statements).encode()).hexdigest()[:16]
    return Contents(counts, hashes)


def differences(one: Path, other: Path, most: int = 3) -> list[str]:
    """Returns a line for each table that differs, with its first rows that differ."""
    with closing(_opened(one)) as left, closing(_opened(other)) as right:
        tables = sorted({*_tables(left), *_tables(right)})
        missing = {*_tables(left)} ^ {*_tables(right)}
        found = [f"only one file has the table {table}" for table in sorted(missing)]
        for table in tables:
            if table in missing:
                continue
            mine, theirs = {repr(row) for row in _rows(left, table)}, {repr(row) for row in _rows(right, table)}
            if mine == theirs:
                continue
            examples = sorted(mine - theirs)[:most] + ["instead of"] + sorted(theirs - mine)[:most]
            found.append(f"{table}: {len(mine - theirs)} and {len(theirs - mine)} rows differ: {' '.join(examples)}")
        return found


def rows(database: Path, query: str, *parameters: object) -> list[tuple]:
    """Returns all rows of a query."""
    with closing(_opened(database)) as connection:
        return connection.execute(query, parameters).fetchall()


def _opened(database: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=DEADLINE, isolation_level=None)
    connection.execute("BEGIN")
    return connection


def _tables(connection: sqlite3.Connection) -> list[str]:
    names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
    # SQLite's own tables may differ. An INSERT that a conflict ignores raises the counter of AUTOINCREMENT at the leader,
    # and changes no row that the others apply.
    return [name for (name,) in names if name not in LOCAL and not name.startswith("sqlite_")]


def _rows(connection: sqlite3.Connection, table: str) -> sqlite3.Cursor:
    keys = connection.execute(f"SELECT name FROM pragma_table_info('{table}') WHERE pk > 0 ORDER BY pk").fetchall()
    order = ", ".join(f'"{name}"' for (name,) in keys)
    return connection.execute(f'SELECT * FROM "{table}" ORDER BY {order}')
