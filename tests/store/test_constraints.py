"""What must never be is refused by the database itself, by the name of the promise it would break."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import AsyncIterator

import asyncpg
import pytest

from fairhold import Fairhold, granted
from fairhold.accounts.members import Members
from fairhold.keys import Keys
from fairhold.store.queries import load_migrations
from tests.database import Ask, asking, dialect_of, opened

# For each name: a statement that would break the promise, on a pool with one of everything. In it, {pool} is
# the pool's id. SQLite says the columns of a unique index instead of its name: these are given where it does.
BOOKING = """
    INSERT INTO bookings (pool_id, number, reference, party_id, party, answers, quota, quantity, state, place,
        arrival, priority, wants_key, units, offer_seq, offer_quantity, attempts, round, expires_at,
        created_at, updated_at)
    SELECT pool_id, 99, {reference}, {party}, party, answers, quota, quantity, state, {place}, arrival,
        priority, wants_key, units, offer_seq, offer_quantity, attempts, round, expires_at, created_at,
        updated_at
    FROM bookings WHERE state = 'waiting' LIMIT 1
"""

KEY = """
    INSERT INTO api_keys (id, org, name, role, digest, hint, request, created_at)
    SELECT 'another', org, name, role, {digest}, hint, {request}, created_at FROM api_keys
"""

MEMBER = """
    INSERT INTO members (id, org, email, name, role, invitation, created_at)
    SELECT 'another', org, {email}, {name}, role, invitation, created_at FROM members
"""


def another(**given: str) -> str:
    """A second booking like the one in line, but for what is given."""
    fields = {"reference": "'ANOTHR'", "party": "'somebody else'", "place": "place + 1", **given}
    return BOOKING.format(**fields)


# Some bytes, in the words of either dialect.
BYTES = "(SELECT log_hash FROM pools LIMIT 1)"

VIOLATIONS: dict[str, tuple[str, str | None]] = {
    "pool_key_once": ("UPDATE pools SET key = 'chair', org = 'default'", "pools.org, pools.key"),
    "no_oversell": ("UPDATE pools SET overflow = open_size + 1 WHERE id = {pool}", None),
    "pool_status": ("UPDATE pools SET status = 'on fire' WHERE id = {pool}", None),
    "quota_counts": ("UPDATE quotas SET used = -1 WHERE pool_id = {pool}", None),
    "unit_closed": ("UPDATE units SET closed = 2 WHERE pool_id = {pool}", None),
    "no_oversell_unit": (
        "INSERT INTO takings (pool_id, label, booking) SELECT pool_id, label, 99 FROM takings",
        "takings.pool_id, takings.label",
    ),
    "booking_state": ("UPDATE bookings SET state = 'lost' WHERE pool_id = {pool}", None),
    "booking_quantity": ("UPDATE bookings SET quantity = 0 WHERE pool_id = {pool}", None),
    "booking_deadline": ("UPDATE bookings SET expires_at = NULL WHERE state = 'held'", None),
    "booking_offer": ("UPDATE bookings SET offer_quantity = 1 WHERE state = 'waiting'", None),
    "one_place_in_line": (another(party="party_id"), "bookings.party_id, bookings.pool_id"),
    "line_order": (another(place="place"), "bookings.pool_id, bookings.place"),
    "block_count": ("UPDATE line_blocks SET count = -1 WHERE pool_id = {pool}", None),
    "offer_outcome": ("UPDATE offers SET outcome = 'forgotten'", None),
    "one_live_offer": (
        """INSERT INTO offers (pool_id, booking, seq, openings, quantity, units, offered_at, expires_at)
        SELECT pool_id, booking, seq + 1, openings, quantity, units, offered_at, expires_at FROM offers""",
        "offers.pool_id, offers.booking",
    ),
    "told_once": (
        "INSERT INTO outbox SELECT * FROM outbox",
        "outbox.pool_id, outbox.seq, outbox.part",
    ),
    "origin_once": (
        "INSERT INTO embed_origins VALUES ('o', 'a', 'https://x', 0), ('o', 'b', 'https://x', 0)",
        "embed_origins.org, embed_origins.origin",
    ),
    "retention_days": ("INSERT INTO retention VALUES ('o', 0, NULL, 'staff', 0, NULL)", None),
    "outbox_state": ("UPDATE outbox SET state = 'shredded'", None),
    "delivery_state": (
        "INSERT INTO deliveries VALUES ({pool}, 1, 0, 'email', 'shredded', 1, 0, '')",
        None,
    ),
    "template_part": ("INSERT INTO templates VALUES ('o', 'offer', 'en', 'song', 'la', 'staff', 0)", None),
    "webhook_payload": (
        "INSERT INTO webhooks VALUES ('o', 'w', 'https://example.org', 'fat', '[]', 1, 0)",
        None,
    ),
    "contact_notifier": ("INSERT INTO staff_contacts VALUES ('o', 'c', 'pigeon', 'coo', 'en', 0)", None),
    "key_once": (KEY.format(digest="digest", request="'another'"), "api_keys.digest"),
    "key_request_once": (
        KEY.format(digest="(SELECT log_hash FROM pools LIMIT 1)", request="request"),
        "api_keys.org, api_keys.request",
    ),
    "key_role": ("UPDATE api_keys SET role = 'emperor'", None),
    "member_email_once": (MEMBER.format(email="email", name="'Eve'"), "members.org, members.email"),
    "member_name_once": (MEMBER.format(email="'eve@example.org'", name="name"), "members.org, members.name"),
    "passkey_once": (
        """INSERT INTO passkeys VALUES
        ('k1', 'm', {bytes}, {bytes}, 0, 'a', 0, 0), ('k2', 'm', {bytes}, {bytes}, 0, 'b', 0, 0)""",
        "passkeys.credential",
    ),
    "challenge_purpose": ("INSERT INTO challenges VALUES ({bytes}, 'chat', '', 0)", None),
    "one_identity": (
        "INSERT INTO identities VALUES ('o', 'https://x', '1', 'm', 0), ('o', 'https://x', '2', 'm', 0)",
        "identities.member, identities.issuer",
    ),
    "member_role": ("UPDATE members SET role = 'public'", None),
}

# Unnamed by us, and just as strict: what a column may hold.
WRONG_VALUES = [
    "UPDATE bookings SET quantity = 'two' WHERE pool_id = {pool}",
    "UPDATE bookings SET quantity = NULL WHERE pool_id = {pool}",
    "UPDATE bookings SET quantity = 99999999999999999999 WHERE pool_id = {pool}",
    "UPDATE pools SET due_at = 'tomorrow' WHERE id = {pool}",
    "UPDATE pools SET log_hash = NULL WHERE id = {pool}",
    "UPDATE units SET closed = 'perhaps' WHERE pool_id = {pool}",
]


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    """A pool with a unit that is held, one that is offered, somebody in line, and messages to send."""
    async with opened(database_url) as hf:
        granted(await hf.create_pool("other", preset="checkout", quotas={"main": 1}))
        granted(await Keys(hf.store, hf.clock, hf.secret).create("default", "admin", "ops", "one request"))
        members = Members(hf.store, hf.clock, hf.secret)
        granted(await members.add("default", "olga@example.org", "Olga", "admin"))
        granted(await hf.create_pool("chair", preset="last_minute", quotas={"main": ["a", "b"]}))
        booked = [granted(await hf.book("chair", name)) for name in ("olga", "pia", "ann", "bea")]
        granted(await hf.cancel(booked[0].id))
        states = [booking.state for booking in granted(await hf.bookings("chair"))]
        assert states == ["cancelled", "held", "offered", "waiting"]
        yield hf


@pytest.fixture
async def ask(hf: Fairhold, database_url: str) -> AsyncIterator[Ask]:
    async with asking(database_url) as ask:
        yield ask


async def refused(ask: Ask, hf: Fairhold, statement: str) -> Exception:
    """Run a statement that must fail; how it failed."""
    [(pool_id,)] = await ask("SELECT id FROM pools WHERE key = 'chair'")
    with pytest.raises((sqlite3.Error, asyncpg.PostgresError)) as caught:
        await ask(statement.replace("{pool}", str(pool_id)).replace("{bytes}", BYTES))
    return caught.value


@pytest.mark.guarantee(
    "quantities.refused",
    "Past the edge, both databases refuse a quantity that is less than one, by a constraint with a name.",
)
@pytest.mark.parametrize("name", VIOLATIONS)
async def test_a_broken_promise_is_refused_by_its_name(
    hf: Fairhold, ask: Ask, database_url: str, name: str
) -> None:
    statement, columns = VIOLATIONS[name]
    if name == "unit_closed" and dialect_of(database_url) == "postgres":
        # A boolean column needs no constraint; it is of another type.
        assert "boolean" in str(await refused(ask, hf, statement))
        return
    error = await refused(ask, hf, statement)
    if isinstance(error, sqlite3.Error):
        said = f"UNIQUE constraint failed: {columns}" if columns else f"CHECK constraint failed: {name}"
        assert str(error) == said
    else:
        assert error.constraint_name == name  # type: ignore[attr-defined]


@pytest.mark.parametrize("statement", WRONG_VALUES)
async def test_a_column_holds_only_what_it_is_for(hf: Fairhold, ask: Ask, statement: str) -> None:
    """STRICT tables and NOT NULL: no seats of text, no missing hash."""
    before = await ask("SELECT quantity FROM bookings")
    await refused(ask, hf, statement)
    assert await ask("SELECT quantity FROM bookings") == before


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_every_named_constraint_has_its_violation_here(dialect: str) -> None:
    text = "".join(text for _, _, text in load_migrations(dialect))
    # One that a later migration makes anew is still one.
    indexes = {name.removesuffix("_anew") for name in re.findall(r"CREATE UNIQUE INDEX (\w+)", text)}
    named = {*re.findall(r"CONSTRAINT (\w+)", text), *indexes}
    missing_here = {"postgres": {"unit_closed"}, "sqlite": set()}[dialect]
    assert sorted([*named, *missing_here]) == sorted(VIOLATIONS)


async def test_the_statements_are_fine_but_for_what_they_break(hf: Fairhold, ask: Ask) -> None:
    """A negative control: a second booking with nothing doubled is let in."""
    await ask(another())
    assert await ask("SELECT count(*) FROM bookings WHERE number = 99") == [(1,)]
