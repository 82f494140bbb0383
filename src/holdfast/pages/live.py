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

from holdfast.http.limits import slow_down, whose
from holdfast.pages.calls import Call

_BEAT_S: Final = 15.0
# When those may come again for whom there is no room.
_LATER_S: Final = 30
# Nobody reads faster, and a pool on fire is not read again for every spark.
_REST_S: Final = 0.3

_watching: Counter[str] = Counter()


def digest(*seen: Any) -> str:
    """The same text for the same sight."""
    return hashlib.sha256(msgspec.json.encode(seen)).hexdigest()[:16]


Look = Callable[[], Awaitable[str]]


async def stream(call: Call, pool_id: int, look: Look) -> AsyncIterator[bytes]:
    """The stream of what is about one pool: while its log stays, nobody looks again."""
    seq, seen = -1, ""

    async def seldom() -> str:
        nonlocal seq, seen
        last = await call.hf.reads.log_seq(pool_id)
        if last != seq:
            seq, seen = last, await look()
        return seen

    return await follow(call, seldom)


async def follow(call: Call, look: Look) -> AsyncIterator[bytes]:
    """Check that one more may watch, then hand out the stream of what is seen."""
    if _is_full(call):
        raise slow_down(_LATER_S)
    return _told(call, look)


def _is_full(call: Call) -> bool:
    settings, here = call.service.settings, _watching[whose(call.address)]
    full = call.service.watcher.onlookers >= settings.page_streams_max
    return full or here >= settings.page_streams_per_address_max


async def _told(call: Call, look: Look) -> AsyncIterator[bytes]:
    watcher, seen = call.service.watcher, ""
    who = whose(call.address)
    if _is_full(call):
        # So many have asked at once that all were let in before the first of them was counted.
        yield f"retry: {_LATER_S}000\n\n".encode()
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
                seen = now
                yield f"event: seen\ndata: {now}\n\n".encode()
                await asyncio.sleep(_REST_S)
                continue
            try:
                async with asyncio.timeout(_BEAT_S):
                    await bell.wait()
            except TimeoutError:
                yield b": still here\n\n"
    finally:
        watcher.onlookers -= 1
        _watching[who] -= 1
        if not _watching[who]:
            del _watching[who]
