"""What is not what it should be is refused before anything happens; changes at once are all made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from holdfast import Holdfast, Refusal, granted
from holdfast.core.policy import Policy
from tests.verified import assert_verified


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Holdfast]:
    async with Holdfast.open(database_url) as hf:
        granted(await hf.create_pool("p", preset="class_waitlist", quotas={"m": 2}))
        yield hf
    await assert_verified(database_url)


@pytest.mark.parametrize(
    ("field", "call"),
    [
        ("confirmed", lambda hf, ann: hf.book("p", "bea", confirmed="yes")),
        ("allow_demotion", lambda hf, ann: hf.change_pool("p", sizes={"m": 0}, allow_demotion="no")),
        ("why", lambda hf, ann: hf.cancel(ann, why=None)),
        ("why", lambda hf, ann: hf.change_pool("p", title="x", why=None)),
        ("by", lambda hf, ann: hf.cancel(ann, by=None)),
        ("policy.if_full", lambda hf, ann: hf.change_pool("p", policy=Policy(if_full="nonsense"))),
    ],
)
async def test_words_are_text_and_flags_are_flags(hf: Holdfast, field: str, call: Any) -> None:
    ann = granted(await hf.book("p", "ann"))
    refused = await call(hf, ann.id)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.field) == ("invalid", field)
    assert len(granted(await hf.log("p"))) == 2


async def test_changes_of_a_policy_at_once_are_all_made(hf: Holdfast) -> None:
    changes = ({"attempts_max": 7}, {"cooldown": "1h"}, {"offer_window": "2h"})
    await asyncio.gather(*(hf.change_pool("p", policy=change) for change in changes))
    policy = granted(await hf.pool("p")).policy
    assert (policy["attempts_max"], policy["cooldown"], policy["offer_window"]) == (7, 3600, 7200)


async def test_units_are_opened_by_their_own_command(hf: Holdfast) -> None:
    granted(await hf.create_pool("seats", preset="checkout", quotas={"m": ["A"]}))
    refused = await hf.change_pool("seats", quotas=[{"key": "m", "units": ["A", "B"]}])
    assert isinstance(refused, Refusal)
    assert refused.field == "quotas"


async def test_a_quota_with_seats_set_aside_stays(hf: Holdfast) -> None:
    granted(await hf.create_pool("two", preset="last_minute", quotas={"a": 1, "b": 1}))
    olga = granted(await hf.book("two", "olga", quota="b"))
    ann = granted(await hf.book("two", "ann", quota="b"))
    granted(await hf.cancel(olga.id))
    granted(await hf.decline(ann.id))
    granted(await hf.cancel(ann.id))
    assert [it["state"] for it in granted(await hf.openings("two"))] == ["handed_back"]
    refused = await hf.change_pool("two", quotas={"a": 1})
    assert isinstance(refused, Refusal)
    assert refused.field == "quotas"


async def test_what_came_back_is_offered_by_its_number(hf: Holdfast) -> None:
    granted(await hf.create_pool("one", preset="last_minute", quotas={"a": 1}))
    olga, ann = granted(await hf.book("one", "olga")), granted(await hf.book("one", "ann"))
    granted(await hf.cancel(olga.id))
    granted(await hf.decline(ann.id))
    for wrong in (True, "1", -1, 2**63):
        refused = await hf.offer(ann.id, opening=wrong)  # type: ignore[arg-type]
        assert isinstance(refused, Refusal)
        assert refused.field == "opening"
    (opening,) = granted(await hf.openings("one"))
    assert granted(await hf.offer(ann.id, opening=opening["number"])).state == "offered"


@pytest.mark.parametrize("name", [None, 5, b"b", ["p"], {}])
async def test_a_name_that_is_no_text_is_unknown(hf: Holdfast, name: Any) -> None:
    calls = (hf.confirm(name), hf.cancel(name), hf.decline(name), hf.claim(name), hf.book(name, "ann"))
    calls += (hf.booking(name), hf.pool(name), hf.explain(name), hf.position(name), hf.line(name))
    for answer in await asyncio.gather(*calls):
        assert isinstance(answer, Refusal)
        assert answer.code == "unknown"


async def test_an_accepted_part_came_when_its_booking_came(hf: Holdfast) -> None:
    """A smaller pool costs the latest arrival its place; that is not who was first and took a part."""
    olga = granted(await hf.book("p", "olga", 2))
    ann = granted(await hf.book("p", "ann", 2))
    granted(await hf.cancel(olga.id))
    offer = granted(await hf.booking(ann.id, secret=True)).offer
    assert offer is not None
    part = granted(await hf.claim(offer.token, 1))
    late = granted(await hf.change_pool("p", sizes={"m": 3}))
    assert late
    refused = await hf.change_pool("p", sizes={"m": 1})
    assert isinstance(refused, Refusal)
    assert part.id not in refused.facts["bookings"]
