"""Staff tell a party of one offer that they make, or of all of them; and they see of which they have to."""

from __future__ import annotations

import pytest

from holdfast import granted
from tests.outbox.conftest import Post
from tests.outbox.passed_over import from_page, reach, state
from tests.verified import assert_verified

pytestmark = pytest.mark.usefixtures("lesson")

WINDOW_S = 600


async def passed_over(post: Post, **contacts: str) -> str:
    """Cyd came by a page, no offer can reach her, and a seat is free."""
    olga = await post.book("lesson", "Olga")
    cyd = await from_page(post, "Cyd", **contacts)
    granted(await post.hf.cancel(olga.id))
    await post.outbox.send_due()
    assert await state(post, cyd) == "waiting"
    return cyd


async def listed(post: Post) -> list[str]:
    """Who needs staff, for offers pass them over."""
    return [it.id for it in (await post.hf.needs()).passed_over]


async def test_a_seat_that_staff_offer_once_leaves_the_party_as_hard_to_reach_as_it_was(post: Post) -> None:
    cyd = await passed_over(post)
    made = granted(await post.hf.offer(cyd, why="called her", by="staff:Olga"))
    assert (made.state, made.reach) == ("offered", "no_contact")
    await post.outbox.send_due()
    assert await state(post, cyd) == "offered"
    await post.pass_time(WINDOW_S, step_s=60)
    # That one counted, for staff told her. No other is made that nobody would tell her of.
    for _ in range(10):
        await post.pass_time(WINDOW_S, step_s=300)
        found = granted(await post.hf.booking(cyd))
        assert (found.state, found.reach, found.attempts) == ("waiting", "no_contact", 1)
        assert await listed(post) == [cyd]
    await assert_verified(post.url)


async def test_once_she_can_be_reached_offers_are_as_ever(post: Post) -> None:
    """Control: what passes her over is that nobody could tell her, and not the offer that staff made."""
    cyd = await passed_over(post)
    granted(await post.hf.offer(cyd, by="staff:Olga"))
    granted(await post.hf.change_booking(cyd, contacts={"email": "cyd@example.org"}))
    assert await reach(post, cyd) == ""
    await post.pass_time(2 * WINDOW_S, step_s=60)
    assert granted(await post.hf.booking(cyd)).attempts > 1
    assert await listed(post) == []
