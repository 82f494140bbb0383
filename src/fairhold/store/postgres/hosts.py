"""An address with several hosts, of which one can write: which, is found out anew with every connection.

They are asked in random order, so that nodes do not all knock at the same door first. Who does not answer at
once is not waited for: the next one is asked, too, and the first that can write is taken. So a host that is
frozen, or gone without a word, costs a moment and not the whole patience.

One that wakes up after another was promoted says that it can write, until it is told. Its commits would wait
for ever for their standby, but what it has to read is old. Its timeline tells, which each promotion raises.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import asyncpg

from fairhold.addresses import unreadable
from fairhold.errors import SettingsWrong

WHAT: Final = "the database's address"

# How long the others wait for who was asked last.
HEAD_START_S: Final = 0.5

# For how long a timeline is held against lower ones. A database that was set up anew begins with the first.
_HELD_S: Final = 300.0
_seen: dict[str, tuple[int, float]] = {}

Ask = Callable[[str], Awaitable[asyncpg.Connection]]


def addresses(url: str) -> list[str]:
    """The address of each host, in random order. Raises SettingsWrong."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise unreadable(WHAT) from None
    if parts.fragment or "@" in parts.path or parts.netloc.count("@") > 1:
        # The driver would take a part of the password for the host, and say its name.
        raise unreadable(WHAT)
    user, at, hosts = parts.netloc.rpartition("@")
    if any(name == "host" and "," in value for name, value in parse_qsl(parts.query)):
        # The driver would take them in their order, a standby that stands first for good.
        raise SettingsWrong("write several hosts before the database's name: postgresql://HOST,HOST/NAME")
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


def is_overtaken(url: str, timeline: int, now: float) -> bool:
    """Whether a later timeline than this was written on lately, by another host of the address."""
    latest, held_until = _seen.get(url, (0, now))
    if timeline < latest and now < held_until:
        return True
    _seen[url] = (timeline, now + _HELD_S)
    return False


def _put_away(task: asyncio.Task[Any]) -> None:
    """End what came about too late."""
    if not task.cancelled() and task.exception() is None:
        task.result().terminate()
