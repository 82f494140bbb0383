"""Messages taken together look up together what is the same for all: a pool's rules, an org's words."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from holdfast.store.base import Reader, Row

_SAME: Final = frozenset({"pool_configs", "contacts_of", "webhooks_of", "templates_of"})
_FOR_S: Final = 1.0


class Remembering:
    """A reader for one take: what was changed before that is seen, and what stays the same is read once."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._loop = asyncio.get_running_loop()
        self._until = self._loop.time() + _FOR_S
        self._found: dict[str, asyncio.Future[Sequence[Row]]] = {}

    async def rows(self, name: str, *values: Any) -> Sequence[Row]:
        if name not in _SAME or self._loop.time() > self._until:
            return await self._reader.rows(name, *values)
        key = f"{name} {values}"
        if key not in self._found:
            self._found[key] = asyncio.ensure_future(self._reader.rows(name, *values))
        # Whoever is cancelled waits no longer; the others do.
        return await asyncio.shield(self._found[key])

    async def each(self, name: str, keys: Sequence[Row]) -> Sequence[Row]:
        return await self._reader.each(name, keys)
