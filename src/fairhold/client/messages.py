"""What can be asked about messages: how they fared, webhooks, an org's own words, contacts of staff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairhold.client.asking import Asking
from fairhold.core.refusals import Refusal
from fairhold.http.members import Removed
from fairhold.http.operations import Page
from fairhold.http.webhooks import Webhook
from fairhold.origin_commands import Origin
from fairhold.records import (
    Message,
    MessageFate,
    Preview,
    StaffContact,
    Template,
    WebhookDelivery,
    WebhookTest,
)

Key = str | None


class MessageMethods(Asking):
    """Messages, and who is told."""

    async def messages(self, pool: str, *, cursor: str = "", limit: int = 100) -> Page[Message] | Refusal:
        """What a pool has told, in order."""
        path = "/v1/pools/{pool}/messages"
        return await self._ask(
            Page[Message], "GET", path, query={"cursor": cursor, "limit": limit}, pool=pool
        )

    async def messages_about(self, booking: str) -> Page[Message] | Refusal:
        """What was told about a booking."""
        return await self._ask(Page[Message], "GET", "/v1/bookings/{booking}/messages", booking=booking)

    async def message(self, message: str) -> MessageFate | Refusal:
        """A message, and how it fared at each of its targets."""
        return await self._ask(MessageFate, "GET", "/v1/messages/{message}", message=message)

    async def dead_letters(self, *, cursor: str = "", limit: int = 100) -> Page[Message] | Refusal:
        """The messages that were given up."""
        query = {"cursor": cursor, "limit": limit}
        return await self._ask(Page[Message], "GET", "/v1/dead-letters", query=query)

    async def replay(self, message: str, *, idempotency_key: Key = None) -> MessageFate | Refusal:
        """Send a dead letter again, to those who were not reached."""
        path = "/v1/messages/{message}/replay"
        return await self._ask(MessageFate, "POST", path, idempotency_key=idempotency_key, message=message)

    async def dismiss(self, message: str, *, idempotency_key: Key = None) -> MessageFate | Refusal:
        """Put a dead letter away; it stays as it is, and can still be replayed."""
        path = "/v1/messages/{message}/dismiss"
        return await self._ask(MessageFate, "POST", path, idempotency_key=idempotency_key, message=message)

    # Webhooks.

    async def add_webhook(
        self, url: str, *, payload: str = "full", kinds: Sequence[str] = (), idempotency_key: Key = None
    ) -> Webhook | Refusal:
        """Tell a program too; the answer has the secret that messages to it are signed with."""
        body = {"url": url, "payload": payload, "kinds": kinds}
        return await self._ask(Webhook, "POST", "/v1/webhooks", body, idempotency_key=idempotency_key)

    async def webhooks(self) -> Page[Webhook] | Refusal:
        """The webhooks, without their secrets."""
        return await self._ask(Page[Webhook], "GET", "/v1/webhooks")

    async def webhook(self, webhook: str) -> Webhook | Refusal:
        """A webhook, by its id."""
        return await self._ask(Webhook, "GET", "/v1/webhooks/{webhook}", webhook=webhook)

    async def change_webhook(
        self,
        webhook: str,
        *,
        url: str | None = None,
        payload: str | None = None,
        kinds: Sequence[str] | None = None,
        idempotency_key: Key = None,
    ) -> Webhook | Refusal:
        """Change where a webhook goes, or what it is told; what is not said stays."""
        path = "/v1/webhooks/{webhook}"
        said: dict[str, Any] = {"url": url, "payload": payload, "kinds": kinds}
        body = {name: value for name, value in said.items() if value is not None}
        return await self._ask(Webhook, "PATCH", path, body, idempotency_key=idempotency_key, webhook=webhook)

    async def remove_webhook(self, webhook: str, *, idempotency_key: Key = None) -> Removed | Refusal:
        """Tell this program no more."""
        path = "/v1/webhooks/{webhook}"
        return await self._ask(Removed, "DELETE", path, idempotency_key=idempotency_key, webhook=webhook)

    async def rotate_webhook(self, webhook: str, *, idempotency_key: Key = None) -> Webhook | Refusal:
        """Give a webhook a new secret, which the answer has."""
        path = "/v1/webhooks/{webhook}/rotate"
        return await self._ask(Webhook, "POST", path, idempotency_key=idempotency_key, webhook=webhook)

    async def test_webhook(self, webhook: str, *, idempotency_key: Key = None) -> WebhookTest | Refusal:
        """Send a test now, once; how it went."""
        path = "/v1/webhooks/{webhook}/test"
        return await self._ask(WebhookTest, "POST", path, idempotency_key=idempotency_key, webhook=webhook)

    async def deliveries(
        self, webhook: str, *, cursor: str = "", limit: int = 100
    ) -> Page[WebhookDelivery] | Refusal:
        """What was sent to a webhook, the latest first."""
        path = "/v1/webhooks/{webhook}/deliveries"
        query = {"cursor": cursor, "limit": limit}
        return await self._ask(Page[WebhookDelivery], "GET", path, query=query, webhook=webhook)

    async def replay_delivery(
        self, webhook: str, message: str, *, idempotency_key: Key = None
    ) -> MessageFate | Refusal:
        """Send a message to a webhook once more, and to nobody else."""
        path = "/v1/webhooks/{webhook}/deliveries/{message}/replay"
        return await self._ask(
            MessageFate, "POST", path, idempotency_key=idempotency_key, webhook=webhook, message=message
        )

    # An org's own words.

    async def templates(self) -> Page[Template] | Refusal:
        """What the org says in its own words."""
        return await self._ask(Page[Template], "GET", "/v1/templates")

    async def template(self, kind: str, language: str, part: str) -> Template | Refusal:
        """A part of a kind of message in the org's own words."""
        path = "/v1/templates/{kind}/{language}/{part}"
        return await self._ask(Template, "GET", path, kind=kind, language=language, part=part)

    async def set_template(self, kind: str, language: str, part: str, text: str) -> Template | Refusal:
        """Say a part (subject, body or sms) of a kind of message in one's own words."""
        path = "/v1/templates/{kind}/{language}/{part}"
        return await self._ask(Template, "PUT", path, {"text": text}, kind=kind, language=language, part=part)

    async def drop_template(
        self, kind: str, language: str, part: str, *, idempotency_key: Key = None
    ) -> Removed | Refusal:
        """Go back to Fairhold's words."""
        path = "/v1/templates/{kind}/{language}/{part}"
        return await self._ask(
            Removed, "DELETE", path, idempotency_key=idempotency_key, kind=kind, language=language, part=part
        )

    async def preview(
        self, kind: str, language: str = "en", *, own: Mapping[str, str] | None = None
    ) -> Page[Preview] | Refusal:
        """How a kind of message reads, with invented people; `own` are words to try out."""
        path = "/v1/previews/{kind}/{language}"
        return await self._ask(Page[Preview], "POST", path, dict(own or {}), kind=kind, language=language)

    # Contacts of staff.

    async def staff_contacts(self) -> Page[StaffContact] | Refusal:
        """Who of staff is told what needs them."""
        return await self._ask(Page[StaffContact], "GET", "/v1/staff-contacts")

    async def add_staff_contact(
        self, notifier: str, address: str, *, locale: str = "", idempotency_key: Key = None
    ) -> StaffContact | Refusal:
        """Tell somebody of staff what needs them: by "email", "sms" or "apprise"."""
        body = {"notifier": notifier, "address": address, "locale": locale}
        return await self._ask(
            StaffContact, "POST", "/v1/staff-contacts", body, idempotency_key=idempotency_key
        )

    async def remove_staff_contact(self, contact: str, *, idempotency_key: Key = None) -> Removed | Refusal:
        """Tell them no more."""
        path = "/v1/staff-contacts/{contact}"
        return await self._ask(Removed, "DELETE", path, idempotency_key=idempotency_key, contact=contact)

    # Web sites that may show the org's pages.

    async def origins(self) -> Page[Origin] | Refusal:
        """The web sites that may show the org's pages."""
        return await self._ask(Page[Origin], "GET", "/v1/origins")

    async def allow_origin(self, origin: str) -> Origin | Refusal:
        """Let a web site show the org's pages in a frame; allowed twice is allowed once."""
        return await self._ask(Origin, "PUT", "/v1/origins", {"origin": origin})

    async def remove_origin(self, origin: str) -> Origin | Refusal:
        """Let it no more, by its id."""
        return await self._ask(Origin, "DELETE", "/v1/origins/{origin}", origin=origin)
