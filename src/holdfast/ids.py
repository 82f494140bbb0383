"""Ids as people and programs see them: `p` + 13 for a pool, `b` + 21 for a booking, which names its pool.

A booking's id is made of its pool's id and its number, shuffled so that it tells nobody how many there
are. Because it names the pool, a booking is found without an index over all pools.
"""

from __future__ import annotations

import secrets
from functools import lru_cache
from typing import Final

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_VALUES: Final = {letter: value for value, letter in enumerate(_ALPHABET)}
_PAIRS: Final = [first + second for first in _ALPHABET for second in _ALPHABET]
_POOL_LENGTH: Final = 13
_NUMBER_LENGTH: Final = 8
_HALF: Final = 2**20


def new_pool_id() -> int:
    return secrets.randbits(62)


@lru_cache(10_000)
def pool_text(pool_id: int) -> str:
    return "p" + _encode(pool_id, _POOL_LENGTH)


def pool_number(text: str) -> int | None:
    """The pool's id; None if the text is no such id."""
    return _decode(text[1:]) if text.startswith("p") and len(text) == 1 + _POOL_LENGTH else None


def booking_text(pool_id: int, number: int) -> str:
    left, right = divmod(number, _HALF)
    for turn in range(4):
        left, right = right, left ^ _mix(right, pool_id, turn)
    pairs = (_PAIRS[left >> 10], _PAIRS[left & 1023], _PAIRS[right >> 10], _PAIRS[right & 1023])
    return _head(pool_id) + "".join(pairs)


@lru_cache(10_000)
def _head(pool_id: int) -> str:
    return "b" + _encode(pool_id, _POOL_LENGTH)


def booking_number(text: str) -> tuple[int, int] | None:
    """The pool's id and the booking's number; None if the text is no such id."""
    if not text.startswith("b") or len(text) != 1 + _POOL_LENGTH + _NUMBER_LENGTH:
        return None
    pool_id, mixed = _decode(text[1 : 1 + _POOL_LENGTH]), _decode(text[1 + _POOL_LENGTH :])
    if pool_id is None or mixed is None:
        return None
    left, right = divmod(mixed, _HALF)
    for turn in reversed(range(4)):
        left, right = right ^ _mix(left, pool_id, turn), left
    return pool_id, left * _HALF + right


def _mix(value: int, key: int, turn: int) -> int:
    mixed = ((value + turn + 1) * 0x9E3779B97F4A7C15 + key) & 0xFFFFFFFFFFFFFFFF
    return ((mixed ^ (mixed >> 31)) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF) >> 44


def _encode(value: int, length: int) -> str:
    letters = []
    for _ in range(length):
        letters.append(_ALPHABET[value & 31])
        value >>= 5
    return "".join(reversed(letters))


def _decode(text: str) -> int | None:
    value = 0
    for letter in text:
        if letter not in _VALUES:
            return None
        value = value * 32 + _VALUES[letter]
    return value if value < 2**63 else None
