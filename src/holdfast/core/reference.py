"""Public references: six letters and digits without look-alikes, like K7PM2X.

The reference is a shuffle of the booking's number, keyed by the pool: no two bookings of a pool can
share one, and one does not betray the next.
"""

from __future__ import annotations

from typing import Final

ALPHABET: Final = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"[:31]
_TRIPLES: Final = [a + b + c for a in ALPHABET for b in ALPHABET for c in ALPHABET]
_HALF: Final = len(_TRIPLES)


def reference(pool_id: int, number: int) -> str:
    """The reference of a pool's booking with this number."""
    left, right = divmod(number % (_HALF * _HALF), _HALF)
    for turn in _TURNS:
        mixed = (right * 0x9E3779B1 + pool_id + turn) & 0xFFFFFFFFFFFFFFFF
        mixed = ((mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        left, right = right, (left + (mixed ^ (mixed >> 32))) % _HALF
    return _TRIPLES[left] + _TRIPLES[right]


_TURNS: Final = (0x85EBCA6B, 0x2545F4914, 0x27D4EB2F1, 0x165667B19)
