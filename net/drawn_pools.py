"""Pools of every preset, and of many mixes of their rules, drawn by seed."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from net.histories import START, Json

MINUTE: Final = 60_000
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

_HOLDING: Final[dict[str, list[Any]]] = {
    "hold_window": ["1m", "10m", "30m"],
    "hold_lifetime_max": ["30m", "45m", "2h"],
    "holds_per_party_max": [None, 1, 2],
    "quantity_max": [2, 5, 100],
    "party_quantity_max": [1, 2, 10],
    "confirm_by": [None, "party", "staff"],
    "hold_reminder": ["0s", "30s"],
}
_LINE: Final[dict[str, list[Any]]] = {
    "priority_rules": [
        [{"when": {"tag": "member"}, "add": 5}, {"when": {"attribute": "credits", "at_least": 90}, "add": 2}]
    ]
}
_OFFERS: Final[dict[str, list[Any]]] = {
    "offer_window": ["1m", "10m", "24h"],
    "offers_live_max": [None, 1, 2],
    "attempts_max": [None, 1, 2, 3],
    "turns": ["round", "opening"],
    "cooldown": ["0s", "1m", "10m", "24h"],
    "after_lapse": ["stay", "back", "leave"],
    "after_decline": ["stay", "back", "leave"],
    "tries_max": [None, 1, 2, 10],
    "hand_back": [True, True, False],
    "offer_cutoff": ["0s", "15m"],
    "quiet_hours": [None, None, "22:00-07:00", "09:00-09:30", "00:00-23:59"],
    "partial": ["all_or_nothing", "give_less"],
    "claim_to": ["confirmed", "held"],
}
MIXES: Final[dict[str, dict[str, list[Any]]]] = {
    "checkout": _HOLDING,
    "event_signup": _HOLDING | _LINE | {"confirm_while_waiting": [True, False]},
    "class_waitlist": _HOLDING | _LINE | _OFFERS,
    "course_section": _HOLDING | _LINE | _OFFERS,
    "last_minute": _HOLDING | _LINE | _OFFERS,
}
PRESETS: Final = (*MIXES, "event_signup", "class_waitlist", "course_section", "last_minute", "last_minute")
_PLACES: Final[tuple[Json, ...]] = ({}, {"side": "window"}, {"side": "aisle"}, {"side": "window", "row": 1})
_QUESTIONS: Final = (
    {"key": "diet", "title": "Diet", "kind": "choice", "required": False, "choices": ["vegan", "any"]},
    {"key": "age", "title": "Age", "kind": "number", "required": True, "min": 3, "max": 120},
)


def policy(dice: Random, *, large: bool) -> Json:
    """Return a preset with some of its fields changed; a few contradict themselves and are refused."""
    preset = "checkout" if large and dice.random() < 0.3 else dice.choice(PRESETS)
    mix = MIXES[preset]
    share = dice.choice([0.0, 0.15, 0.4])
    changes = {name: dice.choice(mix[name]) for name in mix if dice.random() < share}
    if preset == "event_signup" and dice.random() < 0.45:
        changes["confirm_by"] = dice.choice([None, "staff"])
    return {"preset": preset, "changes": changes}


def units(dice: Random, now: int, quota: str | None, labels: list[str]) -> list[Json]:
    """Return units to open under these labels; some of them start by themselves."""
    made: list[Json] = []
    for label in labels:
        unit: dict[str, Any] = {"label": label, "attributes": dice.choice(_PLACES)}
        if quota is not None:
            unit["quota"] = quota
        if dice.random() < 0.25:
            unit["starts_at"] = now + dice.choice([10 * MINUTE, 40 * MINUTE, 3 * HOUR, 2 * DAY])
        made.append(unit)
    return made


def pool(dice: Random, index: int, *, large: bool) -> tuple[Json, list[Json]]:
    """Return a pool and its units; a large one has seats for a crowd."""
    count, quotas = dice.choice([1, 1, 1, 2, 3]), []
    for number in range(count):
        quota: dict[str, Any] = {"key": f"q{number}"}
        if dice.random() < (0.1 if large else 0.35):
            quota["by_units"] = True
        else:
            quota["size"] = dice.choice([5, 12, 30, 60] if large else [0, 1, 1, 1, 2, 2, 3, 4, None])
        if dice.random() < 0.15:
            quota["eligible"] = {"tag": "member"}
        quotas.append(quota)
    said: dict[str, Any] = {"key": f"pool-{index}", "policy": policy(dice, large=large), "quotas": quotas}
    if dice.random() < 0.3:
        said["open_size"] = dice.choice([1, 2, 3])
    if dice.random() < 0.25:
        said["starts_at"] = START + dice.choice([30 * MINUTE, 2 * HOUR, DAY, 4 * DAY])
    if dice.random() < 0.1:
        said["opens_at"] = START + 10 * MINUTE
    if dice.random() < 0.1:
        said["closes_at"] = START + 2 * HOUR
    if dice.random() < 0.4:
        said["price"] = {"amount": dice.choice([0, 1200]), "currency": "EUR"}
    if dice.random() < 0.2:
        said["questions"] = list(_QUESTIONS)
    said["time_zone"] = dice.choice(["UTC", "UTC", "Europe/Helsinki"])
    named = [quota["key"] for quota in quotas if quota.get("by_units")]
    seats = [f"{row}{seat}" for row in (1, 2) for seat in "ABC"][: dice.choice([1, 2, 3, 6])]
    made = units(dice, START, named[0], seats) if named else []
    return said, made
