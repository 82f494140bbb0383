"""Histories drawn by seed. The reference's rules play along in memory, so that most steps mean something.

What they answer is not kept: a history says only what is asked. Its steps need no tree to stay valid.
"""

from __future__ import annotations

from collections import Counter
from copy import copy
from random import Random
from typing import Any, Final

from net import drawn_pools, drawn_steps, reference
from net.drawn_pools import DAY, HOUR, MINUTE
from net.drawn_steps import World
from net.histories import APART, ERASE, LOOK, START, History, Json, Step, pool_id
from net.mapping import REFERENCE_CHANGED, TreeNames

reference.bring()

# The reference is on the path only now.
from holdfast import command_words, inputs  # noqa: E402
from holdfast.core import commands  # noqa: E402
from holdfast.core.decide import decide  # noqa: E402
from holdfast.core.refusals import Refusal  # noqa: E402
from holdfast.core.view import View  # noqa: E402

from net import drive_reference  # noqa: E402

CROWD_EVERY: Final = 5
_BURSTS: Final = (1, 1, 2, 3, 5, 8, 12, 20)
_SOON: Final = (1, 1_000, 5_000, 30_000)
_LATER: Final = (MINUTE, 5 * MINUTE, 11 * MINUTE, 20 * MINUTE, HOUR, 9 * HOUR, DAY)


class Coverage:
    """Counts of what came to pass while histories were drawn."""

    def __init__(self) -> None:
        self.commands: Counter[str] = Counter()
        self.events: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.steps = 0


class Author:
    """Draws one history."""

    def __init__(self, seed: int, coverage: Coverage | None = None) -> None:
        self.dice = Random(f"history {seed}")
        self.coverage = coverage or Coverage()
        self.now = START
        self.is_crowd = seed % CROWD_EVERY == CROWD_EVERY - 1
        count = self.dice.choice([1, 1, 1, 2])
        self.history: History = {
            "seed": seed,
            "org": f"org-{seed}",
            "pools": [pool_id(seed, index) for index in range(count)],
            "steps": [],
        }
        self._builder = drive_reference.builder(TreeNames(REFERENCE_CHANGED))
        self.worlds = [World(self.dice, View(), f"s{seed}") for _ in range(count)]
        self._kept: list[Step] = []
        # How many live holds a source may have, and how many a party; 0 is no limit.
        self._limits = [self.dice.choice([0, 1, 1, 2]), self.dice.choice([0, 1, 2])]

    def draw(self) -> History:
        """Draw the history, from its pools to a last look."""
        for index in range(len(self.worlds)):
            self._make_pool(index)
        wanted = len(self.history["steps"]) + self.dice.choice([40, 50, 65])
        looks = 0
        if self.is_crowd:
            for _ in range(self.dice.choice([1, 2, 3])):
                self._go_on(ticks=0)
                self._crowd()
            self._go_on()
        while len(self.history["steps"]) < wanted:
            if self.dice.random() < 0.18:
                self._rush(self.dice.choice([10, 18, 26]), foreign=0.08, mixed=self.dice.random() < 0.5)
            else:
                size = self.dice.choice(_BURSTS)
                self._burst(size, foreign=size >= 5)
            if self.dice.random() < 0.1 and looks < 2:
                looks += 1
                self._put(self._step(0, LOOK, {}))
            if self.dice.random() < 0.06:
                self._erase()
            self._go_on()
        for kept in self.dice.sample(self._kept, min(4, len(self._kept))):
            self._put({**kept, "at": self.now})
        self._put(self._step(0, LOOK, {}))
        return self.history

    def _make_pool(self, index: int) -> None:
        """Ask for pools until one is granted; what is refused stays in the history."""
        step: Step | None = None
        while step is None or self.worlds[index].view.pool is None:
            said, units = drawn_pools.pool(self.dice, index, large=self.is_crowd)
            step = self._step(index, "CreatePool", {"pool": said, "units": units})
            self._ask(step)
        if self.dice.random() < 0.2:
            self._put(step)
            self.coverage.refusals["exists"] += 1

    def _crowd(self) -> None:
        """Very many ask at one instant, so that even large batches follow one another."""
        self._rush(self.dice.choice([24, 40, 90, 140]), foreign=0.03, mixed=self.dice.random() < 0.15)

    def _rush(self, size: int, *, foreign: float, mixed: bool) -> None:
        for _ in range(size):
            if self._kept and self.dice.random() < 0.04:
                # A caller who is impatient asks again before it is answered.
                self._repeat(self._kept[-8:])
                continue
            index = self.dice.randrange(len(self.worlds))
            action = self.worlds[index].of_crowd(mixed=mixed)
            self._one(index, action, foreign=self.dice.random() < foreign, oddly=False)

    def _burst(self, size: int, *, foreign: bool) -> None:
        for _ in range(size):
            index = self.dice.randrange(len(self.worlds))
            if self._kept and self.dice.random() < 0.05:
                self._repeat(self._kept, oddly=True)
                continue
            for action in self.worlds[index].any_action(self.now):
                self._one(index, action, foreign=foreign and self.dice.random() < 0.12)

    def _one(
        self, index: int, action: tuple[str, dict[str, Json]], *, foreign: bool, oddly: bool = True
    ) -> None:
        """Ask one thing; `oddly` is now and then as a dry run, or from a source with limits."""
        step = self._step(index, *action)
        if self.dice.random() < 0.1:
            step["key"] = f"{self.history['org']} key {len(self.history['steps'])}"
        elif oddly and self.dice.random() < 0.04:
            step["dry"] = True
        elif oddly and step["do"] == "Book" and self.dice.random() < 0.2:
            step["source"] = [f"{self.history['org']} from {self.dice.choice([0, 0, 0, 1])}", *self._limits]
        if foreign and "dry" not in step:
            step["foreign"] = True
        self._ask(step)

    def _repeat(self, kept: list[Step], *, oddly: bool = False) -> None:
        """Ask again under a key: the same, or something else, for which it was not given."""
        step = copy(self.dice.choice(kept))
        step["at"] = self.now
        step.pop("foreign", None)
        if self.dice.random() < 0.3:
            step["say"] = {**step["say"], "by": "staff:somebody else"}
            self.coverage.refusals["idempotency_mismatch"] += 1
        elif oddly and self.dice.random() < 0.2:
            step["dry"] = True
        self._put(step)

    def _erase(self) -> None:
        """Forget somebody; who is still in play only if it says so."""
        world = self.dice.choice(self.worlds)
        party = world.any_party()
        world.now = self.now
        cancel = self.dice.random() < 0.6
        for other in self.worlds:
            # A party that is still in play is refused as a whole; else each of its bookings is cancelled.
            in_play = [
                b for b in other.view.bookings.values() if b.party.id == party and b.state in drawn_steps.OPEN
            ]
            for booking in in_play if cancel else ():
                decide(other.view, commands.Cancel(booking.number, by="staff"), self.now)
        if cancel or not any(other.is_open(party) for other in self.worlds):
            for other in self.worlds:
                other.forget(party)
            self.coverage.events["Erased"] += 1
        self._put(self._step(0, ERASE, {"party": party, "cancel": cancel, "by": "staff"}))

    def _go_on(self, ticks: float = 0.3) -> None:
        """Move time: to a deadline, right before or behind it, or just on."""
        due = [world.view.due_at for world in self.worlds if world.view.due_at is not None]
        # Shortly before it starts, when offers are too late.
        begins = [world.view.pool.starts_at for world in self.worlds]
        begins += [unit.starts_at for world in self.worlds for unit in world.view.units.values()]
        due += [at - self.dice.choice([MINUTE, 14 * MINUTE]) for at in begins if at is not None]
        due = [at for at in due if at > self.now]
        chance = self.dice.random()
        if chance < 0.4:
            self.now += self.dice.choice(_SOON)
        elif due and chance < 0.82:
            self.now = max(self.now, self.dice.choice(due) + self.dice.choice([-1, 0, 0, 1, 5_000]))
        else:
            self.now += self.dice.choice(_LATER)
        for index in range(len(self.worlds)):
            chance = self.dice.random()
            if chance < ticks:
                self._ask(self._step(index, "Tick", {}))
            elif chance < 1.5 * ticks:
                # Much may be free now, and only one gets some: the rest is due at once.
                self._ask(self._step(index, "Fill", {"steps": 1}))

    def _step(self, index: int, do: str, say: dict[str, Json]) -> Step:
        return {"at": self.now, "pool": index, "do": do, "say": say}

    def _put(self, step: Step) -> None:
        self.history["steps"].append(step)
        self.coverage.commands[step["do"]] += 1
        self.coverage.steps += 1

    def _ask(self, step: Step) -> None:
        """Put a step into the history, and have the rules decide it."""
        self._put(step)
        assert step["do"] not in APART
        world = self.worlds[step["pool"]]
        command = self._builder.command(self.history, step)
        if isinstance(command, Refusal):
            self.coverage.refusals[command.code] += 1
            return
        try:
            command_words.said(command)
        except inputs.Bad as bad:
            self.coverage.refusals[bad.refusal.code] += 1
            return
        if "source" in step and world.is_full(step["source"], step["say"]["party"]["id"]):
            self.coverage.refusals["too_many_requests"] += 1
            return
        self._decide(world, command, step)
        if "key" in step:
            self._kept.append(step)

    def _decide(self, world: World, command: Any, step: Step) -> None:
        booking = world.view.bookings.get(getattr(command, "booking", 0))
        if booking is not None:
            self.coverage.pairs[booking.state, step["do"]] += 1
        world.view.savepoint()
        try:
            decision = decide(world.view, command, self.now)
        except Exception:
            world.view.rollback()
            raise
        if "dry" in step:
            world.view.rollback()
            return
        for entry in decision.entries:
            self.coverage.events[type(entry.event).__name__] += 1
        if isinstance(decision.answer, Refusal):
            self.coverage.refusals[decision.answer.code] += 1
        elif "source" in step and decision.answer.booking is not None:
            world.sources[decision.answer.booking] = step["source"][0]
        if step["do"] == "CreatePool" and isinstance(decision.answer, Refusal):
            world.view = View()


def draw(seed: int, coverage: Coverage | None = None) -> History:
    """Return the history of a seed, always the same."""
    return Author(seed, coverage).draw()
