"""Ways of carrying out a history: one by one, in batches, and with a foreign write between.

All of them answer the same: what each step was answered, in order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol

from net.histories import APART, HandClock, History, Json, Step

ONE: Final = "one"
EIGHT: Final = "eight"
MANY: Final = "many"
FOREIGN: Final = "foreign"
WAYS: Final = (ONE, EIGHT, MANY, FOREIGN)
_ALONE: Final = frozenset(
    {"CreatePool", "ChangePool", "AddUnits", "CloseUnit", "Move", "PutBack", "Resolve", "GiveOffer", "Fill"}
)
SIZES: Final = {EIGHT: 8, MANY: 64, FOREIGN: 8}


class Pipeline(Protocol):
    """An engine that can be held: see `drive_fairhold`."""

    is_closed: bool

    def forgive(self) -> None: ...
    async def decided(self, tasks: Sequence[asyncio.Task[Any]]) -> None: ...
    async def written(self, tasks: Sequence[asyncio.Task[Any]]) -> None: ...
    def open(self) -> None: ...


class Carrier(Protocol):
    """Whatever carries out steps."""

    @property
    def clock(self) -> HandClock: ...
    async def carry_out(self, history: History, step: Step) -> Json: ...
    def submit(self, history: History, steps: Sequence[Step]) -> list[asyncio.Task[Json]]: ...


class Held(Carrier, Protocol):
    """A driver whose engine can be held."""

    @property
    def pipeline(self) -> Pipeline: ...


async def one_by_one(driver: Carrier, history: History) -> list[Json]:
    """Carry out each step alone, at its instant."""
    answers = []
    for step in history["steps"]:
        driver.clock.at = step["at"]
        answers.append(await driver.carry_out(history, step))
    return answers


def cut(history: History, way: str) -> Iterator[list[list[Step]]]:
    """Yield what is asked at one instant, in batches; what must stand apart is a batch of its own."""
    steps, start = history["steps"], 0
    while start < len(steps):
        end = start
        while end < len(steps) and steps[end]["at"] == steps[start]["at"]:
            end += 1
        yield list(_batches(steps[start:end], SIZES[way], way == FOREIGN))
        start = end


def _batches(steps: list[Step], size: int, cut_at_foreign: bool) -> Iterator[list[Step]]:
    batch: list[Step] = []
    for step in steps:
        if stands_apart(step) or is_alone(step) or (cut_at_foreign and step.get("foreign")):
            if batch:
                yield batch
            yield [step]
            batch = []
            continue
        if batch and any("source" in it for it in (*batch, step)) and not _only_book((*batch, step)):
            # Where a booking came from is forgotten once it is decided, but not in the batch that made it;
            # and live holds are counted when a batch begins. So what ends one is not in a batch with such.
            yield batch
            batch = []
        batch.append(step)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _only_book(steps: Sequence[Step]) -> bool:
    return all(step["do"] == "Book" for step in steps)


def is_alone(step: Step) -> bool:
    """Return True if the engine takes no other command of the same pool into the batch of this one."""
    return step["do"] in _ALONE or step.get("dry", False)


def stands_apart(step: Step) -> bool:
    """Return True if nothing may be in hand while a step is carried out."""
    return step["do"] in APART


async def in_batches(driver: Held, history: History, way: str, other: Carrier | None = None) -> list[Json]:
    """Carry out a history in batches, each decided while the one before is held back from being written.

    `other` is another process on the same database: it is asked the foreign steps, each after the batch
    before it is written, and before the batch behind it is, which has been decided by then.
    """
    answers: list[Json] = []
    for batches in cut(history, way):
        driver.clock.at = batches[0][0]["at"]
        if other is not None:
            other.clock.at = driver.clock.at
        answers += await _at_one_instant(driver, history, batches, other)
    return answers


async def play(driver: Held, history: History, way: str, other: Carrier | None = None) -> list[Json]:
    """Carry out a history one of the WAYS."""
    if way == ONE:
        return await one_by_one(driver, history)
    return await in_batches(driver, history, way, other if way == FOREIGN else None)


async def _at_one_instant(
    driver: Held, history: History, batches: list[list[Step]], other: Carrier | None
) -> list[Json]:
    answers: list[asyncio.Task[Json] | Json] = []
    pipeline, in_flight = driver.pipeline, list[asyncio.Task[Json]]()
    # Of a foreign step, where its answer goes.
    foreign: list[tuple[int, Step]] = []

    async def write() -> None:
        await pipeline.written(in_flight)
        for at, step in foreign:
            assert other is not None
            answers[at] = await other.carry_out(history, step)
        foreign.clear()

    for batch in batches:
        if stands_apart(batch[0]):
            await write()
            in_flight = []
            pipeline.open()
            answers.append(await driver.carry_out(history, batch[0]))
        elif other is not None and batch[0].get("foreign"):
            foreign.append((len(answers), batch[0]))
            answers.append(None)
        else:
            pipeline.is_closed = True
            pipeline.forgive()
            asked = driver.submit(history, batch)
            await pipeline.decided(asked)
            await write()
            answers += asked
            in_flight = asked
    await write()
    pipeline.open()
    return [await it if isinstance(it, asyncio.Task) else it for it in answers]
