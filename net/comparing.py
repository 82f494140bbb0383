"""Compares what two trees answered to the same history, and says where they differ."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

import msgspec

from net import vocabulary
from net.histories import History, Json
from net.playing import ONE


class Difference(Exception):
    """Two trees did not do the same."""


def compare(history: History, expected: Sequence[Json], actual: Sequence[Json], where: str) -> None:
    """Raise Difference at the first step that was answered otherwise."""
    keys: set[str] = set()
    for number, (step, wanted, found) in enumerate(zip(history["steps"], expected, actual, strict=True)):
        wanted, found = plain(wanted), plain(found)
        if where != ONE:
            if step.get("key") in keys:
                wanted, found = _without_party(wanted), _without_party(found)
            wanted, found = _whenever(wanted), _whenever(found)
        keys.add(step.get("key", ""))
        if wanted != found:
            told = "\n".join(differences(wanted, found))
            raise Difference(
                f"seed {history['seed']}, {where}: step {number} of {len(history['steps'])} differs\n"
                f"  {json.dumps(step, ensure_ascii=False)}\n{told}"
            )


def _without_party(answer: Json) -> Json:
    """Return a kept answer without what its party says of itself.

    That is read anew when the batch begins; what the party said in the same batch is not in it yet.
    """
    if "Booking" not in answer:
        return answer
    fields = {name: value for name, value in answer["Booking"].items() if name not in ("party", "answers")}
    return {"Booking": fields}


def _whenever(answer: Json) -> Json:
    """Return a refusal of one hold too many without when to come again.

    Of holds that are made in the same batch the engine does not know when they end.
    """
    if answer.get("Refusal", {}).get("code") != "too_many_requests":
        return answer
    return {"Refusal": {**answer["Refusal"], "facts": {}}}


def plain(said: Json) -> Json:
    """Return the same as it comes back from a file: lists for tuples."""
    return msgspec.json.decode(msgspec.json.encode(said))


def differences(expected: Json, actual: Json, at: str = "") -> list[str]:
    """Return each place where two answers differ, with what stands there."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        found = []
        for name in sorted(set(expected) | set(actual)):
            if expected.get(name, _ABSENT) != actual.get(name, _ABSENT):
                inner = (expected.get(name, _ABSENT), actual.get(name, _ABSENT))
                found += differences(*inner, f"{at}.{name}" if at else name)
        return found
    if isinstance(expected, list) and isinstance(actual, list) and _TABLE.fullmatch(at):
        return _of_rows(at, expected, actual)
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        pairs = enumerate(zip(expected, actual, strict=True))
        return [
            line
            for n, (one, other) in pairs
            if one != other
            for line in differences(one, other, f"{at}[{n}]")
        ]
    return [f"  {at or 'answer'}", f"    expected {_shown(expected)}", f"    actual   {_shown(actual)}"]


_TABLE: Final = re.compile(rf"look\[\d+\]\.({'|'.join(vocabulary.COLUMNS)})")
_ABSENT: Final = "(absent)"
_ROWS_MAX: Final = 5


def _of_rows(at: str, expected: list[Json], actual: list[Json]) -> list[str]:
    """Return how the rows of a table differ: each that only one tree has."""
    columns = vocabulary.COLUMNS[at.rpartition(".")[2]]
    found = []
    for title, rows, others in (("expected", expected, actual), ("actual  ", actual, expected)):
        only = [row for row in rows if row not in others]
        found += [f"    {title} {_shown(dict(zip(columns, row, strict=True)))}" for row in only[:_ROWS_MAX]]
        if len(only) > _ROWS_MAX:
            found.append(f"    {title} … and {len(only) - _ROWS_MAX} rows more")
    return [f"  {at}", *(found or ["    the rows are the same, in another order"])]


def _shown(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
