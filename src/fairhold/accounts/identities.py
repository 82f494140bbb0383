"""Identities: which member somebody is whom a provider has proved.

A member is found by the name that the provider has for them (its *subject*), and gives to nobody else. Who
comes for the first time is found by their verified e-mail, or by their name, and their subject is kept. So
who gets an e-mail later that was somebody else's before does not get their account with it.
"""

from __future__ import annotations

from typing import Final

from fairhold import ids, inputs
from fairhold.accounts.members import Member, email_of, known_of
from fairhold.accounts.oidc import Claimed, OidcSettings
from fairhold.accounts.sessions import Sessions, Started
from fairhold.clock import Clock
from fairhold.errors import FairholdError
from fairhold.store.base import Row, Store, Transaction, writing

_SUBJECT_MAX: Final = 255
_NAME_MAX: Final = 100


class Identities:
    """The identities of a database."""

    def __init__(self, store: Store, clock: Clock, sessions: Sessions) -> None:
        self._store = store
        self._clock = clock
        self._sessions = sessions

    async def sign_in(self, who: Claimed, settings: OidcSettings) -> Started | None:
        """A session for who this is; None if they are no member and may not become one."""
        try:
            return await self._sign_in(who, settings)
        except FairholdError:
            raise
        except Exception:  # noqa: BLE001  # they may be coming twice at the same moment: look again
            return await self._sign_in(who, settings)

    async def _sign_in(self, who: Claimed, settings: OidcSettings) -> Started | None:
        try:
            inputs.text(who.subject, "subject", _SUBJECT_MAX, empty=False)
            inputs.text(who.name if settings.claim != "email" else "", "name", _SUBJECT_MAX)
        except inputs.Bad:
            return None
        async with writing(self._store) as tx:
            found = await tx.rows("member_by_identity", settings.org, who.issuer, who.subject)
            member = known_of(found[0]).member if found else await self._first_time(tx, who, settings)
            if member is None:
                return None
            proof = (who.issuer, who.subject)
            started = await self._sessions.begin(tx, member, "start_session_by_identity", *proof)
            if started is not None:
                # An identity of who was removed at this moment would keep them out for good.
                await tx.commit()
            return started

    async def _first_time(self, tx: Transaction, who: Claimed, settings: OidcSettings) -> Member | None:
        member = await self._matching(tx, who, settings)
        if member is None and settings.new_role:
            member = await self._made(tx, who, settings)
        if member is None:
            return None
        if known := await tx.rows("subject_of_member", member.id, who.issuer):
            # They may have come at this very moment by another way.
            return member if known[0][0] == who.subject else None
        await tx.run("put_identity", settings.org, who.issuer, who.subject, member.id, self._clock.now())
        return member

    async def _matching(self, tx: Transaction, who: Claimed, settings: OidcSettings) -> Member | None:
        found: list[Row] = []
        if settings.claim != "email":
            found += await tx.rows("member_by_name", settings.org, who.name) if who.name else ()
        elif email := _email(who):
            found += await tx.rows("member_by_email", settings.org, email)
        return known_of(found[0][:10]).member if found else None

    async def _made(self, tx: Transaction, who: Claimed, settings: OidcSettings) -> Member | None:
        """A new member, without a password or an invitation."""
        email = _email(who)
        if not email:
            return None
        # By e-mail nobody was found; who is made meanwhile is kept from being made twice by the database.
        if settings.claim != "email" and await tx.rows("member_by_email", settings.org, email):
            return None
        try:
            name = inputs.text(who.name.strip()[:_NAME_MAX], "name", _NAME_MAX, empty=False)
        except inputs.Bad:
            name = email
        if await tx.rows("member_by_name", settings.org, name):
            if settings.claim != "email":
                return None
            name = email[:_NAME_MAX]
        row = (ids.new_name("m"), settings.org, email, name, settings.new_role, None, self._clock.now())
        await tx.run("put_member", *row)
        return known_of((await tx.rows("member_by_id", row[0]))[0]).member


def _email(who: Claimed) -> str:
    try:
        return email_of(who.email)
    except inputs.Bad:
        return ""
