"""Bookings to and from files: CSV that is safe to open in a spreadsheet."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairhold.cli import desk, options
from fairhold.cli.options import Database, Json, Key, Pool, Staff, examples
from fairhold.cli.words import clean, columns, count, style

if TYPE_CHECKING:
    from fairhold.keeping.imports import Imported
    from fairhold.library import Fairhold


def register(app: typer.Typer) -> None:
    app.command(
        epilog=examples("fairhold export yoga > yoga.csv", "fairhold export yoga --line --file line.csv")
    )(export)
    app.command(
        "import",
        epilog=examples(
            "fairhold import yoga people.csv --dry-run",
            "fairhold import yoga people.csv --staff Olga --idempotency-key spring",
        ),
    )(bring)


def export(
    pool: Pool,
    line: Annotated[bool, typer.Option("--line", help="Only who waits, in order.")] = False,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Write it here and not on the terminal.")
    ] = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Write a pool's bookings, or its line, as CSV.

    What a spreadsheet would take for a formula gets an apostrophe in front.
    """

    async def said(hf: Fairhold, text: str) -> str:
        if file is None:
            return text.rstrip("\r\n").replace("\r\n", "\n")
        try:
            file.write_text(text, encoding="utf-8-sig", newline="")
        except OSError as error:
            raise options.bad("--file", f"{file} cannot be written: {error}.") from None
        return f"Wrote {file}."

    async def ask(hf: Fairhold) -> Any:
        text = await hf.export_csv(pool, "line" if line else "bookings")
        return _records(text) if as_json and isinstance(text, str) else text

    desk.serve(database, as_json, ask, said)


def _records(text: str) -> list[dict[str, str]]:
    """The rows of a CSV as objects."""
    from fairhold.keeping import table

    (_, heads), *rows = table.read(text)
    return [dict(zip(heads, cells, strict=True)) for _, cells in rows]


def bring(
    pool: Pool,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The CSV, with a row of headings; - reads what is piped in.")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would come of each row, asked alone; change nothing.")
    ] = False,
    idempotency_key: Key = None,
    staff: Staff = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Book for every row of a CSV, in order.

    The column party_id must be there; name, email, phone, contacts, tags, attributes, locale, quota,
    quantity, units, if_full and confirmed may be. A row that is refused keeps nobody else out, and is told
    by its line; the exit code is 1 then.
    """
    text = _text(file)
    asked: dict[str, Any] = {"by": options.member(staff), "idempotency_key": idempotency_key}
    failed = False

    async def ask(hf: Fairhold) -> Any:
        from fairhold.keeping.imports import Imported

        nonlocal failed
        answer = await hf.import_csv(pool, text, dry_run=dry_run, **asked)
        failed = isinstance(answer, Imported) and bool(answer.errors)
        return answer

    desk.serve(database, as_json, ask, _brought)
    if failed:
        raise typer.Exit(desk.REFUSED)


def _text(file: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise options.bad("FILE", f"{file} cannot be read: {error}.") from None
    except UnicodeDecodeError:
        raise options.bad("FILE", f"{file} is not in UTF-8: save it as CSV UTF-8.") from None


async def _brought(hf: Fairhold, it: Imported) -> str:
    states = [done.state for done in it.done]
    named = [f"{states.count(state):,} {state}" for state in dict.fromkeys(states)]
    would = " would come in" if it.dry_run else ""
    head = f"{count(it.rows, 'row')}{would}: {', '.join(named) or 'nobody booked'}"
    head += f"; {len(it.errors):,} refused." if it.errors else "."
    wrong = [
        (f"line {error.row}", clean(error.party), style(f"{error.code}: {clean(error.sentence)}", "red"))
        for error in it.errors
    ]
    return "\n".join([*([columns(wrong)] if wrong else []), head])
