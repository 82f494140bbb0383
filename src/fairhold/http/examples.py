"""Examples in the OpenAPI document. A test sends them to the service."""

from __future__ import annotations

from typing import Any, Final

POOL: Final[dict[str, Any]] = {
    "key": "yoga",
    "title": "Yoga on Tuesdays",
    "preset": "class_waitlist",
    "quotas": [{"key": "main", "size": 12}],
    "starts_at": "2030-03-05T17:00:00Z",
    "time_zone": "Europe/Helsinki",
}
BOOKING: Final[dict[str, Any]] = {
    "party": {"id": "ann", "name": "Ann", "contacts": {"email": "ann@example.org"}},
    "quantity": 1,
}
