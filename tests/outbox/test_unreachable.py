"""A seat does not wait for a message that never arrived: the offer goes on at once, and staff are told."""

from __future__ import annotations

import pytest

from holdfast import granted
from holdfast.outbox import Outbox
from tests.notifiers.servers import Receiver
from tests.outbox.conftest import Post, settings_for
from tests.outbox.test_sending import offered
from tests.verified import assert_verified

NO_SUCH = "550 5.1.1 <ann@example.org>: no such mailbox"


async def state(post: Post, booking: str) -> str:
    return granted(await post.hf.booking(booking)).state


async def test_a_hard_bounce_rolls_on_at_once_and_tells_staff(post: Post) -> None:
    granted(await post.hf.add_staff_contact("email", "desk@example.org", locale="de"))
    post.mail.answers["ann@example.org"] = NO_SUCH
    ann, bea = await offered(post)
    await post.outbox.send_due()
    assert await state(post, ann) == "waiting"
    assert await state(post, bea) == "offered"
    kinds = [str(it["X-Holdfast-Kind"]) for it in post.mail.to("bea@example.org")]
    assert "offer" in kinds
    (told,) = post.mail.to("desk@example.org")
    assert told["X-Holdfast-Kind"] == "unreachable"
    body = told.get_body(("plain",))
    assert body is not None
    assert "no such mailbox" in body.get_content()
    assert "Das Angebot ist an die nächste Person" in " ".join(body.get_content().split())
    await assert_verified(post.url)


async def test_what_is_kept_of_an_error_names_no_address(post: Post) -> None:
    post.mail.answers["ann@example.org"] = NO_SUCH
    await offered(post)
    await post.outbox.send_due()
    dead = granted(await post.hf.dead_letters())
    assert {it.kind for it in dead} == {"offer", "joined"}
    assert all("no such mailbox" in it.error and "ann@" not in it.error for it in dead)
    assert "ann@" not in str(granted(await post.hf.messages("chair")))


@pytest.mark.parametrize(
    "answer", ["451 4.2.0 greylisted", "550 5.7.1 relaying denied", "552 5.2.2 mailbox full", "421 busy"]
)
async def test_what_may_be_mended_does_not_roll_on(post: Post, answer: str) -> None:
    """Else a mail server set up badly would take the turn of everybody in line."""
    post.mail.answers["ann@example.org"] = answer
    ann, _ = await offered(post)
    await post.outbox.send_due()
    assert await state(post, ann) == "offered"
    post.mail.answers.clear()
    await post.pass_time(30)
    # What was late comes in the order in which it happened.
    assert [it["X-Holdfast-Kind"] for it in post.mail.to("ann@example.org")] == ["joined", "offer"]


async def test_who_can_be_reached_another_way_keeps_the_offer(post: Post, hook: Receiver) -> None:
    url = hook.url.replace("://", "://AC1:token@")
    settings = settings_for(post.mail, sms_url=url, sms_from="+358401234567")
    post.mail.answers["ann@example.org"] = NO_SUCH
    olga = await post.book("chair", "Olga")
    contacts = {"email": "ann@example.org", "phone": "+358 40 765 4321"}
    ann = granted(await post.hf.book("chair", {"id": "ann", "name": "Ann", "contacts": contacts}))
    await post.book("chair", "Bea")
    granted(await post.hf.cancel(olga.id))
    outbox = Outbox(post.hf, settings)
    await outbox.send_due()
    await outbox.close()
    assert await state(post, ann.id) == "offered"
    (text,) = hook.received
    assert text.form["To"] == "+358407654321"
    assert "/o/" in text.form["Body"]


async def test_the_last_way_that_fails_rolls_on(post: Post, hook: Receiver) -> None:
    """The text service was away when the mail bounced; when it says no as well, nobody is left to ask."""
    url = hook.url.replace("://", "://AC1:token@")
    settings = settings_for(post.mail, sms_url=url, sms_from="+358401234567")
    outbox = Outbox(post.hf, settings, dice=lambda: 0.5)
    post.mail.answers["ann@example.org"] = NO_SUCH
    hook.status, hook.answer = 503, b"try later"
    olga = await post.book("chair", "Olga")
    contacts = {"email": "ann@example.org", "phone": "+358 40 765 4321"}
    ann = granted(await post.hf.book("chair", {"id": "ann", "name": "Ann", "contacts": contacts}))
    bea = await post.book("chair", "Bea")
    granted(await post.hf.cancel(olga.id))
    await outbox.send_due()
    assert await state(post, ann.id) == "offered"
    hook.status, hook.answer = 400, b'{"code": 21211, "message": "not a valid phone number"}'
    await post.hf.advance(seconds=16)
    await outbox.send_due()
    await outbox.close()
    assert await state(post, ann.id) == "waiting"
    assert await state(post, bea.id) == "offered"


async def test_a_party_without_an_address_keeps_its_offer(post: Post) -> None:
    """It may look by itself, or hear from the program that made the booking: nothing has failed."""
    olga = await post.book("chair", "Olga")
    ann = granted(await post.hf.book("chair", "ann"))
    granted(await post.hf.cancel(olga.id))
    await post.outbox.send_due()
    assert await state(post, ann.id) == "offered"
    messages = [it for it in granted(await post.hf.messages("chair")) if it.kind == "offer"]
    assert [(it.state, it.error) for it in messages] == [("sent", "log: only logged")]
