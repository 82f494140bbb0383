"""The pools of a drill: one of every preset, small and with short windows, so that much happens soon."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

_SOON = {"hold_window": 2, "hold_lifetime_max": 20}
_OFFERS = {**_SOON, "offer_window": 2, "cooldown": 0}
_RULES = [{"when": {"tag": "honours"}, "add": 5}]


def pools(season: int) -> list[dict[str, Any]]:
    """Bodies for POST /v1/pools. Each season has its own, so that none grows beyond what is soon judged."""
    return [
        _pool(f"concert-{season}", "checkout", {"main": 120}, _SOON),
        _pool(f"flight-{season}", "checkout", {"economy": 4, "first": 1}, _SOON),
        _pool(f"event-{season}", "event_signup", {"a": 2, "b": 1}, _SOON, open_size=2),
        _pool(f"yoga-{season}", "class_waitlist", {"main": 3}, _OFFERS),
        _pool(f"course-{season}", "course_section", {"all": 3}, {**_OFFERS, "priority_rules": _RULES}),
        _pool(f"spare-{season}", "last_minute", {"main": 2}, {**_OFFERS, "tries_max": 3}),
        {
            **_pool(f"salon-{season}", "last_minute", {}, _OFFERS),
            "quotas": [{"key": "chair", "units": _slots()}],
        },
    ]


def _pool(
    key: str, preset: str, sizes: dict[str, int], policy: dict[str, Any], **more: Any
) -> dict[str, Any]:
    quotas = [{"key": quota, "size": size} for quota, size in sizes.items()]
    return {"key": key, "preset": preset, "policy": policy, "quotas": quotas, **more}


def _slots() -> list[dict[str, str]]:
    first = datetime.now(UTC) + timedelta(days=2)
    return [{"label": f"s{n}", "starts_at": (first + timedelta(hours=n)).isoformat()} for n in range(1, 6)]
