"""Staff tell a party of one offer that they make, or of all of them; and they see of which they have to."""

from __future__ import annotations

import pytest

from fairhold import granted
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


async def to_tell(post: Post) -> list[str]:
    """Who has an offer of which staff have to tell them. It is counted with all else that needs staff."""
    needs = await post.hf.needs()
    assert await post.hf.needs_count() == needs.count >= len(needs.to_tell)
    return [it.id for it in needs.to_tell]


async def test_staff_are_asked_to_tell_of_a_seat_that_they_offer(post: Post) -> None:
    cyd = await passed_over(post)
    assert await to_tell(post) == []
    granted(await post.hf.offer(cyd, by="staff:Olga"))
    await post.outbox.send_due()
    assert (await to_tell(post), await listed(post)) == ([cyd], [])
    granted(await post.hf.decline(cyd, by="staff:Olga"))
    assert (await to_tell(post), await listed(post)) == ([], [cyd])


async def test_staff_are_asked_to_tell_of_every_offer_where_they_said_so(post: Post) -> None:
    cyd = await passed_over(post)
    granted(await post.hf.change_booking(cyd, told_by_staff=True, by="staff:Olga"))
    for attempts in (1, 2, 3):
        await post.outbox.send_due()
        assert granted(await post.hf.booking(cyd)).attempts == attempts
        assert await to_tell(post) == [cyd]
        await post.hf.advance(seconds=WINDOW_S)
    # What is over, and not ended yet, is nothing to tell of.
    await post.hf.cancel(cyd, by="staff:Olga")
    assert await to_tell(post) == []


async def test_staff_who_say_it_while_an_offer_runs_are_asked_to_tell_of_that_one(post: Post) -> None:
    post.mail.down()
    olga = await post.book("lesson", "Olga")
    cyd = await from_page(post, "Cyd", email="cyd@example.org")
    granted(await post.hf.cancel(olga.id))
    await post.outbox.send_due()
    assert (await state(post, cyd), await to_tell(post)) == ("offered", [])
    granted(await post.hf.change_booking(cyd, told_by_staff=True, by="staff:Olga"))
    assert await to_tell(post) == [cyd]
    granted(await post.hf.change_booking(cyd, told_by_staff=False, by="staff:Olga"))
    assert await to_tell(post) == []


async def test_of_what_a_letter_tells_staff_have_nothing_to_tell(post: Post) -> None:
    olga = await post.book("lesson", "Olga")
    cyd = await from_page(post, "Cyd", email="cyd@example.org")
    granted(await post.hf.change_booking(cyd, told_by_staff=True, by="staff:Olga"))
    granted(await post.hf.cancel(olga.id))
    assert await to_tell(post) == [cyd]
    await post.outbox.send_due()
    assert (await state(post, cyd), await to_tell(post)) == ("offered", [])
    # Control: another offer, of which no letter can tell.
    post.mail.down()
    await post.pass_time(WINDOW_S, step_s=60)
    assert (await state(post, cyd), await to_tell(post)) == ("offered", [cyd])


async def test_who_was_let_in_by_a_program_is_not_staffs_to_tell(post: Post) -> None:
    olga = await post.book("lesson", "Olga")
    ann = granted(await post.hf.book("lesson", "ann")).id
    granted(await post.hf.cancel(olga.id))
    await post.outbox.send_due()
    assert (await state(post, ann), await to_tell(post)) == ("offered", [])


async def test_once_she_can_be_reached_offers_are_as_ever(post: Post) -> None:
    """Control: what passes her over is that nobody could tell her, and not the offer that staff made."""
    cyd = await passed_over(post)
    granted(await post.hf.offer(cyd, by="staff:Olga"))
    granted(await post.hf.change_booking(cyd, contacts={"email": "cyd@example.org"}))
    assert await reach(post, cyd) == ""
    await post.pass_time(2 * WINDOW_S, step_s=60)
    assert granted(await post.hf.booking(cyd)).attempts > 1
    assert await listed(post) == []
