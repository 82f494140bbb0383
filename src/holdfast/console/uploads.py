"""Forms with a file in them: as a browser sends them when a form says multipart/form-data."""

from __future__ import annotations

from email.parser import BytesParser
from email.policy import HTTP
from typing import Final

from holdfast.http.problems import invalid
from holdfast.pages import forms

_FIELDS_MAX: Final = 200


def filled_in(body: bytes, content_type: bytes | None) -> dict[str, str]:
    """The fields of a form; a file is its text."""
    if not (content_type or b"").lower().startswith(b"multipart/form-data"):
        return forms.filled_in(body, content_type)
    found = BytesParser(policy=HTTP).parsebytes(
        b"Content-Type: " + (content_type or b"") + b"\r\n\r\n" + body
    )
    parts = list(found.iter_parts()) if found.is_multipart() else []
    if not parts or len(parts) > _FIELDS_MAX:
        raise invalid(None, "This is no form that can be read.")
    fields: dict[str, str] = {}
    for part in parts:
        name = part.get_param("name", header="content-disposition")
        raw = part.get_payload(decode=True)
        if not isinstance(name, str) or not isinstance(raw, bytes):
            raise invalid(None, "This is no form that can be read.")
        fields[name] = _text(raw)
    return fields


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
