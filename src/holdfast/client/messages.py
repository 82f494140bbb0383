"""What can be asked about messages: how they fared, webhooks, an org's own words, contacts of staff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.client.asking import Asking
from holdfast.client.asking import name_in_path as _name
from holdfast.core.refusals import Refusal
from holdfast.http.members import Removed
from holdfast.http.operations import Page
from holdfast.http.webhooks import Webhook
from holdfast.origin_commands import Origin
from holdfast.records import (
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
        path = f"/v1/pools/{_name(pool)}/messages"
        return await self._ask(Page[Message], "GET", path, query={"cursor": cursor, "limit": limit})

    async def messages_about(self, booking: str) -> Page[Message] | Refusal:
        """What was told about a booking."""
        return await self._ask(Page[Message], "GET", f"/v1/bookings/{_name(booking)}/messages")

    async def message(self, message: str) -> MessageFate | Refusal:
        """A message, and how it fared at each of its targets."""
        return await self._ask(MessageFate, "GET", f"/v1/messages/{_name(message)}")

    async def dead_letters(self, *, cursor: str = "", limit: int = 100) -> Page[Message] | Refusal:
        """The messages that were given up."""
        query = {"cursor": cursor, "limit": limit}
        return await self._ask(Page[Message], "GET", "/v1/dead-letters", query=query)

    async def replay(self, message: str, *, idempotency_key: Key = None) -> MessageFate | Refusal:
        """Send a dead letter again, to those who were not reached."""
        path = f"/v1/messages/{_name(message)}/replay"
        return await self._ask(MessageFate, "POST", path, key=idempotency_key)

    async def dismiss(self, message: str, *, idempotency_key: Key = None) -> MessageFate | Refusal:
        """Put a dead letter away; it stays as it is, and can still be replayed."""
        path = f"/v1/messages/{_name(message)}/dismiss"
        return await self._ask(MessageFate, "POST", path, key=idempotency_key)

    # Webhooks.

    async def add_webhook(
        self, url: str, *, payload: str = "full", kinds: Sequence[str] = (), idempotency_key: Key = None
    ) -> Webhook | Refusal:
        """Tell a program too; the answer has the secret that messages to it are signed with."""
        body = {"url": url, "payload": payload, "kinds": list(kinds)}
        return await self._ask(Webhook, "POST", "/v1/webhooks", body, key=idempotency_key)

    async def webhooks(self) -> Page[Webhook] | Refusal:
        return await self._ask(Page[Webhook], "GET", "/v1/webhooks")

    async def webhook(self, webhook: str) -> Webhook | Refusal:
        return await self._ask(Webhook, "GET", f"/v1/webhooks/{_name(webhook)}")

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
        path = f"/v1/webhooks/{_name(webhook)}"
        said: dict[str, Any] = {"url": url, "payload": payload, "kinds": kinds and list(kinds)}
        body = {name: value for name, value in said.items() if value is not None}
        return await self._ask(Webhook, "PATCH", path, body, key=idempotency_key)

    async def remove_webhook(self, webhook: str, *, idempotency_key: Key = None) -> Removed | Refusal:
        """Tell this program no more."""
        path = f"/v1/webhooks/{_name(webhook)}"
        return await self._ask(Removed, "DELETE", path, key=idempotency_key)

    async def rotate_webhook(self, webhook: str, *, idempotency_key: Key = None) -> Webhook | Refusal:
        """Give a webhook a new secret, which the answer has."""
        path = f"/v1/webhooks/{_name(webhook)}/rotate"
        return await self._ask(Webhook, "POST", path, key=idempotency_key)

    async def test_webhook(self, webhook: str, *, idempotency_key: Key = None) -> WebhookTest | Refusal:
        """Send a test now, once; how it went."""
        path = f"/v1/webhooks/{_name(webhook)}/test"
        return await self._ask(WebhookTest, "POST", path, key=idempotency_key)

    async def deliveries(
        self, webhook: str, *, cursor: str = "", limit: int = 100
    ) -> Page[WebhookDelivery] | Refusal:
        """What was sent to a webhook, the latest first."""
        path = f"/v1/webhooks/{_name(webhook)}/deliveries"
        query = {"cursor": cursor, "limit": limit}
        return await self._ask(Page[WebhookDelivery], "GET", path, query=query)

    async def replay_delivery(
        self, webhook: str, message: str, *, idempotency_key: Key = None
    ) -> MessageFate | Refusal:
        """Send a message to a webhook once more, and to nobody else."""
        path = f"/v1/webhooks/{_name(webhook)}/deliveries/{_name(message)}/replay"
        return await self._ask(MessageFate, "POST", path, key=idempotency_key)

    # An org's own words.

    async def templates(self) -> Page[Template] | Refusal:
        """What the org says in its own words."""
        return await self._ask(Page[Template], "GET", "/v1/templates")

    async def template(self, kind: str, language: str, part: str) -> Template | Refusal:
        path = f"/v1/templates/{_name(kind)}/{_name(language)}/{_name(part)}"
        return await self._ask(Template, "GET", path)

    async def set_template(self, kind: str, language: str, part: str, text: str) -> Template | Refusal:
        """Say a part (subject, body or sms) of a kind of message in one's own words."""
        path = f"/v1/templates/{_name(kind)}/{_name(language)}/{_name(part)}"
        return await self._ask(Template, "PUT", path, {"text": text})

    async def drop_template(
        self, kind: str, language: str, part: str, *, idempotency_key: Key = None
    ) -> Removed | Refusal:
        """Go back to Holdfast's words."""
        path = f"/v1/templates/{_name(kind)}/{_name(language)}/{_name(part)}"
        return await self._ask(Removed, "DELETE", path, key=idempotency_key)

    async def preview(
        self, kind: str, language: str = "en", *, own: Mapping[str, str] | None = None
    ) -> Page[Preview] | Refusal:
        """How a kind of message reads, with invented people; `own` are words to try out."""
        path = f"/v1/previews/{_name(kind)}/{_name(language)}"
        return await self._ask(Page[Preview], "POST", path, dict(own or {}))

    # Contacts of staff.

    async def staff_contacts(self) -> Page[StaffContact] | Refusal:
        return await self._ask(Page[StaffContact], "GET", "/v1/staff-contacts")

    async def add_staff_contact(
        self, notifier: str, address: str, *, locale: str = "", idempotency_key: Key = None
    ) -> StaffContact | Refusal:
        """Tell somebody of staff what needs them: by "email", "sms" or "apprise"."""
        body = {"notifier": notifier, "address": address, "locale": locale}
        return await self._ask(StaffContact, "POST", "/v1/staff-contacts", body, key=idempotency_key)

    async def remove_staff_contact(self, contact: str, *, idempotency_key: Key = None) -> Removed | Refusal:
        """Tell them no more."""
        path = f"/v1/staff-contacts/{_name(contact)}"
        return await self._ask(Removed, "DELETE", path, key=idempotency_key)

    # Web sites that may show the org's pages.

    async def origins(self) -> Page[Origin] | Refusal:
        return await self._ask(Page[Origin], "GET", "/v1/origins")

    async def allow_origin(self, origin: str) -> Origin | Refusal:
        """Let a web site show the org's pages in a frame; allowed twice is allowed once."""
        return await self._ask(Origin, "PUT", "/v1/origins", {"origin": origin})

    async def remove_origin(self, origin: str) -> Origin | Refusal:
        """Let it no more, by its id."""
        return await self._ask(Origin, "DELETE", f"/v1/origins/{_name(origin)}")
