"""The options that commands share, and how what people type becomes values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from datetime import datetime
from typing import Annotated, Any, Final

import typer

from fairhold.cli.words import decimals_of

DATABASE_HELP: Final = (
    "Address of the database: sqlite:///file.db or postgresql://…"
    "  [default: what FAIRHOLD_DATABASE_URL says, else sqlite:///fairhold.db]"
)


# The command that is being carried out; every command passes by here, for each can be asked for JSON.
_heard: ContextVar[typer.Context | None] = ContextVar("heard", default=None)


def heard() -> tuple[str, Mapping[str, Any]]:
    """The command as it was called, and what was said to it."""
    ctx = _heard.get()
    return ("fairhold", {}) if ctx is None else (ctx.command_path, ctx.params)


def _said_before(ctx: typer.Context, param: typer.CallbackParam, value: Any) -> Any:
    """The option as it is said here, or as it was said before the command."""
    _heard.set(ctx)
    while not value and ctx.parent is not None:
        ctx = ctx.parent  # type: ignore[assignment]
        value = ctx.params.get(param.name or "") or value
    return value


Database = Annotated[
    str | None,
    typer.Option("--database", metavar="URL", callback=_said_before, help=DATABASE_HELP),
]
Json = Annotated[bool, typer.Option("--json", callback=_said_before, help="Answer with JSON, for programs.")]


def common(database: Database = None, as_json: Json = False) -> None:
    """What a group of commands takes before the command, as each command does behind it."""


Staff = Annotated[
    str | None,
    typer.Option("--staff", metavar="NAME", help="Act as this member of staff; the log keeps the name."),
]
By = Annotated[
    str | None,
    typer.Option(
        "--staff", metavar="NAME", help="The member of staff who does it; the name is kept with it."
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would happen and who would be told; change nothing.")
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=1000, metavar="NUMBER", help="So many at most.")]
Why = Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason, for the log.")]
Pool = Annotated[str, typer.Argument(metavar="POOL", help="The pool's key or id.")]
Opening = Annotated[
    int | None,
    typer.Option("--opening", metavar="NUMBER", help="Give this handed-back opening (see needs-you)."),
]
Booking = Annotated[
    str, typer.Argument(metavar="BOOKING", help="The booking's reference (K7PM2X), id or edit token.")
]
Key = Annotated[
    str | None,
    typer.Option(
        "--idempotency-key",
        metavar="KEY",
        help="Asked twice with the same key, it is done once and answered twice.",
    ),
]


# What the fields with times are called on the command line.
_OPTIONS: Final = {
    "opens_at": "--opens-at",
    "closes_at": "--closes-at",
    "starts_at": "--starts-at",
    "from_at": "--from",
    "until_at": "--until",
}


def examples(*lines: str) -> str:
    """An epilog of examples that keeps its lines."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def person(staff: str | None) -> str:
    """Who asks, where it is usually the person concerned."""
    return f"staff:{staff}" if staff else "party"


def member(staff: str | None) -> str:
    """Who asks, where only staff may."""
    return f"staff:{staff}" if staff else "staff"


def bad(option: str, message: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint=option)


def instant(text: str | None, option: str) -> datetime | None:
    """2026-03-07T14:00Z; or without an offset, to be read in the pool's time zone (see `in_zone`)."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise bad(option, f"{text!r} is no ISO 8601 date and time, such as 2026-03-07T14:00Z.") from None


def in_zone(fields: Mapping[str, Any], zone: str) -> dict[str, Any]:
    """The fields with times that came without an offset put into a time zone."""
    from fairhold.inputs import Bad, local_instant
    from fairhold.inputs import zone as known

    try:
        known(zone)
    except Bad as error:
        raise bad("--time-zone", str(error)) from None
    try:
        return {
            name: local_instant(value, zone, name) if isinstance(value, datetime) else value
            for name, value in fields.items()
        }
    except Bad as error:
        raise bad(_OPTIONS.get(error.refusal.field or "", "TIME"), str(error).partition(": ")[2]) from None


def seconds(text: str | None, option: str) -> int | None:
    """A length: 90s, 15m, 24h, 2d, 1h30m."""
    if text is None:
        return None
    from fairhold.core.policy import seconds_of

    found = seconds_of(text)
    if found is None:
        raise bad(option, f"{text!r} is no length, such as 90s, 15m, 24h or 1h30m.")
    return found


def price(text: str | None) -> dict[str, Any] | None:
    """150.00EUR, in minor units."""
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,12})(?:\.([0-9]+))? ?([A-Z]{3})", text)
    if not found:
        raise bad("--price", f"{text!r} is no price, such as 150.00EUR.")
    decimals = decimals_of(found[3])
    minor = found[2] or ""
    if len(minor) > decimals:
        raise bad("--price", f"{found[3]} has {decimals} decimals, and {text!r} has {len(minor)}.")
    return {"amount": int(found[1] + minor.ljust(decimals, "0")), "currency": found[3]}


def pairs(given: Sequence[str] | None, option: str, read: Callable[[str, str], Any]) -> dict[str, Any]:
    """KEY=VALUE, as often as it was said."""
    found: dict[str, Any] = {}
    for text in given or ():
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise bad(option, f"{text!r} should be KEY=VALUE.")
        if key in found:
            raise bad(option, f"{key!r} is there twice.")
        found[key] = read(value, option)
    return found


def size(text: str, option: str) -> int | None:
    """A number of seats, or unlimited."""
    if text == "unlimited":
        return None
    if "=" in text and option == "--size":
        raise bad(option, f"{text!r} names a quota: say --quota {text}.")
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise bad(option, f"{text!r} is no size: a whole number, or unlimited.")
    return int(text)


def plain(text: str, option: str) -> Any:
    """A value as JSON has it; what is no JSON is a text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None if text == "none" else text


def mapping(text: str | None, option: str) -> dict[str, Any] | None:
    """A JSON object."""
    if text is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise bad(option, f"This is no JSON: {error}.") from None
    if not isinstance(value, dict):
        raise bad(option, "This must be a JSON object.")
    return value


def labels(given: Iterable[str] | None) -> list[str]:
    """Labels said one by one or with commas: 12A,12B."""
    return [label.strip() for text in given or () for label in text.split(",") if label.strip()]
