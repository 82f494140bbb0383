"""Pools are made and changed, units are opened and closed.

In each function refusals come first, in order of precedence; after the last of them it must succeed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from fairhold.core import commands as c
from fairhold.core import events as e
from fairhold.core.conditions import problem as condition_problem
from fairhold.core.demote import cut_aside, demote, has_line, losers
from fairhold.core.model import LIVE, Pool, Quota
from fairhold.core.policy import Policy, amended
from fairhold.core.refusals import Refusal, invalid, is_whole, unknown
from fairhold.core.view import View
from fairhold.core.work import Done, Work

STATUSES: Final = ("open", "paused", "closed", "cancelled")
SIZE_MAX: Final = 10_000_000
NAMED_MAX: Final = 100


def create_pool(work: Work, command: c.CreatePool) -> Done | Refusal:
    """Refusals: invalid, by field."""
    refused = _wrong_pool(command.pool) or _wrong_units(command.pool, {}, command.units)
    if refused:
        return refused
    work.emit(e.PoolCreated(work.now, command.pool))
    if command.units:
        _emit_units(work, command.units)
    return Done()


def change_pool(work: Work, command: c.ChangePool) -> Done | Refusal:
    """Refusals, in order: invalid, unknown, would_demote. Raising room fills at once."""
    view = work.view
    pool = _changed(view, command)
    if isinstance(pool, Refusal):
        return pool
    going = losers(view, pool)
    if going and not command.allow_demotion:
        facts = {"bookings": [booking.number for booking in going[:NAMED_MAX]], "count": len(going)}
        ends = "end their bookings: there is no line to go to"
        then = "put them back in line" if has_line(pool, work.now) else ends
        sentence = f"{len(going)} would lose their place. Say allow_demotion to {then}."
        return Refusal("would_demote", sentence, "allow_demotion", facts)
    # The last of them goes first, so that among the demoted the order of arrival stays.
    for booking in going:
        demote(work, booking, pool)
    cut_aside(work, pool)
    larger = pool.open_size > view.pool.open_size
    work.grown |= {quota.key for quota in pool.quotas if larger or _grows(view.pool.quota(quota.key), quota)}
    work.emit(e.PoolChanged(work.now, pool, command.why))
    return Done(facts={"demoted": [booking.number for booking in going]})


def _changed(view: View, command: c.ChangePool) -> Pool | Refusal:
    """The pool as it would be: its sizes and its policy are changed as they are now, under the lock."""
    quotas = list(command.changes.get("quotas", view.pool.quotas))
    for key, size in command.sizes.items():
        index = next((i for i, quota in enumerate(quotas) if quota.key == key), None)
        if index is None:
            return unknown("quota", key)
        if quotas[index].by_units:
            return invalid("quotas", f"The size of {key!r} is its units: open or close units instead.")
        quotas[index] = replace(quotas[index], size=size)
    policy = command.changes.get("policy", view.pool.policy)
    if not isinstance(policy, Policy):
        policy = amended(view.pool.policy, policy)
        if isinstance(policy, Refusal):
            return policy
    made = {"policy": policy, "quotas": tuple(quotas), "version": view.pool.version + 1}
    pool = replace(view.pool, **{**command.changes, **made})
    return _wrong_pool(pool) or _quota_in_use(view, pool) or _line_in_use(view, pool) or pool


def _wrong_pool(pool: Pool) -> Refusal | None:
    if not pool.quotas:
        return invalid("quotas", "A pool has at least one quota.")
    if len({quota.key for quota in pool.quotas}) != len(pool.quotas):
        return invalid("quotas", "Each quota needs a key of its own.")
    if pool.status not in STATUSES:
        return invalid("status", f"status must be one of: {', '.join(STATUSES)}.")
    if not is_whole(pool.open_size, SIZE_MAX, 0):
        return invalid("open_size", "open_size must be a whole number from 0.")
    for index, quota in enumerate(pool.quotas):
        if not quota.key or len(quota.key) > 100:
            return invalid(f"quotas[{index}].key", "A quota needs a key of 1 to 100 characters.")
        if quota.size is not None and not quota.by_units and not is_whole(quota.size, SIZE_MAX, 0):
            sentence = "size must be a whole number from 0, or null for unlimited."
            return invalid(f"quotas[{index}].size", sentence)
        if quota.eligible is not None and (found := condition_problem(quota.eligible)):
            return invalid(f"quotas[{index}].eligible", f"In a rule of eligibility: {found}.")
    return _wrong_times(pool) or _wrong_price(pool)


def _wrong_times(pool: Pool) -> Refusal | None:
    if pool.opens_at is not None and pool.closes_at is not None and pool.closes_at <= pool.opens_at:
        return invalid("closes_at", "closes_at must be after opens_at.")
    if pool.opens_at is not None and pool.starts_at is not None and pool.starts_at <= pool.opens_at:
        return invalid(
            "opens_at", "opens_at must be before starts_at: nothing can be booked once it has begun."
        )
    return None


def _wrong_price(pool: Pool) -> Refusal | None:
    if pool.price is not None and (pool.price.amount < 0 or len(pool.price.currency) != 3):
        return invalid("price", "A price has an amount from 0 and a currency of three letters.")
    return None


def _quota_in_use(view: View, pool: Pool) -> Refusal | None:
    for old in view.pool.quotas:
        tally, new = view.tallies[old.key], pool.quota(old.key)
        going = any(o.quota == old.key and o.state in LIVE for o in view.openings.values())
        if new is None and (tally.used or tally.waiting or tally.aside or going or old.by_units):
            return invalid("quotas", f"The quota {old.key!r} is in use and cannot be removed.")
        if new is not None and new.by_units != old.by_units:
            return invalid("quotas", f"The quota {old.key!r} cannot change between a number and units.")
    return None


def _line_in_use(view: View, pool: Pool) -> Refusal | None:
    if pool.policy.promotion is None and (view.waiting or view.offers_live):
        return invalid("policy.promotion", "People are in line here: promotion must say how they are served.")
    return None


def _grows(old: Quota | None, new: Quota) -> bool:
    return old is not None and old.size is not None and (new.size is None or new.size > old.size)


def add_units(work: Work, command: c.AddUnits) -> Done | Refusal:
    """Refusals: invalid, by field; exists."""
    pool = work.view.pool
    only = pool.quotas[0].key if len(pool.quotas) == 1 else None
    units = tuple({**unit, "quota": unit.get("quota") or only} for unit in command.units)
    refused = _wrong_units(pool, work.view.units, units)
    if refused:
        return refused
    _emit_units(work, units)
    return Done()


def _wrong_units(
    pool: Pool, known: Mapping[str, Any], units: tuple[Mapping[str, Any], ...]
) -> Refusal | None:
    seen: set[str] = set()
    for index, unit in enumerate(units):
        where, label = f"units[{index}]", unit.get("label")
        quota = pool.quota(unit.get("quota") or "")
        if not isinstance(label, str) or not 0 < len(label) <= 100:
            return invalid(f"{where}.label", "A unit needs a label of 1 to 100 characters.")
        if quota is None or not quota.by_units:
            return invalid(f"{where}.quota", "A unit belongs to a quota that is made of units.")
        if label in seen or (label in known and not known[label].closed):
            return Refusal("exists", f"There is a unit {label!r} already.", f"{where}.label")
        seen.add(label)
    return None


def _emit_units(work: Work, units: tuple[Mapping[str, Any], ...]) -> None:
    made = [
        {
            "label": unit["label"],
            "quota": unit["quota"],
            "ordinal": ordinal,
            "starts_at": unit.get("starts_at"),
            "attributes": unit.get("attributes") or {},
        }
        for ordinal, unit in enumerate(units, work.view.units_made + 1)
    ]
    work.emit(e.UnitsAdded(work.now, tuple(made)))


def close_unit(work: Work, command: c.CloseUnit) -> Done | Refusal:
    """Refusals, in order: unknown, unit_taken. Only a free unit can be taken away."""
    unit = work.view.units.get(command.label)
    if unit is None or unit.closed:
        return unknown("unit", command.label)
    if unit.booking is not None:
        return Refusal("unit_taken", f"The unit {unit.label!r} is taken.", "label", {"booking": unit.booking})
    for opening in list(work.view.openings.values()):
        if opening.unit == unit.label and opening.state in LIVE:
            work.emit(e.OpeningEnded(work.now, opening.number, "closed"))
    work.emit(e.UnitClosed(work.now, unit.label))
    return Done()
