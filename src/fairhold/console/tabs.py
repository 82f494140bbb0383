"""The settings, as tabs: each a page of its own, and only those that one may open are shown."""

from __future__ import annotations

import secrets
from typing import Any, Final

from fairhold.console import chooser
from fairhold.console.calls import Call
from fairhold.core.refusals import Refusal
from fairhold.http.operations import ADMINS, READERS
from fairhold.pages.answers import Answer

HOME: Final = "/console/settings"
TABS: Final = (
    ("you", HOME, READERS),
    ("words", f"{HOME}/words", READERS),
    ("members", f"{HOME}/members", ADMINS),
    ("keys", f"{HOME}/keys", ADMINS),
    ("webhooks", f"{HOME}/webhooks", ADMINS),
    ("places", f"{HOME}/places", ADMINS),
)


async def show(
    call: Call, template: str, tab: str, *, here: str, refused: object = None, **variables: Any
) -> Answer:
    """A page of the settings; with what was refused, if something was."""
    no = refused if isinstance(refused, Refusal) else None
    return await call.show(
        template,
        "settings",
        here=here,
        speech=call.speech(chooser.usual_zone(await chooser.names(call))),
        status=422 if no is not None else 200,
        tab=tab,
        tabs=[(name, path) for name, path, roles in TABS if call.access.role in roles],
        refused=no,
        # Names what is about to be made, so that sending the form twice makes it once.
        once=secrets.token_hex(12),
        **variables,
    )


def once(call: Call) -> str | None:
    """The name that the form gave to what it makes, as an idempotency key."""
    said = call.form.get("once", "")
    return f"console {said}" if said.isalnum() and len(said) <= 40 else None
