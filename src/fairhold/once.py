"""Once per idempotency key, for what is written beside the lane: effect and answer in one transaction.

What is kept is the name of what was made or changed, never what it says: people's names and addresses stand
in their own tables alone, and are read from there when the same request comes again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from fairhold import inputs
from fairhold.answers import decode_answer, encode_answer
from fairhold.core.model import Instant
from fairhold.core.refusals import Refusal, idempotency_mismatch
from fairhold.errors import FairholdError
from fairhold.store.base import Reader, Store, Transaction

_NAMED: Final = "named "

Work = Callable[[Transaction], Awaitable[str | Refusal]]


async def once(store: Store, org: str, key: str | None, said: Any, now: Instant, work: Work) -> str | Refusal:
    """Do the work in a transaction, unless this key was there before; the name that it answered."""
    if refused := _wrong(key):
        return refused
    request = (org, key, _digest(said))
    try:
        return await _done(store, request, now, work)
    except FairholdError:
        raise
    except Exception:  # noqa: BLE001  # another process may have made the same at the same moment: look again
        return await _done(store, request, now, work)


async def _done(
    store: Store, request: tuple[str, str | None, bytes], now: Instant, work: Work
) -> str | Refusal:
    tx = await store.begin(beside=True)
    try:
        before = await _before(tx, request)
        if before is not None:
            return before
        answer = await work(tx)
        if isinstance(answer, Refusal) and request[1] is None:
            return answer
        if request[1] is not None:
            await tx.many("insert_requests", [(*request, _kept(answer), now)])
        await tx.commit()
        return answer
    finally:
        await tx.rollback()


async def answered(store: Store, org: str, key: str | None, said: Any) -> str | Refusal | None:
    """What this key was answered before, for work that cannot be done inside a transaction."""
    return _wrong(key) or await _before(store.reader(), (org, key, _digest(said)))


def _wrong(key: str | None) -> Refusal | None:
    try:
        if key is not None:
            inputs.text(key, "idempotency_key", 255, empty=False)
    except inputs.Bad as bad:
        return bad.refusal
    return None


async def keep(
    store: Store, org: str, key: str | None, said: Any, now: Instant, answer: str
) -> str | Refusal:
    """Keep the answer to work that is done outside of a transaction; what is kept under this key."""

    async def nothing(tx: Transaction) -> str:
        return answer

    return await once(store, org, key, said, now, nothing) if key is not None else answer


async def _before(reader: Reader, request: tuple[str, str | None, bytes]) -> str | Refusal | None:
    org, key, digest = request
    known = await reader.each("requests_by_key", [(org, key)]) if key is not None else ()
    if not known:
        return None
    if bytes(known[0][2]) != digest:
        return idempotency_mismatch()
    kept: str = known[0][3]
    if is_a_name(kept):
        return kept.removeprefix(_NAMED)
    refused = decode_answer(kept)
    assert isinstance(refused, Refusal)
    return refused


def is_a_name(kept: str) -> bool:
    """Whether what is kept under a key is one of these names, and so tells of nobody."""
    return kept.startswith(_NAMED)


def _kept(answer: str | Refusal) -> str:
    return encode_answer(answer) if isinstance(answer, Refusal) else _NAMED + answer


def _digest(said: Any) -> bytes:
    return hashlib.sha256(msgspec.json.encode(said)).digest()
