"""Public references: six letters and digits without look-alikes, like K7PM2X.

The reference is a shuffle of the booking's number, keyed by the pool: no two bookings of a pool can share
one, one does not betray the next, and the number can be had back from it, so no index is needed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

ALPHABET: Final = "23456789ABCDEFGHJKLMNPQRSTUVWXY"
_TRIPLES: Final = [a + b + c for a in ALPHABET for b in ALPHABET for c in ALPHABET]
_VALUES: Final = {triple: value for value, triple in enumerate(_TRIPLES)}
_HALF: Final = len(_TRIPLES)
_SPREAD: Final = 0x2545F491
_MASK: Final = 0x3FFFFFFFFFF
_TURNS: Final = (0x85EBCA6B, 0x2545F4914, 0x27D4EB2F1, 0x165667B19)


def reference(pool_id: int, number: int) -> str:
    """The reference of a pool's booking with this number."""
    left, right = divmod(number % (_HALF * _HALF), _HALF)
    first, second, third, fourth = _keys(pool_id)
    # Four turns, in which left and right change places. The same as `_mix`, said here because every booking
    # passes by.
    mixed = (right * _SPREAD + first) & _MASK
    left = (left + (mixed ^ (mixed >> 17))) % _HALF
    mixed = (left * _SPREAD + second) & _MASK
    right = (right + (mixed ^ (mixed >> 17))) % _HALF
    mixed = (right * _SPREAD + third) & _MASK
    left = (left + (mixed ^ (mixed >> 17))) % _HALF
    mixed = (left * _SPREAD + fourth) & _MASK
    right = (right + (mixed ^ (mixed >> 17))) % _HALF
    return _TRIPLES[left] + _TRIPLES[right]


def is_reference(text: str) -> bool:
    """Whether this may be the reference of a booking in some pool."""
    return text[:3] in _VALUES and text[3:] in _VALUES


def number_of(pool_id: int, text: str) -> int | None:
    """The number that this reference stands for in a pool; None if it is no reference."""
    left, right = _VALUES.get(text[:3]), _VALUES.get(text[3:])
    if left is None or right is None:
        return None
    for key in reversed(_keys(pool_id)):
        left, right = (right - _mix(left, key)) % _HALF, left
    return left * _HALF + right


def _mix(value: int, key: int) -> int:
    mixed = (value * _SPREAD + key) & _MASK
    return mixed ^ (mixed >> 17)


@lru_cache(10_000)
def _keys(pool_id: int) -> tuple[int, ...]:
    """One key for each turn, well mixed from the pool's id."""
    keys = []
    for turn in _TURNS:
        key = (pool_id + turn) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
        key = (key ^ (key >> 29)) * 0x94D049BB133111EB & 0xFFFFFFFFFFFFFFFF
        keys.append((key ^ (key >> 32)) & _MASK)
    return tuple(keys)
