"""Whether the blocks by which positions are counted agree with the line itself."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from fairhold.core.view import View
from fairhold.store.base import Snapshot
from fairhold.store.blocks import LOWEST
from fairhold.verify.report import Findings

_SAMPLE: Final = 64


async def check_line(snapshot: Snapshot, pool_id: int, view: View, findings: Findings) -> None:
    """Every block counts the waiting in its range, and positions by blocks are those by counting."""
    places = view.added
    blocks = await snapshot.rows("every_block", pool_id)
    if not blocks or blocks[0][0] != LOWEST:
        findings.add("contiguous", "it has no first block", f"block {LOWEST}")
        return
    starts = [bisect_left(places, low) for low, _ in blocks] + [len(places)]
    for (low, count), start, end in zip(blocks, starts, starts[1:], strict=False):
        if count != end - start:
            findings.add("contiguous", f"it counts {count}, and {end - start} wait there", f"block {low}")
    if not places:
        return
    step = max(1, len(places) // _SAMPLE)
    sample = sorted({*places[::step], places[-1]})
    for _, place, before in await snapshot.each("waiting_before", [(pool_id, place) for place in sample]):
        counted = bisect_left(places, place)
        if before != counted:
            sentence = f"its position by blocks is {before + 1}, and by counting {counted + 1}"
            findings.add("contiguous", sentence, f"place {place}")
