"""The rows of a pool, read by plain SQL from either database, whatever the library would say of them."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Any, Final, Protocol

import asyncpg

from net import vocabulary
from net.histories import Json
from net.mapping import TreeNames, Unmapped
from net.neutral import Neutral

_SQLITE: Final = "sqlite:///"


class Rows(Protocol):
    """Asks a database for rows, each with its columns by name."""

    async def __call__(self, sql: str, *values: Any) -> list[dict[str, Any]]: ...


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Rows]:
    """A connection of its own to a database that may be in use."""
    if url.startswith(_SQLITE):
        with closing(sqlite3.connect(url.removeprefix(_SQLITE), isolation_level=None)) as file:
            file.row_factory = sqlite3.Row

            async def ask_file(sql: str, *values: Any) -> list[dict[str, Any]]:
                return [dict(row) for row in file.execute(sql.replace("$", "?"), values)]

            yield ask_file
        return
    connection = await asyncpg.connect(url)
    try:

        async def ask_server(sql: str, *values: Any) -> list[dict[str, Any]]:
            return [dict(row) for row in await connection.fetch(sql, *values)]

        yield ask_server
    finally:
        await connection.close()


class Tables:
    """The tables of a tree, in neutral names."""

    def __init__(self, ask: Rows, names: TreeNames) -> None:
        self._ask = ask
        self._names = names
        self._neutral = Neutral(names)
        self._queries = {table: self._query(table) for table in vocabulary.COLUMNS}

    def _query(self, table: str) -> str:
        columns = self._names[f"columns of {table}"]
        order = ", ".join(columns.theirs(column) for column in vocabulary.ORDERS[table])
        pool = "id" if table == "pools" else "pool_id"
        return f"SELECT * FROM {self._names['tables'].theirs(table)} WHERE {pool} = $1 ORDER BY {order}"

    async def of_pool(self, pool_id: int) -> dict[str, list[Json]]:
        """Return every row of a pool. Raises Unmapped where a column is in no vocabulary."""
        found: dict[str, list[Json]] = {}
        for table, query in self._queries.items():
            columns = self._names[f"columns of {table}"]
            extra = self._names.extra_columns.get(table, ())
            found[table] = []
            for row in await self._ask(query, pool_id):
                neutral = {
                    name if name in extra else columns.neutral(name): value
                    for name, value in row.items()
                    if name not in vocabulary.IGNORED_COLUMNS
                }
                if missing := set(vocabulary.COLUMNS[table]) - set(neutral):
                    raise Unmapped(f"{table}: nothing is mapped to the columns {sorted(missing)}")
                found[table].append(self._neutral.row(table, neutral))
        return found
