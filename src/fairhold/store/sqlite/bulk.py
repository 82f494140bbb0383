"""Many rows at once: one statement inserts up to 64 of them, which costs less than a statement for each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any, Final, NamedTuple

from fairhold.store.base import Row
from fairhold.store.queries import load_queries

QUERIES: Final = load_queries("sqlite")
# How a plain insert of one row begins, and the row.
_PLAIN: Final = re.compile(r"([^?]*\sVALUES\s)(\([^()]*\))")
VALUE: Final = re.compile(r"\?(\d+)")
# Each length is a statement of its own, which stays prepared: so there are few lengths.
_LENGTHS: Final = (64, 16, 4, 1)
_MANY: Final = 16


class Insert(NamedTuple):
    """A plain insert, for one row or more."""

    begin: str
    row: str
    width: int

    def chunks(self, rows: Sequence[Row]) -> Iterator[tuple[str, list[Any]]]:
        """Statements that insert all of the rows, and the values of each."""
        at = 0
        for length in _LENGTHS:
            while len(rows) - at >= length:
                columns = list(zip(*rows[at : at + length], strict=True))
                # Of few rows nearly every one would have a statement of its own.
                empty = tuple(i for i, it in enumerate(columns) if _is_empty(it)) if length >= _MANY else ()
                said = (_bindable(it) for i, it in enumerate(columns) if i not in empty)
                yield _statement(self, length, empty), list(chain.from_iterable(said))
                at += length


# Python's sqlite3 looks for somebody who can adapt a None or bytes, each time, before it binds it as it is;
# for a row that costs as much as to insert it. So columns that say nothing are NULL in the statement, and
# bytes go as something that it knows.


def _is_empty(column: Sequence[Any]) -> bool:
    return not any(column) and column.count(None) == len(column)


def _bindable(column: Sequence[Any]) -> Iterable[Any]:
    if type(column[0]) is bytes and set(map(type, column)) == {bytes}:
        return map(bytearray, column)
    return column


@cache
def _statement(insert: Insert, length: int, empty: tuple[int, ...]) -> str:
    """Values go by columns: all of the first, all of the second, and so on."""
    said = [at for at in range(insert.width) if at not in empty]
    first = {at: 1 + length * number for number, at in enumerate(said)}

    def row(number: int) -> str:
        def value(found: re.Match[str]) -> str:
            at = int(found[1]) - 1
            return f"?{first[at] + number}" if at in first else "NULL"

        return VALUE.sub(value, insert.row)

    return insert.begin + ", ".join(row(number) for number in range(length))


@cache
def inserting(name: str) -> Insert | None:
    """The named query, if it is a plain insert of one row."""
    found = _PLAIN.fullmatch(QUERIES[name]) if name.startswith("insert_") else None
    if found is None:
        return None
    return Insert(found[1], found[2], width(name))


def width(name: str) -> int:
    """How many values the named query takes."""
    return max(int(number) for number in VALUE.findall(QUERIES[name]))
