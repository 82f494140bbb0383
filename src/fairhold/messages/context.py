"""What a template may speak of, in the language and the time zone of whom it is for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

from babel import Locale, UnknownLocaleError
from babel.core import get_global
from babel.dates import format_skeleton, format_time, get_timezone_location
from babel.numbers import format_currency
from babel.units import format_unit

from fairhold.clock import to_datetime
from fairhold.core.commands import is_staff
from fairhold.core.model import Instant, Price, confirmed_by_staff
from fairhold.messages.languages import language_of
from fairhold.messages.notice import Notice
from fairhold.messages.wording import word
from fairhold.shapes import total_of

# How a day is written so that it fits into a sentence of the language without being inflected.
_DAY: Final = {"en": "yMMMEd", "fi": "yMEd", "de": "yMMMEd"}
_SHORT_DAY: Final = {"en": "MMMEd", "fi": "MEd", "de": "MEd"}
_TRIES: Final = re.compile(r"(\d+) offered")


@dataclass(frozen=True, slots=True)
class Speech:
    """A language, the locale that dates follow, and the zone that times are told in."""

    language: str
    locale: Locale
    zone: ZoneInfo

    @classmethod
    def of(cls, wanted: str, otherwise: str, time_zone: str) -> Speech:
        """What somebody's locale asks for, if we speak it."""
        said = wanted if language_of(wanted) is not None else otherwise
        language = language_of(said) or "en"
        try:
            locale = Locale.parse(said.replace("_", "-"), sep="-")
        except (ValueError, UnknownLocaleError):
            locale = Locale(language)
        return cls(language, locale, ZoneInfo(time_zone))

    def moment(self, at: Instant) -> str:
        """A day and a time."""
        day = format_skeleton(_DAY[self.language], self._local(at), locale=self.locale)
        return word(self.language, "moment", date=_spaces(day), time=self.time(at))

    def short_moment(self, at: Instant, now: Instant) -> str:
        """The time, and the day only if it is not today."""
        there, today = self._local(at), self._local(now)
        time = word(self.language, "only_time", time=self.time(at))
        if there.date() == today.date():
            return time
        day = format_skeleton(_SHORT_DAY[self.language], there, locale=self.locale)
        return f"{_spaces(day)} {time}"

    def time(self, at: Instant) -> str:
        there = self._local(at)
        return _spaces(format_time(there, "short", tzinfo=self.zone, locale=self.locale))

    def length(self, milliseconds: int) -> str:
        """So much time, in at most two units and never more than there is."""
        minutes = max(0, milliseconds) // 60_000
        parts = [("day", minutes // 1440), ("hour", minutes // 60 % 24), ("minute", minutes % 60)]
        first = next((index for index, (_, count) in enumerate(parts) if count), len(parts) - 1)
        said = [
            format_unit(count, f"duration-{unit}", locale=self.locale)
            for unit, count in parts[first : first + 2]
            if count or unit == parts[first][0]
        ]
        return _spaces(" ".join(said))

    def price(self, price: Price) -> str:
        decimals = get_global("currency_fractions").get(price.currency, (2,))[0]
        amount = Decimal(price.amount).scaleb(-decimals)
        return format_currency(amount, price.currency, locale=self.locale)

    @property
    def city(self) -> str:
        if self.zone.key in ("UTC", "Etc/UTC"):
            return "UTC"
        return get_timezone_location(self.zone, self.locale, return_city=True)

    def _local(self, at: Instant) -> datetime:
        return to_datetime(at).astimezone(self.zone)


def _spaces(text: str) -> str:
    """CLDR sets some times apart by spaces that old phones and terminals do not know."""
    return text.replace("\u202f", " ").replace("\xa0", " ")


def variables(notice: Notice, speech: Speech, now: Instant) -> dict[str, Any]:
    """Everything that a template may name. All of them are always there."""
    facts, booking = notice.facts, notice.booking
    until = facts.get("expires_at")
    quantity = facts.get("offered") or facts.get("quantity") or 1
    title = notice.pool.title or notice.pool.key
    return {
        "pool": title,
        "name": booking.party.name if booking is not None else "",
        "reference": facts.get("reference", ""),
        "quantity": quantity,
        "units": ", ".join(facts.get("units") or ()),
        "what": _what(notice, speech, quantity),
        "location": _location(notice),
        "price": _price(notice, speech, quantity),
        "position": facts.get("position"),
        "starts": speech.moment(notice.starts_at) if notice.starts_at is not None else "",
        "until": speech.moment(until) if until is not None else "",
        "until_short": speech.short_moment(until, now) if until is not None else "",
        "time_left": speech.length(until - now) if until is not None and until > now else "",
        "late": until is not None and until <= now,
        "state": facts.get("state", ""),
        "was": facts.get("was", ""),
        "still_waiting": bool(facts.get("still_waiting")),
        "waiting": bool(facts.get("waiting")),
        "why": facts.get("why", ""),
        "by_staff": is_staff(str(facts.get("by", ""))),
        "note": _note(facts, speech),
        "promotion": notice.pool.policy.promotion or "",
        "yours_once": _yours_once(notice, speech),
        "reason": facts.get("reason", ""),
        "link": notice.links.get("offer") or notice.links.get("booking", ""),
    }


def _what(notice: Notice, speech: Speech, quantity: int) -> str:
    """The units by name, or so many places; with the quota's name where there are several."""
    facts, language = notice.facts, speech.language
    labels = facts.get("units") or ([facts["unit"]] if facts.get("unit") else [])
    if labels:
        return ", ".join(labels)
    seats = word(language, "seats", quantity=quantity)
    quota = notice.pool.quota(facts.get("quota", ""))
    if quota is None or len(notice.pool.quotas) == 1:
        return seats
    return word(language, "seats_of", seats=seats, quota=quota.title or quota.key)


def _location(notice: Notice) -> str:
    location = notice.pool.attributes.get("location")
    return " ".join(location.split()) if isinstance(location, str) else ""


def _price(notice: Notice, speech: Speech, quantity: int) -> str:
    """What all of it costs: as was agreed, else as the pool has it."""
    total = total_of(_agreed(notice), quantity)
    return "" if total is None else _spaces(speech.price(total))


def _yours_once(notice: Notice, speech: Speech) -> str:
    """What makes final what is held, where staff do; empty where its reader does, or staff have done so."""
    price = _agreed(notice)
    if notice.booking is not None and notice.booking.confirmed_at is not None:
        return ""
    if not confirmed_by_staff(notice.pool.policy.confirm_by, price):
        return ""
    return word(speech.language, "once_paid" if price is not None and price.amount else "once_confirmed")


def _agreed(notice: Notice) -> Price | None:
    of_pool = notice.pool.price
    return notice.booking.agreed_price(of_pool) if notice.booking is not None else of_pool


def _note(facts: Mapping[str, Any], speech: Speech) -> str:
    """Why an opening was handed back, which the rules note in English, in the language of staff."""
    note = str(facts.get("note", ""))
    if (found := _TRIES.match(note)) is not None:
        return word(speech.language, "offered_in_vain", tries=int(found[1]))
    if note.startswith("nobody in line"):
        return word(speech.language, "nobody_can")
    return word(speech.language, "too_late") if note.startswith("too late") else note
