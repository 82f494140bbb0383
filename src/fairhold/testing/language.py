"""The language of scenarios, and its grammar.

A file holds scenarios. Each begins with `scenario: its name`; in a file without such lines, a blank
line separates them and a comment on top is the name. `# ` begins a comment. An indented line goes on
with the one above.

    verb  words and options=values  by staff  -> expectations

What a line does:

    pool KEY main=2 guests=unlimited seats=units(12A,12B) open=3 preset=checkout cooldown=24h
         starts=+3h opens=… closes=… price=150.00EUR eligible:main=tag:member priority:100=tag:honours
    book Ann x2, Bea quota=main units=12A,12B wants=service=colour from=+1h until=14:00 tags=honours
         attributes=credits:90 if_full=refuse price=90.00EUR confirmed opening as=Ann-2 door=page
    wait Ann, Bea              as book, and each of them must end up waiting
    confirm, cancel, extend [10m], claim [x1] [offer=1], decline [offer=1], offer     of one or more
    unreachable [offer=1] [reason=no_channel]    no channel can carry the letter about the offer
    delayed Ann                no channel takes it for now
    sent Ann [other]           a channel has taken it; or another letter, that brings no offer
    reachable Ann              there is a channel now
    details Ann name=… email=… locale=… and answers, as diet=vegan; told_by_staff | told_by_channels
    move Ann front | back | after Bea         put_back Ann
    fill [1]    tick    after 10m    at 14:00 | +3h    asleep 1h (the clock moves, no timer fires)
    size main=3 open=2 [demote]    open_size 2 [demote]    change title=… price=… and policy fields
    units add 14:00,15:00 quota=main starts=+3h attributes=row:12    units close 14:00
    resolve again | free | close       what was last handed back
    pause    open    close    cancel_pool    dry (before another verb: nothing is changed by it)

What happened is compared with what stands behind `->`, in order: held, joined, offered, promoted,
confirmed, completed, declined, lapsed, not_reached, told, delayed, reachable, expired, extended, details,
cancelled, closed, moved, put_back, demoted, round, handed_back, refused CODE; or `nothing`. A name,
`#position`, `x2`, a unit, a state or a reason may follow; what is not said is not compared. What a line says
by itself (`cancel` … cancelled) and bookkeeping (changed, created, added, unit_closed, opening,
opening_ended, respread, again) counts only where it is named. A line without `->` must not be refused.

What a line checks:

    line Ann, Bea | nobody      state Ann, Bea confirmed      position Ann 3     attempts Ann 2
    room main 2 | unlimited     placement Ann quota | open | line | none         quantity Ann 2
    price Ann 150.00EUR | none  total Ann 300.00EUR           has Ann 12A,12B | nothing
    remaining Ann 10m | none    passed Ann cooldown           round Ann 2        stats active_holds=2
    told Ann offer, staff handed_back | nobody                untold Ann         answer "a sentence"

Lengths are written 90s, 10m, 1h30m, 2d; instants +3h (from now) or 14:00 (that day). The day begins at
09:00. Conditions: `tag:x`, `name=value`, and != >= <= > <, joined by `&` and `|`, negated by `!`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

_COMMENT: Final = re.compile(r"(^|\s)#(\s.*)?$")
_ITEM: Final = re.compile(r'(?:[^,"]|"[^"]*"|,(?!\s|$))+')
_BY: Final = re.compile(r"\s+by\s+(staff\S*|party|clock)\s*$")
_QUANTITY: Final = re.compile(r"x([0-9]+)")


class ScenarioError(AssertionError):
    """A scenario and the facts differ, or a line cannot be understood; says where, and how."""


class Name(NamedTuple):
    """Someone on a line, with the quantity asked for."""

    name: str
    quantity: int | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One line, taken apart. `expected` None means that nothing was said of what should happen."""

    file: str
    number: int
    text: str
    verb: str
    items: tuple[tuple[str, ...], ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    by: str | None = None
    expected: tuple[str, ...] | None = None
    dry: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """All words that are no options, in order."""
        return tuple(word for item in self.items for word in item)

    @property
    def names(self) -> list[Name]:
        """The line read as a list of people, each with a quantity if one is given."""
        return [self._name(item) for item in self.items if item]

    def _name(self, item: tuple[str, ...]) -> Name:
        quantity = None
        for word in item[1:]:
            found = _QUANTITY.fullmatch(word)
            if not found:
                raise self.error(f"{word!r} cannot be understood here")
            quantity = int(found[1])
        return Name(item[0], quantity)

    def error(self, problem: str, *notes: tuple[str, str]) -> ScenarioError:
        """What is wrong with this line, as a good compiler would say it."""
        margin = len(str(self.number))
        shown = self.text.splitlines()
        lines = [f"{self.file}:{self.number}: {problem}"]
        lines += [f"  {self.number + i} | {text.rstrip()}" for i, text in enumerate(shown)]
        width = max((len(label) for label, _ in notes), default=0)
        lines += [f"  {'':>{margin}} = {label:>{width}}: {text}" for label, text in notes]
        return ScenarioError("\n".join(lines))


@dataclass(frozen=True, slots=True)
class Scenario:
    """A named list of lines, played in one world from nothing."""

    name: str
    file: str
    lines: tuple[Line, ...]


def read(text: str, file: str = "scenario") -> list[Scenario]:
    """The scenarios of a text."""
    return [scenario for name, rows in _parts(text) if (scenario := _scenario(name, file, rows)).lines]


def _parts(text: str) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """The text cut into scenarios, each with its name and its numbered rows."""
    rows = list(enumerate(text.splitlines(), start=1))
    titled = any(row.startswith("scenario:") for _, row in rows)
    name, part = "", list[tuple[int, str]]()
    for number, row in rows:
        begins = row.startswith("scenario:") if titled else not row.strip()
        if begins:
            yield name or _first_line(part), part
            name, part = row.removeprefix("scenario:").strip(), []
        elif not titled and row.startswith("#") and not part:
            name = name or row.strip("# ")
        else:
            part.append((number, row))
    yield name or _first_line(part), part


def _first_line(part: list[tuple[int, str]]) -> str:
    return f"line {part[0][0]}" if part else ""


def _scenario(name: str, file: str, rows: list[tuple[int, str]]) -> Scenario:
    joined: list[tuple[int, str]] = []
    for number, row in rows:
        if joined and row[:1].isspace() and row.strip():
            joined[-1] = (joined[-1][0], f"{joined[-1][1]}\n{row}")
        elif row.strip():
            joined.append((number, row))
    lines = tuple(line for number, row in joined if (line := _line(file, number, row)))
    return Scenario(name, file, lines)


def _line(file: str, number: int, text: str) -> Line | None:
    plain = " ".join(_COMMENT.sub("", row).strip() for row in text.splitlines()).strip()
    if not plain:
        return None
    doing, arrow, happening = (" " + plain + " ").partition(" -> ")
    by = _BY.search(doing)
    verb, _, rest = _BY.sub("", doing).strip().partition(" ")
    dry = verb == "dry"
    if dry:
        verb, _, rest = rest.strip().partition(" ")
    try:
        expected = tuple(_items(happening)) if arrow else None
        items = [shlex.split(item) for item in _items(rest)]
    except ValueError as problem:
        raise Line(file, number, text, verb).error(f"the line cannot be understood: {problem}") from problem
    options = dict(word.split("=", 1) for item in items for word in item if _is_option(word))
    words = tuple(tuple(word for word in item if not _is_option(word)) for item in items)
    return Line(file, number, text, verb, words, options, by[1] if by else None, expected, dry)


def _items(text: str) -> list[str]:
    if text.count('"') % 2:
        raise ValueError("a quotation is not closed")
    return [item.strip() for item in _ITEM.findall(text) if item.strip()]


def _is_option(word: str) -> bool:
    return "=" in word and " " not in word.partition("=")[0]
