"""CSV in and out. What is brought in is looked at first: what would come of each row, and what is wrong."""

from __future__ import annotations

from typing import Any, Final

from fairhold.console import pool as pools
from fairhold.console.calls import Call, guarded
from fairhold.console.live import digest
from fairhold.console.page import STAFFS, Page
from fairhold.core.refusals import Refusal
from fairhold.http.operations import granted
from fairhold.http.problems import not_found
from fairhold.keeping.imports import Imported
from fairhold.pages.answers import Answer

_BODY_MAX: Final = 4 * 1024 * 1024
_SHOWN: Final = 200


async def look(call: Call) -> Answer:
    return await _page(call)


async def _page(
    call: Call,
    *,
    text: str = "",
    found: Imported | None = None,
    refused: Refusal | None = None,
) -> Answer:
    pool = await pools.known(call)
    counts: dict[str, int] = {}
    for row in found.done if found else ():
        counts[row.state] = counts.get(row.state, 0) + 1
    shape: dict[str, Any] = {"found": found, "refused": refused, "text": text, "counts": counts}
    status = 422 if refused else 200
    return await pools.shown(call, "csv.html", pool, "csv", status=status, shown_max=_SHOWN, **shape)


async def bring_in(call: Call) -> Answer:
    """First what would come of it; then, if that is wanted, for good: the same file once, however often."""
    pool = await pools.known(call)
    text = call.form.get("file") or call.form.get("text", "")
    for_good = call.form.get("act") == "bring_in"
    found = await call.hf.import_csv(
        pool.id,
        text,
        dry_run=not for_good,
        by=call.by,
        idempotency_key=f"console csv {digest(pool.id, text)}",
    )
    if isinstance(found, Refusal):
        return await _page(call, text=text, refused=found)
    return await _page(call, text=text, found=found)


async def hand_out(call: Call) -> Answer:
    pool = await pools.known(call)
    what = call.path["what"].removesuffix(".csv")
    if call.path["what"] not in ("bookings.csv", "line.csv"):
        raise not_found()
    text = granted(await call.hf.export_csv(pool.id, what))
    name = f'attachment; filename="{pool.key}-{what}.csv"'.encode()
    return Answer(
        200, text.encode(), b"text/csv; charset=utf-8", (*guarded(), (b"content-disposition", name))
    )


PAGES: Final = (
    Page("/console/pools/{pool}/csv", "console_pool_csv", look, bring_in, body_max=_BODY_MAX),
    Page("/console/pools/{pool}/csv/{what}", "console_pool_csv_out", hand_out, lookers=STAFFS),
)
