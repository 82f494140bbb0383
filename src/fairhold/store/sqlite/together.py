"""A whole batch in one statement: what `together.sql` is put together from, and what it takes.

Rows go as JSON, a list for each named query; bytes, which JSON has none of, beside them in one piece. No text
has a NUL in it, at which SQLite would end it: inputs see to that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from operator import itemgetter
from typing import Any, Final

from fairhold.store.base import Row, Seen, Write
from fairhold.store.queries import load_parts
from fairhold.store.rows import text
from fairhold.store.sqlite.bulk import QUERIES, VALUE, width

OVERTAKEN: Final = "overtaken"
# What a batch may write, in the writer's order, and whether every row must find what it changes.
EXACTLY: Final = {
    "step_out": False,
    "update_bookings": True,
    "change_details": True,
    "insert_bookings": False,
    "insert_holds": False,
    "answer_offers": True,
    "insert_offers": False,
    "upsert_openings": False,
    "insert_tries": False,
    "delete_tries": False,
    "upsert_units": False,
    "delete_takings": False,
    "insert_takings": False,
    "upsert_quotas": False,
    "update_pools": True,
    "insert_log": False,
    "insert_outbox": False,
    "insert_requests": False,
    "notify": False,
    "change_block": False,
    "insert_blocks": False,
}
# The values that are bytes: all of them hashes.
_HASHES: Final = {"update_pools": (11, 13), "insert_log": (7, 8), "insert_requests": (2,)}
_LENGTH: Final = 32
_PARTS: Final = load_parts("sqlite")
_INSERT: Final = re.compile(r"(.*?)\sVALUES\s\(([^()]*)\)(.*)", re.DOTALL)
# The values that are none.
_PLAIN: Final = {
    name: [at for at in range(width(name)) if at not in hashes] for name, hashes in _HASHES.items()
}


def _values(name: str) -> list[str]:
    """The values of a row, in their order, as SQL."""
    hashes, found, plain = _HASHES.get(name, ()), [], 0
    for at in range(width(name)):
        if at in hashes:
            first, step = 1 + _LENGTH * hashes.index(at), _LENGTH * len(hashes)
            found.append(_PARTS["hash_of_row"].format(name=name, first=first, step=step, length=_LENGTH))
        else:
            found.append(_PARTS["value_of_row"].format(at=plain))
            plain += 1
    return found


def _step(name: str) -> str:
    values, rows = _values(name), _PARTS["rows_of"].format(name=name)
    plain = _INSERT.fullmatch(QUERIES[name])
    if plain is None:
        return _PARTS["together_each"].format(name=name, values=", ".join(values), rows=rows)
    row = VALUE.sub(lambda found: values[int(found[1]) - 1], plain[2])
    return _PARTS["together_insert"].format(insert=plain[1], values=row, rows=rows, conflict=plain[3])


def _each(name: str, *, exactly: bool) -> list[str]:
    columns = [f"v{number}" for number in range(1, width(name) + 1)]
    query = VALUE.sub(lambda found: f"NEW.v{found[1]}", QUERIES[name])
    then = _PARTS["each_exactly"] + ";" if exactly else ""
    return [
        _PARTS["each_view"].format(name=name, columns=", ".join(columns), nothing=_nothing(columns)),
        _PARTS["each_trigger"].format(name=name, query=query, then=then),
    ]


def _nothing(columns: Sequence[str]) -> str:
    return ", ".join(["NULL"] * len(columns))


def preparations() -> list[str]:
    """What a connection is told once, before it can write together."""
    columns = ["pools", "pools_bytes", "parties", "live", *EXACTLY, *(f"{name}_bytes" for name in _HASHES)]
    found = [_PARTS["together"].format(columns=", ".join(columns), nothing=_nothing(columns))]
    for name, exactly in EXACTLY.items():
        if _INSERT.fullmatch(QUERIES[name]) is None:
            found += _each(name, exactly=exactly)
    steps = [_PARTS["together_seen"], _PARTS["together_live"], *map(_step, EXACTLY)]
    return [*found, _PARTS["together_trigger"].format(steps="; ".join(steps))]


def together(seen: Seen, writes: Iterable[Write]) -> tuple[str, list[Any]]:
    """The statement that writes it all if it is as it was seen, and its values."""
    told: dict[str, Any] = {
        "pools": text(list(seen.hashes)),
        "pools_bytes": b"".join(seen.hashes.values()),
    }
    if seen.parties:
        told |= {"parties": text(by_first(seen.parties)), "live": seen.live}
    for name, rows, _ in writes:
        hashes = _HASHES.get(name)
        if hashes is not None:
            told[f"{name}_bytes"] = _joined(hashes, rows)
            rows = list(map(itemgetter(*_PLAIN[name]), rows))
        told[name] = text(rows)
    return _statement(tuple(told)), list(told.values())


@cache
def _statement(columns: tuple[str, ...]) -> str:
    """Each combination is a statement of its own, which stays prepared."""
    values = ", ".join("?" * len(columns))
    return _PARTS["write_together"].format(columns=", ".join(columns), values=values)


def _joined(hashes: tuple[int, ...], rows: Sequence[Row]) -> bytes:
    found = map(itemgetter(*hashes), rows)
    joined = b"".join(found if len(hashes) == 1 else chain.from_iterable(found))
    assert len(joined) == _LENGTH * len(hashes) * len(rows), "else one would be read where another stands"
    return joined


def by_first(keys: Iterable[Row]) -> dict[Any, list[Any]]:
    """Pairs by what they begin with."""
    found: dict[Any, list[Any]] = {}
    for first, second in keys:
        found.setdefault(first, []).append(second)
    return found
