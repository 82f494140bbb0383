"""Behind the library's back: plain SQL on either database, and whole tables to compare."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from typing import Any, Final

import asyncpg

from fairhold import Fairhold, TestClock

START: Final = 1_800_000_000_000
SECRET: Final = "a secret of the tests"

# Each with what its rows are sorted by: the key, so that two databases can be compared.
TABLES: Final = {
    "fairhold_bookings": "pool_id, number",
    "fairhold_challenges": "digest",
    "fairhold_deliveries": "pool_id, seq, part, target",
    "fairhold_identities": "org, issuer, subject",
    "fairhold_line_blocks": "pool_id, low",
    "fairhold_log": "pool_id, seq",
    "fairhold_members": "id",
    "fairhold_offers": "pool_id, booking, seq",
    "fairhold_openings": "pool_id, number",
    "fairhold_outbox": "pool_id, seq, part",
    "fairhold_passkeys": "id",
    "fairhold_pools": "id",
    "fairhold_quotas": "pool_id, key",
    "fairhold_requests": "org, key",
    "fairhold_sessions": "digest",
    "fairhold_staff_contacts": "org, id",
    "fairhold_takings": "pool_id, label",
    "fairhold_templates": "org, kind, language, part",
    "fairhold_tries": "pool_id, opening, booking",
    "fairhold_units": "pool_id, label",
    "fairhold_webhooks": "org, id",
}

_TABLES_OF: Final = {
    "sqlite": "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    "postgres": "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'",
}
_COLUMNS_OF: Final = {
    "sqlite": "SELECT name FROM pragma_table_info('{}') ORDER BY cid",
    "postgres": "SELECT column_name::text FROM information_schema.columns"
    " WHERE table_schema = 'public' AND table_name = '{}' ORDER BY ordinal_position",
}

Rows = list[tuple[Any, ...]]
Tables = dict[str, list[dict[str, Any]]]
Ask = Callable[[str], Awaitable[Rows]]


def dialect_of(url: str) -> str:
    return "sqlite" if url.startswith("sqlite:") else "postgres"


def sqlite_file(url: str) -> str:
    return url.removeprefix("sqlite:///")


@asynccontextmanager
async def asking(url: str) -> AsyncIterator[Ask]:
    """A connection of its own, for any number of plain statements."""
    if dialect_of(url) == "sqlite":
        with closing(sqlite3.connect(sqlite_file(url), isolation_level=None)) as file:

            async def ask_file(sql: str) -> Rows:
                return file.execute(sql).fetchall()

            yield ask_file
        return
    connection = await asyncpg.connect(url)
    try:

        async def ask_server(sql: str) -> Rows:
            return [tuple(row) for row in await connection.fetch(sql)]

        yield ask_server
    finally:
        await connection.close()


async def ask(url: str, sql: str) -> Rows:
    """Run one statement; its rows."""
    async with asking(url) as run:
        return await run(sql)


async def dump(url: str) -> dict[str, Rows]:
    """Every row of every table, the same values on both databases."""
    found = {}
    async with asking(url) as run:
        for table, order in TABLES.items():
            rows = await run(f"SELECT * FROM {table} ORDER BY {order}")
            found[table] = [tuple(int(v) if isinstance(v, bool) else v for v in row) for row in rows]
    return found


async def every_row(url: str) -> Tables:
    """Return every row of every table there is, as fields by name."""
    dialect, found = dialect_of(url), {}
    async with asking(url) as run:
        for (table,) in await run(_TABLES_OF[dialect]):
            columns = [row[0] for row in await run(_COLUMNS_OF[dialect].format(table))]
            rows = await run(f"SELECT * FROM {table}")
            found[table] = [dict(zip(columns, row, strict=True)) for row in rows]
    return found


@asynccontextmanager
async def opened(url: str, **options: Any) -> AsyncIterator[Fairhold]:
    """Fairhold with a clock that stands still and a known secret."""
    options = {"clock": TestClock(START), "secret": SECRET, **options}
    async with Fairhold.open(url, **options) as hf:
        yield hf
