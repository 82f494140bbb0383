"""The tables as they are, read without the service: everything of one moment."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from importlib.resources import files
from typing import Any, NamedTuple

import asyncpg

from sim.records import Entry

_FILE = (files("drills.crash") / "tables.sql").read_text(encoding="utf-8")
_QUERIES = {
    name.strip(): query for name, _, query in (it.partition("\n") for it in _FILE.split("-- name: ")[1:])
}

Rows = list[tuple[Any, ...]]


class Message(NamedTuple):
    """A row of the outbox."""

    pool: int
    seq: int
    part: int
    kind: str
    recipient: str
    state: str


class Tables(NamedTuple):
    """One committed state."""

    pools: dict[int, str]
    log: list[Entry]
    bookings: Rows
    outbox: list[Message]
    requests: set[str]


async def read_tables(url: str) -> Tables:
    found = _from_file(url) if url.startswith("sqlite:") else await _from_server(url)
    return Tables(
        {row[0]: row[1] for row in found["pools"]},
        [Entry(*row) for row in found["log"]],
        found["bookings"],
        [Message(*row) for row in found["outbox"]],
        # What was asked stands before the key.
        {row[0].rpartition(" ")[2] for row in found["requests"]},
    )


def _from_file(url: str) -> dict[str, Rows]:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, timeout=60)) as file:
        file.execute("BEGIN")
        return {name: file.execute(query).fetchall() for name, query in _QUERIES.items()}


async def _from_server(url: str) -> dict[str, Rows]:
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            return {
                name: [tuple(row) for row in await connection.fetch(query)]
                for name, query in _QUERIES.items()
            }
    finally:
        await connection.close()
