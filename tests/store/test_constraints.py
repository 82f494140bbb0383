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
from fairhold.store.migrations import load_migrations
from tests.database import Ask, asking, dialect_of, opened

# For each name: a statement that would break the promise, on a pool with one of everything. In it, {pool} is
# the pool's id. SQLite says the columns of a unique index instead of its name: these are given where it does.
BOOKING = """
    INSERT INTO fairhold_bookings (pool_id, number, reference, party_id, party, answers, quota,
    quantity, state, place,
        arrival, priority, wants_key, units, offer_seq, offer_quantity, attempts, round, expires_at,
        created_at, updated_at)
    SELECT pool_id, 99, {reference}, {party}, party, answers, quota, quantity, state, {place}, arrival,
        priority, wants_key, units, offer_seq, offer_quantity, attempts, round, expires_at, created_at,
        updated_at
    FROM fairhold_bookings WHERE state = 'waiting' LIMIT 1
"""

KEY = """
    INSERT INTO fairhold_api_keys (id, org, name, role, digest, hint, request, created_at)
    SELECT 'another', org, name, role, {digest}, hint, {request}, created_at FROM fairhold_api_keys
"""

MEMBER = """
    INSERT INTO fairhold_members (id, org, email, name, role, invitation, created_at)
    SELECT 'another', org, {email}, {name}, role, invitation, created_at FROM fairhold_members
"""


def another(**given: str) -> str:
    """A second booking like the one in line, but for what is given."""
    fields = {"reference": "'ANOTHR'", "party": "'somebody else'", "place": "place + 1", **given}
    return BOOKING.format(**fields)


# Some bytes, in the words of either dialect.
BYTES = "(SELECT log_hash FROM fairhold_pools LIMIT 1)"

VIOLATIONS: dict[str, tuple[str, str | None]] = {
    "fairhold_pool_key_once": (
        "UPDATE fairhold_pools SET key = 'chair', org = 'default'",
        "fairhold_pools.org, fairhold_pools.key",
    ),
    "fairhold_no_oversell": ("UPDATE fairhold_pools SET overflow = open_size + 1 WHERE id = {pool}", None),
    "fairhold_pool_status": ("UPDATE fairhold_pools SET status = 'on fire' WHERE id = {pool}", None),
    "fairhold_quota_counts": ("UPDATE fairhold_quotas SET used = -1 WHERE pool_id = {pool}", None),
    "fairhold_unit_closed": ("UPDATE fairhold_units SET closed = 2 WHERE pool_id = {pool}", None),
    "fairhold_no_oversell_unit": (
        (
            "INSERT INTO fairhold_takings (pool_id, label, booking) SELECT pool_id, label, 99 FROM "
            "fairhold_takings"
        ),
        "fairhold_takings.pool_id, fairhold_takings.label",
    ),
    "fairhold_booking_state": ("UPDATE fairhold_bookings SET state = 'lost' WHERE pool_id = {pool}", None),
    "fairhold_booking_quantity": ("UPDATE fairhold_bookings SET quantity = 0 WHERE pool_id = {pool}", None),
    "fairhold_booking_deadline": (
        "UPDATE fairhold_bookings SET expires_at = NULL WHERE state = 'held'",
        None,
    ),
    "fairhold_booking_offer": (
        "UPDATE fairhold_bookings SET offer_quantity = 1 WHERE state = 'waiting'",
        None,
    ),
    "fairhold_one_place_in_line": (
        another(party="party_id"),
        "fairhold_bookings.party_id, fairhold_bookings.pool_id",
    ),
    "fairhold_line_order": (another(place="place"), "fairhold_bookings.pool_id, fairhold_bookings.place"),
    "fairhold_block_count": ("UPDATE fairhold_line_blocks SET count = -1 WHERE pool_id = {pool}", None),
    "fairhold_offer_outcome": ("UPDATE fairhold_offers SET outcome = 'forgotten'", None),
    "fairhold_one_live_offer": (
        """INSERT INTO fairhold_offers (pool_id, booking, seq, openings, quantity, units,
        offered_at, expires_at)
        SELECT pool_id, booking, seq + 1, openings, quantity, units, offered_at, expires_at FROM
        fairhold_offers""",
        "fairhold_offers.pool_id, fairhold_offers.booking",
    ),
    "fairhold_told_once": (
        "INSERT INTO fairhold_outbox SELECT * FROM fairhold_outbox",
        "fairhold_outbox.pool_id, fairhold_outbox.seq, fairhold_outbox.part",
    ),
    "fairhold_origin_once": (
        "INSERT INTO fairhold_embed_origins VALUES ('o', 'a', 'https://x', 0), ('o', 'b', 'https://x', 0)",
        "fairhold_embed_origins.org, fairhold_embed_origins.origin",
    ),
    "fairhold_retention_days": (
        "INSERT INTO fairhold_retention VALUES ('o', 0, NULL, 'staff', 0, NULL)",
        None,
    ),
    "fairhold_outbox_state": ("UPDATE fairhold_outbox SET state = 'shredded'", None),
    "fairhold_delivery_state": (
        "INSERT INTO fairhold_deliveries VALUES ({pool}, 1, 0, 'email', 'shredded', 1, 0, '')",
        None,
    ),
    "fairhold_template_part": (
        "INSERT INTO fairhold_templates VALUES ('o', 'offer', 'en', 'song', 'la', 'staff', 0)",
        None,
    ),
    "fairhold_webhook_payload": (
        "INSERT INTO fairhold_webhooks VALUES ('o', 'w', 'https://example.org', 'fat', '[]', 1, 0)",
        None,
    ),
    "fairhold_contact_notifier": (
        "INSERT INTO fairhold_staff_contacts VALUES ('o', 'c', 'pigeon', 'coo', 'en', 0)",
        None,
    ),
    "fairhold_key_once": (KEY.format(digest="digest", request="'another'"), "fairhold_api_keys.digest"),
    "fairhold_key_request_once": (
        KEY.format(digest="(SELECT log_hash FROM fairhold_pools LIMIT 1)", request="request"),
        "fairhold_api_keys.org, fairhold_api_keys.request",
    ),
    "fairhold_key_role": ("UPDATE fairhold_api_keys SET role = 'emperor'", None),
    "fairhold_member_email_once": (
        MEMBER.format(email="email", name="'Eve'"),
        "fairhold_members.org, fairhold_members.email",
    ),
    "fairhold_member_name_once": (
        MEMBER.format(email="'eve@example.org'", name="name"),
        "fairhold_members.org, fairhold_members.name",
    ),
    "fairhold_passkey_once": (
        """INSERT INTO fairhold_passkeys VALUES
        ('k1', 'm', {bytes}, {bytes}, 0, 'a', 0, 0), ('k2', 'm', {bytes}, {bytes}, 0, 'b', 0, 0)""",
        "fairhold_passkeys.credential",
    ),
    "fairhold_challenge_purpose": ("INSERT INTO fairhold_challenges VALUES ({bytes}, 'chat', '', 0)", None),
    "fairhold_one_identity": (
        (
            "INSERT INTO fairhold_identities VALUES ('o', 'https://x', '1', 'm', 0), ('o', "
            "'https://x', '2', 'm', 0)"
        ),
        "fairhold_identities.member, fairhold_identities.issuer",
    ),
    "fairhold_member_role": ("UPDATE fairhold_members SET role = 'public'", None),
}

# Unnamed by us, and just as strict: what a column may hold.
WRONG_VALUES = [
    "UPDATE fairhold_bookings SET quantity = 'two' WHERE pool_id = {pool}",
    "UPDATE fairhold_bookings SET quantity = NULL WHERE pool_id = {pool}",
    "UPDATE fairhold_bookings SET quantity = 99999999999999999999 WHERE pool_id = {pool}",
    "UPDATE fairhold_pools SET due_at = 'tomorrow' WHERE id = {pool}",
    "UPDATE fairhold_pools SET log_hash = NULL WHERE id = {pool}",
    "UPDATE fairhold_units SET closed = 'perhaps' WHERE pool_id = {pool}",
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
    [(pool_id,)] = await ask("SELECT id FROM fairhold_pools WHERE key = 'chair'")
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
    if name == "fairhold_unit_closed" and dialect_of(database_url) == "postgres":
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
    before = await ask("SELECT quantity FROM fairhold_bookings")
    await refused(ask, hf, statement)
    assert await ask("SELECT quantity FROM fairhold_bookings") == before


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_every_named_constraint_has_its_violation_here(dialect: str) -> None:
    text = "".join(migration.text for migration in load_migrations(dialect))
    indexes = set(re.findall(r"CREATE UNIQUE INDEX (\w+)", text))
    named = {*re.findall(r"CONSTRAINT (\w+)", text), *indexes}
    missing_here = {"postgres": {"fairhold_unit_closed"}, "sqlite": set()}[dialect]
    assert sorted([*named, *missing_here]) == sorted(VIOLATIONS)


async def test_the_statements_are_fine_but_for_what_they_break(hf: Fairhold, ask: Ask) -> None:
    """A negative control: a second booking with nothing doubled is let in."""
    await ask(another())
    assert await ask("SELECT count(*) FROM fairhold_bookings WHERE number = 99") == [(1,)]
