"""Challenges: what a passkey is asked to sign, once and within minutes.

The database keeps their hashes, so that any node can tell one of ours, and none is good for a second time.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

from fairhold.clock import Clock
from fairhold.store.base import Store, writing

ADD: Final = "add"
SIGN_IN: Final = "sign_in"
LIVES: Final = 5 * 60_000
# Before anybody is known.
NOBODY: Final = ""


class Challenges:
    """The challenges of a database."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def put(self, purpose: str, member: str = NOBODY) -> bytes:
        """A new challenge, for this purpose and this member alone."""
        challenge, now = secrets.token_bytes(32), self._clock.now()
        async with writing(self._store) as tx:
            await tx.rows("forget_challenges", now)
            await tx.run("put_challenge", _digest(challenge), purpose, member, now + LIVES)
            await tx.commit()
        return challenge

    async def take(self, challenge: bytes, purpose: str, member: str = NOBODY) -> bool:
        """Whether it is one of ours that nobody has answered yet. From now on somebody has."""
        async with writing(self._store) as tx:
            taken = await tx.rows("take_challenge", _digest(challenge), purpose, member, self._clock.now())
            await tx.commit()
        return bool(taken)


def _digest(challenge: bytes) -> bytes:
    return hashlib.sha256(challenge).digest()
