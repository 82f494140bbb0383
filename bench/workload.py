"""What the callers ask for: the same of every baseline and of the engine.

Parties are always new ones and every command has its own idempotency key, so nothing is ever refused or
replayed: what is measured is the work of giving, keeping and taking back seats of one pool.
"""

from collections.abc import Awaitable, Callable
from itertools import count
from typing import Protocol, TypeVar

B = TypeVar("B")


class Desk(Protocol[B]):
    """One hot pool, far from full; `B` is whatever names a booking there."""

    async def hold(self, party: str, key: str) -> B: ...

    async def confirm(self, booking: B, key: str) -> object: ...

    async def cancel(self, booking: B, key: str) -> object: ...


_numbers = count()
"""One count for the process, so that runs on the same database never meet each other's parties or keys."""


def holds(desk: Desk[B]) -> Callable[[int], Awaitable[object]]:
    """Every command is a hold by someone new."""

    def operation(caller: int) -> Awaitable[object]:
        number = next(_numbers)
        return desk.hold(f"party-{number}", f"key-{number}")

    return operation


def mix(desk: Desk[B]) -> Callable[[int], Awaitable[object]]:
    """Half holds, three tenths confirmations, two tenths cancellations: a hold is settled by who made it."""
    held: dict[int, B] = {}

    async def operation(caller: int) -> None:
        number = next(_numbers)
        key = f"key-{number}"
        if caller not in held:
            held[caller] = await desk.hold(f"party-{number}", key)
        elif number % 5 < 3:
            await desk.confirm(held.pop(caller), key)
        else:
            await desk.cancel(held.pop(caller), key)

    return operation
