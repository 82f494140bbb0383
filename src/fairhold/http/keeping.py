"""Handing out and bringing in: CSV of a pool, all about one party, and forgetting them."""

from __future__ import annotations

from typing import Final

import msgspec

from fairhold import inputs
from fairhold.core.refusals import Refusal
from fairhold.http.operations import ADMINS, READERS, STAFFS, Call, Operation, Query, Told, granted
from fairhold.instants import in_utc
from fairhold.keeping.imports import TEXT_MAX, Imported
from fairhold.keeping.persons import PersonRecord
from fairhold.keeping_commands import Erasure

_CSV: Final = "text/csv; charset=utf-8"
_MARK: Final = b"\xef\xbb\xbf"


class CsvQuery(Query, frozen=True):
    """Whether to begin with a byte order mark, by which spreadsheets know UTF-8."""

    bom: bool = False


class ImportQuery(Query, frozen=True):
    """Whether to only say what would come of each row."""

    dry_run: bool = False


class EraseQuery(Query, frozen=True):
    """Whether to cancel first what still waits for an answer; whether to only count."""

    cancel: bool = False
    dry_run: bool = False


async def bookings_csv(call: Call) -> Told:
    return await _csv(call, "bookings")


async def line_csv(call: Call) -> Told:
    return await _csv(call, "line")


async def _csv(call: Call, what: str) -> Told:
    pool = call.path["pool"]
    text = granted(await call.hf.export_csv(pool, what))
    name = f"{pool}-{what}.csv" if inputs.KEY.fullmatch(pool) else f"{what}.csv"
    disposition = f'attachment; filename="{name}"'.encode()
    mark = _MARK if call.query.bom else b""
    return Told(mark + text.encode(), ((b"content-disposition", disposition),))


async def bring(call: Call) -> Imported | Refusal:
    return await call.hf.import_csv(
        call.path["pool"],
        call.body,
        dry_run=call.query.dry_run,
        by=call.by_staff,
        idempotency_key=call.key,
    )


async def person(call: Call) -> PersonRecord:
    record = granted(await call.hf.export_person(call.path["party"]))
    return msgspec.convert(in_utc(msgspec.to_builtins(record)), PersonRecord)


async def erase(call: Call) -> Erasure | Refusal:
    return await call.hf.erase_person(
        call.path["party"],
        cancel=call.query.cancel,
        dry_run=call.query.dry_run,
        by=call.by_staff,
        idempotency_key=call.key,
    )


OPERATIONS: Final = (
    Operation(
        "GET",
        "/v1/pools/{pool}/bookings.csv",
        "export_bookings",
        "All bookings of a pool as CSV, safe in a spreadsheet",
        bookings_csv,
        READERS,
        str,
        query=CsvQuery,
        codes=("unknown",),
        tag="keeping",
        media_type=_CSV,
    ),
    Operation(
        "GET",
        "/v1/pools/{pool}/line.csv",
        "export_line",
        "The line of a pool in order as CSV, safe in a spreadsheet",
        line_csv,
        READERS,
        str,
        query=CsvQuery,
        codes=("unknown",),
        tag="keeping",
        media_type=_CSV,
    ),
    Operation(
        "POST",
        "/v1/pools/{pool}/import",
        "import_csv",
        "Book for every row of a CSV, in order; a row that is refused keeps nobody else out",
        bring,
        STAFFS,
        Imported,
        query=ImportQuery,
        codes=("unknown",),
        tag="keeping",
        takes="text/csv",
        example="party_id,name,email\nann,Ann,ann@example.org\n",
        body_max=TEXT_MAX,
        idempotent=True,
    ),
    Operation(
        "GET",
        "/v1/parties/{party}",
        "export_party",
        "All about one party, over all pools: bookings, decisions, log and messages",
        person,
        STAFFS,
        PersonRecord,
        codes=("unknown",),
        tag="keeping",
    ),
    Operation(
        "DELETE",
        "/v1/parties/{party}",
        "erase_party",
        "Forget a party for good; counts stay, and the log's chain stays whole",
        erase,
        ADMINS,
        Erasure,
        query=EraseQuery,
        codes=("unknown", "not_possible"),
        tag="keeping",
        idempotent=True,
    ),
)
