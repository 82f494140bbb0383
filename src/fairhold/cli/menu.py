"""The list of commands in the help: under headings, in the order in which a stranger needs them."""

from __future__ import annotations

from typing import Any, Final

from typer.core import TyperGroup

SECTIONS: Final = {
    "Begin": ("demo", "serve", "key", "staff", "pool", "origin"),
    "Bookings": ("book", "confirm", "cancel", "extend", "change", "booking", "bookings", "explain"),
    "The line and its offers": (
        "line",
        "claim",
        "decline",
        "offer",
        "move",
        "put-back",
        "fill",
        "needs-you",
        "resolve",
    ),
    "Looking back": ("log", "stats", "verify"),
    "Messages": ("outbox", "message", "webhook", "staff-contact"),
    "People and their records": ("export", "import", "person"),
    "The database": ("migrate", "backup", "restore", "release-expired", "retention", "prune"),
}


class Menu(TyperGroup):
    """The commands under their headings; one that is under none comes at the end."""

    def list_commands(self, ctx: Any) -> list[str]:
        known = [name for names in SECTIONS.values() for name in names if name in self.commands]
        return [*known, *(name for name in super().list_commands(ctx) if name not in known)]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        listed = self.list_commands(ctx)
        wide = max(map(len, listed))
        under = {name: section for section, names in SECTIONS.items() for name in names}
        sections = dict.fromkeys((*SECTIONS, "Commands"))
        for section in sections:
            names = [name for name in listed if under.get(name, "Commands") == section]
            rows = [
                (name.ljust(wide), self.commands[name].get_short_help_str(limit=formatter.width - 6 - wide))
                for name in names
            ]
            if rows:
                with formatter.section(section):
                    formatter.write_dl(rows)
