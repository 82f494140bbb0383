"""A message as its receiver gets it: an e-mail, a text of one segment, or data for a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from fairhold import ids
from fairhold.clock import to_text
from fairhold.core.model import Instant
from fairhold.messages import segments
from fairhold.messages.context import Speech, variables
from fairhold.messages.notice import Notice
from fairhold.messages.wording import said_instead, say, whole, word

# What an org says in its own words: (kind, language, part) to text.
Overrides = Mapping[tuple[str, str, str], str]

CODE_CID: Final = "reference-code"
_CHANGES: Final = ("offer", "joined", "promoted", "hold_ending", "demoted", "put_back")


class Letter(NamedTuple):
    """The words of one message."""

    language: str
    subject: str
    text: str
    html: str
    shows_code: bool


class _Action(NamedTuple):
    label: str
    url: str
    main: bool = False


class _Fact(NamedTuple):
    label: str
    value: str


def has_seat(notice: Notice) -> bool:
    """Whether the message says that its reader has a seat for sure."""
    if notice.kind == "confirmed":
        return not notice.facts.get("waiting")
    return notice.kind in ("promoted", "put_back") and notice.facts.get("state") == "confirmed"


def email(notice: Notice, speech: Speech, overrides: Overrides, now: Instant) -> Letter:
    """Plain text, and the same in HTML."""
    values, language = variables(notice, speech, now), speech.language
    subject = _part("subject", notice, speech, overrides, values)
    body = _part("body", notice, speech, overrides, values)
    paragraphs = [" ".join(part.split()) for part in body.split("\n\n") if part.strip()]
    to_staff = notice.to == "staff"
    footer = "footer_staff" if to_staff else "footer_party"
    shows_code = has_seat(notice)
    filled = values | {
        "language": language,
        "subject": subject,
        "heading": subject,
        "greeting": word(language, "hello", name="" if to_staff else values["name"]),
        "paragraphs": paragraphs or [subject],
        "facts": _facts(notice, speech, values),
        "actions": _actions(notice, language, values),
        "footer": word(language, footer, pool=values["pool"], city=speech.city),
        "code": CODE_CID if shows_code else "",
        "code_alt": word(language, "code_alt", reference=values["reference"]),
    }
    text = whole(language, "letter.txt", filled)
    return Letter(language, subject, _tidy(text), whole(language, "letter.html", filled), shows_code)


def sms(notice: Notice, speech: Speech, overrides: Overrides, now: Instant) -> str:
    """One segment, with the link whole: what is too long is cut from the name of the pool."""
    values = variables(notice, speech, now)
    values |= {
        name: segments.plain(value)
        for name, value in values.items()
        if isinstance(value, str) and name != "link"
    }
    text = segments.plain(_part("sms", notice, speech, overrides, values))
    for name in ("pool", "what", "name"):
        over = segments.length(text) - segments.SEGMENT_MAX
        if over > 0:
            values[name] = segments.cut(values[name], max(0, segments.length(values[name]) - over))
            text = segments.plain(_part("sms", notice, speech, overrides, values))
    if segments.length(text) > segments.SEGMENT_MAX and values["link"]:
        # Words too many of an org's own, or a very long address: the link is what matters.
        room = segments.SEGMENT_MAX - segments.length(values["link"]) - 1
        text = f"{segments.cut(text.replace(values['link'], '').strip(), room)} {values['link']}".strip()
    return text


def payload(notice: Notice, *, thin: bool) -> dict[str, Any]:
    """What a program gets: ids alone, to look up the rest; or everything, with the links."""
    pool_id, booking = notice.pool.id, notice.booking
    about: dict[str, Any] = {
        "id": notice.key.text,
        "to": notice.to,
        "org": notice.pool.org,
        "pool": ids.pool_text(pool_id),
        "booking": None if booking is None else ids.booking_text(pool_id, booking.number),
    }
    if not thin:
        about |= {"pool_key": notice.pool.key, "facts": _told(notice.facts), "links": dict(notice.links)}
        about["starts_at"] = _moment(notice.starts_at)
        if booking is not None:
            party = booking.party
            about |= {"state": booking.state, "reference": booking.reference, "quantity": booking.quantity}
            about["party"] = {
                "id": party.id,
                "name": party.name,
                "contacts": dict(party.contacts),
                "locale": party.locale,
            }
    return {"type": notice.kind, "timestamp": to_text(notice.created_at), "data": about}


def _part(part: str, notice: Notice, speech: Speech, overrides: Overrides, values: Mapping[str, Any]) -> str:
    own = overrides.get((notice.kind, speech.language, part))
    if own is not None:
        return said_instead(speech.language, own, values)
    return say(speech.language, notice.kind, part, values)


def _facts(notice: Notice, speech: Speech, values: Mapping[str, Any]) -> list[_Fact]:
    """The table under the words: only what is known, and what still matters."""
    language, kind = speech.language, notice.kind
    by = "label_answer_by" if kind == "offer" else "label_confirm_by"
    by = by if _is_theirs(notice, values) else "label_held_until"
    matters = kind in _CHANGES and not values["late"]
    lost = kind == "demoted" and values["position"] is None
    goes_on = kind in ("confirmed", *_CHANGES) and not lost
    rows = [
        ("label_when", values["starts"]),
        ("label_where", values["location"] if goes_on else ""),
        ("label_what", values["what"]),
        ("label_price", values["price"] if goes_on else ""),
        ("label_position", str(values["position"] or "")),
        (by, values["until"] if matters else ""),
        ("label_time_left", values["time_left"] if matters else ""),
        ("label_reference", values["reference"]),
    ]
    return [_Fact(word(language, label), value) for label, value in rows if value]


def _actions(notice: Notice, language: str, values: Mapping[str, Any]) -> list[_Action]:
    links = notice.links
    if "booking" not in links:
        return []
    if notice.kind == "offer" and not values["late"]:
        return [
            _Action(word(language, "act_claim"), links["offer"], True),
            _Action(word(language, "act_decline"), links["decline"]),
        ]
    runs = values["until"] and not values["late"]
    to_confirm = runs and notice.kind in _CHANGES and _is_theirs(notice, values)
    label = "act_confirm" if to_confirm else "act_booking"
    return [_Action(word(language, label), links["booking"], bool(to_confirm))]


def _is_theirs(notice: Notice, values: Mapping[str, Any]) -> bool:
    """Return True if it is for the reader to act, and not for staff to confirm what is held."""
    is_in_line = notice.kind in ("offer", "joined") or values["state"] == "waiting"
    return is_in_line or not values["yours_once"]


def _told(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _moment(value) if name.endswith("_at") else value for name, value in facts.items()}


def _moment(at: Instant | None) -> str | None:
    return None if at is None else to_text(at)


def _tidy(text: str) -> str:
    """No more than one empty line at a time."""
    lines: list[str] = []
    for line in text.splitlines():
        line = line if line == "-- " else line.strip()
        if line or (lines and lines[-1]):
            lines.append(line)
    return "\n".join(lines).strip() + "\n"
