"""The desk: opens the database, asks the library, and answers on the terminal.

Exit codes: 0 yes; 1 refused; 2 asked wrongly; 3 the database cannot be used.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import typer

from fairhold.cli.hints import next_step
from fairhold.cli.options import heard
from fairhold.cli.words import clean, listed, name_of

if TYPE_CHECKING:
    from fairhold.core.refusals import Refusal
    from fairhold.library import Fairhold

REFUSED: Final = 1
WRONG: Final = 2
UNAVAILABLE: Final = 3
_NAMED_MAX: Final = 10
# Refusals that are about other bookings than the one that was asked for.
_NAMING: Final = ("already_holding", "already_waiting", "unit_taken", "would_demote")

T = TypeVar("T")
Ask = Callable[["Fairhold"], Awaitable[Any]]
Tell = Callable[["Fairhold", Any], Awaitable[str]]


def serve(database: str | None, as_json: bool, ask: Ask, tell: Tell, *, create: bool = False) -> None:
    """Ask the library, and print its answer: as JSON, or in words."""

    async def work(hf: Fairhold) -> tuple[str, Refusal | None]:
        answer = await ask(hf)
        no = _no(answer)
        if as_json:
            return "" if answer is no else encoded(answer), no
        said = "" if answer is no else await tell(hf, answer)
        return said, no and await _naming(hf, no)

    said, no = run(database, work, create=create)
    say(said)
    if no is not None and said and as_json:
        raise typer.Exit(REFUSED)
    if no is not None:
        refuse(no, as_json)


def _no(answer: object) -> Refusal | None:
    """The refusal that this is, or that a dry run says there would be."""
    from fairhold.core.refusals import Refusal
    from fairhold.shapes import Outcome

    if isinstance(answer, Refusal):
        return answer
    said = answer.answer if isinstance(answer, Outcome) else None
    return Refusal(said["refused"], said["sentence"], said.get("field"), said["facts"]) if said else None


async def _naming(hf: Fairhold, refusal: Refusal) -> Refusal:
    """The refusal with the bookings it speaks of named in its sentence."""
    from dataclasses import replace

    from fairhold.shapes import Booking

    if refusal.code not in _NAMING and "bookings" not in refusal.facts:
        return refusal
    ids = [refusal.facts["booking"]] if "booking" in refusal.facts else refusal.facts.get("bookings", [])
    found = [await hf.booking(name) for name in ids[:_NAMED_MAX]]
    named = [f"{name_of(b.party)} ({b.reference})" for b in found if isinstance(b, Booking)]
    if not named:
        return refusal
    more = refusal.facts.get("count", len(named)) - len(named)
    named += [f"{more} more"] if more > 0 else []
    return replace(refusal, sentence=f"{refusal.sentence.rstrip('.')}: {listed(named)}.")


def run(database: str | None, work: Callable[[Fairhold], Awaitable[T]], *, create: bool = False) -> T:
    """Open the database and do the work in it. Only what may create one does so."""
    import asyncio

    from fairhold.config import database_url
    from fairhold.errors import ExtraMissing, FairholdError, SettingsWrong
    from fairhold.library import Fairhold

    async def opened(url: str) -> T:
        async with Fairhold.open(url, ticker=False, migrate=create) as hf:
            return await work(hf)

    try:
        url = database_url(database)
        if not create:
            must_exist(url)
        return asyncio.run(opened(url))
    except (ExtraMissing, SettingsWrong) as error:
        fail(str(error), WRONG)
    except FairholdError as error:
        fail(str(error), UNAVAILABLE)


def must_exist(url: str) -> None:
    from fairhold.store.sqlite.store import path_of

    if url.startswith("sqlite:///") and not Path(path_of(url)).exists():
        made = "fairhold pool create makes it with its first pool, fairhold migrate makes it empty"
        fail(f"there is no database {path_of(url)} yet: {made}", UNAVAILABLE)


def encoded(answer: object) -> str:
    import msgspec

    return msgspec.json.format(msgspec.json.encode(answer), indent=2).decode()


def refuse(refusal: Refusal, as_json: bool) -> NoReturn:
    """Say a well-formed no."""
    if as_json:
        facts: dict[str, Any] = {"code": refusal.code, "sentence": refusal.sentence}
        say(encoded({"refused": facts | {"field": refusal.field, "facts": refusal.facts}}))
    else:
        print(f"refused ({refusal.code}): {clean(refusal.sentence)}", file=sys.stderr)
        if hint := next_step(refusal, *heard()):
            print(f"  {hint}", file=sys.stderr)
    raise typer.Exit(REFUSED)


def fail(message: str, code: int) -> NoReturn:
    """Say in one line what went wrong."""
    print(f"fairhold: {clean(' '.join(message.split()))}", file=sys.stderr)
    raise typer.Exit(code)


def say(text: str) -> None:
    if text:
        print(text)
