"""Many rows at once: statements that take one array for each column.

An array goes to PostgreSQL as one text, its literal: asyncpg looks at every element of a list to find out
whether that is a list too, which costs more than all the rest. Texts of JSON are long and full of quotes, but
no control character is in them: so one of those stands between them, and nothing is quoted (`json[]`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from fairhold.store.base import LogHeads, Row, Write
from fairhold.store.queries import load_parts, load_queries

# A program uses one schema or a few; each statement for a batch is one of some forty that come in practice.
_SCHEMAS_MAX: Final = 16
_STATEMENTS_MAX: Final = 1_024
_SEPARATOR: Final = "\x1e"
_NULL: Final = "\x1d"


def _with_literals(query: str) -> str:
    query = re.sub(r"\$(\d+)::json\[\]", r"string_to_array($\1::text, E'\\x1e', E'\\x1d')", query)
    return re.sub(r"\$(\d+)::(\w+)\[\]", r"($\1::text)::\2[]", query)


def _unnesting_literals(query: str) -> str:
    return re.sub(r"unnest\([^)]*\)", lambda found: _with_literals(found[0]), query)


_WRITTEN: Final = load_queries("postgres")
_JSON: Final = {
    name: {int(number) - 1 for number in re.findall(r"\$(\d+)::json\[\]", query)}
    for name, query in _WRITTEN.items()
}


@lru_cache(_SCHEMAS_MAX)
def queries_in(schema: str | None) -> dict[str, str]:
    """Return the named queries for the tables of a schema; None is the one that the connection has."""
    return {name: _unnesting_literals(query) for name, query in load_queries("postgres", schema).items()}


QUERIES: Final = queries_in(None)


@lru_cache(_SCHEMAS_MAX)
def _parts_in(schema: str | None) -> dict[str, str]:
    return {name: _with_literals(part) for name, part in load_parts("postgres", schema).items()}


def columns(name: str, rows: Sequence[Row]) -> list[str]:
    """Rows as the named query takes them: an array for each column."""
    json = _JSON[name]
    columns = zip(*rows, strict=True)
    return [joined(column) if at in json else literal(column) for at, column in enumerate(columns)]


def joined(values: Sequence[str | None]) -> str:
    """Texts of JSON, one after the other."""
    return _SEPARATOR.join([_NULL if value is None else value for value in values])


def literal(values: Sequence[Any]) -> str:
    """An array in PostgreSQL's own words. What is the same in all rows, as much is, is said but once here."""
    first = values[0]
    if values.count(first) == len(values) and type(first) is not bool:
        return "{" + ",".join([_element(first)] * len(values)) + "}"
    if type(first) is int and None not in values:
        return "{" + ",".join(map(str, values)) + "}"
    if type(first) is bytes and None not in values:
        return '{"\\\\x' + '","\\\\x'.join([value.hex() for value in values]) + '"}'
    if type(first) is str and None not in values:
        joined = _SEPARATOR.join(values)
        if joined.count(_SEPARATOR) == len(values) - 1:
            return '{"' + _escaped(joined).replace(_SEPARATOR, '","') + '"}'
    return "{" + ",".join([_element(value) for value in values]) + "}"


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f'"\\\\x{value.hex()}"'
    return f'"{_escaped(value)}"' if isinstance(value, str) else str(value)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


@lru_cache(_STATEMENTS_MAX)
def batch_text(schema: str | None, names: tuple[tuple[str, bool], ...]) -> str:
    """Return one statement for several: each by name, and whether it must change as many rows as it was
    given.

    It first checks that the logs still end as they did. To divide by zero undoes everything.
    """
    queries, pieces = queries_in(schema), _parts_in(schema)
    parts, counts = [], []
    # The first two values are the pools and their hashes, the third is how many pools there are.
    taken = 3
    for name, exact in names:
        query = queries[name]
        asked = max(int(number) for number in re.findall(r"\$(\d+)", query))
        part = "batch_read" if query.startswith("SELECT") else "batch_write"
        parts.append(pieces[part].format(name=name, query=_shifted(query, taken)))
        taken += asked
        if exact:
            taken += 1
            counts.append(pieces["batch_exact"].format(name=name, wanted=taken))
        else:
            counts.append(pieces["batch_count"].format(name=name))
    return pieces["batch"].format(
        parts="".join(f", {part}" for part in parts), counts="".join(f", {count}" for count in counts)
    )


def _shifted(query: str, by: int) -> str:
    return re.sub(r"\$(\d+)", lambda found: f"${int(found[1]) + by}", query)


def batch_values(heads: LogHeads, writes: Sequence[Write]) -> list[Any]:
    """Return what the statement of `batch_text` takes."""
    values: list[Any] = [literal(list(heads)), literal(list(heads.values())), len(heads)]
    for write in writes:
        values += columns(write.name, write.rows)
        if write.exact:
            values.append(len(write.rows))
    return values
