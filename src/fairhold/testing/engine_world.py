"""A world with the real engine and a database behind it: the same scenarios, played for real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from fairhold import ids
from fairhold.answers import Answer
from fairhold.clock import TestClock
from fairhold.core import commands as c
from fairhold.core.events import KINDS, Event, PoolChanged
from fairhold.core.model import Booking, Instant, Pool
from fairhold.core.refusals import Refusal
from fairhold.core.work import Done, Message
from fairhold.shapes import Booking as BookingShape
from fairhold.shapes import Outcome as OutcomeShape
from fairhold.store import rows
from fairhold.store.base import Row
from fairhold.sync import SyncFairhold
from fairhold.testing.world import START_AT, Outcome

_ALL: Final = 1_000_000


class EngineWorld:
    """One pool of an open Fairhold, whose clock is a TestClock that this world owns."""

    def __init__(self, hf: SyncFairhold) -> None:
        assert isinstance(hf.hf.clock, TestClock)
        self._hf, self._clock = hf, hf.hf.clock
        self._clock.restart(START_AT)
        self._pool_id = self._seq = 0

    @property
    def now(self) -> Instant:
        return self._clock.now()

    @now.setter
    def now(self, instant: Instant) -> None:
        self._clock.move_to(instant)

    def run(self, command: c.Command, *, dry_run: bool = False) -> Outcome:
        if isinstance(command, c.CreatePool):
            pool_id = ids.new_pool_id()
            pool = replace(command.pool, id=pool_id, key=f"{command.pool.key}-{pool_id}", org=self._hf.hf.org)
            command = command._replace(pool=pool)
            self._pool_id, self._seq = pool_id, 0
        answer = self._hf.run(self._hf.hf.submit(self._pool_id, command, dry_run=dry_run))
        if isinstance(answer, OutcomeShape) and dry_run:
            return _outcome_of(answer, self.pool())
        entries = [(rows.event_of(row[2], row[5]), row[4]) for row in self._rows("read_log", self._seq, _ALL)]
        messages = [_message(row) for row in self._rows("read_outbox", self._seq, _ALL, _ALL)]
        self._seq += len(entries)
        return Outcome(entries, _done(answer, command, entries), messages)

    def due_at(self) -> Instant | None:
        due_at: Instant | None = self._rows("read_pool")[0][4]
        return due_at

    def pool(self) -> Pool:
        return rows.pool_of(self._rows("read_pool")[0][3])

    def booking(self, number: int) -> Booking | None:
        found = self._each("bookings_by_number", number)
        return rows.booking_of(found[0]) if found else None

    def line(self) -> Sequence[int]:
        return [row[1] for row in self._rows("read_line", -(2**63), _ALL)]

    def position(self, number: int) -> int | None:
        return self._hf.run(self._hf.hf.reads.position(self._pool_id, number))

    def room(self, quota: str) -> int | None:
        state = self._hf.run(self._hf.hf.reads.pool(self._pool_id))
        return next(each.room for each in state.quotas if each.key == quota)

    def placement(self, number: int) -> str | None:
        booking = self._hf.run(self._hf.hf.reads.booking(self._pool_id, number))
        assert booking is not None
        return booking.placement

    def stats(self) -> Mapping[str, int]:
        return msgspec.structs.asdict(self._hf.run(self._hf.hf.reads.stats(self._pool_id)))

    def _rows(self, name: str, *values: Any) -> Sequence[Row]:
        return self._hf.run(self._hf.hf.store.reader().rows(name, self._pool_id, *values))

    def _each(self, name: str, *key: Any) -> Sequence[Row]:
        return self._hf.run(self._hf.hf.store.reader().each(name, [(self._pool_id, *key)]))


def _done(answer: Answer, command: c.Command, entries: Sequence[tuple[Event, str]]) -> Done | Refusal:
    if isinstance(answer, Refusal):
        return Refusal(answer.code, answer.sentence, answer.field, _numbered(answer.facts))
    if isinstance(answer, BookingShape):
        return Done(_number(answer.id), repeated=not any(by == command.by for _, by in entries))
    return Done()


def _outcome_of(shape: OutcomeShape, pool: Pool) -> Outcome:
    """The outcome of a dry run, made into events and messages again."""
    entries: list[tuple[Event, str]] = []
    for told in shape.events:
        fields = _numbered({name: value for name, value in told.items() if name not in ("event", "by")})
        if told["event"] == "PoolChanged":
            entries.append((PoolChanged(fields["at"], pool, fields["why"]), told["by"]))
        else:
            entries.append((msgspec.convert(fields, KINDS[told["event"]]), told["by"]))
    messages = [Message(m["kind"], m["to"], _numbered(m)["booking"], m["facts"]) for m in shape.messages]
    answer: Done | Refusal = Done()
    if shape.answer is not None:
        facts = _numbered(shape.answer["facts"])
        answer = Refusal(shape.answer["refused"], shape.answer["sentence"], shape.answer.get("field"), facts)
    return Outcome(entries, answer, messages)


def _message(row: Row) -> Message:
    return Message(row[3], row[4], row[5], rows.mapping_of(row[6]))


def _numbered(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts with ids of bookings made into numbers again."""
    made = dict(facts)
    for name in ("booking", "part"):
        if isinstance(made.get(name), str):
            made[name] = _number(made[name])
    if made.get("skipped"):
        made["skipped"] = [_numbered(skip) for skip in made["skipped"]]
    if "bookings" in made:
        made["bookings"] = [_number(name) for name in made["bookings"]]
    return made


def _number(name: str) -> int:
    found = ids.booking_number(name)
    assert found is not None
    return found[1]
