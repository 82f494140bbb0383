"""Who comes in: the key of a request, looked up by its hash; and when each key was last used.

A key that was found is remembered for a few seconds, so that a revoked one ends soon on every node and at
once on the node that revoked it. When a key was used is written at most once a minute, on nobody's time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from holdfast.core.model import Instant
from holdfast.http.limits import Buckets, slow_down, whose
from holdfast.http.problems import Problem
from holdfast.keys import Access, Keys

if TYPE_CHECKING:
    from holdfast.clock import Clock

log = logging.getLogger("holdfast.http")

_REMEMBERED_S: Final = 5.0
_REMEMBERED_MAX: Final = 10_000
_WRITTEN_EVERY_S: Final = 60.0
# Wrong keys from one address: so many at once, and then so many a second.
_WRONG_BURST: Final = 50
_WRONG_RATE: Final = 5


class Doorkeeper:
    """Lets keys in."""

    def __init__(self, keys: Keys, clock: Clock) -> None:
        self._keys = keys
        self._clock = clock
        self._known: OrderedDict[bytes, tuple[Access, float]] = OrderedDict()
        # Keys by id that were looked up again for those who stay, and until when that holds.
        self._staying: dict[str, float] = {}
        self._revocations = 0
        self._used: dict[str, Instant] = {}
        self._wrong = Buckets(_WRONG_RATE, _WRONG_BURST)
        self._writing: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._writing = asyncio.create_task(self._write_now_and_then(), name="holdfast-last-use")

    async def close(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
            await self._write()

    async def admit(self, authorization: bytes | None, address: str, now: float) -> Access:
        """The access of a request. Raises a Problem."""
        known = self._known.get(authorization or b"")
        if known is None or known[1] < now:
            revocations = self._revocations
            known = (await self._find(authorization, address, now), now + _REMEMBERED_S)
            # What was revoked while we looked must not be remembered as it was before.
            if revocations == self._revocations:
                self._known[authorization or b""] = known
            if len(self._known) > _REMEMBERED_MAX:
                self._known.popitem(last=False)
        self._used[known[0].key] = self._clock.now()
        return known[0]

    async def _find(self, authorization: bytes | None, address: str, now: float) -> Access:
        scheme, _, secret = (authorization or b"").decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not secret:
            raise _unauthenticated("Send a key: Authorization: Bearer hf_…")
        if wait := self._wrong.empty_for(whose(address), now):
            # So many wrong keys came from there that no more are looked up for a while.
            raise slow_down(wait)
        found = await self._keys.find(secret.strip())
        if found is None:
            self._wrong.take(whose(address), now)
            raise _unauthenticated("This key is not known, or it was revoked.")
        return found

    async def still_admits(self, access: Access, now: float) -> bool:
        """Whether the key of someone who came in and stayed is still good."""
        if self._staying.get(access.key, -1.0) < now:
            revocations = self._revocations
            if not await self._keys.is_good(access.key):
                self._staying.pop(access.key, None)
                return False
            if revocations == self._revocations:
                self._staying[access.key] = now + _REMEMBERED_S
        return True

    def forget(self) -> None:
        """Look every key up again, for one was revoked."""
        self._revocations += 1
        self._known.clear()
        self._staying.clear()

    async def _write_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(_WRITTEN_EVERY_S)
            await self._write()

    async def _write(self) -> None:
        used, self._used = self._used, {}
        if used:
            try:
                await self._keys.touch(used)
            except Exception as error:  # noqa: BLE001  # it is tried again, and must not end this task
                log.warning("when keys were last used could not be written: %s", error)
                self._used = used | self._used


def _unauthenticated(detail: str) -> Problem:
    return Problem("unauthenticated", detail, headers=((b"www-authenticate", b"Bearer"),))
