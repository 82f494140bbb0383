"""Pages that change while one looks at them: a stream that says when there is something new to see.

It tells no more than a digest of what the page shows. The script on the page compares it with its own, and
fetches the page anew if they differ; so nothing is missed between the page and its stream, and there is one
way to show things.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import msgspec

from fairhold.http.limits import slow_down, whose
from fairhold.http.streaming import COME_LATER, LATER_S
from fairhold.pages.calls import Call

# Nobody reads faster, and a pool on fire is not read again for every spark.
_REST_S: Final = 0.3

_NOTHING: Final = dict[Any, Any]()
_watching: Counter[str] = Counter()


def digest(*seen: Any) -> str:
    """The same text for the same sight."""
    return hashlib.sha256(msgspec.json.encode(seen)).hexdigest()[:16]


Look = Callable[[], Awaitable[str]]


async def stream(call: Call, pool_id: int, look: Look, *, alike: bool = False) -> AsyncIterator[bytes]:
    """The stream of what is about one pool: while its log stays, nobody looks again.

    What is `alike` to everybody is looked at by one for all.
    """
    seq, seen, together = -1, "", call.service.watcher.together

    async def seldom() -> str:
        nonlocal seq, seen
        last = await together.ask(("log_seq", pool_id), lambda: call.hf.reads.log_seq(pool_id))
        if last != seq:
            seq, seen = last, await (together.ask(("page", pool_id), look) if alike else look())
        return seen

    return await follow(call, seldom)


async def follow(call: Call, look: Look) -> AsyncIterator[bytes]:
    """Check that one more may watch, then hand out the stream of what is seen."""
    if _is_full(call):
        raise slow_down(LATER_S)
    call.headers = call.query = _NOTHING  # Thousands may look, and what a browser says of itself is long.
    return _told(call, look)


def _is_full(call: Call) -> bool:
    settings, here = call.service.settings, _watching[whose(call.address)]
    full = call.service.watcher.onlookers >= settings.page_streams_max
    return full or here >= settings.page_streams_per_address_max


async def _told(call: Call, look: Look) -> AsyncIterator[bytes]:
    watcher, seen = call.service.watcher, ""
    who, time, rested_at = whose(call.address), asyncio.get_running_loop().time, 0.0
    if _is_full(call):
        yield COME_LATER
        return
    watcher.onlookers += 1
    _watching[who] += 1
    watcher.wake()
    try:
        yield b"retry: 2000\n\n"
        while not watcher.closing:
            bell = watcher.bell(call.access.org)
            now = await look()
            if now != seen:
                seen, rested_at = now, time() + _REST_S
                yield f"event: seen\ndata: {now}\n\n".encode()
            if not await bell.wait():
                yield b": still here\n\n"
            if (rest_s := rested_at - time()) > 0:
                await asyncio.sleep(rest_s)
    finally:
        watcher.onlookers -= 1
        _watching[who] -= 1
        if not _watching[who]:
            del _watching[who]
