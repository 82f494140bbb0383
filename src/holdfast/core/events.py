"""What happened. Events are past tense, frozen, and carry enough to rebuild the state from nothing.

Law: an event is a fact. It is never refused and never changed; names, contacts and answers of people
are kept out of it, so that a person can be forgotten while the log stays whole.

Nothing assigns to an event, though none is frozen: freezing would make the making of one, which is done for
every command, several times as dear.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, get_args

from holdfast.core.model import Instant, Pool, Price, Wants


@dataclass(slots=True)
class PoolCreated:
    at: Instant
    pool: Pool


@dataclass(slots=True)
class PoolChanged:
    at: Instant
    pool: Pool
    why: str = ""


@dataclass(slots=True)
class UnitsAdded:
    """Each unit: label, quota, ordinal, starts_at, attributes."""

    at: Instant
    units: tuple[Mapping[str, Any], ...]


@dataclass(slots=True)
class UnitClosed:
    at: Instant
    label: str


@dataclass(slots=True)
class Joined:
    """A new booking got a place in line."""

    at: Instant
    booking: int
    reference: str
    party: str
    tags: tuple[str, ...]
    attributes: Mapping[str, Any]
    quota: str
    quantity: int
    priority: int
    arrival: int
    place: int
    position: int
    wants: Wants | None
    asked_price: Price | None
    expires_at: Instant | None


@dataclass(slots=True)
class Held:
    """A new booking got room at once; `confirmed` says that it needs no hold."""

    at: Instant
    booking: int
    reference: str
    party: str
    tags: tuple[str, ...]
    attributes: Mapping[str, Any]
    quota: str
    quantity: int
    arrival: int
    place: int
    units: tuple[str, ...]
    price: Price | None
    expires_at: Instant | None
    confirmed: bool = False


@dataclass(slots=True)
class Promoted:
    """A waiting booking got room, without being asked: confirmed if it had been, else held."""

    at: Instant
    booking: int
    state: str
    position: int
    units: tuple[str, ...]
    price: Price | None
    expires_at: Instant | None
    skipped: tuple[Mapping[str, Any], ...] = ()
    place: int = 0


@dataclass(slots=True)
class Offered:
    """Room was offered to a waiting booking. `skipped` are those passed over, each with the reason.

    A whole group that was passed over is named once; its members before `place` are meant.
    """

    at: Instant
    booking: int
    seq: int
    openings: tuple[int, ...]
    quantity: int
    units: tuple[str, ...]
    price: Price | None
    position: int
    round: int
    expires_at: Instant
    skipped: tuple[Mapping[str, Any], ...] = ()
    why: str = ""
    place: int = 0


@dataclass(slots=True)
class Claimed:
    """An offer was taken, `quantity` of it; `state` is confirmed, or held when payment is to come.

    For a part, `part` is the number of the new booking that has the seats; the rest stays in line.
    """

    at: Instant
    booking: int
    seq: int
    quantity: int
    state: str
    expires_at: Instant | None
    units: tuple[str, ...] = ()
    part: int | None = None
    part_reference: str = ""
    part_arrival: int = 0


@dataclass(slots=True)
class Declined:
    """An offer was turned down; `state` and `place` are what the policy made of the booking."""

    at: Instant
    booking: int
    seq: int
    state: str
    place: int
    arrival: int


@dataclass(slots=True)
class Lapsed:
    """An offer ended without an answer: its window did, or nobody could be reached (`why`)."""

    at: Instant
    booking: int
    seq: int
    state: str
    place: int
    arrival: int
    why: str = ""


@dataclass(slots=True)
class Confirmed:
    """A hold became final; or a signup still in line was confirmed and keeps its place."""

    at: Instant
    booking: int


@dataclass(slots=True)
class Extended:
    at: Instant
    booking: int
    expires_at: Instant


@dataclass(slots=True)
class BookingChanged:
    """A party said something else of itself. `details` names what; what was said is not in the log."""

    at: Instant
    booking: int
    details: tuple[str, ...]


@dataclass(slots=True)
class Expired:
    """A hold, or a signup that was not confirmed in time, ended. `position` if it was in line."""

    at: Instant
    booking: int
    position: int | None = None


@dataclass(slots=True)
class Cancelled:
    at: Instant
    booking: int
    why: str = ""
    position: int | None = None


@dataclass(slots=True)
class Closed:
    """A booking was ended by the rules: attempts used up, or its pool closed."""

    at: Instant
    booking: int
    why: str
    position: int | None = None


@dataclass(slots=True)
class Moved:
    at: Instant
    booking: int
    place: int
    arrival: int
    position: int
    was: int
    why: str = ""


@dataclass(slots=True)
class Respread:
    """Places between two bookings ran out; those behind were given new ones in the same order."""

    at: Instant
    places: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class Demoted:
    """A booking lost its room to a smaller pool and went to the head of the line.

    Where `part` lost its room and the rest of it still waits, `booking` is that rest: the part is closed, and
    its `quantity` is waited for together with the rest again.
    """

    at: Instant
    booking: int
    place: int
    position: int
    expires_at: Instant | None = None
    part: int | None = None
    quantity: int = 0


@dataclass(slots=True)
class RoundStarted:
    """Everyone eligible had had a turn; the next pass along the line began."""

    at: Instant
    round: int


@dataclass(slots=True)
class OpeningStarted:
    at: Instant
    opening: int
    quota: str
    unit: str | None


@dataclass(slots=True)
class OpeningReduced:
    """Some of the seats that were set aside are so no longer; `quantity` are left."""

    at: Instant
    opening: int
    quantity: int


@dataclass(slots=True)
class OpeningEnded:
    """The opening was taken, or staff freed or closed it."""

    at: Instant
    opening: int
    how: str


@dataclass(slots=True)
class HandedBack:
    """Nobody took the opening; `quantity` seats are set aside for staff to decide."""

    at: Instant
    opening: int
    quantity: int
    note: str
    skipped: tuple[Mapping[str, Any], ...] = field(default=())


@dataclass(slots=True)
class Erased:
    """A person was forgotten: `party` stands in their place, and `entries` of the log were redacted.

    Each has the digest, in hexadecimal digits, of what stands there since.
    """

    at: Instant
    party: str
    bookings: tuple[int, ...]
    entries: tuple[tuple[int, str], ...]


Event = (
    PoolCreated
    | PoolChanged
    | UnitsAdded
    | UnitClosed
    | Joined
    | Held
    | Promoted
    | Offered
    | Claimed
    | Declined
    | Lapsed
    | Confirmed
    | Extended
    | BookingChanged
    | Expired
    | Cancelled
    | Closed
    | Moved
    | Respread
    | Demoted
    | RoundStarted
    | OpeningStarted
    | OpeningReduced
    | OpeningEnded
    | HandedBack
    | Erased
)

KINDS: Final[Mapping[str, type[Event]]] = {kind.__name__: kind for kind in get_args(Event)}
