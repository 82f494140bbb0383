"""How a pool stands, in plain dictionaries: what the auditor has understood of the log so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

TAKING = ("offered", "held", "confirmed")


@dataclass(slots=True)
class Place:
    """A booking as the log tells of it."""

    party: str
    quota: str
    quantity: int
    state: str
    place: int = 0
    units: tuple[str, ...] = ()
    offer: int | None = None
    # How many seats the live offer is for.
    offered: int = 0
    # The offers it has had since it was last as if never asked: how many, the last one's instant and round.
    offers: int = 0
    offered_at: int | None = None
    round: int = 0
    # The number of its latest offer, whatever came since.
    last_offer: int = 0
    # The openings that it was made for.
    openings: Sequence[int] = ()
    wants: Mapping[str, Any] | None = None
    # Whom its quota was open to when it came.
    eligible: Any = None
    whole: bool = True
    # Whether it was said to be confirmed, be it while it waited.
    confirmed: bool = False
    expires_at: int | None = None
    # Why offers pass it over, or `staff` who tell it; the offer that its party was told of, and the one whose
    # letter could not be sent at first.
    reach: str = ""
    told: tuple[int, int] | None = None
    delayed: int | None = None

    @property
    def taken(self) -> int:
        if self.state == "offered":
            return self.offered
        return self.quantity if self.state in TAKING else 0


@dataclass(slots=True)
class Unit:
    quota: str
    starts_at: int | None
    attributes: Mapping[str, Any]


@dataclass(slots=True)
class Opening:
    quota: str
    unit: str | None
    state: str = "open"
    tries: int = 0
    # How many seats are set aside, once it was handed back.
    aside: int = 0
    # Which bookings had their turn at it.
    asked: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Standing:
    pool: int
    sizes: dict[str, int | None] = field(default_factory=dict)
    by_units: set[str] = field(default_factory=set)
    eligible: dict[str, Any] = field(default_factory=dict)
    open_size: int = 0
    status: str = "open"
    starts_at: int | None = None
    policy: Mapping[str, Any] = field(default_factory=dict)
    # Those that are open; one that is closed is not there any more.
    units: dict[str, Unit] = field(default_factory=dict)
    places: dict[int, Place] = field(default_factory=dict)
    # Those that are not over.
    openings: dict[int, Opening] = field(default_factory=dict)
    # In which round the line of a quota is.
    rounds: dict[str, int] = field(default_factory=dict)

    def line(self) -> list[int]:
        waiting = [(it.place, number) for number, it in self.places.items() if it.state == "waiting"]
        return [number for _, number in sorted(waiting)]

    def used(self, quota: str, *, aside: bool = False) -> int:
        """The seats of a quota that are taken; `aside`: or set aside for staff."""
        taken = sum(it.taken for it in self.places.values() if it.quota == quota)
        return taken + self._set_aside(quota) if aside else taken

    def _set_aside(self, quota: str) -> int:
        return sum(it.aside for it in self.openings.values() if it.quota == quota and it.unit is None)

    def overflow(self, *, aside: bool = False) -> int:
        """How much of the open share is taken. A quota of units has no part in it."""
        return sum(
            max(0, self.used(quota, aside=aside) - size)
            for quota, size in self.sizes.items()
            if size is not None and quota not in self.by_units
        )

    def room(self, quota: str) -> int | None:
        """The seats of a quota by number that could be given now; None for no end of them."""
        size = self.sizes[quota]
        if size is None:
            return None
        own = max(0, size - self.used(quota, aside=True))
        return own + max(0, self.open_size - self.overflow(aside=True))

    def free_units(self, quota: str, now: int) -> list[str]:
        taken = {label for it in self.places.values() if it.state in TAKING for label in it.units}
        taken |= {it.unit for it in self.openings.values() if it.unit and it.state == "handed_back"}
        return [
            label
            for label, unit in self.units.items()
            if unit.quota == quota and label not in taken and not is_past(unit.starts_at, now)
        ]

    def opening_of(self, quota: str, unit: str | None) -> Opening | None:
        """The opening that goes on for this room."""
        for opening in self.openings.values():
            if opening.state in ("open", "freed") and (opening.quota, opening.unit) == (quota, unit):
                return opening
        return None


def is_past(starts_at: int | None, now: int) -> bool:
    return starts_at is not None and starts_at <= now
