"""Where a message goes: the party's e-mail and phone, the org's webhooks, the contacts of staff."""

from __future__ import annotations

from collections.abc import Container
from typing import Final, NamedTuple

import msgspec

from holdfast import tokens
from holdfast.messages.notice import Notice
from holdfast.store.base import Reader

# So little time may be left that they go first, and every way is tried; anything else comes once.
URGENT: Final = ("offer", "promoted", "hold_ending")
_PHONES: Final = ("phone", "sms", "mobile")

_kinds = msgspec.json.Decoder(tuple[str, ...])


class Target(NamedTuple):
    """One receiver of a message. `name` stands in the deliveries, and holds no address."""

    name: str
    notifier: str
    address: str
    locale: str = ""
    secret: str = ""
    thin: bool = False

    @property
    def is_the_party(self) -> bool:
        """Whether it reaches the very person that the message is for."""
        return self.name in ("email", "sms")


async def targets_of(
    reader: Reader, notice: Notice, notifiers: Container[str], secret: str, locale: str
) -> list[Target]:
    """Everyone to be told of a message. Who has no address that we can use is told in the log."""
    org = notice.pool.org
    if notice.to == "party":
        found = party_targets(notice, notifiers)
    else:
        rows = await reader.rows("contacts_of", org)
        found = [
            Target(f"{notifier}:{name}", notifier, address, spoken or locale)
            for name, notifier, address, spoken, _ in rows
            if notifier in notifiers
        ]
    found = found or [Target("log", "log", "", locale)]
    for name, url, payload, kinds, generation, _ in await reader.rows("webhooks_of", org):
        if not (wanted := _kinds.decode(kinds)) or notice.kind in wanted:
            signing = tokens.webhook_secret(secret, org, name, generation)
            found.append(Target(f"webhook:{name}", "webhook", url, "", signing, payload == "thin"))
    return found


def party_targets(notice: Notice, notifiers: Container[str]) -> list[Target]:
    """E-mail, and a text as well if it is urgent or there is no e-mail."""
    if notice.booking is None:
        return []
    party, found = notice.booking.party, list[Target]()
    if (address := party.contacts.get("email")) and "email" in notifiers:
        found.append(Target("email", "email", address, party.locale))
    number = next((party.contacts[name] for name in _PHONES if party.contacts.get(name)), "")
    if number and "sms" in notifiers and (not found or notice.kind in URGENT):
        found.append(Target("sms", "sms", number, party.locale))
    return found
