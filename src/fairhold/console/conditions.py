"""Conditions in a form: as JSON to write, and where in it something is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fairhold import inputs
from fairhold.core.conditions import problem
from fairhold.core.refusals import Refusal


def is_tag(condition: Mapping[str, Any]) -> bool:
    """Whether a tag alone says it: then there is a field for that."""
    return set(condition) == {"tag"}


def written(condition: Mapping[str, Any]) -> str:
    """A condition as it is written in the form: what fits on a line stands on one."""
    line = json.dumps(condition, ensure_ascii=False)
    return line if len(line) <= 60 else json.dumps(condition, ensure_ascii=False, indent=2)


def read(text: str, field: str) -> dict[str, Any]:
    """The condition that was written; if it is none, where: by line and column, or by the part of it."""
    try:
        found = json.loads(text)
    except ValueError as error:
        at = {"line": getattr(error, "lineno", 1), "column": getattr(error, "colno", 1)}
        raise _bad(field, f"This is no JSON: {error}.", at) from None
    except RecursionError:
        raise _bad(field, "This is nested too deep.", {"part": ""}) from None
    if wrong := problem(found):
        part = _place(found)
        raise _bad(field, f"{f'At {part}: ' if part else ''}{wrong}.", {"part": part})
    try:
        inputs.plain(found, field)
    except inputs.Bad as bad:
        # JSON can write more than can be kept, or shown: half a letter, or no number.
        part = (bad.refusal.field or "").removeprefix(field).lstrip(".")
        raise _bad(field, bad.refusal.sentence, {"part": part}) from None
    return dict(found)


def readable(form: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The conditions that are written out in a form and can be said in words, by their fields."""
    found = {}
    for name, text in form.items():
        if name.endswith("-when") and text.strip():
            with suppress(inputs.Bad):
                found[name] = read(text, name)
    return found


def _place(condition: object) -> str:
    """The innermost part that is wrong, such as all[2].not; nothing if it is the whole."""
    if isinstance(condition, Mapping) and len(condition) == 1:
        ((name, parts),) = condition.items()
        if name == "not" and problem(parts):
            return ".".join(filter(None, (name, _place(parts))))
        if name in ("all", "any") and isinstance(parts, list):
            for index, part in enumerate(parts, 1):
                if problem(part):
                    return ".".join(filter(None, (f"{name}[{index}]", _place(part))))
    return ""


def _bad(field: str, sentence: str, facts: Mapping[str, Any]) -> inputs.Bad:
    bad = inputs.Bad(field, sentence)
    bad.refusal = Refusal("invalid", sentence, field, facts)
    return bad
