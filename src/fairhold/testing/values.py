"""What stands in a scenario's lines, made into values: lengths, instants, prices, conditions, units."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from fairhold.core.model import Instant, Length, Price, Wants
from fairhold.core.policy import UNITS_S, seconds_of
from fairhold.testing.world import START_AT

_DAY: Final = 86_400_000
_WORDS: Final[Mapping[str, Any]] = {
    "none": None,
    "null": None,
    "unlimited": None,
    "true": True,
    "yes": True,
    "false": False,
    "no": False,
}
_COMPARISONS: Final[Mapping[str, str]] = {
    ">=": "at_least",
    "<=": "at_most",
    ">": "more_than",
    "<": "less_than",
    "=": "is",
    "!=": "is",
}
_DATES: Final[Mapping[str, str]] = {">": "after", "<": "before"}


def value(text: str) -> Any:
    """A number, true, false, nothing, or the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    return int(text) if re.fullmatch(r"-?[0-9]+", text) else text


def length(text: str) -> Length:
    """90s, 10m, 1h30m, 2d in milliseconds."""
    seconds = seconds_of(text)
    if seconds is None:
        raise ValueError(f"{text!r} is no length such as 90s, 10m, 1h30m or 2d")
    return seconds * 1000


def instant(text: str, now: Instant) -> Instant:
    """+3h from now, or 14:00 of this day."""
    if text.startswith("+"):
        return now + length(text[1:])
    found = re.fullmatch(r"([0-2]?[0-9]):([0-5][0-9])", text)
    if not found:
        raise ValueError(f"{text!r} is no instant such as +3h or 14:00")
    midnight = now - now % _DAY
    return midnight + (int(found[1]) * 60 + int(found[2])) * 60_000


def clock(at: Instant) -> str:
    """An instant as a scenario's reader knows it: the time, and the day if it is not the first."""
    day, in_day = at // _DAY - START_AT // _DAY, at % _DAY // 1000
    time = f"{in_day // 3600:02}:{in_day // 60 % 60:02}" + (f":{in_day % 60:02}" if in_day % 60 else "")
    return time if day == 0 else f"{time} on day {day + 1}"


def shown(span: Length) -> str:
    """A length as it is written."""
    left, text = abs(span) // 1000, ""
    for unit in ("h", "m", "s"):
        count, left = divmod(left, UNITS_S[unit])
        text += f"{count}{unit}" if count else ""
    return ("-" if span < 0 else "") + (text or "0s")


def price(text: str) -> Price | None:
    """150.00EUR; the point is for the reader, what counts are the minor units."""
    if text in ("none", "nothing"):
        return None
    found = re.fullmatch(r"([0-9]+)\.?([0-9]*)([A-Z]{3})", text)
    if not found:
        raise ValueError(f"{text!r} is no price such as 150.00EUR")
    return Price(int(found[1] + found[2]), found[3])


def shown_price(amount: Price | None) -> str:
    return f"{amount.amount // 100}.{amount.amount % 100:02}{amount.currency}" if amount else "none"


def attributes(text: str) -> dict[str, Any]:
    """credits:90,standing:good"""
    pairs = (part.partition(":") for part in text.split(",") if part)
    return {name: value(held) for name, _, held in pairs}


def condition(text: str) -> dict[str, Any]:
    """tag:honours, credits>=90, registered_on<2026-02-01; joined by & and |, negated by !."""
    for sign, word in (("|", "any"), ("&", "all")):
        if sign in text:
            return {word: [condition(part) for part in text.split(sign)]}
    if text.startswith("!"):
        return {"not": condition(text[1:])}
    if text.startswith("tag:"):
        return {"tag": text[4:]}
    found = re.fullmatch(r"(\w+)(>=|<=|!=|>|<|=)(.+)", text)
    if not found:
        raise ValueError(f"{text!r} is no condition such as tag:honours or credits>=90")
    name, sign, wanted = found[1], found[2], found[3]
    dated = re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", wanted)
    comparison = _DATES[sign] if dated and sign in _DATES else _COMPARISONS[sign]
    compared = {"attribute": name, comparison: value(wanted)}
    return {"not": compared} if sign == "!=" else compared


def wants(options: Mapping[str, str], now: Instant) -> Wants | None:
    """What a booking would accept, from the options wants, from and until."""
    if not options.keys() & {"wants", "from", "until"}:
        return None
    return Wants(
        condition(options["wants"]) if "wants" in options else None,
        instant(options["from"], now) if "from" in options else None,
        instant(options["until"], now) if "until" in options else None,
    )
