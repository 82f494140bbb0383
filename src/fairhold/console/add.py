"""Add somebody by hand: who called, or stands at the desk. Or give them what was handed back."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Final

from fairhold.console import pool as pools
from fairhold.console.calls import Call
from fairhold.console.page import STAFFS, Page
from fairhold.core.model import CONSOLE
from fairhold.core.refusals import Refusal
from fairhold.http.operations import granted
from fairhold.pages.answers import Answer
from fairhold.shapes import PoolState


async def look(call: Call) -> Answer:
    said = {name: call.query.get(name, "") for name in ("opening", "unit")}
    return await _form(call, await pools.known(call), said)


async def _form(
    call: Call, pool: PoolState, said: Mapping[str, str], refused: Refusal | None = None
) -> Answer:
    units = granted(await call.hf.units(pool.id)) if any(it.by_units for it in pool.quotas) else []
    return await pools.shown(
        call,
        "add.html",
        pool,
        "add",
        status=refused.status if refused else 200,
        said=said,
        # Pressing twice is adding once: the form itself is the request.
        once=said.get("once") or secrets.token_hex(12),
        units=[it.label for it in units if it.state == "free"],
        refused=refused,
        opening=await _opening(call, pool, said.get("opening", "")),
    )


async def _opening(call: Call, pool: PoolState, number: str) -> Any:
    found = granted(await call.hf.openings(pool.id))
    return next((it for it in found if str(it.number) == number and it.state == "handed_back"), None)


async def send(call: Call) -> Answer:
    pool, form = await pools.known(call), call.form
    once = form.get("once", "")[:40]
    contacts = {kind: form[kind].strip() for kind in ("email", "phone") if form.get(kind, "").strip()}
    tags = [tag for it in form.get("tags", "").split(",") if (tag := it.strip())]
    opening, quantity = form.get("opening", ""), form.get("quantity", "1").strip() or "1"
    party = {"id": f"desk-{once}", "name": form.get("name", "").strip(), "contacts": contacts, "tags": tags}
    if not party["name"]:
        return await _form(call, pool, form, Refusal("invalid", "", "name"))
    if not (quantity.isascii() and quantity.isdigit() and len(quantity) < 7):
        return await _form(call, pool, form, Refusal("invalid", "", "quantity"))
    unit = form.get("unit", "")
    answer = await call.hf.book(
        pool.id,
        party,
        int(quantity),
        quota=form.get("quota") or None,
        units=[unit] if unit else (),
        opening=int(opening) if opening.isascii() and opening.isdigit() else None,
        confirmed=form.get("confirmed") == "yes",
        by=call.by,
        idempotency_key=f"console add {once}",
        door=CONSOLE,
    )
    if isinstance(answer, Refusal):
        return await _form(call, pool, form, answer)
    return call.to(f"/console/bookings/{answer.id}", told="added")


PAGES: Final = (Page("/console/pools/{pool}/add", "console_pool_add", look, send, STAFFS),)
