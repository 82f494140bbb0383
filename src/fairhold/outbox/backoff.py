"""How long to wait before the next try: longer each time, and never all at once."""

from __future__ import annotations

from typing import Final

ATTEMPTS_MAX: Final = 30
_FIRST: Final = 15_000
_LONGEST: Final = 3_600_000


def delay(attempts: int, roll: float) -> int:
    """Milliseconds until the next try after so many; `roll` is from 0 to 1 and spreads them by a quarter.

    15 s, 30 s, 1 min … 1 h, then every hour: thirty tries take about a day.
    """
    wait = min(_LONGEST, _FIRST * 2 ** min(attempts - 1, 20))
    return int(wait * (0.75 + roll / 2))
