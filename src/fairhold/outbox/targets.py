"""Where a message goes: the party's e-mail and phone, the org's webhooks, the contacts of staff."""

from __future__ import annotations

from collections.abc import Container
from typing import Final, NamedTuple

import msgspec

from fairhold import tokens
from fairhold.core.model import NO_CHANNEL, NO_CONTACT, Booking
from fairhold.messages.notice import Notice
from fairhold.store.base import Reader

# So little time may be left that they go first, and every way is tried; anything else comes once.
URGENT: Final = ("offer", "promoted", "hold_ending")
PHONES: Final = ("phone", "sms", "mobile")

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


class Nobody(NamedTuple):
    """Why a message can be told to nobody: a reason, one of UNREACHABLE, and a sentence for staff."""

    reason: str
    sentence: str


async def targets_of(
    reader: Reader, notice: Notice, notifiers: Container[str], secret: str, locale: str
) -> list[Target]:
    """Return everyone to be told of a message, if there is anybody whom a channel can tell."""
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
    for name, url, payload, kinds, generation, _ in await reader.rows("webhooks_of", org):
        if carries(kinds, notice.kind):
            signing = tokens.webhook_secret(secret, org, name, generation)
            found.append(Target(f"webhook:{name}", "webhook", url, "", signing, payload == "thin"))
    return found


def nobody_to_tell(notice: Notice) -> Nobody:
    """Say why there is no target for a message: what is missing, and which setting would mend it."""
    if notice.to != "party":
        return Nobody(NO_CONTACT, "no contact of staff is set up")
    contacts = notice.booking.party.contacts if notice.booking is not None else {}
    has_email, has_phone = bool(contacts.get("email")), any(contacts.get(name) for name in PHONES)
    if not has_email and not has_phone:
        return Nobody(NO_CONTACT, "there is no e-mail address and no phone number")
    if not has_phone:
        return Nobody(NO_CHANNEL, "no mail server is set up: FAIRHOLD_SMTP_URL")
    if not has_email:
        return Nobody(NO_CHANNEL, "no text service is set up: FAIRHOLD_SMS_URL")
    return Nobody(NO_CHANNEL, "no mail server or text service is set up: FAIRHOLD_SMTP_URL, FAIRHOLD_SMS_URL")


def party_targets(notice: Notice, notifiers: Container[str]) -> list[Target]:
    """E-mail, and a text as well if it is urgent or there is no e-mail."""
    return contacts_carried(notice.booking, notifiers, notice.kind) if notice.booking is not None else []


def carries(kinds: str, kind: str) -> bool:
    """Return True if a webhook that subscribed to these kinds is told of this one."""
    wanted = _kinds.decode(kinds)
    return not wanted or kind in wanted


def contacts_carried(booking: Booking, notifiers: Container[str], kind: str = "offer") -> list[Target]:
    """Return those contacts of a booking's party that a channel can carry a message to."""
    party, found = booking.party, list[Target]()
    if (address := party.contacts.get("email")) and "email" in notifiers:
        found.append(Target("email", "email", address, party.locale))
    number = next((party.contacts[name] for name in PHONES if party.contacts.get(name)), "")
    if number and "sms" in notifiers and (not found or kind in URGENT):
        found.append(Target("sms", "sms", number, party.locale))
    return found
