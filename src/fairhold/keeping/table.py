"""CSV that is safe to open in a spreadsheet, and read back as it was.

A cell that a spreadsheet would take for a formula gets an apostrophe in front. Reading takes it away again.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any, Final

# What begins a formula in one spreadsheet or another, also in its full-width form or behind a line's end.
_FORMULA: Final = tuple("=+-@\t\r\n＝＋－＠")
_QUOTE: Final = "'"


def cell(value: object) -> str:
    """A value as text that no spreadsheet takes for a formula."""
    text = "" if value is None else str(value)
    # What begins with an apostrophe gets another one, so that reading knows which was there before.
    return _QUOTE + text if text.lstrip(" ").startswith((*_FORMULA, _QUOTE)) else text


def plain(text: str) -> str:
    """What a cell says, without the apostrophe that makes it safe."""
    if text.startswith(_QUOTE) and text[1:].lstrip(" ").startswith((*_FORMULA, _QUOTE)):
        return text[1:]
    return text


def written(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as CSV."""
    return lines([heads]) + lines(rows)


def lines(rows: Iterable[Sequence[Any]]) -> str:
    """Some rows of it."""
    out = io.StringIO(newline="")
    csv.writer(out).writerows([cell(value) for value in row] for row in rows)
    return out.getvalue()


def read(text: str) -> list[tuple[int, list[str]]]:
    """The rows of a CSV that are not empty, each with its line; with commas or semicolons between cells.

    Raises csv.Error.
    """
    first = text.split("\n", 1)[0]
    between = ";" if first.count(";") > first.count(",") else ","
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=between, strict=True)
    found, line = [], 1
    for row in reader:
        if any(it.strip() for it in row):
            found.append((line, [plain(it.strip(" ")) for it in row]))
        line = reader.line_num + 1
    return found
