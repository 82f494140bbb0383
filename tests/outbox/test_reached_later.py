"""Whoever no letter could reach is asked again as soon as one can."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from fairhold import granted
from fairhold.core import commands as c
from fairhold.outbox import MessageSettings, Outbox, loop
from tests.outbox.conftest import Post
from tests.outbox.passed_over import NO_SUCH, from_page, reach, state
from tests.outbox.test_sending import offered
from tests.verified import assert_verified

pytestmark = pytest.mark.usefixtures("lesson")


async def test_a_new_address_is_asked_at_once(post: Post) -> None:
    olga = await post.book("lesson", "Olga")
    cyd = await from_page(post, "Cyd")
    granted(await post.hf.cancel(olga.id))
    await post.outbox.send_due()
    assert (await state(post, cyd), await reach(post, cyd)) == ("waiting", "no_contact")
    granted(await post.hf.change_booking(cyd, contacts={"email": "cyd@example.org"}))
    assert (await state(post, cyd), await reach(post, cyd)) == ("offered", "")
    await post.outbox.send_due()
    assert "offer" in [it["X-Fairhold-Kind"] for it in post.mail.to("cyd@example.org")]


async def test_a_channel_that_comes_later_reaches_who_was_passed_over(post: Post) -> None:
    bare = Outbox(post.hf, MessageSettings(base_url="https://seats.example.org"))
    olga = await post.book("lesson", "Olga")
    cyd = await from_page(post, "Cyd", email="cyd@example.org")
    granted(await post.hf.cancel(olga.id))
    await bare.send_due()
    await bare.close()
    assert (await state(post, cyd), await reach(post, cyd)) == ("waiting", "no_channel")
    await post.outbox.send_due()
    assert (await state(post, cyd), await reach(post, cyd)) == ("offered", "")


async def test_those_whom_a_new_channel_cannot_reach_keep_it_from_nobody(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are more of them than are looked at, at a time, and all stand before Cyd."""
    monkeypatch.setattr(loop, "_AGAIN_MAX", 3)
    bare = Outbox(post.hf, MessageSettings(base_url="https://seats.example.org"))
    olga = await post.book("lesson", "Olga")
    for number in range(7):
        await from_page(post, f"No-{number}")
    cyd = await from_page(post, "Cyd", email="cyd@example.org")
    granted(await post.hf.cancel(olga.id))
    await bare.send_due()
    await bare.close()
    assert (await state(post, cyd), await reach(post, cyd)) == ("waiting", "no_channel")
    await post.outbox.send_due()
    assert (await state(post, cyd), await reach(post, cyd)) == ("offered", "")


async def test_a_mail_server_that_was_down_for_a_whole_window_costs_nobody_a_place(post: Post) -> None:
    """Ann came by the library: a letter that a channel should carry and did not costs her nothing either."""
    post.mail.down()
    ann, _ = await offered(post)
    await post.pass_time(11 * 60, step_s=60)
    found = granted(await post.hf.booking(ann))
    assert (found.state, found.attempts, found.reach) == ("waiting", 0, "channel_down")
    post.mail.up()
    await post.pass_time(3_600, step_s=300)
    assert await reach(post, ann) == ""
    codes = [step.code for step in granted(await post.hf.explain(ann))]
    assert codes[:4] == ["joined", "offered", "delayed", "not_reached"]
    assert "reachable" in codes
    await assert_verified(post.url)


async def test_after_an_outage_of_days_the_late_letter_still_comes(post: Post) -> None:
    """It is tried beyond its usual end, for until a letter is taken offers pass its party over."""
    olga = await post.book("lesson", "Olga")
    cyd = await from_page(post, "Cyd", email="cyd@example.org")
    post.mail.down()
    granted(await post.hf.cancel(olga.id))
    await post.pass_time(3 * 24 * 3_600, step_s=1_800)
    assert (await state(post, cyd), await reach(post, cyd)) == ("waiting", "channel_down")
    post.mail.up()
    await post.pass_time(7_200, step_s=600)
    assert await reach(post, cyd) == ""
    # Control: what tells of nothing that passes her over is given up.
    told = granted(await post.hf.messages("lesson"))
    assert [it.state for it in told if (it.kind, it.booking) == ("joined", cyd)] == ["dead"]


async def test_a_letter_that_was_not_sent_can_be_sent_when_there_is_a_way(post: Post) -> None:
    bare = Outbox(post.hf, MessageSettings(base_url="https://seats.example.org"))
    await post.book("chair", "Olga")
    await post.book("chair", "Ann")
    await bare.send_due()
    await bare.close()
    (joined,) = [it for it in granted(await post.hf.messages("chair")) if it.kind == "joined"]
    assert (joined.state, joined.error) == ("not_sent", "no mail server is set up: FAIRHOLD_SMTP_URL")
    granted(await post.hf.replay(joined.id))
    await post.outbox.send_due()
    assert granted(await post.hf.message(joined.id)).state == "sent"
    assert [it["X-Fairhold-Kind"] for it in post.mail.to("ann@example.org")] == ["joined"]


async def test_a_late_letter_waits_also_while_nothing_is_set_up(post: Post) -> None:
    olga = await post.book("lesson", "Olga")
    cyd = await from_page(post, "Cyd", email="cyd@example.org")
    await post.outbox.send_due()
    post.mail.down()
    granted(await post.hf.cancel(olga.id))
    await post.pass_time(660, step_s=60)
    assert await reach(post, cyd) == "channel_down"
    bare = Outbox(post.hf, MessageSettings(base_url="https://seats.example.org"))
    await post.hf.advance(seconds=3_600)
    await bare.send_due()
    await bare.close()
    post.mail.up()
    await post.pass_time(7_200, step_s=600)
    assert await reach(post, cyd) == ""


async def test_whoever_mends_the_address_while_the_letter_bounces_is_asked_there(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    post.mail.answers["ann@example.org"] = NO_SUCH
    olga = await post.book("lesson", "Olga")
    ann = await from_page(post, "Ann", email="ann@example.org")
    await post.outbox.send_due()
    granted(await post.hf.cancel(olga.id))

    async def mend(submit: Any, pool_id: int, command: Any) -> Any:
        if isinstance(command, c.Unreachable):
            monkeypatch.undo()
            granted(await post.hf.change_booking(ann, contacts={"email": "right@example.org"}))
        return await submit(pool_id, command)

    monkeypatch.setattr(post.hf, "submit", partial(mend, post.hf.submit))
    await post.outbox.send_due()
    assert (await state(post, ann), await reach(post, ann)) == ("offered", "")
    assert "offer" in [it["X-Fairhold-Kind"] for it in post.mail.to("right@example.org")]
    await assert_verified(post.url)
