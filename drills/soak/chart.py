"""Simple charts: lines over time, each set in a panel of its own, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

WIDTH, PANEL, LEFT, TOP = 720, 120, 70, 30
COLOURS = ("#2563eb", "#d97706", "#15803d")


class Line(NamedTuple):
    name: str
    xs: Sequence[float]
    ys: Sequence[float]


def svg(title: str, panels: Sequence[tuple[str, Sequence[Line]]]) -> str:
    """The panels, one below the other. Every y begins at nothing, so that flat looks flat."""
    height = TOP + len(panels) * (PANEL + 40)
    box = f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {box}><title>{escape(title)}</title>',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for number, (name, lines) in enumerate(panels):
        parts += _panel(name, lines, TOP + number * (PANEL + 40))
    return "\n".join([*parts, "</svg>\n"])


def _panel(name: str, lines: Sequence[Line], top: int) -> list[str]:
    x_max = max((max(line.xs) for line in lines if line.xs), default=1) or 1
    y_max = max((max(line.ys) for line in lines if line.ys), default=1) or 1
    bottom, right = top + PANEL, WIDTH - 20
    parts = [
        f'<text x="{LEFT}" y="{top - 8}" fill="#111827">{escape(name)}</text>',
        f'<path d="M{LEFT} {top}V{bottom}H{right}" fill="none" stroke="#6b7280"/>',
        f'<text x="{LEFT - 6}" y="{top + 10}" text-anchor="end" fill="#374151">{y_max:,.0f}</text>',
        f'<text x="{LEFT - 6}" y="{bottom}" text-anchor="end" fill="#374151">0</text>',
        f'<text x="{right}" y="{bottom + 16}" text-anchor="end" fill="#374151">{x_max:.0f} min</text>',
    ]
    for number, line in enumerate(lines):
        colour = COLOURS[number % len(COLOURS)]
        points = " ".join(
            f"{LEFT + x / x_max * (right - LEFT):.1f},{bottom - y / y_max * PANEL:.1f}"
            for x, y in zip(line.xs, line.ys, strict=True)
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        at = LEFT + 200 + number * 150
        parts.append(f'<text x="{at}" y="{top - 8}" fill="{colour}">{escape(line.name)}</text>')
    return parts
