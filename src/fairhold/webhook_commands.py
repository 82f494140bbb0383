"""What the library does about webhooks: where programs of an org are told, and how that went."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from fairhold import ids, inputs, tokens
from fairhold.clock import real_now, to_datetime, to_text
from fairhold.core.refusals import Refusal, invalid, unknown
from fairhold.door import Door
from fairhold.errors import NotRehearsed
from fairhold.extras import needs
from fairhold.once import answered, keep, once
from fairhold.reads import PAGE_MAX
from fairhold.records import Webhook, WebhookDelivery, WebhookTest, webhook_delivery
from fairhold.store import rows
from fairhold.store.base import Row, Transaction

if TYPE_CHECKING:
    from fairhold.notifiers.webhook.guard import Guard

WEBHOOKS_MAX: Final = 50
PAYLOADS: Final = ("full", "thin")
_WEBHOOKS: Final = "webhooks"
_PLACE: Final = re.compile(r"([0-9]{1,15})-(p[0-9a-z]{13}-[0-9]{1,18}-[0-9]{1,9})")
_LOOK_UP_S: Final = 3.0
_LATEST: Final = (2**62, -1, -1, -1)
_GONE: Final = Refusal("unknown", "There was no such.")


class WebhookCommands(Door):
    """Webhooks. What only says who is told is no command of the core's."""

    async def webhooks(self) -> list[Webhook]:
        """Where programs of this org are told, each with the secret that its messages are signed with."""
        found = await self.store.reader().rows("webhooks_of", self.org)
        return [self._webhook(row) for row in found]

    async def webhook(self, webhook: str) -> Webhook | Refusal:
        """One of them."""
        row = await self._webhook_row(webhook)
        return unknown("webhook", webhook) if row is None else self._webhook(row)

    async def add_webhook(
        self,
        url: str,
        *,
        payload: str = "full",
        kinds: Sequence[str] = (),
        idempotency_key: str | None = None,
    ) -> Webhook | Refusal:
        """Tell a program of messages too: of all kinds, or of these."""
        said = ("add_webhook", url, payload, list(kinds) if isinstance(kinds, list | tuple) else kinds)
        found = _wrong(url, payload, kinds) or await self._leads_inside(url, idempotency_key, said)
        if found:
            return found
        now = self.clock.now()

        async def work(tx: Transaction) -> str | Refusal:
            if len(await tx.rows("webhooks_of", self.org)) >= WEBHOOKS_MAX:
                return Refusal("not_possible", f"An org has at most {WEBHOOKS_MAX} webhooks.")
            name = ids.new_name("wh")
            await tx.run("put_webhook", self.org, name, url, payload, rows.text(tuple(kinds)), 1, now)
            return name

        answer = await once(self.store, self.org, idempotency_key, said, now, work)
        return answer if isinstance(answer, Refusal) else await self.webhook(answer)

    async def change_webhook(
        self,
        webhook: str,
        *,
        url: str | None = None,
        payload: str | None = None,
        kinds: Sequence[str] | None = None,
        idempotency_key: str | None = None,
    ) -> Webhook | Refusal:
        """Change where a webhook goes or what it is told; what is not said stays, and so does its secret."""

        def changed(row: Row) -> Row | Refusal:
            now_kinds = msgspec.json.decode(row[3]) if kinds is None else kinds
            told = (row[1] if url is None else url, row[2] if payload is None else payload, now_kinds)
            return _wrong(*told) or (row[0], told[0], told[1], rows.text(tuple(told[2])), *row[4:])

        said = ("change_webhook", webhook, url, payload, kinds)
        if url is not None:
            refused = _wrong(url, PAYLOADS[0], ()) or await self._leads_inside(url, idempotency_key, said)
            if refused:
                return refused
        return await self._put(webhook, said, idempotency_key, changed)

    async def _leads_inside(self, url: str, key: str | None, said: Any) -> Refusal | None:
        """Refuse an address that is none of the open internet, as far as that is known now.

        A name that cannot be resolved today may be tomorrow. Where a name leads is looked at again before
        anything is sent.
        """
        from fairhold.notifiers.base import Permanent, Undelivered

        if await answered(self.store, self.org, key, said) is not None:
            return None
        try:
            async with asyncio.timeout(_LOOK_UP_S):
                await self._guard().resolve(url)
        except Permanent:
            return invalid("url", "A webhook goes to a public address, and this is none.")
        except (Undelivered, TimeoutError):
            return None
        return None

    def _guard(self) -> Guard:
        with needs("messages", _WEBHOOKS):
            from fairhold.notifiers.webhook.guard import Guard
            from fairhold.outbox.settings import webhooks_to_private

        return Guard(allows_private=webhooks_to_private())

    async def rotate_webhook(self, webhook: str, *, idempotency_key: str | None = None) -> Webhook | Refusal:
        """Give a webhook a new secret; the old one is good for nothing from now on."""
        said = ("rotate_webhook", webhook)
        return await self._put(webhook, said, idempotency_key, lambda row: (*row[:4], row[4] + 1, row[5]))

    async def remove_webhook(self, webhook: str, *, idempotency_key: str | None = None) -> bool | Refusal:
        """Tell this program no more; whether there was one."""
        return await self._dropped(
            idempotency_key,
            ("remove_webhook", webhook),
            lambda tx: tx.rows("drop_webhook", self.org, webhook),
        )

    async def test_webhook(
        self, webhook: str, *, idempotency_key: str | None = None
    ) -> WebhookTest | Refusal:
        """Send a test to a webhook, now and once; how it went."""
        from fairhold.notifiers.base import Undelivered

        if self._rehearses:
            raise NotRehearsed("There is no dry run of a test")
        said = ("test_webhook", webhook)
        before = await answered(self.store, self.org, idempotency_key, said)
        if before is not None:
            return before if isinstance(before, Refusal) else msgspec.json.decode(before, type=WebhookTest)
        row = await self._webhook_row(webhook)
        if row is None:
            return unknown("webhook", webhook)
        outgoing, notifier = self._test_of(row)
        told = WebhookTest(outgoing.id, "sent", "")
        try:
            await notifier.send(outgoing)
        except Undelivered as error:
            told = WebhookTest(outgoing.id, "failed", " ".join(str(error).split())[:500])
        await keep(self.store, self.org, idempotency_key, said, self.clock.now(), rows.text(told))
        return told

    def _test_of(self, row: Row) -> tuple[Any, Any]:
        from fairhold.notifiers.base import Outgoing
        from fairhold.notifiers.webhook import WebhookNotifier

        name, now = ids.new_name("test"), self.clock.now()
        payload = {"type": "test", "timestamp": to_text(now), "data": {"webhook": row[0]}}
        secret = tokens.webhook_secret(self.secret, self.org, row[0], row[4])
        outgoing = Outgoing(
            name, "test", row[1], payload=payload, secret=secret, sent_at=real_now(self.clock)
        )
        return outgoing, WebhookNotifier(self._guard())

    async def deliveries(
        self, webhook: str, *, after: str | None = None, limit: int = 100
    ) -> list[WebhookDelivery] | Refusal:
        """What was sent to a webhook, the latest first, from behind one of them (its `place`)."""
        from fairhold.messages.notice import key_of

        try:
            inputs.whole(limit, "limit", 1)
        except inputs.Bad as bad:
            return bad.refusal
        if await self._webhook_row(webhook) is None:
            return unknown("webhook", webhook)
        place: Sequence[int] = _LATEST
        if after is not None:
            found = _PLACE.fullmatch(after)
            key = key_of(found[2]) if found else None
            if found is None or key is None:
                return invalid("after", "after must be the place of a delivery.")
            place = (int(found[1]), *key)
        told = await self.store.reader().rows(
            "deliveries_to", f"webhook:{webhook}", *place, min(limit, PAGE_MAX)
        )
        return [webhook_delivery(row) for row in told]

    async def _put(
        self, webhook: str, said: Any, key: str | None, change: Callable[[Row], Row | Refusal]
    ) -> Webhook | Refusal:
        async def work(tx: Transaction) -> str | Refusal:
            row = _named(await tx.rows("webhooks_of", self.org), webhook)
            if row is None:
                return unknown("webhook", webhook)
            changed = change(row)
            if isinstance(changed, Refusal):
                return changed
            await tx.run("put_webhook", self.org, *changed)
            return webhook

        answer = await once(self.store, self.org, key, said, self.clock.now(), work)
        return answer if isinstance(answer, Refusal) else await self.webhook(answer)

    async def _dropped(
        self, key: str | None, said: Any, drop: Callable[[Transaction], Awaitable[Sequence[Row]]]
    ) -> bool | Refusal:
        async def work(tx: Transaction) -> str | Refusal:
            return "dropped" if await drop(tx) else _GONE

        answer = await once(self.store, self.org, key, said, self.clock.now(), work)
        return (answer if answer.code != _GONE.code else False) if isinstance(answer, Refusal) else True

    async def _webhook_row(self, webhook: str) -> Row | None:
        return _named(await self.store.reader().rows("webhooks_of", self.org), webhook)

    def _webhook(self, row: Row) -> Webhook:
        name, url, payload, kinds, generation, created_at = row
        secret = tokens.webhook_secret(self.secret, self.org, name, generation)
        return Webhook(name, url, payload, rows.texts_of(kinds), secret, to_datetime(created_at))


def _named(found: Sequence[Row], webhook: str) -> Row | None:
    return next((row for row in found if row[0] == webhook), None)


def _wrong(url: object, payload: object, kinds: object) -> Refusal | None:
    with needs("messages", _WEBHOOKS):
        from fairhold.messages.wording import KINDS
        from fairhold.outbox.settings import webhooks_to_private

    try:
        parts = urlsplit(inputs.text(url, "url", 2_000, empty=False))
        named = parts.hostname is not None and parts.port != 0 and parts.username is None
    except inputs.Bad as bad:
        return bad.refusal
    except ValueError:
        return invalid("url", "This is no address.")
    schemes = ("https", "http") if webhooks_to_private() else ("https",)
    if not named or parts.scheme not in schemes:
        return invalid("url", "A webhook needs an https address without a password in it.")
    if payload not in PAYLOADS:
        return invalid("payload", "payload must be full or thin.")
    if not isinstance(kinds, list | tuple) or any(kind not in KINDS for kind in kinds):
        return invalid("kinds", f"kinds must be a list of: {', '.join(KINDS)}.")
    return None
