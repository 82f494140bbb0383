"""What runs beside the API in every process of the service, on the same database.

Each is made with the open Holdfast, started once the database is open, and closed before it is.
"""

from __future__ import annotations

from holdfast.http.service import Make
from holdfast.http.settings import Settings
from holdfast.keeping.keeper import Keeper
from holdfast.library import Holdfast
from holdfast.notifiers.choose import notifiers_to_try_out
from holdfast.outbox import MessageSettings, Outbox


def components_of(settings: Settings) -> tuple[Make, ...]:
    """All of them. Messages link to where this very service is, unless another address was said."""

    def outbox(hf: Holdfast) -> Outbox:
        messages = MessageSettings.from_environment(here=settings.site)
        return Outbox(hf, messages, notifiers_to_try_out(messages, hf.clock))

    return (outbox, Keeper)
