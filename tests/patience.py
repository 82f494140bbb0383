"""How tests wait: for the very fact, and with so much patience that only a fault can outlast it.

A machine may be slow for many seconds. So nothing here says how long something takes; where a test is about
being soon, the slow way is made far slower than the patience, and then it is enough that it comes at all.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_S = 60.0
PAUSE_S = 0.02


async def until(fact: Callable[[], T | Awaitable[T]], patience_s: float = PATIENCE_S) -> T:
    """What this answers, at once or awaited, once that is true."""
    give_up_at = time.monotonic() + patience_s
    while True:
        answer = fact()
        found: T = await answer if inspect.isawaitable(answer) else answer  # type: ignore[assignment]
        if found:
            return found
        assert time.monotonic() < give_up_at, f"it never came true: {_words(fact)}"
        await asyncio.sleep(PAUSE_S)


def wait_until(fact: Callable[[], T], patience_s: float = PATIENCE_S) -> T:
    """The same where no event loop runs."""
    give_up_at = time.monotonic() + patience_s
    while not (found := fact()):
        assert time.monotonic() < give_up_at, f"it never came true: {_words(fact)}"
        time.sleep(PAUSE_S)
    return found


def _words(fact: Callable[[], object]) -> str:
    try:
        return inspect.getsource(fact).strip()
    except (OSError, TypeError):
        return repr(fact)
