"""Histories: plain JSON, in neutral names, that both trees can carry out."""

from __future__ import annotations

from random import Random
from typing import Any, Final, NotRequired, TypedDict

Json = Any

START: Final = 1_800_000_000_000
SECRET: Final = "a secret of the net"

# Two steps that are no commands of the rules.
LOOK: Final = "Look"
ERASE: Final = "ErasePerson"
APART: Final = frozenset({LOOK, ERASE})


class Step(TypedDict):
    """One thing that is asked: `do` names a command, or LOOK or ERASE, and `say` has its fields.

    Bookings are named by their number, pools by their place in the history. `source` is where a stranger's
    request comes from, with its two limits. A `foreign` step is asked of another process, where there is one.
    """

    at: int
    pool: int
    do: str
    say: dict[str, Json]
    key: NotRequired[str]
    dry: NotRequired[bool]
    source: NotRequired[list[Json]]
    foreign: NotRequired[bool]


class History(TypedDict):
    """Steps in order; their instants never go back."""

    seed: int
    org: str
    pools: list[int]
    steps: list[Step]


def pool_id(seed: int, index: int) -> int:
    """Return the id of a history's pool, the same in both trees."""
    return Random(f"pool {seed} {index}").getrandbits(62)


class HandClock:
    """A clock that a history sets."""

    def __init__(self) -> None:
        self.at = START

    def now(self) -> int:
        return self.at
