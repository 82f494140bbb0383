"""Chat and a hundred other services, through Apprise: `pip install 'fairhold[apprise]'`. For staff."""

from __future__ import annotations

from collections.abc import Collection

from fairhold.errors import ExtraMissing
from fairhold.extras import needs
from fairhold.notifiers.apprise.schemes import may_use
from fairhold.notifiers.base import Outgoing, Permanent, Temporary


class AppriseNotifier:
    """Tells one Apprise address, such as slack://… or discord://…; `also` are schemes to use besides."""

    def __init__(self, also: Collection[str] = ()) -> None:
        self._also = also

    async def send(self, message: Outgoing) -> None:
        try:
            with needs("apprise", "Apprise"):
                import apprise
        except ExtraMissing as error:
            # Whoever installs it now reaches those to whom messages are still to be sent.
            raise Temporary(str(error)) from error
        # Of a text Apprise would make several addresses; this is one, or none.
        told = apprise.Apprise.instantiate(message.address)
        if told is None:
            raise Permanent("this is no address that Apprise knows")
        # It is asked what it has made of the address, for it knows more spellings than we do.
        if not any(may_use(scheme, self._also) for scheme in told.schemas()):  # type: ignore[no-untyped-call]
            raise Permanent("this service goes to any host that it is given: see FAIRHOLD_APPRISE_SCHEMES")
        service = apprise.Apprise()
        service.add(told)
        if not await service.async_notify(title=message.subject, body=message.text):
            raise Temporary("the service did not take it")
