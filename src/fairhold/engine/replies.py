"""What the jobs of a batch are answered, and what is kept of it under their idempotency keys."""

from __future__ import annotations

from collections.abc import Sequence

from fairhold import ids
from fairhold.answers import (
    Answer,
    decode_answer,
    encode_answer,
    handed_over,
    of_row,
    rehearsed,
)
from fairhold.core.refusals import idempotency_mismatch
from fairhold.engine.jobs import Job
from fairhold.shapes import Booking
from fairhold.store import rows
from fairhold.store.base import Reader
from fairhold.store.writer import Request

_Key = tuple[str, str]  # org and key


class Replies:
    """Answers to jobs, in the order in which they were decided."""

    def __init__(self, secret: str) -> None:
        self.answers: list[tuple[Job, Answer | Exception]] = []
        self.secret = secret
        # Answers under their keys, with the digest of what they were given to: of this batch, of the one that
        # is being written, and those found in the database, unless they were given to something else.
        self._kept: dict[_Key, tuple[bytes, Answer]] = {}
        self._kept_before: dict[_Key, tuple[bytes, Answer]] = {}
        self._found: dict[_Key, tuple[bytes, Answer | None]] = {}

    def follow(self, before: Replies) -> None:
        """Know the answers of the batch that is on its way into the database."""
        self._kept_before = before._kept

    async def look_up(self, reader: Reader, jobs: Sequence[Job]) -> None:
        """Look up what was answered under the keys of these jobs; who booked is read anew."""
        asked: dict[_Key, set[bytes]] = {}
        for job in jobs:
            if job.key is not None:
                asked.setdefault((job.org, job.key), set()).add(job.digest)
        if not asked:
            return
        bookings: dict[tuple[int, int], list[_Key]] = {}
        for org, key, stored, text in await reader.each("requests_by_key", list(asked)):
            digest = bytes(stored)
            answer = decode_answer(text) if digest in asked[org, key] else None
            self._found[org, key] = (digest, answer)
            if isinstance(answer, Booking) and (named := ids.booking_number(answer.id)) is not None:
                bookings.setdefault(named, []).append((org, key))
        if bookings:
            for row in await reader.each("bookings_by_number", list(bookings)):
                booking = rows.booking_of(row)
                for at in bookings[row[0], booking.number]:
                    digest, answer = self._found[at]
                    assert isinstance(answer, Booking)
                    self._found[at] = (digest, of_row(answer, booking))

    def answered_before(self, job: Job) -> bool:
        """Answer a job that was answered before under its key. True if there was such an answer."""
        if job.key is None:
            return False
        key = (job.org, job.key)
        kept: tuple[bytes, Answer | None] | None
        kept = self._kept.get(key) or self._kept_before.get(key) or self._found.get(key)
        if kept is None:
            return False
        digest, answer = kept
        if digest != job.digest or answer is None:
            answer = idempotency_mismatch()
        elif not job.dry_run:
            answer = handed_over(answer, job.command, self.secret)
        self.add(job, rehearsed(answer) if job.dry_run else answer)
        return True

    def add(self, job: Job, answer: Answer | Exception) -> None:
        """Answer a job once the batch is committed, and keep nothing under its key."""
        self.answers.append((job, answer))

    def keep(self, job: Job, answer: Answer) -> None:
        """Answer a job once the batch is committed, and keep the answer under its key."""
        self.answers.append((job, answer))
        if job.key is not None and not job.dry_run:
            self._kept[job.org, job.key] = (job.digest, answer)

    def requests(self) -> list[Request]:
        """Return what is kept under the keys of this batch, as it is written."""
        return [
            (org, key, digest, encode_answer(answer)) for (org, key), (digest, answer) in self._kept.items()
        ]
