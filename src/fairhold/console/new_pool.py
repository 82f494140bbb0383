"""A new pool: from a preset, or as a copy of another. The form says the policy in sentences."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Final
from zoneinfo import available_timezones

from fairhold.console import conditions, pool_form
from fairhold.console.calls import Call
from fairhold.console.page import STAFFS, Page
from fairhold.core.policy import PRESETS, has_page
from fairhold.core.refusals import Refusal
from fairhold.http.operations import granted
from fairhold.pages.answers import Answer
from fairhold.policy_document import as_document
from fairhold.shapes import PoolState

# How many more quotas and questions one can fill in at once.
_SPARE: Final = 3


async def look(call: Call) -> Answer:
    """Which preset; and then the form, filled in with it or with the pool that is copied."""
    if copied := call.query.get("copy"):
        pool = granted(await call.hf.pool(copied))
        said = pool_form.of_pool(pool) | dict.fromkeys(pool_form.TIMES, "")
        said |= {"title": "", "copy": pool.id, **await _units(call, pool)}
        return await _form(call, said, copied=pool.title or pool.key)
    preset = call.query.get("preset", "")
    if preset in PRESETS:
        said = pool_form.preset_fields(PRESETS[preset])
        first = {"quota-0-title": "", "quota-0-key": "main", "quota-0-size": "20"}
        first["page"] = "yes" if has_page(preset) else ""
        zone = {"time_zone": await _zone(call), "open_size": "0", "preset": preset}
        return await _form(call, said | first | zone)
    presets = {name: as_document(policy) for name, policy in PRESETS.items()}
    return await call.show("new_pool.html", "pools", here="/console/pools/new", presets=presets)


async def _units(call: Call, pool: PoolState) -> dict[str, str]:
    """The names of the units of each quota that has them, as the form takes them."""
    listed = granted(await call.hf.units(pool.id))
    made = {}
    for index, quota in enumerate(pool.quotas):
        if quota.by_units:
            made[f"quota-{index}-units"] = ", ".join(it.label for it in listed if it.quota == quota.key)
            made[f"quota-{index}-size"] = ""
    return made


async def _zone(call: Call) -> str:
    """The time zone that the pools of late are in."""
    found = granted(await call.hf.pool_names(limit=1))
    return found[0].time_zone if found else "UTC"


async def _form(
    call: Call, said: Mapping[str, str], refused: Refusal | None = None, copied: str = ""
) -> Answer:
    return await call.show(
        "pool_form.html",
        "pools",
        here="/console/pools/new",
        speech=call.speech(),
        status=refused.status if refused else 200,
        pool=None,
        said=said,
        refused=refused,
        copied=copied,
        once=said.get("once") or secrets.token_hex(12),
        **shape(said),
    )


def shape(said: Mapping[str, str]) -> dict[str, Any]:
    """What the form of a pool shows besides what is filled in."""
    quotas, questions = pool_form.rows(said, "quota", 0), pool_form.rows(said, "question", 0)
    return {
        "quota_rows": quotas,
        "quota_spare": range(len(quotas), len(quotas) + _SPARE),
        "question_rows": questions,
        "question_spare": range(len(questions), len(questions) + _SPARE),
        "rule_rows": pool_form.rows(said, "rule"),
        "conditions": conditions.readable(said),
        "zones": sorted(zone for zone in available_timezones() if "/" in zone and "Etc" not in zone),
    }


async def send(call: Call) -> Answer:
    form = call.form
    copied = await call.hf.pool(form["copy"]) if form.get("copy") else None
    base = copied if isinstance(copied, PoolState) else None
    fields = pool_form.read(form, base, making=True)
    if isinstance(fields, Refusal):
        return await _form(call, form, fields)
    key = form.get("key", "").strip() or pool_form.key_of(form.get("title", ""))
    once = form.get("once", "")[:40]
    answer = await call.hf.create_pool(key, by=call.by, idempotency_key=f"console new {once}", **fields)
    if isinstance(answer, Refusal):
        return await _form(call, form, answer)
    return call.to(f"/console/pools/{answer.id}", told="pool_made")


PAGES: Final = (Page("/console/pools/new", "console_new_pool", look, send, STAFFS),)
