"""One try at one message: word it for each target, hand it over, and note how each went."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple

from fairhold.core.model import CHANNEL_DOWN, DEAD_CONTACT, HELD, OFFERED, Instant
from fairhold.messages import letter
from fairhold.messages.attachments import attachments
from fairhold.messages.context import Speech
from fairhold.messages.languages import region_of
from fairhold.messages.letter import Overrides
from fairhold.messages.notice import Key, Notice, gather
from fairhold.notifiers.base import Notifier, Outgoing, Permanent, Undelivered
from fairhold.notifiers.drawer import Drawer
from fairhold.observe import Observer
from fairhold.outbox.settings import MessageSettings
from fairhold.outbox.targets import Nobody, Target, nobody_to_tell, targets_of
from fairhold.store import rows
from fairhold.store.base import Reader, Row

log = logging.getLogger("fairhold")

_ERROR_MAX: Final = 500
_SEND_S: Final = 30.0


class Delivery(NamedTuple):
    """How one target fared: "sent", "pending" (try again) or "dead" (do not)."""

    target: Target
    state: str
    error: str = ""


class Try(NamedTuple):
    """How a message fared at the targets that were still to be told."""

    key: Key
    attempts: int
    notice: Notice
    deliveries: list[Delivery]
    # The targets that had been settled by earlier tries, with how.
    before: Mapping[str, str]
    # Why there is nobody whom a channel could tell.
    nobody: Nobody | None = None
    # True if it has become pointless, and is not sent for that.
    is_dropped: bool = False
    # True if it was not sent although there is a target that has not been tried.
    has_other_way: bool = False

    @property
    def states(self) -> set[str]:
        """How it stands with each target, of this try and of those before."""
        return {it.state for it in self.deliveries} | set(self.before.values())

    @property
    def carried(self) -> bool:
        """True if a channel has taken it: to the party itself, or to a program that subscribed to it."""
        return "sent" in self.states

    @property
    def reached_party(self) -> bool:
        """True if a channel has taken it to the very person that it is for."""
        here = any(it.state == "sent" and it.target.is_the_party for it in self.deliveries)
        return here or any(self.before.get(name) == "sent" for name in ("email", "sms"))

    @property
    def delayed(self) -> bool:
        """True if no channel has taken it, and one may yet."""
        return "pending" in self.states and not self.carried

    @property
    def given_up(self) -> Nobody | None:
        """Say why no channel has taken it, or ever will; None if one has, or may."""
        if self.nobody is not None or self.is_dropped or self.states != {"dead"}:
            return self.nobody
        of_party = [it for it in self.deliveries if it.target.is_the_party]
        reason = DEAD_CONTACT if of_party or {"email", "sms"} & set(self.before) else CHANNEL_DOWN
        return Nobody(reason, "; ".join(it.error for it in of_party or self.deliveries))


class Deliverer:
    """Hands messages to notifiers. It opens no transaction."""

    def __init__(
        self,
        notifiers: Mapping[str, Notifier],
        settings: MessageSettings,
        secret: str,
        observer: Callable[[], Observer],
        real_now: Callable[[], Instant],
    ) -> None:
        self._notifiers = notifiers
        self._settings = settings
        self._secret = secret
        self._observer = observer
        self._real_now = real_now
        self._one = asyncio.Lock()

    @property
    def channels(self) -> frozenset[str]:
        """The channels by which people themselves can be told."""
        return frozenset({"email", "sms"} & set(self._notifiers))

    @property
    def calls_webhooks(self) -> bool:
        """True if programs can be told from here."""
        return "webhook" in self._notifiers

    @property
    def drawer(self) -> Drawer | None:
        """Where letters are kept that go nowhere, if that is what becomes of them here."""
        email = self._notifiers.get("email")
        return email if isinstance(email, Drawer) else None

    async def close(self) -> None:
        """Let go of whatever notifiers keep open."""
        closes = [it.close() for it in self._notifiers.values() if hasattr(it, "close")]
        for error in await asyncio.gather(*closes, return_exceptions=True):
            if isinstance(error, Exception):
                log.warning("a notifier could not be closed: %s", error)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """One message at a time is looked up and worded, and whoever asks us something comes in between."""
        async with self._one:
            await asyncio.sleep(0)
            yield

    async def deliver(self, reader: Reader, row: Row, now: Instant) -> Try:
        """Tell everyone who has not been told yet, all at once: a slow one keeps nobody waiting."""
        settings = self._settings
        async with self._turn():
            notice = await gather(reader, row, settings.base_url, self._secret)
            key, attempts = notice.key, row[8]
            noted = await reader.each("deliveries_of_messages", [key])
            settled = {it[3]: it[4] for it in noted if it[4] != "pending"}
            if _is_moot(notice, now):
                return Try(key, attempts, notice, [], settled, is_dropped=True)
            found = await targets_of(reader, notice, self._notifiers, self._secret, settings.locale)
            if await _is_taken_back(reader, notice, now):
                other = any(it.name not in settled for it in found)
                return Try(key, attempts, notice, [], settled, is_dropped=True, has_other_way=other)
            if not found and not settled:
                return await self._tell_nobody(Try(key, attempts, notice, [], settled))
            overrides = {
                (it[0], it[1], it[2]): it[3] for it in await reader.rows("templates_of", notice.pool.org)
            }
        told = await asyncio.gather(
            *(self._tell(notice, it, overrides, now) for it in found if it.name not in settled)
        )
        return Try(key, attempts, notice, told, settled)

    async def _tell_nobody(self, tried: Try) -> Try:
        """Write a line into the log in place of a letter that no channel can carry to anybody."""
        notice = tried.notice
        if (notifier := self._notifiers.get("log")) is not None:
            with suppress(Undelivered):
                await notifier.send(Outgoing(notice.key.text, notice.kind, ""))
        return tried._replace(nobody=nobody_to_tell(notice))

    async def _tell(self, notice: Notice, target: Target, overrides: Overrides, now: Instant) -> Delivery:
        loop = asyncio.get_running_loop()
        began = loop.time()
        told = await self._told(notice, target, overrides, now)
        self._observer().delivered(
            notice.key.text, notice.kind, target.notifier, told.state, loop.time() - began
        )
        return told

    async def _told(self, notice: Notice, target: Target, overrides: Overrides, now: Instant) -> Delivery:
        if target.notifier not in self._notifiers:
            # As in the demo, where nothing leaves: to try again would change nothing.
            return Delivery(target, "dead", f"this service is not set up to send by {target.notifier}")
        try:
            async with self._turn():
                message = self.worded(notice, target, overrides, now)
            async with asyncio.timeout(_SEND_S):
                await self._notifiers[target.notifier].send(message)
        except Permanent as error:
            return Delivery(target, "dead", _said(error, target))
        except (Undelivered, TimeoutError) as error:
            return Delivery(target, "pending", _said(error, target))
        except Exception as error:
            # Whatever is wrong with this one, the others go on.
            log.exception("message %s could not be sent by %s", notice.key.text, target.notifier)
            return Delivery(target, "pending", _said(error, target))
        return Delivery(target, "sent")

    def worded(self, notice: Notice, target: Target, overrides: Overrides, now: Instant) -> Outgoing:
        """The message as this target gets it."""
        made: dict[str, Any] = {"id": notice.key.text, "kind": notice.kind, "address": target.address}
        if target.notifier == "webhook":
            body = letter.payload(notice, thin=target.thin)
            return Outgoing(**made, payload=body, secret=target.secret, sent_at=self._real_now())
        speech = Speech.of(target.locale, self._settings.locale, notice.pool.time_zone)
        try:
            return Outgoing(**made, **self._words(notice, target, speech, overrides, now))
        except Exception:
            if not overrides:
                raise
            # The org's own words do not work any more; better ours than none.
            log.exception("message %s: the org's own template failed", notice.key.text)
            return Outgoing(**made, **self._words(notice, target, speech, {}, now))

    def _words(
        self, notice: Notice, target: Target, speech: Speech, overrides: Overrides, now: Instant
    ) -> dict[str, Any]:
        if target.notifier == "sms":
            return {"short": letter.sms(notice, speech, overrides, now), "region": region_of(target.locale)}
        words = letter.email(notice, speech, overrides, now)
        made: dict[str, Any] = {"subject": words.subject, "text": words.text, "html": words.html}
        if target.notifier == "email":
            made["attachments"] = attachments(notice, self._settings.base_url)
        return made


def _said(error: Exception, target: Target) -> str:
    """What went wrong, without the address: it is kept, and people may ask to be forgotten."""
    text = " ".join(str(error).split()) or "no answer in time"
    text = text if isinstance(error, Undelivered | TimeoutError) else f"{type(error).__name__}: {text}"
    return (text.replace(target.address, "…") if target.address else text)[:_ERROR_MAX]


def _is_moot(notice: Notice, now: Instant) -> bool:
    """Whether a reminder comes too late or for nothing: the hold is over, or has another end by now."""
    if notice.kind != "hold_ending" or notice.booking is None:
        return False
    booking, ends = notice.booking, notice.facts.get("expires_at")
    return booking.state != HELD or booking.expires_at != ends or (ends is not None and ends <= now)


async def _is_taken_back(reader: Reader, notice: Notice, now: Instant) -> bool:
    """Return True if a letter would say that an offer runs which has ended because nobody was told of it.

    Once its window is over as well, the letter says so by itself.
    """
    booking, seq = notice.booking, notice.facts.get("seq")
    if notice.kind != "offer" or booking is None or notice.facts["expires_at"] <= now:
        return False
    if booking.state == OFFERED and booking.offer_seq == seq:
        return False
    found = await reader.each("offers_by_key", [(notice.key.pool_id, booking.number, seq)])
    return any(rows.offer_of(row).outcome == "unreachable" for row in found)
