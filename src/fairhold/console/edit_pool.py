"""Change a pool: first one sees who would move and who would be told, and only then it is saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fairhold import inputs
from fairhold.console import outcome, pool_form
from fairhold.console import pool as pools
from fairhold.console.calls import Call
from fairhold.console.new_pool import shape
from fairhold.console.page import STAFFS, Page
from fairhold.core.refusals import Refusal, unknown
from fairhold.http.operations import granted
from fairhold.pages.answers import Answer
from fairhold.shapes import Outcome, PoolState

STATUSES: Final = ("open", "paused", "closed", "cancelled")


async def look(call: Call) -> Answer:
    pool = await pools.known(call)
    return await _form(call, pool, pool_form.of_pool(pool))


async def _form(
    call: Call, pool: PoolState, said: Mapping[str, str], refused: Refusal | None = None, told: str = ""
) -> Answer:
    status = refused.status if refused else 200
    variables: dict[str, Any] = {"said": said, "refused": refused, "copied": "", "once": ""}
    return await pools.shown(
        call, "pool_form.html", pool, "edit", status=status, told=told, **variables, **shape(said)
    )


async def send(call: Call) -> Answer:
    """Look at what would happen; with `act=save` do it; with `act=edit` go on with the form."""
    pool = await pools.known(call)
    if call.form.get("act") == "edit":
        return await _form(call, pool, call.form)
    fields = pool_form.read(call.form, pool)
    if isinstance(fields, Refusal):
        return await _form(call, pool, call.form, fields)
    if call.form.get("version") != str(pool.version):
        # Somebody else has changed it since this form was filled in; theirs is not overwritten unseen.
        return await _form(call, pool, pool_form.of_pool(pool), told="changed_meanwhile")
    why = call.form.get("why", "").strip()
    if call.form.get("act") == "save":
        allow = call.form.get("allow_demotion") == "yes"
        answer = await call.hf.change_pool(pool.id, allow_demotion=allow, why=why, by=call.by, **fields)
        if not isinstance(answer, Refusal):
            return call.to(f"/console/pools/{pool.id}", told="saved")
        if answer.code != "would_demote":
            return await _form(call, pool, call.form, answer)
    return await _preview(call, pool, fields)


async def _preview(call: Call, pool: PoolState, fields: Mapping[str, Any]) -> Answer:
    asked = await _rehearsed(call, pool, False, fields)
    demotes = isinstance(asked, Outcome) and (asked.answer or {}).get("refused") == "would_demote"
    if demotes:
        asked = await _rehearsed(call, pool, True, fields)
    if isinstance(asked, Refusal) or asked.answer is not None:
        return await _form(call, pool, call.form, _no(asked))
    return await pools.shown(
        call,
        "preview.html",
        pool,
        "edit",
        kept={name: value for name, value in call.form.items() if name not in ("csrf", "act")},
        demotes=demotes,
        outcome=await outcome.told(call, asked, call.speech(pool.time_zone)),
    )


async def _rehearsed(
    call: Call, pool: PoolState, allow: bool, fields: Mapping[str, Any]
) -> Outcome | Refusal:
    answer = await call.hf.change_pool(pool.id, allow_demotion=allow, by=call.by, dry_run=True, **fields)
    assert isinstance(answer, Outcome | Refusal)
    return answer


def _no(asked: Outcome | Refusal) -> Refusal:
    if isinstance(asked, Refusal):
        return asked
    said = asked.answer or {}
    return Refusal(said["refused"], said["sentence"], said.get("field"), said.get("facts", {}))


async def status(call: Call) -> Answer:
    """Open, pause, close or cancel: what that would do, and a button that does it."""
    return await _ahead(call, await pools.known(call), call.query.get("to", ""))


async def _ahead(call: Call, pool: PoolState, to: str, *, why: str = "", unticked: bool = False) -> Answer:
    if to not in STATUSES or to == pool.status:
        return call.to(f"/console/pools/{pool.id}")
    asked = await _rehearsed(call, pool, False, {"status": to})
    if isinstance(asked, Refusal) or asked.answer is not None:
        return call.done(f"/console/pools/{pool.id}", _no(asked), "")
    return await pools.shown(
        call,
        "status.html",
        pool,
        "status",
        status=422 if unticked else 200,
        to=to,
        why=why,
        takes=_takes_places(pool, to),
        unticked=unticked,
        outcome=await outcome.told(call, asked, call.speech(pool.time_zone)),
    )


def _takes_places(pool: PoolState, to: str) -> bool:
    """Whether somebody loses a place by it, in the pool or in its line."""
    in_line = bool(pool.waiting or pool.offers_live)
    if to == "cancelled":
        return in_line or any(quota.used for quota in pool.quotas)
    return to == "closed" and in_line


async def change_status(call: Call) -> Answer:
    pool, to = await pools.known(call), call.form.get("to", "")
    why = call.form.get("why", "").strip()
    if _takes_places(pool, to) and call.form.get("allow_demotion") != "yes":
        return await _ahead(call, pool, to, why=why, unticked=True)
    answer = await call.hf.change_pool(pool.id, status=to, why=why, by=call.by)
    return call.done(f"/console/pools/{pool.id}", answer, f"now_{to}" if to in STATUSES else "")


async def add_units(call: Call) -> Answer:
    """Open more units, of names with commas between; they start together, if at any time at all."""
    pool, form = await pools.known(call), call.form
    there = f"/console/pools/{pool.id}"
    try:
        starts_at = inputs.local_instant(form.get("starts_at") or None, pool.time_zone, "starts_at")
    except inputs.Bad as bad:
        return call.done(there, bad.refusal, "")
    units = [
        {"label": label, "quota": form.get("quota", ""), "starts_at": starts_at}
        for label in pool_form.labels(form.get("labels", ""))
    ]
    return call.done(there, await call.hf.add_units(pool.id, units, by=call.by), "units_added")


async def change_unit(call: Call) -> Answer:
    """Close a unit that is free, or open again one that was closed, as it was."""
    pool, form = await pools.known(call), call.form
    there = f"/console/pools/{pool.id}"
    if "close" in form:
        return call.done(there, await call.hf.close_unit(pool.id, form["close"], by=call.by), "unit_closed")
    closed = [it for it in granted(await call.hf.units(pool.id, closed=True)) if it.state == "closed"]
    units = [
        {"label": it.label, "quota": it.quota, "starts_at": it.starts_at, "attributes": it.attributes}
        for it in closed
        if it.label == form.get("open")
    ]
    if not units:
        return call.done(there, unknown("unit", form.get("open")), "")
    return call.done(there, await call.hf.add_units(pool.id, units, by=call.by), "unit_opened")


async def back(call: Call) -> Answer:
    return call.to(f"/console/pools/{granted(await call.hf.pool(call.path['pool'])).id}")


PAGES: Final = (
    Page("/console/pools/{pool}/edit", "console_pool_edit", look, send, STAFFS),
    Page("/console/pools/{pool}/status", "console_pool_status", status, change_status, STAFFS),
    Page("/console/pools/{pool}/units", "console_pool_units", back, add_units, STAFFS),
    Page("/console/pools/{pool}/unit", "console_pool_unit", back, change_unit, STAFFS),
)
