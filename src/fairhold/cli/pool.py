"""Pools: make, look at, change, open and close them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fairhold.cli import desk, options, tell
from fairhold.cli.options import Database, DryRun, Json, Key, Pool, Staff, Why, examples
from fairhold.cli.overview import room_of
from fairhold.cli.words import style

if TYPE_CHECKING:
    from fairhold.core.refusals import Refusal
    from fairhold.library import Fairhold
    from fairhold.shapes import Outcome, PoolState

app = typer.Typer(
    callback=options.common,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Make pools, look at them, change them.",
    epilog=examples("fairhold pool create yoga --preset class_waitlist --size 12", "fairhold pool show yoga"),
)

Size = Annotated[
    str | None,
    typer.Option("--size", metavar="SEATS", help="So many seats, or unlimited, where there is one quota."),
]
Quotas = Annotated[
    list[str] | None,
    typer.Option("--quota", metavar="KEY=SEATS", help="A share of the pool, and its size. Repeatable."),
]
Title = Annotated[str | None, typer.Option("--title", metavar="TEXT", help="What people read.")]
OpenSize = Annotated[
    int | None,
    typer.Option("--open-size", min=0, metavar="SEATS", help="Room that every quota may overflow into."),
]
_NONE: Final = "none"
_AWAY: Final = f"; {_NONE} takes it away."
_OPENS: Final = "Nobody can book before: 2026-03-07T14:00Z"
NewOpensAt = Annotated[str | None, typer.Option("--opens-at", metavar="TIME", help=f"{_OPENS}.")]
OpensAt = Annotated[str | None, typer.Option("--opens-at", metavar="TIME", help=_OPENS + _AWAY)]
_CLOSES: Final = "Nobody can book after"
NewClosesAt = Annotated[str | None, typer.Option("--closes-at", metavar="TIME", help=f"{_CLOSES}.")]
ClosesAt = Annotated[str | None, typer.Option("--closes-at", metavar="TIME", help=_CLOSES + _AWAY)]
_STARTS: Final = "When it all begins"
NewStartsAt = Annotated[str | None, typer.Option("--starts-at", metavar="TIME", help=f"{_STARTS}.")]
StartsAt = Annotated[str | None, typer.Option("--starts-at", metavar="TIME", help=_STARTS + _AWAY)]
_ZONE: Final = "Where it is, such as Europe/Berlin. Times without an offset are meant there."
NewZone = Annotated[str | None, typer.Option("--time-zone", metavar="ZONE", help=f"{_ZONE}  [default: UTC]")]
TimeZone = Annotated[str | None, typer.Option("--time-zone", metavar="ZONE", help=_ZONE)]
_PRICE: Final = "Per seat, such as 150.00EUR"
NewPrice = Annotated[str | None, typer.Option("--price", metavar="PRICE", help=f"{_PRICE}.")]
Price = Annotated[str | None, typer.Option("--price", metavar="PRICE", help=_PRICE + _AWAY)]
Rules = Annotated[
    list[str] | None,
    typer.Option("--policy", metavar="FIELD=VALUE", help="A rule, such as offer_window=2h. Repeatable."),
]
Questions = Annotated[
    list[str] | None,
    typer.Option(
        "--question",
        metavar="JSON",
        help='Ask this of who signs up: {"key": "diet", "title": "Diet", "kind": "text", "required": false};'
        " kinds are text, choice (with choices), checkbox and number (with min, max). Repeatable.",
    ),
]
_PAGE: Final = "Whether people can sign up at /p/KEY."
_PAGE_UNSAID: Final = "[default: page, but for the preset checkout no-page]"
NewPage = Annotated[bool | None, typer.Option("--page/--no-page", help=f"{_PAGE}  {_PAGE_UNSAID}")]
Page = Annotated[bool | None, typer.Option("--page/--no-page", help=_PAGE)]


def register(parent: typer.Typer) -> None:
    parent.add_typer(app, name="pool")


@app.command(
    epilog=examples(
        "fairhold pool create yoga --preset class_waitlist --size 12",
        "fairhold pool create flight-7 --preset checkout --quota economy=100 --quota first=8",
        "fairhold pool create row-12 --preset checkout --units 12A,12B,12C --price 150.00EUR",
        "fairhold pool create tickets --preset checkout --size 80 --page --policy confirm_by=party",
        "fairhold pool create gala --preset event_signup --quota members=50 --quota guests=10 --open-size 20",
        "fairhold pool create salon --preset last_minute --units '' --policy offer_window=5m",
        "fairhold pool create algebra --file algebra.json",
    )
)
def create(
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="Its name in commands: small letters, digits, - and _.")
    ],
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            metavar="NAME",
            help="Rules to begin with: checkout, event_signup, class_waitlist, course_section, last_minute."
            "  [default: checkout]",
        ),
    ] = None,
    size: Size = None,
    units: Annotated[
        str | None,
        typer.Option("--units", metavar="LABELS", help="These units: 12A,12B. Empty to add them later."),
    ] = None,
    quota: Quotas = None,
    policy: Rules = None,
    title: Title = None,
    open_size: OpenSize = None,
    opens_at: NewOpensAt = None,
    closes_at: NewClosesAt = None,
    starts_at: NewStartsAt = None,
    time_zone: NewZone = None,
    price: NewPrice = None,
    question: Questions = None,
    page: NewPage = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="More of it, as the JSON object that programs send."),
    ] = None,
    idempotency_key: Key = None,
    staff: Staff = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Make a pool. An empty database is set up first."""
    fields = _document(file) | _fields(title, open_size, opens_at, closes_at, starts_at, time_zone, price)
    fields |= _for_people(question, page)
    quotas = options.pairs(quota, "--quota", options.size)
    if sum(given is not None for given in (size, units)) + bool(quotas) > 1:
        raise options.bad("--size", "Say one of --size, --units and --quota.")
    if size is not None:
        quotas["main"] = options.size(size, "--size")
    if units is not None:
        quotas["main"] = options.labels([units])
    if quotas:
        fields["quotas"] = quotas
    if "quotas" not in fields:
        raise options.bad("--size", "A pool needs a --size, a --quota or --units.")
    fields["policy"] = fields.get("policy", {}) | options.pairs(policy, "--policy", options.plain)
    fields["preset"] = preset or fields.get("preset") or (None if fields["policy"] else "checkout")
    if (other := fields.pop("key", key)) != key:
        raise options.bad("--file", f"{file} is of the pool {other!r}.")
    fields = options.in_zone(fields, fields.get("time_zone") or "UTC")
    desk.serve(
        database,
        as_json,
        lambda hf: hf.create_pool(key, by=options.member(staff), idempotency_key=idempotency_key, **fields),
        _made,
        create=True,
    )


def _document(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise options.bad("--file", f"{file} cannot be read: {error}.") from None
    if not isinstance(found, dict):
        raise options.bad("--file", f"{file} must hold a JSON object.")
    return found


def _fields(
    title: str | None,
    open_size: int | None,
    opens_at: str | None,
    closes_at: str | None,
    starts_at: str | None,
    time_zone: str | None,
    price: str | None,
) -> dict[str, Any]:
    fields = {
        "title": title,
        "open_size": open_size,
        "opens_at": options.instant(opens_at, "--opens-at"),
        "closes_at": options.instant(closes_at, "--closes-at"),
        "starts_at": options.instant(starts_at, "--starts-at"),
        "time_zone": time_zone,
        "price": options.price(price),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _for_people(question: list[str] | None, page: bool | None) -> dict[str, Any]:
    """What those see who sign up by themselves."""
    fields: dict[str, Any] = {} if page is None else {"page": page}
    if question is not None:
        fields["questions"] = [options.mapping(text, "--question") for text in question]
    return fields


async def _made(hf: Fairhold, pool: PoolState) -> str:
    return f"Made {style(pool.key, 'bold')}: {room_of(pool)}."


@app.command(
    epilog=examples(
        "fairhold pool change yoga --size 14",
        "fairhold pool change yoga --size 8 --allow-demotion --dry-run",
        "fairhold pool change flight-7 --quota economy=90 --quota first=10",
        "fairhold pool change salon --policy offer_window=5m --why 'a busy Saturday'",
        "fairhold pool change gala --closes-at none",
        """fairhold pool change gala --question '{"key": "diet", "title": "What do you not eat?"}'""",
    )
)
def change(
    pool: Pool,
    size: Size = None,
    quota: Quotas = None,
    allow_demotion: Annotated[
        bool,
        typer.Option(
            "--allow-demotion", help="Where it gets too small, the latest to come go back to the line."
        ),
    ] = False,
    policy: Rules = None,
    title: Title = None,
    open_size: OpenSize = None,
    opens_at: OpensAt = None,
    closes_at: ClosesAt = None,
    starts_at: StartsAt = None,
    time_zone: TimeZone = None,
    price: Price = None,
    question: Questions = None,
    page: Page = None,
    why: Why = "",
    dry_run: DryRun = False,
    idempotency_key: Key = None,
    staff: Staff = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Change a pool. What is not named stays; more room goes to the line at once."""
    said = {"opens_at": opens_at, "closes_at": closes_at, "starts_at": starts_at, "price": price}
    kept = {name: None if text == _NONE else text for name, text in said.items()}
    fields = _fields(title, open_size, time_zone=time_zone, **kept)
    fields |= {name: None for name, text in said.items() if text == _NONE}
    fields |= _for_people(question, page)
    if rules := options.pairs(policy, "--policy", options.plain):
        fields["policy"] = rules
    if sizes := options.pairs(quota, "--quota", options.size):
        fields["sizes"] = sizes
    if size is not None:
        fields["size"] = options.size(size, "--size")
    if not fields:
        raise typer.BadParameter("Say what to change, such as --size 14.")
    if "size" in fields and "sizes" in fields:
        raise options.bad("--size", "Say --size where there is one quota, or --quota for each; not both.")
    fields |= {"allow_demotion": allow_demotion, **_asked(why, dry_run, idempotency_key, staff)}
    _change(pool, fields, database, as_json)


def _asked(why: str, dry_run: bool, key: str | None, staff: str | None) -> dict[str, Any]:
    return {"why": why, "dry_run": dry_run, "idempotency_key": key, "by": options.member(staff)}


def _change(pool: str, fields: dict[str, Any], database: str | None, as_json: bool) -> None:
    asked: dict[str, Any] = {}

    async def said(hf: Fairhold, answer: PoolState | Outcome) -> str:
        from fairhold.shapes import Outcome

        if isinstance(answer, Outcome):
            return await _foretold(hf, pool, answer, asked)
        line = f", {answer.waiting} in line" if answer.waiting else ""
        return f"{style(answer.key, 'bold')} is {answer.status}: {room_of(answer)}{line}."

    async def ask(hf: Fairhold) -> PoolState | Outcome | Refusal:
        zone = fields.get("time_zone") or await tell.zone_of(hf, pool)
        asked.update(options.in_zone(fields, zone))
        if "size" in asked:
            quotas = await _quotas_of(hf, pool)
            if len(quotas) > 1:
                raise options.bad("--size", f"{pool} has several quotas: say --quota {quotas[0]}=SEATS.")
            asked["sizes"] = dict.fromkeys(quotas, asked.pop("size"))
        return await hf.change_pool(pool, **asked)

    desk.serve(database, as_json, ask, said)


async def _foretold(hf: Fairhold, pool: str, it: Outcome, asked: dict[str, Any]) -> str:
    """What would happen; where it is refused for those who would lose their place, what that would be."""
    from fairhold.shapes import Outcome

    if it.answer is None or it.answer["refused"] != "would_demote":
        return await tell.outcome(hf, pool, it, dry_run=True)
    allowed = await hf.change_pool(pool, **{**asked, "allow_demotion": True})
    assert isinstance(allowed, Outcome)
    return f"With --allow-demotion\n{await tell.outcome(hf, pool, allowed, dry_run=True)}"


async def _quotas_of(hf: Fairhold, pool: str) -> list[str]:
    from fairhold.core.refusals import Refusal

    state = await hf.pool(pool)
    return [] if isinstance(state, Refusal) else [quota.key for quota in state.quotas]


def _status(name: str, status: str, promise: str) -> Callable[..., None]:
    def command(
        pool: Pool,
        why: Why = "",
        dry_run: DryRun = False,
        idempotency_key: Key = None,
        staff: Staff = None,
        database: Database = None,
        as_json: Json = False,
    ) -> None:
        fields = {"status": status, **_asked(why, dry_run, idempotency_key, staff)}
        _change(pool, fields, database, as_json)

    command.__doc__ = promise
    return app.command(
        name, epilog=examples(f"fairhold pool {name} yoga", f"fairhold pool {name} yoga --dry-run")
    )(command)


_status("open", "open", "Open a pool again. What is free goes to the line at once.")
_status(
    "pause",
    "paused",
    "Pause a pool. Only staff can book, nothing is offered by itself; everyone keeps their place.",
)
_status("close", "closed", "Close a pool. The line ends and each is told; who has a seat keeps it.")
_status("cancel", "cancelled", "Cancel a pool. Every booking ends, and each is told.")
