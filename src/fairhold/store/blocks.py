"""Positions by blocks: how many wait at places from `low` up to the next block's `low`.

A place is not stored in its block, so a split touches only block rows, and a departure writes its own
row and one block. The first block of a pool begins at the lowest place there is and always stays.

Those who come to the end of a line are counted in its last block, until so many have come since somebody
looked how long that is: then a block begins with the next of them, and nothing has to be looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairhold.store.base import Transaction, Write

LOWEST: Final = -(2**63)
LONG: Final = 512
SHORT: Final = 64
MERGED_MAX: Final = 256
LATE: Final = 256

Change = tuple[int, int, int]


def counting_newcomers(newcomers: Sequence[tuple[int, Sequence[int], int]]) -> list[Write]:
    """What counts those at the end of each line: (pool, their places, how many entered its last block)."""
    counted, begun = [], []
    for pool_id, places, entered in newcomers:
        if entered + len(places) <= LATE:
            counted.append((pool_id, places[-1], len(places)))
        else:
            pieces = [places[at : at + LATE] for at in range(0, len(places), LATE)]
            begun += [(pool_id, piece[0], len(piece)) for piece in pieces]
    writes = [Write("change_block", counted), Write("insert_blocks", begun)]
    return [write for write in writes if write.rows]


def entered_with(entered: int | None, newcomers: int) -> int | None:
    """How many have entered the last block once these are counted."""
    if not newcomers:
        return entered
    assert entered is not None
    return entered + newcomers if entered + newcomers <= LATE else (newcomers - 1) % LATE + 1


async def change_blocks(tx: Transaction, changes: Sequence[Change]) -> None:
    """Count the places that were entered and left (pool, place, +1 or -1), then split and merge."""
    if not changes:
        return
    await tx.many("change_block", changes)
    looked_at = [(pool_id, place, LONG, SHORT) for pool_id, place, _ in changes]
    # In their order: a block takes in only later ones, so the count that was read for it still holds.
    for pool_id, low, count in sorted(set(map(tuple, await tx.each("blocks_out_of_shape", looked_at)))):
        if count > LONG:
            await _split(tx, pool_id, low, count)
        elif low != LOWEST:
            await _merge(tx, pool_id, low, count)


async def _split(tx: Transaction, pool_id: int, low: int, count: int) -> None:
    while count > LONG:
        # The rest goes into a block of its own, which may have to be split again.
        kept = LONG // 2
        middle = (await tx.rows("block_middle", pool_id, low, kept))[0][0]
        await tx.run("set_block", pool_id, low, kept)
        await tx.many("insert_blocks", [(pool_id, middle, count - kept)])
        low, count = middle, count - kept


async def _merge(tx: Transaction, pool_id: int, low: int, count: int) -> None:
    before = await tx.rows("block_before", pool_id, low)
    # Read again: an earlier merge of this batch may have changed the neighbour.
    if before and before[0][1] + count <= MERGED_MAX:
        await tx.run("set_block", pool_id, before[0][0], before[0][1] + count)
        await tx.run("delete_block", pool_id, low)
