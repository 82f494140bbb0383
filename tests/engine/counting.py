"""How often a database is asked: what a page costs must not grow with what it shows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any

from fairhold import Fairhold
from fairhold.store.base import Reader, Row

_ours: ContextVar[bool] = ContextVar("ours", default=False)


class _Counting:
    def __init__(self, reader: Reader, asked: list[str]) -> None:
        self._reader, self._asked = reader, asked

    def _count(self, name: str) -> None:
        # What a service does by itself meanwhile is not counted: it comes when it comes.
        if _ours.get():
            self._asked.append(name)

    async def rows(self, name: str, *values: Any) -> Sequence[Row]:
        self._count(name)
        return await self._reader.rows(name, *values)

    async def each(self, name: str, keys: Sequence[Row]) -> Sequence[Row]:
        self._count(name)
        return await self._reader.each(name, keys)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)


@contextmanager
def counted(hf: Fairhold) -> Iterator[list[str]]:
    """The names of the queries that are asked meanwhile, of what is there by now and at one moment."""
    asked: list[str] = []
    store: Any = hf.store
    reader, snapshot = store.reader, store.snapshot

    @asynccontextmanager
    async def counting(*, long: bool = False) -> AsyncIterator[_Counting]:
        async with snapshot(long=long) as moment:
            yield _Counting(moment, asked)

    store.reader, store.snapshot = lambda: _Counting(reader(), asked), counting
    ours = _ours.set(True)
    try:
        yield asked
    finally:
        _ours.reset(ours)
        store.reader, store.snapshot = reader, snapshot
