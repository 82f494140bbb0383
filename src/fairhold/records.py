"""What the outside sees of a pool's record: entries of its log, its openings, its messages and its figures;
and of an org, how and to whom else its messages are told.

Like the shapes of pools and bookings these are values that turn into JSON as they are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from fairhold import ids
from fairhold.clock import to_datetime
from fairhold.instants import in_utc
from fairhold.policy_document import in_seconds
from fairhold.shapes import named_facts
from fairhold.store import rows
from fairhold.store.base import Row
from fairhold.store.writer import entry_digest

_MESSAGE: Final = re.compile(r"p[0-9a-z]{13}-([0-9]{1,18})-([0-9]{1,9})")


class LogEntry(msgspec.Struct, frozen=True):
    """One thing that happened, and the hash that chains it to all before it.

    `redacted` says that it named a person who was forgotten since.
    """

    seq: int
    at: datetime
    event: str
    booking: str | None
    by: str
    facts: Mapping[str, Any]
    hash: str
    redacted: bool = False


class Opening(msgspec.Struct, frozen=True):
    """Room that became free: `unit` has a name where the quota has units, else `quantity` says how much."""

    number: int
    quota: str
    unit: str | None
    opened_at: datetime
    state: str
    tries: int
    quantity: int
    note: str


class Message(msgspec.Struct, frozen=True):
    """One thing to tell somebody, and how far it has come."""

    id: str
    kind: str
    to: str
    booking: str | None
    facts: Mapping[str, Any]
    created_at: datetime
    state: str
    attempts: int
    error: str


class Delivery(msgspec.Struct, frozen=True):
    """How a message fared with one of its targets."""

    target: str
    state: str
    attempts: int
    at: datetime
    error: str


class Dismissal(msgspec.Struct, frozen=True):
    """Who of staff put a dead letter away, and when."""

    by: str
    at: datetime


class MessageFate(Message, frozen=True):
    """A message, when it is due, and how it fared with each of its targets."""

    due_at: datetime
    deliveries: tuple[Delivery, ...]
    dismissed: Dismissal | None = None


class Template(msgspec.Struct, frozen=True):
    """One part of a kind of message in an org's own words."""

    kind: str
    language: str
    part: str
    text: str
    by: str
    updated_at: datetime


class Preview(msgspec.Struct, frozen=True):
    """How one case of a kind of message reads."""

    subject: str
    text: str
    html: str
    sms: str


class Webhook(msgspec.Struct, frozen=True):
    """Where a program of an org is told, and the secret that messages to it are signed with."""

    id: str
    url: str
    payload: str
    kinds: tuple[str, ...]
    secret: str
    created_at: datetime


class WebhookTest(msgspec.Struct, frozen=True):
    """How a test went: sent or failed, and why."""

    id: str
    state: str
    error: str


class WebhookDelivery(msgspec.Struct, frozen=True):
    """How a message fared at a webhook: pending, sent or dead, and after how many tries."""

    message: str
    kind: str
    booking: str | None
    state: str
    attempts: int
    at: datetime
    error: str
    created_at: datetime
    place: str


class StaffContact(msgspec.Struct, frozen=True):
    """Where somebody of staff is told what needs them."""

    id: str
    notifier: str
    address: str
    locale: str
    created_at: datetime


class QuotaUse(msgspec.Struct, frozen=True):
    """How much of a quota is taken, and what is free; None is unlimited."""

    used: int
    room: int | None


class Stats(msgspec.Struct, frozen=True):
    """The figures of a pool that staff watch: bookings by state, offers by outcome, and room by quota.

    `clock_ahead_s` is not 0 while the machine's clock is wrong: it has leapt, or is not that of the database.
    """

    active_holds: int
    expired_holds: int
    total_held_seats: int
    holds_expiring_soon: int
    bookings: Mapping[str, int]
    waiting: int
    offers_live: int
    offers: Mapping[str, int]
    quotas: Mapping[str, QuotaUse]
    clock_ahead_s: int = 0


class Totals(msgspec.Struct, frozen=True):
    """The figures of all pools of an org together."""

    pools: int
    active_holds: int
    expired_holds: int
    total_held_seats: int
    holds_expiring_soon: int
    waiting: int
    offers_live: int
    bookings: Mapping[str, int]
    offers: Mapping[str, int]
    clock_ahead_s: int = 0


def log_entry(pool_id: int, row: Row) -> LogEntry:
    seq, at, kind, booking, by, body, digest, head = row
    facts = named_facts(pool_id, rows.mapping_of(body))
    if kind == "Erased":
        facts["bookings"] = [ids.booking_text(pool_id, number) for number in facts["bookings"]]
    return LogEntry(
        seq,
        to_datetime(at),
        kind,
        None if booking is None else ids.booking_text(pool_id, booking),
        by,
        facts,
        bytes(head).hex(),
        entry_digest(pool_id, seq, at, kind, by, body) != bytes(digest),
    )


def shown_entry(entry: LogEntry) -> LogEntry:
    """An entry of the log as programs outside see it: instants as text, lengths in seconds, pools by id."""
    told = in_utc(msgspec.to_builtins(entry))
    pool = told["facts"].get("pool")
    if isinstance(pool, dict):
        pool |= {"id": ids.pool_text(pool["id"]), "policy": in_seconds(pool["policy"])}
    return msgspec.convert(told, LogEntry)


def totals(pools: Sequence[Stats]) -> Totals:
    """The sums over the figures of some pools."""
    states: Counter[str] = Counter()
    offers: Counter[str] = Counter()
    for stats in pools:
        states.update(stats.bookings)
        offers.update(stats.offers)
    return Totals(
        len(pools),
        sum(stats.active_holds for stats in pools),
        sum(stats.expired_holds for stats in pools),
        sum(stats.total_held_seats for stats in pools),
        sum(stats.holds_expiring_soon for stats in pools),
        sum(stats.waiting for stats in pools),
        sum(stats.offers_live for stats in pools),
        states,
        offers,
        max((stats.clock_ahead_s for stats in pools), key=abs, default=0),
    )


def opening(row: Row) -> Opening:
    it = rows.opening_of(row)
    return Opening(**(it._asdict() | {"opened_at": to_datetime(it.opened_at)}))


def message_place(name: object) -> tuple[int, int] | None:
    """Where a message stands in its pool's outbox, from its id; None if the text is no such id."""
    found = _MESSAGE.fullmatch(name) if isinstance(name, str) else None
    return None if found is None else (int(found[1]), int(found[2]))


def message(row: Row) -> Message:
    pool_id, seq, part, kind, recipient, booking, facts, created_at, state, _, attempts, error = row
    return Message(
        f"{ids.pool_text(pool_id)}-{seq}-{part}",
        kind,
        recipient,
        None if booking is None else ids.booking_text(pool_id, booking),
        rows.mapping_of(facts),
        to_datetime(created_at),
        state,
        attempts,
        error,
    )


def message_fate(row: Row, deliveries: Sequence[Row], dismissals: Sequence[Row]) -> MessageFate:
    told = tuple(
        Delivery(target, state, attempts, to_datetime(at), error)
        for target, state, attempts, at, error in deliveries
    )
    known = msgspec.structs.asdict(message(row))
    away = next((Dismissal(by, to_datetime(at)) for by, at in dismissals), None)
    return MessageFate(**known, due_at=to_datetime(row[9]), deliveries=told, dismissed=away)


def webhook_delivery(row: Row) -> WebhookDelivery:
    pool_id, seq, part, kind, booking, state, attempts, at, error, created_at = row
    message = f"{ids.pool_text(pool_id)}-{seq}-{part}"
    return WebhookDelivery(
        message,
        kind,
        None if booking is None else ids.booking_text(pool_id, booking),
        state,
        attempts,
        to_datetime(at),
        error,
        to_datetime(created_at),
        f"{at}-{message}",
    )
