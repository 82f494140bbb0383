"""Messages taken together look up together what is the same for all, and what is each one's own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

from fairhold.store.base import Reader, Row

# A pool's rules, an org's words.
_SAME: Final = frozenset({"pool_configs", "contacts_of", "webhooks_of", "templates_of"})
_FOR_S: Final = 1.0

T = TypeVar("T")
_Found = dict[tuple[Any, ...], list[Row]]


class Remembering:
    """A reader for one take: what was changed before that is seen, and nothing is read twice in a second."""

    def __init__(self, reader: Reader, taken: Sequence[Row]) -> None:
        self._reader = reader
        self._loop = asyncio.get_running_loop()
        self._until = self._loop.time() + _FOR_S
        self._found: dict[str, asyncio.Future[Sequence[Row]]] = {}
        # What the messages will ask for, each for its own.
        self._keys: dict[str, dict[tuple[Any, ...], None]] = {
            "bookings_by_number": {(row[0], row[5]): None for row in taken if row[5] is not None},
            "deliveries_of_messages": {tuple(row[:3]): None for row in taken},
        }
        self._together: dict[str, asyncio.Future[_Found]] = {}

    async def rows(self, name: str, *values: Any) -> Sequence[Row]:
        if name not in _SAME or self._is_over:
            return await self._reader.rows(name, *values)
        key = f"{name} {values}"
        if key not in self._found:
            self._found[key] = asyncio.ensure_future(self._reader.rows(name, *values))
        return await _waited_for(self._found[key])

    async def each(self, name: str, keys: Sequence[Row]) -> Sequence[Row]:
        asked, known = [tuple(key) for key in keys], self._keys.get(name, {})
        if not self._is_over and all(key in known for key in asked):
            if name not in self._together:
                self._together[name] = asyncio.ensure_future(self._look(name))
            # If all together cannot be read, each is tried alone: the fault may be one's own.
            with suppress(Exception):
                found = await _waited_for(self._together[name])
                return [row for key in asked for row in found.get(key, ())]
        return await self._reader.each(name, keys)

    @property
    def _is_over(self) -> bool:
        return self._loop.time() > self._until

    async def _look(self, name: str) -> _Found:
        """All at once; their rows begin with the key."""
        keys = list(self._keys[name])
        found: _Found = {}
        for row in await self._reader.each(name, keys):
            found.setdefault(tuple(row[: len(keys[0])]), []).append(row)
        return found


async def _waited_for(future: asyncio.Future[T]) -> T:
    """What it brings. Whoever is cancelled waits no longer; the others do."""
    return future.result() if future.done() else await asyncio.shield(future)
