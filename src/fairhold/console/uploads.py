"""Forms with a file in them: as a browser sends them when a form says multipart/form-data."""

from __future__ import annotations

from email.message import Message
from email.parser import BytesParser
from email.policy import compat32
from typing import Final

from fairhold.http.problems import Problem, invalid
from fairhold.pages import forms

_FIELDS_MAX: Final = 200
_HEADER_MAX: Final = 1_000


def filled_in(body: bytes, content_type: bytes | None) -> dict[str, str]:
    """The fields of a form; a file is its text."""
    if not (content_type or b"").lower().startswith(b"multipart/form-data"):
        return forms.filled_in(body, content_type)
    parts = _parts(b"Content-Type: " + (content_type or b"") + b"\r\n\r\n" + body)
    if not parts or len(parts) > _FIELDS_MAX:
        raise _unreadable()
    fields: dict[str, str] = {}
    for part in parts:
        # What a header says is only taken apart if it is not long: that takes the longer the odder it is.
        if len(str(part.get("content-disposition", ""))) > _HEADER_MAX:
            raise _unreadable()
        name = part.get_param("name", header="content-disposition")
        raw = part.get_payload(decode=True)
        if not isinstance(name, str) or not isinstance(raw, bytes):
            raise _unreadable()
        fields[name] = _text(raw)
    return fields


def _parts(form: bytes) -> list[Message]:
    try:
        found = BytesParser(policy=compat32).parsebytes(form)
    except RecursionError:
        # Forms in forms in forms.
        raise _unreadable() from None
    listed = found.get_payload()
    return [part for part in listed if isinstance(part, Message)] if isinstance(listed, list) else []


def _unreadable() -> Problem:
    return invalid(None, "This is no form that can be read.")


def _text(raw: bytes) -> str:
    """Spreadsheets write UTF-8 with and without a mark, or as Windows did."""
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\x00" in text:
            break
        return text.replace("\r\n", "\n")
    raise invalid(None, "The form has a character that cannot be kept.")
