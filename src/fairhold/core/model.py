"""What there is: pools with quotas and units, bookings, offers and openings.

Law: everything here is a value. A change makes a new value, and only `evolve` puts one into a view.

Instants (`…_at`) are whole milliseconds since 1970 in UTC; lengths (`…_window`, cooldown) are whole
milliseconds. Integers compare and add exactly, and both databases store them the same way.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from fairhold.core.conditions import matches
from fairhold.core.policy import Policy

Instant = int
Length = int
# What people answered to a pool's questions.
Answers = Mapping[str, Any]

# The states of a booking: four in play, then four in which it ends for good.
WAITING: Final = "waiting"
OFFERED: Final = "offered"
HELD: Final = "held"
CONFIRMED: Final = "confirmed"
DECLINED: Final = "declined"
EXPIRED: Final = "expired"
CANCELLED: Final = "cancelled"
CLOSED: Final = "closed"

TAKES_ROOM: Final = frozenset({OFFERED, HELD, CONFIRMED})
HAS_SEATS: Final = frozenset({HELD, CONFIRMED})
KEEPS_PLACE: Final = frozenset({WAITING, OFFERED})
IN_PLAY: Final = frozenset({WAITING, OFFERED, HELD, CONFIRMED})
ENDED: Final = frozenset({DECLINED, EXPIRED, CANCELLED, CLOSED})

# The states of an opening while its room may be given, to the line or to anybody; and while it is not over.
GOING_ON: Final = ("open", "freed")
LIVE: Final = (*GOING_ON, "handed_back")

# The doors that a booking may come by. Whoever comes by a page or with a public key is not staff.
PAGE: Final = "page"
PUBLIC_KEY: Final = "public_key"
LIBRARY: Final = "library"
SECRET_KEY: Final = "secret_key"  # noqa: S105
CONSOLE: Final = "console"
CSV: Final = "csv"
DOORS: Final = (LIBRARY, SECRET_KEY, PUBLIC_KEY, PAGE, CONSOLE, CSV)
STRANGERS: Final = frozenset({PAGE, PUBLIC_KEY})

# Who tells a party of offers, if not the channels by themselves: staff do; or nobody can, and why.
BY_STAFF: Final = "staff"
NO_CHANNEL: Final = "no_channel"
NO_CONTACT: Final = "no_contact"
DEAD_CONTACT: Final = "dead_contact"
CHANNEL_DOWN: Final = "channel_down"
UNREACHABLE: Final = frozenset({NO_CHANNEL, NO_CONTACT, DEAD_CONTACT, CHANNEL_DOWN})

# How far the letter about a live offer has come: a channel has failed for now, or has taken it. It says
# BY_STAFF where staff tell its party of it.
DELAYED: Final = "delayed"
TOLD: Final = "told"

# How the id begins that stands in the place of a person who was forgotten.
ERASED: Final = "erased-"


# How the line key of a booking begins that nobody can tell of an offer.
NOT_REACHED: Final = "unreachable "


@dataclass(slots=True)
class Party:
    """Who asks. The id is the caller's own; tags and attributes are what rules look at.

    Nothing assigns to a party, though it is not frozen: that would make the making of one twice as dear.
    """

    id: str
    name: str = ""
    contacts: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    locale: str = ""


@dataclass(frozen=True, slots=True)
class Price:
    """Per seat, in integer minor units of an ISO 4217 currency."""

    amount: int
    currency: str


def confirmed_by_staff(confirm_by: str | None, price: Price | None) -> bool:
    """Return True if staff make a booking at this price final; where a policy leaves it open, if it costs."""
    if confirm_by is not None:
        return confirm_by == "staff"
    return price is not None and price.amount > 0


@dataclass(frozen=True, slots=True)
class Wants:
    """What a waiting booking would accept: a condition on a unit's attributes, and when it may start."""

    attributes: Mapping[str, Any] | None = None
    from_at: Instant | None = None
    until_at: Instant | None = None

    @property
    def key(self) -> str:
        """The same text for the same wants, so that equal wants can be judged once."""
        text = json.dumps([self.attributes, self.from_at, self.until_at], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Quota:
    """A named share of a pool. `size` None is unlimited; `by_units` means its size is its open units."""

    key: str
    title: str = ""
    size: int | None = 0
    by_units: bool = False
    eligible: Mapping[str, Any] | None = None

    def admits(self, party: Party) -> bool:
        rule = self.eligible
        return rule is None or matches(rule, party.tags, party.attributes)


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool as staff set it up. It changes only by a command, and each change makes a new `version`."""

    id: int
    org: str
    key: str
    title: str
    policy: Policy
    quotas: tuple[Quota, ...]
    open_size: int = 0
    status: str = "open"
    opens_at: Instant | None = None
    closes_at: Instant | None = None
    starts_at: Instant | None = None
    time_zone: str = "UTC"
    price: Price | None = None
    questions: tuple[Mapping[str, Any], ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1
    page: bool = True

    @property
    def name(self) -> str:
        """What people call it."""
        return self.title or self.key

    def quota(self, key: str) -> Quota | None:
        for quota in self.quotas:
            if quota.key == key:
                return quota
        return None

    def over(self, now: Instant) -> str | None:
        """Why there is no line any more: closed, cancelled or started. None while there is one."""
        if self.status in ("closed", "cancelled"):
            return self.status
        return "started" if self.starts_at is not None and self.starts_at <= now else None


class Unit(NamedTuple):
    """One nameable piece: seat 12A, or the 2 pm chair. `ordinal` is its place beside its neighbours."""

    label: str
    quota: str
    ordinal: int
    starts_at: Instant | None = None
    attributes: Mapping[str, Any] = {}
    closed: bool = False
    booking: int | None = None


class Booking(NamedTuple):
    """One party's request for a quantity in a pool, from first tap to last. One row, one state.

    `number` counts the pool's bookings from 1. `arrival` is given under the pool's lock; `place` is
    the sort key of the line made of priority and arrival. `position` is the last one held in line.
    `door` is the one that it came by. `reach` is empty where the channels tell its party; else it says that
    staff do, or why nobody can (see UNREACHABLE). Who tells of one offer is in the offer.
    """

    number: int
    reference: str
    party: Party
    quota: str
    quantity: int
    state: str
    place: int
    arrival: int
    priority: int = 0
    position: int | None = None
    wants: Wants | None = None
    asked_price: Price | None = None
    price: Price | None = None
    units: tuple[str, ...] = ()
    offer_seq: int = 0
    offer_quantity: int = 0
    attempts: int = 0
    round: int = 0
    offered_at: Instant | None = None
    held_at: Instant | None = None
    expires_at: Instant | None = None
    confirmed_at: Instant | None = None
    created_at: Instant = 0
    updated_at: Instant = 0
    split_from: int | None = None
    answers: Mapping[str, Any] = {}
    door: str = LIBRARY
    reach: str = ""

    @property
    def line_key(self) -> str:
        """What sets it apart in its line: what it wants, and whether offers have to pass it over."""
        wants = self.wants.key if self.wants is not None else ""
        return f"{NOT_REACHED}{wants}" if self.reach in UNREACHABLE else wants

    def agreed_price(self, of_pool: Price | None) -> Price | None:
        """Return what a seat costs: the price that was locked with its room, else that it would get room at.

        None among those that were locked means that nothing is to be paid, whatever the pool costs since.
        """
        return self.price if self.state in TAKES_ROOM else self.price or self.asked_price or of_pool


class Ending(NamedTuple):
    """What a booking had until it ended, for putting it back: its state, and the units of its seats.

    `state` is closed if its seats are waited for by the rest of its party: there is nothing to put back.
    """

    state: str
    units: tuple[str, ...] = ()


class Offer(NamedTuple):
    """One try at giving room to a waiting booking, named by (booking, seq).

    `outcome` None is live; else claimed, declined, lapsed, withdrawn (the booking or its room was gone) or
    unreachable (nobody could be told of it). `part` is the booking that an offer accepted in part went to.
    `told` is empty until a channel has tried to tell the party: then delayed, or told. It is `staff` where
    staff tell the party of this offer, and no channel has.
    """

    booking: int
    seq: int
    openings: tuple[int, ...]
    quantity: int
    units: tuple[str, ...]
    offered_at: Instant
    expires_at: Instant
    outcome: str | None = None
    answered_at: Instant | None = None
    part: int | None = None
    told: str = ""


class Opening(NamedTuple):
    """A unit that became free; for a quota sized by number, the stretch until its room is taken.

    `state` is open; handed_back, with `quantity` seats set aside for staff and a `note` why; or freed: the
    room is anybody's. It is over as taken, closed, again (offered anew), outgrown (by more room) or moot.
    `tries` are the offers made for it; those for seats without names no longer count once they are claimed.
    """

    number: int
    quota: str
    unit: str | None
    opened_at: Instant
    state: str = "open"
    tries: int = 0
    quantity: int = 0
    note: str = ""


class Tally(NamedTuple):
    """What a quota's bookings add up to. Room is computed from it and is itself never stored.

    `used` is the quantity that takes room, `waiting` the number in line, `offered` the number of
    live offers, `aside` the seats that were handed back to staff. `round` is the pass along its line.
    """

    used: int = 0
    waiting: int = 0
    offered: int = 0
    aside: int = 0
    round: int = 1


class Group(NamedTuple):
    """Waiting bookings that fit the same room: one check of its first member speaks for all.

    `wants` is the `line_key` of its members.
    """

    quota: str
    quantity: int
    round: int
    wants: str
