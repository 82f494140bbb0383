"""What a scenario has come to: the world, who is called what, and what happened on the last line."""

from __future__ import annotations

from typing import Any

from fairhold.core import events as e
from fairhold.core.commands import Command, CreatePool, Tick
from fairhold.core.model import Booking, Instant
from fairhold.core.refusals import Refusal
from fairhold.core.work import Message
from fairhold.testing.facts import Fact, facts_of, refusal_fact
from fairhold.testing.language import Line
from fairhold.testing.world import Outcome, World

TICKS_MAX = 100_000


class Stage:
    """The world, and what the reader remembers of it. It is also what names bookings and openings."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.has_pool = False
        self.line: Line | None = None
        self.facts: list[Fact] = []
        self.messages: list[Message] = []
        self.skipped: list[Any] = []
        self.refusal: Refusal | None = None
        self.handed_back: list[int] = []
        self._numbers: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._openings: dict[int, str] = {}

    def begin(self, line: Line) -> None:
        """A new line: what the last one brought is no longer of interest."""
        self.line = line
        self.facts, self.messages, self.skipped, self.refusal = [], [], [], None

    def run(self, command: Command, name: str | None = None) -> Outcome:
        """Run a command and note what happened; a new booking gets the name."""
        assert self.line is not None
        outcome = self.world.run(command, dry_run=self.line.dry)
        known = self._numbers.copy(), self._names.copy()
        for event, _ in outcome.entries:
            self._note(event, name)
        self.messages += outcome.messages
        if isinstance(outcome.answer, Refusal):
            self.refusal = outcome.answer
            self.facts.append(refusal_fact(outcome.answer, self))
        elif isinstance(command, CreatePool) and not self.line.dry:
            self.has_pool = True
        elif outcome.answer.repeated:
            number = outcome.answer.booking
            self.facts.append(Fact("again", (self.booking(number),) if number is not None else ()))
        if self.line.dry:
            self._numbers, self._names = known
        return outcome

    def pass_time(self, until: Instant) -> None:
        """Move the clock, as if every timer on the way fired exactly on time."""
        for _ in range(TICKS_MAX):
            due_at = self.world.due_at()
            if due_at is None or due_at > until:
                break
            self.world.now = max(due_at, self.world.now)
            self.run(Tick())
        else:
            raise ValueError(f"something stays due for ever, at {self.world.due_at()}")
        self.world.now = until

    def find(self, name: str) -> Booking:
        """The booking that goes by this name now."""
        booking = self.world.booking(self._numbers[name]) if name in self._numbers else None
        if booking is None:
            raise LookupError(f"nobody here is called {name!r}")
        return booking

    def booking(self, number: int) -> str:
        return self._names.get(number, f"booking {number}")

    def opening(self, number: int) -> str:
        return self._openings.get(number, f"opening {number}")

    def _note(self, event: e.Event, name: str | None) -> None:
        match event:
            case e.Joined() | e.Held():
                self._call(event.booking, name or event.party)
            case e.Claimed(part=int(part)):
                self._call(part, self._free_name(f"{self.booking(event.booking)}-part"))
            case e.OpeningStarted():
                self._openings[event.opening] = event.unit or event.quota
            case e.HandedBack():
                self.handed_back.append(event.opening)
        self.skipped += getattr(event, "skipped", ())
        self.facts += facts_of(event, self)

    def _call(self, number: int, name: str) -> None:
        self._numbers[name] = number
        self._names[number] = name

    def _free_name(self, name: str) -> str:
        taken = sum(known == name or known.startswith(f"{name}-") for known in self._numbers)
        return f"{name}-{taken + 1}" if taken else name
