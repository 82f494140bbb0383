"""Limits on live holds by source and by party, so that nobody can keep every seat for a while.

Only what public keys ask is limited, for those are everybody's. The holds are counted in the database, in the
transaction that would add one, and so over all nodes. Two nodes that add one in different pools at the very
same instant do not see each other's: between them a limit may be passed by what is in flight at that instant.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from fairhold import ids
from fairhold.core import commands as c
from fairhold.core.model import HELD, Instant
from fairhold.core.refusals import Refusal, invalid, is_whole
from fairhold.shapes import Booking

if TYPE_CHECKING:
    from fairhold.answers import Answer
    from fairhold.engine.jobs import Job
    from fairhold.store.base import Reader

# No more are counted, so a limit above this is this.
COUNTED_MAX: Final = 1_000


class Source(NamedTuple):
    """Where a request comes from, as a keyed hash, and how many live holds it may have. 0 is no limit."""

    address: str
    per_address_max: int
    per_party_max: int


def wrong_source(source: object) -> Refusal | None:
    """What is said of a source that is none; None if it is one."""
    values: tuple[object, ...] = source if isinstance(source, Source) else ()
    if values and isinstance(values[0], str) and all(is_whole(it, 2**31 - 1, 0) for it in values[1:]):
        return None
    return invalid("source", "source must be a Source of an address and two limits.")


class _Live(NamedTuple):
    holds: int = 0
    first_ends_at: Instant | None = None


class Limits:
    """The live holds that count against the jobs of one batch."""

    def __init__(self, now: Instant) -> None:
        self._now = now
        self._live: dict[tuple[str, ...], _Live] = {}
        # Where the bookings of this batch came from, by (pool, number).
        self.sources: dict[tuple[int, int], str] = {}

    async def count(self, reader: Reader, jobs: Iterable[Job]) -> None:
        """Count the holds of those who ask for one here with a limit."""
        names = {name: most for job in jobs for name, most in _limits(job)}
        sources = [(name[1], self._now) for name in names if name[0] == "address"]
        parties = [(name[1], name[2], self._now) for name in names if name[0] == "party"]
        if sources:
            for source, *live in await reader.each("holds_of_sources", sources):
                self._live["address", source] = _Live(*live)
        if parties:
            for org, party, *live in await reader.each("public_holds_of_parties", parties):
                self._live["party", org, party] = _Live(*live)

    def refusal(self, job: Job) -> Refusal | None:
        """The no to a job that would be one hold too many."""
        for name, most in _limits(job):
            live = self._live.get(name, _Live())
            if live.holds >= most:
                wait_s = -(-((live.first_ends_at or self._now) - self._now) // 1000)
                sentence = f"This {name[0]} has {live.holds} live holds; confirm or cancel one first."
                return Refusal("too_many_requests", sentence, None, {"retry_after_s": max(1, wait_s)})
        return None

    def note(self, job: Job, answer: Answer) -> None:
        """Remember where a booking came from; a hold counts for those who come after it in this batch."""
        if job.source is None or not isinstance(answer, Booking):
            return
        named = ids.booking_number(answer.id)
        assert named is not None
        self.sources[named] = job.source.address
        if answer.state == HELD:
            for name, _ in _limits(job):
                live = self._live.get(name, _Live())
                self._live[name] = live._replace(holds=live.holds + 1)


def _limits(job: Job) -> list[tuple[tuple[str, ...], int]]:
    source = job.source
    if source is None or not isinstance(job.command, c.Book):
        return []
    limits = [
        (("address", source.address), source.per_address_max),
        (("party", job.org, job.command.party.id), source.per_party_max),
    ]
    return [(name, min(most, COUNTED_MAX)) for name, most in limits if most]
