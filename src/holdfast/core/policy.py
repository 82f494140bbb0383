"""A pool's rules, as data: five presets, and every field can be set on its own.

Law: a policy is checked when a pool is made or changed. What gets through `make` has no
contradiction in it, so the rules never need to ask whether a field makes sense.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from holdfast.core.conditions import problem as condition_problem
from holdfast.core.refusals import Refusal, invalid

PRIORITY_MAX: Final = 1_000
_MINUTE: Final = 60_000
_HOUR: Final = 60 * _MINUTE
LENGTH_MAX: Final = 10 * 366 * 24 * _HOUR


@dataclass(frozen=True, slots=True)
class Policy:
    """How a pool gives out its seats. Lengths are in milliseconds; None means "no limit" or "not used"."""

    if_full: str = "refuse"
    hold_window: int = 15 * _MINUTE
    hold_lifetime_max: int = 60 * _MINUTE
    holds_per_party_max: int | None = 1
    quantity_max: int = 100
    confirm_while_waiting: bool = False
    promotion: str | None = None
    offer_window: int | None = None
    offers_live_max: int | None = None
    attempts_max: int | None = None
    turns: str | None = None
    cooldown: int = 0
    after_lapse: str | None = None
    after_decline: str | None = None
    tries_max: int | None = None
    hand_back: bool = False
    offer_cutoff: int = 0
    partial: str = "all_or_nothing"
    claim_to: str = "confirmed"
    hold_reminder: int = 0
    quiet_hours: str | None = None
    priority_rules: tuple[Mapping[str, Any], ...] = ()


_OFFERS: Final[dict[str, Any]] = {
    "if_full": "wait",
    "promotion": "offer",
    "offer_window": 24 * _HOUR,
    "turns": "opening",
    "after_lapse": "stay",
    "after_decline": "stay",
}

PRESETS: Final[Mapping[str, Policy]] = {
    "checkout": Policy(),
    "event_signup": Policy(
        if_full="wait",
        hold_window=30 * _MINUTE,
        hold_lifetime_max=30 * _MINUTE,
        confirm_while_waiting=True,
        promotion="auto",
    ),
    "class_waitlist": Policy(
        **_OFFERS
        | {
            "turns": "round",
            "offers_live_max": 1,
            "attempts_max": 3,
            "cooldown": 24 * _HOUR,
            "partial": "give_less",
        }
    ),
    "course_section": Policy(
        **_OFFERS | {"attempts_max": 1, "after_lapse": "leave", "after_decline": "leave"}
    ),
    "last_minute": Policy(
        **_OFFERS
        | {"offer_window": 10 * _MINUTE, "tries_max": 10, "hand_back": True, "offer_cutoff": 15 * _MINUTE}
    ),
}

# Fields that mean something only when freed room is offered; their resting value is Policy's default.
_ONLY_WITH_OFFERS: Final = (
    "offer_window",
    "offers_live_max",
    "attempts_max",
    "turns",
    "cooldown",
    "after_lapse",
    "after_decline",
    "tries_max",
    "hand_back",
    "offer_cutoff",
    "claim_to",
    "quiet_hours",
)
_NEEDED_FOR_OFFERS: Final[Mapping[str, str]] = {
    "offer_window": "an offer_window",
    "turns": "turns: round or opening",
    "after_lapse": "after_lapse: stay, back or leave",
    "after_decline": "after_decline: stay, back or leave",
}
_LENGTHS: Final = (
    "hold_window",
    "hold_lifetime_max",
    "offer_window",
    "cooldown",
    "offer_cutoff",
    "hold_reminder",
)
_QUIET: Final = re.compile(r"(?P<begin>([01][0-9]|2[0-3]):[0-5][0-9])-(?P<end>([01][0-9]|2[0-3]):[0-5][0-9])")
_COUNTS: Final = ("holds_per_party_max", "quantity_max", "offers_live_max", "attempts_max", "tries_max")
_CHOICES: Final[Mapping[str, tuple[str | None, ...]]] = {
    "if_full": ("refuse", "wait"),
    "promotion": ("auto", "offer", None),
    "turns": ("round", "opening", None),
    "after_lapse": ("stay", "back", "leave", None),
    "after_decline": ("stay", "back", "leave", None),
    "partial": ("all_or_nothing", "give_less"),
    "claim_to": ("confirmed", "held"),
}
_DEFAULT: Final = Policy()
_NAMES: Final = tuple(field.name for field in fields(Policy))


def make(preset: str | None, changes: Mapping[str, Any]) -> Policy | Refusal:
    """The preset with these fields changed, or the first thing wrong with it, the field named."""
    base = PRESETS.get(preset) if preset is not None else _DEFAULT
    if base is None:
        return invalid("preset", f"There is no preset {preset!r}. There are: {', '.join(PRESETS)}.")
    if preset is None and changes.get("promotion") and "if_full" not in changes:
        # Who says how a line is served wants one.
        changes = {**changes, "if_full": "wait"}
    return changed(base, changes)


def amended(base: Policy, changes: Mapping[str, Any]) -> Policy | Refusal:
    """This policy with these changes; a preset among them is begun from instead."""
    rest = {name: value for name, value in changes.items() if name != "preset"}
    preset = changes.get("preset")
    return changed(base, rest) if preset is None else make(preset, rest)


def changed(base: Policy, changes: Mapping[str, Any]) -> Policy | Refusal:
    """This policy with these fields changed, or the first thing wrong with it."""
    values = {name: getattr(base, name) for name in _NAMES}
    for name, value in changes.items():
        if name not in _NAMES:
            return invalid(f"policy.{name}", f"A policy has no field {name!r}.")
        if name in _LENGTHS and value is not None:
            parsed = length(value)
            if parsed is None:
                return invalid(
                    f"policy.{name}",
                    f"{name} must be a length: whole seconds, or text such as '15m' or '24h'.",
                )
            value = parsed
        if name == "priority_rules" and isinstance(value, list):
            value = tuple(value)
        values[name] = value
    if found := _wrong_value(values):
        return found
    policy = Policy(**values)
    return _contradiction(policy) or policy


def length(value: object) -> int | None:
    """Whole seconds or text such as '90s', '15m', '24h', '2d', in milliseconds; None if it is neither."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        seconds = value
    elif isinstance(value, str) and (found := re.fullmatch(r"([0-9]{1,9})(s|m|h|d)", value)):
        seconds = int(found[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[found[2]]
    else:
        return None
    return seconds * 1000 if 0 <= seconds * 1000 <= LENGTH_MAX else None


def as_document(policy: Policy) -> dict[str, Any]:
    """The policy as people write it: lengths in seconds."""
    document = asdict(policy)
    for name in _LENGTHS:
        if document[name] is not None:
            document[name] //= 1000
    document["priority_rules"] = list(policy.priority_rules)
    return document


def _wrong_value(values: Mapping[str, Any]) -> Refusal | None:
    for name, choices in _CHOICES.items():
        if values[name] not in choices:
            listed = ", ".join(str(choice) for choice in choices if choice is not None)
            return invalid(f"policy.{name}", f"{name} must be one of: {listed}.")
    for name in _COUNTS:
        value = values[name]
        if value is None and name != "quantity_max":
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1_000_000:
            none = "" if name == "quantity_max" else ", or null for no limit"
            return invalid(f"policy.{name}", f"{name} must be a whole number from 1{none}.")
    for name in _LENGTHS:
        if values[name] is None and name != "offer_window":
            return invalid(f"policy.{name}", f"{name} must be a length.")
    for name in ("confirm_while_waiting", "hand_back"):
        if not isinstance(values[name], bool):
            return invalid(f"policy.{name}", f"{name} must be true or false.")
    if values["quiet_hours"] is not None and quiet_hours(values["quiet_hours"]) is None:
        return invalid("policy.quiet_hours", "quiet_hours must be two times of day, such as '22:00-07:30'.")
    return _wrong_rule(values["priority_rules"])


def quiet_hours(text: object) -> tuple[str, str] | None:
    """From when until when, such as '22:00-07:30'; None if it is no such text."""
    found = _QUIET.fullmatch(text) if isinstance(text, str) else None
    return None if found is None or found["begin"] == found["end"] else (found["begin"], found["end"])


def _wrong_rule(rules: object) -> Refusal | None:
    if not isinstance(rules, tuple) or len(rules) > 100:
        return invalid("policy.priority_rules", "priority_rules must be a list of at most 100 rules.")
    for index, rule in enumerate(rules):
        where = f"policy.priority_rules[{index}]"
        if not isinstance(rule, Mapping) or set(rule) != {"when", "add"}:
            return invalid(
                where, "A priority rule has just two fields: when (a condition) and add (a number)."
            )
        add = rule["add"]
        if isinstance(add, bool) or not isinstance(add, int) or abs(add) > PRIORITY_MAX:
            return invalid(
                where + ".add", f"add must be a whole number from -{PRIORITY_MAX} to {PRIORITY_MAX}."
            )
        if found := condition_problem(rule["when"]):
            return invalid(where + ".when", f"In a priority rule: {found}.")
    return None


# Each contradiction: the field to name, when it is one, and the sentence.
_CONTRADICTIONS: Final[tuple[tuple[str, Callable[[Policy], bool], str], ...]] = (
    ("hold_window", lambda p: p.hold_window == 0, "hold_window must be longer than nothing."),
    (
        "hold_lifetime_max",
        lambda p: p.hold_lifetime_max < p.hold_window,
        "hold_lifetime_max must not be shorter than hold_window.",
    ),
    (
        "promotion",
        lambda p: p.if_full == "wait" and p.promotion is None,
        "Where people may wait, promotion must say how the line is served: auto or offer.",
    ),
    (
        "promotion",
        lambda p: p.if_full == "refuse" and p.promotion is not None,
        "With if_full=refuse nobody waits, so there is nobody to promote: set promotion to null.",
    ),
    (
        "confirm_while_waiting",
        lambda p: p.confirm_while_waiting and p.promotion != "auto",
        "confirm_while_waiting needs promotion=auto: an offer is confirmed by claiming it.",
    ),
    (
        "partial",
        lambda p: p.partial == "give_less" and p.promotion != "offer",
        "partial=give_less needs promotion=offer: only an offer can be accepted in part.",
    ),
    (
        "priority_rules",
        lambda p: bool(p.priority_rules) and p.promotion is None,
        "priority_rules order a line, and with promotion=null there is none.",
    ),
)


def _contradiction(policy: Policy) -> Refusal | None:
    if policy.promotion != "offer":
        for name in _ONLY_WITH_OFFERS:
            if getattr(policy, name) != getattr(_DEFAULT, name):
                return invalid(f"policy.{name}", f"{name} means something only with promotion=offer.")
    for name, wrong, sentence in _CONTRADICTIONS:
        if wrong(policy):
            return invalid(f"policy.{name}", sentence)
    for name, needed in _NEEDED_FOR_OFFERS.items():
        if policy.promotion == "offer" and not getattr(policy, name):
            return invalid(f"policy.{name}", f"promotion=offer needs {needed}.")
    return None
