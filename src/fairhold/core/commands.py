"""What can be asked. Commands are imperative, frozen, and say who asks (`by`).

`by` is "party" for the person concerned, "staff" or "staff:NAME" for staff, "clock" for timers, "outbox" for
what cannot be delivered; the log says "rule" of what nobody asked for. Whether someone may ask is settled
before a command is made; a command only says what is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fairhold.core.model import DEAD_CONTACT, LIBRARY, Answers, Length, Party, Pool, Price, Wants


def is_staff(by: str) -> bool:
    """Whether staff ask: "staff" or "staff:NAME", and nobody else."""
    return by == "staff" or by.startswith("staff:")


class CreatePool(NamedTuple):
    """Open a pool for business, with its units if it has any."""

    pool: Pool
    units: tuple[Mapping[str, Any], ...] = ()
    by: str = "staff"


class ChangePool(NamedTuple):
    """Change anything about a pool: title, sizes, policy, times, status. Unnamed fields stay.

    `changes` has the fields of a pool; `sizes` gives quotas new sizes by key.
    """

    changes: Mapping[str, Any] = {}
    sizes: Mapping[str, int | None] = {}
    allow_demotion: bool = False
    why: str = ""
    by: str = "staff"


class AddUnits(NamedTuple):
    """Open more units: dictionaries of label, quota, starts_at, attributes. No quota means the only one."""

    units: tuple[Mapping[str, Any], ...]
    by: str = "staff"


class CloseUnit(NamedTuple):
    """Take a free unit away."""

    label: str
    by: str = "staff"


class Book(NamedTuple):
    """Ask for a quantity: held when there is room and nobody waits for it, else a place in line.

    `opening` lets staff give a handed-back opening to someone, who may be in line for just that quantity.
    `confirmed` skips the hold (staff), also of who has to wait first. `door` is the one that it is asked by,
    one of DOORS: a stranger may ask for less than staff.
    """

    party: Party
    quantity: int = 1
    quota: str | None = None
    units: tuple[str, ...] = ()
    if_full: str | None = None
    price: Price | None = None
    wants: Wants | None = None
    opening: int | None = None
    confirmed: bool = False
    by: str = "party"
    door: str = LIBRARY


class Confirm(NamedTuple):
    """Make a held booking final; or, where the policy lets one, confirm a signup still in line.

    Where staff confirm, it must not come by the door of a stranger.
    """

    booking: int
    by: str = "party"
    door: str = LIBRARY


class Cancel(NamedTuple):
    """Give back a booking or leave the line."""

    booking: int
    why: str = ""
    by: str = "party"


class Extend(NamedTuple):
    """Give a hold more time: `window` from its present end, or one more hold window."""

    booking: int
    window: Length | None = None
    by: str = "party"


class Claim(NamedTuple):
    """Take what was offered, or part of it."""

    booking: int
    seq: int
    quantity: int | None = None
    by: str = "party"


class Decline(NamedTuple):
    """Say no to an offer; `seq` None means the live one."""

    booking: int
    seq: int | None = None
    by: str = "party"


class Unreachable(NamedTuple):
    """No channel can carry an offer to its party: the seat must not wait for an answer to it.

    `reason` is one of UNREACHABLE; `why` is what the channel said; `contacts` are those that were tried.
    """

    booking: int
    seq: int
    reason: str = DEAD_CONTACT
    why: str = ""
    by: str = "outbox"
    contacts: Mapping[str, str] | None = None


class NoteTold(NamedTuple):
    """A channel has taken a letter to the party of a booking; `seq` if it brings an offer."""

    booking: int
    seq: int | None = None
    by: str = "outbox"


class NoteDelayed(NamedTuple):
    """No channel would take the letter about an offer for now; it is tried until the offer ends."""

    booking: int
    seq: int
    by: str = "outbox"


class NoteReachable(NamedTuple):
    """There is a channel now that could carry an offer to a party that could not be reached."""

    booking: int
    by: str = "outbox"


class ChangeBooking(NamedTuple):
    """Change what a party says of itself; what is None stays. No seat and no place depends on it.

    `told_by_staff` is for staff alone: they tell this party of offers themselves, or no longer do.
    """

    booking: int
    name: str | None = None
    contacts: Mapping[str, str] | None = None
    locale: str | None = None
    answers: Answers | None = None
    by: str = "party"
    told_by_staff: bool | None = None


class GiveOffer(NamedTuple):
    """Staff offer free room to one waiting booking now, out of turn; `opening`: room that was handed back."""

    booking: int
    why: str = ""
    opening: int | None = None
    by: str = "staff"


class Move(NamedTuple):
    """Staff move a waiting booking: to "front", "back", or after another booking's number."""

    booking: int
    to: str
    after: int | None = None
    why: str = ""
    by: str = "staff"


class PutBack(NamedTuple):
    """Staff undo the end of a booking: it gets its seats again if they are free, or waits where it did."""

    booking: int
    why: str = ""
    by: str = "staff"


class Resolve(NamedTuple):
    """Staff decide on a handed-back opening: offer it "again", leave it "free", or "close" it."""

    opening: int
    action: str
    by: str = "staff"


class Fill(NamedTuple):
    """Give free room to the line; `steps` stops after so many."""

    steps: int | None = None
    by: str = "staff"


class Tick(NamedTuple):
    """It is now later."""

    by: str = "clock"


OfPool = CreatePool | ChangePool | AddUnits | CloseUnit | Fill | Tick
OfBooking = Book | Confirm | Cancel | Extend | Claim | Decline | ChangeBooking
OfOutbox = Unreachable | NoteTold | NoteDelayed | NoteReachable
OfStaff = GiveOffer | Move | PutBack | Resolve
Command = OfPool | OfBooking | OfOutbox | OfStaff
