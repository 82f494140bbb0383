"""What can be looked up: lines and logs page by page, bookings by what they are, figures, prices, units."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from fairhold import Booking, Fairhold, Price, Refusal, granted
from fairhold.records import QuotaUse, Stats
from fairhold.shapes import Wanted
from tests.database import dump, opened


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        yield hf


async def crowd(hf: Fairhold, waiting: int = 25) -> list[Booking]:
    """One seat, held by Olga, and a line."""
    granted(await hf.create_pool("gig", preset="class_waitlist", quotas={"main": 1}))
    granted(await hf.book("gig", "olga"))
    return [granted(await hf.book("gig", f"party {n}")) for n in range(waiting)]


async def test_a_look_at_the_line_shows_no_gap_when_somebody_leaves_meanwhile(
    hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    everyone = await crowd(hf, waiting=5)
    view = hf.reads.view

    async def leaving_meanwhile(pool_id: int, **more: Any) -> Any:
        await hf.cancel(everyone[2].id)
        return await view(pool_id, **more)

    monkeypatch.setattr(hf.reads, "view", leaving_meanwhile)
    assert [booking.position for booking in granted(await hf.line("gig"))] == [1, 2, 3, 4, 5]
    (pool_id,) = {hf._known_pool("gig")}
    assert pool_id is not None
    behind = await hf.reads.line_behind(pool_id, 2, 10)
    assert [booking.position for booking in behind] == [2, 3, 4]


async def test_the_line_comes_page_by_page(hf: Fairhold) -> None:
    everyone = [booking.id for booking in await crowd(hf)]
    found, after = [], 0
    while page := granted(await hf.line("gig", after=after, limit=10)):
        assert [booking.position for booking in page] == list(range(after + 1, after + len(page) + 1))
        assert all(booking.ahead == (booking.position or 0) - 1 for booking in page)
        found += [booking.id for booking in page]
        after += len(page)
    assert found == everyone
    assert granted(await hf.line("gig", after=24)) == granted(await hf.line("gig"))[24:]
    assert granted(await hf.line("gig", after=25)) == granted(await hf.line("gig", after=10**12)) == []


async def test_positions_stand_right_behind_the_very_first_in_line(hf: Fairhold) -> None:
    """Whoever is moved right behind the first arrival of all is second, whatever place that is."""
    granted(await hf.create_pool("gig", preset="class_waitlist", quotas={"main": 0}))
    ann, bea, cyd = [granted(await hf.book("gig", who)) for who in ("ann", "bea", "cyd")]
    assert granted(await hf.move(cyd.id, after=ann.id)).position == 2
    assert [(b.position, b.party.id) for b in granted(await hf.line("gig"))] == [
        (1, "ann"),
        (2, "cyd"),
        (3, "bea"),
    ]
    assert granted(await hf.booking(cyd.id)).position == await hf.position(cyd.id) == 2
    assert granted(await hf.booking(bea.id)).position == await hf.position(bea.id) == 3


@pytest.mark.parametrize("wrong", [-1, 1.5, "1", True, None, 2**70])
async def test_pages_are_asked_for_with_whole_numbers(hf: Fairhold, wrong: Any) -> None:
    await crowd(hf, 3)
    for method in (hf.line, hf.log, hf.bookings):
        for field in ("after", "limit"):
            answer = await method("gig", **{field: wrong})  # type: ignore[operator]
            assert isinstance(answer, Refusal)
            assert (answer.code, answer.field) == ("invalid", field)
    assert isinstance(await hf.line("gig", limit=0), Refusal)


async def test_no_page_is_longer_than_a_thousand(hf: Fairhold, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairhold.reads.PAGE_MAX", 5)
    await crowd(hf)
    for method in (hf.line, hf.log, hf.bookings, hf.messages):
        assert len(granted(await method("gig", limit=1_000_000))) == 5  # type: ignore[operator]


async def test_bookings_are_found_by_state_and_party(hf: Fairhold) -> None:
    everyone = await crowd(hf, 6)
    granted(await hf.cancel(everyone[2].id))
    again = granted(await hf.book("gig", "party 2"))

    async def found(**by: Any) -> list[str]:
        return [booking.id for booking in granted(await hf.bookings("gig", **by))]

    assert len(await found()) == 8
    assert await found(state="cancelled") == [everyone[2].id]
    assert await found(party="party 2") == [everyone[2].id, again.id]
    assert await found(party="party 2", state="waiting") == [again.id]
    assert await found(party="nobody") == await found(state="expired") == []
    assert await found(limit=2) + await found(after=2) == await found()
    assert await found(limit=2) + await found(after=everyone[0].reference) == await found()


async def test_the_log_comes_page_by_page_and_is_chained(hf: Fairhold) -> None:
    await crowd(hf, 10)
    whole = granted(await hf.log("gig"))
    assert [entry.seq for entry in whole] == list(range(1, 13))
    assert [entry.event for entry in whole] == ["PoolCreated", "Held", *["Joined"] * 10]
    assert granted(await hf.log("gig", after=5, limit=3)) == whole[5:8]
    assert len({entry.hash for entry in whole}) == 12
    assert "party 3" in str(whole), "the caller's own id is in the log, and nothing else about a person"


async def test_no_name_and_no_contact_is_in_the_log(hf: Fairhold, database_url: str) -> None:
    granted(await hf.create_pool("gig", preset="event_signup", quotas={"main": 1}))
    for who in ("p1", "p2"):
        party = {"id": who, "name": "Zelda Q", "contacts": {"email": "zelda@example.org"}}
        granted(await hf.book("gig", party))
    rows = await dump(database_url)
    assert "Zelda" not in str(rows["fairhold_log"])
    assert "zelda@" not in str(rows["fairhold_log"])
    assert "Zelda" in str(rows["fairhold_bookings"])


async def test_the_figures_of_a_pool(hf: Fairhold) -> None:
    granted(await hf.create_pool("gig", preset="class_waitlist", quotas={"main": 4, "vip": None}))
    ann = granted(await hf.book("gig", "ann", 2, quota="main"))
    granted(await hf.confirm(granted(await hf.book("gig", "bea", quota="main")).id))
    await hf.advance(seconds=11 * 60)
    granted(await hf.book("gig", "cyd", quota="main"))
    granted(await hf.book("gig", "dan", quota="main"))
    granted(await hf.book("gig", "eve", 3, quota="vip"))
    assert granted(await hf.stats("gig")) == Stats(
        active_holds=3,
        expired_holds=0,
        total_held_seats=6,
        holds_expiring_soon=1,
        bookings={"held": 3, "confirmed": 1, "waiting": 1},
        waiting=1,
        offers_live=0,
        offers={},
        quotas={"main": QuotaUse(4, 0), "vip": QuotaUse(3, None)},
    )
    granted(await hf.cancel(ann.id))
    figures = granted(await hf.stats("gig"))
    assert (figures.offers_live, figures.offers, figures.bookings["offered"]) == (1, {"live": 1}, 1)


async def test_holds_past_their_time_are_counted_until_they_are_released(hf: Fairhold) -> None:
    granted(await hf.create_pool("gig", preset="checkout", quotas={"main": 4}))
    granted(await hf.book("gig", "ann", 2))
    clock: Any = hf.clock
    clock.move_to(clock.now() + 15 * 60_000)
    figures = granted(await hf.stats("gig"))
    assert (figures.active_holds, figures.expired_holds, figures.total_held_seats) == (0, 1, 2)
    assert await hf.tick() == 1
    assert granted(await hf.stats("gig")).expired_holds == 0


async def test_placement_follows_the_order(hf: Fairhold) -> None:
    """Who is in the quota and who in the open share is derived: when one in the quota goes, all move up."""
    granted(await hf.create_pool("gig", preset="event_signup", quotas={"a": 2, "b": 1}, open_size=1))
    booked = [granted(await hf.book("gig", who, quota="a")) for who in ("ann", "bea", "cyd", "dan")]

    async def placements() -> list[str | None]:
        return [booking.placement for booking in granted(await hf.bookings("gig"))]

    assert [booking.placement for booking in booked] == ["quota", "quota", "open", "line"]
    assert await placements() == ["quota", "quota", "open", "line"]
    granted(await hf.cancel(booked[0].id))
    assert await placements() == [None, "quota", "quota", "open"]


async def test_a_price_is_locked_when_the_room_is_taken(hf: Fairhold) -> None:
    granted(
        await hf.create_pool("gig", preset="class_waitlist", quotas={"main": 2}, price=Price(1500, "EUR"))
    )
    ann = granted(await hf.book("gig", "ann", 2))
    bea = granted(await hf.book("gig", "bea"))
    assert (ann.price, ann.total) == (Price(1500, "EUR"), Price(3000, "EUR"))
    assert bea.price is None, "who waits has no price yet"
    granted(await hf.change_pool("gig", price=Price(9900, "EUR")))
    for answer in (await hf.extend(ann.id), await hf.confirm(ann.id), await hf.booking(ann.id)):
        assert granted(answer).price == Price(1500, "EUR")
    granted(await hf.cancel(ann.id))
    assert granted(await hf.booking(bea.id)).price == Price(9900, "EUR"), "of the day it was offered"
    cyd = granted(await hf.book("gig", "cyd", price={"amount": 100, "currency": "EUR"}))
    assert (cyd.state, cyd.price) == ("held", Price(100, "EUR"))


async def test_units_are_chosen_or_best_available(hf: Fairhold) -> None:
    rows = [{"label": f"{row}{seat}", "attributes": {"row": row}} for row in (1, 2) for seat in "ABC"]
    granted(await hf.create_pool("flight", preset="checkout", quotas=[{"key": "main", "units": rows}]))
    assert granted(await hf.book("flight", "ann", units=["1B"])).units == ("1B",)
    assert granted(await hf.book("flight", "bea", 3)).units == ("2A", "2B", "2C")
    assert granted(await hf.room("flight")) == {"main": 2}
    closed = granted(await hf.close_unit("flight", "1A"))
    assert (closed.quotas[0].size, closed.quotas[0].room) == (5, 1)
    taken = await hf.close_unit("flight", "1B")
    assert isinstance(taken, Refusal)
    assert taken.code == "unit_taken"
    assert granted(await hf.add_units("flight", ["1A", "3A"])).quotas[0].size == 7
    again = await hf.add_units("flight", ["3A"])
    assert isinstance(again, Refusal)
    assert (again.code, again.field) == ("exists", "units[0].label")


def few_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at three units of a pool at first, and remember nothing from one transaction to the next."""
    monkeypatch.setattr("fairhold.store.loader._UNITS_MAX", 3)
    monkeypatch.setattr("fairhold.store.loaded.Memory.standing", lambda *_: None)


async def test_a_unit_cannot_be_opened_twice_however_many_there_are(
    hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not all units of a large pool are looked at; those that a command names are."""
    few_units(monkeypatch)
    granted(await hf.create_pool("hall", preset="checkout", quotas={"main": [f"s{n}" for n in range(9)]}))
    again = await hf.add_units("hall", ["s8"])
    assert isinstance(again, Refusal)
    assert again.code == "exists"
    assert granted(await hf.book("hall", "ann", units=["s8"])).units == ("s8",)
    again = await hf.add_units("hall", ["s8"])
    assert isinstance(again, Refusal)
    assert again.code == "exists"


async def test_no_quota_hides_the_units_of_another(hf: Fairhold, monkeypatch: pytest.MonkeyPatch) -> None:
    few_units(monkeypatch)
    quotas = {"stalls": [f"s{n}" for n in range(5)], "balcony": [f"b{n}" for n in range(5)]}
    granted(await hf.create_pool("hall", preset="checkout", quotas=quotas))
    assert granted(await hf.book("hall", "ann", 2, quota="balcony")).units == ("b0", "b1")
    assert granted(await hf.book("hall", "bea", 2, quota="balcony")).units == ("b2", "b3")


async def test_an_opening_goes_on_however_many_units_are_free(
    hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many free units that nobody in line wants come before the one that is offered."""
    few_units(monkeypatch)
    units = [{"label": f"s{n}", "attributes": {"side": "aisle"}} for n in range(9)]
    units.append({"label": "w", "attributes": {"side": "window"}})
    granted(await hf.create_pool("hall", preset="course_section", quotas=[{"key": "main", "units": units}]))
    olga = granted(await hf.book("hall", "olga", units=["w"]))
    wants = {"attributes": {"attribute": "side", "is": "window"}}
    ann = granted(await hf.book("hall", "ann", wants=wants))
    bea = granted(await hf.book("hall", "bea", wants=wants))
    assert (ann.state, bea.state) == ("waiting", "waiting")
    granted(await hf.cancel(olga.id))
    assert granted(await hf.booking(ann.id)).state == "offered"
    granted(await hf.decline(ann.id))
    offered = granted(await hf.booking(bea.id, secret=True))
    assert (offered.state, offered.units) == ("offered", ("w",))
    assert granted(await hf.book("hall", "dan")).units == ("s0",)
    assert offered.offer is not None
    assert granted(await hf.claim(offered.offer.token)).units == ("w",)
    granted(await hf.cancel(bea.id))
    assert granted(await hf.book("hall", "cyd")).units == ("s1",)
    assert granted(await hf.room("hall")) == {"main": 8}


async def test_a_booking_says_what_it_wants(hf: Fairhold, database_url: str) -> None:
    """For as long as it is there, and whoever looks; so does the answer under its key, by another node."""
    units = [{"label": "w", "attributes": {"side": "window"}, "starts_at": "2027-03-20T14:00:00Z"}]
    granted(await hf.create_pool("hall", preset="course_section", quotas=[{"key": "main", "units": units}]))
    olga = granted(await hf.book("hall", "olga", units=["w"]))
    window = {"attribute": "side", "is": "window"}
    asked = {"attributes": window, "from_at": "2026-03-07T14:00:00Z"}
    ann = granted(await hf.book("hall", "ann", wants=asked, idempotency_key="a"))
    wants = Wanted(window, datetime(2026, 3, 7, 14, tzinfo=UTC))
    assert (ann.state, ann.wants, olga.wants) == ("waiting", wants, None)
    async with opened(database_url) as there:
        assert granted(await there.book("hall", "ann", wants=asked, idempotency_key="a")).wants == wants
    granted(await hf.cancel(olga.id))
    (listed,) = [it for it in granted(await hf.bookings("hall")) if it.id == ann.id]
    assert (listed.state, listed.wants) == ("offered", wants)


async def test_free_units_are_found_to_the_last(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three at a time are looked at; what is remembered of them must not hide the others."""
    monkeypatch.setattr("fairhold.store.loader._UNITS_MAX", 3)
    async with opened(database_url) as hf:
        granted(await hf.create_pool("hall", preset="checkout", quotas={"main": [f"s{n}" for n in range(9)]}))
    async with opened(database_url) as hf:
        assert granted(await hf.change_pool("hall", title="Hall")).quotas[0].size == 9
    async with opened(database_url) as hf:
        got = [granted(await hf.book("hall", f"party {n}")).units for n in range(7)]
        assert got == [(f"s{n}",) for n in range(7)]
        refused = await hf.book("hall", "too many", 3)
        assert isinstance(refused, Refusal)
        assert refused.facts == {"requested": 3, "available": 2}
        assert granted(await hf.book("hall", "just right", 2)).units == ("s7", "s8")


async def test_log_openings_messages_and_figures_are_values(hf: Fairhold) -> None:
    """Nobody can change what was read, and it turns into JSON with instants as everywhere else."""
    granted(await hf.create_pool("chair", preset="last_minute", quotas={"main": ["2 pm"]}))
    olga, ann = [granted(await hf.book("chair", who)) for who in ("olga", "ann")]
    granted(await hf.cancel(olga.id))
    entry, opening = granted(await hf.log("chair"))[-1], granted(await hf.openings("chair"))[0]
    message, stats = granted(await hf.messages("chair"))[-1], granted(await hf.stats("chair"))
    assert (entry.event, entry.booking, entry.by) == ("Offered", ann.id, "rule")
    assert (opening.unit, opening.state, opening.opened_at) == ("2 pm", "open", entry.at)
    assert (message.kind, message.booking, message.created_at) == ("offer", ann.id, entry.at)
    assert stats.quotas == {"main": QuotaUse(1, 0)}
    for value in (entry, opening, message, stats):
        with pytest.raises(AttributeError):
            value.kind = "other"  # type: ignore[union-attr]
    assert json.loads(msgspec.json.encode(entry))["at"] == "2027-01-15T08:00:00Z"


async def test_the_figures_of_all_pools_are_their_sums(hf: Fairhold) -> None:
    for pool in ("gig", "gala"):
        granted(await hf.create_pool(pool, preset="class_waitlist", quotas={"main": 2}))
        granted(await hf.book(pool, "ann", 2))
        granted(await hf.book(pool, "bea"))
    totals = await hf.totals()
    assert (totals.pools, totals.active_holds, totals.total_held_seats, totals.waiting) == (2, 2, 4, 2)
    assert totals.bookings == {"held": 2, "waiting": 2}


async def test_why_a_seat_is_free_is_told_to_who_waits(hf: Fairhold) -> None:
    rules = {"hand_back": False, "tries_max": None}
    for key, quota in (("class", {"key": "main", "size": 1}), ("salon", {"key": "main", "units": ["2 pm"]})):
        granted(await hf.create_pool(key, preset="last_minute", policy=rules, quotas=[quota]))
        olga = granted(await hf.book(key, "olga"))
        ann = granted(await hf.book(key, "ann"))
        granted(await hf.cancel(olga.id))
        assert [step.code for step in granted(await hf.explain(ann.id))] == ["joined", "offered"]
        granted(await hf.decline(ann.id))
        last = granted(await hf.explain(ann.id))[-1]
        assert (last.code, last.reason) == ("passed_over", "had_turn")
        assert last.sentence == "A seat is free now: you have had your turn."
        granted(await hf.cancel(ann.id))
        assert granted(await hf.explain(ann.id))[-1].code == "cancelled"
