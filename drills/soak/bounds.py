"""What a process of the service keeps in memory to be faster, and how much of it: read off the program."""

from __future__ import annotations

from fairhold import answers, clock, door, ids
from fairhold.core import quiet, reference
from fairhold.http import doorkeeper, limits, service, stream
from fairhold.http.settings import Settings
from fairhold.messages import wording
from fairhold.store import loaded
from fairhold.store.sqlite import store as sqlite

Row = tuple[str, str]


def rows() -> list[Row]:
    """What is kept, and its bound."""
    most = Settings(database="")
    return [
        ("SQLite's pages: the connection that writes", f"{sqlite._WRITER_CACHE // 1024} MiB"),
        (
            "SQLite's pages: connections that read",
            f"{sqlite._READER_CACHE // 1024} MiB each, {1 + sqlite._SNAPSHOTS_KEPT} kept",
        ),
        ("pools as their last batch left them, and their rules", f"{loaded._REMEMBERED_MAX:,} each"),
        ("names of pools, and which org they are of", f"{door._POOLS_MAX:,} each"),
        ("orgs", f"{service._ORGS_MAX:,}"),
        ("keys and sessions that were let in, for five seconds", f"{doorkeeper._REMEMBERED_MAX:,} each"),
        ("limits: keys, addresses, addresses with wrong keys", f"{limits._NAMES_MAX:,} each"),
        ("addresses and whom they stand for", _size(limits.whose)),
        ("pieces of the stream that many wait for", f"{stream._RECENT_MAX}"),
        (
            "streams and open pages",
            f"{most.streams_max:,} and {most.page_streams_max:,} (settings), and a bell for each org",
        ),
        ("commands that wait", f"{most.commands_max:,} (setting)"),
        ("ids as text, and back", f"{_size(ids.pool_text)} pools, twice, and {_size(ids._decode)} bookings"),
        ("keys of references, heads of digests", f"{_size(reference._keys)} and {_size(answers._asked_of)}"),
        ("instants as datetimes", _size(clock.to_datetime)),
        ("words of letters, own words of orgs", f"{_size(wording.word)} and {_size(wording.own)}"),
        ("time zones", _size(quiet._known)),
        ("labels of figures, statements, templates, static files", "as many as the program has"),
    ]


def table() -> str:
    return "\n".join(("| what | at most |", "|---|---|", *(f"| {what} | {most} |" for what, most in rows())))


def _size(cached: object) -> str:
    most = cached.cache_info().maxsize  # type: ignore[attr-defined]
    assert most is not None
    return f"{most:,}"
