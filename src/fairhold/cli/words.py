"""Plain words for people: times, lengths, seats, prices, aligned columns, and a little colour.

What people type (names, titles, reasons) is shown without control characters, so that nobody can write
on somebody else's terminal.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from fairhold.core.model import Party, Price

_STYLES: Final = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "cyan": "36",
}
# ISO 4217 has a few currencies whose minor unit is not a hundredth.
_DECIMALS: Final = {
    **dict.fromkeys(("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG"), 0),
    **dict.fromkeys(("RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF"), 0),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
}


def clean(text: str) -> str:
    """Text without control characters."""
    return "".join("�" if unicodedata.category(letter) in ("Cc", "Cf") else letter for letter in text)


def colourful() -> bool:
    """Whether somebody looks at this on a terminal and likes colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def style(text: str, *names: str) -> str:
    if not text or not names or not colourful():
        return text
    return f"\x1b[{';'.join(_STYLES[name] for name in names)}m{text}\x1b[0m"


def name_of(party: Party) -> str:
    return clean(party.name or party.id)


def count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(words: Sequence[str]) -> str:
    """Ann, Bea and Cyd."""
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + words[-1] if words else ""


def seats(quantity: int, units: Iterable[str] = ()) -> str:
    labels = [clean(label) for label in units]
    return listed(labels) if labels else count(quantity, "seat")


def price(value: Price | Mapping[str, object] | None, times: int = 1) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        amount, currency = int(str(value["amount"])), str(value["currency"])
    else:
        amount, currency = value.amount, value.currency
    decimals = _DECIMALS.get(currency, 2)
    return f"{amount * times / 10**decimals:,.{decimals}f} {currency}"


def decimals_of(currency: str) -> int:
    return _DECIMALS.get(currency, 2)


def length(seconds: float) -> str:
    """24 h, 1 h 30 min, 15 min, 45 s; days from two of them on; seconds only when it is short."""
    left = max(0, int(seconds))
    if left < 600:
        parts = [(left // 60, "min"), (left % 60, "s")]
    elif left < 2 * 86_400:
        parts = [(left // 3600, "h"), (left // 60 % 60, "min")]
    else:
        parts = [(left // 86_400, "d"), (left // 3600 % 24, "h")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 s"


class Times:
    """Instants as people read them, in a pool's time zone, as short as they can be today."""

    def __init__(self, zone: str, now: datetime) -> None:
        self.zone = ZoneInfo(zone)
        self.now = now.astimezone(self.zone)

    def moment(self, at: datetime, *, zone: bool = True) -> str:
        """14:32 UTC; on another day with the day before it."""
        local = at.astimezone(self.zone)
        day, days = "", (local.date() - self.now.date()).days
        if -7 < days < 7 and days:
            day = f"{local:%a} "
        elif days:
            day = (
                f"{local:%a} {local.day} {local:%b}{f' {local.year}' if local.year != self.now.year else ''} "
            )
        return f"{day}{local:%H:%M}{f' {local:%Z}' if zone else ''}"

    def full(self, at: datetime) -> str:
        """2026-03-07 14:32:05, for lists."""
        return f"{at.astimezone(self.zone):%Y-%m-%d %H:%M:%S}"

    def left(self, at: datetime) -> str:
        """15 min left, counting a part of a second as a second."""
        left = at - self.now
        return f"{length(-(-left // timedelta(seconds=1)))} left" if left > timedelta(0) else "time is over"


def width_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    total, escaped = 0, False
    for letter in text:
        if letter == "\x1b" or escaped:
            escaped = letter != "m"
        elif not unicodedata.combining(letter):
            total += 2 if unicodedata.east_asian_width(letter) in "WF" else 1
    return total


def columns(rows: Iterable[Sequence[object]], heads: Sequence[str] = (), right: Iterable[int] = ()) -> str:
    """Rows under each other, aligned; columns that are empty everywhere are left out."""
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
    used = [index for index in range(len(cells[0]) if cells else 0) if any(row[index] for row in cells)]
    if heads and cells:
        cells.insert(0, [style(head, "dim") for head in heads])
    wide = {index: max(width_of(row[index]) for row in cells) for index in used}
    rightly = set(right)
    lines = []
    for row in cells:
        padded = []
        for index in used:
            gap = " " * (wide[index] - width_of(row[index]))
            padded.append(gap + row[index] if index in rightly else row[index] + gap)
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def hanging(first: str, text: str, width: int = 80) -> str:
    """A text behind its opening, wrapped so that its lines stand under each other."""
    indent, lines, line, used = " " * width_of(first), [], first, width_of(first)
    for index, word in enumerate(text.split(" ")):
        wide = width_of(word)
        if index and used + 1 + wide > width:
            lines.append(line)
            line, used = indent + word, len(indent) + wide
        else:
            line += f" {word}" if index else word
            used += wide + bool(index)
    return "\n".join([*lines, line])
