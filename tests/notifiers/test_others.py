"""The log, Apprise, and which notifiers the settings make."""

from __future__ import annotations

import logging

import pytest

from fairhold import Fairhold
from fairhold.errors import SettingsWrong
from fairhold.notifiers.apprise import AppriseNotifier
from fairhold.notifiers.apprise.schemes import SCHEMES
from fairhold.notifiers.base import Outgoing, Permanent, Temporary
from fairhold.notifiers.choose import notifiers_for
from fairhold.notifiers.log import LogNotifier
from fairhold.outbox import MessageSettings, Outbox
from fairhold.outbox.settings import webhooks_to_private
from tests.notifiers.servers import receiver

NEWS = Outgoing("p1-7-0", "handed_back", "", "Needs you", "The 2 pm chair, https://example.org/o/token")


async def test_the_log_says_that_somebody_would_be_told_without_address_words_or_link(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, "fairhold.messages"):
        await LogNotifier().send(NEWS)
    assert "message p1-7-0 (handed_back)" in caplog.text
    assert "Needs you" not in caplog.text, "an org's own words may name people"
    assert "/o/" not in caplog.text


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
async def test_apprise_tells_its_services() -> None:
    with receiver() as service:
        url = service.url.replace("http://", "json://")
        told = AppriseNotifier(also=["json"])
        await told.send(Outgoing("p1-7-0", "handed_back", url, "Needs you", "The 2 pm chair"))
        (got,) = service.received
        assert got.json["title"] == "Needs you"
        assert got.json["message"] == "The 2 pm chair"
        service.status = 500
        with pytest.raises(Temporary):
            await told.send(Outgoing("p1-7-0", "handed_back", url, "Needs you", "x"))


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
@pytest.mark.parametrize(
    "spelt", ["{0}", "  {0}", "{0},slack://a/b/c", "slack://a/b/c,{0}", "slack://a/b/c {0}"]
)
async def test_apprise_goes_to_no_host_that_it_is_given(spelt: str) -> None:
    with receiver() as service:
        url = spelt.format(service.url.replace("http://", "JSON://"))
        with pytest.raises(Permanent):
            await AppriseNotifier().send(Outgoing("p1-7-0", "handed_back", url, "Needs you", "x"))
        assert service.received == []


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
def test_the_services_that_may_be_used_have_an_address_of_their_own() -> None:
    from apprise.plugins import N_MGR

    for scheme in SCHEMES:
        assert not any("{host" in template for template in N_MGR[scheme].templates), scheme
    assert any("{host" in template for template in N_MGR["json"].templates), "the control"


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
async def test_an_address_that_apprise_does_not_know_is_given_up() -> None:
    with pytest.raises(Permanent):
        await AppriseNotifier().send(Outgoing("p1-7-0", "handed_back", "pigeon://loft", "a", "b"))


def test_settings_come_from_the_environment() -> None:
    said = {
        "FAIRHOLD_BASE_URL": "https://seats.example.org/booking",
        "FAIRHOLD_SMTP_URL": "smtp://mail.example.org",
        "FAIRHOLD_MAIL_FROM": "Seats <seats@example.org>",
        "FAIRHOLD_SMS_URL": "https://AC1:token@sms.example.org",
        "FAIRHOLD_SMS_FROM": "Fairhold",
        "FAIRHOLD_SMS_REGION": "FI",
        "FAIRHOLD_LOCALE": "fi",
        "FAIRHOLD_WEBHOOKS_TO_PRIVATE": "yes",
    }
    settings = MessageSettings.from_environment(said)
    assert settings.webhooks_to_private
    assert settings.locale == "fi"
    assert set(notifiers_for(settings)) == {"log", "webhook", "apprise", "email", "sms"}
    assert set(notifiers_for(MessageSettings.from_environment({}))) == {"log", "webhook", "apprise"}
    for no in ("no", "No", "false", "0", ""):
        assert not webhooks_to_private({"FAIRHOLD_WEBHOOKS_TO_PRIVATE": no})
    assert not webhooks_to_private({})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("FAIRHOLD_BASE_URL", "seats.example.org"),
        ("FAIRHOLD_BASE_URL", "https://seats.example.org/?x=1"),
        ("FAIRHOLD_SMTP_URL", "smtp://mail.example.org"),
        ("FAIRHOLD_SMS_URL", "https://AC1:token@sms.example.org"),
        ("FAIRHOLD_LOCALE", "sv"),
        ("FAIRHOLD_WEBHOOKS_TO_PRIVATE", "off"),
        ("FAIRHOLD_WEBHOOKS_TO_PRIVATE", "nein"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(name: str, text: str) -> None:
    with pytest.raises(SettingsWrong, match=name):
        MessageSettings.from_environment({name: text})


def test_of_several_things_wrong_with_the_mail_server_its_address_comes_first() -> None:
    with pytest.raises(SettingsWrong, match=r"FAIRHOLD_SMTP_URL.*smtp://user"):
        MessageSettings.from_environment({"FAIRHOLD_SMTP_URL": "bogus"})


@pytest.mark.parametrize("wrong", [{"base_url": "x"}, {"locale": "xx"}, {"smtp_url": "smtp://example.org"}])
async def test_what_a_program_says_is_held_to_the_same(sqlite_url: str, wrong: dict[str, str]) -> None:
    async with Fairhold.open(sqlite_url, ticker=False) as hf:
        with pytest.raises(SettingsWrong, match=f"FAIRHOLD_{next(iter(wrong)).upper()}"):
            Outbox(hf, MessageSettings(**wrong))
