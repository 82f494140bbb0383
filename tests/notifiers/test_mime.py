"""What goes over the line is read by others as it was meant, whatever stands in it."""

from __future__ import annotations

from dataclasses import replace
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTPUTF8, default

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairhold.notifiers.base import Attachment, Outgoing
from fairhold.notifiers.email import EmailNotifier
from fairhold.notifiers.email.address import mail_server as address_of
from tests.notifiers.servers import mail_server
from tests.notifiers.test_email import HELLO, confirmation

NASTY = [
    "",
    ".",
    "..\n.\n",
    "From me\n.QUIT\n--=_alternative--\n--=_mixed\nContent-Type: text/html\n\nx",
    "trailing  \t\n  leading\n\n\n",
    "é" * 500 + " " + "x" * 2_000,
    "\N{SNOWMAN} \U0001f600 = =3D =_ \u2028 \x0b",
    "one\r\ntwo\rthree\nfour",
]


def notifier() -> EmailNotifier:
    return EmailNotifier(address_of("smtp://127.0.0.1:1?tls=none"), "Müller & Söhne <seats@example.org>")


def read(message: Outgoing) -> EmailMessage:
    content = notifier().letter(message).content
    assert content.isascii()
    found = message_from_bytes(content, policy=default)
    assert isinstance(found, EmailMessage)
    assert [defect for part in found.walk() for defect in part.defects] == []
    return found


def lines(text: str) -> list[bytes]:
    return text.encode().splitlines()


def said(found: EmailMessage, kind: str) -> list[bytes]:
    part = found.get_body((kind,))
    assert part is not None
    return lines(part.get_content())


@pytest.mark.parametrize("text", NASTY)
def test_both_forms_are_read_as_they_were_written(text: str) -> None:
    found = read(replace(HELLO, text=text, html=f"<p>{text}</p>"))
    assert said(found, "plain") == (lines(text) or [b""])
    assert said(found, "html") == lines(f"<p>{text}</p>")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_so_is_any_text_in_body_and_subject(text: str) -> None:
    found = read(replace(HELLO, text=text, subject=text))
    assert said(found, "plain") == (lines(text) or [b""])
    assert [it for it in found.keys() if it not in KNOWN] == []  # noqa: SIM118  # one may come twice
    assert found["To"] == "ann@example.org"


KNOWN = [
    "From",
    "To",
    "Subject",
    "Message-ID",
    "Auto-Submitted",
    "X-Fairhold-Kind",
    "MIME-Version",
    "Content-Type",
]


def test_long_and_foreign_headers_are_read_as_they_were_written() -> None:
    subject = "Jäätelöä, " * 40 + "x" * 300
    found = read(replace(HELLO, subject=subject))
    assert found["Subject"] == subject
    assert found["From"] == "Müller & Söhne <seats@example.org>"
    assert found.keys() == KNOWN
    assert (
        max(len(it) for it in notifier().letter(replace(HELLO, subject=subject)).content.split(b"\n")) < 998
    )


def test_files_are_inside_or_attached_under_a_name_that_harms_nobody() -> None:
    files = (
        Attachment('a"\r\nX: y/ö.png', "image/png", bytes(range(256)) * 20, cid="picture"),
        Attachment("booking.ics", "text/calendar", "BEGIN:VCALENDAR\r\nSUMMARY:Jäätelö\r\n".encode()),
    )
    found = read(replace(HELLO, attachments=files))
    assert [part.get_content_type() for part in found.walk()] == [
        "multipart/mixed",
        "multipart/alternative",
        "text/plain",
        "multipart/related",
        "text/html",
        "image/png",
        "text/calendar",
    ]
    picture, entry = list(found.walk())[-2:]
    assert (picture.get_filename(), picture["Content-ID"]) == ("a___X__y__.png", "<picture>")
    assert picture["X"] is None
    assert picture.get_content() == files[0].content  # type: ignore[attr-defined]
    assert entry.get_content() == "BEGIN:VCALENDAR\nSUMMARY:Jäätelö\n"  # type: ignore[attr-defined]
    assert entry.is_attachment()  # type: ignore[attr-defined]
    without = read(replace(confirmation(), html=""))
    assert [it.get_content_type() for it in without.walk()][:2] == ["multipart/mixed", "text/plain"]


async def test_an_address_that_is_not_in_ascii_is_written_to() -> None:
    with mail_server() as server:
        post = EmailNotifier(address_of(server.url), "Seats <seats@example.org>")
        await post.send(replace(HELLO, address="ann@jörg.example.org"))
        await post.close()
    (got,) = server.letters
    assert got["To"] == "ann@jörg.example.org"
    assert "ann@jörg.example.org".encode() in got.as_bytes(policy=SMTPUTF8)
