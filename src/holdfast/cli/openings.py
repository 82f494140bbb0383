"""Openings that nobody took: what needs a decision of staff, and the decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.cli import desk, options, tell
from holdfast.cli.options import Database, Json, Key, Pool, Staff, examples
from holdfast.cli.words import clean, columns, count

if TYPE_CHECKING:
    from holdfast.core.refusals import Refusal
    from holdfast.library import Holdfast
    from holdfast.shapes import PoolState

_DONE = {
    "again": "is offered to the line again",
    "free": "is free for whoever comes",
    "close": "is closed",
}


def register(app: typer.Typer) -> None:
    app.command("needs-you", epilog=examples("holdfast needs-you", "holdfast needs-you salon --json"))(
        needs_you
    )
    app.command(
        epilog=examples("holdfast resolve salon 3 again", "holdfast resolve salon 3 close --staff Olga")
    )(resolve)


def needs_you(
    pool: Annotated[
        str | None, typer.Argument(metavar="POOL", help="The pool's key or id; all if not said.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also the openings that are still being offered.")
    ] = False,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """List what nobody took, for staff to decide."""

    async def ask(hf: Holdfast) -> list[dict[str, Any]] | Refusal:
        from msgspec.structs import asdict

        from holdfast.core.refusals import Refusal

        keys = [pool] if pool is not None else [state.key for state in await tell.all_pools(hf)]
        found: list[dict[str, Any]] = []
        for key in keys:
            openings = await hf.openings(key)
            if isinstance(openings, Refusal):
                return openings
            found += [{"pool": key, **asdict(it)} for it in openings if every or it.state == "handed_back"]
        return found

    async def said(hf: Holdfast, openings: list[dict[str, Any]]) -> str:
        rows = []
        for it in openings:
            times = await tell.times_of(hf, it["pool"])
            what = (
                clean(it["unit"])
                if it["unit"]
                else f"{count(it['quantity'], 'seat')} of {clean(it['quota'])}"
            )
            since = times.moment(it["opened_at"], zone=False)
            state = it["state"].replace("_", " ") if every else ""
            note = it["note"] or count(it["tries"], "offer")
            rows.append((it["pool"], it["number"], what, state, f"free since {since}", clean(note)))
        if not rows:
            return "Nothing needs you."
        table = columns(rows, ("pool", "opening", "what", "state", "", ""))
        return table + "\n\nDecide with: holdfast resolve POOL OPENING again|free|close"

    desk.serve(database, as_json, ask, said)


def resolve(
    pool: Pool,
    opening: Annotated[int, typer.Argument(metavar="OPENING", help="Its number, from needs-you.")],
    action: Annotated[
        str,
        typer.Argument(
            metavar="again|free|close", help="Offer it again, leave it to whoever comes, or close it."
        ),
    ],
    idempotency_key: Key = None,
    staff: Staff = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Decide on a handed-back opening. To give it to someone: holdfast book POOL PARTY --opening OPENING."""
    if action not in _DONE:
        raise options.bad("again|free|close", f"{action!r} is none of again, free and close.")

    async def said(hf: Holdfast, state: PoolState) -> str:
        return f"Opening {opening} of {state.key} {_DONE[action]}."

    asked: dict[str, Any] = {"by": options.member(staff), "idempotency_key": idempotency_key}
    desk.serve(database, as_json, lambda hf: hf.resolve(pool, opening, action, **asked), said)
