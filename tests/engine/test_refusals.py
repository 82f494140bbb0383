"""Every refusal that the engine can give: its code, its status, whom it names, and that nothing changed."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from fairhold import Fairhold, Refusal, granted
from fairhold.clock import to_datetime
from fairhold.core.refusals import CODES
from tests.database import START, dump, opened

# What only a server can say: of too many requests at once, of a page that was changed while it was shown, and
# of who signs in.
OF_THE_SERVER = {"too_many_requests", "changed_meanwhile", "common_password"}

MINUTE = 60_000


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        yield hf


async def invalid(hf: Fairhold) -> Any:
    await pool(hf)
    return lambda: hf.book("gig", "ann", if_full="perhaps")


async def unknown(hf: Fairhold) -> Any:
    await pool(hf)
    return lambda: hf.book("gig", "ann", quota="balcony")


async def exists(hf: Fairhold) -> Any:
    await pool(hf)
    return lambda: hf.create_pool("gig", preset="checkout", quotas={"main": 9})


async def not_open_yet(hf: Fairhold) -> Any:
    await pool(hf, opens_at=to_datetime(START + MINUTE))
    return lambda: hf.book("gig", "ann")


async def pool_closed(hf: Fairhold) -> Any:
    await pool(hf)
    granted(await hf.change_pool("gig", status="closed"))
    return lambda: hf.book("gig", "ann", by="staff:Ida")


async def pool_paused(hf: Fairhold) -> Any:
    await pool(hf)
    granted(await hf.change_pool("gig", status="paused"))
    return lambda: hf.book("gig", "ann")


async def not_eligible(hf: Fairhold) -> Any:
    await pool(hf, quotas=[{"key": "main", "size": 1, "eligible": {"tag": "member"}}])
    return lambda: hf.book("gig", {"id": "ann", "tags": ["guest"]})


async def not_enough_room(hf: Fairhold) -> Any:
    await pool(hf, preset="checkout", quotas={"main": 3})
    return lambda: hf.book("gig", "ann", 10)


async def unit_taken(hf: Fairhold) -> Any:
    await pool(hf, preset="checkout", quotas={"main": ["12A", "12B"]})
    granted(await hf.book("gig", "bea", units=["12A"]))
    return lambda: hf.book("gig", "ann", units=["12A"])


async def already_holding(hf: Fairhold) -> Any:
    await pool(hf, quotas={"main": 2})
    granted(await hf.book("gig", "ann"))
    return lambda: hf.book("gig", "ann")


async def already_waiting(hf: Fairhold) -> Any:
    await in_line(hf)
    return lambda: hf.book("gig", "ann", 2)


async def hold_expired(hf: Fairhold) -> Any:
    await pool(hf)
    ann = granted(await hf.book("gig", "ann"))
    await hf.advance(seconds=15 * 60)
    return lambda: hf.confirm(ann.id)


async def hold_lifetime_used_up(hf: Fairhold) -> Any:
    await pool(hf)
    ann = granted(await hf.book("gig", "ann"))
    for _ in range(3):
        granted(await hf.extend(ann.id))
    return lambda: hf.extend(ann.id)


async def not_yours_to_confirm(hf: Fairhold) -> Any:
    await pool(hf, policy={"confirm_by": "staff"})
    ann = granted(await hf.book("gig", "ann", door="page"))
    return lambda: hf.confirm(ann.id, door="page")


async def offer_taken(hf: Fairhold) -> Any:
    """The chair that was offered went on to the next in line, who took it."""
    await pool(hf, preset="last_minute", quotas={"main": ["1A"]})
    olga, ann, bea = [granted(await hf.book("gig", who)) for who in ("olga", "ann", "bea")]
    granted(await hf.cancel(olga.id))
    token = await token_of(hf, ann.id)
    await hf.advance(seconds=10 * 60)
    granted(await hf.claim(await token_of(hf, bea.id)))
    return lambda: hf.claim(token)


async def offer_withdrawn(hf: Fairhold) -> Any:
    """Staff make the pool smaller while an offer is out."""
    token = await offered(hf)
    granted(await hf.change_pool("gig", sizes={"main": 0}, allow_demotion=True))
    return lambda: hf.claim(token)


async def offer_expired(hf: Fairhold) -> Any:
    token = await offered(hf)
    await hf.advance(seconds=24 * 3600)
    return lambda: hf.claim(token)


async def offer_answered(hf: Fairhold) -> Any:
    token = await offered(hf)
    granted(await hf.decline(token))
    return lambda: hf.claim(token)


async def not_possible(hf: Fairhold) -> Any:
    ann = await in_line(hf)
    return lambda: hf.confirm(ann)


async def too_late(hf: Fairhold) -> Any:
    starts_at = to_datetime(START + 60 * MINUTE)
    await pool(hf, preset="course_section", starts_at=starts_at, policy={"offer_cutoff": "30m"})
    olga = granted(await hf.book("gig", "olga"))
    ann = granted(await hf.book("gig", "ann"))
    await hf.advance(seconds=14 * 60)
    granted(await hf.extend(olga.id, 20 * 60, by="staff"))
    await hf.advance(seconds=17 * 60)
    granted(await hf.cancel(olga.id))
    return lambda: hf.offer(ann.id)


async def would_demote(hf: Fairhold) -> Any:
    await pool(hf, quotas={"main": 2})
    for who in ("olga", "ann"):
        granted(await hf.confirm(granted(await hf.book("gig", who)).id))
    return lambda: hf.change_pool("gig", sizes={"main": 1})


async def idempotency_mismatch(hf: Fairhold) -> Any:
    await pool(hf, quotas={"main": 5})
    granted(await hf.book("gig", "ann", idempotency_key="once"))
    return lambda: hf.book("gig", "bea", idempotency_key="once")


STAGES: dict[str, Callable[[Fairhold], Awaitable[Callable[[], Awaitable[Any]]]]] = {
    stage.__name__: stage
    for stage in (
        invalid, unknown, exists, not_open_yet, pool_closed, pool_paused, not_eligible, not_enough_room,
        unit_taken, already_holding, already_waiting, hold_expired, hold_lifetime_used_up,
        not_yours_to_confirm, offer_taken,
        offer_expired, offer_withdrawn, offer_answered, not_possible, too_late, would_demote,
        idempotency_mismatch,
    )
}  # fmt: skip

NAMES = {
    "already_holding": "booking", "already_waiting": "booking", "not_possible": "booking",
    "not_yours_to_confirm": "booking",
    "would_demote": "bookings", "offer_answered": "booking", "offer_expired": "booking",
    "offer_taken": "booking", "offer_withdrawn": "booking",
}  # fmt: skip


async def pool(hf: Fairhold, *, preset: str = "class_waitlist", **options: Any) -> None:
    granted(await hf.create_pool("gig", preset=preset, **{"quotas": {"main": 1}, **options}))


async def in_line(hf: Fairhold) -> str:
    await pool(hf)
    granted(await hf.book("gig", "olga"))
    return granted(await hf.book("gig", "ann")).id


async def offered(hf: Fairhold) -> str:
    ann = await in_line(hf)
    [olga] = granted(await hf.bookings("gig", party="olga"))
    granted(await hf.cancel(olga.id))
    return await token_of(hf, ann)


async def token_of(hf: Fairhold, booking: str) -> str:
    offer = granted(await hf.booking(booking, secret=True)).offer
    assert offer is not None
    return offer.token


@pytest.mark.parametrize("code", STAGES)
async def test_a_refusal_says_why_and_changes_nothing(hf: Fairhold, database_url: str, code: str) -> None:
    ask = await STAGES[code](hf)
    before = await dump(database_url)
    answer = await ask()
    assert isinstance(answer, Refusal)
    assert (answer.code, answer.status) == (code, CODES[code])
    assert answer.sentence.endswith((".", "Available: 3"))
    assert await dump(database_url) == before
    assert await ask() == answer, "the same question gets the same answer"


@pytest.mark.parametrize("code", NAMES)
async def test_a_refusal_names_whom_it_is_about(hf: Fairhold, code: str) -> None:
    answer = await (await STAGES[code](hf))()
    named = answer.facts[NAMES[code]]
    for name in [named] if isinstance(named, str) else named:
        booking = granted(await hf.booking(name))
        assert booking.party.id in ("ann", "olga")


async def test_a_late_tap_is_told_the_same_where_not_all_units_are_loaded(
    hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairhold.store.loader._UNITS_MAX", 1)
    ask = await offer_taken(hf)
    granted(await hf.add_units("gig", [{"label": label, "quota": "main"} for label in ("1B", "1C")]))
    assert (await ask()).code == "offer_taken"


def test_every_code_that_the_engine_can_give_is_here() -> None:
    assert set(STAGES) | OF_THE_SERVER == set(CODES)


async def test_the_words_that_users_know_are_said(hf: Fairhold) -> None:
    refused = await (await not_enough_room(hf))()
    assert refused.sentence == "Not enough seats available. Requested: 10, Available: 3"
    assert refused.facts == {"requested": 10, "available": 3}


async def test_instants_in_a_refusal_can_be_read(hf: Fairhold) -> None:
    refused = await (await not_open_yet(hf))()
    assert datetime.fromisoformat(refused.facts["opens_at"]) == datetime.fromtimestamp(1_800_000_060, UTC)


async def test_every_method_knows_what_is_unknown(hf: Fairhold) -> None:
    """A name of nothing gets a calm no from every method that takes a name."""
    names = {"pool": "nowhere", "booking": "K7PM2X", "token": "a.b", "token_or_booking": "K7PM2X"}
    values = {"party": "ann", "units": ["a"], "label": "a", "opening": 1, "action": "free"}
    values |= {"text": "party_id", "state": "held"}
    asked = set()
    for name, method in inspect.getmembers(hf, inspect.iscoroutinefunction):
        wanted = inspect.signature(method).parameters.values()
        first = next(iter(wanted), None)
        if (
            name.startswith("_")
            or first is None
            or first.name not in names
            or first.default is not first.empty
        ):
            continue
        needed = [p.name for p in wanted if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
        answer = await method(*[names.get(parameter) or values[parameter] for parameter in needed])
        assert isinstance(answer, Refusal), name
        assert answer.code == "unknown"
        asked.add(name)
    assert len(asked) >= 20
