"""What a scenario's lines check. Each verb is one function that answers a difference, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from fairhold.core.model import Booking, Price
from fairhold.core.view import group_of
from fairhold.testing import values
from fairhold.testing.language import Line
from fairhold.testing.stage import Stage


class Difference(NamedTuple):
    expected: str
    fact: str


def _differ(expected: str, fact: str) -> Difference | None:
    return None if expected == fact else Difference(expected, fact)


def in_line(stage: Stage, line: Line) -> Difference | None:
    """The whole line in order; and positions are contiguous from 1."""
    numbers = stage.world.line()
    positions = [stage.world.position(number) for number in numbers]
    if positions != list(range(1, len(numbers) + 1)):
        return Difference("positions from 1 without a gap", ", ".join(map(str, positions)))
    fact = ", ".join(map(stage.booking, numbers)) or "nobody"
    return _differ(", ".join(line.words), fact)


def _about_each(
    tell: Callable[[Stage, Booking], str], written: Callable[[str], str] = str
) -> Callable[[Stage, Line], Difference | None]:
    """A check of the form `verb Ann, Bea value`: the last word is said of each of them."""

    def check(stage: Stage, line: Line) -> Difference | None:
        if len(line.words) < 2:
            raise line.error(f"say who, and what: {line.verb} NAME VALUE")
        *names, expected = (*line.words[:-1], written(line.words[-1]))
        facts = [(name, tell(stage, stage.find(name))) for name in names]
        wrong = [f"{name} {fact}" for name, fact in facts if fact != expected]
        return Difference(expected, ", ".join(wrong)) if wrong else None

    return check


def _remaining(stage: Stage, booking: Booking) -> str:
    if booking.expires_at is None:
        return "none"
    return values.shown(booking.expires_at - stage.world.now)


def _as_length(text: str) -> str:
    return text if text == "none" else values.shown(values.length(text))


def _as_price(text: str) -> str:
    return values.shown_price(values.price(text))


def _total(stage: Stage, booking: Booking) -> str:
    price = booking.price
    return values.shown_price(Price(price.amount * booking.quantity, price.currency) if price else None)


def room(stage: Stage, line: Line) -> Difference | None:
    quota, expected = line.words
    free = stage.world.room(quota)
    return _differ(expected, "unlimited" if free is None else str(free))


def passed(stage: Stage, line: Line) -> Difference | None:
    """Someone was passed over on the last line, for this reason."""
    name, reason = line.words
    booking = stage.find(name)
    group = group_of(booking)._asdict()
    about = [
        s["reason"] for s in stage.skipped if s.get("booking") == booking.number or s.get("group") == group
    ]
    return None if reason in about else Difference(reason, ", ".join(about) or "not passed over")


def told(stage: Stage, line: Line) -> Difference | None:
    """Each of these was told on the last line; `told nobody` means that nobody was told anything."""
    facts = [f"{_whom(stage, m.booking, m.to)} {m.kind}" for m in stage.messages]
    expected = [" ".join(item) for item in line.items]
    missing = [text for text in expected if text not in facts]
    if expected == ["nobody"]:
        missing = expected if facts else []
    return Difference(", ".join(expected), ", ".join(facts) or "nobody") if missing else None


def untold(stage: Stage, line: Line) -> Difference | None:
    facts = [m.kind for m in stage.messages if _whom(stage, m.booking, m.to) in line.words]
    return Difference("told nothing", ", ".join(facts)) if facts else None


def _whom(stage: Stage, number: int | None, to: str) -> str:
    return to if to == "staff" or number is None else stage.booking(number)


def answer(stage: Stage, line: Line) -> Difference | None:
    """The sentence of the refusal on the last line."""
    fact = stage.refusal.sentence if stage.refusal else "no refusal"
    return _differ(line.words[0], fact)


def current_round(stage: Stage, line: Line) -> Difference | None:
    """The round that someone was last offered room in."""
    name, expected = line.words
    return _differ(expected, str(stage.find(name).round))


def stats(stage: Stage, line: Line) -> Difference | None:
    facts = stage.world.stats()
    wrong = [name for name, text in line.options.items() if str(facts.get(name, "unknown")) != text]
    if not wrong:
        return None
    expected = ", ".join(f"{name}={line.options[name]}" for name in wrong)
    return Difference(expected, ", ".join(f"{name}={facts.get(name, 'unknown')}" for name in wrong))


CHECKS: Final[dict[str, Callable[[Stage, Line], Difference | None]]] = {
    "line": in_line,
    "state": _about_each(lambda stage, booking: booking.state),
    "position": _about_each(lambda stage, booking: str(stage.world.position(booking.number) or "none")),
    "attempts": _about_each(lambda stage, booking: str(booking.attempts)),
    "quantity": _about_each(lambda stage, booking: str(booking.quantity)),
    "placement": _about_each(lambda stage, booking: stage.world.placement(booking.number) or "none"),
    "price": _about_each(lambda stage, booking: values.shown_price(booking.price), _as_price),
    "total": _about_each(_total, _as_price),
    "has": _about_each(lambda stage, booking: ",".join(booking.units) or "nothing"),
    "remaining": _about_each(_remaining, _as_length),
    "room": room,
    "passed": passed,
    "told": told,
    "untold": untold,
    "answer": answer,
    "round": current_round,
    "stats": stats,
}
