"""Whether something grows: a straight line through what was measured, after the first fifth."""

from __future__ import annotations

from collections.abc import Sequence

WARM_UP = 0.2


def settled(values: Sequence[float]) -> Sequence[float]:
    """Without the beginning, when caches fill."""
    return values[int(len(values) * WARM_UP) :]


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """By how much y grows with each x, by least squares."""
    count = len(xs)
    if count < 2:
        return 0.0
    x_mean, y_mean = sum(xs) / count, sum(ys) / count
    spread = sum((x - x_mean) ** 2 for x in xs)
    return sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True)) / spread if spread else 0.0


def growth(at_s: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """By how much it grew while it was settled, along the line; and by how much that is in an hour."""
    xs, ys = settled(at_s), settled(values)
    if len(xs) < 2:
        return 0.0, 0.0
    each_s = slope(xs, ys)
    return each_s * (xs[-1] - xs[0]), each_s * 3_600


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0
