"""What a pool's log adds up to: fill and line over time, freed seats, offers, and when nobody answers.

Law: the figures come from the newest entries of the log, so many at most, and from how things stand now. What
was before is told backwards from now: before an event there were as many as after it, less what it changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from statistics import median
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from fairhold.clock import to_datetime
from fairhold.core.model import CONFIRMED, HELD, OFFERED, WAITING, Instant

ENTRIES_MAX: Final = 20_000
DAYS_MAX: Final = 366
DAY: Final = 86_400_000
# So many points are enough for a line that a person looks at.
POINTS: Final = 60
# How long it took: up to so many minutes each, and then longer.
SPANS_MIN: Final = (10, 60, 6 * 60, 24 * 60, 3 * 24 * 60)
TRIES_MAX: Final = 5
_TAKES: Final = frozenset({OFFERED, HELD, CONFIRMED})
_STAY: Final = frozenset(
    {"Confirmed", "Completed", "Extended", "BookingChanged", "Moved", "Told", "Delayed", "Reachable"}
)


class Point(msgspec.Struct, frozen=True):
    """How things stood at an instant: seats that were taken or held for somebody, and how many waited."""

    at: datetime
    used: int
    waiting: int


class Hour(msgspec.Struct, frozen=True):
    """Offers that were made within an hour of the day, and how many of them nobody answered."""

    hour: int
    offers: int
    unanswered: int


class Numbers(msgspec.Struct, frozen=True):
    """The figures of a pool from `since` to now. `cut_short`: the log goes back further than was read.

    `filled_within` counts freed seats by how many minutes it took until they were taken, the last for longer;
    `tries` by how many were asked for one, the last for as many or more.
    """

    since: datetime
    until: datetime
    cut_short: bool
    capacity: int | None
    points: tuple[Point, ...]
    outcomes: Mapping[str, int]
    filled_within: tuple[int, ...]
    filled_median_s: int | None
    tries: tuple[int, ...]
    handed_back: int
    hours: tuple[Hour, ...]


class Entry(NamedTuple):
    """What is needed of an entry of the log."""

    seq: int
    at: Instant
    kind: str
    booking: int | None
    facts: Mapping[str, Any]
    quantity: int | None


class Standing(NamedTuple):
    """How a pool stands: seats taken, how many wait, live offers, and its size if it has one."""

    used: int
    waiting: int
    live: int
    capacity: int | None


class _Share(NamedTuple):
    """What a booking has: so many seats, and a place in line."""

    seats: int = 0
    in_line: int = 0


def figures(log: Sequence[Entry], now: Standing, since: Instant, until: Instant, zone: str) -> Numbers:
    """The figures; `log` is the end of it in order, as far back as it was read."""
    cut_short = bool(log) and log[0].seq > 1 and log[0].at > since
    begins = log[0].at if cut_short else since
    steps = changes(log)
    window = [entry for entry in log if entry.at >= begins]
    openings = _openings(window)
    taken = [opening for opening in openings if opening.took is not None]
    return Numbers(
        since=to_datetime(begins),
        until=to_datetime(until),
        cut_short=cut_short,
        capacity=now.capacity,
        points=_points(steps, now, begins, until),
        outcomes=_outcomes(window, now.live),
        filled_within=_binned([it.took or 0 for it in taken]),
        filled_median_s=round(median(it.took or 0 for it in taken) / 1000) if taken else None,
        tries=_tries([it.tries for it in taken]),
        handed_back=sum(entry.kind == "HandedBack" for entry in window),
        hours=_hours(log, begins, ZoneInfo(zone)),
    )


# Seats and line, event by event.


def changes(log: Sequence[Entry]) -> list[tuple[Instant, int, int]]:
    """What each event changed: when, seats taken, and how many wait."""
    shares: dict[int, _Share] = {}
    steps = []
    for entry in log:
        for number, share in _after(entry, shares):
            was = shares.get(number)
            if was is None:
                was = _before(entry, share)
            shares[number] = share
            if was != share:
                steps.append((entry.at, share.seats - was.seats, share.in_line - was.in_line))
    return steps


def _after(entry: Entry, shares: Mapping[int, _Share]) -> list[tuple[int, _Share]]:
    """What the bookings of an event have when it has happened."""
    facts, number = entry.facts, entry.booking
    if number is None:
        return []
    quantity = facts.get("quantity") or entry.quantity or 1
    if entry.kind == "Joined":
        return [(number, _Share(0, 1))]
    if entry.kind == "PutBack":
        waits = facts["state"] == WAITING
        return [(number, _Share(0, 1) if waits else _Share(quantity))]
    if entry.kind in ("Held", "Offered", "Promoted"):
        return [(number, _Share(quantity))]
    if entry.kind == "Claimed":
        if facts.get("part") is None:
            return [(number, _Share(quantity))]
        return [(number, _Share(0, 1)), (facts["part"], _Share(quantity))]
    if entry.kind in ("Declined", "Lapsed"):
        return [(number, _Share(0, int(facts["state"] == WAITING)))]
    if entry.kind == "NotReached":
        return [(number, _Share(0, 1))]
    if entry.kind == "Demoted":
        part = [(facts["part"], _Share())] if facts.get("part") is not None else []
        return [(number, _Share(0, 1)), *part]
    if entry.kind in _STAY:
        return [(number, shares[number])] if number in shares else []
    return [(number, _Share())]


def _before(entry: Entry, after: _Share) -> _Share:
    """What a booking had before the first event that was read of it."""
    kind, quantity = entry.kind, entry.quantity or 1
    if kind in ("Joined", "Held", "PutBack") or (
        kind == "Claimed" and entry.facts.get("part") is not None and after.seats
    ):
        return _Share()
    if kind in ("Promoted", "Offered"):
        return _Share(0, 1)
    if kind in ("Cancelled", "Expired", "Closed") and entry.facts.get("position") is not None:
        return _Share(0, 1)
    return _Share(quantity)


def _points(
    steps: Sequence[tuple[Instant, int, int]], now: Standing, begins: Instant, until: Instant
) -> tuple[Point, ...]:
    """The last state of each stretch of time, told backwards from now."""
    length = max(1, -(-(until - begins) // POINTS))
    used, waiting, at = now.used, now.waiting, until
    found: list[Point] = []
    left = list(steps)
    while at > begins - length and len(found) <= POINTS:
        while left and left[-1][0] > at:
            _, seats, in_line = left.pop()
            used, waiting = used - seats, waiting - in_line
        found.append(Point(to_datetime(max(at, begins)), used, waiting))
        at -= length
    return tuple(reversed(found))


# Freed seats and offers.


class _Opening(NamedTuple):
    took: Instant | None
    tries: int


def _openings(log: Sequence[Entry]) -> list[_Opening]:
    """Openings that began in the log: how long until they were taken, and how many were asked."""
    began: dict[int, Instant] = {}
    tries: Counter[int] = Counter()
    found: dict[int, _Opening] = {}
    for entry in log:
        if entry.kind == "OpeningStarted":
            began[entry.facts["opening"]] = entry.at
        elif entry.kind == "Offered":
            tries.update(entry.facts.get("openings", ()))
        elif entry.kind == "OpeningEnded" and entry.facts["opening"] in began:
            number = entry.facts["opening"]
            took = entry.at - began[number] if entry.facts["how"] == "taken" else None
            found[number] = _Opening(took, tries[number])
    return [it for it in found.values() if it.tries]


def _outcomes(log: Sequence[Entry], live: int) -> dict[str, int]:
    """How the offers of the log ended; those that staff or a smaller pool took back are withdrawn.

    Of those that are unreachable nobody could be told.
    """
    counts = Counter(entry.kind for entry in log)
    open_offers: set[int] = set()
    withdrawn = 0
    for entry in log:
        if entry.booking is None:
            continue
        if entry.kind == "Offered":
            open_offers.add(entry.booking)
        elif entry.kind not in _STAY and entry.booking in open_offers:
            open_offers.discard(entry.booking)
            withdrawn += entry.kind not in ("Claimed", "Declined", "Lapsed", "NotReached")
    return {
        "claimed": counts["Claimed"],
        "declined": counts["Declined"],
        "lapsed": counts["Lapsed"],
        "withdrawn": withdrawn,
        "unreachable": counts["NotReached"],
        "live": live,
    }


def _binned(lengths: Sequence[int]) -> tuple[int, ...]:
    bins = [0] * (len(SPANS_MIN) + 1)
    for length in lengths:
        bins[next((at for at, most in enumerate(SPANS_MIN) if length <= most * 60_000), len(SPANS_MIN))] += 1
    return tuple(bins)


def _tries(counts: Sequence[int]) -> tuple[int, ...]:
    found = Counter(min(count, TRIES_MAX) for count in counts)
    return tuple(found[count] for count in range(1, TRIES_MAX + 1))


def _hours(log: Sequence[Entry], begins: Instant, zone: ZoneInfo) -> tuple[Hour, ...]:
    """By the hour at which an offer was made. Who could not be reached did not fail to answer."""
    made: Counter[int] = Counter()
    unanswered: Counter[int] = Counter()
    asked: dict[int, Instant] = {}
    for entry in log:
        if entry.booking is None:
            continue
        if entry.kind == "Offered" and entry.at >= begins:
            asked[entry.booking] = entry.at
            made[_hour(entry.at, zone)] += 1
        elif entry.kind == "Lapsed" and entry.booking in asked:
            unanswered[_hour(asked[entry.booking], zone)] += 1
    return tuple(Hour(hour, made[hour], unanswered[hour]) for hour in range(24))


def _hour(at: Instant, zone: ZoneInfo) -> int:
    return to_datetime(at).astimezone(zone).hour
