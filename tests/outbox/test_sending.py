"""What must be told is told: on time, once where all is well, and as often as it takes where it is not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook

from fairhold import Refusal, granted
from fairhold.clock import to_text
from fairhold.errors import Unavailable
from fairhold.notifiers.base import Outgoing
from fairhold.notifiers.log import LogNotifier
from fairhold.outbox import MessageSettings, Outbox
from fairhold.outbox.backoff import ATTEMPTS_MAX, delay
from tests.database import ask
from tests.engine.flights import all_under_lock
from tests.notifiers.servers import Receiver
from tests.outbox.conftest import Post, settings_for

HOUR_S = 3_600


async def offered(post: Post) -> tuple[str, str]:
    """Olga has the chair, Ann and Bea wait, Olga gives it back: Ann has an offer."""
    olga = await post.book("chair", "Olga")
    granted(await post.hf.confirm(olga.id))
    ann, bea = await post.book("chair", "Ann"), await post.book("chair", "Bea")
    granted(await post.hf.cancel(olga.id))
    return ann.id, bea.id


async def test_everyone_is_told_once_and_the_links_work(post: Post) -> None:
    ann, _ = await offered(post)
    assert await post.outbox.send_due() == 5
    assert await post.outbox.send_due() == 0
    told = {(it["To"], it["X-Fairhold-Kind"]) for it in post.mail.letters}
    assert told == {
        ("olga@example.org", "confirmed"),
        ("olga@example.org", "cancelled"),
        ("ann@example.org", "joined"),
        ("bea@example.org", "joined"),
        ("ann@example.org", "offer"),
    }
    assert {state for _, state in await post.states("chair")} == {"sent"}
    offer = next(it for it in post.mail.to("ann@example.org") if it["X-Fairhold-Kind"] == "offer")
    text = offer.get_body(("plain",))
    assert text is not None
    token = text.get_content().split("/o/")[1].split()[0]
    assert granted(await post.hf.claim(token)).id == ann


async def test_every_message_has_an_id_of_its_own_that_names_it(post: Post) -> None:
    await offered(post)
    await post.outbox.send_due()
    names = {f"<{it.id}@example.org>" for it in granted(await post.hf.messages("chair"))}
    assert set(post.mail.ids()) == names
    assert len(names) == 5


async def test_a_webhook_that_nothing_here_can_tell_is_given_up_in_plain_words(post: Post, mail: Any) -> None:
    granted(await post.hf.add_webhook("https://hooks.example.org/fairhold"))
    bare = Outbox(post.hf, settings_for(mail), {"log": LogNotifier()})
    await post.book("chair", "Olga")
    await post.book("chair", "Ann")
    await bare.send_due()
    (joined,) = [it for it in granted(await post.hf.messages("chair")) if it.kind == "joined"]
    fate = granted(await post.hf.message(joined.id))
    (told,) = [it for it in fate.deliveries if it.target.startswith("webhook:")]
    assert (told.state, told.error) == ("dead", "this service is not set up to send by webhook")


async def test_nothing_is_lost_when_the_mail_server_is_down_for_an_hour(post: Post) -> None:
    post.mail.down()
    granted(await post.hf.add_staff_contact("email", "desk@example.org"))
    await offered(post)
    await post.pass_time(HOUR_S, step_s=60)
    assert post.mail.letters == []
    waiting = granted(await post.hf.messages("chair"))
    # Nobody heard of Ann's offer and Bea's, so they count for nothing, and the chair went back to staff.
    assert [it.kind for it in waiting].count("unreachable") == 2
    assert [it.kind for it in waiting].count("lapsed") == 0
    assert {(it.state, "mail server" in it.error) for it in waiting} == {("pending", True)}
    post.mail.up()
    await post.pass_time(HOUR_S + 60, step_s=300)
    messages = granted(await post.hf.messages("chair"))
    assert {it.state for it in messages} == {"sent"}
    assert sorted(post.mail.ids()) == sorted(f"<{it.id}@example.org>" for it in messages)


async def test_a_poisoned_message_does_not_stop_the_others(post: Post) -> None:
    """One row is damaged beyond understanding; the others go out, and it comes again later."""
    await offered(post)
    await ask(post.url, "UPDATE fairhold_outbox SET facts = 'no JSON at all' WHERE kind = 'confirmed'")
    await post.outbox.send_due()
    assert len(post.mail.letters) == 4
    left = await ask(post.url, "SELECT kind, attempts FROM fairhold_outbox WHERE state = 'pending'")
    assert left == [("confirmed", 1)]
    # It comes again, less and less often, and is given up in the end; nobody waits for it.
    await post.book("chair", "Cyd")
    await post.pass_time(40 * HOUR_S, step_s=HOUR_S / 2)
    assert post.mail.to("cyd@example.org")
    poisoned = "SELECT state, attempts FROM fairhold_outbox WHERE kind = 'confirmed'"
    assert (await ask(post.url, poisoned))[0] == ("dead", ATTEMPTS_MAX)


async def test_a_server_that_refuses_one_address_lets_the_others_through(post: Post) -> None:
    post.mail.answers["bea@example.org"] = "451 4.3.0 come back later"
    await offered(post)
    await post.outbox.send_due()
    assert len(post.mail.letters) == 4
    assert ("joined", "pending") in await post.states("chair")
    post.mail.answers.clear()
    await post.pass_time(60)
    assert {state for _, state in await post.states("chair")} == {"sent"}


async def test_a_slow_receiver_keeps_nobody_waiting(post: Post) -> None:
    """The loop runs; while one address stalls, the others are served, and nothing else stands still."""
    post.mail.stalls["olga@example.org"] = 3.0
    await post.outbox.start()
    await offered(post)
    for _ in range(200):
        if len(post.mail.letters) == 3:
            break
        await asyncio.sleep(0.01)
    assert sorted({str(it["To"]) for it in post.mail.letters}) == ["ann@example.org", "bea@example.org"]
    dan = await post.book("chair", "Dan")
    assert dan.state == "waiting"
    await post.outbox.send_due()
    assert len(post.mail.to("olga@example.org")) == 2


async def test_without_a_mail_server_it_is_said_that_nobody_was_told(
    post: Post, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nor is it put into words that nobody would read.
    monkeypatch.delattr("fairhold.messages.letter.email")
    olga = await post.book("chair", "Olga")
    granted(await post.hf.confirm(olga.id))
    nothing_set_up = Outbox(post.hf, MessageSettings())
    await nothing_set_up.start()
    await nothing_set_up.send_due()
    await nothing_set_up.close()
    assert "no letter can be sent: no mail server and no text service is set up" in caplog.text
    assert "FAIRHOLD_SMTP_URL" in caplog.text
    (message,) = granted(await post.hf.messages("chair"))
    assert (message.state, message.error) == ("not_sent", "no mail server is set up: FAIRHOLD_SMTP_URL")


async def test_the_lag_is_how_long_the_oldest_message_has_waited(post: Post) -> None:
    assert await post.outbox.lag_s() == 0
    olga = await post.book("chair", "Olga")
    granted(await post.hf.confirm(olga.id))
    await post.hf.advance(seconds=90)
    assert await post.outbox.lag_s() == 90
    await post.outbox.send_due()
    assert await post.outbox.lag_s() == 0


async def test_no_message_goes_out_for_what_was_refused_or_rehearsed(post: Post) -> None:
    olga = await post.book("chair", "Olga")
    assert isinstance(await post.hf.cancel("nonsense"), Refusal)
    await post.hf.dry_run(lambda hf: hf.cancel(olga.id))
    assert await post.outbox.send_due() == 0
    assert post.mail.letters == []


async def test_no_message_goes_out_for_what_was_rolled_back(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction that holds the message fails at its commit: there is nothing to send."""
    all_under_lock(monkeypatch)
    olga = await post.book("chair", "Olga")
    begin = post.hf.store.begin

    async def begin_badly():  # type: ignore[no-untyped-def]
        tx = await begin()

        async def fail() -> None:
            raise RuntimeError("the lights went out")

        tx.commit = fail  # type: ignore[method-assign]
        return tx

    post.hf.store.begin = begin_badly  # type: ignore[method-assign]
    with pytest.raises(Exception, match="lights"):
        await post.hf.confirm(olga.id)
    post.hf.store.begin = begin  # type: ignore[method-assign]
    assert await post.outbox.send_due() == 0
    granted(await post.hf.confirm(olga.id))
    assert await post.outbox.send_due() == 1


async def test_what_was_sent_while_the_database_went_away_is_marked_when_it_is_back_and_not_sent_again(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairhold.outbox.loop._PAUSE_S", 0.01)
    olga = await post.book("chair", "Olga")
    granted(await post.hf.confirm(olga.id))
    begin, begun = post.hf.store.begin, 0

    async def begin_unless_away(**how: Any) -> Any:
        nonlocal begun
        begun += 1
        # The first takes the message.
        if begun in (2, 3):
            raise Unavailable("away")
        return await begin(**how)

    monkeypatch.setattr(post.hf.store, "begin", begin_unless_away)
    assert await post.outbox.send_due() == 1
    assert begun == 4
    assert await post.states("chair") == [("confirmed", "sent")]
    assert len(post.mail.letters) == 1


async def test_pools_are_served_in_turn(post: Post, database_url: str) -> None:
    """A pool with hundreds of messages does not keep one with a single message waiting."""
    granted(await post.hf.create_pool("crowd", preset="event_signup", quotas={"main": 0}))
    for number in range(200):
        await post.book("crowd", f"P{number}")
    await post.hf.advance(seconds=1)
    olga = await post.book("chair", "Olga")
    granted(await post.hf.confirm(olga.id))
    order: list[str] = []

    class Noting:
        async def send(self, message: Outgoing) -> None:
            order.append(message.kind)

    await Outbox(post.hf, settings_for(post.mail), {"email": Noting(), "log": Noting()}).send_due()
    assert len(order) == 201
    assert order.index("confirmed") < 64


async def test_what_was_taken_is_left_alone_until_its_time_is_over(post: Post) -> None:
    """Another process that has a message in hand is not disturbed; if it died, the message goes out later."""
    olga = await post.book("chair", "Olga")
    granted(await post.hf.confirm(olga.id))
    taken = await post.outbox._take(10)
    assert len(taken) == 1
    other = Outbox(post.hf, settings_for(post.mail))
    assert await other.send_due() == 0
    await post.hf.advance(seconds=121)
    assert await other.send_due() == 1
    await other.close()
    assert post.mail.ids() == [f"<{granted(await post.hf.messages('chair'))[0].id}@example.org>"]


async def test_who_was_too_slow_does_not_undo_what_another_has_marked(post: Post) -> None:
    olga = await post.book("chair", "Olga")
    granted(await post.hf.confirm(olga.id))
    row = (await post.outbox._take(10))[0]
    await post.hf.advance(seconds=121)
    other = Outbox(post.hf, settings_for(post.mail))
    assert await other.send_due() == 1
    await other.close()
    post.mail.at_data = "451 4.3.0 not now"
    await post.outbox._send(post.hf.store.reader(), row)
    assert await post.states("chair") == [("confirmed", "sent")]


async def test_a_message_is_dead_after_its_last_try_and_can_be_replayed(post: Post) -> None:
    post.mail.down()
    olga = await post.book("chair", "Olga")
    granted(await post.hf.confirm(olga.id))
    await post.pass_time(40 * HOUR_S, step_s=HOUR_S / 2)
    dead = granted(await post.hf.dead_letters())
    assert [(it.kind, it.state, it.attempts) for it in dead] == [("confirmed", "dead", ATTEMPTS_MAX)]
    assert await post.outbox.send_due() == 0
    post.mail.up()
    again = granted(await post.hf.replay(dead[0].id))
    assert (again.state, again.attempts) == ("pending", 0)
    assert await post.outbox.send_due() == 1
    told = granted(await post.hf.message(dead[0].id))
    assert told.state == "sent"
    assert [(it.target, it.state) for it in told.deliveries] == [("email", "sent")]
    assert granted(await post.hf.dead_letters()) == []


async def test_only_a_dead_letter_is_replayed(post: Post) -> None:
    olga = await post.book("chair", "Olga")
    granted(await post.hf.confirm(olga.id))
    await post.outbox.send_due()
    (message,) = granted(await post.hf.messages("chair"))
    refused = await post.hf.replay(message.id)
    assert isinstance(refused, Refusal)
    assert refused.code == "not_possible"
    for name in ("nonsense", "p-1-0", message.id + "9", None):
        unknown = await post.hf.replay(name)  # type: ignore[arg-type]
        assert isinstance(unknown, Refusal)
        assert unknown.code == "unknown"


async def test_a_replay_tells_only_those_who_were_not_reached(
    post: Post, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRHOLD_WEBHOOKS_TO_PRIVATE", "yes")
    granted(await post.hf.add_webhook(hook.url))
    hook.status = 410
    olga = await post.book("chair", "Olga")
    granted(await post.hf.confirm(olga.id))
    await post.outbox.send_due()
    (dead,) = granted(await post.hf.dead_letters())
    told = granted(await post.hf.message(dead.id))
    assert [it.state for it in told.deliveries] == ["sent", "dead"]
    hook.status = 200
    granted(await post.hf.replay(dead.id))
    await post.outbox.send_due()
    assert (len(post.mail.letters), len(hook.received)) == (1, 2)
    assert await post.states("chair") == [("confirmed", "sent")]


async def test_one_receiver_that_is_down_keeps_the_others_from_nothing(
    post: Post, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each target is tried for itself: who was told is not told again."""
    monkeypatch.setenv("FAIRHOLD_WEBHOOKS_TO_PRIVATE", "yes")
    granted(await post.hf.add_webhook(hook.url))
    hook.status = 500
    olga = await post.book("chair", "Olga")
    granted(await post.hf.confirm(olga.id))
    await post.pass_time(300)
    assert len(post.mail.letters) == 1
    assert len(hook.received) > 2
    hook.status = 204
    await post.pass_time(600)
    assert len(post.mail.letters) == 1
    assert await post.states("chair") == [("confirmed", "sent")]
    assert len({it.headers["webhook-id"] for it in hook.received}) == 1


def test_tries_come_less_and_less_often_and_never_all_at_once() -> None:
    waits = [delay(attempt, 0.5) for attempt in range(1, ATTEMPTS_MAX + 1)]
    assert waits == sorted(waits)
    assert waits[0] == 15_000
    assert max(waits) == HOUR_S * 1000
    assert 20 * HOUR_S * 1000 < sum(waits) < 30 * HOUR_S * 1000
    assert delay(1, 0.0) < delay(1, 0.5) < delay(1, 1.0)


async def test_a_message_and_its_deliveries_are_read_as_they_were_at_one_moment(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is sent between the reading of the one and of the others; what is told fits together still."""
    await post.book("chair", "Olga")
    await post.book("chair", "Ann")
    (message,) = granted(await post.hf.messages("chair"))
    sent: list[int] = []

    def meanwhile(kind: type) -> None:
        plain = kind.rows

        async def rows(self: Any, name: str, *values: Any) -> Any:
            found = await plain(self, name, *values)
            if name == "read_message" and not sent:
                sent.append(await post.outbox.send_due())
            return found

        monkeypatch.setattr(kind, "rows", rows)

    async with post.hf.store.snapshot() as snapshot:
        kinds = {type(snapshot), type(post.hf.store.reader())}
    for kind in kinds:
        meanwhile(kind)
    fate = granted(await post.hf.message(message.id))
    assert sent == [1]
    assert (fate.state, fate.deliveries) == ("pending", ())
    assert granted(await post.hf.message(message.id)).state == "sent"


async def test_a_webhook_is_stamped_with_the_real_time_though_the_test_clock_was_moved(
    post: Post, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The receiver compares the stamp with a clock of its own, and refuses what is far from it."""
    monkeypatch.setenv("FAIRHOLD_WEBHOOKS_TO_PRIVATE", "yes")
    webhook = granted(await post.hf.add_webhook(hook.url))
    await post.hf.advance(seconds=30 * HOUR_S)
    await post.book("chair", "Olga")
    await post.book("chair", "Ann")
    await post.outbox.send_due()
    granted(await post.hf.test_webhook(webhook.id))
    told = [Webhook(webhook.secret).verify(got.body, got.headers) for got in hook.received]
    assert [it["type"] for it in told] == ["joined", "test"]
    moved = to_text(post.hf.clock.now())
    assert {it["timestamp"] for it in told} == {moved}, "what the message says is of the pool's time"
