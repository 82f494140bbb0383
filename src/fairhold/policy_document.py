"""A policy as people write it: lengths in whole seconds, and what means nothing left out of the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from fairhold.core.policy import DEFAULT, LENGTHS, ONLY_WITH_OFFERS, Policy


def as_document(policy: Policy) -> dict[str, Any]:
    """The policy as people write it: lengths in seconds."""
    document = asdict(policy)
    for name in LENGTHS:
        if document[name] is not None:
            document[name] //= 1000
    document["priority_rules"] = list(policy.priority_rules)
    return document


def in_seconds(kept: Mapping[str, Any]) -> dict[str, Any]:
    """A policy as the log keeps it, in milliseconds, as people write it. An old one may lack fields."""
    lengths = {name: kept[name] // 1000 for name in LENGTHS if kept.get(name) is not None}
    return {**kept, **lengths}


def at_rest(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes, and all that means nothing with their promotion put to rest: for whoever fills in all."""
    promotion, made = changes.get("promotion"), dict(changes)
    idle = [] if promotion == "offer" else [*ONLY_WITH_OFFERS, "partial"]
    idle += [] if promotion == "auto" else ["confirm_while_waiting"]
    idle += [] if promotion else ["priority_rules"]
    made.update({name: getattr(DEFAULT, name) for name in idle})
    for name in set(idle) & set(LENGTHS):
        made[name] = made[name] and made[name] // 1000
    return made | {"if_full": "wait" if promotion else "refuse"}
