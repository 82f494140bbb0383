"""What would happen, for staff to read before it does: who moves, and who will be told."""

from __future__ import annotations

from typing import Any, Final

from fairhold.clock import to_datetime
from fairhold.console.calls import Call
from fairhold.pages.speech import PageSpeech
from fairhold.shapes import Booking, Outcome

# Of so many each is named; of more only the number is told.
_NAMED_MAX: Final = 100
_SAME_MOVE: Final = ("event", "why", "quantity", "units", "until")
# What happens to people. All else a dry run tells of is bookkeeping.
_MOVES: Final = frozenset(
    [
        *("Promoted", "Offered", "Demoted", "Closed", "Expired", "Cancelled"),
        *("Lapsed", "NotReached", "HandedBack", "Claimed"),
    ]
)


async def told(call: Call, outcome: Outcome, speech: PageSpeech) -> dict[str, Any]:
    """The outcome of a dry run, with the people in it by name."""
    moves = [event for event in outcome.events if event["event"] in _MOVES]
    messages = list(outcome.messages)
    named = dict.fromkeys(
        it["booking"] for it in (*moves[:_NAMED_MAX], *messages[:_NAMED_MAX]) if it.get("booking")
    )
    people = await call.hf.bookings_by_id(list(named))
    return {
        "moves": _together([_move(event, people, speech) for event in moves[:_NAMED_MAX]], _SAME_MOVE),
        "moves_more": max(0, len(moves) - _NAMED_MAX),
        "messages": _together([_message(it, people) for it in messages[:_NAMED_MAX]], ("kind", "to")),
        "messages_more": max(0, len(messages) - _NAMED_MAX),
        "quiet": not moves and not messages,
    }


def _together(told: list[dict[str, Any]], same: tuple[str, ...]) -> list[dict[str, Any]]:
    """What is the same for several, said once with all their names."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for it in told:
        one = found.setdefault(tuple(it[name] for name in same), {**it, "who": []})
        one["who"].append(it["who"])
    return list(found.values())


def _message(it: Any, people: dict[str, Booking]) -> dict[str, Any]:
    return {"kind": it["kind"], "to": it["to"], "who": people.get(it.get("booking") or "")}


def _move(event: Any, people: dict[str, Booking], speech: PageSpeech) -> dict[str, Any]:
    until = event.get("expires_at") if event["event"] == "Offered" else None
    return {
        "event": event["event"],
        "who": people.get(event.get("booking") or ""),
        "quantity": event.get("quantity") or 1,
        "units": ", ".join(event.get("units") or ()),
        "why": event.get("why", ""),
        "until": speech.when(to_datetime(until)) if isinstance(until, int) else "",
    }
