"""Texts, posted to a real server of Twilio's shape."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest

from fairhold.errors import SettingsWrong
from fairhold.notifiers.base import Outgoing, Permanent, Temporary
from fairhold.notifiers.sms import SmsNotifier, international
from tests.notifiers.servers import Receiver, receiver

TEXT = Outgoing("p1-7-0", "offer", "+358 40 765 4321", short="Yoga: a place is free. https://example.org/o/x")


@pytest.fixture
def service() -> Iterator[Receiver]:
    with receiver() as server:
        server.status = 201
        yield server


def notifier(service: Receiver, region: str = "") -> SmsNotifier:
    return SmsNotifier(service.url.replace("://", "://AC1:to%20ken@"), "Fairhold", region)


async def test_a_text_is_posted_as_twilio_takes_it(service: Receiver) -> None:
    await notifier(service).send(TEXT)
    (got,) = service.received
    assert got.path == "/2010-04-01/Accounts/AC1/Messages.json"
    assert got.form == {"To": "+358407654321", "From": "Fairhold", "Body": TEXT.short}
    assert got.headers["authorization"] == "Basic " + base64.b64encode(b"AC1:to ken").decode()
    assert got.headers["idempotency-key"] == TEXT.id


@pytest.mark.parametrize("number", ["", "ann", "123", "+358 1", "+999 123456789", "040 765 4321"])
async def test_what_is_no_number_is_given_up_without_asking(service: Receiver, number: str) -> None:
    with pytest.raises(Permanent):
        await notifier(service).send(Outgoing("p1-7-0", "offer", number, short="x"))
    assert service.received == []


def test_a_number_of_the_country_is_dialled_from_anywhere() -> None:
    assert international("040 765 4321", "FI") == "+358407654321"
    assert international("+49 1512 3456789", "FI") == "+4915123456789"


@pytest.mark.parametrize(
    ("status", "answer", "kind"),
    [
        (400, b'{"code": 21211, "message": "invalid To"}', Permanent),
        (400, b'{"code": 21610, "message": "unsubscribed"}', Permanent),
        (400, b'{"code": 21606, "message": "our From number"}', Temporary),
        (401, b'{"code": 20003, "message": "authenticate"}', Temporary),
        (429, b"slow down", Temporary),
        (500, b"[]", Temporary),
        (503, b'{"code": 21211}', Temporary),
    ],
)
async def test_what_the_service_says_decides_whether_to_try_again(
    service: Receiver, status: int, answer: bytes, kind: type[Exception]
) -> None:
    service.status, service.answer = status, answer
    with pytest.raises(kind, match=str(status)):
        await notifier(service).send(TEXT)


async def test_a_service_that_is_away_or_slow_is_tried_again(
    service: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairhold.notifiers.sms._TIMEOUT_S", 0.2)
    service.stall_s = 3_600.0
    with pytest.raises(Temporary, match="cannot be used"):
        await notifier(service).send(TEXT)
    with pytest.raises(Temporary, match="cannot be used"):
        await SmsNotifier("http://AC1:x@127.0.0.1:9", "Fairhold").send(TEXT)


@pytest.mark.parametrize("url", ["", "ftp://a:b@host", "https://host", "https://"])
def test_a_wrong_account_is_refused(url: str) -> None:
    with pytest.raises(SettingsWrong):
        SmsNotifier(url, "Fairhold")
