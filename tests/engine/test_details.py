"""What people say of themselves comes in by the same door: the log tells that it changed, and not to what."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from msgspec import structs

from fairhold import Fairhold, Outcome, Refusal, granted
from fairhold.changes import BookingChange, Changes
from tests.database import ask, dump, opened
from tests.patience import until
from tests.verified import assert_verified, verified

SAID = {"name": "Zelda", "contacts": {"email": "zelda@example.org"}, "answers": {"diet": "no celery"}}
TRACES = ("Zelda", "zelda@", "celery")


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        granted(await hf.create_pool("yoga", preset="class_waitlist", quotas={"main": 1}))
        yield hf
    await assert_verified(database_url)


async def test_a_change_is_an_event_that_names_what_changed_and_not_to_what(
    hf: Fairhold, database_url: str
) -> None:
    ann = granted(await hf.book("yoga", {"id": "ann", "name": "Ann"}))
    changed = granted(await hf.change_booking(ann.id, **SAID, by="staff:olga"))
    assert (changed.party.name, changed.party.contacts, changed.answers) == tuple(SAID.values())
    assert granted(await hf.booking(ann.id)) == changed
    entry = granted(await hf.log("yoga"))[-1]
    assert (entry.event, entry.by, entry.booking) == ("BookingChanged", "staff:olga", ann.id)
    assert entry.facts["details"] == ["name", "contacts", "answers"]
    tables = await dump(database_url)
    assert [word for word in TRACES if word in str(tables["fairhold_log"])] == []
    assert [word for word in TRACES if word not in str(tables["fairhold_bookings"])] == []
    assert granted(await hf.explain(ann.id))[-1].code == "changed"


async def test_who_watches_is_told(hf: Fairhold) -> None:
    ann = granted(await hf.book("yoga", "ann"))
    changes = Changes(hf)
    before = await changes.now()
    granted(await hf.change_booking(ann.id, answers={"diet": "vegan"}))

    async def heard() -> BookingChange | None:
        """What was told. What else still goes on at this server holds it back, or has it told twice."""
        news = await changes.after("default", before)
        found = [change for change in news.changes if isinstance(change, BookingChange)]
        return found[0] if found and found[0].changes[-1].event == "BookingChanged" else None

    told = await until(heard)
    assert told is not None
    assert told.booking.answers == {"diet": "vegan"}


async def test_every_answer_shows_the_answers(hf: Fairhold) -> None:
    olga = granted(await hf.book("yoga", "olga"))
    ann = granted(await hf.book("yoga", "ann", 2))
    granted(await hf.change_booking(ann.id, answers={"diet": "vegan"}))
    assert granted(await hf.move(ann.id, "front")).answers == {"diet": "vegan"}
    assert granted(await hf.line("yoga"))[0].answers == {"diet": "vegan"}
    assert granted(await hf.cancel(olga.id)).answers == {}
    offered = granted(await hf.booking(ann.id, secret=True)).offer
    assert offered is not None
    part = granted(await hf.claim(offered.token, 1))
    assert (part.split_from, part.answers) == (ann.id, {"diet": "vegan"})
    listed = granted(await hf.bookings("yoga"))
    assert [booking.answers for booking in listed] == [{}, {"diet": "vegan"}, {"diet": "vegan"}]


async def test_one_key_is_one_change_and_one_answer(hf: Fairhold) -> None:
    ann = granted(await hf.book("yoga", "ann"))
    first = await hf.change_booking(ann.id, **SAID, idempotency_key="once")
    assert await hf.change_booking(ann.id, **SAID, idempotency_key="once") == first
    granted(await hf.change_booking(ann.id, name="Ann"))
    again = granted(await hf.change_booking(ann.id, **SAID, idempotency_key="once"))
    # Who somebody is stands in one place: what was answered is the same but for that.
    assert again.party == replace(granted(first).party, name="Ann")
    assert structs.replace(again, party=granted(first).party) == first
    assert granted(await hf.booking(ann.id)).party.name == "Ann"
    other = await hf.change_booking(ann.id, name="Bea", idempotency_key="once")
    assert isinstance(other, Refusal)
    assert other.code == "idempotency_mismatch"


async def test_nothing_new_is_no_event_and_what_is_wrong_changes_nothing(
    hf: Fairhold, database_url: str
) -> None:
    ann = granted(await hf.book("yoga", "ann"))
    granted(await hf.change_booking(ann.id, **SAID))
    gone = granted(await hf.book("yoga", "bea"))
    granted(await hf.cancel(gone.id))
    before = await dump(database_url)
    granted(await hf.change_booking(ann.id, **SAID))
    granted(await hf.change_booking(ann.id))
    outcome = await hf.dry_run(lambda rehearsal: rehearsal.change_booking(ann.id, name="Eve"))
    assert isinstance(outcome, Outcome)
    assert [event["event"] for event in outcome.events] == ["BookingChanged"]
    wrong: list[tuple[str, dict[str, object]]] = [
        ("invalid", {"name": 1}),
        ("invalid", {"contacts": {"email": 1}}),
        ("invalid", {"answers": ["vegan"]}),
        ("invalid", {"locale": "x" * 36}),
        ("invalid", {"by": "x" * 501}),
    ]
    for code, said in wrong:
        refused = await hf.change_booking(ann.id, **said)  # type: ignore[arg-type]
        assert isinstance(refused, Refusal)
        assert refused.code == code, said
    for name, code in ((gone.id, "not_possible"), ("nobody", "unknown")):
        refused = await hf.change_booking(name, name="Eve")
        assert isinstance(refused, Refusal)
        assert refused.code == code
    assert await dump(database_url) == before


async def test_who_is_forgotten_leaves_no_detail_behind(hf: Fairhold, database_url: str) -> None:
    ann = granted(await hf.book("yoga", "ann", confirmed=True, by="staff"))
    granted(await hf.change_booking(ann.id, **SAID, idempotency_key="said"))
    assert "celery" in str(await dump(database_url))
    granted(await hf.erase_person("ann"))
    assert [word for word in TRACES if word in str(await dump(database_url))] == []


async def test_a_change_behind_the_log_is_seen(hf: Fairhold, database_url: str) -> None:
    """Control: when a booking last changed is what its last event says."""
    ann = granted(await hf.book("yoga", "ann"))
    granted(await hf.change_booking(ann.id, **SAID))
    await ask(database_url, "UPDATE fairhold_bookings SET updated_at = updated_at + 1")
    assert [finding.promise for finding in (await verified(database_url)).findings] == ["log_tells_all"]
    await ask(database_url, "UPDATE fairhold_bookings SET updated_at = updated_at - 1")


async def test_who_gives_an_address_in_line_for_the_first_time_is_told_the_position(hf: Fairhold) -> None:
    olga = granted(await hf.book("yoga", "olga"))
    ann, bea = [granted(await hf.book("yoga", name)) for name in ("ann", "bea")]

    async def told(booking: str) -> list[str]:
        return [it.kind for it in granted(await hf.messages_about(booking))]

    granted(await hf.change_booking(bea.id, name="Bea"))
    assert await told(bea.id) == ["joined"]
    for address in ("bea@example.org", "bea@example.net"):
        # Another address is no news.
        granted(await hf.change_booking(bea.id, contacts={"email": address}))
        assert await told(bea.id) == ["joined", "joined"]
    assert granted(await hf.log("yoga"))[-2].facts["position"] == 2
    # Who has an offer has more to read than a position.
    granted(await hf.cancel(olga.id))
    granted(await hf.change_booking(ann.id, contacts={"email": "ann@example.org"}))
    assert await told(ann.id) == ["joined", "offer"]
