"""Events as a scenario tells them: a verb, who, and a few details that a line may name or leave out."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from fairhold.core import events as e
from fairhold.core.model import CLOSED, WAITING
from fairhold.core.refusals import Refusal


class Names(Protocol):
    """How a scenario calls bookings, and openings by their unit or quota."""

    def booking(self, number: int) -> str: ...
    def opening(self, number: int) -> str: ...


# What is not told unless a line names it.
QUIET: Final = frozenset(
    {
        "created",
        "changed",
        "added",
        "unit_closed",
        "opening",
        "opening_reduced",
        "opening_ended",
        "respread",
        "again",
    }
)
# What a verb says by itself.
SAID: Final = {
    "wait": "joined",
    "cancel": "cancelled",
    "decline": "declined",
    "extend": "extended",
    "move": "moved",
    "put_back": "put_back",
}
VERBS: Final = (
    QUIET
    | set(SAID.values())
    | {
        "held",
        "offered",
        "promoted",
        "confirmed",
        "lapsed",
        "not_reached",
        "told",
        "delayed",
        "reachable",
        "completed",
        "expired",
        "details",
        "closed",
        "demoted",
        "round",
        "handed_back",
        "refused",
        "nothing",
    }
)


class Fact(NamedTuple):
    """Something that happened, in the words of a scenario."""

    verb: str
    details: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((self.verb, *(f'"{word}"' if " " in word else word for word in self.details)))

    def answers(self, expectation: Sequence[str]) -> bool:
        """Whether this is what a line expects: the verb, and every detail that it names."""
        return expectation[0] == self.verb and set(expectation[1:]) <= set(self.details)


def agree(facts: Sequence[Fact], expected: Sequence[str], verb: str, names: Sequence[str]) -> bool:
    """Whether just this happened, in this order."""
    wanted = [shlex.split(text) for text in expected]
    counted = shown(facts, [words[0] for words in wanted], verb, names)
    if [words[0] for words in wanted] == ["nothing"]:
        return not counted
    return len(counted) == len(wanted) and all(map(Fact.answers, counted, wanted))


def shown(facts: Sequence[Fact], named: Sequence[str], verb: str, names: Sequence[str]) -> list[Fact]:
    """The facts that count on a line which names these verbs."""
    said = "" if list(named) == ["nothing"] else SAID.get(verb, "")

    def counts(fact: Fact) -> bool:
        by_itself = fact.verb == said and fact.details[0] in names
        return fact.verb in named or not (fact.verb in QUIET or by_itself)

    return [fact for fact in facts if counts(fact)]


def facts_of(event: e.Event, names: Names) -> list[Fact]:
    """What an event is in a scenario's words: usually one fact."""
    found = _FACTS[type(event)](event, names)
    if isinstance(event, e.Lapsed | e.Declined) and event.state == CLOSED:
        return [found, Fact("closed", (names.booking(event.booking), "attempts_used_up"))]
    return [found]


def refusal_fact(refusal: Refusal, names: Names) -> Fact:
    """The code, the field at fault, and whoever the refusal names."""
    numbers = list(refusal.facts.get("bookings", ()))
    numbers += [refusal.facts["booking"]] if "booking" in refusal.facts else []
    field = (refusal.field,) if refusal.field else ()
    still = ("still_waiting",) if refusal.facts.get("still_waiting") else ()
    return Fact("refused", (refusal.code, *field, *map(names.booking, numbers), *still))


def _some(event: Any, *words: str) -> tuple[str, ...]:
    quantity = (f"x{event.quantity}",) if event.quantity != 1 else ()
    return (*words, *quantity, *getattr(event, "units", ()))


def _at(position: int | None) -> tuple[str, ...]:
    return () if position is None else (f"#{position}",)


def _who(names: Names, event: Any, *more: str) -> tuple[str, ...]:
    return (names.booking(event.booking), *more)


_FACTS: Final[dict[type[Any], Callable[[Any, Names], Fact]]] = {
    e.PoolCreated: lambda it, names: Fact("created", (it.pool.key,)),
    e.PoolChanged: lambda it, names: Fact("changed"),
    e.UnitsAdded: lambda it, names: Fact("added", tuple(unit["label"] for unit in it.units)),
    e.UnitClosed: lambda it, names: Fact("unit_closed", (it.label,)),
    e.Joined: lambda it, names: Fact("joined", _some(it, *_who(names, it, f"#{it.position}"), it.quota)),
    e.Held: lambda it, names: Fact(
        "confirmed" if it.confirmed else "held", _some(it, *_who(names, it), it.quota)
    ),
    e.Promoted: lambda it, names: Fact("promoted", _who(names, it, f"#{it.position}", it.state, *it.units)),
    e.Offered: lambda it, names: Fact("offered", _some(it, *_who(names, it, f"#{it.position}"))),
    e.Claimed: lambda it, names: Fact(it.state, _some(it, *_who(names, it))),
    e.Declined: lambda it, names: Fact("declined", _who(names, it, *_left(it))),
    e.Lapsed: lambda it, names: Fact("lapsed", _who(names, it, *_left(it))),
    e.NotReached: lambda it, names: Fact("not_reached", _who(names, it, it.reason)),
    e.Told: lambda it, names: Fact("told", _who(names, it)),
    e.Delayed: lambda it, names: Fact("delayed", _who(names, it)),
    e.Reachable: lambda it, names: Fact("reachable", _who(names, it)),
    e.Confirmed: lambda it, names: Fact("confirmed", _who(names, it)),
    e.Completed: lambda it, names: Fact("completed", _who(names, it)),
    e.Extended: lambda it, names: Fact("extended", _who(names, it)),
    e.BookingChanged: lambda it, names: Fact("details", _who(names, it, *it.details)),
    e.Expired: lambda it, names: Fact("expired", _who(names, it, *_at(it.position))),
    e.Cancelled: lambda it, names: Fact("cancelled", _who(names, it, *_at(it.position))),
    e.Closed: lambda it, names: Fact("closed", _who(names, it, it.why)),
    e.Moved: lambda it, names: Fact("moved", _who(names, it, f"#{it.position}")),
    e.PutBack: lambda it, names: Fact("put_back", _who(names, it, it.state, *_at(it.position), *it.units)),
    e.Respread: lambda it, names: Fact("respread"),
    e.Demoted: lambda it, names: Fact("demoted", _who(names, it, f"#{it.position}")),
    e.RoundStarted: lambda it, names: Fact("round", (str(it.round), it.quota)),
    e.OpeningStarted: lambda it, names: Fact("opening", (it.unit or it.quota,)),
    e.OpeningReduced: lambda it, names: Fact("opening_reduced", (f"x{it.quantity}",)),
    e.OpeningEnded: lambda it, names: Fact("opening_ended", (it.how,)),
    e.HandedBack: lambda it, names: Fact("handed_back", _some(it, names.opening(it.opening), it.note)),
}


def _left(event: e.Declined | e.Lapsed) -> tuple[str, ...]:
    return () if event.state == WAITING else (event.state,)
