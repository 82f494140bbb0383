"""What to do about a refusal: for every code a next step, in the words of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from fairhold.cli.words import clean

if TYPE_CHECKING:
    from fairhold.core.refusals import Refusal

_REFERENCE: Final = 6
_UNKNOWN: Final = {
    "pool": "fairhold pool list shows the pools there are.",
    "booking": "fairhold bookings POOL shows a pool's bookings; a reference has six letters and digits.",
    "quota": "fairhold pool show POOL shows the quotas there are.",
    "token": "Copy the whole link or token; fairhold line POOL shows who has an offer.",
    "opening": "fairhold needs-you --all shows the openings there are.",
    "party": "fairhold bookings POOL shows who has booked.",
    "member": "fairhold staff list shows the members there are.",
    "unit": "fairhold pool units list POOL shows the units there are.",
    "label": "fairhold pool units list POOL shows the units there are.",
    "units": "fairhold pool units list POOL shows the units there are.",
    "key": "fairhold key list shows the keys there are.",
    "webhook": "fairhold webhook list shows the webhooks there are.",
    "message": "fairhold message list POOL shows a pool's messages, fairhold message dead the dead letters.",
    "passkey": "fairhold staff passkeys EMAIL shows the passkeys there are.",
}
_BY_FIELD: Final[Mapping[str, Mapping[str, str]]] = {
    "unknown": _UNKNOWN,
    "invalid": {"policy": "fairhold pool show POOL --json shows every field of a policy."},
    "not_possible": {
        "party": "fairhold person erase PARTY --cancel cancels them first.",
        "role": "fairhold staff role EMAIL admin makes somebody else an admin.",
    },
    "exists": {"key": "Take another key; fairhold pool change POOL changes the pool that is there."},
}
HINTS: Final[Mapping[str, str]] = {
    "invalid": "--help shows what can be said.",
    "unknown": "fairhold pool list shows the pools there are, fairhold bookings POOL a pool's bookings.",
    "exists": "Take another name.",
    "not_open_yet": "Ask again then; --staff NAME may book before.",
    "pool_closed": "fairhold pool open POOL opens it again.",
    "pool_paused": "fairhold pool open POOL opens it again; --staff NAME may book all the same.",
    "not_eligible": "Another quota may do: fairhold pool show POOL; --tag and --attribute say who is asking.",
    "not_enough_room": "Ask for fewer seats, or wait in line: --if-full wait.",
    "unit_taken": "fairhold pool units list POOL shows which units are free.",
    "already_holding": "Confirm or cancel that one first: fairhold confirm BOOKING, fairhold cancel BOOKING.",
    "already_waiting": "Keep that place, or give it up first: fairhold cancel BOOKING.",
    "hold_expired": "Book again: fairhold book POOL PARTY.",
    "hold_lifetime_used_up": "Confirm it, or let staff extend it: fairhold extend BOOKING --staff NAME.",
    "not_yours_to_confirm": "Staff confirm it: fairhold confirm BOOKING --staff NAME.",
    "offer_taken": "fairhold explain BOOKING tells what happened.",
    "offer_expired": "fairhold explain BOOKING tells what happened, and whether it is still in line.",
    "offer_withdrawn": "fairhold explain BOOKING tells what happened, and whether it is still in line.",
    "offer_answered": "fairhold explain BOOKING tells what happened.",
    "not_possible": "fairhold booking BOOKING shows how it stands, fairhold explain BOOKING why.",
    "too_late": "fairhold pool show POOL shows when it starts and the cut-off before it.",
    "would_demote": "Say --allow-demotion to do it all the same; add --dry-run to see who would move.",
    "changed_meanwhile": "Somebody else was quicker: look again, and ask again.",
    "idempotency_mismatch": "Take a new key for another request.",
    "common_password": "Take another one: a few words that do not belong together are best.",
    "too_many_requests": "Wait a moment, and ask again.",
}


def next_step(refusal: Refusal, path: str = "fairhold", said: Mapping[str, object] | None = None) -> str:
    """What to do about it. What was said to the command, and the booking it speaks of, are put in."""
    hint = HINTS.get(refusal.code, "")
    field = (refusal.field or "").partition(".")[0]
    hint = _BY_FIELD.get(refusal.code, {}).get(field, hint)
    if (said or {}).get("dry_run"):
        hint = hint.replace("; add --dry-run to see who would move", "")
    if "opens_at" in refusal.facts:
        hint = hint.replace("then", f"at {refusal.facts['opens_at']}")
    pool, booking = (said or {}).get("pool"), refusal.facts.get("booking")
    if isinstance(pool, str) and refusal.field != "pool":
        hint = hint.replace("POOL", clean(pool))
    if isinstance(booking, str):
        hint = hint.replace("BOOKING", clean(booking[-_REFERENCE:].upper()))
    if isinstance(party := (said or {}).get("party"), str):
        hint = hint.replace("PARTY", clean(party))
    return hint.replace("--help", f"{path} --help") if hint.startswith("--help") else hint
