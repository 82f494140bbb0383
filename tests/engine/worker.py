"""What a process of a race does: `python -m tests.engine.worker TASK URL DETAILS`.

It opens the database, says "ready", waits for a line, does its task, and says what came of it.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from fairhold import Fairhold, Refusal
from fairhold.engine import ticker as tickers
from tests.database import SECRET

Task = Callable[..., Awaitable[Any]]


def outcome(answer: Any) -> str:
    """A yes by its state, a no by its code."""
    return answer.code if isinstance(answer, Refusal) else answer.state


async def book(hf: Fairhold, pool: str, parties: list[str]) -> dict[str, str]:
    """Everybody asks for a seat at once."""
    answers = await asyncio.gather(*(hf.book(pool, party) for party in parties))
    return {party: outcome(answer) for party, answer in zip(parties, answers, strict=True)}


async def answer(hf: Fairhold, claims: list[str], declines: list[str]) -> dict[str, int]:
    """Tap many links at once, in no particular order."""
    taps = [hf.claim(token) for token in claims] + [hf.decline(token) for token in declines]
    random.shuffle(taps)
    return Counter(map(outcome, await asyncio.gather(*taps)))


async def storm(hf: Fairhold, pool: str, seed: int, rounds: int) -> dict[str, int]:
    """Join, leave, move, claim, decline and fill, anything by anybody."""
    dice, seen = random.Random(seed), Counter[str]()

    async def one(turn: int) -> None:
        line = await hf.line(pool, limit=50)
        assert not isinstance(line, Refusal)
        what = dice.choice(["book", "book", "cancel", "move", "claim", "decline", "give_back", "fill"])
        found: Any = None
        if what == "book":
            found = await hf.book(pool, f"{seed}-{turn}")
        elif what == "cancel" and line:
            found = await hf.cancel(dice.choice(line).id)
        elif what == "move" and len(line) > 1:
            one, other = dice.sample(line, 2)
            place = dice.choice([{"to": "front"}, {"to": "back"}, {"after": other.id}])
            found = await hf.move(one.id, why="a race", **place)
        elif what == "fill":
            await hf.fill(pool)
        elif what in ("claim", "decline", "give_back"):
            found = await _answer_one(hf, pool, what, dice)
        seen[f"{what} {outcome(found) if found else '-'}"] += 1

    await asyncio.gather(*(_several(one, range(start, rounds, 4)) for start in range(4)))
    return seen


async def _several(one: Callable[[int], Awaitable[None]], turns: range) -> None:
    for turn in turns:
        await one(turn)


async def _answer_one(hf: Fairhold, pool: str, what: str, dice: random.Random) -> Any:
    state = "confirmed" if what == "give_back" else "offered"
    there = await hf.bookings(pool, state=state)
    assert not isinstance(there, Refusal)
    if not there:
        return None
    booking = dice.choice(there)
    if what == "give_back":
        return await hf.cancel(booking.id)
    if what == "decline":
        return await hf.decline(booking.id)
    full = await hf.booking(booking.id, secret=True)
    return await hf.claim(full.offer.token) if not isinstance(full, Refusal) and full.offer else None


async def freeze(hf: Fairhold, pool: str, party: str, timeout_ms: int | None) -> str:
    """Stand still as soon as the pool is locked; at another word go on, and say what came of it."""
    begin = hf.store.begin

    async def begin_watched(**how: Any) -> Any:
        tx: Any = await begin(**how)
        rows = tx.rows

        async def rows_watched(name: str, *values: Any) -> Any:
            found = await rows(name, *values)
            if name == "lock_pools" and hf.store.begin is begin_watched:
                hf.store.begin = begin  # type: ignore[method-assign]
                if timeout_ms is not None:
                    limit = f"SET idle_in_transaction_session_timeout = {timeout_ms}"
                    await tx._connection.execute(limit)
                # Nothing of this process moves until somebody says so, not even its event loop.
                print("locked", flush=True)
                sys.stdin.readline()
            return found

        tx.rows = rows_watched
        return tx

    hf.store.begin = begin_watched  # type: ignore[method-assign]
    # Decided without a lock, a batch locks its pool only for as long as it is written.
    hf.engine._under_lock = 1
    return outcome(await hf.book(pool, party))


TASKS: dict[str, Task] = {task.__name__: task for task in (book, answer, storm, freeze)}


async def make(url: str, pool: str, party: str) -> dict[str, str]:
    """Open a database that may not be there yet, make a pool in it and book: as a node that starts first."""
    async with Fairhold.open(url) as hf:
        made = await hf.create_pool(pool, quotas={"main": 100}, preset="checkout")
        booked = outcome(await hf.book(pool, party))
        made_it = made.code if isinstance(made, Refusal) else "made"
        return {"pool": made_it, "party": booked, "secret": hf.secret}


async def main(task: str, url: str, details: dict[str, Any]) -> None:
    if task == "make":
        print("ready", flush=True)
        sys.stdin.readline()
        print(json.dumps(await make(url, **details)), flush=True)
        return
    # It hears of what others do, or it never knows: a mere look now and then would hide that it is deaf.
    tickers._LOOK_S = 3_600.0  # type: ignore[misc]
    async with Fairhold.open(url, secret=SECRET) as hf:
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        print(json.dumps(await TASKS[task](hf, **details)), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3])))
