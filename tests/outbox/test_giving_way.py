"""Messages give way to people while many ask, and are looked up together where they are alike."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fairhold import granted
from fairhold.outbox import Outbox
from fairhold.outbox.deliver import Deliverer
from fairhold.outbox.loop import _BUSY, _FEW
from tests.notifiers.servers import Receiver
from tests.outbox.conftest import Post, settings_for
from tests.patience import until


async def signed_up(post: Post, number: int) -> None:
    for n in range(number):
        await post.book("chair", f"P{n:02}")


async def test_while_many_commands_wait_messages_go_out_a_few_at_a_time(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    await signed_up(post, 31)
    taken: list[int] = []
    outbox = Outbox(post.hf, settings_for(post.mail))
    plain = outbox._take_in_hand

    async def take(*most: Any) -> int:
        taken.append(await plain(*most))
        return taken[-1]

    monkeypatch.setattr(outbox, "_take_in_hand", take)
    queue = post.hf.engine.queue
    queue.accepted += _BUSY
    await outbox.start()
    try:
        await until(lambda: len(post.mail.letters) == 30)
    finally:
        queue.accepted -= _BUSY
        await outbox.close()
    assert max(taken) == _FEW
    assert sum(taken) == 30


async def test_between_two_messages_whoever_asks_is_answered(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many are taken at once: in one turn of the event loop at most one of them is worded."""
    await signed_up(post, 21)
    turns, worded = [0], list[int]()
    plain = Deliverer.worded

    def word(*asked: Any) -> Any:
        worded.append(turns[0])
        return plain(*asked)

    async def count_turns() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    monkeypatch.setattr(Deliverer, "worded", word)
    counting = asyncio.create_task(count_turns())
    assert await post.outbox.send_due() == 20
    counting.cancel()
    assert len(set(worded)) == len(worded) == 20


async def test_with_nobody_waiting_they_go_out_all_at_once(post: Post) -> None:
    await signed_up(post, 25)
    assert await post.outbox._take_in_hand() == 24
    await post.outbox.send_due()


async def test_what_is_the_same_for_all_of_a_take_is_read_once(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    await signed_up(post, 11)
    asked: list[str] = []
    kind = type(post.hf.store.reader())
    plain = kind.rows

    async def rows(self: Any, name: str, *values: Any) -> Any:
        asked.append(name)
        return await plain(self, name, *values)

    monkeypatch.setattr(kind, "rows", rows)
    assert await post.outbox.send_due() == 10
    assert [asked.count(it) for it in ("templates_of", "webhooks_of", "pool_configs")] == [1, 1, 1]


@pytest.fixture
def looks(post: Post, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What is looked up by key, and of how many at once; several cannot be once it says `refused`."""
    asked: list[tuple[str, int]] = []
    kind = type(post.hf.store.reader())
    plain = kind.each

    async def each(self: Any, name: str, keys: Any) -> Any:
        asked.append((name, len(keys)))
        if ("refused", 0) in asked and len(keys) > 1:
            raise ValueError("one of these is not for reading")
        return await plain(self, name, keys)

    monkeypatch.setattr(kind, "each", each)
    return asked


async def test_what_is_each_ones_own_is_read_for_the_whole_take(
    post: Post, looks: list[tuple[str, int]]
) -> None:
    await signed_up(post, 11)
    looks.clear()
    assert await post.outbox.send_due() == 10
    assert sorted(looks) == [("bookings_by_number", 10), ("deliveries_of_messages", 10)]
    assert len({str(it["To"]) for it in post.mail.letters}) == 10


async def test_after_a_second_everything_is_read_anew(
    post: Post, looks: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairhold.outbox.remembering._FOR_S", -1.0)
    await signed_up(post, 3)
    looks.clear()
    assert await post.outbox.send_due() == 2
    assert sorted(looks) == [("bookings_by_number", 1)] * 2 + [("deliveries_of_messages", 1)] * 2


async def test_if_all_together_cannot_be_read_each_is_read_alone(
    post: Post, looks: list[tuple[str, int]]
) -> None:
    await signed_up(post, 4)
    looks[:] = [("refused", 0)]
    assert await post.outbox.send_due() == 3
    assert ("bookings_by_number", 1) in looks
    assert len(post.mail.letters) == 3


async def test_a_webhook_that_was_added_just_now_is_told(
    post: Post, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRHOLD_WEBHOOKS_TO_PRIVATE", "yes")
    await signed_up(post, 2)
    assert await post.outbox.send_due() == 1
    granted(await post.hf.add_webhook(hook.url))
    await post.book("chair", "Zoe")
    assert await post.outbox.send_due() == 1
    assert len(hook.received) == 1
