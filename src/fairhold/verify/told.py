"""Whether what must be told stands in the outbox, once, and nothing else does.

A decision's messages stand at the last log entry of the decision, so those up to one place in the outbox
must be just what the events since the place before ask for.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Final, NamedTuple

from fairhold.core.events import Event
from fairhold.store.base import Row
from fairhold.verify.promises import messages_for, reminded_by
from fairhold.verify.report import Findings

_STATES: Final = ("pending", "sent", "dead", "not_sent", "dropped")


class _Due(NamedTuple):
    kind: str
    booking: int | None
    seq: int


class Told:
    """Follows the log and the outbox side by side."""

    def __init__(self, findings: Findings, outbox: AsyncIterator[Sequence[Row]]) -> None:
        self._findings = findings
        self._outbox = outbox
        self._page: list[Row] = []
        self._due: list[_Due] = []
        self._reminded: list[int | None] = []
        self._unsure = False
        self._seen: tuple[int, int] = (0, -1)

    async def messages_to(self, seq: int) -> dict[int, list[Row]]:
        """The messages that stand at log entries up to this one, by entry; each is given once."""
        found: dict[int, list[Row]] = {}
        while True:
            while self._page and self._page[-1][0] <= seq:
                row = self._page.pop()
                found.setdefault(row[0], []).append(row)
            if self._page:
                return found
            page = await anext(self._outbox, None)
            self._page = list(reversed(page)) if page else []
            if not self._page:
                return found

    def entry(self, seq: int, event: Event | None, messages: Sequence[Row]) -> None:
        """An entry of the log, None if it could not be read, and the messages that stand at it."""
        if event is None:
            self._unsure = True
        else:
            self._due += [_Due(kind, about, seq) for kind, about in messages_for(event)]
            self._reminded.append(reminded_by(event))
        if messages:
            for row in messages:
                self._message(row)
            self.end()

    def without_entry(self, rows: Sequence[Row]) -> None:
        """Messages that stand at an entry which there is not."""
        for seq, part, kind, *_ in rows:
            self._findings.add("told_once", f"there is no such log entry for {kind!r}", _place(seq, part))

    def end(self) -> None:
        """Nothing more belongs to what was due up to here."""
        for due in self._due:
            about = "staff" if due.booking is None else f"booking {due.booking}"
            sentence = f"the message {due.kind!r} about {about} is not in the outbox"
            self._findings.add("nothing_lost", sentence, f"log entry {due.seq}")
        self._due.clear()
        self._reminded.clear()
        self._unsure = False

    def _message(self, row: Row) -> None:
        seq, part, kind, recipient, booking, state, attempts = row
        add, place = self._findings.add, _place(seq, part)
        if (seq, part) == self._seen:
            add("told_once", "it stands there twice", place)
        self._seen = (seq, part)
        if state not in _STATES or attempts < 0:
            add("told_once", f"it is {state!r} after {attempts} tries, which cannot be", place)
        if (recipient == "staff") != (booking is None):
            add("told_once", f"it is about {booking} and goes to {recipient!r}", place)
        if kind == "hold_ending" and booking in self._reminded:
            self._reminded.remove(booking)
            return
        for due in self._due:
            if (due.kind, due.booking) == (kind, booking):
                self._due.remove(due)
                return
        if not self._unsure:
            add("told_once", f"no event asks for {kind!r} about booking {booking}", place)


def _place(seq: int, part: int) -> str:
    return f"message {seq}-{part}"
