"""E-mail, handed to a real mail server."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import trustme
from icalendar import Calendar

from fairhold.errors import SettingsWrong
from fairhold.messages import letter
from fairhold.messages.attachments import attachments
from fairhold.messages.context import Speech
from fairhold.messages.sample import NOW, samples
from fairhold.notifiers.base import Outgoing, Permanent, Temporary
from fairhold.notifiers.email import EmailNotifier
from fairhold.notifiers.email.address import mail_server as address_of
from fairhold.notifiers.email.codes import is_permanent
from testbed.ports import free_port
from tests.notifiers.servers import MailServer, mail_server, only

HELLO = Outgoing("p1-7-0", "joined", "ann@example.org", "Hello", "plain", "<p>rich</p>")


made: list[EmailNotifier] = []


@pytest.fixture(autouse=True)
async def hung_up() -> AsyncIterator[None]:
    yield
    while made:
        await made.pop().close()


def notifier(server: MailServer, query: str = "?tls=none", user: str = "") -> EmailNotifier:
    address = address_of(f"smtp://{user}127.0.0.1:{server.port}{query}")
    made.append(EmailNotifier(address, "Seats <seats@example.org>"))
    return made[-1]


async def test_an_email_has_both_forms_and_an_id_that_stays() -> None:
    with mail_server() as server:
        for _ in range(2):
            await notifier(server).send(HELLO)
    first, second = server.letters
    assert first["Message-ID"] == second["Message-ID"] == "<p1-7-0@example.org>"
    assert (first["To"], first["From"]) == ("ann@example.org", "Seats <seats@example.org>")
    assert first["Auto-Submitted"] == "auto-generated"
    plain, rich = first.get_body(("plain",)), first.get_body(("html",))
    assert plain is not None
    assert rich is not None
    assert plain.get_content().strip() == "plain"
    assert rich.get_content().strip() == "<p>rich</p>"


@pytest.mark.parametrize(
    "address", ["ann", "@", "a@", "ann@example.org\nBcc: eve@example.org", "a b@c.d", ""]
)
async def test_what_is_no_address_is_given_up_at_once(address: str) -> None:
    with mail_server() as server:
        with pytest.raises(Permanent):
            await notifier(server).send(replace(HELLO, address=address))
        assert server.letters == []


@pytest.mark.guarantee("injection.mail", "A title with line ends stays a subject.")
async def test_a_title_cannot_write_headers() -> None:
    with mail_server() as server:
        await notifier(server).send(replace(HELLO, subject="Hi\r\nBcc: eve@example.org\n\nbody"))
    (got,) = server.letters
    assert got["Bcc"] is None
    assert got["Subject"] == "Hi Bcc: eve@example.org body"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("550 5.1.1 no such user", Permanent),
        ("550 no such user", Permanent),
        ("553 5.1.3 bad address", Permanent),
        ("556 5.1.10 takes no mail", Permanent),
        ("550 5.7.1 relaying denied", Temporary),
        ("554 5.7.1 blocked by policy", Temporary),
        ("552 5.2.2 mailbox full", Temporary),
        ("450 4.2.1 come back", Temporary),
        ("421 4.3.2 closing", Temporary),
    ],
)
async def test_what_the_server_says_decides_whether_to_try_again(answer: str, kind: type[Exception]) -> None:
    with mail_server() as server:
        server.answers["ann@example.org"] = answer
        with pytest.raises(kind, match=answer[:3]):
            await notifier(server).send(HELLO)


async def test_a_message_that_is_not_taken_is_given_up() -> None:
    with mail_server() as server:
        server.at_data = "554 5.6.0 not this"
        with pytest.raises(Permanent, match="554"):
            await notifier(server).send(HELLO)
        server.at_data = "452 4.3.1 no room"
        with pytest.raises(Temporary, match="452"):
            await notifier(server).send(HELLO)


async def test_a_server_that_is_away_or_slow_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairhold.notifiers.email.lines._TIMEOUT_S", 0.3)
    nowhere = EmailNotifier(address_of(f"smtp://127.0.0.1:{free_port()}"), "seats@example.org")
    with pytest.raises(Temporary):
        await nowhere.send(HELLO)
    with mail_server() as server:
        server.stall_s = 3_600.0
        with pytest.raises(Temporary):
            await notifier(server).send(HELLO)


# Lines that nobody else reads.


@pytest.fixture
def own_authority(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ssl.SSLContext:
    """A certificate for 127.0.0.1 that this machine trusts for the moment."""
    authority = trustme.CA()
    file = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(file))
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS:UserWarning")
async def test_a_password_goes_only_over_tls(own_authority: ssl.SSLContext) -> None:
    allowed = {"authenticator": only("user", "pass word"), "auth_required": True}
    with mail_server(tls=own_authority, auth_require_tls=True, **allowed) as server:
        await notifier(server, "", "user:pass%20word@").send(HELLO)
        assert len(server.letters) == 1
        with pytest.raises(Temporary, match="does not let us in"):
            await notifier(server, "", "user:wrong@").send(HELLO)
    with mail_server(auth_require_tls=False, **allowed) as open_server:
        with pytest.raises(Temporary):
            await notifier(open_server, "", "user:pass%20word@").send(HELLO)
        assert open_server.letters == []
        await notifier(open_server, "?tls=none", "user:pass%20word@").send(HELLO)
        assert len(open_server.letters) == 1


async def test_a_certificate_of_nobody_we_trust_is_not_talked_to() -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    with mail_server(tls=context) as server:
        with pytest.raises(Temporary):
            await notifier(server, "?tls=required").send(HELLO)
        assert server.letters == []


@pytest.mark.parametrize(
    "url", ["http://host", "smtp://", "smtp://host:x", "smtp://host?tls=maybe", "host:25"]
)
def test_a_wrong_address_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(SettingsWrong, match="mail server"):
        address_of(url)


def test_the_address_says_port_user_and_tls() -> None:
    it = address_of("smtps://ann:p%40ss@mail.example.org")
    assert (it.host, it.port, it.user, it.password, it.implicit) == (
        "mail.example.org",
        465,
        "ann",
        "p@ss",
        True,
    )
    assert address_of("smtp://ann@mail.example.org").options()["start_tls"] is True
    assert address_of("smtp://mail.example.org").options()["start_tls"] is None
    assert address_of("smtp://mail.example.org").port == 587
    assert not is_permanent(250, "OK")


# What goes with a confirmation.


def confirmation(kind: str = "confirmed", case: int = 0) -> Outgoing:
    notice = samples(kind)[case]
    words = letter.email(notice, Speech.of("en", "en", "Europe/Helsinki"), {}, NOW)
    files = attachments(notice, "https://seats.example.org")
    made = {"subject": words.subject, "text": words.text, "html": words.html, "attachments": files}
    return Outgoing(notice.key.text, kind, "ann@example.org", **made)  # type: ignore[arg-type]


async def test_a_confirmation_brings_a_calendar_entry_and_a_code_inside() -> None:
    with mail_server() as server:
        await notifier(server).send(confirmation())
    (got,) = server.letters
    parts = {part.get_content_type(): part for part in got.walk()}
    picture = parts["image/png"]
    assert picture["Content-ID"] == "<reference-code>"
    assert picture.get_content().startswith(b"\x89PNG")
    html = got.get_body(("html",))
    assert html is not None
    assert "cid:reference-code" in html.get_content()
    entry = Calendar.from_ical(parts["text/calendar"].get_content()).events[0]
    assert entry["SUMMARY"] == "Saturday yoga"
    assert entry["UID"] == "b007se7n65ptkst3ku7m@seats.example.org"
    assert entry.start.isoformat() == "2027-03-07T13:20:00+00:00"
    assert entry["STATUS"] == "CONFIRMED"


def test_a_cancellation_takes_the_entry_back_and_others_bring_none() -> None:
    (back,) = confirmation("cancelled", 0).attachments
    calendar = Calendar.from_ical(back.content)
    assert calendar["METHOD"] == "CANCEL"
    assert calendar.events[0]["UID"] == "b007se7n65ptkst3ku7m@seats.example.org"
    for kind, case in (("joined", 0), ("offer", 0), ("confirmed", 2), ("cancelled", 2), ("promoted", 1)):
        assert confirmation(kind, case).attachments == (), (kind, case)
    assert len(confirmation("promoted", 0).attachments) == 2
