"""A pool's rules, as data: five presets, and every field can be set on its own.

Law: a policy is checked when a pool is made or changed. What gets through `make` has no
contradiction in it, so the rules never need to ask whether a field makes sense.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from fairhold.core.conditions import problem as condition_problem
from fairhold.core.refusals import Refusal, invalid, is_whole

PRIORITY_MAX: Final = 1_000
RULES_MAX: Final = 100
COUNT_MAX: Final = 1_000_000
_MINUTE: Final = 60_000
_HOUR: Final = 60 * _MINUTE
LENGTH_MAX: Final = 10 * 366 * 24 * _HOUR
UNITS_S: Final[Mapping[str, int]] = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def _field(kind: str, default: Any, right: Callable[[Any], bool], wanted: str) -> Any:
    return field(default=default, metadata={"kind": kind, "right": right, "wanted": wanted})


def _choice(*choices: str | None) -> Any:
    listed = ", ".join("null" if choice is None else choice for choice in choices)
    return _field("choice", choices[0], choices.__contains__, f"one of: {listed}")


def _count(default: int) -> Any:
    return _field("count", default, lambda value: is_whole(value, COUNT_MAX), "a whole number from 1")


def _limit(default: int | None) -> Any:
    wanted = "a whole number from 1, or null for no limit"
    return _field("count", default, lambda value: value is None or is_whole(value, COUNT_MAX), wanted)


def _length(default: int | None) -> Any:
    return _field("length", default, lambda value: value is not None or default is None, "a length")


def _flag() -> Any:
    return _field("flag", False, lambda value: isinstance(value, bool), "true or false")


@dataclass(frozen=True, slots=True)
class Policy:
    """How a pool gives out its seats: each field with its kind and its default, for choices the first.

    Lengths are in milliseconds; None means "no limit" or "not used".
    """

    if_full: str = _choice("refuse", "wait")  # what becomes of who comes when it is full
    hold_window: int = _length(15 * _MINUTE)  # how long a hold lasts
    hold_lifetime_max: int = _length(60 * _MINUTE)  # how long, with all that its party adds to it
    holds_per_party_max: int | None = _limit(1)  # how many live holds a party may have
    quantity_max: int = _count(100)  # how many seats one booking may be for
    party_quantity_max: int = _count(10)  # the same for who asks without staff: by a page, with a public key
    confirm_by: str | None = _choice(None, "party", "staff")  # who makes it final; null: staff if it costs
    confirm_while_waiting: bool = _flag()  # a signup is confirmed in line, within hold_window
    promotion: str | None = _choice(None, "auto", "offer")  # how freed room reaches the line
    offer_window: int | None = _length(None)  # how long an offer can be answered
    offers_live_max: int | None = _limit(None)  # how many offers there are at a time
    attempts_max: int | None = _limit(None)  # how many offers one gets before one is out
    turns: str | None = _choice(None, "round", "opening")  # nobody has two: in a round, at an opening
    cooldown: int = _length(0)  # how long after an offer one is left in peace
    after_lapse: str | None = _choice(None, "stay", "back", "leave")  # same place, end of the line, or out
    after_decline: str | None = _choice(None, "stay", "back", "leave")  # the same
    tries_max: int | None = _limit(None)  # how many are asked about one opening, per seat
    hand_back: bool = _flag()  # what nobody took is for staff to decide
    offer_cutoff: int = _length(0)  # how long before the start offers end
    partial: str = _choice("all_or_nothing", "give_less")  # whether fewer seats than wanted are given
    claim_to: str = _choice("confirmed", "held")  # what a claimed offer becomes
    hold_reminder: int = _length(0)  # how long before its end a hold is reminded of
    quiet_hours: str | None = _field(
        "times",
        None,
        lambda value: value is None or quiet_hours(value) is not None,
        "two times of day, such as '22:00-07:30'",
    )
    priority_rules: tuple[Mapping[str, Any], ...] = _field(
        "rules",
        (),
        lambda value: isinstance(value, tuple) and len(value) <= RULES_MAX,
        f"a list of at most {RULES_MAX} rules",
    )


_OFFERS: Final[dict[str, Any]] = {
    "if_full": "wait",
    "party_quantity_max": 1,
    "confirm_by": "party",
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
        party_quantity_max=1,
        confirm_by="party",
        confirm_while_waiting=True,
        promotion="auto",
    ),
    "class_waitlist": Policy(
        **_OFFERS
        | {
            "party_quantity_max": 4,
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
ONLY_WITH_OFFERS: Final = (
    *("offer_window", "offers_live_max", "attempts_max", "turns", "cooldown", "after_lapse", "after_decline"),
    *("tries_max", "hand_back", "offer_cutoff", "claim_to", "quiet_hours"),
)
_NEEDED_FOR_OFFERS: Final[Mapping[str, str]] = {
    "offer_window": "an offer_window",
    "turns": "turns: round or opening",
    "after_lapse": "after_lapse: stay, back or leave",
    "after_decline": "after_decline: stay, back or leave",
}
_QUIET: Final = re.compile(r"(?P<begin>([01][0-9]|2[0-3]):[0-5][0-9])-(?P<end>([01][0-9]|2[0-3]):[0-5][0-9])")
DEFAULT: Final = Policy()
_FIELDS: Final = {found.name: found.metadata for found in fields(Policy)}
LENGTHS: Final = tuple(name for name, field in _FIELDS.items() if field["kind"] == "length")
# The first field that is wrong is named: choices come first, then counts, and so on.
_KINDS: Final = ("choice", "count", "length", "flag", "times", "rules")
_CHECKED: Final = sorted(_FIELDS, key=lambda name: _KINDS.index(_FIELDS[name]["kind"]))


def make(preset: str | None, changes: Mapping[str, Any]) -> Policy | Refusal:
    """The preset with these fields changed, or the first thing wrong with it, the field named."""
    base = PRESETS.get(preset) if preset is not None else DEFAULT
    if base is None:
        return invalid("preset", f"There is no preset {preset!r}. There are: {', '.join(PRESETS)}.")
    if preset is None and changes.get("promotion") and "if_full" not in changes:
        # Who says how a line is served wants one.
        changes = {**changes, "if_full": "wait"}
    return changed(base, changes)


def has_page(preset: str | None) -> bool:
    """Return True if a pool made by this preset has a public page, unless it is said otherwise.

    `checkout`, the preset of who names none, is for a shop, which has pages of its own and takes the money.
    """
    return preset not in (None, "checkout")


def amended(base: Policy, changes: Mapping[str, Any]) -> Policy | Refusal:
    """This policy with these changes; a preset among them is begun from instead."""
    rest = {name: value for name, value in changes.items() if name != "preset"}
    preset = changes.get("preset")
    return changed(base, rest) if preset is None else make(preset, rest)


def changed(base: Policy, changes: Mapping[str, Any]) -> Policy | Refusal:
    """This policy with these fields changed, or the first thing wrong with it."""
    values = {name: getattr(base, name) for name in _FIELDS}
    for name, value in changes.items():
        if name not in _FIELDS:
            return _wrong(name, f"A policy has no field {name!r}.")
        if name in LENGTHS and value is not None:
            given, value = value, length(value)
            if value is None:
                return _wrong(name, f"{name} must be {_instead_of(given)}.")
        if name == "priority_rules" and isinstance(value, list):
            value = tuple(value)
        values[name] = value
    for name in _CHECKED:
        if not _FIELDS[name]["right"](values[name]):
            return _wrong(name, f"{name} must be {_FIELDS[name]['wanted']}.")
    policy = Policy(**values)
    return _wrong_rule(policy.priority_rules) or _contradiction(policy) or policy


def _wrong(name: str, sentence: str) -> Refusal:
    return invalid(f"policy.{name}", sentence)


def length(value: object) -> int | None:
    """Whole seconds or text such as '15m' or '1h30m', in milliseconds; None if it is neither."""
    if isinstance(value, bool):
        return None
    seconds = value if isinstance(value, int) else seconds_of(value)
    return seconds * 1000 if seconds is not None and 0 <= seconds * 1000 <= LENGTH_MAX else None


def _instead_of(given: object) -> str:
    """What a length must be, where this was given."""
    seconds = given if isinstance(given, int) else seconds_of(given)
    if seconds is not None and seconds * 1000 > LENGTH_MAX:
        return f"at most {LENGTH_MAX // (24 * _HOUR)} days"
    return "a length: whole seconds, or text such as '15m' or '1h30m'"


def seconds_of(text: object) -> int | None:
    """How many seconds '90s', '15m', '24h', '2d' or '1h30m' are; None if it is no such text."""
    if not isinstance(text, str) or not re.fullmatch(r"([0-9]{1,9}[smhd]){1,4}", text):
        return None
    parts = re.findall(r"([0-9]+)([smhd])", text)
    return sum(int(number) * UNITS_S[unit] for number, unit in parts)


def quiet_hours(text: object) -> tuple[str, str] | None:
    """From when until when, such as '22:00-07:30'; None if it is no such text."""
    found = _QUIET.fullmatch(text) if isinstance(text, str) else None
    return None if found is None or found["begin"] == found["end"] else (found["begin"], found["end"])


def _wrong_rule(rules: tuple[object, ...]) -> Refusal | None:
    for index, rule in enumerate(rules):
        name = f"priority_rules[{index}]"
        if not isinstance(rule, Mapping) or set(rule) != {"when", "add"}:
            return _wrong(name, "A priority rule has just two fields: when (a condition) and add (a number).")
        if not is_whole(rule["add"], PRIORITY_MAX, -PRIORITY_MAX):
            return _wrong(
                f"{name}.add", f"add must be a whole number from -{PRIORITY_MAX} to {PRIORITY_MAX}."
            )
        if found := condition_problem(rule["when"]):
            return _wrong(f"{name}.when", f"In a priority rule: {found}.")
    return None


def _contradiction(policy: Policy) -> Refusal | None:
    offers = policy.promotion == "offer"
    for name in ONLY_WITH_OFFERS:
        if not offers and getattr(policy, name) != getattr(DEFAULT, name):
            return _wrong(name, f"{name} means something only with promotion=offer.")
    if (clash := next(_clashes(policy), None)) is not None:
        return _wrong(*clash)
    for name, needed in _NEEDED_FOR_OFFERS.items():
        if offers and not getattr(policy, name):
            return _wrong(name, f"promotion=offer needs {needed}.")
    return None


def _clashes(p: Policy) -> Iterator[tuple[str, str]]:
    """What cannot be true together: the field to name, and the sentence."""
    if p.hold_window == 0:
        yield "hold_window", "hold_window must be longer than nothing."
    if p.hold_lifetime_max < p.hold_window:
        yield "hold_lifetime_max", "hold_lifetime_max must not be shorter than hold_window."
    if p.hold_reminder >= p.hold_window > 0:
        sentence = "hold_reminder must be shorter than hold_window: it would come before the hold."
        yield "hold_reminder", sentence
    if p.if_full == "wait" and p.promotion is None:
        sentence = "Where people may wait, promotion must say how the line is served: auto or offer."
        yield "promotion", sentence
    if p.if_full == "refuse" and p.promotion is not None:
        sentence = "With if_full=refuse nobody waits, so there is nobody to promote: set promotion to null."
        yield "promotion", sentence
    if p.confirm_while_waiting and p.promotion != "auto":
        sentence = "confirm_while_waiting needs promotion=auto: an offer is confirmed by claiming it."
        yield "confirm_while_waiting", sentence
    if p.partial == "give_less" and p.promotion != "offer":
        yield "partial", "partial=give_less needs promotion=offer: only an offer can be accepted in part."
    if p.priority_rules and p.promotion is None:
        yield "priority_rules", "priority_rules order a line, and with promotion=null there is none."
