"""What requests about bookings may say."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType, field

from fairhold.core.policy import LENGTH_MAX
from fairhold.http.bodies_of_pools import Moment, Name, PriceBody
from fairhold.http.operations import Body, Paging

Quantity = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Opening = Annotated[int, Meta(ge=0, le=2**53)]
States = Literal["waiting", "offered", "held", "confirmed", "declined", "expired", "cancelled", "closed"]


class PartyBody(Body, kw_only=True):
    """Who asks. The id is the caller's own; tags and attributes are what rules look at."""

    id: Annotated[str, Meta(min_length=1, max_length=500)]
    name: Name = ""
    contacts: dict[str, Name] = field(default_factory=dict)
    tags: list[Name] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    locale: Annotated[str, Meta(max_length=35)] = ""


class WantsBody(Body, kw_only=True):
    """What a waiting booking would accept: a condition on a unit's attributes, and when it may start."""

    attributes: dict[str, Any] | None = None
    from_at: Moment | None = None
    until_at: Moment | None = None


class NewBooking(Body, kw_only=True):
    """A request for seats. Without a quantity it is one seat, or as many as there are units named."""

    party: PartyBody | Annotated[str, Meta(min_length=1, max_length=500)]
    quantity: Quantity | UnsetType = UNSET
    quota: str | None = None
    units: list[str] = field(default_factory=list)
    if_full: Literal["refuse", "wait"] | None = None
    price: PriceBody | None = None
    wants: WantsBody | None = None
    opening: Opening | None = None
    confirmed: bool = False
    as_staff: bool = False


class Plain(Body, kw_only=True):
    """Nothing needs to be said; staff may say that they act as staff."""

    as_staff: bool = False


class OfferBody(Body, kw_only=True):
    """The reason, for the log; and the opening that was handed back, if it is to be offered."""

    why: Name = ""
    opening: Opening | None = None


class CancelBody(Plain, kw_only=True):
    """The reason, for the log."""

    why: Name = ""


class ExtendBody(Plain, kw_only=True):
    """How much longer; without it, one more hold window."""

    window_s: Annotated[int, Meta(ge=1, le=LENGTH_MAX // 1000)] | None = None


class MoveBody(Body, kw_only=True):
    """Where to: the front, the back, or after another booking."""

    to: Literal["front", "back"] | UnsetType = UNSET
    after: str | None = None
    why: Name = ""


class PutBackBody(Body, kw_only=True):
    """The reason, for the log."""

    why: Name = ""


class BookingChanges(Plain, kw_only=True):
    """What a party says of itself; what is not said stays.

    `told_by_staff` is for staff: they tell this party of offers themselves, or no longer do.
    """

    name: Name | None = None
    contacts: dict[str, Name] | None = None
    locale: Annotated[str, Meta(max_length=35)] | None = None
    answers: dict[str, Any] | None = None
    told_by_staff: bool | None = None


class BookingsQuery(Paging, frozen=True):
    """Which bookings. A search is for a reference, an id, or what a party says of itself, or a part of it."""

    pool: str | UnsetType = UNSET
    party: str | UnsetType = UNSET
    state: States | UnsetType = UNSET
    search: Annotated[str, Meta(min_length=1, max_length=200)] | UnsetType = UNSET
