"""Bookings: ask for seats, look, confirm, cancel, extend, decline; offer, move and put back, for staff."""

from __future__ import annotations

from typing import Any, Final

from msgspec import UNSET

from fairhold import ids, tokens
from fairhold.core.model import Party, Price
from fairhold.core.refusals import Refusal, unknown
from fairhold.http import examples
from fairhold.http.bodies_of_bookings import (
    BookingChanges,
    BookingsQuery,
    CancelBody,
    ExtendBody,
    MoveBody,
    NewBooking,
    OfferBody,
    PartyBody,
    Plain,
    PutBackBody,
    WantsBody,
)
from fairhold.http.operations import (
    ASKERS,
    EVERYONE,
    READERS,
    STAFFS,
    Body,
    Call,
    DryRun,
    Operation,
    Page,
    granted,
    page,
)
from fairhold.http.pools import wrong_cursor
from fairhold.http.problems import invalid, of_refusal
from fairhold.http.showing import shown, shown_bookings
from fairhold.keys import PUBLIC
from fairhold.reasons import for_party
from fairhold.shapes import Booking, Explanation, Outcome

# How many pools one page of bookings over all pools looks into.
_POOLS_MAX: Final = 200


async def create(call: Call) -> Booking | Outcome | Refusal:
    body: NewBooking = call.body
    for name in ("price", "opening", "confirmed"):
        if getattr(body, name):
            call.must_be_staff(name)
    if isinstance(body.party, PartyBody):
        # Rules look at these: by them one is let in, or comes before others. But not by when one sleeps.
        if body.party.tags:
            call.must_be_staff("party.tags")
        if set(body.party.attributes) - {"time_zone"}:
            call.must_be_staff("party.attributes")
    by = call.by_staff if body.opening is not None or body.confirmed else call.by()
    is_public = call.access.role == PUBLIC
    answer = await call.hf.book(
        call.path["pool"],
        _party(body.party),
        body.quantity if body.quantity is not UNSET else len(body.units) or 1,
        quota=body.quota,
        units=body.units,
        if_full=body.if_full,
        price=Price(body.price.amount, body.price.currency) if body.price else None,
        wants=_wants(body.wants),
        opening=body.opening,
        confirmed=body.confirmed,
        by=by,
        idempotency_key=call.key,
        source=call.service.source_of(call.hf, call.address) if is_public else None,
        door=call.door,
    )
    return shown(answer, call, made=True)


def _party(party: PartyBody | str) -> Party:
    if isinstance(party, str):
        return Party(party)
    return Party(party.id, party.name, party.contacts, tuple(party.tags), party.attributes, party.locale)


def _wants(wants: WantsBody | None) -> dict[str, Any] | None:
    if wants is None:
        return None
    return {"attributes": wants.attributes, "from_at": wants.from_at, "until_at": wants.until_at}


async def every(call: Call) -> Page[Booking]:
    """Of one pool, or of all of them, pool by pool in the order of their ids; or what a search finds."""
    limit, query = call.limit(), call.query
    if query.search is not UNSET:
        return await _found(call, limit)
    state, party = query.state or None, query.party or None
    named = ids.booking_number(query.cursor) if query.cursor else None
    if query.cursor and named is None:
        raise wrong_cursor()
    if query.pool is not UNSET:
        after = named[1] if named else 0
        found = granted(
            await call.hf.bookings(query.pool, state=state, party=party, after=after, limit=limit + 1)
        )
        listed = page(found, limit, lambda booking: booking.id)
    else:
        listed = await _everywhere(call, named, state, party, limit)
    listed.items = shown_bookings(listed.items, call)
    return listed


async def _found(call: Call, limit: int) -> Page[Booking]:
    """What fits best is first, and there is no next page: who finds too much says more."""
    query = call.query
    for name in ("party", "state", "cursor"):
        if getattr(query, name):
            raise invalid(name, f"A search goes with pool and limit, not with {name}.")
    found = await call.hf.find(query.search, pool=query.pool or None, limit=limit)
    if isinstance(found, Refusal) and found.field == "text":
        raise invalid("search", found.sentence.replace("text", "search", 1))
    return Page(shown_bookings(granted(found), call))


async def _everywhere(
    call: Call, named: tuple[int, int] | None, state: str | None, party: str | None, limit: int
) -> Page[Booking]:
    """A page may be short, even empty, and still have a next one."""
    reads, found = call.hf.reads, list[Booking]()
    pool_id, after = named or (-1, 0)
    # The pool of the cursor first, as far as it was not shown yet.
    if named is not None and await reads.pool_id(ids.pool_text(pool_id), call.access.org) is not None:
        found += await reads.bookings(pool_id, state, party, after, limit + 1)
    numbers = after
    for _ in range(_POOLS_MAX):
        if len(found) > limit:
            break
        following = await call.hf.store.reader().rows("read_pools", call.access.org, pool_id, 1)
        if not following:
            return Page(found)
        pool_id, numbers = following[0][0], following[0][6]
        found += await reads.bookings(pool_id, state, party, 0, limit + 1 - len(found))
    if len(found) > limit:
        return page(found, limit, lambda booking: booking.id)
    return Page(found, ids.booking_text(pool_id, max(1, numbers)))


async def one(call: Call) -> Booking | Refusal:
    return shown(await call.hf.booking(_named(call)), call)


def _named(call: Call) -> str:
    """The booking of the path: by id, reference or edit token; for public keys by edit token alone."""
    name = call.path["booking"]
    if call.access.role == PUBLIC and tokens.booking_of_edit_token(call.hf.secret, name) is None:
        raise of_refusal(unknown("booking", name))
    return name


async def change(call: Call) -> Booking | Refusal:
    body: BookingChanges = call.body
    if body.told_by_staff is not None:
        call.must_be_staff("told_by_staff")
    answer = await call.hf.change_booking(
        _named(call),
        name=body.name,
        contacts=body.contacts,
        locale=body.locale,
        answers=body.answers,
        told_by_staff=body.told_by_staff,
        by=call.by(),
        idempotency_key=call.key,
    )
    return shown(answer, call)


async def confirm(call: Call) -> Booking | Refusal:
    name, by = _named(call), call.by()
    return shown(await call.hf.confirm(name, by=by, idempotency_key=call.key, door=call.door), call)


async def cancel(call: Call) -> Booking | Refusal:
    name, why = _named(call), call.body.why
    return shown(await call.hf.cancel(name, why=why, by=call.by(), idempotency_key=call.key), call)


async def extend(call: Call) -> Booking | Refusal:
    window_s: int | None = call.body.window_s
    answer = await call.hf.extend(_named(call), window_s, by=call.by(), idempotency_key=call.key)
    return shown(answer, call)


async def decline(call: Call) -> Booking | Refusal:
    answer = await call.hf.decline(_named(call), by=call.by(), idempotency_key=call.key)
    return shown(answer, call)


async def offer(call: Call) -> Booking | Refusal:
    answer = await call.hf.offer(
        call.path["booking"],
        why=call.body.why,
        opening=call.body.opening,
        by=call.by_staff,
        idempotency_key=call.key,
    )
    return shown(answer, call)


async def move(call: Call) -> Booking | Refusal:
    body: MoveBody = call.body
    if (body.to is UNSET) == (body.after is None):
        return Refusal("invalid", "Say where to: to (front or back), or after (another booking).", "to")
    answer = await call.hf.move(
        call.path["booking"],
        "front" if body.to is UNSET else body.to,
        after=body.after,
        why=body.why,
        by=call.by_staff,
        idempotency_key=call.key,
    )
    return shown(answer, call)


async def put_back(call: Call) -> Booking | Refusal:
    name, why = call.path["booking"], call.body.why
    return shown(await call.hf.put_back(name, why=why, by=call.by_staff, idempotency_key=call.key), call)


async def explain(call: Call) -> Page[Explanation]:
    steps = granted(await call.hf.explain(_named(call)))
    return Page([for_party(step) for step in steps] if call.access.role == PUBLIC else steps)


_BOOKING: Final = "/v1/bookings/{booking}"


def _act(name: str, summary: str, handle: Any, body: type[Body], *codes: str, **more: Any) -> Operation:
    """A command about a booking."""
    return Operation(
        "POST",
        f"{_BOOKING}/{name}",
        f"{name.replace('-', '_')}_booking",
        summary,
        handle,
        more.pop("roles", ASKERS),
        Booking,
        body=body,
        query=DryRun,
        codes=("unknown", "not_possible", *codes),
        tag="bookings",
        idempotent=True,
        **more,
    )


OPERATIONS: Final = (
    Operation(
        "POST",
        "/v1/pools/{pool}/bookings",
        "book",
        "Ask for seats: held when there is room and nobody waits for it, else a place in line",
        create,
        ASKERS,
        Booking,
        body=NewBooking,
        query=DryRun,
        status=201,
        codes=(
            "invalid",
            "unknown",
            "not_open_yet",
            "pool_closed",
            "pool_paused",
            "not_eligible",
            "not_enough_room",
            "unit_taken",
            "already_holding",
            "already_waiting",
            "not_possible",
            "too_late",
        ),
        tag="bookings",
        example=examples.BOOKING,
        idempotent=True,
    ),
    Operation(
        "GET",
        "/v1/bookings",
        "list_bookings",
        "List or search bookings, of one pool or of all; a page may be short and still have a next one",
        every,
        READERS,
        Page[Booking],
        query=BookingsQuery,
        codes=("unknown", "invalid"),
        tag="bookings",
    ),
    Operation(
        "GET",
        _BOOKING,
        "get_booking",
        "A booking, by its id, reference or edit token; public keys need the edit token",
        one,
        EVERYONE,
        Booking,
        codes=("unknown",),
        tag="bookings",
    ),
    Operation(
        "GET",
        f"{_BOOKING}/explain",
        "explain",
        "Why a booking is where it is: every decision about it, with its reason",
        explain,
        EVERYONE,
        Page[Explanation],
        codes=("unknown",),
        tag="bookings",
    ),
    Operation(
        "PATCH",
        _BOOKING,
        "change_booking",
        "Change the name, contacts, locale or answers of a booking",
        change,
        ASKERS,
        Booking,
        body=BookingChanges,
        query=DryRun,
        codes=("invalid", "unknown", "not_possible"),
        tag="bookings",
        example={"contacts": {"email": "ann@example.org"}, "answers": {"diet": "vegan"}},
        idempotent=True,
    ),
    _act(
        "confirm",
        "Make a held booking final; where staff confirm, with a key of theirs",
        confirm,
        Plain,
        "hold_expired",
        "not_yours_to_confirm",
    ),
    _act("cancel", "Give a booking back, or leave the line", cancel, CancelBody),
    _act("extend", "Give a hold more time", extend, ExtendBody, "hold_expired", "hold_lifetime_used_up"),
    _act("decline", "Say no to the live offer of a booking", decline, Plain, "offer_expired"),
    _act(
        "offer",
        "Offer free room, or an opening that was handed back, to a waiting booking now, out of turn",
        offer,
        OfferBody,
        "not_enough_room",
        "too_late",
        roles=STAFFS,
    ),
    _act(
        "move",
        "Move a waiting booking to the front, the back, or after another",
        move,
        MoveBody,
        "invalid",
        roles=STAFFS,
        example={"to": "front", "why": "called in"},
    ),
    _act(
        "put-back",
        "Undo the end of a booking: it gets its seats again if they are free, or waits where it did",
        put_back,
        PutBackBody,
        "pool_closed",
        "already_waiting",
        "already_holding",
        "unit_taken",
        "not_enough_room",
        roles=STAFFS,
        example={"why": "cancelled by mistake"},
    ),
)
