"""Sessions: who is signed in. Only a hash of what the browser has is kept.

A session ends when it was not used for so long, when it is so old, when it is signed out, when the password
is changed elsewhere, and when its member is removed. What a member may do is looked up in the member.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec

from fairhold import inputs, tokens
from fairhold.accounts import passwords
from fairhold.accounts.members import NO_SESSION, Known, Member, email_of, end_sessions, known_of
from fairhold.accounts.passwords import Passwords
from fairhold.clock import Clock, to_datetime
from fairhold.core.model import Instant
from fairhold.core.refusals import Refusal
from fairhold.orgs import checked_org
from fairhold.store.base import Store, Transaction, writing

_PREFIX: Final = "fhs_"
_LENGTH: Final = len(_PREFIX) + 43


class Session(NamedTuple):
    """A member who is signed in, since when and until when."""

    digest: bytes
    member: Member
    created_at: Instant
    used_at: Instant


class Started(NamedTuple):
    """A new session, and the token that the browser keeps."""

    session: Session
    token: str


@dataclass(frozen=True, slots=True)
class Limits:
    """For how long a session lasts: without being used, and at all. In milliseconds."""

    idle: int = 12 * 3_600_000
    whole: int = 7 * 24 * 3_600_000

    def ends_at(self, session: Session) -> Instant:
        return min(session.used_at + self.idle, session.created_at + self.whole)


class Sessions:
    """The sessions of a database."""

    def __init__(
        self, store: Store, clock: Clock, secret: str, hashing: Passwords, limits: Limits | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._secret = secret
        self._hashing = hashing
        self.limits = limits or Limits()

    async def sign_in(
        self, org: str, email: str, password: str, request: str | None = None
    ) -> Started | None:
        """A session, if e-mail and password belong together. No is as slow for who is not known.

        Asked again by the same `request`, the same session, as long as it has not ended.
        """
        try:
            named = (checked_org(org), email_of(email))
        except inputs.Bad:
            # Nobody is called that, and this takes as long as anything else.
            named = ("", "")
        found = await self._store.reader().rows("member_by_email", *named)
        known = known_of(found[0]) if found else None
        return await self._start(known, password, request)

    async def accept(self, token: str, password: str, request: str | None = None) -> Started | Refusal | None:
        """Take an invitation: choose a password, and sign in. An earlier password and its sessions end.

        Who did so before and says the same again is signed in; else None.
        """
        named = tokens.invitation_of_token(self._secret, token)
        found = await self._store.reader().rows("member_by_id", named[0]) if named else ()
        known = known_of(found[0]) if found else None
        now = self._clock.now()
        if named is None or known is None or known.invitation != named[1]:
            return None
        if known.invited_until is None or known.invited_until <= now:
            return await self._start(known, password, request)
        try:
            checked = passwords.checked(password, "password", known.member.email, known.member.name)
        except inputs.Bad as bad:
            return bad.refusal
        hashed = await self._hashing.hashed(checked)
        async with writing(self._store) as tx:
            if not await tx.rows("accept_invitation", known.member.id, named[1], now, hashed):
                return None
            await tx.rows("end_sessions", known.member.id, NO_SESSION, now)
            await tx.commit()
        return await self._start(known._replace(password=hashed), password, request)

    async def change_password(self, session: Session, password: str, new: str) -> bool | Refusal:
        """Change the password of who is signed in: all their other sessions end. False if it is not theirs.

        Asked again, when it has been changed already, it answers the same.
        """
        member = session.member
        try:
            checked = passwords.checked(new, "new_password", member.email, member.name)
        except inputs.Bad as bad:
            return bad.refusal
        known = known_of((await self._store.reader().rows("member_by_id", member.id))[0]).password
        if not await self._hashing.fits(known, password):
            return await self._hashing.fits(known, checked)
        hashed = await self._hashing.hashed(checked)
        async with writing(self._store) as tx:
            changed = bool(await tx.rows("change_password", member.id, known, hashed))
            if changed:
                await tx.rows("end_sessions", member.id, session.digest, self._clock.now())
                await tx.commit()
        return changed

    async def find(self, token: str, *, used_at: Instant = 0) -> Session | None:
        """Whose session this is; None if it is nobody's, or over. `used_at`: when it was used, if later."""
        if len(token) != _LENGTH or not token.startswith(_PREFIX) or not token.isascii():
            return None
        return await self.one(_digest(token), used_at=used_at)

    async def one(self, digest: bytes, *, used_at: Instant = 0) -> Session | None:
        """A session that is not over."""
        found = await self._store.reader().rows("session_by_digest", digest)
        if not found or found[0][12] is not None:
            return None
        row = found[0]
        session = Session(digest, known_of(row[:10]).member, row[10], max(used_at, row[11]))
        return session if self.is_live(session) else None

    def is_live(self, session: Session) -> bool:
        return self._clock.now() < self.limits.ends_at(session)

    async def end(self, session: Session) -> int:
        """Sign out; how many sessions ended by it."""
        async with writing(self._store) as tx:
            ended = await tx.rows("end_session", session.digest, self._clock.now())
            await tx.commit()
        return len(ended)

    async def end_all(self, member: str) -> int:
        """Sign a member out everywhere; how many sessions ended by it."""
        return await end_sessions(self._store, member, self._clock.now())

    async def touch(self, used: Mapping[bytes, Instant]) -> None:
        """Note when sessions were last used, and forget those that are too old to be any."""
        async with writing(self._store) as tx:
            if used:
                await tx.many("touch_sessions", sorted(used.items()))
            await tx.rows("forget_sessions", self._clock.now() - self.limits.whole)
            await tx.commit()

    async def _start(self, known: Known | None, password: str, request: str | None) -> Started | None:
        fits = await self._hashing.fits(known.password if known else None, password)
        if known is None or known.password is None or not fits:
            return None
        token = self._token(known.member.id, request)
        if request is not None and await self._store.reader().rows("session_by_digest", _digest(token)):
            before = await self.find(token)
            if before is not None:
                return Started(before, token)
            # What has ended does not come to life again.
            token = self._token(known.member.id, None)
        async with writing(self._store) as tx:
            started = await self.begin(tx, known.member, "start_session", known.password, token=token)
            await tx.commit()
        if started is not None and self._hashing.is_outdated(known.password):
            hashed = await self._hashing.hashed(password)
            async with writing(self._store) as tx:
                await tx.rows("change_password", known.member.id, known.password, hashed)
                await tx.commit()
        return started

    async def begin(
        self, tx: Transaction, member: Member, start: str, *proof: str, token: str = ""
    ) -> Started | None:
        """A new session, if what proved them still does: `start` is the query that sees to it."""
        token, now = token or self._token(member.id, None), self._clock.now()
        if not await tx.rows(start, _digest(token), member.id, *proof, now):
            return None
        await tx.run("note_sign_in", member.id, now)
        member = msgspec.structs.replace(member, state="active", signed_in_at=to_datetime(now))
        return Started(Session(_digest(token), member, now, now), token)

    def _token(self, member: str, request: str | None) -> str:
        raw = secrets.token_bytes(32)
        if request is not None:
            raw = hmac.digest(self._secret.encode(), f"session\n{member}\n{request}".encode(), "sha256")
        return _PREFIX + base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
