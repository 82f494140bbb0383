"""Passwords, by Argon2id. Checking one takes as long for who is not known as for who is.

A check takes 64 MiB and a good part of a tenth of a second: few are made at once, and not many wait for them.
"""

from __future__ import annotations

import asyncio
import secrets
import unicodedata
from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from fairhold import inputs
from fairhold.accounts.common_passwords import is_common
from fairhold.extras import needs

if TYPE_CHECKING:
    from argon2 import PasswordHasher

LENGTH_MIN: Final = 10
LENGTH_MAX: Final = 500
_LETTERS_MIN: Final = 3
_AT_ONCE: Final = 2
_WAITING_MAX: Final = 32

R = TypeVar("R")


def checked(password: object, field: str, *known: str) -> str:
    """A password that may be taken: long enough, none of what everybody knows of its owner, and not common.

    Refusals, in order: invalid, common_password.
    """
    text = plain(inputs.text(password, field, LENGTH_MAX))
    if len(text) < LENGTH_MIN:
        raise inputs.Bad(field, f"A password has at least {LENGTH_MIN} characters.")
    if text.casefold() in {word.casefold() for word in known} or len(set(text)) < _LETTERS_MIN:
        raise inputs.Bad(field, "This password is too easy to guess.")
    if is_common(text):
        raise inputs.Bad(field, "Many people use this password, so it is tried first.", "common_password")
    return text


def plain(password: str) -> str:
    """The same password, however a keyboard spells its letters."""
    return unicodedata.normalize("NFKC", password)


def _nobodys(hasher: PasswordHasher) -> str:
    """A hash of no password that anybody knows, not even we: checking by it takes as long as by another."""
    from argon2.low_level import ARGON2_VERSION

    dice = (secrets.token_bytes(length) for length in (hasher.salt_len, hasher.hash_len))
    salt, digest = (b64encode(thrown).rstrip(b"=").decode() for thrown in dice)
    costs = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    return f"$argon2id$v={ARGON2_VERSION}${costs}${salt}${digest}"


class Passwords:
    """Makes and checks hashes, beside the event loop."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        with needs("server", "passwords"):
            from argon2 import PasswordHasher

        self._hasher = hasher or PasswordHasher()
        self._nobodys = _nobodys(self._hasher)
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self._waiting = 0

    @property
    def is_crowded(self) -> bool:
        """Whether so many are being checked that nobody else should wait for it."""
        return self._waiting >= _WAITING_MAX

    async def hashed(self, password: str) -> str:
        return await self._in_turn(lambda: self._hasher.hash(plain(password)))

    async def fits(self, known: str | None, password: str) -> bool:
        """Whether it is this password; where none is known, no, and just as slowly."""
        fits = await self._in_turn(lambda: self._verify(known or self._nobodys, plain(password)))
        return fits and known is not None

    def is_outdated(self, known: str) -> bool:
        """Whether a hash was made by rules that are not ours any more."""
        return self._hasher.check_needs_rehash(known)

    def _verify(self, known: str, password: str) -> bool:
        from argon2.exceptions import InvalidHashError, VerificationError

        try:
            return self._hasher.verify(known, password)
        except (VerificationError, InvalidHashError):
            return False

    async def _in_turn(self, work: Callable[[], R]) -> R:
        self._waiting += 1
        try:
            async with self._turn:
                return await asyncio.to_thread(work)
        finally:
            self._waiting -= 1
