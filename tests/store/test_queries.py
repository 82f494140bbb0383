"""The named queries: the same in both dialects, each understood by its database, each used, none missing."""

from __future__ import annotations

import ast
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import asyncpg
import pytest

import fairhold
from fairhold.store.queries import load_queries
from tests.database import dialect_of, opened, sqlite_file

PACKAGE = Path(fairhold.__file__).parent
ASKING = {"rows", "each", "run", "many", "stream", "Write"}
# Methods that are given a query to ask, and as which argument.
PASSING = {"begin": 2, "_listed": 0, "_forget_by": 0}


def names_used() -> Iterator[str]:
    """Every name of a query that the package's code says: given to a method that asks, or looked up."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name) and node.args:
                asked = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
                at = PASSING.get(asked, 0)
                asks = asked in PASSING or asked.lstrip("_") in ASKING
                given = node.args[at] if asks and len(node.args) > at else None
            elif isinstance(node, ast.Subscript) and _are_queries(node.value):
                given = node.slice
            else:
                continue
            # A name may be chosen between two: "a" if … else "b".
            for part in (given.body, given.orelse) if isinstance(given, ast.IfExp) else (given,):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def _are_queries(node: ast.expr) -> bool:
    """True for `QUERIES`, and for the queries that an object keeps for its schema."""
    name = getattr(node, "attr", "") or getattr(node, "id", "")
    return name.lower().strip("_") == "queries"


def parameters(dialect: str, query: str) -> int:
    """How many values a query takes."""
    numbers = re.findall(r"\?(\d+)" if dialect == "sqlite" else r"\$(\d+)", query)
    assert sorted({int(number) for number in numbers}) == list(range(1, len(set(numbers)) + 1))
    return len(set(numbers))


def test_every_query_is_used_and_every_one_used_is_there() -> None:
    assert set(names_used()) == set(load_queries("sqlite"))


def test_both_dialects_have_the_same_queries_with_as_many_values() -> None:
    counts = {
        dialect: {name: parameters(dialect, query) for name, query in load_queries(dialect).items()}
        for dialect in ("sqlite", "postgres")
    }
    assert counts["sqlite"] == counts["postgres"]


def test_every_query_is_written_in_sql_files_alone() -> None:
    """The loader leaves nothing out: each `-- name:` of a file comes with its statement."""
    for dialect in ("sqlite", "postgres"):
        texts = [path.read_text(encoding="utf-8") for path in (PACKAGE / "store" / dialect).glob("*.sql")]
        written = [name for text in texts for name in re.findall(r"^-- name: *(\w+)", text, re.MULTILINE)]
        assert sorted(written) == sorted(load_queries(dialect))
        assert all(query.strip() for query in load_queries(dialect).values())


@pytest.mark.parametrize("name", ["the schema", "nothing"])
async def test_every_query_is_understood_by_its_database(empty_database_url: str, name: str) -> None:
    """Prepared on the schema; on an empty database hardly any would be, so preparing does look."""
    queries = load_queries(dialect_of(empty_database_url))
    if name == "the schema":
        async with opened(empty_database_url):
            pass
    failed = await not_understood(empty_database_url, queries)
    if name == "the schema":
        assert failed == {}
    else:
        assert len(failed) > len(queries) * 0.9


async def not_understood(url: str, queries: dict[str, str]) -> dict[str, str]:
    failed = {}
    if dialect_of(url) == "sqlite":
        with closing(sqlite3.connect(sqlite_file(url))) as file:
            for name, query in queries.items():
                try:
                    file.execute(f"EXPLAIN {query}", [None] * parameters("sqlite", query))
                except sqlite3.Error as error:
                    failed[name] = str(error)
        return failed
    connection = await asyncpg.connect(url)
    for name, query in queries.items():
        try:
            await connection.prepare(query)
        except asyncpg.PostgresError as error:
            failed[name] = str(error)
    await connection.close()
    return failed
