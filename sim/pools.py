"""The pools of a seed: one of every preset and more, each with rules that the dice have changed."""

from __future__ import annotations

import random
from typing import Any

from fairhold.clock import to_datetime
from fairhold.core.refusals import Refusal
from fairhold.library import Fairhold

START = 1_800_000_000_000
HOUR = 3_600_000
# The quotas that are made of units, with their rows: slots that begin one after the other, and seats.
BY_UNITS = {"chair": "sn", "seat": "ab"}
_WITH_LINE = {"if_full": "wait", "promotion": "auto"}
_PRIORITIES = [
    {"when": {"tag": "honours"}, "add": 5},
    {"when": {"attribute": "credits", "at_least": 90}, "add": 1},
]


async def make_pools(hf: Fairhold | None, dice: random.Random) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The quotas of each by its key; and the keys by the pools' ids."""
    assert hf is not None
    made: dict[str, list[str]] = {}
    names: dict[str, str] = {}
    for pool in _wanted(dice):
        said = dict(pool)
        policy = said.pop("policy", {}) | _changed_rules(dice, said["preset"])
        key = said.pop("key")
        answer = await hf.create_pool(key, policy=policy, **said)
        assert not isinstance(answer, Refusal), answer
        made[key] = [quota.key for quota in answer.quotas]
        names[answer.id] = key
    return made, names


def _wanted(dice: random.Random) -> list[dict[str, Any]]:
    theatre = dice.choice(["checkout", "event_signup", "class_waitlist", "course_section", "last_minute"])
    starts = {"starts_at": to_datetime(START + dice.randrange(12, 48) * HOUR)}
    return [
        {"key": "concert", "preset": "checkout", "quotas": {"main": dice.choice([20, 400, 4_000])}},
        {"key": "flight", "preset": "checkout", "quotas": {"economy": dice.randrange(1, 6), "first": 1}},
        {
            "key": "event",
            "preset": "event_signup",
            "quotas": {"a": 2, "b": 1},
            "open_size": dice.randrange(3),
        },
        {"key": "yoga", "preset": "class_waitlist", "quotas": {"main": dice.randrange(1, 4)}},
        {
            "key": "course",
            "preset": "course_section",
            "quotas": {"all": 2},
            "policy": {"priority_rules": _PRIORITIES},
            **(starts if dice.random() < 0.3 else {}),
        },
        {"key": "salon", "preset": "last_minute", "quotas": [{"key": "chair", "units": _slots()}]},
        {"key": "theatre", "preset": theatre, "quotas": [{"key": "seat", "units": _seats()}]},
        {"key": "spare", "preset": "last_minute", "quotas": {"main": 2}, "policy": {"tries_max": 2}},
        {
            "key": "choir",
            "preset": "last_minute",
            "quotas": {"high": 1, "low": 2},
            "open_size": dice.randrange(3),
        },
    ]


def _slots() -> list[dict[str, Any]]:
    return [
        {"label": f"s{n}", "starts_at": to_datetime(START + 2 * n * HOUR), "attributes": {"row": "s"}}
        for n in range(1, 9)
    ]


def _seats() -> list[dict[str, Any]]:
    return [{"label": f"{row}{n}", "attributes": {"row": row}} for row in "ab" for n in range(1, 4)]


def _changed_rules(dice: random.Random, preset: str) -> dict[str, Any]:
    rules: dict[str, Any] = {
        "hold_window": dice.choice([60, 900, 1_800]),
        "hold_lifetime_max": 3_600,
        "holds_per_party_max": dice.choice([None, 1, 2]),
    }
    if preset == "event_signup":
        rules |= {"confirm_while_waiting": False}
    if preset not in ("checkout", "event_signup"):
        rules |= {
            "offer_window": dice.choice([120, 600, 86_400]),
            "offers_live_max": dice.choice([None, 1, 2]),
            "attempts_max": dice.choice([None, 1, 3]),
            "turns": dice.choice(["round", "opening"]),
            "cooldown": dice.choice([0, 0, 3_600]),
            "after_lapse": dice.choice(["stay", "back", "leave"]),
            "after_decline": dice.choice(["stay", "back", "leave"]),
            "tries_max": dice.choice([None, 1, 3]),
            "hand_back": dice.choice([True, False]),
            "offer_cutoff": dice.choice([0, 900, 7_200]),
            "partial": dice.choice(["all_or_nothing", "give_less"]),
            "claim_to": dice.choice(["confirmed", "held"]),
        }
    changed = {name: value for name, value in rules.items() if dice.random() < 0.5}
    if "hold_window" in changed:
        changed["hold_lifetime_max"] = 3_600
    if preset == "checkout" and dice.random() < 0.3:
        changed |= _WITH_LINE
    return changed
