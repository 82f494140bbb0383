"""How often a database is asked: what a page costs must not grow with what it shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from holdfast import Holdfast
from holdfast.store.base import Reader, Row


class _Counting:
    def __init__(self, reader: Reader, asked: list[str]) -> None:
        self._reader, self._asked = reader, asked

    async def rows(self, name: str, *values: Any) -> Sequence[Row]:
        self._asked.append(name)
        return await self._reader.rows(name, *values)

    async def each(self, name: str, keys: Sequence[Row]) -> Sequence[Row]:
        self._asked.append(name)
        return await self._reader.each(name, keys)


@contextmanager
def counted(hf: Holdfast) -> Iterator[list[str]]:
    """The names of the queries that are asked meanwhile."""
    asked: list[str] = []
    store: Any = hf.store
    reader = store.reader
    store.reader = lambda: _Counting(reader(), asked)
    try:
        yield asked
    finally:
        store.reader = reader
