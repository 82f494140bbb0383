"""Who got a place by itself and was not told of it: staff see them, while the hold runs and after it."""

from __future__ import annotations

import pytest

from fairhold import granted
from fairhold.outbox import MessageSettings, Outbox
from tests.outbox.conftest import Post
from tests.outbox.passed_over import NO_SUCH, from_page, state
from tests.verified import assert_verified

PRICE = {"amount": 2500, "currency": "EUR"}
HOLD_S = 1_800


@pytest.fixture(autouse=True)
async def concert(post: Post) -> None:
    """A pool whose line is served by itself, and where staff confirm, for it costs something."""
    policy = {"confirm_by": None}
    made = {"preset": "event_signup", "quotas": {"main": 1}, "price": PRICE, "policy": policy}
    granted(await post.hf.create_pool("concert", **made))


async def promoted(post: Post) -> str:
    """Una has completed her sign-up in line, and the place comes free; the letter about it is tried."""
    olga = await post.book("concert", "Olga")
    una = await from_page(post, "Una", "concert", email="una@example.org")
    granted(await post.hf.confirm(una, door="page"))
    granted(await post.hf.cancel(olga.id, by="staff:Kim"))
    await post.outbox.send_due()
    assert await state(post, una) == "held"
    return una


async def unreached(post: Post) -> list[tuple[str, str]]:
    """Who does not know of their place, and how it stands with the letter; counted as they are listed."""
    needs = await post.hf.needs()
    assert await post.hf.needs_count() == needs.count
    return [(it.booking.id, it.message.state) for it in needs.unreached if it.booking is not None]


async def test_a_place_that_no_letter_has_told_of_is_seen_until_one_has(post: Post) -> None:
    post.mail.down()
    una = await promoted(post)
    assert await unreached(post) == [(una, "pending")]
    await post.pass_time(HOLD_S - 60, step_s=60)
    assert (await state(post, una), await unreached(post)) == ("held", [(una, "pending")])
    await post.pass_time(120, step_s=60)
    assert (await state(post, una), await unreached(post)) == ("expired", [(una, "pending")])
    post.mail.up()
    await post.pass_time(2 * 3_600, step_s=300)
    assert (await state(post, una), await unreached(post)) == ("expired", [])
    await assert_verified(post.url)


async def test_who_was_told_of_it_is_not_among_them(post: Post) -> None:
    """Control: the letter comes, and the hold ends all the same."""
    una = await promoted(post)
    assert await unreached(post) == []
    await post.pass_time(HOLD_S + 60, step_s=60)
    assert (await state(post, una), await unreached(post)) == ("expired", [])


async def test_a_letter_that_has_not_been_tried_is_no_news(post: Post) -> None:
    post.mail.down()
    olga = await post.book("concert", "Olga")
    una = await from_page(post, "Una", "concert", email="una@example.org")
    granted(await post.hf.confirm(una, door="page"))
    granted(await post.hf.cancel(olga.id, by="staff:Kim"))
    assert (await state(post, una), await unreached(post)) == ("held", [])


async def test_a_letter_that_came_back_is_seen_after_the_hold_until_it_is_put_away(post: Post) -> None:
    post.mail.answers["una@example.org"] = NO_SUCH
    una = await promoted(post)
    listed = {(una, "dead")}
    assert listed <= set(await unreached(post))
    await post.pass_time(HOLD_S + 60, step_s=60)
    assert (await state(post, una), await unreached(post)) == ("expired", [*listed])
    for it in (await post.hf.needs()).unreached:
        granted(await post.hf.dismiss(it.message.id, by="staff:Kim"))
    assert await unreached(post) == []


async def test_a_letter_that_nothing_could_carry_is_seen_after_the_hold(post: Post) -> None:
    bare = Outbox(post.hf, MessageSettings(base_url="https://seats.example.org"))
    una = await promoted(Post(post.hf, bare, post.mail, post.url))
    assert await unreached(post) == [(una, "not_sent")]
    await post.hf.advance(seconds=HOLD_S + 60)
    assert (await state(post, una), await unreached(post)) == ("expired", [(una, "not_sent")])
    await bare.close()


async def test_what_became_of_it_later_makes_it_old_news(post: Post) -> None:
    """Staff have confirmed it, or put it back: they know of it, and the letter is on its way."""
    post.mail.down()
    una = await promoted(post)
    await post.pass_time(HOLD_S + 60, step_s=60)
    assert await unreached(post) == [(una, "pending")]
    granted(await post.hf.put_back(una, by="staff:Kim"))
    assert await unreached(post) == []
    granted(await post.hf.confirm(una, by="staff:Kim"))
    assert (await state(post, una), await unreached(post)) == ("confirmed", [])
