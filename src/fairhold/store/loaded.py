"""What is in hand of the pools: the ones of a batch, and what is remembered for the next.

Truth is in the database, under its lock. What is remembered counts only if the pool's row, read under the
lock, says that nothing has happened since: every change of it makes an entry in the log, and the hash of
the last entry is in that row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from fairhold.core.model import LIVE, Booking, Instant, Offer, Opening, Pool, Tally, Unit
from fairhold.core.view import View

_REMEMBERED_MAX: Final = 2_000


class Counters(NamedTuple):
    """What a pool counts, in the order of its row."""

    numbers: int
    arrivals: int
    openings_made: int
    units_made: int
    round: int
    first_place: int
    last_place: int


@dataclass(slots=True)
class Loaded:
    """A pool in hand: its view, and the rows as they were, to tell what has changed.

    `now` is the clock's, but never before the pool's last change, whichever process made that.
    """

    pool_id: int
    view: View
    log_seq: int = 0
    log_hash: bytes = b""
    config_version: int = 0
    due_at: Instant | None = None
    now: Instant = 0
    more_due: bool = False
    bookings: dict[int, Booking] = field(default_factory=dict)
    offers: dict[tuple[int, int], Offer] = field(default_factory=dict)
    units: dict[str, Unit] = field(default_factory=dict)
    openings: dict[int, Opening] = field(default_factory=dict)
    tallies: dict[str, Tally] = field(default_factory=dict)
    seen_seq: int = 0
    seen_hash: bytes = b""
    # How many have entered the last block of the line since it was begun, or looked at; None if unknown, for
    # another process may have let them in: then somebody has to look before more enter it.
    entered: int | None = None

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return self.log_seq != self.seen_seq or self.view.due_at != self.due_at

    def recall(self, known: Standing) -> None:
        """Take over what was remembered of the pool."""
        view = self.view
        self.tallies.update(known.tallies)
        view.tallies.update(known.tallies)
        self.units.update(known.units)
        view.units.update(known.units)
        self.openings.update(known.openings)
        view.load_openings(known.openings.values())
        view.tried.update(known.tried)
        self.entered = known.entered

    def expect_line(self) -> None:
        """The line begins as the tallies say; who stands in it is not known yet."""
        view = self.view
        view.loaded_waiting = view.waiting
        if view.loaded_waiting:
            view.heads, view.prefix_whole = None, False


def begin_loaded(
    pool: Pool, counters: Counters, due_at: Instant | None, seq: int, head: bytes, now: Instant
) -> Loaded:
    """A pool of which nothing but its row is known."""
    view = View(pool)
    view.whole = False
    view.numbers, view.arrivals, view.openings_made, view.units_made = counters[:4]
    view.round, view.first_place, view.last_place = counters[4:]
    view.due_at = due_at
    view.loaded_arrivals, view.loaded_last_place = view.arrivals, view.last_place
    return Loaded(pool.id, view, seq, head, pool.version, due_at, now, seen_seq=seq, seen_hash=head)


def counters_of(view: View) -> Counters:
    made = (view.numbers, view.arrivals, view.openings_made, view.units_made)
    return Counters(*made, view.round, view.first_place, view.last_place)


class Standing(NamedTuple):
    """What every decision on a pool looks at, as it was when the log ended with this hash."""

    pool: Pool
    counters: Counters
    due_at: Instant | None
    log_seq: int
    log_hash: bytes
    at: Instant
    tallies: Mapping[str, Tally]
    units: Mapping[str, Unit]
    openings: Mapping[int, Opening]
    tried: Mapping[tuple[int, int], bool]
    entered: int | None

    def loaded(self, now: Instant) -> Loaded:
        """The pool as it is remembered, to decide on."""
        found = begin_loaded(
            self.pool, self.counters, self.due_at, self.log_seq, self.log_hash, max(now, self.at)
        )
        found.recall(self)
        found.expect_line()
        return found


class Memory:
    """Configs by version and standings by the log's hash, so that a hot pool is not read again each time."""

    def __init__(self) -> None:
        self.configs: dict[int, tuple[int, Pool]] = {}
        self._standings: dict[int, Standing] = {}

    def last(self, pool_id: int) -> Standing | None:
        """The pool as this process last left it; another may have changed it since."""
        return self._standings.get(pool_id)

    def standing(self, pool_id: int, log_hash: bytes) -> Standing | None:
        known = self._standings.get(pool_id)
        return known if known is not None and known.log_hash == log_hash else None

    def config(self, pool_id: int, version: int) -> Pool | None:
        known = self.configs.get(pool_id)
        return known[1] if known is not None and known[0] == version else None

    def keep_config(self, version: int, pool: Pool) -> None:
        if len(self.configs) >= _REMEMBERED_MAX:
            self.configs.clear()
        self.configs[pool.id] = (version, pool)

    def keep(self, loaded: Loaded, entered: int | None) -> None:
        """Remember a pool as a batch has left it, with so many that have entered its last block."""
        view = loaded.view
        if not view.units_whole:
            self._standings.pop(loaded.pool_id, None)
            return
        openings = {n: o for n, o in view.openings.items() if o.state in LIVE}
        tried = {key: True for key, had in view.tried.items() if had and key[0] in openings}
        units = {label: unit for label, unit in view.units.items() if not unit.closed}
        if len(self._standings) >= _REMEMBERED_MAX:
            self._standings.clear()
        self._standings[loaded.pool_id] = Standing(
            view.pool,
            counters_of(view),
            view.due_at,
            loaded.log_seq,
            loaded.log_hash,
            loaded.now,
            dict(view.tallies),
            units,
            openings,
            tried,
            entered,
        )

    def forget(self, pool_id: int) -> None:
        self._standings.pop(pool_id, None)


def entered_unless_looked_at(loaded: Loaded) -> int | None:
    """How many have entered the last block since it was looked at, as it is when somebody enters it."""
    view = loaded.view
    at_the_end = view.added and view.added[-1] > view.loaded_last_place
    return 0 if at_the_end else loaded.entered
