"""Checks every promise on a live database, pool by pool, and says what is wrong and where.

Each pool is looked at in one snapshot, so nobody has to stop. Room, lines, offers and units are counted from
the bookings themselves, never from the sums that are kept to be fast; the log is read from its first entry,
and replayed beside the rows. Memory grows with what is in play in one pool; all else is streamed.

    report = await verify(hf.store)
    print(report)
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fairhold import ids
from fairhold.answers import decode_answer
from fairhold.once import is_a_name
from fairhold.shapes import Booking
from fairhold.store.base import Snapshot, Store
from fairhold.verify.pool import check_pool
from fairhold.verify.report import Finding, Findings, Report

__all__ = ["Finding", "Report", "verify"]


async def verify(store: Store, pools: Iterable[int] | None = None) -> Report:
    """Check these pools by their ids, or the whole database."""
    if pools is None:
        async with store.snapshot(long=True) as snapshot:
            found = [row[0] for row in await snapshot.rows("all_pool_ids")]
    else:
        found = list(pools)
    everything: list[Findings] = []
    for pool_id in found:
        async with store.snapshot(long=True) as snapshot:
            findings = await check_pool(snapshot, pool_id)
        if findings is not None:
            everything.append(findings)
    count = len(everything)
    if pools is None:
        async with store.snapshot(long=True) as snapshot:
            everything.append(await _check_rest(snapshot))
    return Report(
        count,
        sum(findings.bookings for findings in everything),
        sum(findings.entries for findings in everything),
        tuple(finding for findings in everything for finding in findings.all),
        sum(findings.redacted for findings in everything),
    )


async def _check_rest(snapshot: Snapshot) -> Findings:
    """What belongs to no single pool: rows of pools that are gone, and answers under idempotency keys."""
    findings = Findings("database")
    for table, pool_id, count in await snapshot.rows("rows_without_pool"):
        gone = ids.pool_text(pool_id)
        findings.add("nothing_lost", f"{count} rows are of a pool {gone} that is gone", f"table {table}")
    numbers = {row[0]: row[1] for row in await snapshot.rows("every_pool")}
    async for page in snapshot.stream("every_request"):
        for org, key, answer in page:
            _check_answer(findings, numbers, f"idempotency key {org}/{key}", answer)
    return findings


def _check_answer(findings: Findings, numbers: dict[int, int], place: str, text: str) -> None:
    if is_a_name(text):
        return
    try:
        answer = decode_answer(text)
    except (KeyError, msgspec.DecodeError) as error:
        findings.add("nothing_lost", f"its answer cannot be read: {error}", place)
        return
    if isinstance(answer, Booking):
        pool_id, number = ids.booking_number(answer.id) or (0, 0)
        if not 0 < number <= numbers.get(pool_id, 0):
            findings.add("nothing_lost", f"the answer was booking {answer.id}, and there is none", place)
