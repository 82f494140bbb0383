"""Whose web sites may show an org's pages in a frame: origins, such as https://example.org."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

import msgspec

from fairhold import ids, inputs
from fairhold.clock import to_datetime
from fairhold.core.refusals import Refusal, unknown
from fairhold.door import Door
from fairhold.store.base import Row

ORIGINS_MAX: Final = 50
# Names and ports as they stand in an address: nothing that would end a header's directive.
_ORIGIN: Final = re.compile(r"https?://([a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(:[0-9]{1,5})?")


class Origin(msgspec.Struct, frozen=True):
    """A web site whose pages may hold ours."""

    id: str
    origin: str
    created_at: datetime


class OriginCommands(Door):
    """Which origins may embed."""

    async def origins(self) -> list[Origin]:
        """The web sites that may show this org's pages in a frame."""
        return [_origin(row) for row in await self.store.reader().rows("origins_of", self.org)]

    async def allow_origin(self, origin: str) -> Origin | Refusal:
        """Let a web site show this org's pages in a frame. Allowed twice is allowed once."""
        try:
            named = _checked(origin)
        except inputs.Bad as bad:
            return bad.refusal
        known = await self.origins()
        if len(known) >= ORIGINS_MAX and all(it.origin != named for it in known):
            return Refusal("not_possible", f"There are {ORIGINS_MAX} origins already; remove one first.")
        tx = await self.store.begin(beside=True)
        try:
            row = (self.org, ids.new_name("og"), named, self.clock.now())
            found = await tx.rows("put_origin", *row)
            await tx.commit()
        finally:
            await tx.rollback()
        return _origin(found[0])

    async def remove_origin(self, origin: str) -> Origin | Refusal:
        """Let it no more, by its id or by the origin itself."""
        for it in await self.origins():
            if origin in (it.id, it.origin):
                tx = await self.store.begin(beside=True)
                try:
                    await tx.rows("drop_origin", self.org, it.id)
                    await tx.commit()
                finally:
                    await tx.rollback()
                return it
        return unknown("origin", origin)


def _origin(row: Row) -> Origin:
    return Origin(row[0], row[1], to_datetime(row[2]))


def _checked(origin: object) -> str:
    """The origin as browsers write it. Raises Bad."""
    text = inputs.text(origin, "origin", 300, empty=False).strip().lower().rstrip("/")
    try:
        port = urlsplit(text).port
    except ValueError:
        port = 0
    if port == 0 or not _ORIGIN.fullmatch(text):
        raise inputs.Bad("origin", "An origin is a scheme and a host, such as https://example.org.")
    return text.removesuffix(":443" if text.startswith("https:") else ":80")
