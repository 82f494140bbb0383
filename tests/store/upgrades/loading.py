"""A database as an earlier version left it, and every row of it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import Any

import asyncpg

from tests.database import asking, dialect_of, sqlite_file
from tests.store.upgrades.make import HERE, TOLD

Tables = dict[str, list[dict[str, Any]]]

_TABLES = {
    "sqlite": "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    "postgres": "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'",
}
_COLUMNS = {
    "sqlite": "SELECT name FROM pragma_table_info('{}') ORDER BY cid",
    "postgres": "SELECT column_name::text FROM information_schema.columns"
    " WHERE table_schema = 'public' AND table_name = '{}' ORDER BY ordinal_position",
}


def versions(dialect: str) -> list[int]:
    return sorted(int(path.stem) for path in (HERE / dialect).glob("*.dump"))


async def load(url: str, version: int) -> dict[str, Any]:
    """Fill an empty database as that version left one; what was told then."""
    dialect = dialect_of(url)
    text = (HERE / dialect / f"{version:04}.dump").read_text(encoding="utf-8")
    first, _, statements = text.partition("\n")
    if dialect == "sqlite":
        with closing(sqlite3.connect(sqlite_file(url))) as file:
            file.executescript(statements)
    else:
        connection = await asyncpg.connect(url)
        try:
            await connection.execute(statements)
        finally:
            await connection.close()
    told: dict[str, Any] = json.loads(first.removeprefix(TOLD))
    return told


async def every_row(url: str) -> Tables:
    dialect, found = dialect_of(url), {}
    async with asking(url) as ask:
        for (table,) in await ask(_TABLES[dialect]):
            columns = [row[0] for row in await ask(_COLUMNS[dialect].format(table))]
            rows = await ask(f"SELECT * FROM {table}")
            found[table] = [dict(zip(columns, row, strict=True)) for row in rows]
    return found


def lost(before: Tables, after: Tables) -> list[str]:
    """Whatever is not there any more as it was. More columns may have come."""
    return [
        f"{table}: {row}"
        for table, rows in before.items()
        for row in rows
        if not any(row.items() <= other.items() for other in after.get(table, []))
    ]
