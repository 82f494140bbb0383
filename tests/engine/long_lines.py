"""Pools with very long lines, written to a database as fast as it takes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairhold import granted
from fairhold.config import make_store
from fairhold.core import line
from fairhold.core.model import CONFIRMED, HELD, WAITING, Booking, Party, Wants
from fairhold.core.reference import reference
from fairhold.store import blocks, rows
from fairhold.store.postgres.store import PostgresTransaction
from tests.database import START, ask, opened

LONG = 100_000
ODD = 10_000
WISHES = 2_500
SEATS = 10

WINDOW = Wants({"attribute": "side", "is": "window"})


async def prepare(url: str) -> None:
    offers: dict[str, Any] = {"offers_live_max": None, "attempts_max": None}
    priority = {"priority_rules": [{"when": {"tag": "first"}, "add": 5}, {"when": {"tag": "next"}, "add": 1}]}
    by_round = {"preset": "class_waitlist", "policy": {**offers, "cooldown": "0s"}}
    async with opened(url) as hf:
        long: dict[str, Any] = {"preset": "course_section", "policy": {**offers, **priority}}
        granted(await hf.create_pool("long", quotas={"main": SEATS}, **long))
        granted(await hf.create_pool("signup", preset="event_signup", quotas={"main": SEATS}))
        granted(await hf.create_pool("pairs", preset="course_section", quotas={"main": SEATS}))
        granted(await hf.create_pool("turns", quotas={"main": SEATS}, **by_round))
        member = [{"key": "main", "size": SEATS, "eligible": {"tag": "member"}}]
        granted(await hf.create_pool("members", preset="course_section", quotas=member))
        units = [{"label": f"aisle {n}", "attributes": {"side": "aisle"}} for n in range(SEATS)]
        granted(
            await hf.create_pool("wishes", preset="last_minute", quotas=[{"key": "main", "units": units}])
        )
        granted(await hf.create_pool("seats", preset="last_minute", quotas=[{"key": "main", "units": units}]))
    plain = Booking(0, "", Party(""), "main", 1, WAITING, 0, 0, created_at=START, updated_at=START)
    await fill(url, "long", LONG, plain)
    await fill(url, "signup", ODD, plain._replace(expires_at=START + 3_600_000))
    await fill(url, "pairs", ODD, plain._replace(quantity=2))
    await fill(url, "turns", ODD, plain._replace(round=1, attempts=1, offer_seq=1, offered_at=START))
    await fill(url, "seats", ODD, plain._replace(wants=WINDOW))
    await fill(url, "members", ODD, plain, guests=300)
    await fill(url, "wishes", WISHES, plain)


async def fill(url: str, key: str, waiting: int, like: Booking, guests: int = 0) -> None:
    """Write a pool's seats, all taken, and its line, by the store's bulk statements. Guests come first."""
    [(pool_id, seq, head)] = await ask(
        url, f"SELECT id, log_seq, log_hash FROM fairhold_pools WHERE key = '{key}'"
    )
    [(units,)] = await ask(url, f"SELECT units_made FROM fairhold_pools WHERE key = '{key}'")
    listed = []
    for number in range(1, SEATS + waiting + 1):
        booking = like._replace(
            number=number,
            reference=reference(pool_id, number),
            party=Party(f"party {number}", tags=("member",) if number > SEATS + guests else ()),
            place=line.place_of(0, number),
            arrival=number,
        )
        if key == "wishes":
            booking = booking._replace(wants=wish(number))
        if number <= SEATS:
            booking = taking(booking, (f"aisle {number - 1}",) if units else ())
        listed.append(booking)
    places = [booking.place for booking in listed[SEATS:]]
    starts = range(0, len(places), blocks.LONG // 2)
    counts = [(places[at], len(places[at : at + blocks.LONG // 2])) for at in starts]
    store = make_store(url)
    await store.open()
    tx = await store.begin()
    if isinstance(tx, PostgresTransaction):
        # A hundred thousand rows at once may take longer than any command does, and that is no fault.
        tx._deadline.cancel()
        tx._beginning = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0"
    await tx.many("insert_bookings", [rows.inserted(pool_id, booking) for booking in listed])
    for low, number in counts:
        await tx.many("insert_blocks", [(pool_id, low, number)])
    if units:
        await tx.many("insert_takings", [(pool_id, b.units[0], b.number) for b in listed if b.units])
    await tx.many("upsert_quotas", [(pool_id, "main", 0 if units else SEATS, SEATS, waiting, 0, 0, 1)])
    made = (0, len(listed), len(listed), 0, units, 1, places[0], places[-1])
    due_at = min((b.expires_at for b in listed if b.expires_at), default=None)
    await tx.many("update_pools", [(pool_id, *made, due_at, seq, bytes(head), START, bytes(head))])
    await tx.commit()
    await store.close()


def taking(booking: Booking, units: tuple[str, ...]) -> Booking:
    """Half of the seats are confirmed, half held; each for one."""
    held = booking.number % 2 == 0
    return booking._replace(
        state=HELD if held else CONFIRMED, quantity=1, units=units, wants=None, round=0, attempts=0,
        offer_seq=0, offered_at=None, held_at=START, expires_at=START + 900_000 if held else None,
        confirmed_at=None if held else START,
    )  # fmt: skip


def wish(number: int) -> Wants:
    """Everyone wants something else. The first in line comes last in the order in which wants are indexed."""
    wants = Wants(None, START + number, START + 86_400_000)
    while number == SEATS + 1 and not wants.key.startswith("ff"):
        wants = replace(wants, until_at=(wants.until_at or 0) + 1)
    return wants
