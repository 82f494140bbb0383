"""A pool's page: what it is, what is free, how the line goes; and a button that signs up at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any, Final

from fairhold import ids, tokens
from fairhold.clock import from_datetime, to_datetime
from fairhold.core.book import not_open, quantity_max
from fairhold.core.model import PAGE, Instant, Party, Pool, confirmed_by_staff
from fairhold.core.refusals import Refusal
from fairhold.core.room import free_units
from fairhold.core.view import View
from fairhold.http.from_here import is_from_here
from fairhold.http.problems import Problem, of_refusal
from fairhold.pages import forms, live
from fairhold.pages.answers import Answer, see_other
from fairhold.pages.calls import Call, gone
from fairhold.pages.speech import PageSpeech
from fairhold.shapes import Booking, PoolState, QuotaRoom, pool_shape

# What a page says in words when a sign-up was refused; any other refusal is a page of its own.
NOES: Final = frozenset(
    [
        "not_enough_room",
        "unit_taken",
        "not_eligible",
        "pool_closed",
        "pool_paused",
        "not_open_yet",
        "too_late",
        "too_many_requests",
        "invalid",
        "not_ready",
        "one_by_name",
        "stale",
    ]
)
_UNITS_SHOWN: Final = 60


async def look(call: Call) -> Answer:
    pool_id = await call.pool_id()
    view = await call.hf.reads.view(pool_id, units=True)
    if not view.pool.page:
        raise gone()
    now = call.now
    pool, speech = pool_shape(view, now), call.speech(view.pool.time_zone)
    refused = not_open(view.pool, now)
    phase = phase_of(pool, refused)
    return call.page(
        "pool.html",
        speech,
        here=f"/embed/{pool.id}" if call.embedded else f"/p/{call.path['pool']}",
        private=False,
        pool=pool,
        title=pool.title or pool.key,
        phase=phase,
        opens_s=_seconds(pool.opens_at, now) if phase == "not_open_yet" else 0,
        closes_s=_seconds(_ends(pool), now) if phase == "open" else 0,
        ends=_ends(pool),
        quotas=[_quota(view, quota, phase, now, speech) for quota in pool.quotas],
        open_free=_open_free(pool),
        line_goes_on=pool.status == "open" and view.pool.over(now) is None,
        chosen=_chosen(call, pool),
        quantity_max=quantity_max(view.pool.policy, PAGE),
        ready=await can_sign_up(call, view.pool),
        by_staff=confirmed_by_staff(view.pool.policy.confirm_by, pool.price),
        form=forms.new_form(call.hf.secret, pool.id, now),
        no=call.query.get("no") if call.query.get("no") in NOES else "",
        stream=call.url(f"/p/{pool.id}/stream").partition("?")[0],
        seen=live.digest(pool, phase),
    )


async def can_sign_up(call: Call, pool: Pool) -> bool:
    """Return True if whoever signs up can be told what becomes of it: a line needs letters."""
    return pool.policy.promotion is None or await call.can_tell()


def _chosen(call: Call, pool: PoolState) -> dict[str, Any]:
    """What was chosen before a no: it comes back."""
    quantity = call.query.get("quantity", "")
    return {
        "quantity": quantity if _is_number(quantity) and int(quantity) else "1",
        "units": {quota.key: call.query.get(f"unit-{quota.key}", "") for quota in pool.quotas},
    }


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 7


def phase_of(pool: PoolState, refused: Refusal | None) -> str:
    """open, not_open_yet, paused, closed or cancelled."""
    if refused is None:
        return "open"
    if refused.code == "pool_closed":
        return "cancelled" if pool.status == "cancelled" else "closed"
    return refused.code.removeprefix("pool_")


def _ends(pool: PoolState) -> datetime | None:
    """When signing up ends: the earlier of closing and start."""
    return min((at for at in (pool.closes_at, pool.starts_at) if at is not None), default=None)


def _seconds(until: datetime | None, now: Instant) -> int:
    return 0 if until is None else max(0, -(-(from_datetime(until) - now) // 1000))


def _quota(view: View, quota: QuotaRoom, phase: str, now: Instant, speech: PageSpeech) -> dict[str, Any]:
    """A quota as its row shows it."""
    free = free_units(view, quota.key, now) if quota.by_units else []
    waits = view.pool.policy.if_full == "wait"
    act = "sign_up" if quota.room is None or (quota.room and not quota.waiting) else "join" if waits else ""
    if quota.eligible:
        # Who signs up here is nobody that we know, so no condition holds.
        act = "not_eligible"
    return {
        "key": quota.key,
        "title": quota.title or quota.key,
        "size": quota.size,
        "own": None if quota.size is None else _own(quota),
        "shared": bool(quota.room) and not quota.by_units and not _own(quota),
        "full": 0 if not quota.size else min(100, 100 * quota.used // quota.size),
        "waiting": quota.waiting,
        "behind_line": phase == "open" and act == "join" and bool(quota.room),
        "act": act if phase == "open" or act == "not_eligible" else "",
        "units": [
            (unit.label, "" if unit.starts_at is None else speech.when(to_datetime(unit.starts_at)))
            for unit in free[:_UNITS_SHOWN]
        ],
    }


def _own(quota: QuotaRoom) -> int:
    """What is free in the quota's own share."""
    if quota.by_units:
        return quota.room or 0
    return max(0, (quota.size or 0) - quota.used - quota.set_aside)


def _open_free(pool: PoolState) -> int:
    """What is free in the open share: what a quota's room is beyond its own."""
    sized = [quota for quota in pool.quotas if quota.size is not None and not quota.by_units]
    return max((quota.room or 0) - _own(quota) for quota in sized) if sized and pool.open_size else 0


async def sign_up(call: Call) -> Answer:
    """Hold a place, or join the line, at once. Pressing twice is signing up once."""
    pool_id = await call.pool_id()
    pool, name = ids.pool_text(pool_id), call.path["pool"]
    view = await call.hf.reads.view(pool_id)
    if not view.pool.page:
        raise gone()
    if not await can_sign_up(call, view.pool):
        return see_other(call.pool_url(name, no="not_ready"))
    if not is_from_here(call.headers, call.settings.base_url):
        raise Problem("forbidden", "A sign-up must come from the page of the pool.")
    form = forms.name_of_form(call.hf.secret, pool, call.form.get("form", ""), call.now)
    if form is None:
        return see_other(call.pool_url(name, no="stale"))
    party, quota = forms.party_of(form), call.form.get("quota", "")
    unit = call.form.get(f"unit-{quota}", "")
    quantity = call.form.get("quantity", "1")
    if not _is_number(quantity):
        return see_other(call.pool_url(name, no="invalid"))
    if unit and int(quantity) > 1:
        return _refused(call, name, "one_by_name")
    key = f"page {form} {live.digest(quota, quantity, unit)}"
    answer = await call.hf.book(
        pool,
        Party(party, locale=call.speech().tag),
        int(quantity),
        quota=quota or None,
        units=[unit] if unit else (),
        idempotency_key=key,
        source=call.service.source_of(call.hf, call.address),
        door=PAGE,
    )
    return _signed_up(call, name, answer)


def _signed_up(call: Call, name: str, answer: Booking | Refusal) -> Answer:
    if isinstance(answer, Booking):
        return see_other(call.booking_url(tokens.edit_token(call.hf.secret, answer.id)))
    if answer.code in ("already_holding", "already_waiting"):
        # The same form, pressed for something else: it is theirs, so they may see what they have.
        return see_other(call.booking_url(tokens.edit_token(call.hf.secret, answer.facts["booking"])))
    if answer.code in NOES:
        return _refused(call, name, answer.code)
    raise of_refusal(answer)


def _refused(call: Call, name: str, code: str) -> Answer:
    """Back to the page, with what was chosen, but for a unit that somebody else has."""
    quota, quantity = call.form.get("quota", ""), call.form.get("quantity", "1")
    unit = call.form.get(f"unit-{quota}", "") if code != "unit_taken" else ""
    chosen = {"quantity": quantity} if quantity not in ("0", "1") else {}
    return see_other(call.pool_url(name, no=code, **chosen, **({f"unit-{quota}": unit} if unit else {})))


async def watch(call: Call) -> AsyncIterator[bytes]:
    pool_id = await call.pool_id()

    async def seen() -> str:
        view = await call.hf.reads.view(pool_id, units=True)
        pool = pool_shape(view, call.now)
        return live.digest(pool, phase_of(pool, not_open(view.pool, call.now)))

    return await live.stream(call, pool_id, seen, alike=True)
