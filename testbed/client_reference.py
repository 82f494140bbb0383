"""The page docs/reference/client.md, written from the methods of `AsyncClient` and what they answer."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any, Final, get_args, get_type_hints

import fairhold
from fairhold import Fairhold
from fairhold.client import AsyncClient, answers
from fairhold.client.accounts import AccountMethods
from fairhold.client.asking import Asking
from fairhold.client.bookings import BookingMethods
from fairhold.client.keeping import KeepingMethods
from fairhold.client.messages import MessageMethods
from fairhold.client.pools import PoolMethods
from fairhold.core.refusals import Refusal
from fairhold.http.operations import Page
from testbed.library_reference import HIDDEN, section, signature, value

OPENING: Final = """# The client

Written from the docstrings by `python3 dev.py docs`; [the guide](../howto/http.md#from-python) says how it is
used, and what differs from the library. The methods are those of `AsyncClient`. Each is awaited, but for
`stream`; `Client` has the same without `await`.
"""
OPTIONS: Final = "`options` are those of a client of httpx2, such as `verify` and `proxy`.\n"
SECTIONS: Final[Mapping[str, type]] = {
    "Pools": PoolMethods,
    "Bookings and offers": BookingMethods,
    "Messages, webhooks, wording": MessageMethods,
    "In and out, and forgetting a person": KeepingMethods,
    "Keys, members and sessions": AccountMethods,
    "Dry runs, and the end": Asking,
    "Time, and what changes": AsyncClient,
}
# What a method of the library is here, where it goes by another name or is none.
INSTEAD: Final[dict[str, str]] = {
    "at_one_moment": "",
    "bookings_by_id": "`booking`, one at a time",
    "changes": "",
    "erase_person": "`erase_party`",
    "export_csv": "`export_bookings` and `export_line`",
    "export_person": "`export_party`",
    "fates": "`message`, one at a time",
    "find": "`bookings(search=…)`",
    "for_org": "another key",
    "latest_pools": "`pools`, in another order",
    "needs": "",
    "needs_count": "",
    "newest_bookings": "`bookings`, the oldest first",
    "newest_messages": "`messages`, the oldest first",
    "next_to_end": "",
    "open": "`AsyncClient(url, key)`",
    "open_sync": "`Client(url, key)`",
    "pool_names": "`pools`, in another order",
    "position": "`position` of a `booking`",
    "prune": "`fairhold prune`, and `set_retention`",
    "room": "`room` of the quotas of a `pool`",
    "seats": "",
    "tick": "the service does so by itself",
    "totals": "`org_stats`",
    "verify": "`fairhold verify`",
}


def client_reference() -> str:
    made = signature("AsyncClient", AsyncClient).removesuffix(" -> None")
    parts = [OPENING, f"```text\n{made}\n```\n", OPTIONS]
    for heading, owner in SECTIONS.items():
        parts += section(heading, owner, AsyncClient)
    parts.append(
        "## What comes back\n\nBesides what [comes back from the library](library.md#what-comes-back).\n"
    )
    for kind in values():
        parts += value(kind)
    tree = (inspect.getdoc(answers) or "").partition("\n\n")[2]
    parts.append(f"## Errors\n\nAll but the first are in `fairhold.client`.\n\n```text\n{tree}\n```\n")
    parts.append("## What the library has and the client has not\n\n| the library | the client |\n|---|---|")
    parts += [f"| `{name}` | {INSTEAD[name] or 'none'} |" for name in missing()]
    # Its short name stands in the source alone.
    return "\n".join(parts).replace(": Key = None", ": str | None = None") + "\n"


def values() -> list[type]:
    """What methods answer with, in order, but for what the library's page has."""
    known = {getattr(fairhold, name) for name in fairhold.__all__} | {Refusal, str, Page}
    methods = [getattr(AsyncClient, name) for owner in SECTIONS.values() for name in vars(owner)]
    named = [it for method in methods if callable(method) for it in _named(get_type_hints(method)["return"])]
    return [Page, *(it for it in dict.fromkeys(named) if it not in known)]


def _named(annotation: Any) -> Iterator[type]:
    """The types of fields that an annotation names, Page[Booking] and all."""
    if getattr(annotation, "__module__", "").startswith("fairhold.") and isinstance(annotation, type):
        yield annotation
    for part in get_args(annotation):
        yield from _named(part)


def missing() -> list[str]:
    public = [name for name, _ in inspect.getmembers(Fairhold, callable) if not name.startswith("_")]
    return [name for name in public if not hasattr(AsyncClient, name) and name not in HIDDEN]
