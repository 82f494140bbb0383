"""Invented messages of every kind and case, to preview and check wording on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from fairhold.core.model import Booking, Party, Pool, Price, Quota
from fairhold.core.policy import PRESETS
from fairhold.messages.notice import Key, Notice, links_of
from fairhold.messages.wording import KINDS

NOW: Final = 1_804_324_800_000  # 6 March 2027, 09:20 UTC
_MINUTE: Final = 60_000
_HOUR: Final = 60 * _MINUTE
_POOL_ID: Final = 0x1F2E3D4C5B6A79

_UNTIL: Final = {"expires_at": NOW + 10 * _MINUTE}
_PAID: Final = {"confirm_by": "staff", "price": Price(4500, "EUR")}
_BY_STAFF: Final = {"confirm_by": "staff"}
_RULES: Final = ("confirm_by", "promotion")

# Each kind with every case its wording tells apart. `_RULES` and `price` are of the pool.
CASES: Final[dict[str, tuple[dict[str, Any], ...]]] = {
    "offer": (
        {"seq": 1, "offered": 1, **_UNTIL},
        {"seq": 2, "offered": 2, "quantity": 2, "expires_at": NOW + 26 * _HOUR},
        {"seq": 3, "offered": 1, "expires_at": NOW - _HOUR},
        {"seq": 1, "offered": 1, **_UNTIL, **_PAID},
        {"seq": 2, "offered": 2, "quantity": 2, "expires_at": NOW + 26 * _HOUR, **_BY_STAFF},
    ),
    "confirmed": (
        {},
        {"quantity": 3, "units": ["12A", "12B", "12C"]},
        {"waiting": True},
        {"waiting": True, "promotion": "auto"},
        {"waiting": True, "promotion": "auto", **_PAID},
    ),
    "promoted": (
        {"state": "confirmed", "expires_at": None},
        {"state": "held", **_UNTIL},
        {"state": "held", "quantity": 2, "expires_at": NOW + 26 * _HOUR},
        {"state": "confirmed", "quantity": 2, "expires_at": None},
        {"state": "held", **_UNTIL, **_PAID},
    ),
    "hold_ending": (_UNTIL, {"quantity": 2, **_UNTIL}, {**_UNTIL, **_PAID}, {**_UNTIL, **_BY_STAFF}),
    "lapsed": (
        {"was": "offered", "still_waiting": True},
        {"was": "offered", "still_waiting": False},
        {"was": "held"},
        {"was": "waiting"},
    ),
    "attempts_used_up": ({},),
    "demoted": ({"position": 1}, {"position": None}),
    "put_back": (
        {"state": "waiting", "position": 3, "expires_at": None},
        {"state": "waiting", "position": 12, "expires_at": NOW + 30 * _MINUTE},
        {"state": "held", "position": None, **_UNTIL},
        {"state": "held", "position": None, **_UNTIL, **_PAID},
        {"state": "confirmed", "position": None, "expires_at": None, "units": ["12A"]},
    ),
    "cancelled": (
        {"was": "confirmed", "by": "party"},
        {"was": "confirmed", "by": "staff:Olga"},
        {"was": "waiting", "by": "party"},
        {"why": "pool_closed"},
        {"why": "pool_cancelled"},
    ),
    "joined": (
        {"position": 3, "expires_at": None},
        {"position": 12, "expires_at": NOW + 30 * _MINUTE},
        {"position": 12, "expires_at": NOW + 30 * _MINUTE, **_PAID},
    ),
    "handed_back": (
        {"opening": 1, "quota": "main", "unit": "2 pm", "note": "10 offered, nobody took it"},
        {"opening": 2, "quota": "main", "unit": None, "note": "1 offered, nobody took it"},
        {"opening": 3, "quota": "main", "unit": None, "note": "nobody in line can use it"},
        {"opening": 4, "quota": "main", "unit": "3 pm", "note": "too late to be offered"},
    ),
    "unreachable": (
        {"seq": 1, "reason": "no_contact", "why": "there is no e-mail address and no phone number"},
        {"seq": 1, "reason": "no_channel", "why": "no mail server is set up: FAIRHOLD_SMTP_URL"},
        {"seq": 1, "reason": "dead_contact", "why": "550 5.1.1 no such mailbox"},
        {"seq": 1, "reason": "channel_down", "why": "the mail server does not answer"},
        {"seq": 1, "reason": "channel_down", "why": ""},
    ),
}


def samples(
    kind: str,
    *,
    title: str = "Saturday yoga",
    name: str = "Ann",
    time_zone: str = "Europe/Helsinki",
    base_url: str = "https://seats.example.org",
) -> list[Notice]:
    """A message of this kind in each of its cases."""
    policy = PRESETS["last_minute"]
    quotas = (Quota("main", "", 1),)
    pool = Pool(
        _POOL_ID, "default", "yoga", title, policy, quotas, starts_at=NOW + 28 * _HOUR, time_zone=time_zone
    )
    party = Party("ann", name, {"email": "ann@example.org", "phone": "+358 40 123 4567"})
    booking = Booking(7, "K7PM2X", party, "main", 1, "waiting", 7, 7)
    found = []
    for case, told in enumerate(CASES[kind]):
        rules = {"confirm_by": "party"} | {name: told[name] for name in _RULES if name in told}
        there = replace(pool, policy=replace(policy, **rules), price=told.get("price"))
        facts = {name: value for name, value in told.items() if name not in (*_RULES, "price")}
        to = KINDS[kind]
        known: dict[str, Any] = {"reference": "K7PM2X", "quota": "main", "quantity": 1, "units": []}
        known = facts if kind == "handed_back" else known | facts
        about = None if kind == "handed_back" else booking
        links = links_of(_POOL_ID, booking, known, base_url, "sample") if to == "party" else {}
        key = Key(_POOL_ID, 100 + case, 0)
        found.append(Notice(key, kind, to, there, about, known, NOW, pool.starts_at, links))
    return found
