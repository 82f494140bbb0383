"""What the library does about messages: dead letters, an org's own words, webhooks, contacts of staff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from holdfast import ids, inputs, records, tokens
from holdfast.clock import to_datetime
from holdfast.core.refusals import Refusal, invalid, unknown
from holdfast.door import Door
from holdfast.reads import PAGE_MAX
from holdfast.records import Message, MessageFate, Preview, StaffContact, Template, Webhook
from holdfast.store import rows

if TYPE_CHECKING:
    from holdfast.outbox import Outbox

_ANYWHERE: Final = (-1, 0, 0)
_NOTIFIERS: Final = ("email", "sms", "apprise")


class MessageCommands(Door):
    """Messages, for staff. What only says how things are said is no command of the core's."""

    # Who sends them in this process, if anybody does.
    outbox: Outbox | None = None

    async def message(self, message: str) -> MessageFate | Refusal:
        """One message by its id, with how it fared at each of its targets."""
        from holdfast.messages.notice import key_of

        key = key_of(message)
        found: Sequence[Any] = ()
        if key is not None and await self._is_ours(key.pool_id):
            found = await self.store.reader().rows("read_message", *key)
        if key is None or not found:
            return unknown("message", message)
        told = await self.store.reader().rows("deliveries_of", *key)
        return records.message_fate(found[0], told)

    async def dead_letters(self, *, after: str | None = None, limit: int = 100) -> list[Message] | Refusal:
        """The messages of this org that were given up, from behind one of them."""
        from holdfast.messages.notice import key_of

        key = _ANYWHERE if after is None else key_of(after)
        if key is None:
            return unknown("message", after)
        found = await self.store.reader().rows("read_dead", self.org, *key, max(1, min(limit, PAGE_MAX)))
        return [records.message(row) for row in found]

    async def replay(self, message: str) -> MessageFate | Refusal:
        """Send a dead letter again, to those who were not reached."""
        from holdfast.messages.notice import key_of

        known = await self.message(message)
        key = key_of(message)
        if isinstance(known, Refusal) or key is None:
            return known
        tx = await self.store.begin()
        try:
            done = await tx.rows("replay_message", *key, self.clock.now())
            await tx.run("replay_deliveries", *key)
            await tx.many("notify", [("messages",)])
            await tx.commit()
        finally:
            await tx.rollback()
        if not done:
            return Refusal("not_possible", f"A message that is {known.state} cannot be replayed.")
        if self.engine.on_messages is not None:
            self.engine.on_messages()
        return await self.message(message)

    async def templates(self) -> list[Template]:
        """What this org says in its own words."""
        found = await self.store.reader().rows("templates_of", self.org)
        return [
            Template(kind, language, part, text, by, to_datetime(at))
            for kind, language, part, text, by, at in found
        ]

    async def set_template(
        self, kind: str, language: str, part: str, text: str, *, by: str = "staff"
    ) -> Template | Refusal:
        """Say one part (subject, body or sms) of a kind of message in this org's own words."""
        from holdfast.messages.own_words import problem

        if found := problem(kind, language, part, text):
            return found
        try:
            inputs.text(text, "text", 5_000, empty=False)
            inputs.text(by, "by")
        except inputs.Bad as bad:
            return bad.refusal
        now = self.clock.now()
        await self._run("put_template", self.org, kind, language, part, text, by, now)
        return Template(kind, language, part, text, by, to_datetime(now))

    async def drop_template(self, kind: str, language: str, part: str) -> bool:
        """Go back to Holdfast's words; whether there were others."""
        return await self._run("drop_template", self.org, kind, language, part)

    async def preview(
        self, kind: str, language: str = "en", *, own: Mapping[str, str] | None = None
    ) -> list[Preview] | Refusal:
        """What is said in each case of a kind of message, with invented people.

        `own` are parts (subject, body, sms) to try out; what is not among them is as the org has it now.
        """
        from holdfast.messages.own_words import problem
        from holdfast.messages.preview import preview

        for part, text in (own or {}).items() or (("subject", "-"),):
            if found := problem(kind, language, part, text):
                return found
        kept = await self.store.reader().rows("templates_of", self.org)
        overrides = {(row[0], row[1], row[2]): row[3] for row in kept}
        overrides |= {(kind, language, part): text for part, text in (own or {}).items()}
        return preview(kind, language, overrides)

    async def webhooks(self) -> list[Webhook]:
        """Where programs of this org are told, each with the secret that its messages are signed with."""
        found = await self.store.reader().rows("webhooks_of", self.org)
        return [self._webhook(row) for row in found]

    async def add_webhook(
        self, url: str, *, payload: str = "full", kinds: Sequence[str] = ()
    ) -> Webhook | Refusal:
        """Tell a program of messages too: of all kinds, or of these."""
        if found := _wrong_webhook(url, payload, kinds):
            return found
        row = (ids.new_name("wh"), url, payload, rows.text(tuple(kinds)), 1, self.clock.now())
        await self._run("put_webhook", self.org, *row)
        return self._webhook(row)

    async def rotate_webhook(self, webhook: str) -> Webhook | Refusal:
        """Give a webhook a new secret; the old one is good for nothing from now on."""
        for row in await self.store.reader().rows("webhooks_of", self.org):
            if row[0] == webhook:
                turned = (*row[:4], row[4] + 1, row[5])
                await self._run("put_webhook", self.org, *turned)
                return self._webhook(turned)
        return unknown("webhook", webhook)

    async def remove_webhook(self, webhook: str) -> bool:
        return await self._run("drop_webhook", self.org, webhook)

    async def staff_contacts(self) -> list[StaffContact]:
        """Who of staff is told what needs them."""
        found = await self.store.reader().rows("contacts_of", self.org)
        return [
            StaffContact(name, notifier, address, locale, to_datetime(at))
            for name, notifier, address, locale, at in found
        ]

    async def add_staff_contact(
        self, notifier: str, address: str, *, locale: str = ""
    ) -> StaffContact | Refusal:
        """Tell staff there: by "email", "sms" or "apprise"."""
        try:
            inputs.text(address, "address", 1_000, empty=False)
            inputs.text(locale, "locale", 35)
        except inputs.Bad as bad:
            return bad.refusal
        if notifier not in _NOTIFIERS:
            return invalid("notifier", f"notifier must be one of: {', '.join(_NOTIFIERS)}.")
        name, now = ids.new_name("sc"), self.clock.now()
        await self._run("put_contact", self.org, name, notifier, address, locale, now)
        return StaffContact(name, notifier, address, locale, to_datetime(now))

    async def remove_staff_contact(self, contact: str) -> bool:
        return await self._run("drop_contact", self.org, contact)

    def _webhook(self, row: Sequence[Any]) -> Webhook:
        name, url, payload, kinds, generation, created_at = row
        secret = tokens.webhook_secret(self.secret, self.org, name, generation)
        return Webhook(name, url, payload, rows.texts_of(kinds), secret, to_datetime(created_at))

    async def _run(self, query: str, *values: Any) -> bool:
        tx = await self.store.begin()
        try:
            found = await tx.rows(query, *values)
            await tx.commit()
        finally:
            await tx.rollback()
        return bool(found)


def _wrong_webhook(url: object, payload: object, kinds: object) -> Refusal | None:
    from holdfast.messages.wording import KINDS
    from holdfast.outbox.settings import webhooks_to_private

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
    if payload not in ("full", "thin"):
        return invalid("payload", "payload must be full or thin.")
    if not isinstance(kinds, list | tuple) or any(kind not in KINDS for kind in kinds):
        return invalid("kinds", f"kinds must be a list of: {', '.join(KINDS)}.")
    return None
