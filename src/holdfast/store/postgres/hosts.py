"""An address with several hosts, of which one can write: which, is found out anew with every connection.

They are asked in random order, so that nodes do not all knock at the same door first. Who does not answer at
once is not waited for: the next one is asked, too, and the first that can write is taken. So a host that is
frozen, or gone without a word, costs a moment and not the whole patience.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import asyncpg

# How long the others wait for who was asked last.
HEAD_START_S: Final = 0.5

Ask = Callable[[str], Awaitable[asyncpg.Connection]]


def addresses(url: str) -> list[str]:
    """The address of each host, in random order."""
    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    if "," not in hosts:
        return [url]
    listed = hosts.split(",")
    random.shuffle(listed)
    return [urlunsplit(parts._replace(netloc=f"{user}{at}{host}")) for host in listed]


async def first_to_answer(ask: Ask, asked: list[str]) -> asyncpg.Connection:
    """The first connection that comes about. Raises what the last of them said if none does."""
    left = list(asked)
    error: BaseException | None = None
    pending: set[asyncio.Task[asyncpg.Connection]] = set()
    try:
        while left or pending:
            if left:
                pending.add(asyncio.ensure_future(ask(left.pop(0))))
            done, _ = await asyncio.wait(
                pending, timeout=HEAD_START_S if left else None, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                pending.discard(task)
                if (failed := task.exception()) is None:
                    # What else has come about in the same moment stays among the pending, and is put away.
                    return task.result()
                error = failed
    finally:
        for task in pending:
            task.cancel()
            task.add_done_callback(_put_away)
    assert error is not None
    raise error


def _put_away(task: asyncio.Task[Any]) -> None:
    """End what came about too late."""
    if not task.cancelled() and task.exception() is None:
        task.result().terminate()
