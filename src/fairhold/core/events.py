"""What happened. Events are past tense and carry enough to rebuild the state from nothing.

Law: an event is a fact. It is never refused and never changed; names, contacts and answers of people
are kept out of it, so that a person can be forgotten while the log stays whole. The log holds an event's
fields in the order in which they stand here, and is hashed: new ones go last, with a default.

Nothing assigns to an event, though none is frozen: freezing would make the making of one, which is done for
every command, several times as dear.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args

from fairhold.core.model import LIBRARY, Instant, Pool, Price, Wants

# Who was passed over when room was given, each with the reason: see search. A whole group is named once, and
# those of its members are meant who stand before the place of the one that was served.
Skipped = tuple[Mapping[str, Any], ...]


@dataclass(slots=True)
class _Fact:
    at: Instant


@dataclass(slots=True)
class _OfBooking(_Fact):
    booking: int


@dataclass(slots=True)
class PoolCreated(_Fact):
    pool: Pool


@dataclass(slots=True)
class PoolChanged(_Fact):
    pool: Pool
    why: str = ""


@dataclass(slots=True)
class UnitsAdded(_Fact):
    """Each unit: label, quota, ordinal, starts_at, attributes."""

    units: tuple[Mapping[str, Any], ...]


@dataclass(slots=True)
class UnitClosed(_Fact):
    label: str


@dataclass(slots=True)
class _Begun(_OfBooking):
    """A new booking: who asks for what."""

    reference: str
    party: str
    tags: tuple[str, ...]
    attributes: Mapping[str, Any]
    quota: str
    quantity: int


@dataclass(slots=True)
class Joined(_Begun):
    """A new booking got a place in line; `confirmed` says that it needs no hold when it gets room."""

    priority: int
    arrival: int
    place: int
    position: int
    wants: Wants | None
    asked_price: Price | None
    expires_at: Instant | None
    confirmed: bool = False
    door: str = LIBRARY


@dataclass(slots=True)
class Held(_Begun):
    """A new booking got room at once; `confirmed` says that it needs no hold."""

    arrival: int
    place: int
    units: tuple[str, ...]
    price: Price | None
    expires_at: Instant | None
    confirmed: bool = False
    door: str = LIBRARY


@dataclass(slots=True)
class Promoted(_OfBooking):
    """A waiting booking got room, without being asked: confirmed if it had been, else held."""

    state: str
    position: int
    units: tuple[str, ...]
    price: Price | None
    expires_at: Instant | None
    skipped: Skipped = ()
    place: int = 0


@dataclass(slots=True)
class Offered(_OfBooking):
    """Room was offered to a waiting booking; `why` if staff did so, out of turn."""

    seq: int
    openings: tuple[int, ...]
    quantity: int
    units: tuple[str, ...]
    price: Price | None
    position: int
    round: int
    expires_at: Instant
    skipped: Skipped = ()
    why: str = ""
    place: int = 0


@dataclass(slots=True)
class Claimed(_OfBooking):
    """An offer was taken, `quantity` of it; `state` is confirmed, or held when payment is to come.

    For a part, `part` is the number of the new booking that has the seats; the rest stays in line. `opening`
    is the opening of a quota by number whose seats were taken: there, the offer is no try any more.
    """

    seq: int
    quantity: int
    state: str
    expires_at: Instant | None
    units: tuple[str, ...] = ()
    part: int | None = None
    part_reference: str = ""
    part_arrival: int = 0
    opening: int | None = None


@dataclass(slots=True)
class _OfferOver(_OfBooking):
    """`state` and `place` are what the policy made of the booking."""

    seq: int
    state: str
    place: int
    arrival: int


@dataclass(slots=True)
class Declined(_OfferOver):
    """An offer was turned down."""


@dataclass(slots=True)
class Lapsed(_OfferOver):
    """An offer ended without an answer: its window did."""


@dataclass(slots=True)
class NotReached(_OfBooking):
    """An offer ended because nobody could be told of it; `reason` is one of UNREACHABLE.

    It counts neither as an attempt nor as a turn: `round` is the booking's from now on.
    """

    seq: int
    reason: str
    round: int


@dataclass(slots=True)
class Told(_OfBooking):
    """A channel has taken a letter to the party: the one about this offer, if `seq` names it."""

    seq: int | None = None


@dataclass(slots=True)
class Delayed(_OfBooking):
    """No channel would take the letter about an offer for now."""

    seq: int


@dataclass(slots=True)
class Reachable(_OfBooking):
    """There is a way again to tell a party of offers."""


@dataclass(slots=True)
class Confirmed(_OfBooking):
    """A hold became final; or a signup still in line was confirmed and keeps its place."""


@dataclass(slots=True)
class Completed(_OfBooking):
    """A signup in line has said all that it is asked for; staff confirm it once it has room."""


@dataclass(slots=True)
class Extended(_OfBooking):
    expires_at: Instant


@dataclass(slots=True)
class BookingChanged(_OfBooking):
    """A party said something else of itself. `details` names what; what was said is not in the log.

    `position` if it was in line and could not be written to before: it is told where it stands.
    """

    details: tuple[str, ...]
    position: int | None = None


@dataclass(slots=True)
class Expired(_OfBooking):
    """A hold, or a signup that was not confirmed in time, ended. `position` if it was in line."""

    position: int | None = None


@dataclass(slots=True)
class Cancelled(_OfBooking):
    why: str = ""
    position: int | None = None


@dataclass(slots=True)
class Closed(_OfBooking):
    """A booking was ended by the rules: attempts used up, demoted, or its pool closed, cancelled or begun."""

    why: str
    position: int | None = None


@dataclass(slots=True)
class Moved(_OfBooking):
    """Staff moved a waiting booking from the position `was` to another."""

    place: int
    arrival: int
    position: int
    was: int
    why: str = ""


@dataclass(slots=True)
class PutBack(_OfBooking):
    """Staff undid the end of a booking: it is held or confirmed again, with `units`; or it waits again.

    Who waits for the seats it had has their price, `asked_price`, from now on.
    """

    state: str
    place: int
    arrival: int
    position: int | None
    units: tuple[str, ...]
    expires_at: Instant | None
    why: str = ""
    asked_price: Price | None = None


@dataclass(slots=True)
class Respread(_Fact):
    """Places between two bookings ran out; those behind were given new ones in the same order."""

    places: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class Demoted(_OfBooking):
    """A booking lost its room to a smaller pool and went to the head of the line.

    Where `part` lost its room and the rest of it still waits, `booking` is that rest: the part is closed, and
    its `quantity` is waited for together with the rest again. `asked_price` is the price of the seats
    that were lost: it stays, whatever others pay by then.
    """

    place: int
    position: int
    expires_at: Instant | None = None
    part: int | None = None
    quantity: int = 0
    asked_price: Price | None = None


@dataclass(slots=True)
class RoundStarted(_Fact):
    """Everyone eligible of a quota had had a turn; the next pass along its line began.

    Where no quota is named, as once, all of them began one together.
    """

    round: int
    quota: str = ""


@dataclass(slots=True)
class OpeningStarted(_Fact):
    opening: int
    quota: str
    unit: str | None


@dataclass(slots=True)
class OpeningReduced(_Fact):
    """Some of the seats that were set aside are so no longer; `quantity` are left."""

    opening: int
    quantity: int


@dataclass(slots=True)
class OpeningEnded(_Fact):
    """The opening is over or, if `how` is freed, the line's no longer: see the states of an `Opening`."""

    opening: int
    how: str


@dataclass(slots=True)
class HandedBack(_Fact):
    """Nobody took the opening; `quantity` seats are set aside for staff to decide."""

    opening: int
    quantity: int
    note: str
    skipped: Skipped = ()


@dataclass(slots=True)
class Erased(_Fact):
    """A person was forgotten: `party` stands in their place, and `entries` of the log were redacted.

    Each has the digest, in hexadecimal digits, of what stands there since.
    """

    party: str
    bookings: tuple[int, ...]
    entries: tuple[tuple[int, str], ...]


OfPool = PoolCreated | PoolChanged | UnitsAdded | UnitClosed | Respread | RoundStarted | Erased
OfOffer = Offered | Claimed | Declined | Lapsed | NotReached | Told | Delayed | Reachable
Ended = Expired | Cancelled | Closed
OfBooking = (
    Joined
    | Held
    | Promoted
    | Confirmed
    | Completed
    | Extended
    | BookingChanged
    | Ended
    | Moved
    | PutBack
    | Demoted
)
OfOpening = OpeningStarted | OpeningReduced | OpeningEnded | HandedBack
Event = OfPool | OfBooking | OfOffer | OfOpening

KINDS: Final[Mapping[str, type[Event]]] = {kind.__name__: kind for kind in get_args(Event)}
