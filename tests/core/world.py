"""A small pool, and people who ask: for tests that tell one short story each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairhold.core import commands as c
from fairhold.core import decide as door
from fairhold.core import events as e
from fairhold.core import evolve
from fairhold.core import policy as policies
from fairhold.core.model import Party, Pool, Quota
from fairhold.core.policy import Policy
from fairhold.core.refusals import Refusal
from fairhold.core.view import View
from fairhold.core.work import Decision
from fairhold.verify import promises
from tests.core.history import START

ANN, BEA, CYD, DAN = (Party(name) for name in ("Ann", "Bea", "Cyd", "Dan"))


class World:
    """A pool that nobody watches: what is wrong with it is asked at the end."""

    def __init__(self, preset: str, *quotas: Quota, units: tuple[str, ...] = (), **changes: Any) -> None:
        policy = policies.make(preset, changes)
        assert isinstance(policy, Policy)
        made = tuple({"label": label, "quota": quotas[0].key} for label in units)
        self.view, self.now = View(), START
        self.decisions: list[Decision] = []
        self.do(c.CreatePool(Pool(1, "org", "pool", "", policy, quotas), made))

    def do(self, *commands: c.Command) -> World:
        for command in commands:
            self.decisions.append(door.decide(self.view, command, self.now))
        return self

    def refused(self, command: c.Command) -> str:
        """The code of the refusal that a command meets."""
        self.do(command)
        answer = self.decisions[-1].answer
        assert isinstance(answer, Refusal), answer
        return answer.code

    def states(self) -> dict[str, str]:
        """The state of each party's latest booking."""
        return {booking.party.id: booking.state for booking in self.view.bookings.values()}

    def broken(self) -> set[str]:
        """The names of the promises that do not hold."""
        return {wrong.split(":")[0] for wrong in promises.broken(self.view, self.now)}

    def judged(self, judge: Callable[[View, e.Event, int], list[str]]) -> list[str]:
        """What a judge of events says of the whole history, replayed."""
        replayed, wrong = View(), []
        for decision in self.decisions:
            for entry in decision.entries:
                wrong += judge(replayed, entry.event, entry.event.at)
                evolve.evolve(replayed, entry.event)
        return wrong


def one_seat(preset: str = "class_waitlist", **changes: Any) -> World:
    return World(preset, Quota("main", size=1), **changes)


def two_units(preset: str = "last_minute", **changes: Any) -> World:
    return World(preset, Quota("main", by_units=True), units=("12A", "12B"), **changes)


def wait(party: Party, quantity: int = 1) -> c.Book:
    return c.Book(party, quantity, if_full="wait")
