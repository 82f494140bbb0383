"""The usual designs as services, in the same framework and on the same server as ours.

`ceiling` takes the same body, checks it against the same types and gives an answer of the same size, without
any database: what the framework itself costs. `for_update` and `recomputing` are the baselines behind it.
"""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bench.baselines.database import open_postgres, open_sqlite
from bench.baselines.for_update_postgres import open_for_update
from bench.baselines.one_transaction_sqlite import open_one_transaction
from bench.baselines.recomputing import Recomputing
from bench.engine import open_engine
from fairhold import granted
from fairhold.http.bodies_of_bookings import NewBooking
from fairhold.http.serve import collect_less_often, run_fast
from fairhold.shapes import Booking

Book = Callable[[str, str], Awaitable[object]]
_decoder = msgspec.json.Decoder(NewBooking)
_encoder = msgspec.json.Encoder()


async def _shown() -> Booking:
    """A booking as our own service shows it."""
    async with open_engine() as hf:
        granted(await hf.create_pool("event", preset="event_signup", quotas={"a": 1}))
        return granted(await hf.book("event", {"id": "ann", "name": "Ann"}, quota="a"))


def application(book: Book, shown: Booking) -> Starlette:
    """Booking by this design, and reading a booking without any."""

    async def create(request: Request) -> Response:
        body = _decoder.decode(await request.body())
        party = body.party if isinstance(body.party, str) else body.party.id
        await book(party, request.headers["idempotency-key"])
        return _json(shown, 201)

    async def read(request: Request) -> Response:
        return _json(shown if request.path_params["booking"] else None, 200)

    return Starlette(
        routes=[
            Route("/v1/pools/{pool}/bookings", create, methods=["POST"]),
            Route("/v1/bookings/{booking}", read),
        ]
    )


def _json(answer: Booking | None, status: int) -> Response:
    return Response(_encoder.encode(answer), status, media_type="application/json")


async def without_database(party: str, key: str) -> object:
    return key


async def main() -> None:
    arguments = argparse.ArgumentParser(prog="bench.http.usual", description=__doc__)
    arguments.add_argument("design", choices=["ceiling", "for_update", "recomputing"])
    arguments.add_argument("--port", type=int, required=True)
    arguments.add_argument("--database", default="", help="of PostgreSQL; without one it is SQLite")
    arguments.add_argument("--in-queue", type=int, default=0)
    chosen = arguments.parse_args()
    collect_less_often()
    async with AsyncExitStack() as stack:
        book: Book = without_database
        if chosen.design == "for_update":
            opened: Any = open_for_update(chosen.database) if chosen.database else open_one_transaction()
            book = (await stack.enter_async_context(opened)).hold
        elif chosen.design == "recomputing":
            opened = open_postgres(chosen.database, "recomputing") if chosen.database else open_sqlite()
            event = Recomputing(await stack.enter_async_context(opened))
            await event.prepare(chosen.in_queue)
            book = event.signup
        config = uvicorn.Config(
            application(book, await _shown()),
            port=chosen.port,
            lifespan="off",
            access_log=False,
            log_level="warning",
            ws="none",
            backlog=2048,
        )
        await uvicorn.Server(config).serve()


if __name__ == "__main__":
    run_fast(main())
