"""Members of staff: each of one org, with an e-mail, a name, a role and a password that only they know.

Who is added gets an invitation: a token with which they choose their password, once, within three days. The
log names members as `staff:NAME`, so no two of an org have the same name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from email.errors import MessageError
from email.headerregistry import Address
from typing import Final, NamedTuple

import msgspec

from fairhold import ids, inputs, tokens
from fairhold.accounts import passwords
from fairhold.accounts.passwords import Passwords
from fairhold.clock import Clock, to_datetime
from fairhold.core.model import Instant
from fairhold.core.refusals import Refusal, unknown
from fairhold.keys import ADMIN, READ, STAFF
from fairhold.once import once
from fairhold.orgs import checked_org
from fairhold.shapes import optional_datetime
from fairhold.store.base import Reader, Row, Store, Transaction

ROLES: Final = (ADMIN, STAFF, READ)
INVITED_FOR: Final = 3 * 24 * 3_600_000
MEMBER: Final = re.compile("m[0-9a-f]{16}")
# The digest of no session: no session is left out.
NO_SESSION: Final = b""
_EMAIL_MAX: Final = 254
_PAGE_MAX: Final = 1_000
_WITH_PASSWORD: Final = 11


class Invitation(msgspec.Struct, frozen=True):
    """What lets a member choose their password, once. It is shown when it is made, and never again."""

    token: str
    expires_at: datetime


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A member of staff. `state` is invited until they have a password or have signed in, then active."""

    id: str
    org: str
    email: str
    name: str
    role: str
    state: str
    created_at: datetime
    signed_in_at: datetime | None
    invitation: Invitation | None = None


class Known(NamedTuple):
    """A member as the database has them."""

    member: Member
    invitation: int
    invited_until: Instant | None
    password: str | None = None


class Members:
    """The members of a database."""

    def __init__(self, store: Store, clock: Clock, secret: str) -> None:
        self._store = store
        self._clock = clock
        self._secret = secret

    async def add(
        self, org: str, email: str, name: str, role: str, *, idempotency_key: str | None = None
    ) -> Member | Refusal:
        """Add a member, and invite them."""
        try:
            checked_org(org)
            row = (email_of(email), inputs.text(name, "name", 100, empty=False), _role(role))
        except inputs.Bad as bad:
            return bad.refusal
        now = self._clock.now()

        async def work(tx: Transaction) -> str | Refusal:
            if refused := await _taken(tx, org, row[0], row[1]):
                return refused
            member = ids.new_name("m")
            await tx.run("put_member", member, org, *row, now + INVITED_FOR, now)
            return member

        said = ("add_member", *row)
        return await self._invited(org, await once(self._store, org, idempotency_key, said, now, work))

    async def invite(self, org: str, member: str, *, idempotency_key: str | None = None) -> Member | Refusal:
        """Invite a member anew, also one who has forgotten their password; earlier invitations end."""
        now = self._clock.now()

        async def work(tx: Transaction) -> str | Refusal:
            if await find(tx, org, member) is None:
                return unknown("member", member)
            await tx.run("invite_member", org, member, now + INVITED_FOR)
            return member

        said = ("invite_member", member)
        return await self._invited(org, await once(self._store, org, idempotency_key, said, now, work))

    async def _invited(self, org: str, answer: str | Refusal) -> Member | Refusal:
        """The member with their invitation, which is derived: it is not kept."""
        if isinstance(answer, Refusal):
            return answer
        known = await find(self._store.reader(), org, answer)
        if known is None:
            return unknown("member", answer)
        if known.invited_until is None:
            return known.member
        token = tokens.invitation_token(self._secret, known.member.id, known.invitation)
        invitation = Invitation(token, to_datetime(known.invited_until))
        return msgspec.structs.replace(known.member, invitation=invitation)

    async def one(self, org: str, member: str) -> Member | Refusal:
        known = await find(self._store.reader(), org, member)
        return unknown("member", member) if known is None else known.member

    async def by_email(self, org: str, email: str) -> Member | Refusal:
        try:
            found = await self._store.reader().rows("member_by_email", org, email_of(email))
        except inputs.Bad as bad:
            return bad.refusal
        return known_of(found[0]).member if found else unknown("member", email)

    async def page(self, org: str, after: str = "", limit: int = 100) -> list[Member]:
        found = await self._store.reader().rows("read_members", org, after, min(limit, _PAGE_MAX))
        return [known_of(row).member for row in found]

    async def change(
        self,
        org: str,
        member: str,
        *,
        email: str | None = None,
        name: str | None = None,
        role: str | None = None,
        idempotency_key: str | None = None,
    ) -> Member | Refusal:
        """Change a member; what is not said stays."""
        try:
            email = None if email is None else email_of(email)
            name = None if name is None else inputs.text(name, "name", 100, empty=False)
            role = None if role is None else _role(role)
        except inputs.Bad as bad:
            return bad.refusal

        async def work(tx: Transaction) -> str | Refusal:
            admins = await tx.rows("lock_admins", org)
            known = await find(tx, org, member)
            if known is None:
                return unknown("member", member)
            was = known.member
            row = (email or was.email, name or was.name, role or was.role)
            if row[2] != ADMIN and _is_last(admins, member):
                return _last_admin()
            if refused := await _taken(tx, org, row[0], row[1], besides=member):
                return refused
            await tx.run("change_member", org, member, *row)
            if row[0] != was.email:
                # Who they are at a provider was found by the e-mail that they had.
                await tx.rows("drop_identities", member)
            return member

        said = ("change_member", member, email, name, role)
        answer = await once(self._store, org, idempotency_key, said, self._clock.now(), work)
        return answer if isinstance(answer, Refusal) else await self.one(org, answer)

    async def remove(self, org: str, member: str, *, idempotency_key: str | None = None) -> str | Refusal:
        """Remove a member with all that is known of them; they are signed out everywhere. Answers the id."""

        async def work(tx: Transaction) -> str | Refusal:
            if _is_last(await tx.rows("lock_admins", org), member):
                return _last_admin()
            # The member first: who is just signing in waits for it, and then finds nobody.
            if not await tx.rows("drop_member", org, member):
                return unknown("member", member)
            await tx.rows("drop_sessions", member)
            await tx.rows("drop_passkeys", member)
            await tx.rows("drop_identities", member)
            return member

        said = ("remove_member", member)
        return await once(self._store, org, idempotency_key, said, self._clock.now(), work)

    async def sign_out(self, org: str, member: str) -> int | Refusal:
        """Sign a member out everywhere; how many sessions ended by it."""
        if await find(self._store.reader(), org, member) is None:
            return unknown("member", member)
        return await end_sessions(self._store, member, self._clock.now())

    async def set_password(self, org: str, email: str, password: str, hashing: Passwords) -> Member | Refusal:
        """Give a member a password, without an invitation; they are signed out everywhere."""
        try:
            found = await self._store.reader().rows("member_by_email", org, email_of(email))
            known = known_of(found[0]) if found else None
            if known is None:
                return unknown("member", email)
            checked = passwords.checked(password, "password", known.member.email, known.member.name)
        except inputs.Bad as bad:
            return bad.refusal
        hashed = await hashing.hashed(checked)
        tx = await self._store.begin(beside=True)
        try:
            if not await tx.rows("change_password", known.member.id, known.password, hashed):
                return Refusal("changed_meanwhile", "Somebody has changed the password meanwhile.")
            await tx.rows("end_sessions", known.member.id, NO_SESSION, self._clock.now())
            await tx.commit()
        finally:
            await tx.rollback()
        return await self.one(org, known.member.id)


async def find(reader: Reader, org: str, member: object) -> Known | None:
    """A member of an org, by their id."""
    if not isinstance(member, str) or not MEMBER.fullmatch(member):
        return None
    found = await reader.rows("member_by_id", member)
    known = known_of(found[0]) if found else None
    return known if known is not None and known.member.org == org else None


async def has_password(store: Store, member: str) -> bool:
    """Whether they can sign in with a password; who came from a provider has none."""
    found = await store.reader().rows("member_by_id", member)
    return bool(found) and known_of(found[0]).password is not None


async def end_sessions(store: Store, member: str, now: Instant) -> int:
    """End all sessions of a member; how many there were."""
    tx = await store.begin(beside=True)
    try:
        ended = await tx.rows("end_sessions", member, NO_SESSION, now)
        await tx.commit()
    finally:
        await tx.rollback()
    return len(ended)


def known_of(row: Row) -> Known:
    """A member from the columns `{member}` names, and the password if it stands behind them."""
    member, org, email, name, role, has_password, created_at, signed_in_at, invited_until, invitation = row[
        :10
    ]
    shape = Member(
        id=member,
        org=org,
        email=email,
        name=name,
        role=role,
        state="active" if has_password or signed_in_at is not None else "invited",
        created_at=to_datetime(created_at),
        signed_in_at=optional_datetime(signed_in_at),
    )
    return Known(shape, invitation, invited_until, row[10] if len(row) == _WITH_PASSWORD else None)


async def _taken(tx: Transaction, org: str, email: str, name: str, besides: str = "") -> Refusal | None:
    for field, value in (("email", email), ("name", name)):
        found = await tx.rows("member_by_email" if field == "email" else "member_by_name", org, value)
        if found and found[0][0] != besides:
            return Refusal("exists", f"There is a member with this {field} already.", field)
    return None


def _is_last(admins: Sequence[Row], member: str) -> bool:
    return [row[0] for row in admins] == [member]


def _last_admin() -> Refusal:
    return Refusal("not_possible", "This is the last admin: make somebody else an admin first.", "role")


def email_of(value: object) -> str:
    """An address in small letters: nobody means two people by them."""
    said = inputs.text(value, "email", _EMAIL_MAX, empty=False).strip()
    text = said.lower()
    if text.isascii() and not said.isascii():
        # The sign for Kelvin is a k in small letters, and yet somebody else's address.
        raise inputs.Bad("email", "This is no e-mail address.")
    try:
        address = Address(addr_spec=text)
    except (MessageError, ValueError, IndexError, AttributeError):
        raise inputs.Bad("email", "This is no e-mail address.") from None
    if not address.username or not address.domain or address.addr_spec != text or not text.isprintable():
        raise inputs.Bad("email", "This is no e-mail address.")
    return text


def _role(value: object) -> str:
    if not isinstance(value, str) or value not in ROLES:
        raise inputs.Bad("role", f"role must be one of: {', '.join(ROLES)}.")
    return value
