"""Who comes in: the key or the session of a request, looked up by its hash; and when each was last used.

What was found is remembered for a few seconds, so that a revoked key and a session that was ended end soon on
every node, and at once on the node that was told. When they were used is written once a minute, on nobody's
time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from fairhold.accounts.sessions import Session, Sessions
from fairhold.core.model import Instant
from fairhold.http.limits import Buckets, slow_down, whose
from fairhold.http.problems import Problem
from fairhold.http.together import Together
from fairhold.keys import Access, Keys, is_well_formed

if TYPE_CHECKING:
    from fairhold.clock import Clock

log = logging.getLogger("fairhold.http")

_REMEMBERED_S: Final = 5.0
_REMEMBERED_MAX: Final = 10_000
_WRITTEN_EVERY_S: Final = 60.0
_UNKNOWN: Final = "This key is not known, or it was revoked."
_MISTYPED: Final = "This is no key: a character is missing, added or wrong. Copy it again, as a whole."
_OVER: Final = "This session is over. Sign in again."
# Wrong keys from one address: so many at once, and then so many a second.
_WRONG_BURST: Final = 100
_WRONG_RATE: Final = 5


class Doorkeeper:
    """Lets keys and sessions in."""

    def __init__(self, keys: Keys, sessions: Sessions, clock: Clock) -> None:
        self._keys = keys
        self._sessions = sessions
        self._clock = clock
        self._known: OrderedDict[bytes, tuple[Access, float]] = OrderedDict()
        self._signed_in: OrderedDict[str, tuple[Session, float]] = OrderedDict()
        # Keys and sessions that were looked up again for those who stay, and until when that holds.
        self._staying: dict[str | bytes, float] = {}
        self._used: dict[str, Instant] = {}
        self._used_sessions: dict[bytes, Instant] = {}
        self._wrong = Buckets(_WRONG_RATE, _WRONG_BURST)
        # Thousands may stay with one key.
        self._together = Together()
        self._writing: asyncio.Task[None] | None = None
        # Counts how often everybody had to be looked up again.
        self.generation = 0

    def start(self) -> None:
        self._writing = asyncio.create_task(self._write_now_and_then(), name="fairhold-last-use")

    async def close(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
            await self._write()

    async def admit(self, authorization: bytes | None, token: str | None, address: str, now: float) -> Access:
        """The access of a request, by its key or else by the token of a session. Raises a Problem."""
        if authorization is None and token is not None:
            return await self._admit_session(token, address, now)
        known = self._known.get(authorization or b"")
        if known is None or known[1] < now:
            generation = self.generation
            access = await self._find(authorization, address, now, guessed=known is None)
            known = (access, now + _REMEMBERED_S)
            # What was revoked while we looked must not be remembered as it was before.
            if generation == self.generation:
                self._known[authorization or b""] = known
            if len(self._known) > _REMEMBERED_MAX:
                self._known.popitem(last=False)
        self._used[known[0].key] = self._clock.now()
        return known[0]

    async def _find(self, authorization: bytes | None, address: str, now: float, *, guessed: bool) -> Access:
        scheme, _, secret = (authorization or b"").decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not secret:
            raise _unauthenticated("Send a key (Authorization: Bearer fh_…), or sign in.")
        if guessed and (wait := self._wrong.empty_for(whose(address), now)):
            # So many wrong keys came from there that no more are looked up for a while. Who was let in before
            # has guessed nothing: others at the same address shall not lock them out.
            raise slow_down(wait)
        secret = secret.strip()
        found = await self._keys.find(secret)
        if found is None:
            self._known.pop(authorization or b"", None)
            self._wrong.take(whose(address), now)
            raise _unauthenticated(_UNKNOWN if is_well_formed(secret) else _MISTYPED)
        return found

    async def _admit_session(self, token: str, address: str, now: float) -> Access:
        generation = self.generation
        session, until = self._signed_in.get(token, (None, 0.0))
        if session is None or until < now:
            session, until = await self._find_session(token, session, address, now), now + _REMEMBERED_S
        if not self._sessions.is_live(session):
            self._signed_in.pop(token, None)
            raise _unauthenticated(_OVER)
        session = session._replace(used_at=self._clock.now())
        if generation == self.generation:
            self._signed_in[token] = (session, until)
            self._signed_in.move_to_end(token)
        if len(self._signed_in) > _REMEMBERED_MAX:
            self._signed_in.popitem(last=False)
        self._used_sessions[session.digest] = session.used_at
        member = session.member
        return Access(member.id, member.org, member.role, member.name, session.digest)

    async def _find_session(self, token: str, known: Session | None, address: str, now: float) -> Session:
        if known is None and (wait := self._wrong.empty_for(whose(address), now)):
            raise slow_down(wait)
        # What we know of its last use may not have been written yet.
        found = await self._sessions.find(token, used_at=known.used_at if known else 0)
        if found is None:
            self._signed_in.pop(token, None)
            self._wrong.take(whose(address), now)
            raise _unauthenticated(_OVER)
        return found

    async def still_admits(self, access: Access, now: float) -> bool:
        """Whether who came in and stayed still may; that it is asked is no use of theirs."""
        name = access.session or access.key
        if self._staying.get(name, -1.0) < now:
            generation = self.generation
            if not await self._together.ask(name, lambda: self._is_good(access)):
                self._staying.pop(name, None)
                return False
            if generation == self.generation:
                if len(self._staying) >= _REMEMBERED_MAX:
                    self._staying.clear()
                self._staying[name] = now + _REMEMBERED_S
        return True

    async def _is_good(self, access: Access) -> bool:
        if access.session is None:
            return await self._keys.is_good(access.key)
        used_at = self._used_sessions.get(access.session, 0)
        session = await self._sessions.one(access.session, used_at=used_at)
        return session is not None and session.member.role == access.role

    def forget(self) -> None:
        """Look everybody up again, for a key was revoked, a session ended or a member changed."""
        self.generation += 1
        self._known.clear()
        self._signed_in.clear()
        self._staying.clear()

    async def _write_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(_WRITTEN_EVERY_S)
            await self._write()

    async def _write(self) -> None:
        used, self._used = self._used, {}
        sessions, self._used_sessions = self._used_sessions, {}
        try:
            if used:
                await self._keys.touch(used)
            if sessions:
                await self._sessions.touch(sessions)
        except Exception as error:  # noqa: BLE001  # it is tried again, and must not end this task
            log.warning("when keys were last used could not be written: %s", error)
            self._used, self._used_sessions = used | self._used, sessions | self._used_sessions


def _unauthenticated(detail: str) -> Problem:
    return Problem("unauthenticated", detail, headers=((b"www-authenticate", b"Bearer"),))
