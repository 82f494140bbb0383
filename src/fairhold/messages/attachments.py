"""What goes with a confirmation: an entry for the calendar, and a code with the reference."""

from __future__ import annotations

from io import BytesIO
from urllib.parse import urlsplit

from fairhold import ids
from fairhold.clock import to_datetime
from fairhold.messages.letter import CODE_CID, has_seat
from fairhold.messages.notice import Notice
from fairhold.notifiers.base import Attachment


def attachments(notice: Notice, base_url: str) -> tuple[Attachment, ...]:
    """The calendar entry if the start is known, and the code; a cancellation takes the entry back."""
    found: list[Attachment] = []
    if has_seat(notice):
        found.append(code(str(notice.facts["reference"])))
    gone = notice.kind in ("cancelled", "demoted") and notice.facts.get("was", "confirmed") == "confirmed"
    if notice.starts_at is not None and (has_seat(notice) or gone):
        found.append(entry(notice, base_url, gone=gone))
    return tuple(found)


def code(reference: str) -> Attachment:
    """The reference as a picture that a machine can read."""
    import segno

    image = BytesIO()
    segno.make(reference, error="m", micro=False).save(image, kind="png", scale=8, border=3)
    return Attachment(f"{reference}.png", "image/png", image.getvalue(), cid=CODE_CID)


def entry(notice: Notice, base_url: str, *, gone: bool = False) -> Attachment:
    """The booking in a calendar; `gone` takes it out again."""
    from icalendar import Calendar, Event

    assert notice.booking is not None
    assert notice.starts_at is not None
    event, calendar = Event(), Calendar()
    name = ids.booking_text(notice.pool.id, notice.booking.number)
    # The same booking has the same entry, whatever is said of it later.
    event.add("uid", f"{name}@{urlsplit(base_url).hostname}")
    event.add("sequence", notice.key.seq)
    event.add("dtstamp", to_datetime(notice.created_at))
    event.add("dtstart", to_datetime(notice.starts_at))
    event.add("summary", notice.pool.title or notice.pool.key)
    event.add("status", "CANCELLED" if gone else "CONFIRMED")
    event.add(
        "description", f"{notice.facts.get('reference', '')}\n{notice.links.get('booking', '')}".strip()
    )
    if isinstance(place := notice.pool.attributes.get("location"), str):
        event.add("location", place)
    calendar.add("prodid", "-//Fairhold//EN")
    calendar.add("version", "2.0")
    calendar.add("method", "CANCEL" if gone else "PUBLISH")
    calendar.add_component(event)
    return Attachment("booking.ics", "text/calendar", calendar.to_ical())
