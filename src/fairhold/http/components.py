"""What runs beside the API in every process of the service, on the same database.

Each is made with the open Fairhold, started once the database is open, and closed before it is.
"""

from __future__ import annotations

from fairhold.http.service import Make
from fairhold.http.settings import Settings
from fairhold.keeping.keeper import Keeper
from fairhold.library import Fairhold
from fairhold.notifiers.choose import notifiers_to_try_out
from fairhold.outbox import MessageSettings, Outbox


def components_of(settings: Settings) -> tuple[Make, ...]:
    """All of them. Messages link to where this very service is, unless another address was said."""

    def outbox(hf: Fairhold) -> Outbox:
        messages = MessageSettings.from_environment(here=settings.site)
        return Outbox(hf, messages, notifiers_to_try_out(messages, hf.clock))

    return (outbox, Keeper)
