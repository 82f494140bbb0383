"""What is in hand of the pools: the locked ones of a batch, and what is remembered for the next.

Truth is in the database, under its lock. What is remembered is used only if the pool's row, read under
the lock, says that nothing has happened since: every change of it makes an entry in the log, and the
hash of the last entry is in that row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from holdfast.core.model import Booking, Instant, Offer, Opening, Pool, Tally, Unit
from holdfast.core.openings import LIVE
from holdfast.core.view import View

_REMEMBERED_MAX: Final = 2_000


@dataclass(slots=True)
class Loaded:
    """A locked pool: its view, and the rows as they were, to tell what has changed."""

    pool_id: int
    view: View
    log_seq: int = 0
    log_hash: bytes = b""
    config_version: int = 0
    due_at: Instant | None = None
    more_due: bool = False
    bookings: dict[int, Booking] = field(default_factory=dict)
    offers: dict[tuple[int, int], Offer] = field(default_factory=dict)
    units: dict[str, Unit] = field(default_factory=dict)
    openings: dict[int, Opening] = field(default_factory=dict)
    tallies: dict[str, Tally] = field(default_factory=dict)
    seen_seq: int = 0

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return self.log_seq != self.seen_seq or self.view.due_at != self.due_at


class Standing(NamedTuple):
    """What every decision on a pool looks at, as it was when the log ended with this hash."""

    log_hash: bytes
    tallies: Mapping[str, Tally]
    units: Mapping[str, Unit]
    openings: Mapping[int, Opening]
    tried: Mapping[tuple[int, int], bool]


class Memory:
    """Configs by version and standings by the log's hash, so that a hot pool is not read again each time."""

    def __init__(self) -> None:
        self.configs: dict[int, tuple[int, Pool]] = {}
        self._standings: dict[int, Standing] = {}

    def standing(self, pool_id: int, log_hash: bytes) -> Standing | None:
        known = self._standings.get(pool_id)
        return known if known is not None and known.log_hash == log_hash else None

    def keep(self, loaded: Loaded) -> None:
        """Remember a pool as a committed batch has left it."""
        view = loaded.view
        if not view.units_whole:
            self._standings.pop(loaded.pool_id, None)
            return
        openings = {n: o for n, o in view.openings.items() if o.state in LIVE}
        tried = {key: True for key, had in view.tried.items() if had and key[0] in openings}
        units = {label: unit for label, unit in view.units.items() if not unit.closed}
        if len(self._standings) >= _REMEMBERED_MAX:
            self._standings.clear()
            self.configs.clear()
        self._standings[loaded.pool_id] = Standing(
            loaded.log_hash, dict(view.tallies), units, openings, tried
        )
