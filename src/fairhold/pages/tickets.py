"""What one takes away from a page: the entry for the calendar, and the code with the reference."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from io import BytesIO

from fairhold.clock import from_datetime, to_datetime
from fairhold.core.model import CONFIRMED
from fairhold.messages.attachments import entry
from fairhold.messages.notice import Key, Notice, links_of
from fairhold.pages.answers import Answer, guarded
from fairhold.pages.calls import Call, gone
from fairhold.reads import Reads
from fairhold.shapes import Booking
from fairhold.store import rows


async def calendar(call: Call) -> Answer:
    """The booking as a file for a calendar; the same entry that the confirmation brings by e-mail."""
    pool_id, number = await call.booking_key()
    async with call.hf.reads.at_one_moment() as reads:
        found = await reads.reader().each("bookings_by_number", [(pool_id, number)])
        if not found:
            raise gone()
        booking = rows.booking_of(found[0])
        starts_at = await starts(reads, pool_id, booking.units)
        seq, pool = await reads.log_seq(pool_id), (await reads.view(pool_id)).pool
    if starts_at is None or booking.state != CONFIRMED:
        raise gone()
    notice = Notice(
        Key(pool_id, seq, 0),
        "confirmed",
        "party",
        pool,
        booking,
        {"reference": booking.reference},
        booking.updated_at,
        from_datetime(starts_at),
        links_of(pool_id, booking, {}, call.settings.base_url, call.hf.secret),
    )
    file = entry(notice, call.settings.base_url)
    headers = (
        *guarded(private=True),
        (b"content-disposition", f'attachment; filename="{booking.reference}.ics"'.encode()),
    )
    return Answer(200, file.content, b"text/calendar; charset=utf-8", headers)


async def starts(reads: Reads, pool_id: int, units: Sequence[str]) -> datetime | None:
    """When what is booked or offered begins: the first of its units, or the pool."""
    view = await reads.view(pool_id, units=bool(units))
    found = [view.units[label].starts_at for label in units if label in view.units]
    first = min((at for at in found if at is not None), default=view.pool.starts_at)
    return None if first is None else to_datetime(first)


async def code(call: Call) -> Answer:
    """The reference as a picture that a machine can read."""
    import segno

    pool_id, number = await call.booking_key()
    booking = await call.hf.reads.booking(pool_id, number)
    if not isinstance(booking, Booking):
        raise gone()
    image = BytesIO()
    made = segno.make(booking.reference, error="m", micro=False)
    made.save(image, kind="svg", border=2, xmldecl=False, svgns=True, dark="#15201d", light="#ffffff")
    return Answer(200, image.getvalue(), b"image/svg+xml", guarded(private=True))
