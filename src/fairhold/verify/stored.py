"""A pool as its rows have it, in a view of what is in play; each row is compared with the log on the way.

Nothing here is taken from sums: the view's line is made of the bookings themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from fairhold.core.model import IN_PLAY, LIVE, TAKES_ROOM, WAITING, Booking, Offer, Opening, Pool, Tally, Unit
from fairhold.core.room import overflow
from fairhold.core.view import View
from fairhold.store import rows
from fairhold.store.base import Row, Snapshot
from fairhold.verify.compare import PROMISE, compare, differ
from fairhold.verify.replay import Replay
from fairhold.verify.report import Findings

COUNTERS: Final = ("numbers", "arrivals", "openings_made", "units_made", "round", "first_place", "last_place")
_ORPHANS_MAX: Final = 100


class Stored:
    """Reads a pool's rows into `view`."""

    def __init__(
        self,
        snapshot: Snapshot,
        pool: Pool,
        columns: Mapping[str, Any],
        replay: Replay,
        findings: Findings,
    ) -> None:
        self._snapshot = snapshot
        self._columns = columns
        self._replay = replay
        self._findings = findings
        # Whether there is a replay to compare with.
        self._compares = not replay.stopped and bool(replay.view.pool)
        self.view = View(pool)

    async def read(self) -> None:
        """Read everything."""
        self._read_pool()
        await self._read_quotas()
        await self._read_bookings()
        await self._read_offers()
        await self._read_units()
        await self._read_openings()

    def _read_pool(self) -> None:
        view, columns, findings = self.view, self._columns, self._findings
        for name in COUNTERS:
            setattr(view, name, columns[name])
        view.due_at = columns["due_at"]
        shown = {name: columns[name] for name in ("org", "key", "version", "status", "open_size")}
        for name, value in shown.items():
            if getattr(view.pool, name) != value:
                findings.add(PROMISE, f"its column {name} is {value!r}, unlike its config")
        if self._compares:
            replayed = self._replay.view
            differ(findings, "", columns, {name: getattr(replayed, name) for name in COUNTERS})
            if view.pool != replayed.pool:
                stored, logged = msgspec.to_builtins(view.pool), msgspec.to_builtins(replayed.pool)
                differ(findings, "config", stored, logged)

    async def _read_quotas(self) -> None:
        view, replayed = self.view, self._replay.view.tallies
        sizes = {quota.key: quota.size for quota in view.pool.quotas}
        missing = set(sizes)
        for key, size, *counts in await self._snapshot.rows("every_quota", self._columns["id"]):
            missing.discard(key)
            tally = Tally(*counts)
            view.tallies[key] = tally
            if key in sizes and size != sizes[key]:
                self._findings.add(PROMISE, f"its size is {size}, unlike its config", f"quota {key}")
            if self._compares:
                compare(self._findings, f"quota {key}", tally, replayed.get(key, Tally()))
        for key in missing:
            self._findings.add("nothing_lost", "it has no row", f"quota {key}")

    async def _read_bookings(self) -> None:
        view, replay, findings = self.view, self._replay, self._findings
        async for page in self._snapshot.stream("every_booking", self._columns["id"]):
            compared = []
            for row in page:
                replayed = replay.view.bookings.pop(row[1], None)
                if replayed is not None:
                    booking = replay.compare_row(replayed, row[:-1])
                    compared.append(replayed)
                else:
                    booking = self._without_log(row)
                if booking is not None and booking.state in IN_PLAY:
                    self._put(booking, row[-1])
            if self._compares and compared:
                await replay.compare_offers(compared)
            findings.bookings += len(page)
        if self._compares:
            for replayed in list(replay.view.bookings.values()):
                replay.compare_row(replayed, None)
        view.added = sorted(booking.place for booking in view.bookings.values() if booking.state == WAITING)

    def _without_log(self, row: Row) -> Booking | None:
        """A booking that the replay does not hold: it was compared when it ended, or there is none."""
        number = row[1]
        if self._compares and not self._replay.knows(number):
            compare(self._findings, f"booking {number}", row, None)
        if row[7] not in IN_PLAY:
            return None
        try:
            return rows.booking_of(row[:-1])
        except (msgspec.DecodeError, TypeError) as error:
            self._findings.add(PROMISE, f"its row cannot be read: {error}", f"booking {number}")
            return None

    def _put(self, booking: Booking, wants_key: str) -> None:
        place = f"booking {booking.number}"
        if booking.quota not in self.view.tallies:
            self._findings.add("no_oversell", f"there is no quota {booking.quota!r}", place)
            return
        if wants_key != booking.line_key:
            self._findings.add("nobody_jumps", "it would be looked for under other wants than its own", place)
        self.view.bookings[booking.number] = booking
        self.view.by_party.setdefault(booking.party.id, []).append(booking.number)

    async def _read_offers(self) -> None:
        view, findings = self.view, self._findings
        live: dict[tuple[int, int], Offer] = {}
        async for page in self._snapshot.stream("every_live_offer", self._columns["id"]):
            live.update(((row[1], row[2]), rows.offer_of(row)) for row in page)
        for number, seq in live:
            if number not in view.bookings:
                place = f"booking {number}, offer {seq}"
                findings.add("one_live_offer", "it is live and its booking is not in play", place)
        view.offers = live
        for number, seq in await self._snapshot.rows(
            "offers_without_booking", self._columns["id"], _ORPHANS_MAX
        ):
            findings.add("nothing_lost", "there is no such booking", f"booking {number}, offer {seq}")

    async def _read_units(self) -> None:
        view, findings = self.view, self._findings
        async for page in self._snapshot.stream("every_unit", self._columns["id"]):
            view.units.update((row[0], rows.unit_of(row)) for row in page)
        async for page in self._snapshot.stream("every_taking", self._columns["id"]):
            for label, number in page:
                self._take(label, number)
        if not self._compares:
            return
        replayed = self._replay.view.units
        for label in dict.fromkeys((*view.units, *replayed)):
            compare(findings, f"unit {label}", view.units.get(label), replayed.get(label))

    def _take(self, label: str, number: int) -> None:
        unit: Unit | None = self.view.units.get(label)
        booking = self.view.bookings.get(number)
        place = f"unit {label}"
        if unit is None:
            self._findings.add("no_oversell", f"booking {number} has it, and there is no such unit", place)
            return
        if unit.booking is not None:
            self._findings.add("no_oversell", f"bookings {unit.booking} and {number} both have it", place)
        if booking is None or booking.state not in TAKES_ROOM:
            self._findings.add("no_oversell", f"booking {number} has it and takes no room", place)
        self.view.units[label] = unit._replace(booking=number)

    async def _read_openings(self) -> None:
        view, findings = self.view, self._findings
        openings: dict[int, Opening] = {}
        async for page in self._snapshot.stream("every_opening", self._columns["id"]):
            openings.update((row[0], rows.opening_of(row)) for row in page)
        tried: dict[int, set[int]] = {}
        async for page in self._snapshot.stream("every_try", self._columns["id"]):
            for number, booking in page:
                tried.setdefault(number, set()).add(booking)
        if self._compares:
            self._compare_openings(openings, tried)
        for number, opening in openings.items():
            if opening.state in LIVE and opening.quota in view.tallies:
                view.load_openings([opening])
                view.tried.update(((number, booking), True) for booking in tried.get(number, ()))
        column, summed = self._columns["overflow"], overflow(view, aside=False)
        if column != summed:
            findings.add("tallies_add_up", f"its overflow is {column}, and its tallies make {summed}")

    def _compare_openings(self, openings: dict[int, Opening], tried: dict[int, set[int]]) -> None:
        replayed = self._replay.view
        for number in dict.fromkeys((*openings, *replayed.openings)):
            place = f"opening {number}"
            compare(self._findings, place, openings.get(number), replayed.openings.get(number))
            who = sorted(tried.get(number, ()))
            said = sorted(b for (o, b), had in replayed.tried.items() if had and o == number)
            if who != said:
                self._findings.add(PROMISE, f"it was tried with {who} and the log says {said}", place)
