"""The numbers of a pool: charts, each also as a table and as CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from babel.dates import format_skeleton

from fairhold.clock import from_datetime, to_text
from fairhold.console import charts, chooser
from fairhold.console.calls import Call
from fairhold.console.page import Page
from fairhold.http.operations import granted
from fairhold.http.problems import not_found
from fairhold.keeping import table
from fairhold.numbers import SPANS_MIN, TRIES_MAX, Numbers
from fairhold.pages.answers import Answer
from fairhold.pages.speech import PageSpeech
from fairhold.shapes import PoolState

HERE: Final = "/console/numbers"
PERIODS: Final = (7, 14, 30, 90, 365)
_CSV: Final = b"text/csv; charset=utf-8"

Rows = list[Sequence[object]]


async def look(call: Call) -> Answer:
    latest = await chooser.names(call)
    asked = call.query.get("pool") or next((it.id for it in latest), "")
    pool = granted(await call.hf.pool(asked)) if asked else None
    days = _days(call)
    shown: dict[str, Any] = {"numbers": None}
    speech = call.speech()
    if pool is not None:
        speech = call.speech(pool.time_zone)
        numbers = granted(await call.hf.numbers(pool.id, days=days))
        shown = _drawn(pool, numbers, speech)
    return await call.show(
        "numbers.html",
        "numbers",
        here=HERE,
        speech=speech,
        pools=chooser.options(latest, pool),
        pool=pool,
        days=days,
        periods=PERIODS,
        **shown,
    )


def _days(call: Call) -> int:
    asked = call.query.get("days", "")
    return int(asked) if asked in map(str, PERIODS) else 14


def _drawn(pool: PoolState, numbers: Numbers, speech: PageSpeech) -> dict[str, Any]:
    points = numbers.points
    answered = sum(numbers.outcomes[name] for name in ("claimed", "declined", "lapsed"))
    return {
        "numbers": numbers,
        "used": sum(quota.used for quota in pool.quotas),
        "accepted": round(100 * numbers.outcomes["claimed"] / answered) if answered else None,
        "median": "" if numbers.filled_median_s is None else _span(speech, numbers.filled_median_s),
        "fill": charts.curve([it.used for it in points], numbers.capacity),
        "line": charts.curve([it.waiting for it in points]),
        "times": [_day(speech, it.at) for it in (points[0], points[len(points) // 2], points[-1])],
        "outcomes": charts.bars(list(numbers.outcomes.values())),
        "spans": [speech.span(most * 60) for most in SPANS_MIN],
        "filled": charts.bars(numbers.filled_within),
        "tries": charts.bars(numbers.tries),
        "tries_max": TRIES_MAX,
        "hours": charts.bars([it.offers for it in numbers.hours], [it.unanswered for it in numbers.hours]),
        "fill_rows": [(_moment(speech, it.at), it.used) for it in points[::-1]],
        "line_rows": [(_moment(speech, it.at), it.waiting) for it in points[::-1]],
        "outcome_rows": lambda names: [(names[name], count) for name, count in numbers.outcomes.items()],
        "hour_rows": [(f"{it.hour}:00", it.offers, it.unanswered) for it in numbers.hours],
        "zip": zip,
        "moment": lambda at: _moment(speech, at),
    }


def _span(speech: PageSpeech, seconds: int) -> str:
    """In whole minutes from one on: nobody needs the seconds of hours."""
    return speech.span(seconds if seconds < 60 else seconds - seconds % 60)


def _day(speech: PageSpeech, at: datetime) -> str:
    return format_skeleton("MMMd", at.astimezone(speech.zone), locale=speech.locale)


def _moment(speech: PageSpeech, at: datetime) -> str:
    return f"{_day(speech, at)} {speech.at(at)}"


# The same as files.


def _over_time(numbers: Numbers) -> Rows:
    return [("at", "seats_taken", "in_line"), *((_at(it.at), it.used, it.waiting) for it in numbers.points)]


def _outcomes(numbers: Numbers) -> Rows:
    return [("outcome", "offers"), *numbers.outcomes.items()]


def _filled(numbers: Numbers) -> Rows:
    ends = [*map(str, SPANS_MIN), ""]
    return [("up_to_minutes", "freed_seats"), *zip(ends, numbers.filled_within, strict=True)]


def _tries(numbers: Numbers) -> Rows:
    return [("people_asked", "freed_seats"), *enumerate(numbers.tries, 1)]


def _hours(numbers: Numbers) -> Rows:
    return [("hour", "offers", "unanswered"), *((it.hour, it.offers, it.unanswered) for it in numbers.hours)]


def _at(at: datetime) -> str:
    return to_text(from_datetime(at))


FILES: Final[dict[str, Callable[[Numbers], Rows]]] = {
    "over-time": _over_time,
    "outcomes": _outcomes,
    "time-to-fill": _filled,
    "people-asked": _tries,
    "by-hour": _hours,
}


async def file(call: Call) -> Answer:
    name = call.path["name"].removesuffix(".csv")
    if name not in FILES or not call.path["name"].endswith(".csv"):
        raise not_found()
    pool = granted(await call.hf.pool(call.path["pool"]))
    rows = FILES[name](granted(await call.hf.numbers(pool.id, days=_days(call))))
    disposition = f'attachment; filename="{pool.key}-{name}.csv"'.encode()
    headers = ((b"content-disposition", disposition), (b"cache-control", b"no-store"))
    return Answer(200, table.written([str(head) for head in rows[0]], rows[1:]).encode(), _CSV, headers)


PAGES: Final = (
    Page(HERE, "console_numbers", look),
    Page(f"{HERE}/{{pool}}/{{name}}", "console_numbers_file", file),
)
