"""The form of a pool: from the pool to its fields, and from what was filled in to what the library takes.

Nothing is judged here. What is no number stays as it was typed, for the library to refuse by field.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from fairhold import inputs
from fairhold.console import conditions
from fairhold.core.policy import Policy
from fairhold.core.refusals import Refusal
from fairhold.policy_document import as_document, at_rest
from fairhold.shapes import PoolState

KINDS: Final = {it.name: it.metadata["kind"] for it in fields(Policy)}
UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
TIMES: Final = ("starts_at", "opens_at", "closes_at")
_NEW_ROWS: Final = 2
_KEY_MAX: Final = 50
# As a rule is said: 24 hours, not 1 day.
_HOURS_MAX: Final = 48


# From the pool to the form.


def of_pool(pool: PoolState) -> dict[str, str]:
    """The fields as they are filled in for a pool that there is."""
    said = {
        "title": pool.title,
        "time_zone": pool.time_zone,
        "open_size": str(pool.open_size),
        "page": "yes" if pool.page else "",
        "location": _words(pool.attributes.get("location")),
        "description": _words(pool.attributes.get("description")),
        "price": "" if pool.price is None else f"{pool.price.amount / 100:.2f}",
        "currency": "" if pool.price is None else pool.price.currency,
        "version": str(pool.version),
    }
    zone = ZoneInfo(pool.time_zone)
    for name in TIMES:
        at: datetime | None = getattr(pool, name)
        said[name] = "" if at is None else at.astimezone(zone).strftime("%Y-%m-%dT%H:%M")
    for index, quota in enumerate(pool.quotas):
        said |= {
            f"quota-{index}-key": quota.key,
            f"quota-{index}-title": quota.title,
            f"quota-{index}-size": "" if quota.size is None else str(quota.size),
            **_condition_fields(f"quota-{index}", quota.eligible),
        }
    for index, question in enumerate(pool.questions):
        said |= _question_fields(index, question)
    return said | of_policy(pool.policy)


def _condition_fields(at: str, condition: Mapping[str, Any] | None) -> dict[str, str]:
    """A tag stands in a field of its own; any other condition is written out."""
    plain = not condition or conditions.is_tag(condition)
    return {
        f"{at}-tag": _words((condition or {}).get("tag")) if plain else "",
        f"{at}-when": "" if plain or not condition else conditions.written(condition),
    }


def _words(value: object) -> str:
    return value if isinstance(value, str) else ""


def _question_fields(index: int, question: Mapping[str, Any]) -> dict[str, str]:
    at = f"question-{index}"
    return {
        f"{at}-key": question["key"],
        f"{at}-title": question.get("title", ""),
        f"{at}-kind": question.get("kind", "text"),
        f"{at}-required": "yes" if question.get("required") else "",
        f"{at}-choices": ", ".join(question.get("choices", ())),
        f"{at}-help": question.get("help", ""),
        f"{at}-min": _shown(question.get("min")),
        f"{at}-max": _shown(question.get("max")),
    }


def _shown(value: object) -> str:
    return "" if value is None else str(value)


def of_policy(policy: Mapping[str, Any]) -> dict[str, str]:
    """The policy's fields: a length is a number and a unit, in the largest that it fits."""
    said: dict[str, str] = {}
    for name, kind in KINDS.items():
        value = policy[name]
        if kind == "length":
            units = "dhm" if value and value > _HOURS_MAX * UNITS["h"] else "hm"
            unit = next((u for u in units if value and value % UNITS[u] == 0), "s" if value else "m")
            said[f"p-{name}"] = str(value // UNITS[unit]) if value else ""
            said[f"p-{name}-unit"] = unit
        elif kind == "flag":
            said[f"p-{name}"] = "yes" if value else ""
        elif kind != "rules":
            said[f"p-{name}"] = "" if value is None else str(value)
    for index, rule in enumerate(policy["priority_rules"]):
        at = f"rule-{index}"
        said |= {f"{at}-add": str(rule["add"]), **_condition_fields(at, rule["when"])}
    return said


def preset_fields(policy: Policy) -> dict[str, str]:
    return of_policy(as_document(policy))


def rows(said: Mapping[str, str], what: str, spare: int = _NEW_ROWS) -> range:
    """Which rows of quotas or questions to show: those that are there, and a few to fill in."""
    known = [
        int(found[1]) for name in said if (found := re.fullmatch(rf"{re.escape(what)}-(\d{{1,3}})-.*", name))
    ]
    used = [
        index
        for index in known
        if any(said.get(f"{what}-{index}-{it}") for it in ("key", "title", "tag", "when"))
    ]
    return range(max(used, default=-1) + 1 + spare)


# From the form to the library.


def read(
    form: Mapping[str, str], pool: PoolState | None, *, making: bool = False
) -> dict[str, Any] | Refusal:
    """What was filled in, as `create_pool` and `change_pool` take it; what no field says is as it was."""
    zone = form.get("time_zone", "").strip() or "UTC"
    attributes = dict(pool.attributes) if pool else {}
    for name in ("location", "description"):
        attributes.pop(name, None)
        if form.get(name, "").strip():
            attributes[name] = form[name].strip()
    made: dict[str, Any] = {
        "title": form.get("title", "").strip(),
        "time_zone": zone,
        "open_size": number(form.get("open_size", "").strip() or "0"),
        "page": form.get("page") == "yes",
        "attributes": attributes,
        "questions": list(_questions(form)),
        "price": _price(form),
    }
    try:
        made |= {"quotas": _quotas(form, pool, making), "policy": policy(form)}
        known = of_pool(pool) if pool and pool.time_zone == zone else {}
        for name in TIMES:
            said = form.get(name, "").strip()
            # A form knows no seconds: what was not touched stays to the millisecond.
            kept = pool is not None and said and said == known.get(name)
            made[name] = getattr(pool, name) if kept else inputs.local_instant(said or None, zone, name)
    except inputs.Bad as bad:
        return bad.refusal
    return made


def number(text: str) -> Any:
    """The number that was typed, or what was typed instead."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text


def _quotas(form: Mapping[str, str], pool: PoolState | None, making: bool) -> list[dict[str, Any]]:
    known, made = {quota.key: quota for quota in pool.quotas} if pool else {}, list[dict[str, Any]]()
    for index in rows(form, "quota", 0):
        at = f"quota-{index}"
        title, key = form.get(f"{at}-title", "").strip(), form.get(f"{at}-key", "")
        if not title and not key:
            continue
        key = key or key_of(title)
        quota: dict[str, Any] = {"key": key, "title": title}
        was = known.get(key)
        if was is not None and was.by_units and not making:
            quota["units"] = []
        elif named := labels(form.get(f"{at}-units", "")):
            quota["units"] = named
        else:
            size = form.get(f"{at}-size", "").strip()
            quota["size"] = number(size) if size else None
        condition = _condition(form, at, f"quotas[{len(made)}].eligible")
        if condition is not None:
            quota["eligible"] = condition
        made.append(quota)
    return made


def _condition(form: Mapping[str, str], at: str, field: str) -> dict[str, Any] | None:
    """What is written out counts before the tag beside it."""
    if written := form.get(f"{at}-when", "").strip():
        return conditions.read(written, field)
    tag = form.get(f"{at}-tag", "").strip()
    return {"tag": tag} if tag else None


def labels(text: str) -> list[str]:
    return [label for part in re.split(r"[,\n]", text) if (label := part.strip())]


def key_of(title: str) -> str:
    """A key made from words: small letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_KEY_MAX] or "main"


def _questions(form: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for index in rows(form, "question", 0):
        at = f"question-{index}"
        title, kind = form.get(f"{at}-title", "").strip(), form.get(f"{at}-kind", "text")
        if not title:
            continue
        question: dict[str, Any] = {"key": form.get(f"{at}-key", "") or key_of(title), "title": title}
        question |= {"kind": kind, "required": form.get(f"{at}-required") == "yes"}
        if said := form.get(f"{at}-help", "").strip():
            question["help"] = said
        if kind == "choice":
            question["choices"] = labels(form.get(f"{at}-choices", ""))
        if kind == "number":
            limits = {name: form.get(f"{at}-{name}", "").strip() for name in ("min", "max")}
            question |= {name: _limit(said) for name, said in limits.items() if said}
        yield question


def _limit(text: str) -> Any:
    """A number, which may be less than nothing or broken; or what was typed instead."""
    if re.fullmatch(r"-?[0-9]{1,12}", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?[0-9]{1,12}\.[0-9]{1,6}", text) else text


def _price(form: Mapping[str, str]) -> dict[str, Any] | None:
    text = form.get("price", "").strip().replace(",", ".")
    if not text:
        return None
    whole = re.fullmatch(r"([0-9]{1,9})(?:\.([0-9]{1,2}))?", text)
    amount: Any = int(whole[1]) * 100 + int((whole[2] or "0").ljust(2, "0")) if whole else text
    return {"amount": amount, "currency": form.get("currency", "").strip().upper() or "EUR"}


def policy(form: Mapping[str, str]) -> dict[str, Any]:
    """Every field of the policy; what means nothing with its promotion is put to rest."""
    made: dict[str, Any] = {}
    for name, kind in KINDS.items():
        said = form.get(f"p-{name}", "").strip()
        if kind == "rules":
            made[name] = _rules(form)
        elif kind == "flag":
            made[name] = said == "yes"
        elif kind == "length":
            unit, found = UNITS.get(form.get(f"p-{name}-unit", "m"), 60), number(said)
            made[name] = found * unit if isinstance(found, int) else (said or _none(name))
        elif kind == "count":
            made[name] = number(said) if said else None
        else:
            made[name] = said or None
    return at_rest(made)


def _none(name: str) -> int | None:
    """What a length is that was left empty."""
    default = getattr(Policy(), name)
    return None if default is None else 0


def _rules(form: Mapping[str, str]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for index in rows(form, "rule", 0):
        at, add = f"rule-{index}", form.get(f"rule-{index}-add", "").strip()
        condition = _condition(form, at, f"policy.priority_rules[{len(made)}].when")
        if condition is not None:
            signed = re.fullmatch(r"-?[0-9]{1,5}", add)
            made.append({"when": condition, "add": int(add) if signed else add})
    return made
