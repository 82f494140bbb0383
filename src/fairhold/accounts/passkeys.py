"""Passkeys: members prove themselves with their device, which asks for a finger, a face or a PIN.

What a browser sends is checked by py_webauthn: the origin and the site it was made for, that its owner was
verified, the signature, and the counter, which may not go back. The challenge is ours to check: see
`challenges`. No user name is asked for: the device knows whose passkey it is.
"""

from __future__ import annotations

import binascii
import logging
from base64 import urlsafe_b64decode
from datetime import datetime
from ipaddress import ip_address
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from fairhold import ids, inputs
from fairhold.accounts.challenges import ADD, LIVES, NOBODY, SIGN_IN, Challenges
from fairhold.accounts.members import Member, known_of
from fairhold.accounts.sessions import Session, Sessions, Started
from fairhold.clock import Clock, to_datetime
from fairhold.core.refusals import Refusal, unknown
from fairhold.shapes import optional_datetime
from fairhold.store.base import Store, writing

log = logging.getLogger("fairhold.accounts")

# One adds a passkey only soon after signing in: who finds a desk left open must not stay for good.
FRESH: Final = 15 * 60_000
_MANY: Final = 20
_NOT_PROVEN: Final = Refusal("not_possible", "This passkey could not be checked. Try again.", "credential")


class Passkey(msgspec.Struct, frozen=True):
    """A passkey of a member, as its owner knows it."""

    id: str
    name: str
    created_at: datetime
    used_at: datetime | None


class Site(NamedTuple):
    """Whom passkeys are for: the host's name, and the origin that pages of ours have."""

    id: str
    origin: str


def site_of(url: str) -> Site | None:
    """The site at an address; None where no browser has passkeys: by a number, or without https."""
    parts = urlsplit(url.lower())
    host = parts.hostname or ""
    try:
        ip_address(host)
    except ValueError:
        pass
    else:
        return None
    if not host or (parts.scheme != "https" and host != "localhost" and not host.endswith(".localhost")):
        return None
    port = f":{parts.port}" if parts.port not in (None, 443 if parts.scheme == "https" else 80) else ""
    return Site(host, f"{parts.scheme}://{host}{port}")


class _Answer(msgspec.Struct, rename={"said": "clientDataJSON", "owner": "userHandle"}):
    said: str
    owner: str | None = None


class _Credential(msgspec.Struct, rename={"id": "rawId"}):
    """Of what a browser sends, what has to be known before it can be checked."""

    id: str
    response: _Answer


class _Said(msgspec.Struct):
    challenge: str


class Passkeys:
    """The passkeys of a database, for one site."""

    def __init__(self, store: Store, clock: Clock, sessions: Sessions, site: Site) -> None:
        self._store = store
        self._clock = clock
        self._sessions = sessions
        self._challenges = Challenges(store, clock)
        self._site = site

    def is_fresh(self, session: Session) -> bool:
        """Whether its member has signed in so lately that they may add a passkey."""
        return self._clock.now() < session.created_at + FRESH

    async def ask_to_add(self, session: Session) -> str | Refusal:
        """What their browser has to know to make a passkey, as JSON."""
        from webauthn import generate_registration_options, options_to_json
        from webauthn.helpers import structs

        if not self.is_fresh(session):
            return Refusal("not_possible", "Sign in again first: it has been a while.")
        member = session.member
        rows = await self._store.reader().rows("passkeys_of_member", member.id)
        chosen = structs.AuthenticatorSelectionCriteria(
            resident_key=structs.ResidentKeyRequirement.REQUIRED,
            user_verification=structs.UserVerificationRequirement.REQUIRED,
        )
        options = generate_registration_options(
            rp_id=self._site.id,
            rp_name="Fairhold",
            user_id=member.id.encode(),
            user_name=member.email,
            user_display_name=member.name,
            challenge=await self._challenges.put(ADD, member.id),
            timeout=LIVES,
            authenticator_selection=chosen,
            exclude_credentials=[structs.PublicKeyCredentialDescriptor(bytes(row[4])) for row in rows],
        )
        return options_to_json(options)

    async def add(self, session: Session, name: str, credential: str) -> Passkey | Refusal:
        """Keep the passkey that a browser has made for its member."""
        from webauthn import verify_registration_response

        try:
            called = inputs.text(name, "name", 100, empty=False)
        except inputs.Bad as bad:
            return bad.refusal
        challenge = _challenge_of(credential)
        if challenge is None or not self.is_fresh(session):
            return _NOT_PROVEN
        if not await self._challenges.take(challenge, ADD, session.member.id):
            return _NOT_PROVEN
        try:
            made = verify_registration_response(
                credential=credential,
                expected_challenge=challenge,
                expected_rp_id=self._site.id,
                expected_origin=self._site.origin,
                require_user_verification=True,
            )
        except Exception as error:  # noqa: BLE001  # whatever fails on what somebody sends means no
            log.info("a new passkey was not taken: %s", error)
            return _NOT_PROVEN
        row = (made.credential_id, made.credential_public_key, made.sign_count, called)
        return await self._put(session.member, row)

    async def _put(self, member: Member, row: tuple[bytes, bytes, int, str]) -> Passkey | Refusal:
        now, name = self._clock.now(), ids.new_name("k")
        async with writing(self._store) as tx:
            if len(await tx.rows("passkeys_of_member", member.id)) >= _MANY:
                return Refusal("not_possible", f"More than {_MANY} passkeys are too many. Remove one first.")
            if await tx.rows("passkey_by_credential", row[0]):
                return Refusal("exists", "This passkey is there already.")
            if not await tx.rows("put_passkey", name, member.id, *row, now):
                return unknown("member", member.id)
            await tx.commit()
        return Passkey(name, row[3], to_datetime(now), None)

    async def ask_to_sign_in(self) -> str:
        """What a browser has to know to sign somebody in, as JSON. It says nothing of anybody."""
        from webauthn import generate_authentication_options, options_to_json
        from webauthn.helpers.structs import UserVerificationRequirement

        options = generate_authentication_options(
            rp_id=self._site.id,
            challenge=await self._challenges.put(SIGN_IN),
            timeout=LIVES,
            user_verification=UserVerificationRequirement.REQUIRED,
        )
        return options_to_json(options)

    async def sign_in(self, credential: str) -> Started | None:
        """A session for whose passkey this is."""
        from webauthn import verify_authentication_response

        challenge, sent = _challenge_of(credential), _decoded(credential)
        if challenge is None or sent is None or not await self._challenges.take(challenge, SIGN_IN, NOBODY):
            return None
        found = await self._store.reader().rows("passkey_by_credential", _bytes(sent.id))
        if not found:
            return None
        member, (name, public_key, count) = known_of(found[0][:10]).member, found[0][10:]
        if _bytes(sent.response.owner or "") != member.id.encode():
            return None
        try:
            proven = verify_authentication_response(
                credential=credential,
                expected_challenge=challenge,
                expected_rp_id=self._site.id,
                expected_origin=self._site.origin,
                credential_public_key=bytes(public_key),
                credential_current_sign_count=count,
                require_user_verification=True,
            )
        except Exception as error:  # noqa: BLE001  # whatever fails on what somebody sends means no
            log.info("a passkey was refused: %s", error, extra={"passkey": name, "member": member.id})
            return None
        return await self._begin(member, name, count, proven.new_sign_count)

    async def _begin(self, member: Member, name: str, count: int, new_count: int) -> Started | None:
        """A session, unless the passkey was removed or used again meanwhile."""
        async with writing(self._store) as tx:
            started = await self._sessions.begin(tx, member, "start_session_by_passkey", name)
            if started and await tx.rows("use_passkey", name, count, new_count, self._clock.now()):
                await tx.commit()
                return started
        return None


async def passkeys_of(store: Store, member: str) -> list[Passkey]:
    """The passkeys of a member, the oldest first."""
    return [_shape(*row[:4]) for row in await store.reader().rows("passkeys_of_member", member)]


async def remove_passkey(store: Store, member: str, passkey: str) -> str | Refusal:
    """Remove a passkey of a member: nobody signs in with it any more. Sessions stay. Answers the id."""
    async with writing(store) as tx:
        if not await tx.rows("drop_passkey", member, passkey):
            return unknown("passkey", passkey)
        await tx.commit()
    return passkey


def _shape(passkey: str, name: str, created_at: int, used_at: int | None) -> Passkey:
    return Passkey(passkey, name, to_datetime(created_at), optional_datetime(used_at))


def credential_in(credential: str) -> str:
    """Which passkey is said to have answered, known or not."""
    sent = _decoded(credential)
    return sent.id if sent is not None else ""


def _challenge_of(credential: str) -> bytes | None:
    """The challenge that a browser says it has answered."""
    sent = _decoded(credential)
    try:
        said = msgspec.json.decode(_bytes(sent.response.said), type=_Said) if sent else None
    except (msgspec.DecodeError, UnicodeError):
        return None
    return _bytes(said.challenge) if said else None


def _decoded(credential: str) -> _Credential | None:
    try:
        return msgspec.json.decode(credential, type=_Credential)
    except (msgspec.DecodeError, UnicodeError):
        return None


def _bytes(text: str) -> bytes:
    """What base64 for addresses stands for; nothing where it is none."""
    try:
        return urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return b""
