"""How a page speaks: in which language, and how it says days, lengths of time and prices."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from babel.dates import format_date
from babel.units import format_unit

from fairhold.clock import from_datetime
from fairhold.core.model import Instant
from fairhold.messages.context import Speech
from fairhold.messages.languages import language_of, region_of

NAMES: Final = {"en": "English", "fi": "Suomi", "de": "Deutsch"}
_LOCALE: Final = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8}){0,3}")
_HOURS_MAX: Final = 48
_SECONDS_MAX: Final = 120


class PageSpeech(Speech):
    """The speech of a page: as that of messages, with more room for words."""

    __slots__ = ()

    @property
    def tag(self) -> str:
        """The locale as a party has it."""
        return str(self.locale).replace("_", "-")

    def day(self, at: datetime) -> str:
        """The day in full: it stands by itself, so no sentence bends it."""
        return format_date(self._local(from_datetime(at)), "full", locale=self.locale)

    def at(self, at: datetime) -> str:
        """The time of day."""
        return self.time(from_datetime(at))

    def when(self, at: datetime) -> str:
        """A day and a time, in a sentence."""
        return self.moment(from_datetime(at))

    def short(self, at: datetime, now: Instant) -> str:
        """The time, and the day only if it is not today."""
        return self.short_moment(from_datetime(at), now)

    def span(self, seconds: int) -> str:
        """A length as a rule has it: 24 hours, not 1 day; 10 minutes."""
        for unit, length, most in (("hour", 3600, _HOURS_MAX), ("day", 86_400, 10**6)):
            if seconds and seconds % length == 0 and seconds // length <= most:
                return format_unit(seconds // length, f"duration-{unit}", locale=self.locale)
        if seconds % 60 and seconds < 3600:
            minutes = seconds // 60 if seconds >= _SECONDS_MAX else 0
            parts = [("minute", minutes), ("second", seconds - 60 * minutes)]
            return " ".join(
                format_unit(count, f"duration-{unit}", locale=self.locale) for unit, count in parts if count
            )
        return self.length(seconds * 1000)

    def left(self, seconds: int) -> str:
        """Time left, as the script on the page goes on to count it."""
        if seconds >= 3600:
            return self.length(seconds * 1000)
        return f"{seconds // 60}:{seconds % 60:02}"


def preferred(asked: str, party: str, accept: str, otherwise: str) -> str:
    """The locale to speak in: what was asked for, else what the party speaks, else what the browser wants.

    Where that is a language alone, and the browser wants it as it is written somewhere, it is so written.
    """
    wanted = [it for it in _accepted(accept) if _LOCALE.fullmatch(it)]
    for locale in (asked, party, *wanted):
        if _LOCALE.fullmatch(locale) and (language := language_of(locale)) is not None:
            near = (it for it in wanted if language_of(it) == language and region_of(it))
            return (locale if region_of(locale) else next(near, locale)).replace("_", "-")
    return otherwise


def _accepted(header: str) -> list[str]:
    """The locales of an Accept-Language header, the dearest first."""
    found: list[tuple[float, str]] = []
    for part in header[:500].split(","):
        locale, _, weight = part.strip().partition(";q=")
        try:
            found.append((float(weight or 1), locale))
        except ValueError:
            continue
    found.sort(key=lambda it: -it[0])
    return [locale for weight, locale in found if weight > 0]
