"""Messages that wait for their time: offers in quiet hours, and reminders before a hold ends."""

from __future__ import annotations

import asyncio

from fairhold import granted
from fairhold.notifiers.base import Outgoing, Permanent
from fairhold.notifiers.log import LogNotifier
from fairhold.outbox import Outbox
from tests.outbox.conftest import Post, settings_for
from tests.verified import assert_verified

# The tests' clock starts at 08:00 UTC.
HOUR_S = 3_600


def kinds(post: Post, address: str) -> list[str]:
    return [str(it["X-Fairhold-Kind"]) for it in post.mail.to(address)]


async def test_an_offer_in_quiet_hours_is_sent_when_they_end(post: Post) -> None:
    quiet = {"quiet_hours": "07:30-10:00"}
    granted(await post.hf.create_pool("night", preset="last_minute", quotas={"main": 1}, policy=quiet))
    olga = await post.book("night", "Olga")
    granted(await post.hf.confirm(olga.id))
    ann = await post.book("night", "Ann")
    granted(await post.hf.cancel(olga.id))
    await post.outbox.send_due()
    assert kinds(post, "ann@example.org") == ["joined"]
    await post.pass_time(2 * HOUR_S - 60, step_s=600)
    assert kinds(post, "ann@example.org") == ["joined"]
    assert granted(await post.hf.booking(ann.id)).state == "offered"
    await post.pass_time(60)
    assert kinds(post, "ann@example.org") == ["joined", "offer"]
    offer = post.mail.to("ann@example.org")[-1].get_body(("plain",))
    assert offer is not None
    assert "Time left: 10 minutes" in offer.get_content()
    await post.pass_time(11 * 60)
    assert kinds(post, "ann@example.org") == ["joined", "offer", "lapsed"]
    await assert_verified(post.url)


async def shop(post: Post) -> str:
    policy = {"hold_reminder": "5m"}
    granted(await post.hf.create_pool("shop", preset="checkout", quotas={"main": 3}, policy=policy))
    return (await post.book("shop", "Ann")).id


async def test_a_hold_is_reminded_of_once_before_it_ends(post: Post) -> None:
    await shop(post)
    await post.pass_time(9 * 60)
    assert kinds(post, "ann@example.org") == []
    await post.pass_time(2 * 60)
    assert kinds(post, "ann@example.org") == ["hold_ending"]
    await post.pass_time(5 * 60)
    assert kinds(post, "ann@example.org") == ["hold_ending", "lapsed"]
    await assert_verified(post.url)


async def test_who_has_confirmed_or_has_more_time_is_not_reminded_too_early(post: Post) -> None:
    ann = await shop(post)
    granted(await post.hf.extend(ann, 600))
    await post.pass_time(15 * 60)
    assert kinds(post, "ann@example.org") == []
    await post.pass_time(6 * 60)
    assert kinds(post, "ann@example.org") == ["hold_ending"]
    granted(await post.hf.confirm(ann))
    bea = await post.book("shop", "Bea")
    granted(await post.hf.confirm(bea.id))
    await post.pass_time(20 * 60)
    assert kinds(post, "bea@example.org") == ["confirmed"]
    # The reminders that had become pointless were dropped, and are not said to be sent.
    states = await post.states("shop")
    assert {state for kind, state in states if kind != "hold_ending"} == {"sent"}
    assert {state for kind, state in states if kind == "hold_ending"} == {"sent", "dropped"}
    await assert_verified(post.url)


async def test_with_an_outbox_the_test_clock_sends_each_message_at_its_own_instant(post: Post) -> None:
    """An hour passes in one step: each offer goes out while it is live, not when all is over."""
    post.outbox.attach()
    olga = await post.book("chair", "Olga")
    granted(await post.hf.confirm(olga.id))
    for name in ("Ann", "Bea", "Cyd"):
        await post.book("chair", name)
    granted(await post.hf.cancel(olga.id))
    await post.hf.advance(seconds=HOUR_S)
    for name in ("ann", "bea", "cyd"):
        assert kinds(post, f"{name}@example.org") == ["joined", "offer", "lapsed"]
        offer = post.mail.to(f"{name}@example.org")[1].get_body(("plain",))
        assert offer is not None
        assert "Time left: 10 minutes" in offer.get_content()


async def test_time_goes_on_while_the_mail_server_is_down(post: Post) -> None:
    post.outbox.attach()
    post.mail.down()
    olga = await post.book("chair", "Olga")
    granted(await post.hf.confirm(olga.id))
    await post.hf.advance(seconds=HOUR_S)
    (message,) = granted(await post.hf.messages("chair"))
    assert (message.state, message.attempts) == ("pending", 8)
    post.mail.up()
    await post.hf.advance(seconds=HOUR_S)
    assert kinds(post, "olga@example.org") == ["confirmed"]


class Gate:
    """Hands over what it is given when it is let; one address does not exist."""

    def __init__(self) -> None:
        self.begun, self.open = asyncio.Event(), asyncio.Event()
        self.given: list[tuple[str, str]] = []

    async def send(self, message: Outgoing) -> None:
        self.given.append((message.kind, message.address))
        self.begun.set()
        await self.open.wait()
        if message.address == "ann@example.org":
            raise Permanent("550 no such mailbox")


async def test_a_test_clock_waits_for_what_is_in_hand(post: Post) -> None:
    """What is in hand as the clock is moved is not handed over again, and all that follows happens."""
    gate = Gate()
    outbox = Outbox(post.hf, settings_for(post.mail), notifiers={"email": gate, "log": LogNotifier()})
    await outbox.start()
    try:
        olga = await post.book("chair", "Olga")
        granted(await post.hf.confirm(olga.id))
        await asyncio.wait_for(gate.begun.wait(), 60)
        now = post.hf.clock.now()
        moving = asyncio.create_task(post.hf.advance(seconds=HOUR_S))
        # However long it takes: an hour does not pass before it is handed over.
        await asyncio.wait([moving], timeout=0.5)
        assert post.hf.clock.now() == now
        gate.open.set()
        await moving
        assert gate.given == [("confirmed", "olga@example.org")]
        ann, bea = await post.book("chair", "Ann"), await post.book("chair", "Bea")
        gate.open.clear()
        gate.begun.clear()
        granted(await post.hf.cancel(olga.id))
        await asyncio.wait_for(gate.begun.wait(), 60)
        moving = asyncio.create_task(post.hf.advance(seconds=1))
        await asyncio.wait([moving], timeout=0.5)
        gate.open.set()
        await moving
        # The offer could not arrive, so it went on, and that was told, too: all before the clock answers.
        assert [granted(await post.hf.booking(it.id)).state for it in (ann, bea)] == ["waiting", "offered"]
        assert ("offer", "bea@example.org") in gate.given
        assert "pending" not in {state for _, state in await post.states("chair")}
    finally:
        gate.open.set()
        await outbox.close()
