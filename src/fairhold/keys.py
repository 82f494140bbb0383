"""API keys: `fh_…`, each of one org, with a role and a name. Only a hash of a key is kept.

A key is 32 random bytes, so a plain SHA-256 of it tells nobody anything. It is shown once, when it is made.

    fh_   oJ3Xv0V7…        4kQz1B
    │     43 characters    6 characters: the CRC-32 of all before them, in base 62
    │     of secret
    prefix

The checksum finds mistakes; it protects nothing, for anybody can compute it. By it a scanner of source code
tells a key from other words, and a mistyped key is refused without asking the database.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import string
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from fairhold import inputs
from fairhold.clock import Clock, to_datetime
from fairhold.core.model import Instant
from fairhold.core.refusals import Refusal, idempotency_mismatch, unknown
from fairhold.orgs import checked_org
from fairhold.shapes import optional_datetime
from fairhold.store.base import Row, Store

PREFIX: Final = "fh_"
ADMIN: Final = "admin"
STAFF: Final = "staff"
READ: Final = "read"
PUBLIC: Final = "public"
ROLES: Final = (ADMIN, STAFF, READ, PUBLIC)
PATTERN: Final = PREFIX + "[A-Za-z0-9_-]{43}[A-Za-z0-9]{6}"
"""The regular expression that every key matches as a whole: docs/reference/api.md tells it to scanners."""
CHECKSUM_LENGTH: Final = 6
_DIGITS: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
_PAGE_MAX: Final = 1_000


class Access(NamedTuple):
    """Who asks: a key that was shown, or a member who is signed in; their org, role and name.

    `key` is the id of the key or the member; `session` is the digest of a member's session.
    """

    key: str
    org: str
    role: str
    name: str
    session: bytes | None = None


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key as an admin sees it. `secret` is there once, in the answer to its making."""

    id: str
    org: str
    name: str
    role: str
    hint: str
    created_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None
    secret: str | None = None


class Keys:
    """The keys of a database."""

    def __init__(self, store: Store, clock: Clock, secret: str) -> None:
        self._store = store
        self._clock = clock
        self._secret = secret

    async def create(self, org: str, role: str, name: str, request: str | None = None) -> ApiKey | Refusal:
        """Make a key. Asked again by the same `request`, the same key: it is derived, as it is not kept."""
        try:
            _check(org, role, name)
        except inputs.Bad as bad:
            return bad.refusal
        if request is not None and (before := await self._made_before(org, role, name, request)):
            return before
        secret = self._new_secret(org, request)
        row = (f"k{secrets.token_hex(8)}", org, name, role, _digest(secret), secret[-4:], request)
        now = self._clock.now()
        try:
            await self._run("insert_key", *row, now)
        except Exception:
            # Another process may have made it at the same moment, for the same request.
            if request is not None and (before := await self._made_before(org, role, name, request)):
                return before
            raise
        made = _key((row[0], org, name, role, row[5], now, None, None))
        return msgspec.structs.replace(made, secret=secret)

    async def _made_before(self, org: str, role: str, name: str, request: str) -> ApiKey | Refusal | None:
        found = await self._store.reader().rows("key_by_request", org, request)
        if not found:
            return None
        key = _key(found[0])
        if (key.role, key.name) != (role, name):
            return idempotency_mismatch()
        fresh = msgspec.structs.replace(key, last_used_at=None, revoked_at=None)
        return msgspec.structs.replace(fresh, secret=self._new_secret(org, request))

    def _new_secret(self, org: str, request: str | None) -> str:
        raw = secrets.token_bytes(32)
        if request is not None:
            raw = hmac.digest(self._secret.encode(), f"api key\n{org}\n{request}".encode(), "sha256")
        return with_checksum(PREFIX + base64.urlsafe_b64encode(raw).decode().rstrip("="))

    async def page(self, org: str, after: str = "", limit: int = 100) -> list[ApiKey]:
        found = await self._store.reader().rows("read_keys", org, after, min(limit, _PAGE_MAX))
        return [_key(row) for row in found]

    async def any(self) -> bool:
        """Whether there is a key at all that lets somebody in."""
        return bool(await self._store.reader().rows("any_key"))

    async def revoke(self, org: str, key: str) -> ApiKey | Refusal:
        """End a key, for good."""
        found = await self._run("revoke_key", org, key, self._clock.now())
        return _key(found[0]) if found else unknown("key", key)

    async def find(self, secret: str) -> Access | None:
        """Return whose key this is; None if it is nobody's, revoked or mistyped."""
        if not is_well_formed(secret):
            return None
        found = await self._store.reader().rows("key_by_digest", _digest(secret))
        return Access(found[0][0], found[0][1], found[0][2], found[0][3]) if found else None

    async def is_good(self, key: str) -> bool:
        """Whether there is a key with this id that was not revoked."""
        return bool(await self._store.reader().rows("key_is_good", key))

    async def touch(self, used: Mapping[str, Instant]) -> None:
        """Note when keys were last used."""
        tx = await self._store.begin(beside=True)
        try:
            await tx.many("touch_keys", sorted(used.items()))
            await tx.commit()
        finally:
            await tx.rollback()

    async def _run(self, name: str, *values: object) -> Sequence[Row]:
        tx = await self._store.begin(beside=True)
        try:
            found = await tx.rows(name, *values)
            await tx.commit()
        finally:
            await tx.rollback()
        return found


def with_checksum(text: str) -> str:
    """Return a key, given all of it but its checksum."""
    number, digits = zlib.crc32(text.encode()), ""
    for _ in range(CHECKSUM_LENGTH):
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return text + digits


def is_well_formed(secret: str) -> bool:
    """True if a text has the form of a key and its checksum is right. It may be nobody's all the same."""
    whole = re.fullmatch(PATTERN, secret) is not None
    return whole and secret == with_checksum(secret[:-CHECKSUM_LENGTH])


def _check(org: str, role: str, name: str) -> None:
    checked_org(org)
    if role not in ROLES:
        raise inputs.Bad("role", f"role must be one of: {', '.join(ROLES)}.")
    inputs.text(name, "name", 100, empty=False)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _key(row: Row) -> ApiKey:
    key, org, name, role, hint, created_at, last_used_at, revoked_at = row
    return ApiKey(
        id=key,
        org=org,
        name=name,
        role=role,
        hint=f"…{hint}",
        created_at=to_datetime(created_at),
        last_used_at=optional_datetime(last_used_at),
        revoked_at=optional_datetime(revoked_at),
    )
