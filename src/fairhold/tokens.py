"""Tokens in links: an edit token names one booking, an offer token one offer. They cannot be guessed.

A token is the thing's name and a keyed hash of it, so nothing secret is stored with the booking, no
token can be read out of a database's rows or a log, and the same token can be made again for a message.
The key is FAIRHOLD_SECRET, or one that Fairhold makes and keeps (see `config`).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from functools import lru_cache
from typing import Final

from fairhold.ids import BOOKING_LENGTH, booking_number

_MAC_BYTES: Final = 16
_MEMBER_LENGTH: Final = 17


def new_secret() -> str:
    return secrets.token_urlsafe(32)


def edit_token(secret: str, booking: str) -> str:
    """The token that lets its holder see and change the booking with this id."""
    return booking + _mac(secret, "edit", booking)


def booking_of_edit_token(secret: str, token: str) -> tuple[int, int] | None:
    """The (pool, number) of a true edit token."""
    name, mac = token[:BOOKING_LENGTH], token[BOOKING_LENGTH:]
    if not token.isascii() or not hmac.compare_digest(mac.encode(), _mac(secret, "edit", name).encode()):
        return None
    return booking_number(name)


def offer_token(secret: str, booking: str, seq: int) -> str:
    """The token that lets its holder answer one offer to the booking with this id."""
    name = f"{booking}{seq:x}"
    return f"{name}.{_mac(secret, 'offer', name)}"


def is_for_an_offer(token: object) -> bool:
    """Whether a text has the form of an offer token, true or not."""
    return isinstance(token, str) and "." in token


def offer_of_token(secret: str, token: object) -> tuple[int, int, int] | None:
    """The (pool, number, seq) of a true offer token."""
    if not isinstance(token, str):
        return None
    name, _, mac = token.partition(".")
    if not token.isascii() or not hmac.compare_digest(mac.encode(), _mac(secret, "offer", name).encode()):
        return None
    found = booking_number(name[:BOOKING_LENGTH])
    return (*found, int(name[BOOKING_LENGTH:], 16)) if found else None


def source(secret: str, address: str) -> str:
    """A name for an address that does not tell it."""
    return _mac(secret, "address", address)


def attempt_name(secret: str, whose: str) -> str:
    """A name for those whose attempts at a password are counted; it does not tell who they are."""
    return _mac(secret, "attempt", whose)


def form_token(secret: str, pool: str, name: str) -> str:
    """The token that goes with a form of ours for a pool; `name` says which form."""
    return f"{name}.{_mac(secret, 'form', f'{pool} {name}')}"


def form_of_token(secret: str, pool: str, token: str) -> str | None:
    """The name of the form that a true token went with."""
    name, _, mac = token.rpartition(".")
    if not token.isascii():
        return None
    true = hmac.compare_digest(mac.encode(), _mac(secret, "form", f"{pool} {name}").encode())
    return name if true else None


def _mac(secret: str, purpose: str, name: str) -> str:
    mac = _keyed(secret, purpose).copy()
    mac.update(name.encode())
    return mac.hexdigest()


@lru_cache(16)
def _keyed(secret: str, purpose: str) -> hashlib.blake2b:
    return hashlib.blake2b(f"{purpose}:".encode(), key=_key(secret), digest_size=_MAC_BYTES)


@lru_cache(16)
def _key(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def webhook_secret(secret: str, org: str, webhook: str, generation: int) -> str:
    """The secret that a webhook's messages are signed with; another generation has another."""
    raw = hashlib.blake2b(f"webhook:{org}:{webhook}:{generation}".encode(), key=_key(secret), digest_size=24)
    return "whsec_" + base64.b64encode(raw.digest()).decode()


def invitation_token(secret: str, member: str, number: int) -> str:
    """The token that lets a member choose a password; the next invitation has another."""
    name = f"{member}{number:x}"
    return f"{name}.{_mac(secret, 'invitation', name)}"


def invitation_of_token(secret: str, token: object) -> tuple[str, int] | None:
    """The (member, number) of a true invitation token."""
    if not isinstance(token, str) or not token.isascii():
        return None
    name, _, mac = token.partition(".")
    if not hmac.compare_digest(mac.encode(), _mac(secret, "invitation", name).encode()):
        return None
    return name[:_MEMBER_LENGTH], int(name[_MEMBER_LENGTH:], 16)


def csrf_token(secret: str, session: bytes) -> str:
    """What a page of ours says beside its session's cookie, and no page of others can know."""
    return _mac(secret, "csrf", session.hex())
