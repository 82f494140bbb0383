"""The log: whether its chain is whole, and what replaying it gives.

Bookings that have ended are compared with their rows while the replay goes on, and then forgotten: it holds
as many as are in play at a time, however long the log is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import msgspec

from fairhold.core import events as e
from fairhold.core.evolve import evolve
from fairhold.core.model import ENDED, Booking, Offer
from fairhold.core.view import View
from fairhold.store import rows
from fairhold.store.base import Row, Snapshot
from fairhold.store.writer import GENESIS, entry_digest
from fairhold.verify.compare import PROMISE, compare, compare_booking
from fairhold.verify.redactions import Redactions
from fairhold.verify.report import Findings
from fairhold.verify.told import Told

# What rows that were tampered with can make of a step that never fails on whole ones.
BROKEN: Final = (KeyError, IndexError, TypeError, ValueError, AttributeError, AssertionError)


class Replay:
    """Reads a pool's log from the first entry to the last."""

    def __init__(self, snapshot: Snapshot, pool_id: int, findings: Findings) -> None:
        self._snapshot = snapshot
        self._pool_id = pool_id
        self._findings = findings
        self._seq = 0
        self._hash = GENESIS
        # By number, whether a booking that the log knows has ended and was compared.
        self._compared = bytearray(1)
        self._ended: list[int] = []
        # By number, the last entry by which a booking that had ended was put back.
        self._put_back: dict[int, int] = {}
        self._redactions = Redactions(findings)
        self.view = View()
        self.stopped = False

    async def run(self, log_seq: int, log_hash: bytes) -> None:
        """Check and replay all entries; the pool says where the log ends."""
        self._put_back = {row[0]: row[1] for row in await self._snapshot.rows("put_back", self._pool_id)}
        told = Told(self._findings, self._snapshot.stream("every_message", self._pool_id))
        async for page in self._snapshot.stream("every_entry", self._pool_id):
            messages = await told.messages_to(page[-1][0])
            for row in page:
                self._chain(row)
                event = self._read(row)
                if isinstance(event, e.Erased):
                    self._redactions.vouch(event)
                told.entry(row[0], event, messages.pop(row[0], ()))
                if not self.stopped:
                    self._replay(row[0], event)
            for left in messages.values():
                told.without_entry(left)
            self._findings.entries += len(page)
            await self._forget_ended()
        for left in (await told.messages_to(2**63)).values():
            told.without_entry(left)
        told.end()
        self._redactions.end()
        self._check_end(log_seq, log_hash)

    def knows(self, number: int) -> bool:
        """Whether the booking is one that was compared already."""
        return 0 < number < len(self._compared) and self._compared[number] == 1

    def _chain(self, row: Row) -> None:
        seq, at, kind, _, by, body, digest, head = row
        place = f"log entry {seq}"
        if seq != self._seq + 1:
            missing = f"{self._seq + 1}" if seq == self._seq + 2 else f"{self._seq + 1} to {seq - 1}"
            found = f"{missing} missing before it" if seq > self._seq else "it stands there twice"
            self._findings.add(PROMISE, found, place)
        counted = entry_digest(self._pool_id, seq, at, kind, by, body)
        if counted != bytes(digest):
            self._redactions.another(seq, counted)
        if hashlib.sha256(self._hash + bytes(digest)).digest() != bytes(head) and seq == self._seq + 1:
            self._findings.add(PROMISE, "it does not follow from the entry before it", place)
        self._seq, self._hash = seq, bytes(head)

    def _check_end(self, log_seq: int, log_hash: bytes) -> None:
        if self._seq != log_seq:
            wrong = "the end is missing" if self._seq < log_seq else "it goes on too long"
            sentence = f"{wrong}: its last entry is {self._seq}, and the pool says {log_seq}"
            self._findings.add(PROMISE, sentence, f"log entry {min(self._seq, log_seq) + 1}")
        elif self._hash != bytes(log_hash):
            sentence = "its hash is another than the pool has as the last one"
            self._findings.add(PROMISE, sentence, f"log entry {self._seq}")

    def _read(self, row: Row) -> e.Event | None:
        seq, _, kind, booking, _, body, _, _ = row
        try:
            event = rows.event_of(kind, body)
        except (KeyError, msgspec.DecodeError) as error:
            self._findings.add(PROMISE, f"it cannot be read: {error}", f"log entry {seq}")
            return None
        if getattr(event, "booking", None) != booking:
            self._findings.add(PROMISE, f"it stands under booking {booking}, not its own", f"log entry {seq}")
        return event

    def _replay(self, seq: int, event: e.Event | None) -> None:
        view, born = self.view, self.view.numbers
        try:
            if event is None:
                raise ValueError("no event")
            evolve(view, event)
            number = getattr(event, "booking", None)
            if not born <= view.numbers <= born + 1:
                raise ValueError(f"booking {view.numbers} comes after booking {born}")
            stays = number is not None and seq > self._put_back.get(number, 0)
            if number is not None and stays and view.bookings[number].state in ENDED:
                self._ended.append(number)
        except BROKEN as error:
            self.stopped = True
            sentence = f"the log cannot be replayed from here: {type(error).__name__}: {error}"
            self._findings.add(PROMISE, sentence, f"log entry {seq}")
            return
        self._compared += bytes(view.numbers - born)

    async def _forget_ended(self) -> None:
        view = self.view
        view.savepoint()
        view.fresh.clear()
        view.endings.clear()
        ended = [view.bookings[number] for number in self._ended if number in view.bookings]
        self._ended.clear()
        if not ended:
            return
        keys = [(self._pool_id, booking.number) for booking in ended]
        stored = {row[1]: row for row in await self._snapshot.each("bookings_by_number", keys)}
        for booking in ended:
            self.compare_row(booking, stored.get(booking.number))
            del view.bookings[booking.number]
            self._compared[booking.number] = 1
            others = [number for number in view.by_party[booking.party.id] if number != booking.number]
            view.by_party[booking.party.id] = others
            if not others:
                del view.by_party[booking.party.id]
        await self.compare_offers(ended)

    def compare_row(self, replayed: Booking, row: Row | None) -> Booking | None:
        """Compare a booking with its row; the row as a booking, if it can be read."""
        place = f"booking {replayed.number}"
        if row is None:
            compare(self._findings, place, None, replayed)
            return None
        try:
            stored = rows.booking_of(row)
        except (msgspec.DecodeError, TypeError) as error:
            self._findings.add(PROMISE, f"its row cannot be read: {error}", place)
            return None
        if stored.party.id != row[3]:
            self._findings.add(PROMISE, f"it stands under party {row[3]!r}, not its own", place)
        compare_booking(self._findings, stored, replayed)
        return stored

    async def compare_offers(self, bookings: Sequence[Booking]) -> None:
        """Compare all offers of these bookings with their rows, and forget them."""
        tried = [booking for booking in bookings if booking.offer_seq]
        numbers = [booking.number for booking in bookings]
        stored: dict[tuple[int, int], Offer] = {}
        for row in await self._snapshot.rows("offers_of_bookings", self._pool_id, numbers):
            stored[row[1], row[2]] = rows.offer_of(row)
        for key in ((b.number, seq) for b in tried for seq in range(1, b.offer_seq + 1)):
            place = f"booking {key[0]}, offer {key[1]}"
            compare(self._findings, place, stored.pop(key, None), self.view.offers.pop(key, None))
        for (number, seq), offer in stored.items():
            compare(self._findings, f"booking {number}, offer {seq}", offer, None)
