"""The neutral names: those of the reference. Every name that a driver meets is one of these, or it raises.

A history and what is expected of it are written in these names, so recorded ones stay valid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

COMMANDS: Final = frozenset(
    {
        *("CreatePool", "ChangePool", "AddUnits", "CloseUnit", "Fill", "Tick", "Book", "Confirm", "Cancel"),
        *("Extend", "Claim", "Decline", "ChangeBooking", "Unreachable", "NoteTold", "NoteDelayed"),
        *("NoteReachable", "GiveOffer", "Move", "PutBack", "Resolve"),
    }
)

EVENTS: Final = frozenset(
    {
        *("PoolCreated", "PoolChanged", "UnitsAdded", "UnitClosed", "Respread", "RoundStarted", "Erased"),
        *("Joined", "Held", "Promoted", "Confirmed", "Completed", "Extended", "BookingChanged", "Expired"),
        *("Cancelled", "Closed", "Moved", "PutBack", "Demoted", "Offered", "Claimed", "Declined", "Lapsed"),
        *("NotReached", "Told", "Delayed", "Reachable", "OpeningStarted", "OpeningReduced", "OpeningEnded"),
        "HandedBack",
    }
)

# What the rules and the engine refuse with; the other codes belong to the doors outside.
REFUSALS: Final = frozenset(
    {
        *("invalid", "unknown", "exists", "not_open_yet", "pool_closed", "pool_paused", "not_eligible"),
        *("not_enough_room", "unit_taken", "already_holding", "already_waiting", "hold_expired"),
        *("hold_lifetime_used_up", "not_yours_to_confirm", "offer_taken", "offer_expired"),
        *("offer_withdrawn", "offer_answered", "not_possible", "too_late", "would_demote"),
        *("idempotency_mismatch", "too_many_requests"),
    }
)

ANSWERS: Final = frozenset({"Booking", "PoolState", "Outcome", "Refusal", "Erasure"})

BOOKING_STATES: Final = frozenset(
    {"waiting", "offered", "held", "confirmed", "declined", "expired", "cancelled", "closed"}
)

OPENING_STATES: Final = frozenset(
    {"open", "handed_back", "freed", "taken", "closed", "again", "outgrown", "moot"}
)

OFFER_OUTCOMES: Final = frozenset({"claimed", "declined", "lapsed", "withdrawn", "unreachable"})

MESSAGES: Final = frozenset(
    {
        *("joined", "confirmed", "promoted", "offer", "lapsed", "attempts_used_up", "cancelled", "put_back"),
        *("demoted", "hold_ending", "handed_back", "unreachable"),
    }
)

# What is compared of the tables of a pool: their columns, and by which of them the rows are sorted.
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "pools": (
        *("key", "config", "version", "status", "open_size", "overflow", "numbers", "arrivals"),
        *("openings_made", "units_made", "round", "first_place", "last_place", "due_at", "log_seq"),
        *("created_at", "updated_at"),
    ),
    "quotas": ("key", "size", "used", "waiting", "offered", "aside", "round"),
    "units": ("label", "quota", "ordinal", "starts_at", "attributes", "closed"),
    "takings": ("label", "booking"),
    "bookings": (
        *("number", "reference", "party_id", "party", "answers", "quota", "quantity", "state", "place"),
        *("arrival", "priority", "position", "wants", "wants_key", "asked_price", "price", "units"),
        *("offer_seq", "offer_quantity", "attempts", "round", "offered_at", "held_at", "expires_at"),
        *("confirmed_at", "created_at", "updated_at", "split_from", "door", "reach"),
    ),
    "offers": (
        *("booking", "seq", "openings", "quantity", "units", "offered_at", "expires_at", "outcome"),
        *("answered_at", "part", "told"),
    ),
    "openings": ("number", "quota", "unit", "opened_at", "state", "tries", "quantity", "note"),
    "tries": ("opening", "booking"),
    "log": ("seq", "at", "kind", "booking", "by", "body"),
    "outbox": (
        *("seq", "part", "kind", "recipient", "booking", "facts", "created_at", "state", "due_at"),
        *("attempts", "error"),
    ),
}

ORDERS: Final[Mapping[str, tuple[str, ...]]] = {
    "pools": ("key",),
    "quotas": ("key",),
    "units": ("label",),
    "takings": ("label",),
    "bookings": ("number",),
    "offers": ("booking", "seq"),
    "openings": ("number",),
    "tries": ("opening", "booking"),
    "log": ("seq",),
    "outbox": ("seq", "part"),
}

# The columns that hold JSON: what it says is compared, not how it is written.
JSON_COLUMNS: Final = frozenset(
    {
        *("config", "attributes", "party", "answers", "wants", "asked_price", "price", "body", "facts"),
        *("openings",),
    }
)
# In these tables "units" is a list in JSON, too.
LISTS_OF_UNITS: Final = frozenset({"bookings", "offers"})

# These belong to the store alone, and differ for good reasons: keys and hashes; and where a booking came
# from, which is forgotten once it is decided, but not if that came in the batch that made it.
IGNORED_COLUMNS: Final = frozenset({"pool_id", "id", "org", "log_hash", "digest", "hash", "source"})
