"""Request bodies and queries, read strictly: bounded in size and depth, no name twice, no field unknown.

An integer is an integer: not true, not 1.0, not "1". What is wrong is named by its field.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec

from fairhold.http.problems import Problem, invalid

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

DEPTH_MAX: Final = 16
BODY_MAX: Final = 64 * 1024
_QUERY_MAX: Final = 4_096
# A text that never ends is a match, too, and nothing is looked at twice: else a short body could keep us busy
# for minutes.
_TEXT: Final = rb'"((?:[^"\\]++|\\.)*+)"?+'
_NAMES: Final = re.compile(_TEXT + rb"(\s*+:)?+", re.DOTALL)
_SHAPE: Final = re.compile(_TEXT + rb"|[\[\]{}]", re.DOTALL)
_AT: Final = re.compile(r" - at `(?:key in )?\$(?P<path>[^`]*)`$")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(?P<name>.*?)`")
_MISSING: Final = re.compile(r"Object missing required field `(?P<name>.*?)`")


# By type: what a query that says nothing means, and the kinds of its fields. Made once, used often.
_UNASKED: Final[dict[type[Any], Any]] = {}
_KINDS: Final[dict[type[Any], dict[str, Any]]] = {}


class Gone(Exception):
    """Whoever asked has gone away."""


async def read(receive: Receive, headers: Mapping[bytes, bytes], most: int = BODY_MAX) -> bytes:
    """The whole body, if it is not too long."""
    length = headers.get(b"content-length", b"0")
    if length.isdigit() and len(length) < 20 and int(length) > most:
        raise _too_large(most)
    message = await receive()
    body: bytes = message.get("body", b"")
    if message.get("more_body"):
        # Gathered first and joined once: a long body comes in many pieces.
        parts, length_now = [body], len(body)
        while message["type"] != "http.disconnect" and message.get("more_body"):
            message = await receive()
            parts.append(message.get("body", b""))
            length_now += len(parts[-1])
            if length_now > most:
                raise _too_large(most)
        body = b"".join(parts)
    if message["type"] == "http.disconnect":
        raise Gone
    if len(body) > most:
        raise _too_large(most)
    return body


def _too_large(most: int) -> Problem:
    detail = f"A body here has at most {most // 1024} KiB."
    return Problem("too_large", detail, headers=((b"connection", b"close"),))


def must_be_json(content_type: bytes | None) -> None:
    kind = (content_type or b"application/json").partition(b";")[0].strip().lower()
    if kind != b"application/json":
        raise Problem("unsupported_media_type", "Send the body as JSON, with Content-Type: application/json.")


def must_be(media_type: str, content_type: bytes | None) -> None:
    """Refuse a text of another kind."""
    kind = (content_type or media_type.encode()).partition(b";")[0].strip().lower()
    if kind != media_type.encode():
        raise Problem("unsupported_media_type", f"Send the body with Content-Type: {media_type}.")


def text(body: bytes) -> str:
    """The body as text; a mark at its beginning that only says so is left out."""
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise invalid(None, "The body is not UTF-8.") from None


def decoded(body: bytes, decoder: msgspec.json.Decoder[Any]) -> Any:
    """The body as the type of the decoder; an empty one as an empty object."""
    body = body or b"{}"
    _bound_depth(body)
    try:
        _refuse_repeated_names(body)
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise _wrong(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise invalid(None, f"The body is no JSON that can be read: {_plain(error)}.") from None


def _bound_depth(body: bytes) -> None:
    if body.count(b"[") + body.count(b"{") <= DEPTH_MAX:
        return
    depth = 0
    for found in _SHAPE.finditer(body):
        if found[0] in (b"[", b"{"):
            depth += 1
            if depth > DEPTH_MAX:
                raise invalid(None, f"The body is nested deeper than {DEPTH_MAX} levels.")
        elif found[0] in (b"]", b"}"):
            depth -= 1


def _refuse_repeated_names(body: bytes) -> None:
    """A name that stands twice in an object means two things. Mostly all differ, which is seen at once."""
    names = [name for name, colon in _NAMES.findall(body) if colon]
    if len(set(names)) < len(names) or b"\\" in b"".join(names):
        json.loads(body, object_pairs_hook=_once)


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise invalid(twice, f"The name {twice!r} stands twice in the same object.")
    return found


def _plain(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    if type(error) is ValueError:
        return "a number in it has too many digits"
    return str(error).removeprefix("JSON is malformed: ")


def _wrong(message: str) -> Problem:
    """A problem that names the field, from what msgspec says."""
    found = _AT.search(message)
    path = found["path"].lstrip(".") if found else ""
    said = _AT.sub("", message)
    for pattern, sentence in ((_UNKNOWN, "There is no field {!r} here."), (_MISSING, "{} is missing.")):
        if named := pattern.fullmatch(said):
            name = f"{path}.{named['name']}" if path else named["name"]
            return invalid(name, sentence.format(named["name"]))
    return invalid(path or None, f"{path or 'The body'}: {said.replace('`', '')}.")


def asked(query: bytes, kind: type[Any]) -> Any:
    """The query as a struct; numbers and flags are written as JSON writes them."""
    if not query:
        return _UNASKED.get(kind) or _UNASKED.setdefault(kind, kind())
    if len(query) > _QUERY_MAX:
        raise invalid(None, f"A query here has at most {_QUERY_MAX:,} characters.")
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=20)
    except ValueError:
        raise invalid(None, "The query is not UTF-8, or not a query.") from None
    given = _once(pairs)
    for name, value in given.items():
        if "\x00" in name + value:
            raise invalid(name.replace("\x00", ""), "The query has a character that cannot be kept.")
    kinds = _KINDS.get(kind) or _KINDS.setdefault(kind, _kinds(kind))
    try:
        return msgspec.convert({name: _value(item, kinds.get(name)) for name, item in given.items()}, kind)
    except msgspec.ValidationError as error:
        raise _wrong(str(error)) from None


def _kinds(kind: type[Any]) -> dict[str, Any]:
    return {field.name: field.type for field in msgspec.structs.fields(kind)}


def _value(text: str, kind: Any) -> Any:
    if "bool" in str(kind) and text in ("true", "false"):
        return text == "true"
    if "int" in str(kind) and re.fullmatch(r"-?[0-9]{1,15}", text):
        return int(text)
    return text
