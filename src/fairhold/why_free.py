"""Why a seat is free and somebody in line does not get it.

Nothing happens while everybody in line has to be passed over, so nothing is logged, though it may go on for a
day of cooldowns. It is judged when somebody asks, by the same rules and on the state of that moment.
"""

from __future__ import annotations

from typing import Final

from fairhold.core.fill import RoomLeft
from fairhold.core.model import WAITING, Booking, Instant
from fairhold.core.search import lost_to_the_line, why_not
from fairhold.core.view import View
from fairhold.core.work import Work
from fairhold.explain import Step, span

# Free units may not be for it for several reasons: then it is told the one that is most about itself.
_NEAREST: Final = (
    *(
        "attempts_used_up",
        "unreachable",
        "cooldown",
        "had_turn",
        "quiet_hours",
        "not_eligible",
        "does_not_fit",
    ),
    *("wants_other", "others_asked"),
)


def why_free(view: View, booking: Booking, now: Instant) -> Step | None:
    """Why this booking is not given what is free now; None if nothing is, or nothing is in its way."""
    policy, quota = view.pool.policy, view.pool.quota(booking.quota)
    if booking.state != WAITING or quota is None or policy.promotion is None or view.pool.status != "open":
        return None
    work, reasons = Work(view, now, "rule"), set[str]()
    asked_max = policy.offers_live_max is not None and view.offers_live >= policy.offers_live_max
    for slot in RoomLeft(work).slots(quota):
        if lost_to_the_line(work, slot):
            continue
        if reason := why_not(work, slot, booking) or ("others_asked" if asked_max else None):
            reasons.add(reason)
    if not reasons:
        return None
    reason = min(reasons, key=_NEAREST.index)
    because = {
        "attempts_used_up": "your attempts are used up",
        "unreachable": "nobody can tell you of it",
        "cooldown": f"you were offered one less than {span(policy.cooldown)} ago",
        "had_turn": "you have had your turn",
        "quiet_hours": "it begins before your quiet hours end",
        "not_eligible": "it is not open to you",
        "does_not_fit": f"it is not enough for your party of {booking.quantity}",
        "wants_other": "it is not what you want",
        "others_asked": "others are asked first",
    }
    facts = {
        "to": "nobody",
        "seats": booking.quantity,
        "attempts": booking.attempts,
        "cooldown_s": policy.cooldown // 1000,
    }
    return Step(now, "rule", "passed_over", reason, f"A seat is free now: {because[reason]}.", facts)
