"""Public references: six letters and digits without look-alikes, like K7PM2X.

The reference is a shuffle of the booking's number, keyed by the pool: no two bookings of a pool can share
one, one does not betray the next, and the number can be had back from it, so no index is needed.
"""

from __future__ import annotations

from typing import Final

ALPHABET: Final = "23456789ABCDEFGHJKLMNPQRSTUVWXY"
_TRIPLES: Final = [a + b + c for a in ALPHABET for b in ALPHABET for c in ALPHABET]
_HALF: Final = len(_TRIPLES)
_TURNS: Final = (0x85EBCA6B, 0x2545F4914, 0x27D4EB2F1, 0x165667B19)


def reference(pool_id: int, number: int) -> str:
    """The reference of a pool's booking with this number."""
    left, right = divmod(number % (_HALF * _HALF), _HALF)
    for turn in _TURNS:
        left, right = right, (left + _mix(right, pool_id + turn)) % _HALF
    return _TRIPLES[left] + _TRIPLES[right]


def number_of(pool_id: int, text: str) -> int | None:
    """The number that this reference stands for in a pool; None if it is no reference."""
    left, right = _value(text[:3]), _value(text[3:])
    if left is None or right is None:
        return None
    for turn in reversed(_TURNS):
        left, right = (right - _mix(left, pool_id + turn)) % _HALF, left
    return left * _HALF + right


def _mix(value: int, key: int) -> int:
    mixed = (value * 0x9E3779B1 + key) & 0xFFFFFFFFFFFFFFFF
    mixed = ((mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    return mixed ^ (mixed >> 32)


def _value(triple: str) -> int | None:
    if len(triple) != 3 or any(letter not in ALPHABET for letter in triple):
        return None
    first, second, third = (ALPHABET.index(letter) for letter in triple)
    return (first * len(ALPHABET) + second) * len(ALPHABET) + third
