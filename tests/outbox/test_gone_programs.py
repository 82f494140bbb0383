"""A program that is gone takes no offers: who came by a page is asked again once there is another way."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from fairhold import granted
from fairhold.outbox import MessageSettings, Outbox
from tests.notifiers.servers import Receiver, receiver
from tests.outbox.conftest import Post
from tests.outbox.passed_over import from_page, offers_said, reach, state
from tests.verified import assert_verified

pytestmark = pytest.mark.usefixtures("lesson")

HOUR_S = 3_600


@pytest.fixture(autouse=True)
def private(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRHOLD_WEBHOOKS_TO_PRIVATE", "yes")


@pytest.fixture
async def programs(post: Post) -> AsyncIterator[Post]:
    """The same, where no mail server is set up: programs alone are told."""
    settings = MessageSettings(base_url="https://seats.example.org", webhooks_to_private=True)
    outbox = Outbox(post.hf, settings, dice=lambda: 0.5)
    yield Post(post.hf, outbox, post.mail, post.url)
    await outbox.close()


async def passed_over(programs: Post, hook: Receiver, **contacts: str) -> str:
    """Cyd came by a page. The only program that is told of offers says that it is gone."""
    granted(await programs.hf.add_webhook(hook.url, kinds=["offer"]))
    hook.status = 410
    olga = await programs.book("lesson", "Olga")
    cyd = await from_page(programs, "Cyd", **contacts)
    granted(await programs.hf.cancel(olga.id))
    await programs.outbox.send_due()
    assert (await state(programs, cyd), await reach(programs, cyd)) == ("waiting", "channel_down")
    return cyd


async def test_while_it_is_gone_nobody_is_asked_in_vain(programs: Post, hook: Receiver) -> None:
    cyd = await passed_over(programs, hook, email="cyd@example.org")
    await programs.pass_time(5 * HOUR_S, step_s=30)
    assert len(hook.received) == 1
    ((is_now, why),) = await offers_said(programs)
    assert (is_now, why.partition(":")[0]) == ("pending", "webhook")
    found = granted(await programs.hf.booking(cyd))
    assert (found.state, found.position, found.attempts, found.reach) == ("waiting", 1, 0, "channel_down")
    assert [it.id for it in (await programs.hf.needs()).passed_over] == [cyd]
    await assert_verified(programs.url)


@pytest.mark.parametrize("later_s", [60, 5 * HOUR_S])
async def test_a_mail_server_that_is_set_up_later_reaches_them(
    programs: Post, post: Post, hook: Receiver, later_s: int
) -> None:
    """Also while the window of the offer would still run: a letter about it would promise the seat."""
    cyd = await passed_over(programs, hook, email="cyd@example.org")
    await programs.pass_time(later_s, step_s=60)
    assert await reach(programs, cyd) == "channel_down"
    await post.pass_time(2 * HOUR_S, step_s=300)
    found = granted(await post.hf.booking(cyd))
    assert (found.state, found.reach) == ("offered", "")
    await post.outbox.send_due()
    assert "offer" in [it["X-Fairhold-Kind"] for it in post.mail.to("cyd@example.org")]
    await assert_verified(post.url)


@pytest.mark.parametrize("later_s", [60, 5 * HOUR_S])
async def test_another_program_reaches_them(programs: Post, hook: Receiver, later_s: int) -> None:
    cyd = await passed_over(programs, hook)
    await programs.pass_time(later_s, step_s=60)
    with receiver() as other:
        granted(await programs.hf.add_webhook(other.url, kinds=["offer"]))
        await programs.pass_time(2 * HOUR_S, step_s=300)
        assert (await state(programs, cyd), await reach(programs, cyd)) == ("offered", "")
        assert other.received


async def test_an_address_is_asked_at_once(post: Post, hook: Receiver) -> None:
    cyd = await passed_over(post, hook)
    granted(await post.hf.change_booking(cyd, contacts={"email": "cyd@example.org"}))
    assert (await state(post, cyd), await reach(post, cyd)) == ("offered", "")
    await post.outbox.send_due()
    assert await state(post, cyd) == "offered"
    assert "offer" in [it["X-Fairhold-Kind"] for it in post.mail.to("cyd@example.org")]


async def test_once_they_have_left_the_letter_is_given_up(programs: Post, hook: Receiver) -> None:
    cyd = await passed_over(programs, hook)
    granted(await programs.hf.cancel(cyd))
    await programs.pass_time(2 * HOUR_S, step_s=300)
    assert [it for it, _ in await offers_said(programs)] == ["dead"]


async def test_what_staff_tell_of_is_tried_no_longer_than_it_runs(programs: Post, hook: Receiver) -> None:
    granted(await programs.hf.add_webhook(hook.url, kinds=["offer"]))
    hook.status = 410
    olga = await programs.book("lesson", "Olga")
    cyd = await from_page(programs, "Cyd")
    granted(await programs.hf.change_booking(cyd, told_by_staff=True, by="staff:Olga"))
    granted(await programs.hf.cancel(olga.id))
    await programs.outbox.send_due()
    assert await state(programs, cyd) == "offered"
    granted(await programs.hf.decline(cyd, by="staff:Olga"))
    granted(await programs.hf.cancel(cyd, by="staff:Olga"))
    await programs.pass_time(2 * HOUR_S, step_s=300)
    assert {it for it, _ in await offers_said(programs)} <= {"dead", "dropped"}
