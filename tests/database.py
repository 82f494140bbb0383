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
    "bookings": "pool_id, number",
    "challenges": "digest",
    "deliveries": "pool_id, seq, part, target",
    "identities": "org, issuer, subject",
    "line_blocks": "pool_id, low",
    "log": "pool_id, seq",
    "members": "id",
    "offers": "pool_id, booking, seq",
    "openings": "pool_id, number",
    "outbox": "pool_id, seq, part",
    "passkeys": "id",
    "pools": "id",
    "quotas": "pool_id, key",
    "requests": "org, key",
    "sessions": "digest",
    "staff_contacts": "org, id",
    "takings": "pool_id, label",
    "templates": "org, kind, language, part",
    "tries": "pool_id, opening, booking",
    "units": "pool_id, label",
    "webhooks": "org, id",
}

Rows = list[tuple[Any, ...]]
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


@asynccontextmanager
async def opened(url: str, **options: Any) -> AsyncIterator[Fairhold]:
    """Fairhold with a clock that stands still and a known secret."""
    options = {"clock": TestClock(START), "secret": SECRET, **options}
    async with Fairhold.open(url, **options) as hf:
        yield hf
