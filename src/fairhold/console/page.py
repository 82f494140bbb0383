"""A page of the console, as data. Each file of this package lists its own in `PAGES`; `site` has them all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, NamedTuple

from fairhold.console.calls import Call
from fairhold.http.operations import ADMINS, ANYBODY, READERS, STAFFS
from fairhold.pages import forms
from fairhold.pages.answers import Answer

__all__ = ["ADMINS", "ANYBODY", "READERS", "STAFFS", "Handler", "Page"]

Reply = Answer | AsyncIterator[bytes]
Handler = Callable[[Call], Awaitable[Reply]]

BODY_MAX: Final = forms.BODY_MAX


class Page(NamedTuple):
    """One address: looking is GET and HEAD, a form is sent by POST; and who may do either."""

    path: str
    name: str
    look: Handler | None = None
    send: Handler | None = None
    lookers: frozenset[str] = READERS
    senders: frozenset[str] = STAFFS
    body_max: int = BODY_MAX
