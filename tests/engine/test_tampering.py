"""Every tampering with a database is found by `fairhold verify`: which promise is broken, and where."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from fairhold.store.writer import entry_digest
from tests.database import ask, asking, dialect_of, opened
from tests.engine.lively import stage
from tests.engine.spoiling import ENTRY, MESSAGE, OFFER, of, unguarded
from tests.models import Model, postgres_model, sqlite_model
from tests.verified import assert_verified, verified

TAMPERING: Final[list[tuple[str, str, list[str]]]] = [
    # The chain of the log.
    (
        "log_tells_all",
        "pool yoga, log entry 3: it was edited",
        [
            (
                f"UPDATE fairhold_log SET body = replace(body, '\"ann\"', '\"eve\"') WHERE "
                f"{of('yoga')} AND seq = 3"
            )
        ],
    ),
    (
        "log_tells_all",
        "pool yoga, log entry 4: it was edited",
        [f"UPDATE fairhold_log SET by = 'staff:mallory' WHERE {of('yoga')} AND seq = 4"],
    ),
    (
        "log_tells_all",
        "pool yoga, log entry 4: it stands under booking 4",
        [f"UPDATE fairhold_log SET booking = 4 WHERE {of('yoga')} AND seq = 4"],
    ),
    (
        "log_tells_all",
        "pool yoga, log entry 5: 4 missing before it",
        [f"DELETE FROM fairhold_log WHERE {of('yoga')} AND seq = 4"],
    ),
    (
        "log_tells_all",
        "pool yoga, log entry 4: 1 to 3 missing before it",
        [f"DELETE FROM fairhold_log WHERE {of('yoga')} AND seq < 4"],
    ),
    (
        "log_tells_all",
        "pool yoga, log entry 7: the end is missing: its last entry is 6, and the pool says 8",
        [f"DELETE FROM fairhold_log WHERE {of('yoga')} AND seq > 6"],
    ),
    (
        "log_tells_all",
        "pool yoga, log entry 6: its hash is another",
        [
            f"DELETE FROM fairhold_log WHERE {of('yoga')} AND seq > 6",
            "UPDATE fairhold_pools SET log_seq = 6 WHERE key = 'yoga'",
        ],
    ),
    (
        "log_tells_all",
        "pool yoga, log entry 1: the end is missing",
        [f"DELETE FROM fairhold_log WHERE {of('yoga')}"],
    ),
    ("log_tells_all", "pool yoga, log entry 9: it goes on too long", [ENTRY]),
    ("log_tells_all", "pool yoga, log entry 9: it was edited", [ENTRY]),
    (
        "log_tells_all",
        "pool yoga, log entry 4: it cannot be read",
        [f"UPDATE fairhold_log SET kind = 'Forged' WHERE {of('yoga')} AND seq = 4"],
    ),
    # What the log says, and what the rows say.
    (
        "log_tells_all",
        "pool flight, booking 1: state is 'confirmed' and the log says 'held'",
        [
            (
                f"UPDATE fairhold_bookings SET state = 'confirmed', expires_at = NULL WHERE "
                f"{of('flight')} AND number = 1"
            )
        ],
    ),
    (
        "log_tells_all",
        "pool flight, booking 3: state is 'expired' and the log says 'cancelled'",
        [f"UPDATE fairhold_bookings SET state = 'expired' WHERE {of('flight')} AND number = 3"],
    ),
    (
        "log_tells_all",
        "pool yoga, booking 2: attempts is 0 and the log says 1",
        [f"UPDATE fairhold_bookings SET attempts = 0 WHERE {of('yoga')} AND number = 2"],
    ),
    ("log_tells_all", "pool yoga: round is 7", ["UPDATE fairhold_pools SET round = 7 WHERE key = 'yoga'"]),
    (
        "log_tells_all",
        "pool yoga, quota main: round is 7",
        [f"UPDATE fairhold_quotas SET round = 7 WHERE {of('yoga')}"],
    ),
    (
        "log_tells_all",
        "pool yoga, config: title is 'Tai Chi'",
        ['UPDATE fairhold_pools SET config = replace(config, \'"title":"yoga"\', \'"title":"Tai Chi"\')'],
    ),
    (
        "log_tells_all",
        "pool yoga, opening 1: tries is 0",
        [f"UPDATE fairhold_openings SET tries = 0 WHERE {of('yoga')}"],
    ),
    (
        "log_tells_all",
        "pool yoga, opening 1: it was tried with []",
        [f"DELETE FROM fairhold_tries WHERE {of('yoga')}"],
    ),
    (
        "log_tells_all",
        "pool flight, unit 1C: ordinal is 9 and the log says 3",
        [f"UPDATE fairhold_units SET ordinal = 9 WHERE {of('flight')} AND label = '1C'"],
    ),
    # Room.
    (
        "no_oversell",
        "pool event: the overflow is 5, the open size 1",
        [f"UPDATE fairhold_bookings SET quantity = 5 WHERE {of('event')} AND number = 1"],
    ),
    (
        "no_oversell",
        "pool flight, unit 1A: bookings 1 and 2 both have it",
        [
            *unguarded("fairhold_takings"),
            "INSERT INTO fairhold_takings SELECT id, '1A', 2 FROM fairhold_pools WHERE key = 'flight'",
        ],
    ),
    (
        "no_oversell",
        "pool flight, unit 1C: booking 3 has it and takes no room",
        ["INSERT INTO fairhold_takings SELECT id, '1C', 3 FROM fairhold_pools WHERE key = 'flight'"],
    ),
    (
        "no_oversell",
        "pool flight: unit 1A is taken 2 times",
        [f"UPDATE fairhold_bookings SET units = '[\"1A\"]' WHERE {of('flight')} AND number = 2"],
    ),
    (
        "no_oversell",
        "there is no quota 'vip'",
        [f"UPDATE fairhold_bookings SET quota = 'vip' WHERE {of('yoga')}"],
    ),
    (
        "units_agree",
        "pool flight: unit 1A",
        [f"DELETE FROM fairhold_takings WHERE {of('flight')} AND label = '1A'"],
    ),
    (
        "tallies_add_up",
        "pool yoga: main has",
        [f"UPDATE fairhold_quotas SET used = used + 1 WHERE {of('yoga')}"],
    ),
    (
        "tallies_add_up",
        "pool event: its overflow is 0",
        ["UPDATE fairhold_pools SET overflow = 0 WHERE key = 'event'"],
    ),
    # Offers.
    (
        "one_live_offer",
        "pool yoga: booking 2 is offered with live offers []",
        [f"UPDATE fairhold_offers SET outcome = 'declined' WHERE {of('yoga')}"],
    ),
    (
        "one_live_offer",
        "pool yoga: booking 3 is waiting with live offers [1]",
        [OFFER.format("3, 1")],
    ),
    ("one_live_offer", "pool yoga, booking 1, offer 1: it is live", [OFFER.format("1, 1")]),
    (
        "one_live_offer",
        "pool yoga: booking 2 is offered with live offers [1, 2]",
        [*unguarded("fairhold_offers"), OFFER.format("booking, 2")],
    ),
    ("nothing_lost", "pool yoga, booking 9, offer 1: there is no such booking", [OFFER.format("9, 1")]),
    # The line.
    (
        "one_place_in_line",
        "pool yoga: party bea has bookings [3, 4]",
        [
            "DROP INDEX fairhold_one_place_in_line",
            f"UPDATE fairhold_bookings SET party_id = 'bea', party = replace(party, 'cyd', 'bea') \
WHERE {of('yoga')} AND number = 4",
        ],
    ),
    (
        "contiguous",
        "it counts 3, and 2 wait there",
        [f"UPDATE fairhold_line_blocks SET count = 3 WHERE {of('yoga')}"],
    ),
    ("contiguous", "pool yoga, block", [f"DELETE FROM fairhold_line_blocks WHERE {of('yoga')}"]),
    (
        "contiguous",
        "its position by blocks is 3, and by counting 2",
        [
            (
                f"INSERT INTO fairhold_line_blocks SELECT pool_id, place, 1 FROM fairhold_bookings "
                f"WHERE {of('yoga')} AND number = 4"
            )
        ],
    ),
    (
        "contiguous",
        "pool yoga: bookings [3, 4] share a place",
        [
            "DROP INDEX fairhold_line_order",
            f"UPDATE fairhold_bookings SET place = (SELECT max(place) FROM fairhold_bookings \
WHERE {of('yoga')}) WHERE {of('yoga')} AND number = 3",
        ],
    ),
    (
        "nobody_jumps",
        "pool event: booking 3 waits though there is room for it in a",
        [
            (
                "UPDATE fairhold_pools SET config = replace(config, '\"size\":1', '\"size\":2') WHERE "
                "key = 'event'"
            )
        ],
    ),
    (
        "nobody_jumps",
        "pool event, booking 3: one more fill would change something: Promoted",
        [
            (
                "UPDATE fairhold_pools SET config = replace(config, '\"size\":1', '\"size\":2') WHERE "
                "key = 'event'"
            )
        ],
    ),
    (
        "nobody_jumps",
        "pool yoga, booking 3: it would be looked for under other wants",
        [f"UPDATE fairhold_bookings SET wants_key = 'none' WHERE {of('yoga')} AND number = 3"],
    ),
    # What must be there, and told.
    (
        "nothing_lost",
        "pool yoga, booking 3: it is in the log and not in the table",
        [f"DELETE FROM fairhold_bookings WHERE {of('yoga')} AND number = 3"],
    ),
    (
        "nothing_lost",
        "pool flight, booking 3: it is in the log and not in the table",
        [f"DELETE FROM fairhold_bookings WHERE {of('flight')} AND number = 3"],
    ),
    (
        "nothing_lost",
        "pool yoga, booking 44: it is in the table and not in the log",
        [f"UPDATE fairhold_bookings SET number = 44 WHERE {of('yoga')} AND number = 4"],
    ),
    (
        "nothing_lost",
        "pool yoga, booking 2, offer 1: it is in the log",
        [f"DELETE FROM fairhold_offers WHERE {of('yoga')}"],
    ),
    (
        "nothing_lost",
        "pool yoga, quota main: it has no row",
        [f"DELETE FROM fairhold_quotas WHERE {of('yoga')}"],
    ),
    (
        "nothing_lost",
        "pool yoga, log entry 8: the message 'offer' about booking 2 is not in the outbox",
        ["DELETE FROM fairhold_outbox WHERE kind = 'offer'"],
    ),
    (
        "nothing_lost",
        "pool yoga, log entry 4: the message 'joined' about booking 3 is not in the outbox",
        [f"DELETE FROM fairhold_outbox WHERE {of('yoga')} AND booking = 3"],
    ),
    ("nothing_lost", "database, table log: ", ["DELETE FROM fairhold_pools WHERE key = 'yoga'"]),
    (
        "nothing_lost",
        "idempotency key default/once",
        ["UPDATE fairhold_pools SET numbers = 0 WHERE key = 'flight'"],
    ),
    ("nothing_lost", "its answer cannot be read", ["UPDATE fairhold_requests SET answer = 'booking {'"]),
    ("told_once", "pool yoga, message 8-9: no event asks for 'offer'", [MESSAGE.format("seq, 9")]),
    ("told_once", "pool yoga, message 99-0: there is no such log entry", [MESSAGE.format("99, 0")]),
    (
        "told_once",
        "message 8-1: it stands there twice",
        [*unguarded("fairhold_outbox"), MESSAGE.format("seq, part")],
    ),
    (
        "told_once",
        "it is 'gone' after 0 tries",
        [*unguarded("fairhold_outbox"), "UPDATE fairhold_outbox SET state = 'gone'"],
    ),
    # Deadlines.
    ("deadlines_kept", "pool flight: booking 1 ends at", ["UPDATE fairhold_pools SET due_at = due_at + 1"]),
    ("deadlines_kept", "pool yoga: booking 2 ends at", ["UPDATE fairhold_pools SET due_at = NULL"]),
    ("nobody_waits_for_luck", "pool late: a cooldown ends at", ["UPDATE fairhold_pools SET due_at = NULL"]),
]


async def _staged(url: str) -> None:
    async with opened(url) as hf:
        await stage(hf)
    await assert_verified(url)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    """Something of everything, with every promise kept."""
    if request.param == "sqlite":
        making = sqlite_model(tmp_path_factory.mktemp("staged"), _staged)
    else:
        making = postgres_model(request.getfixturevalue("postgres_server_url"), _staged)
    with making as made:
        yield made


@pytest.fixture
def staged_url(model: Model, tmp_path: Path) -> Iterator[str]:
    with model.copied(tmp_path) as url:
        yield url


async def test_what_was_not_tampered_with_keeps_every_promise(staged_url: str) -> None:
    """The negative control of all that follow: it is not the copying that they find."""
    await assert_verified(staged_url)


@pytest.mark.guarantee(
    "tampering.found",
    "Every way to change log, bookings, offers and messages behind our back: the promise that is "
    "broken, and the entry.",
)
@pytest.mark.parametrize(("promise", "place", "statements"), TAMPERING)
async def test_tampering_is_found(staged_url: str, promise: str, place: str, statements: list[str]) -> None:
    async with asking(staged_url) as run:
        for statement in statements:
            await run(statement)
    report = await verified(staged_url)
    assert any(found.promise == promise and place in str(found) for found in report.findings), f"\n{report}"


@pytest.mark.parametrize("chained", [False, True])
async def test_a_forged_entry_is_found_where_the_chain_breaks(staged_url: str, chained: bool) -> None:
    columns = "pool_id, seq, at, kind, by, body"
    entry, before = await ask(
        staged_url,
        f"SELECT {columns}, hash FROM fairhold_log WHERE {of('yoga')} AND seq IN (3, 2) ORDER BY seq DESC",
    )
    body = entry[5].replace('"ann"', '"eve"')
    digest = entry_digest(*entry[:5], body)
    head = hashlib.sha256(before[6] + digest).digest() if chained else entry[6]
    prefix, suffix = ("x'", "'") if dialect_of(staged_url) == "sqlite" else (r"'\x", "'::bytea")
    forged = f"digest = {prefix}{digest.hex()}{suffix}, hash = {prefix}{head.hex()}{suffix}"
    await ask(staged_url, f"UPDATE fairhold_log SET body = '{body}', {forged} WHERE {of('yoga')} AND seq = 3")
    broken = [str(finding) for finding in (await verified(staged_url)).findings]
    where = 4 if chained else 3
    assert (
        f"log_tells_all: pool yoga, log entry {where}: it does not follow from the entry before it" in broken
    )
    assert any("booking 2: party is Party(id='ann'" in finding for finding in broken), broken


@pytest.mark.tampered
async def test_many_findings_of_one_kind_are_counted(database_url: str) -> None:
    async with opened(database_url) as hf:
        await hf.create_pool("yoga", preset="class_waitlist", quotas={"main": 1})
        await asyncio.gather(*(hf.book("yoga", f"party {n}") for n in range(61)))
    await ask(database_url, "UPDATE fairhold_bookings SET priority = 5")
    report = await verified(database_url)
    assert len(report.findings) == 51
    assert str(report.findings[-1]) == "log_tells_all: pool yoga: and 11 more like these"
