"""Who has a message in hand, and for how long others wait for it."""

from __future__ import annotations

import asyncio

import pytest

from fairhold import granted
from fairhold.notifiers.base import Outgoing
from fairhold.outbox import Outbox
from fairhold.outbox.loop import HANDS_MAX
from fairhold.store.base import Row
from tests.notifiers.servers import Receiver
from tests.outbox.conftest import Post, settings_for
from tests.patience import until


async def test_an_org_whose_webhook_stalls_leaves_hands_for_the_others(
    post: Post, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRHOLD_WEBHOOKS_TO_PRIVATE", "yes")
    theirs = post.hf.for_org("theirs")
    granted(await theirs.add_webhook(hook.url))
    # However slow the others are, these are slower, and nobody gives up on them.
    hook.stall_s = 3_600.0
    monkeypatch.setattr("fairhold.notifiers.webhook._TIMEOUT_S", 3_600.0)
    monkeypatch.setattr("fairhold.outbox.deliver._SEND_S", 3_600.0)
    for hf in (post.hf, theirs):
        granted(await hf.create_pool("gig", preset="checkout", quotas={"main": 1_000}))
    for n in range(2 * HANDS_MAX):
        granted(await theirs.confirm(granted(await theirs.book("gig", f"slow {n}")).id))
    await post.outbox.start()
    await until(lambda: len(hook.received) >= HANDS_MAX // 2)
    # Whatever the outbox gives to the slow ones, it has given by now.
    await asyncio.sleep(0.2)
    for n in range(3):
        granted(await post.hf.confirm((await post.book("gig", f"Q{n}")).id))
        await until(lambda n=n: post.mail.to(f"q{n}@example.org"))
    assert len(post.outbox._in_hand) >= HANDS_MAX // 2, "the slow ones are still at it"


async def test_what_the_loop_has_just_taken_is_waited_for(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test clock that moved has taken along what was due, whoever sends it."""
    take, taken, go_on = post.outbox._take, asyncio.Event(), asyncio.Event()

    async def slow_take(*asked: int) -> list[Row]:
        rows = await take(*asked)
        if asyncio.current_task() is post.outbox._task:
            taken.set()
            await go_on.wait()
        return rows

    granted(await post.hf.confirm((await post.book("chair", "Ann")).id))
    monkeypatch.setattr(post.outbox, "_take", slow_take)
    await post.outbox.start()
    await taken.wait()
    moved = asyncio.create_task(post.outbox.send_due())
    assert not (await asyncio.wait({moved}, timeout=0.3))[0]
    go_on.set()
    await moved
    assert [it["X-Fairhold-Kind"] for it in post.mail.letters] == ["confirmed"]
    assert {state for _, state in await post.states("chair")} == {"sent"}


async def test_who_stops_lets_go_of_what_notifiers_keep_open(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairhold.notifiers.email.lines._IDLE_S", 3_600.0)

    class Stuck:
        async def send(self, message: Outgoing) -> None:
            raise NotImplementedError

        async def close(self) -> None:
            raise OSError("it does not close")

    granted(await post.hf.confirm((await post.book("chair", "Ann")).id))
    await post.outbox.send_due()
    assert post.mail.open_lines() == 1
    post.outbox._deliverer._notifiers["sms"] = Stuck()  # type: ignore[index]
    await post.outbox.close()
    await until(lambda: post.mail.open_lines() == 0)


async def test_what_comes_later_about_a_booking_is_told_later(post: Post) -> None:
    """The first letter is slow, and the second is taken meanwhile: it waits for the first."""
    told, go_on = list[str](), asyncio.Event()

    class Slow:
        async def send(self, message: Outgoing) -> None:
            if message.kind == "joined":
                await go_on.wait()
            told.append(message.kind)

    await post.book("chair", "Olga")
    outbox = Outbox(post.hf, settings_for(post.mail), {"email": Slow(), "log": Slow()})
    await outbox.start()
    try:
        ann = await post.book("chair", "Ann")
        await until(lambda: len(outbox._in_hand) == 1)
        granted(await post.hf.cancel(ann.id))
        await until(lambda: len(outbox._in_hand) == 2)
        # Whoever would not wait has been told by now.
        for _ in range(500):
            await asyncio.sleep(0)
        go_on.set()
        await until(lambda: len(told) == 2)
    finally:
        await outbox.close()
    assert told == ["joined", "cancelled"]
    assert outbox._latest == {}
