"""Pages of the console that change while one looks at them, for as long as one is signed in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

from fairhold.console.calls import Call
from fairhold.pages import live
from fairhold.pages.live import Look, digest

__all__ = ["Look", "digest", "stream"]


async def stream(call: Call, look: Look) -> AsyncIterator[bytes]:
    """The stream of what is seen. It ends with the session."""
    return _admitted(call, await live.follow(call, look))


async def _admitted(call: Call, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    async with aclosing(parts) as told:  # type: ignore[type-var]
        async for part in told:
            if not await call.service.doorkeeper.still_admits(call.access, loop.time()):
                return
            yield part
