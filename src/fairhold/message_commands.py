"""What the library does about messages: dead letters, an org's own words, contacts of staff."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from fairhold import command_words, ids, inputs, records
from fairhold.clock import to_datetime
from fairhold.contacts import is_email, is_phone
from fairhold.core.refusals import Refusal, invalid, unknown
from fairhold.extras import needs
from fairhold.once import once
from fairhold.reads import PAGE_MAX
from fairhold.records import Message, MessageFate, Preview, StaffContact, Template
from fairhold.store.base import Transaction
from fairhold.webhook_commands import WebhookCommands

if TYPE_CHECKING:
    from fairhold.outbox import Outbox

_ANYWHERE: Final = (-1, 0, 0)
CONTACTS_MAX: Final = 50
_OWN_WORDS: Final = "own words in messages"
_NOTIFIERS: Final = ("email", "sms", "apprise")


class MessageCommands(WebhookCommands):
    """Messages, for staff. What only says how things are said is no command of the core's."""

    # Who sends them in this process, if anybody does.
    outbox: Outbox | None = None

    async def message(self, message: str) -> MessageFate | Refusal:
        """One message by its id, with how it fared at each of its targets."""
        from fairhold.messages.notice import key_of

        key = key_of(message)
        if key is None or not await self._is_ours(key.pool_id):
            return unknown("message", message)
        # What is said of the message and of its targets is written down together: so it is read.
        async with self.reads.at_one_moment() as one:
            found = await one.reader().rows("read_message", *key)
            told = await one.reader().rows("deliveries_of", *key)
            away = await one.reader().rows("dismissal_of", *key)
        return records.message_fate(found[0], told, away) if found else unknown("message", message)

    async def messages_about(self, booking: str) -> list[Message] | Refusal:
        """What a booking's party was told, and staff about it, in order."""
        key = await self.reads.booking_key(booking, self.org)
        if isinstance(key, Refusal):
            return key
        return [records.message(row) for row in await self.reads.reader().rows("messages_about", *key)]

    async def dead_letters(self, *, after: str | None = None, limit: int = 100) -> list[Message] | Refusal:
        """The messages of this org that were given up and not dismissed, from behind one of them."""
        from fairhold.messages.notice import key_of

        try:
            inputs.whole(limit, "limit", 1)
        except inputs.Bad as bad:
            return bad.refusal
        key = _ANYWHERE if after is None else key_of(after)
        if key is None:
            return unknown("message", after)
        found = await self.reads.reader().rows("read_dead", self.org, *key, min(limit, PAGE_MAX))
        return [records.message(row) for row in found]

    async def replay(self, message: str, *, idempotency_key: str | None = None) -> MessageFate | Refusal:
        """Send a dead letter again, to those who were not reached."""
        return await self._again(message, None, ("replay", message), idempotency_key)

    async def dismiss(
        self, message: str, *, by: str = "staff", idempotency_key: str | None = None
    ) -> MessageFate | Refusal:
        """Put a dead letter away: it needs nobody any more. It stays as it is, and can still be replayed."""
        from fairhold.messages.notice import key_of

        try:
            command_words.who(by)
        except inputs.Bad as bad:
            return bad.refusal
        known, place = await self.message(message), key_of(message)
        if isinstance(known, Refusal) or place is None:
            return known
        now = self.clock.now()

        async def work(tx: Transaction) -> str | Refusal:
            made = await tx.rows("dismiss_message", *place, by, now)
            if not made and not await tx.rows("dismissal_of", *place):
                return Refusal("not_possible", f"A message that is {known.state} cannot be dismissed.")
            return message

        answer = await once(self.store, self.org, idempotency_key, ("dismiss", message), now, work)
        return answer if isinstance(answer, Refusal) else await self.message(message)

    async def replay_delivery(
        self, webhook: str, message: str, *, idempotency_key: str | None = None
    ) -> MessageFate | Refusal:
        """Send a message to a webhook once more, whether it was sent or given up; to nobody else."""
        if await self._webhook_row(webhook) is None:
            return unknown("webhook", webhook)
        said = ("replay_delivery", webhook, message)
        return await self._again(message, f"webhook:{webhook}", said, idempotency_key)

    async def _again(
        self, message: str, target: str | None, said: Any, key: str | None
    ) -> MessageFate | Refusal:
        """Send a message again: to one target that had it, or to all that were given up."""
        from fairhold.messages.notice import key_of

        known, place = await self.message(message), key_of(message)
        if isinstance(known, Refusal) or place is None:
            return known
        if target is not None and target not in [it.target for it in known.deliveries]:
            return unknown("message", message)
        now = self.clock.now()

        async def work(tx: Transaction) -> str | Refusal:
            if not await tx.rows("replay_message" if target is None else "resend_message", *place, now):
                if not known.facts:
                    return Refusal("not_possible", "What this message said is not kept any more.")
                return Refusal("not_possible", f"A message that is {known.state} cannot be replayed.")
            if target is None:
                await tx.run("replay_deliveries", *place)
            else:
                await tx.rows("replay_delivery", *place, target)
            await tx.run("recall_message", *place)
            await tx.many("notify", [("messages",)])
            return message

        answer = await once(self.store, self.org, key, said, now, work)
        if isinstance(answer, Refusal):
            return answer
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
        with needs("messages", _OWN_WORDS):
            from fairhold.messages.own_words import problem

        if found := problem(kind, language, part, text):
            return found
        try:
            inputs.text(text, "text", 5_000, empty=False)
            command_words.who(by)
        except inputs.Bad as bad:
            return bad.refusal
        now = self.clock.now()
        await self._run("put_template", self.org, kind, language, part, text, by, now)
        return Template(kind, language, part, text, by, to_datetime(now))

    async def template(self, kind: str, language: str, part: str) -> Template | Refusal:
        """What this org says in its own words of one part of a message."""
        for found in await self.templates():
            if (found.kind, found.language, found.part) == (kind, language, part):
                return found
        return unknown("template", f"{kind}/{language}/{part}")

    async def drop_template(
        self, kind: str, language: str, part: str, *, idempotency_key: str | None = None
    ) -> bool | Refusal:
        """Go back to Fairhold's words; whether there were others."""
        return await self._dropped(
            idempotency_key,
            ("drop_template", kind, language, part),
            lambda tx: tx.rows("drop_template", self.org, kind, language, part),
        )

    async def preview(
        self, kind: str, language: str = "en", *, own: Mapping[str, str] | None = None
    ) -> list[Preview] | Refusal:
        """What is said in each case of a kind of message, with invented people.

        `own` are parts (subject, body, sms) to try out; what is not among them is as the org has it now.
        """
        with needs("messages", _OWN_WORDS):
            from fairhold.messages.own_words import problem
            from fairhold.messages.preview import preview

        try:
            parts = {} if own is None else inputs.mapping(own, "own")
        except inputs.Bad as bad:
            return bad.refusal
        for part, text in parts.items() or (("subject", "-"),):
            if found := problem(kind, language, part, text):
                return found
        kept = await self.store.reader().rows("templates_of", self.org)
        overrides = {(row[0], row[1], row[2]): row[3] for row in kept}
        overrides |= {(kind, language, part): text for part, text in parts.items()}
        return preview(kind, language, overrides)

    async def staff_contacts(self) -> list[StaffContact]:
        """Who of staff is told what needs them."""
        found = await self.store.reader().rows("contacts_of", self.org)
        return [
            StaffContact(name, notifier, address, locale, to_datetime(at))
            for name, notifier, address, locale, at in found
        ]

    async def add_staff_contact(
        self, notifier: str, address: str, *, locale: str = "", idempotency_key: str | None = None
    ) -> StaffContact | Refusal:
        """Tell staff there: by "email", "sms" or "apprise"."""
        try:
            inputs.text(address, "address", 1_000, empty=False)
            inputs.text(locale, "locale", 35)
        except inputs.Bad as bad:
            return bad.refusal
        if notifier not in _NOTIFIERS:
            return invalid("notifier", f"notifier must be one of: {', '.join(_NOTIFIERS)}.")
        if refused := _wrong_contact(notifier, address, locale):
            return refused
        now = self.clock.now()

        async def work(tx: Transaction) -> str | Refusal:
            if len(await tx.rows("contacts_of", self.org)) >= CONTACTS_MAX:
                return Refusal("not_possible", f"An org has at most {CONTACTS_MAX} contacts of staff.")
            name = ids.new_name("sc")
            await tx.run("put_contact", self.org, name, notifier, address, locale, now)
            return name

        said = ("add_staff_contact", notifier, address, locale)
        answer = await once(self.store, self.org, idempotency_key, said, now, work)
        if isinstance(answer, Refusal):
            return answer
        found = [it for it in await self.staff_contacts() if it.id == answer]
        return found[0] if found else unknown("contact", answer)

    async def remove_staff_contact(
        self, contact: str, *, idempotency_key: str | None = None
    ) -> bool | Refusal:
        """Tell them no more; whether anybody was told there."""
        return await self._dropped(
            idempotency_key,
            ("remove_staff_contact", contact),
            lambda tx: tx.rows("drop_contact", self.org, contact),
        )

    async def _run(self, query: str, *values: Any) -> bool:
        tx = await self.store.begin(beside=True)
        try:
            found = await tx.rows(query, *values)
            await tx.commit()
        finally:
            await tx.rollback()
        return bool(found)


def _wrong_contact(notifier: str, address: str, locale: str) -> Refusal | None:
    """Why staff cannot be told there, or not in this language."""
    from fairhold.messages.languages import LANGUAGES, language_of

    if notifier == "email" and not is_email(address):
        return invalid("address", "This is no e-mail address.")
    if notifier == "sms" and not is_phone(address):
        return invalid("address", "This is no phone number.")
    if locale and language_of(locale) is None:
        return invalid("locale", f"locale must be of one of these languages: {', '.join(LANGUAGES)}.")
    return _wrong_service(address) if notifier == "apprise" else None


def _wrong_service(address: str) -> Refusal | None:
    """Why staff cannot be told at this address of Apprise; it is looked at again when they are."""
    from fairhold.notifiers.apprise.schemes import SCHEMES, allowed_besides, may_use, scheme_of

    if may_use(scheme_of(address), allowed_besides()):
        return None
    listed = ", ".join(f"{scheme}://" for scheme in sorted(SCHEMES))
    sentence = (
        f"This service may not be used here. Those that may: {listed}; more by FAIRHOLD_APPRISE_SCHEMES."
    )
    return invalid("address", sentence)
