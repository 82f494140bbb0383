"""What became of a commit whose connection was lost: the log is asked, and nothing is guessed."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from fairhold.store.base import Store
from fairhold.store.writer import Writer

log = logging.getLogger("fairhold")

_GIVE_UP_S: Final = 15.0
PAUSE_S: Final = 0.1


async def has_happened(store: Store, writer: Writer) -> bool | None:
    """Return whether a batch was written after all; None if nobody comes back to tell.

    Every pool must tell, and every key must be kept: another node may have been asked the same of one of them
    at the same moment and have written the very same entry, while this batch never came to be.
    """
    entries = writer.last_entries
    if not entries:
        return False
    keys = [request[:2] for request in writer.requests]
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + _GIVE_UP_S
    while loop.time() < give_up_at:
        try:
            tx = await store.begin()
            try:
                # Waits until the lost transaction is over, one way or the other.
                await tx.rows("wait_for_pools", sorted(entries))
                heads = [
                    (await tx.rows("log_hash_at", pool_id, seq), hash_)
                    for pool_id, (seq, hash_) in entries.items()
                ]
                kept = await tx.each("requests_by_key", keys) if keys else ()
                # A commit waits for the standby, and so for all that was committed before it.
                await tx.commit()
            finally:
                await tx.rollback()
            is_logged = all(rows and bytes(rows[0][0]) == hash_ for rows, hash_ in heads)
            return is_logged and len(kept) == len(keys)
        except Exception:  # noqa: BLE001  # whatever it is, it does not tell the outcome
            await asyncio.sleep(PAUSE_S)
    log.error("the outcome of a commit stays unknown: the database does not come back to tell")
    return None
