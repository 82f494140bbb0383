"""What it takes SQLite to write a row: nothing but the row, whichever values it has."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import pytest

from fairhold.store.migrations import load_migrations
from fairhold.store.sqlite.committing import CommitThread
from fairhold.store.sqlite.transaction import QUERIES, SqliteTransaction

# Rows that every day writes by the thousand.
HOT: Final = (
    "insert_bookings",
    "insert_holds",
    "insert_log",
    "insert_outbox",
    "insert_requests",
    "insert_offers",
    "insert_tries",
    "insert_takings",
    "upsert_openings",
    "upsert_quotas",
    "update_bookings",
    "answer_offers",
    "update_pools",
    "note_deliveries",
    "mark_messages",
)


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for _, _, text, _ in load_migrations("sqlite"):
            connection.executescript(text)
        yield connection


def tables_made(connection: sqlite3.Connection, statement: str) -> int:
    """How many tables of its own SQLite fills to carry out a statement once."""
    values = [None] * len(set(re.findall(r"\?\d*", statement)))
    opcodes = [row[1] for row in connection.execute(f"EXPLAIN {statement}", values)]
    return opcodes.count("OpenEphemeral")


@pytest.mark.parametrize("name", HOT)
def test_a_row_is_written_without_filling_another_table(database: sqlite3.Connection, name: str) -> None:
    assert tables_made(database, QUERIES[name]) == 0


def test_a_list_in_a_check_would_be_noticed(database: sqlite3.Connection) -> None:
    database.execute("CREATE TABLE told (state TEXT CHECK (state IN ('pending', 'sent', 'dead'))) STRICT")
    assert tables_made(database, "INSERT INTO told VALUES (?)") == 1


def row(number: int, **values: Any) -> tuple[Any, ...]:
    """A hold as `insert_holds` wants it, which has neither price nor source nor a final word yet."""
    known = {
        "pool_id": 1,
        "number": number,
        "reference": f"R{number}",
        "party_id": f"p{number}",
        "party": "{}",
        "answers": "{}",
        "quota": "main",
        "quantity": 1,
        "state": "held",
        "place": number,
        "arrival": number,
        "price": None,
        "units": "[]",
        "created_at": 1,
        "expires_at": 2,
        "confirmed_at": None,
        "source": None,
        "door": "library",
    }
    return tuple((known | values).values())


async def write(connection: sqlite3.Connection, name: str, rows: list[tuple[Any, ...]]) -> None:
    tx = SqliteTransaction(connection, CommitThread(), lambda: None)
    assert await tx.many(name, rows) == len(rows)


@pytest.mark.parametrize("count", [1, 3, 4, 16, 63, 64, 65, 150])
@pytest.mark.parametrize("with_price", ["none", "one", "all"])
async def test_every_value_of_many_rows_stands_where_it_belongs(
    database: sqlite3.Connection, count: int, with_price: str
) -> None:
    priced = {"none": (), "one": (count // 2,), "all": range(count)}[with_price]
    rows = [row(number, price=f"{number} euros" if number in priced else None) for number in range(count)]
    await write(database, "insert_holds", rows)
    found = database.execute(
        """SELECT pool_id, number, reference, party_id, party, answers, quota, quantity, state, place,
        arrival, price, units, created_at, expires_at, confirmed_at, source, door
        FROM fairhold_bookings ORDER BY number"""
    ).fetchall()
    assert found == rows
    assert database.execute(
        "SELECT count(*) FROM fairhold_bookings WHERE asked_price IS NOT price"
    ).fetchone() == (0,)


async def test_bytes_come_back_as_bytes_and_nothing_as_nothing(database: sqlite3.Connection) -> None:
    rows = [(1, seq, 5, "Held", None, "party", "{}", bytes([seq]) * 32, b"") for seq in range(1, 100)]
    await write(database, "insert_log", rows)
    found = database.execute(
        "SELECT pool_id, seq, at, kind, booking, by, body, digest, hash FROM fairhold_log ORDER BY seq"
    ).fetchall()
    assert found == rows
