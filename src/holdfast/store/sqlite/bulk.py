"""Many rows at once: one statement inserts up to 64 of them, which costs less than a statement for each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any, Final, NamedTuple

from holdfast.store.base import Row
from holdfast.store.queries import load_queries

QUERIES: Final = load_queries("sqlite")
# How a plain insert of one row begins, and the row.
_PLAIN: Final = re.compile(r"([^?]*\sVALUES\s)(\([^()]*\))")
_VALUE: Final = re.compile(r"\?(\d+)")
# Each length is a statement of its own, which stays prepared: so there are few lengths.
_LENGTHS: Final = (64, 16, 4, 1)


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
                values = chain.from_iterable(rows[at : at + length])
                yield _statement(self, length), list(values)
                at += length


@cache
def _statement(insert: Insert, length: int) -> str:
    def shifted(by: int) -> str:
        return _VALUE.sub(lambda found: f"?{int(found[1]) + by}", insert.row)

    return insert.begin + ", ".join(shifted(number * insert.width) for number in range(length))


@cache
def inserting(name: str) -> Insert | None:
    """The named query, if it is a plain insert of one row."""
    found = _PLAIN.fullmatch(QUERIES[name]) if name.startswith("insert_") else None
    if found is None:
        return None
    return Insert(found[1], found[2], max(int(number) for number in _VALUE.findall(found[2])))
