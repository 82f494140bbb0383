"""An e-mail as it goes over the line: headers folded by Python's own rules, the parts put together here.

Python's EmailMessage reads every header that it is given several times over, those of each part too: most of
what a letter cost.
"""

from __future__ import annotations

import re
from base64 import encodebytes
from binascii import b2a_qp
from collections.abc import Iterable
from email import policy
from email.headerregistry import Address
from typing import Final, NamedTuple

from fairhold.notifiers.base import Attachment

_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9._-]")


class Letter(NamedTuple):
    """An e-mail, and the addresses that the mail server is told."""

    sender: str
    recipient: str
    content: bytes
    # Whether one of them is not in ASCII, which not every server takes.
    utf8: bool


class Part(NamedTuple):
    """A piece of a letter; or all of it, but for what stands above."""

    head: str
    body: bytes


def header(name: str, value: str | Address, *, utf8: bool = False) -> bytes:
    """A line of the head, encoded and folded. Raises ValueError if it would be more than one."""
    rules = policy.SMTPUTF8 if utf8 else policy.SMTP
    _, parsed = rules.header_store_parse(name, value)
    return str(parsed.fold(policy=rules)).encode("utf-8", "surrogateescape")


def content(text: str, html: str, attachments: Iterable[Attachment]) -> bytes:
    """All but the first headers: both forms, what is shown inside the second, and what is attached."""
    files = [it for it in attachments if not (it.cid and html)]
    whole = _text(text, "plain")
    if html:
        rich = _text(html, "html")
        if shown := [_file(it) for it in attachments if it.cid]:
            rich = _several("related", [rich, *shown])
        whole = _several("alternative", [whole, rich])
    if files:
        whole = _several("mixed", [whole, *(_file(it) for it in files)])
    return f"MIME-Version: 1.0\r\n{whole.head}\r\n".encode() + whole.body


def _text(text: str, kind: str, more: str = "") -> Part:
    lines = b"\n".join(text.encode().splitlines()) + b"\n"
    head = f'Content-Type: text/{kind}; charset="utf-8"\r\nContent-Transfer-Encoding: quoted-printable\r\n'
    return Part(head + more, b2a_qp(lines))


def _file(it: Attachment) -> Part:
    name = _NOT_IN_NAMES.sub("_", it.name)
    how = f"inline; filename={name}\r\nContent-ID: <{it.cid}>" if it.cid else f"attachment; filename={name}"
    placed = f"Content-Disposition: {how}\r\n"
    main, _, kind = it.media_type.partition("/")
    if main == "text":
        return _text(it.content.decode(), kind, placed)
    head = f"Content-Type: {it.media_type}\r\nContent-Transfer-Encoding: base64\r\n"
    return Part(head + placed, encodebytes(it.content))


def _several(kind: str, parts: list[Part]) -> Part:
    # What stands in no part, for `=_` is in none as they are encoded; and in no other of these.
    edge = f"=_{kind}"
    inside = b"".join(f"--{edge}\r\n{it.head}\r\n".encode() + it.body + b"\r\n" for it in parts)
    return Part(f'Content-Type: multipart/{kind}; boundary="{edge}"\r\n', inside + f"--{edge}--\r\n".encode())
