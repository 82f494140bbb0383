"""Everything that decisions have changed, written in a few bulk statements of one transaction.

Law: rows, log, messages and the answers under idempotency keys go together or not at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from fairhold.core.model import WAITING, Instant, Unit
from fairhold.core.room import overflow
from fairhold.core.work import Decision
from fairhold.store import rows
from fairhold.store.base import Transaction, Write
from fairhold.store.blocks import LOWEST, Change, change_blocks, counting_newcomers
from fairhold.store.loaded import Loaded, counters_of

GENESIS: Final = bytes(32)


class StaleWrite(AssertionError):
    """A conditional write found another state than the decision was made on."""


# An idempotency key with the answer that it stands for: org, key, the digest of what was asked, the answer.
Request = tuple[str, str, bytes, str]


class Writer:
    """Collects the changes of a batch and writes them."""

    def __init__(self) -> None:
        self.now: Instant = 0
        self.requests: list[Request] = []
        self.tells_of_messages = True
        # Where new bookings came from: by (pool, number).
        self.sources: dict[tuple[int, int], str] = {}
        self._log: list[tuple[Any, ...]] = []
        self._outbox: list[tuple[Any, ...]] = []

    def record(self, loaded: Loaded, decision: Decision) -> None:
        """Chain the events of a decision to the pool's log, and put its messages into the outbox."""
        pool_id = loaded.pool_id
        for event, by in decision.entries:
            seq, kind, body = loaded.log_seq + 1, type(event).__name__, rows.text(event)
            digest = entry_digest(pool_id, seq, event.at, kind, by, body)
            loaded.log_hash = hashlib.sha256(loaded.log_hash + digest).digest()
            loaded.log_seq = seq
            booking = getattr(event, "booking", None)
            self._log.append((pool_id, seq, event.at, kind, booking, by, body, digest, loaded.log_hash))
        for part, message in enumerate(decision.messages):
            facts = rows.text(message.facts)
            due_at = loaded.now if message.due_at is None else message.due_at
            head = (pool_id, loaded.log_seq, part, message.kind, message.to, message.booking)
            self._outbox.append((*head, facts, loaded.now, due_at))

    def _news(self, pools: Sequence[Loaded]) -> list[tuple[str]]:
        """What other processes have to know: earlier due times, and that there are messages."""
        news = [(str(due_at),) for due_at in _brought_forward(pools)]
        return [*news, ("messages",)] if self._outbox and self.tells_of_messages else news

    @property
    def has_messages(self) -> bool:
        return bool(self._outbox)

    @property
    def last_entries(self) -> dict[int, tuple[int, bytes]]:
        """How each pool's log ends with this batch: the number, and the hash that vouches for all before."""
        return {entry[0]: (entry[1], entry[8]) for entry in self._log}

    async def write(self, tx: Transaction, pools: Sequence[Loaded]) -> None:
        """Write it all, in many statements."""
        for loaded in pools:
            if loaded.config_version == 0:
                await self._insert_pool(tx, loaded)
            elif loaded.view.pool.version != loaded.config_version:
                await self._update_config(tx, loaded)
        plain = self.is_plain(pools)
        for name, rows_, exact in self.plain_writes(pools) if plain else self.row_writes(pools):
            if await tx.many(name, rows_) != len(rows_) and exact:
                raise StaleWrite(f"{name} found something else than the decision had seen")
        if not plain:
            await change_blocks(tx, _changes_of_line(pools))

    def is_plain(self, pools: Sequence[Loaded]) -> bool:
        """True if nothing must be read to write it: no pool's rules change, lines grow at their ends."""
        return all(it.view.pool.version == it.config_version and _grows_at_its_end(it) for it in pools)

    def plain_writes(self, pools: Sequence[Loaded]) -> list[Write]:
        """Return all bulk statements of a plain batch, in their order."""
        newcomers = [_newcomers(it) for it in pools if it.view.added]
        return [*self.row_writes(pools), *counting_newcomers(newcomers)]

    def row_writes(self, pools: Sequence[Loaded]) -> list[Write]:
        """Return the bulk statements for rows, log, messages and kept answers, in their order."""
        return [write for write in self.all_writes(pools) if write.rows]

    def all_writes(self, pools: Sequence[Loaded]) -> list[Write]:
        """Return the same, and those that have nothing to write."""
        return [
            *self._booking_writes(pools),
            *self._offer_writes(pools),
            *self._unit_writes(pools),
            *self._counter_writes(pools),
            Write("insert_log", self._log),
            Write("insert_outbox", self._outbox),
            Write("insert_requests", [(*request, self.now) for request in self.requests]),
            Write("notify", self._news(pools)),
        ]

    async def _insert_pool(self, tx: Transaction, loaded: Loaded) -> None:
        view, pool = loaded.view, loaded.view.pool
        head = (pool.id, pool.org, pool.key, rows.text(pool), pool.version, pool.status, pool.open_size)
        log = (loaded.log_seq, loaded.log_hash, loaded.now, loaded.now)
        await tx.run("insert_pool", *head, *_counters(loaded), view.due_at, *log)
        await tx.many("insert_blocks", [(pool.id, LOWEST, 0)])

    async def _update_config(self, tx: Transaction, loaded: Loaded) -> None:
        pool = loaded.view.pool
        values = (
            pool.id,
            rows.text(pool),
            pool.version,
            pool.status,
            pool.open_size,
            overflow(loaded.view, aside=False),
        )
        await tx.run("update_config", *values)

    def _booking_writes(self, pools: Sequence[Loaded]) -> list[Write]:
        inserted, holds, updated, moved, details = [], [], [], [], []
        for loaded in pools:
            pool_id, known = loaded.pool_id, loaded.bookings
            for number, booking in loaded.view.bookings.items():
                old = known.get(number)
                if old is None:
                    source = self.sources.get((pool_id, number)) if self.sources else None
                    hold = rows.held(pool_id, booking, source)
                    if hold is not None:
                        holds.append(hold)
                    else:
                        inserted.append(rows.inserted(pool_id, booking, source))
                elif old is not booking:
                    updated.append(rows.updated(pool_id, old, booking))
                    if old.state == booking.state == WAITING and old.place != booking.place:
                        moved.append((pool_id, number, LOWEST + number))
                    if rows.other_details(old, booking):
                        details.append(rows.details(pool_id, booking))
        # Those who leave the line go first, so that a place or a party is free for those who enter it.
        updated.sort(key=lambda row: row[5] in ("waiting", "offered"))
        return [
            # One may come to stand where another stood: all who move step out of the line first.
            Write("step_out", moved if len(updated) > 1 else []),
            Write("update_bookings", updated, exact=True),
            Write("change_details", details, exact=True),
            Write("insert_bookings", inserted),
            Write("insert_holds", holds),
        ]

    def _offer_writes(self, pools: Sequence[Loaded]) -> list[Write]:
        answered, made, openings, tries, cleared = [], [], [], [], []
        for loaded in pools:
            view, pool_id = loaded.view, loaded.pool_id
            for key, offer in view.offers.items():
                old = loaded.offers.get(key)
                if old is None:
                    made.append(rows.offer_row(pool_id, offer))
                    asked = [(number, offer.booking) for number in offer.openings]
                    tries += [(pool_id, *key) for key in asked if view.tried[key]]
                elif old is not offer:
                    answered.append((pool_id, *key, offer.outcome, offer.answered_at, offer.part, offer.told))
            cleared += [(pool_id, *key) for key, had in view.tried.items() if not had]
            openings += [
                (pool_id, *opening)
                for number, opening in view.openings.items()
                if loaded.openings.get(number) is not opening
            ]
        return [
            Write("answer_offers", answered, exact=True),
            Write("insert_offers", made),
            Write("upsert_openings", openings),
            Write("insert_tries", list(dict.fromkeys(tries))),
            Write("delete_tries", cleared),
        ]

    def _unit_writes(self, pools: Sequence[Loaded]) -> list[Write]:
        changed, freed, taken = [], [], []
        for loaded in pools:
            pool_id = loaded.pool_id
            for label, unit in loaded.view.units.items():
                old = loaded.units.get(label)
                if old is unit:
                    continue
                if old is None or _alone(old) != _alone(unit):
                    changed.append(rows.unit_row(pool_id, unit))
                had, has = old.booking if old else None, unit.booking
                if had != has and had is not None:
                    freed.append((pool_id, label, had))
                if had != has and has is not None:
                    taken.append((pool_id, label, has))
        return [
            Write("upsert_units", changed),
            Write("delete_takings", freed),
            Write("insert_takings", taken),
        ]

    def _counter_writes(self, pools: Sequence[Loaded]) -> list[Write]:
        quotas, counters = [], []
        for loaded in pools:
            view, new = loaded.view, loaded.config_version == 0
            resized = view.pool.version != loaded.config_version
            for quota in view.pool.quotas:
                tally = view.tallies[quota.key]
                if resized or loaded.tallies.get(quota.key) != tally:
                    quotas.append((loaded.pool_id, quota.key, quota.size, *tally))
            if not new:
                log = (loaded.log_seq, loaded.log_hash, loaded.now, loaded.seen_hash)
                counters.append((loaded.pool_id, *_counters(loaded), view.due_at, *log))
        return [Write("upsert_quotas", quotas), Write("update_pools", counters, exact=True)]


def entry_digest(pool_id: int, seq: int, at: Instant, kind: str, by: str, body: str) -> bytes:
    """What the chain vouches for. It is stored, so that a body can be erased and the chain stay whole."""
    return hashlib.sha256(f"{pool_id}\n{seq}\n{at}\n{kind}\n{by}\n{body}".encode()).digest()


def _counters(loaded: Loaded) -> tuple[Any, ...]:
    return (overflow(loaded.view, aside=False), *counters_of(loaded.view))


def _brought_forward(pools: Sequence[Loaded]) -> list[Instant]:
    """The due times that are earlier than they were."""
    times = [(loaded.view.due_at, loaded.due_at) for loaded in pools]
    return [new for new, old in times if new is not None and (old is None or new < old)]


def _changes_of_line(pools: Sequence[Loaded]) -> list[Change]:
    """The places that were entered and left."""
    changes = [(p.pool_id, place, 1) for p in pools for place in p.view.added]
    return changes + [(p.pool_id, place, -1) for p in pools for place in p.view.removed]


def _grows_at_its_end(loaded: Loaded) -> bool:
    """True if people come to the end of the line at most, and it is known how many did before."""
    view = loaded.view
    if view.removed or not view.added:
        return not view.removed
    return loaded.entered is not None and view.added[0] > view.loaded_last_place


def _newcomers(loaded: Loaded) -> tuple[int, Sequence[int], int]:
    assert loaded.entered is not None
    return loaded.pool_id, loaded.view.added, loaded.entered


def _alone(unit: Unit) -> Unit:
    return unit._replace(booking=None)
