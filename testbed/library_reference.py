"""The page docs/reference/library.md, written from the methods of `Fairhold` and what they answer."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any, Final

import fairhold
from fairhold import Fairhold, SyncFairhold, errors
from fairhold.core.refusals import CODES
from fairhold.door import Door
from fairhold.keeping_commands import KeepingCommands
from fairhold.lookups import Lookups
from fairhold.message_commands import MessageCommands
from fairhold.origin_commands import OriginCommands
from fairhold.overview import Overview
from fairhold.people_commands import PeopleCommands
from fairhold.retention_commands import RetentionCommands
from fairhold.staff_commands import StaffCommands
from fairhold.webhook_commands import WebhookCommands

OPENING: Final = """# The library

Written from the docstrings by `python3 dev.py docs`; [the guide](../howto/library.md) walks through it. The
methods are those of `Fairhold`. Each is awaited, but for `open`, `open_sync`, `for_org` and `at_one_moment`;
`SyncFairhold` has the same without `await`, but for these four.
"""
SECTIONS: Final[Mapping[str, type]] = {
    "Open, and move time": Fairhold,
    "What people ask": PeopleCommands,
    "What staff ask": StaffCommands,
    "Looking": Lookups,
    "What staff see at once": Overview,
    "Other orgs, one moment, dry runs": Door,
    "Messages": MessageCommands,
    "Webhooks": WebhookCommands,
    "In and out, and forgetting a person": KeepingCommands,
    "For how long what is over is kept": RetentionCommands,
    "Web sites that may show a page": OriginCommands,
}
# Not for callers: the way to the lane, which every command takes.
HIDDEN: Final = frozenset({"submit"})
WIDTH: Final = 96


def library_reference() -> str:
    parts = [OPENING]
    for heading, owner in SECTIONS.items():
        parts += section(heading, owner, Fairhold)
    parts.append("## What comes back\n")
    for kind in values():
        parts += value(kind)
    parts.append("## Refusals\n\n| code | status over HTTP |\n|---|--:|")
    parts += [f"| `{code}` | {status} |" for code, status in CODES.items()]
    tree = (inspect.getdoc(errors) or "").partition("\n\n")[2]
    parts.append(f"\n## Errors\n\nAll but the last are in `fairhold.errors`.\n\n```text\n{tree}\n```\n")
    return "\n".join(parts)


def section(heading: str, owner: type, of: type) -> Iterator[str]:
    """The methods that stand in one class, as the whole of which it is a part has them."""
    yield f"## {heading}\n"
    for name in methods_of(owner):
        method = getattr(of, name)
        yield f"### {name}\n\n```text\n{signature(name, method)}\n```\n\n{_told(method)}\n"


def methods_of(owner: type) -> list[str]:
    """The public methods that stand in a class itself."""
    names = [name for name in vars(owner) if not name.startswith("_") and name not in HIDDEN]
    return [name for name in names if callable(getattr(owner, name))]


def values() -> list[type]:
    """What the package hands out that is made of fields."""
    named = [getattr(fairhold, name) for name in fairhold.__all__]
    kept = [it for it in named if isinstance(it, type) and it is not Fairhold and it is not SyncFairhold]
    return [it for it in kept if _fields(it)]


def signature(name: str, method: Any) -> str:
    asked = inspect.signature(method)
    shown = list(_parameters(asked))
    # Who reads wants to know what `async with` gives, not how it is made.
    answers = str(asked.return_annotation).replace("AsyncIterator[", "AbstractAsyncContextManager[")
    line = f"{name}({', '.join(shown)}) -> {answers}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {one},\n" for one in shown) + f") -> {answers}"


def _parameters(asked: inspect.Signature) -> Iterator[str]:
    by_name = False
    for it in asked.parameters.values():
        if it.name == "self":
            continue
        if it.kind is it.KEYWORD_ONLY and not by_name:
            by_name = True
            yield "*"
        rest = "**" if it.kind is it.VAR_KEYWORD else ""
        default = "" if it.default is it.empty else f" = {it.default!r}"
        yield f"{rest}{it.name}: {it.annotation}{default}"
        if it.kind is it.POSITIONAL_ONLY:
            yield "/"


def _told(method: Any) -> str:
    told = inspect.getdoc(method)
    assert told, f"{method.__qualname__} says nothing of itself"
    return told


def value(kind: type) -> Iterator[str]:
    told = " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())
    yield f"### {kind.__name__}\n\n{told}\n\n| field | type |\n|---|---|"
    for name, annotation in _fields(kind).items():
        # A bar would end the cell.
        yield f"| `{name}` | {annotation.replace(' | ', ' or ')} |"
    yield ""


def _fields(kind: type) -> dict[str, str]:
    return {name: it for name, it in getattr(kind, "__annotations__", {}).items() if not name.startswith("_")}
