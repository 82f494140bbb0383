"""Parties brought into a pool from a CSV: each row is one booking, in the order of the rows.

A row that cannot be read or is refused is told by its line, and keeps nobody else out.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from fairhold.core.refusals import Refusal, invalid
from fairhold.keeping import table
from fairhold.keeping.exports import HEADS

TEXT_MAX: Final = 20_000_000
ROWS_MAX: Final = 100_000
_READ: Final = frozenset(
    {
        "party_id",
        "name",
        "email",
        "phone",
        "contacts",
        "tags",
        "attributes",
        "locale",
        "quota",
        "quantity",
        "units",
        "if_full",
        "confirmed",
    }
)
# What an export has besides: it is read over, so that a file that was handed out can be brought in.
_READ_OVER: Final = frozenset(HEADS) - _READ
_YES: Final = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False, "": False}


class RowError(msgspec.Struct, frozen=True):
    """What is wrong with one row, by its line in the file."""

    row: int
    party: str
    code: str
    sentence: str
    field: str | None = None


class RowDone(msgspec.Struct, frozen=True):
    """What came of one row; a dry run has no booking."""

    row: int
    party: str
    state: str
    booking: str | None = None
    reference: str | None = None


class Imported(msgspec.Struct, frozen=True):
    """What came of each row."""

    rows: int
    done: tuple[RowDone, ...]
    errors: tuple[RowError, ...]
    dry_run: bool = False


class Asked(msgspec.Struct, frozen=True):
    """A row, read: what is to be asked of `book`."""

    row: int
    party: Mapping[str, Any]
    quantity: int
    options: Mapping[str, Any]


def read(text: object) -> tuple[list[Asked], list[RowError]] | Refusal:
    """The rows of a CSV as requests, and those that cannot be read; a refusal if the file is none."""
    if not isinstance(text, str) or len(text) > TEXT_MAX:
        return invalid("text", f"The file must be text of at most {TEXT_MAX:,} characters.")
    try:
        found = table.read(text)
    except csv.Error as error:
        return invalid("text", f"The file is no CSV: {error}.")
    if not found or len(found) > ROWS_MAX + 1:
        return invalid("text", f"The file needs a row of headings and at most {ROWS_MAX:,} rows below it.")
    heads = [head.strip().lower().replace(" ", "_") for head in found[0][1]]
    if wrong := _wrong_heads(heads):
        return invalid("text", wrong)
    asked, errors = [], []
    for line, cells in found[1:]:
        try:
            asked.append(_asked(line, heads, cells))
        except _Wrong as error:
            named = dict(zip(heads, cells, strict=False)).get("party_id", "")
            errors.append(RowError(line, named, "invalid", str(error), error.field))
    return asked, errors


class _Wrong(Exception):
    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


def _wrong_heads(heads: Sequence[str]) -> str | None:
    if "party_id" not in heads:
        return f"The first row must name the columns, among them party_id. It may have: {_listed(_READ)}."
    for head in heads:
        if head not in _READ | _READ_OVER:
            return f"There is no column {head!r}. There are: {_listed(_READ)}."
        if heads.count(head) > 1:
            return f"The column {head!r} is there twice."
    return None


def _listed(words: frozenset[str]) -> str:
    return ", ".join(sorted(words))


def _asked(line: int, heads: Sequence[str], cells: Sequence[str]) -> Asked:
    if len(cells) != len(heads):
        raise _Wrong("text", f"It has {len(cells)} cells, and there are {len(heads)} columns.")
    said = dict(zip(heads, cells, strict=True))
    contacts = dict(_mapping(said, "contacts"))
    contacts |= {kind: said[kind] for kind in ("email", "phone") if said.get(kind)}
    party = {
        "id": said["party_id"],
        "name": said.get("name", ""),
        "contacts": contacts,
        "tags": _words(said, "tags"),
        "attributes": _mapping(said, "attributes"),
        "locale": said.get("locale", ""),
    }
    units = _words(said, "units")
    options = {
        "quota": said.get("quota") or None,
        "units": units,
        "if_full": said.get("if_full") or None,
        "confirmed": _flag(said, "confirmed"),
    }
    return Asked(line, party, _whole(said, "quantity", max(1, len(units))), options)


def _whole(said: Mapping[str, str], field: str, default: int) -> int:
    text = said.get(field, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise _Wrong(field, f"{field} must be a whole number, and is {text!r}.")
    return int(text)


def _flag(said: Mapping[str, str], field: str) -> bool:
    text = said.get(field, "").lower()
    if text not in _YES:
        raise _Wrong(field, f"{field} must be yes or no, and is {text!r}.")
    return _YES[text]


def _words(said: Mapping[str, str], field: str) -> list[str]:
    text = said.get(field, "")
    if text.startswith("["):
        found = _json(text, field)
        if not isinstance(found, list) or not all(isinstance(word, str) for word in found):
            raise _Wrong(field, f"{field} must be words with semicolons between them.")
        return found
    return [word.strip() for word in text.split(";") if word.strip()]


def _mapping(said: Mapping[str, str], field: str) -> dict[str, Any]:
    text = said.get(field, "")
    found = _json(text, field) if text else {}
    if not isinstance(found, dict):
        raise _Wrong(field, f"{field} must be a JSON object.")
    return found


def _json(text: str, field: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise _Wrong(field, f"{field} is no JSON: {text[:50]!r}.") from None
