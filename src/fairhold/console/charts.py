"""Charts, as shapes for SVG: where lines go and how high bars stand. The words are in numbers.html.

A drawing is stretched to whatever width there is, so no letters are in it: labels stand beside it as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

WIDTH: Final = 600.0
HEIGHT: Final = 160.0


class Curve(NamedTuple):
    """A line through time: its path, the area below it, the greatest value, and where a mark stands."""

    line: str
    area: str
    most: int
    mark_y: float | None


class Bar(NamedTuple):
    """One bar, and the part of it that is told apart."""

    x: float
    width: float
    y: float
    height: float
    part_y: float
    part_height: float
    value: int
    part: int


class Bars(NamedTuple):
    """Bars side by side, under one greatest value."""

    bars: tuple[Bar, ...]
    most: int


def curve(values: Sequence[int], mark: int | None = None) -> Curve:
    """Values at even distances; each holds until the next, so the line goes in steps."""
    most = nice(max([*values, mark or 0, 1]))
    step = WIDTH / max(1, len(values))
    parts = []
    for index, value in enumerate(values):
        parts.append(f"{'L' if index else 'M'}{index * step:.1f} {_y(value, most)}H{(index + 1) * step:.1f}")
    line = "".join(parts) or f"M0 {HEIGHT}H{WIDTH}"
    return Curve(
        line,
        f"{line}L{WIDTH:.1f} {HEIGHT:.1f}L0 {HEIGHT:.1f}Z",
        most,
        None if mark is None else _y(mark, most),
    )


def bars(values: Sequence[int], parts: Sequence[int] = ()) -> Bars:
    most = nice(max([*values, 1]))
    slot = WIDTH / max(1, len(values))
    found = []
    for index, value in enumerate(values):
        part = parts[index] if parts else 0
        found.append(
            Bar(
                round(index * slot + slot * 0.16, 2),
                round(slot * 0.68, 2),
                _y(value, most),
                round(HEIGHT - _y(value, most), 2),
                _y(part, most),
                round(HEIGHT - _y(part, most), 2),
                value,
                part,
            )
        )
    return Bars(tuple(found), most)


def nice(most: int) -> int:
    """The next number at which an axis may end: even up to ten, then one that is easily halved."""
    if most <= 10:
        return most + most % 2
    unit = int(10 ** (len(str(most)) - 1))
    ends = [step * unit // 5 for step in (6, 8, 10, 12, 16, 20, 30, 40, 50)]
    return min(end for end in ends if end >= most)


def _y(value: int, most: int) -> float:
    return round(HEIGHT * (1 - value / most), 2)
