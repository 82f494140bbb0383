"""A million people at one event: how long until everyone has an answer, at the costs that were measured.

Time goes by in tenths of a second. People come within some minutes, half of them at once; the service
answers so many sign-ups a second, keeps a bounded number waiting and turns the rest away with the time when
to ask again, and they do so. Whoever has signed up looks now and then where they stand, which costs, too.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass

STEP_S = 0.1
LANE = 4_000


@dataclass(frozen=True, slots=True)
class Day:
    """How it went."""

    minutes: float
    """Until the last one had an answer."""
    median_s: float
    worst_s: float
    asked_each: float
    """How often a person asked, on average, until there was an answer."""


def play(
    people: int,
    signups_per_s: float,
    looks_per_s: float,
    *,
    within_s: float = 300.0,
    looks_every_s: float = 30.0,
    seed: int = 1,
) -> Day:
    """Let so many come; a look takes its share of the same second that sign-ups are answered in."""
    dice = random.Random(seed)
    # Half of all come in the first twentieth of the time: when the doors open.
    arrivals = sorted(
        dice.random() * within_s / 20 if number % 2 else dice.random() * within_s for number in range(people)
    )
    comes_at: dict[int, list[float]] = {}
    for came in arrivals:
        comes_at.setdefault(int(came / STEP_S), []).append(came)
    lane: deque[float] = deque()
    waits: list[float] = []
    asked, answered, step = 0, 0, 0
    free_at = 0.0
    while answered < people:
        busy_looking = min(0.5, answered / looks_every_s / looks_per_s)
        room = int(signups_per_s * STEP_S * (1 - busy_looking))
        now = step * STEP_S
        for came in comes_at.pop(step, ()):
            asked += 1
            if len(lane) < LANE:
                lane.append(came)
                continue
            # Each is told another moment, when there will be room at this pace: as the lane does.
            free_at = max(free_at, now + len(lane) / signups_per_s) + 1 / signups_per_s
            later_s = min(300.0, max(1.0, free_at - now))
            comes_at.setdefault(step + int(later_s / STEP_S) + 1, []).append(came)
        for _ in range(min(room, len(lane))):
            waits.append(max(0.0, now - lane.popleft()))
            answered += 1
        step += 1
    waits.sort()
    return Day(step * STEP_S / 60, waits[len(waits) // 2], waits[-1], asked / people)
