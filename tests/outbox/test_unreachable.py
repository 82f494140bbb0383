"""A seat does not wait for a message that never arrived: the offer goes on at once, and staff are told."""

from __future__ import annotations

import pytest

from fairhold import granted
from fairhold.outbox import MessageSettings, Outbox
from fairhold.outbox.backoff import ATTEMPTS_MAX
from tests.notifiers.servers import Receiver
from tests.outbox.conftest import Post, settings_for
from tests.outbox.passed_over import NO_SUCH, from_page, offers_said, reach, state
from tests.outbox.test_sending import offered
from tests.verified import assert_verified

pytestmark = pytest.mark.usefixtures("lesson")


async def test_a_hard_bounce_rolls_on_at_once_and_tells_staff(post: Post) -> None:
    granted(await post.hf.add_staff_contact("email", "desk@example.org", locale="de"))
    post.mail.answers["ann@example.org"] = NO_SUCH
    ann, bea = await offered(post)
    await post.outbox.send_due()
    assert await state(post, ann) == "waiting"
    assert await state(post, bea) == "offered"
    kinds = [str(it["X-Fairhold-Kind"]) for it in post.mail.to("bea@example.org")]
    assert "offer" in kinds
    (told,) = post.mail.to("desk@example.org")
    assert told["X-Fairhold-Kind"] == "unreachable"
    body = told.get_body(("plain",))
    assert body is not None
    assert "no such mailbox" in body.get_content()
    assert "Der Platz ist an die nächste Person" in " ".join(body.get_content().split())
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
    assert [it["X-Fairhold-Kind"] for it in post.mail.to("ann@example.org")] == ["joined", "offer"]


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


async def test_whoever_was_let_in_without_an_address_is_told_by_who_let_them_in(post: Post) -> None:
    """It may look by itself, or hear from the program that made the booking: nothing has failed."""
    olga = await post.book("lesson", "Olga")
    ann = granted(await post.hf.book("lesson", "ann"))
    granted(await post.hf.cancel(olga.id))
    await post.outbox.send_due()
    assert await state(post, ann.id) == "offered"
    assert await offers_said(post) == [("not_sent", "there is no e-mail address and no phone number")]
    await post.pass_time(11 * 60, step_s=60)
    assert granted(await post.hf.booking(ann.id)).attempts > 1


@pytest.mark.parametrize(
    ("contacts", "reason", "said"),
    [
        ({}, "no_contact", "there is no e-mail address and no phone number"),
        ({"phone": "+358401234567"}, "no_channel", "no text service is set up: FAIRHOLD_SMS_URL"),
    ],
)
async def test_who_came_by_a_page_and_cannot_be_told_loses_nothing(
    post: Post, contacts: dict[str, str], reason: str, said: str
) -> None:
    granted(await post.hf.add_staff_contact("email", "desk@example.org"))
    olga = await post.book("lesson", "Olga")
    cyd = await from_page(post, "Cyd", **contacts)
    bea = await post.book("lesson", "Bea")
    granted(await post.hf.cancel(olga.id))
    await post.outbox.send_due()
    found = granted(await post.hf.booking(cyd))
    assert (found.state, found.position, found.attempts, found.reach) == ("waiting", 1, 0, reason)
    assert await state(post, bea.id) == "offered"
    assert (await offers_said(post))[0] == ("not_sent", said)
    (told,) = post.mail.to("desk@example.org")
    assert told["X-Fairhold-Kind"] == "unreachable"
    assert [it.id for it in (await post.hf.needs()).passed_over] == [cyd]
    assert await post.hf.needs_count() == 1
    await assert_verified(post.url)


async def test_control_without_the_door_three_windows_pass_for_nothing(post: Post) -> None:
    """The harm: nobody was told, and the attempts are counted all the same."""
    olga = await post.book("lesson", "Olga")
    cyd = granted(await post.hf.book("lesson", "cyd")).id
    granted(await post.hf.cancel(olga.id))
    await post.outbox.send_due()
    await post.pass_time(11 * 60, step_s=60)
    assert granted(await post.hf.booking(cyd)).attempts > 0


async def test_a_program_that_is_told_of_offers_carries_them(
    post: Post, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRHOLD_WEBHOOKS_TO_PRIVATE", "yes")
    granted(await post.hf.add_webhook(hook.url, kinds=["offer"]))
    olga = await post.book("lesson", "Olga")
    cyd = await from_page(post, "Cyd")
    granted(await post.hf.cancel(olga.id))
    await post.outbox.send_due()
    assert await state(post, cyd) == "offered"
    assert len(hook.received) == 1
    await post.pass_time(11 * 60, step_s=60)
    assert granted(await post.hf.booking(cyd)).attempts > 1


async def test_a_program_that_hears_of_other_things_carries_no_offers(
    post: Post, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRHOLD_WEBHOOKS_TO_PRIVATE", "yes")
    granted(await post.hf.add_webhook(hook.url, kinds=["joined"]))
    olga = await post.book("lesson", "Olga")
    cyd = await from_page(post, "Cyd")
    granted(await post.hf.cancel(olga.id))
    await post.outbox.send_due()
    assert (await state(post, cyd), await reach(post, cyd)) == ("waiting", "no_contact")


async def test_news_for_a_program_does_not_reach_the_person(
    post: Post, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRHOLD_WEBHOOKS_TO_PRIVATE", "yes")
    olga = await post.book("lesson", "Olga")
    cyd = await from_page(post, "Cyd")
    granted(await post.hf.cancel(olga.id))
    await post.outbox.send_due()
    granted(await post.hf.add_webhook(hook.url, kinds=["put_back"]))
    granted(await post.hf.cancel(cyd, by="staff:Olga"))
    granted(await post.hf.put_back(cyd))
    await post.outbox.send_due()
    assert len(hook.received) == 1
    assert await reach(post, cyd) == "no_contact"


async def test_a_program_that_is_gone_passes_over_nobody_whom_others_tell(
    post: Post, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ann came by the library, without an address: whoever let her in tells her all the same."""
    monkeypatch.setenv("FAIRHOLD_WEBHOOKS_TO_PRIVATE", "yes")
    granted(await post.hf.add_webhook(hook.url, kinds=["offer"]))
    hook.status = 410
    olga = await post.book("lesson", "Olga")
    ann = granted(await post.hf.book("lesson", "ann")).id
    cyd = await from_page(post, "Cyd")
    granted(await post.hf.cancel(olga.id))
    await post.outbox.send_due()
    assert len(hook.received) == 1
    assert (await state(post, ann), await reach(post, ann)) == ("offered", "")
    # Control: who came by a page has nobody else.
    granted(await post.hf.cancel(ann))
    assert await state(post, cyd) == "offered"
    await post.outbox.send_due()
    assert (await state(post, cyd), await reach(post, cyd)) == ("waiting", "channel_down")


async def test_an_offer_that_was_told_lapses_as_ever(post: Post) -> None:
    olga = await post.book("lesson", "Olga")
    cyd = await from_page(post, "Cyd", email="cyd@example.org")
    granted(await post.hf.cancel(olga.id))
    await post.outbox.send_due()
    await post.pass_time(11 * 60, step_s=60)
    codes = [step.code for step in granted(await post.hf.explain(cyd))]
    assert codes[:4] == ["joined", "offered", "told", "lapsed"]


async def test_an_outbox_that_never_ran_costs_who_came_by_a_page_nothing(post: Post) -> None:
    olga = await post.book("lesson", "Olga")
    cyd = await from_page(post, "Cyd", email="cyd@example.org")
    granted(await post.hf.cancel(olga.id))
    await post.hf.advance(seconds=601)
    assert (await state(post, cyd), await reach(post, cyd)) == ("waiting", "channel_down")
    # The late letter is the first that comes, and she is asked again.
    await post.outbox.send_due()
    assert await reach(post, cyd) == ""


async def test_staff_may_say_that_they_tell_somebody_themselves(post: Post) -> None:
    olga = await post.book("lesson", "Olga")
    cyd = await from_page(post, "Cyd")
    granted(await post.hf.cancel(olga.id))
    await post.outbox.send_due()
    changed = granted(await post.hf.change_booking(cyd, told_by_staff=True, by="staff:Olga"))
    assert (changed.state, changed.reach) == ("offered", "staff")
    await post.outbox.send_due()
    assert await state(post, cyd) == "offered"
    assert (await post.hf.needs()).passed_over == ()


async def test_an_offer_is_tried_until_its_window_ends_however_often_that_is(post: Post) -> None:
    granted(await post.hf.change_pool("chair", policy={"offer_window": "5d"}))
    post.mail.answers["ann@example.org"] = "451 4.2.0 greylisted"
    ann, _ = await offered(post)
    await post.pass_time(3 * 24 * 3_600, step_s=3_600)
    (offer,) = [it for it in granted(await post.hf.messages("chair")) if it.kind == "offer"]
    assert (offer.state, offer.attempts > ATTEMPTS_MAX) == ("pending", True)
    assert await state(post, ann) == "offered"


async def test_a_letter_about_an_offer_that_was_taken_back_says_to_nobody_that_it_runs(post: Post) -> None:
    """The seat went on to Bea, though Cyd would still have most of her ten minutes."""
    bare = Outbox(post.hf, MessageSettings(base_url="https://seats.example.org"))
    olga = await post.book("lesson", "Olga")
    cyd = await from_page(post, "Cyd", email="cyd@example.org")
    bea = await post.book("lesson", "Bea")
    granted(await post.hf.cancel(olga.id))
    await bare.send_due()
    await bare.close()
    told = granted(await post.hf.messages("lesson"))
    (offer,) = [it for it in told if (it.kind, it.booking) == ("offer", cyd)]
    assert (offer.state, await state(post, bea.id)) == ("not_sent", "offered")
    granted(await post.hf.replay(offer.id))
    await post.outbox.send_due()
    assert granted(await post.hf.message(offer.id)).state == "dropped"
    assert post.mail.to("cyd@example.org") == []
