"""Units: the nameable pieces of a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairhold.cli import desk, options, tell
from fairhold.cli.narrate import names_in
from fairhold.cli.options import Database, Json, Key, Pool, Staff, examples
from fairhold.cli.words import clean, columns, count, listed

if TYPE_CHECKING:
    from fairhold.core.refusals import Refusal
    from fairhold.library import Fairhold
    from fairhold.shapes import PoolState

app = typer.Typer(
    callback=options.common,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Open and close units: seat 12A, or the chair at 2 pm.",
    epilog=examples("fairhold pool units add salon '2 pm' --starts-at 2026-03-07T14:00Z"),
)


def register(parent: typer.Typer) -> None:
    parent.add_typer(app, name="units")


@app.command(
    epilog=examples(
        "fairhold pool units add row-12 12D 12E",
        "fairhold pool units add salon '2 pm' --starts-at 2026-03-07T14:00Z --attribute service=colour",
    )
)
def add(
    pool: Pool,
    label: Annotated[list[str], typer.Argument(metavar="LABEL", help="What the units are called.")],
    quota: Annotated[
        str | None,
        typer.Option("--quota", metavar="QUOTA", help="The quota they are in, if there are several."),
    ] = None,
    starts_at: Annotated[
        str | None, typer.Option("--starts-at", metavar="TIME", help="When they start: 2026-03-07T14:00Z.")
    ] = None,
    attribute: Annotated[
        list[str] | None,
        typer.Option("--attribute", metavar="KEY=VALUE", help="What people may want them for. Repeatable."),
    ] = None,
    idempotency_key: Key = None,
    staff: Staff = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Open more units. They go to the line at once."""
    common: dict[str, Any] = {"attributes": options.pairs(attribute, "--attribute", options.plain)}
    if starts_at is not None:
        common["starts_at"] = options.instant(starts_at, "--starts-at")
    if quota is not None:
        common["quota"] = quota
    made = [{"label": name, **common} for name in label]

    async def said(hf: Fairhold, state: PoolState) -> str:
        free = sum(quota.room or 0 for quota in state.quotas if quota.by_units)
        live = f", {count(state.offers_live, 'offer')} live" if state.offers_live else ""
        return f"Opened {listed([clean(name) for name in label])} in {state.key}: {free} free{live}."

    async def ask(hf: Fairhold) -> PoolState | Refusal:
        zone = await tell.zone_of(hf, pool)
        opened = [options.in_zone(unit, zone) for unit in made]
        return await hf.add_units(pool, opened, by=options.member(staff), idempotency_key=idempotency_key)

    desk.serve(database, as_json, ask, said)


@app.command(epilog=examples("fairhold pool units close row-12 12D"))
def close(
    pool: Pool,
    label: Annotated[str, typer.Argument(metavar="LABEL", help="The unit.")],
    idempotency_key: Key = None,
    staff: Staff = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Take a free unit away."""
    asked: dict[str, Any] = {"by": options.member(staff), "idempotency_key": idempotency_key}

    async def said(hf: Fairhold, state: PoolState) -> str:
        return f"Closed {clean(label)} in {state.key}."

    desk.serve(database, as_json, lambda hf: hf.close_unit(pool, label, **asked), said)


@app.command("list", epilog=examples("fairhold pool units list row-12"))
def listing(pool: Pool, database: Database = None, as_json: Json = False) -> None:
    """List a pool's open units, and who has them."""

    async def ask(hf: Fairhold) -> list[dict[str, Any]] | Refusal:
        from fairhold import ids
        from fairhold.core.refusals import unknown
        from fairhold.shapes import optional_datetime

        pool_id = await hf.reads.pool_id(pool, hf.org)
        if pool_id is None:
            return unknown("pool", pool)
        units = (await hf.reads.view(pool_id, units=True)).units.values()
        return [
            {
                "label": unit.label,
                "quota": unit.quota,
                "starts_at": optional_datetime(unit.starts_at),
                "attributes": unit.attributes,
                "booking": None if unit.booking is None else ids.booking_text(pool_id, unit.booking),
            }
            for unit in sorted(units, key=lambda unit: unit.ordinal)
        ]

    async def said(hf: Fairhold, units: list[dict[str, Any]]) -> str:
        from fairhold import ids

        times = await tell.times_of(hf, pool)
        keys = [ids.booking_number(unit["booking"]) for unit in units if unit["booking"]]
        names = await names_in(hf, pool, [key[1] for key in keys if key])
        rows = [
            (
                clean(unit["label"]),
                clean(unit["quota"]) if len({other["quota"] for other in units}) > 1 else "",
                times.moment(unit["starts_at"]) if unit["starts_at"] else "",
                clean(" ".join(f"{name}={value}" for name, value in unit["attributes"].items())),
                names.get(unit["booking"], "free"),
            )
            for unit in units
        ]
        return columns(rows) if rows else "No units."

    desk.serve(database, as_json, ask, said)
