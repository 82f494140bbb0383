"""Ids as people and programs see them: `p` + 13 for a pool, `b` + 19 for a booking, which names its pool.

A booking's id is its pool's id and its reference, in small letters. Because it names the pool, a booking is
found without an index over all pools; because the reference is a shuffle, it does not
show how many there are (it is no secret either: an id lets nobody in).
"""

from __future__ import annotations

import secrets
from functools import lru_cache
from typing import Final

from fairhold.core.reference import number_of, reference

BOOKING_LENGTH: Final = 20
_POOL_LENGTH: Final = 13
_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_DIGITS: Final = str.maketrans(_ALPHABET, "0123456789abcdefghijklmnopqrstuv")
_LETTERS: Final = frozenset(_ALPHABET)


def new_pool_id() -> int:
    return secrets.randbits(62)


def new_name(letters: str) -> str:
    """A new id for what staff set up: letters that say what it is, and sixteen that say which."""
    return letters + secrets.token_hex(8)


@lru_cache(10_000)
def pool_text(pool_id: int) -> str:
    return "p" + _encode(pool_id)


def pool_number(text: object) -> int | None:
    """The pool's id; None if the text is no such id."""
    if not isinstance(text, str) or not text.startswith("p") or len(text) != 1 + _POOL_LENGTH:
        return None
    return _decode(text[1:])


def booking_text(pool_id: int, number: int) -> str:
    return id_of_reference(pool_id, reference(pool_id, number))


def id_of_reference(pool_id: int, text: str) -> str:
    """The id of the booking with this reference."""
    return _head(pool_id) + text.lower()


def id_in_pool(pool: str, text: str) -> str:
    """The same, where the pool is known by its own id."""
    return "b" + pool[1:] + text.lower()


@lru_cache(10_000)
def _head(pool_id: int) -> str:
    return "b" + _encode(pool_id)


def booking_number(text: object) -> tuple[int, int] | None:
    """The pool's id and the booking's number; None if the text is no such id."""
    if (
        not isinstance(text, str)
        or not text.startswith("b")
        or len(text) != BOOKING_LENGTH
        or not text.islower()
    ):
        return None
    pool_id = _decode(text[1 : 1 + _POOL_LENGTH])
    number = None if pool_id is None else number_of(pool_id, text[1 + _POOL_LENGTH :].upper())
    return None if pool_id is None or number is None else (pool_id, number)


def _encode(value: int) -> str:
    letters = []
    for _ in range(_POOL_LENGTH):
        letters.append(_ALPHABET[value & 31])
        value >>= 5
    return "".join(reversed(letters))


@lru_cache(10_000)
def _decode(text: str) -> int | None:
    if not _LETTERS.issuperset(text):
        return None
    value = int(text.translate(_DIGITS), 32)
    return value if value < 2**63 else None
