"""Whom a reason is for: what staff note about somebody in the log is not shown to that somebody."""

from __future__ import annotations

from typing import Final

import msgspec

from fairhold.shapes import Explanation

# Where staff say why for themselves. Why something was cancelled, its party is told.
_FOR_STAFF: Final = frozenset(["moved", "offered", "put_back"])


def for_party(step: Explanation) -> Explanation:
    """A step as its party may read it."""
    why = step.facts.get("why")
    if not why or step.code not in _FOR_STAFF:
        return step
    facts = {name: value for name, value in step.facts.items() if name != "why"}
    return msgspec.structs.replace(step, sentence=step.sentence.replace(f" ({why})", ""), facts=facts)
