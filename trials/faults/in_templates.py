"""Find the spots of page templates where a small fault changes what a page shows or sends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from trials.faults.spot import Spot

CONDITION: Final = re.compile(r"\{%-?\s*(?:if|elif)\s+(.+?)\s*-?%\}")
INLINE: Final = re.compile(r"\{\{-?[^{}]*?\sif\s+([^{}]+?)(?:\s+else\s[^{}]*?)?\s*-?\}\}")
LOOP: Final = re.compile(r"\{%-?\s*for\s+[\w, ]+\s+in\s+([\w.]+)\s*-?%\}")
# A tag goes on behind a `>` that stands in braces.
IN_TAG: Final = r"(?:[^>{]|\{\{.*?\}\}|\{%.*?%\})*"
FIELD: Final = re.compile(rf"<input\b{IN_TAG}?\bname={IN_TAG}>")
WHOLE_FIELD: Final = re.compile(r"<(select|textarea)\b.*?</\1>", re.DOTALL)
HIDDEN: Final = re.compile(r"\{\{\s*hidden\([^{}]*\)\s*\}\}")
VALUE: Final = re.compile(r"\b(?:value|name)=\"([\w-]+)\"")
SHOWN: Final = re.compile(r"\{\{\s*(\w+(?:\.\w+)+)\s*\}\}")
COMMENT: Final = re.compile(r"\{#.*?#\}", re.DOTALL)


def spots_in_template(path: str, text: str) -> list[Spot]:
    """Return every spot of a template, in the order of the source."""
    masked = COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    spots = {
        Spot(path, operator, start, end, text[start:end], new)
        for operator, start, end, new in _changes(masked)
        if text[start:end] != new
    }
    return sorted(spots, key=lambda it: (it.start, it.end, it.operator, it.new))


def _changes(text: str) -> Iterator[tuple[str, int, int, str]]:
    for found in (*CONDITION.finditer(text), *INLINE.finditer(text)):
        yield "page drop a condition", *found.span(1), "true"
        yield "page drop a condition", *found.span(1), "false"
    for found in LOOP.finditer(text):
        yield "page skip an element", *found.span(1), f"({found[1]}|list)[1:]"
    for pattern in (FIELD, WHOLE_FIELD, HIDDEN):
        for found in pattern.finditer(text):
            yield "page drop a field", *found.span(), ""
    for found in VALUE.finditer(text):
        yield "page change a value", *found.span(1), f"{found[1]}-"
    shown = list(SHOWN.finditer(text))
    names = sorted({found[1] for found in shown})
    for found in shown:
        yield "page swap a value", *found.span(1), names[(names.index(found[1]) + 1) % len(names)]


def count_template_lines(text: str) -> int:
    """Return how many lines of a template have anything on them."""
    return sum(1 for line in COMMENT.sub("", text).splitlines() if line.strip())
