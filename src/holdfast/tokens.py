"""Tokens in links: an edit token names one booking, an offer token one offer. They cannot be guessed.

A token is the thing's name and a keyed hash of it, so nothing secret is stored with the booking, no
token can be read out of a database's rows or a log, and the same token can be made again for a message.
The key is HOLDFAST_SECRET, or one that Holdfast makes and keeps (see `config`).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import Final

from holdfast.ids import booking_number

_MAC_BYTES: Final = 20


def new_secret() -> str:
    return secrets.token_urlsafe(32)


def edit_token(secret: str, booking: str) -> str:
    """The token that lets its holder see and change the booking with this id."""
    return booking + _mac(secret, "edit", booking)


def booking_of_edit_token(secret: str, token: str) -> tuple[int, int] | None:
    """The (pool, number) of a true edit token."""
    name, mac = token[:22], token[22:]
    if not hmac.compare_digest(mac.encode(), _mac(secret, "edit", name).encode()):
        return None
    return booking_number(name)


def offer_token(secret: str, booking: str, seq: int) -> str:
    """The token that lets its holder answer one offer to the booking with this id."""
    name = f"{booking}{seq:x}"
    return f"{name}.{_mac(secret, 'offer', name)}"


def offer_of_token(secret: str, token: str) -> tuple[int, int, int] | None:
    """The (pool, number, seq) of a true offer token."""
    name, _, mac = token.partition(".")
    if not hmac.compare_digest(mac.encode(), _mac(secret, "offer", name).encode()):
        return None
    found = booking_number(name[:22])
    return (*found, int(name[22:], 16)) if found else None


def _mac(secret: str, purpose: str, name: str) -> str:
    raw = hmac.digest(secret.encode(), f"{purpose}:{name}".encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(raw[:_MAC_BYTES]).decode().rstrip("=")
