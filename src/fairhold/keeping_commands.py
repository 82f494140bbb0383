"""What keeps a database in order: hand out and bring in, and forget a person."""

from __future__ import annotations

import asyncio
import hashlib
from functools import partial
from typing import Any, Final

import msgspec

from fairhold import command_words, inputs, upkeep
from fairhold.core.model import CSV
from fairhold.core.refusals import Refusal, invalid, unknown
from fairhold.door import Door
from fairhold.keeping import erasure, exports, imports, persons
from fairhold.keeping.imports import Asked, Imported, RowDone, RowError
from fairhold.keeping.persons import PersonRecord
from fairhold.once import answered, keep
from fairhold.people_commands import PeopleCommands
from fairhold.retention_commands import RetentionCommands
from fairhold.shapes import Booking, Outcome
from fairhold.store import rows

_AT_ONCE: Final = 200
_NAMED_MAX: Final = 100


class Erasure(msgspec.Struct, frozen=True):
    """What was forgotten of a person."""

    pools: int
    bookings: int
    entries: int
    messages: int
    dry_run: bool = False


class KeepingCommands(PeopleCommands, RetentionCommands, Door):
    """The commands of keeping."""

    async def export_csv(self, pool: str, what: str = "bookings") -> str | Refusal:
        """The "bookings" of a pool, or its "line" in order, as CSV that is safe in a spreadsheet."""
        if what not in exports.WHAT:
            return invalid("what", f"what must be one of {', '.join(exports.WHAT)}.")
        return await self._read(pool, lambda pool_id: exports.export_csv(self.store, pool_id, what))

    async def import_csv(
        self,
        pool: str,
        text: str,
        *,
        dry_run: bool = False,
        by: str = "staff",
        idempotency_key: str | None = None,
    ) -> Imported | Refusal:
        """Book for every row of a CSV, in order; a row that is refused keeps nobody else out.

        A dry run asks for each row alone, as if it were the only one. With a key, a file that is brought in
        again books nobody twice, and another file is refused.
        """
        pool_id = await self._pool_id(pool)
        if pool_id is None:
            return unknown("pool", pool)
        # A long file takes a while to read, and nobody else shall wait for that.
        found = await asyncio.to_thread(imports.read, text)
        if isinstance(found, Refusal):
            return found
        asked, wrong = found
        dry_run = dry_run or self._rehearses
        # Each row has a key of its own; this one says which file they are of.
        key, digest = None if dry_run else idempotency_key, hashlib.sha256(text.encode(errors="replace"))
        said = ("import_csv", pool_id, digest.hexdigest())
        if dry_run:
            kept = await answered(self.store, self.org, idempotency_key, said)
        else:
            kept = await keep(self.store, self.org, key, said, self.clock.now(), "import")
        if isinstance(kept, Refusal):
            return kept
        done: list[RowDone] = []
        errors = list(wrong)
        for start in range(0, len(asked), _AT_ONCE):
            rows = asked[start : start + _AT_ONCE]
            options: dict[str, Any] = {"by": by, "door": CSV}
            answers = await asyncio.gather(*(self._import(pool, row, dry_run, key, options) for row in rows))
            for row, answer in zip(rows, answers, strict=True):
                told = _told(row, answer)
                errors.append(told) if isinstance(told, RowError) else done.append(told)
        errors.sort(key=lambda error: error.row)
        return Imported(len(asked) + len(wrong), tuple(done), tuple(errors), dry_run)

    async def _import(
        self, pool: str, row: Asked, dry_run: bool, key: str | None, options: dict[str, Any]
    ) -> Booking | Outcome | Refusal:
        asked = {**row.options, **options}
        if dry_run:
            return await self.dry_run(lambda hf: hf.book(pool, row.party, row.quantity, **asked))
        if key is not None:
            asked["idempotency_key"] = f"{key}:{row.row}"
        return await self.book(pool, row.party, row.quantity, **asked)

    async def export_person(self, party: str) -> PersonRecord | Refusal:
        """All that is known about one party: bookings, what was decided about them, and messages."""
        try:
            inputs.text(party, "party", empty=False)
        except inputs.Bad as bad:
            return bad.refusal
        record = await persons.person_record(self.store, self.reads, self.org, party, self.clock.now())
        return record if record.bookings else unknown("party", party)

    async def erase_person(
        self,
        party: str,
        *,
        cancel: bool = False,
        dry_run: bool = False,
        by: str = "staff",
        idempotency_key: str | None = None,
    ) -> Erasure | Refusal:
        """Forget a person: names, contacts, tags, attributes and answers go, and the id that names them.

        Counts stay, and the log's chain stays whole. Whoever is still to be answered is refused, unless
        `cancel` says that these bookings are to be cancelled first.
        """
        self._must_be_at_home()
        try:
            inputs.text(party, "party", empty=False)
            command_words.who(by)
            inputs.flag(cancel, "cancel")
            dry_run = inputs.flag(dry_run, "dry_run") or self._rehearses
        except inputs.Bad as bad:
            return bad.refusal
        said = ("erase_person", party, cancel)
        before = await answered(self.store, self.org, idempotency_key, said)
        if isinstance(before, Refusal):
            return before
        if before is not None:
            return msgspec.structs.replace(msgspec.json.decode(before, type=Erasure), dry_run=dry_run)
        answer = await self._erase(party, cancel, dry_run, by)
        if isinstance(answer, Erasure) and not dry_run:
            await keep(self.store, self.org, idempotency_key, said, self.clock.now(), rows.text(answer))
        return answer

    async def _erase(self, party: str, cancel: bool, dry_run: bool, by: str) -> Erasure | Refusal:
        found = await persons.bookings_of(self.store, self.org, party)
        if not found:
            return unknown("party", party)
        refused = await self._settle(found, cancel and not dry_run, by)
        if refused is not None and not (cancel and dry_run):
            return refused
        forgotten = []
        for pool_id in dict.fromkeys(pool_id for pool_id, _ in found):
            forget = partial(
                erasure.forget_in_pool,
                pool_id=pool_id,
                org=self.org,
                party=party,
                now=self.clock.now(),
                by=by,
                even_open=dry_run and cancel,
            )
            it = await upkeep.keep(self.engine.store, pool_id, forget, dry_run=dry_run)
            if it.still_open:
                return _still_open(persons.named(pool_id, it.still_open))
            forgotten.append(it)
        if not dry_run:
            await self.store.wipe()
        return Erasure(
            len(forgotten),
            sum(it.bookings for it in forgotten),
            sum(it.entries for it in forgotten),
            sum(it.messages for it in forgotten),
            dry_run,
        )

    async def _settle(self, found: list[tuple[int, int]], cancel: bool, by: str) -> Refusal | None:
        """Cancel what is still to be answered; or refuse, naming it."""
        still_open = []
        for pool_id, number in found:
            booking = await self.reads.booking(pool_id, number)
            if booking is not None and booking.state in erasure.OPEN:
                if not cancel:
                    still_open.append(booking.id)
                elif isinstance(refused := await self.cancel(booking.id, by=by), Refusal):
                    return refused
        return _still_open(still_open) if still_open else None


def _told(row: Asked, answer: Booking | Outcome | Refusal) -> RowDone | RowError:
    party = str(row.party["id"])
    if isinstance(answer, Booking):
        return RowDone(row.row, party, answer.state, answer.id, answer.reference)
    if isinstance(answer, Refusal):
        return RowError(row.row, party, answer.code, answer.sentence, answer.field)
    if answer.answer is not None:
        return RowError(row.row, party, answer.answer["refused"], answer.answer["sentence"])
    events = [event for event in answer.events if event.get("party") == party]
    state = "waiting" if any(event["event"] == "Joined" for event in events) else "held"
    return RowDone(row.row, party, "confirmed" if any(it.get("confirmed") for it in events) else state)


def _still_open(named: list[str]) -> Refusal:
    sentence = "This person still has bookings that wait for an answer or for room; cancel them first."
    facts = {"bookings": named[:_NAMED_MAX], "count": len(named)}
    return Refusal("not_possible", sentence, "party", facts)
