"""Who is this? Bookings by what people say of themselves: a name, an address, a number, a reference.

No index is kept for it, which every booking would pay for: bookings are looked through in small pieces, so
that nobody else waits for long, those of the pools with the latest news first; after so many it is enough.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from fairhold.core.reference import is_reference, number_of
from fairhold.store.base import Reader, Row

TEXT_MAX: Final = 200
# So many bookings are looked through at once, and so many in all.
_PIECE: Final = 5_000
LOOKED_MAX: Final = 200_000
_EVERY_NUMBER: Final = 2**62
_WORDS: Final = 3
_PHONE: Final = re.compile(r"[-+()./\s0-9]+")
_DIGITS_MIN: Final = 3
_ANYTHING: Final = "%"


class Contact(msgspec.Struct, frozen=True):
    """What of a party is looked at."""

    id: str
    name: str = ""
    contacts: dict[str, str] = {}


_contact = msgspec.json.Decoder(Contact)


class Piece(NamedTuple):
    """The bookings of some pools with numbers from behind `low` up to `high`."""

    pools: list[int]
    low: int
    high: int


class Sought(NamedTuple):
    """What is looked for: words that all must be there, or the digits of a phone number."""

    words: tuple[str, ...]
    digits: str

    @classmethod
    def of(cls, text: str) -> Sought:
        digits = re.sub(r"\D", "", text).lstrip("0") if _PHONE.fullmatch(text) else ""
        return cls(tuple(text.split()), digits if len(digits) >= _DIGITS_MIN else "")

    def patterns(self) -> list[str]:
        """For the database, which may find too much: letters beyond ASCII it need not know."""
        if self.digits:
            found = [_ANYTHING.join(["", *self.digits, ""])]
        else:
            found = [_pattern(word) for word in sorted(self.words, key=len, reverse=True)[:_WORDS]]
        return [*found, *[_ANYTHING] * (_WORDS - len(found))]

    def is_said_by(self, party: str) -> bool:
        """Whether a party, as it is stored, says this of itself."""
        it = _contact.decode(party)
        said = "\n".join((it.id, it.name, *it.contacts.values())).casefold()
        if all(word.casefold() in said for word in self.words):
            return True
        return bool(self.digits) and any(
            self.digits in re.sub(r"\D", "", address) for address in it.contacts.values()
        )


def _pattern(word: str) -> str:
    """A part of text, in any case. What JSON or a database may write in its own way is left open."""
    open_to = {"%": r"\%", "_": r"\_", '"': "%", "\\": "%"}
    text = "".join(open_to.get(it, it) if it.isascii() else "%" for it in word)
    # Weiss may be written Weiß.
    return f"%{re.sub('ss', '%', text, flags=re.IGNORECASE)}%"


def by_reference(pools: Sequence[Row], text: str) -> list[tuple[int, int]]:
    """The (pool, number) of every booking that may have this reference."""
    name = re.sub(r"[\s-]", "", text).upper()
    if not is_reference(name):
        return []
    found = [(pool_id, number_of(pool_id, name), numbers) for pool_id, numbers in pools]
    return [(pool_id, number) for pool_id, number, made in found if number is not None and 0 < number <= made]


def pieces(pools: Sequence[Row]) -> Iterator[Piece]:
    """All bookings of pools, given with how many each has had: the newest first, small pools together."""
    together, size = list[int](), 0
    for pool_id, numbers in pools:
        if numbers > _PIECE:
            for high in range(numbers, 0, -_PIECE):
                yield Piece([pool_id], max(0, high - _PIECE), high)
            continue
        if size + numbers > _PIECE:
            yield Piece(together, 0, _EVERY_NUMBER)
            together, size = [], 0
        together, size = [*together, pool_id], size + numbers
    if together:
        yield Piece(together, 0, _EVERY_NUMBER)


async def search(reader: Reader, pools: Sequence[Row], text: str, limit: int) -> list[tuple[int, int]]:
    """The (pool, number) of the bookings whose party says this of itself; at most `limit`."""
    sought, found, looked = Sought.of(text), list[tuple[int, int]](), 0
    order = {pool_id: at for at, (pool_id, _) in enumerate(pools)}
    for piece in pieces(pools):
        if len(found) >= limit or looked >= LOOKED_MAX:
            break
        raw = await reader.rows("search_parties", *piece, *sought.patterns())
        matching = [(pool_id, number) for pool_id, number, party in raw if sought.is_said_by(party)]
        found += sorted(matching, key=lambda it: (order[it[0]], -it[1]))
        looked += _PIECE
        # Whoever else runs on this event loop comes in between.
        await asyncio.sleep(0)
    return found[:limit]
