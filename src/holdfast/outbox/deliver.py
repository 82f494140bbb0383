"""One try at one message: word it for each target, hand it over, and note how each went."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

from holdfast.core.model import HELD, Instant
from holdfast.messages import letter
from holdfast.messages.attachments import attachments
from holdfast.messages.context import Speech
from holdfast.messages.languages import region_of
from holdfast.messages.letter import Overrides
from holdfast.messages.notice import Key, Notice, gather
from holdfast.notifiers.base import Notifier, Outgoing, Permanent, Undelivered
from holdfast.observe import Observer
from holdfast.outbox.settings import MessageSettings
from holdfast.outbox.targets import Target, targets_of
from holdfast.store.base import Reader, Row

log = logging.getLogger("holdfast")

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

    @property
    def nobody_reached(self) -> str:
        """Why the party cannot be reached at all; nothing if it can or may be yet."""
        here = [it for it in self.deliveries if it.target.is_the_party]
        if not here or any(it.state != "dead" for it in here):
            return ""
        if any(state != "dead" for name, state in self.before.items() if name in ("email", "sms")):
            return ""
        return "; ".join(it.error for it in here)


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
    def reaches_people(self) -> bool:
        return bool({"email", "sms"} & set(self._notifiers))

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
                return Try(key, attempts, notice, [], settled)
            found = await targets_of(reader, notice, self._notifiers, self._secret, settings.locale)
            overrides = {
                (it[0], it[1], it[2]): it[3] for it in await reader.rows("templates_of", notice.pool.org)
            }
        told = await asyncio.gather(
            *(self._tell(notice, it, overrides, now) for it in found if it.name not in settled)
        )
        return Try(key, attempts, notice, told, settled)

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
        # Nobody was told really, and whoever looks at the message shall see it.
        return Delivery(target, "sent", "only logged" if target.notifier == "log" else "")

    def worded(self, notice: Notice, target: Target, overrides: Overrides, now: Instant) -> Outgoing:
        """The message as this target gets it."""
        made: dict[str, Any] = {"id": notice.key.text, "kind": notice.kind, "address": target.address}
        if target.notifier == "log":
            # It tells that somebody would be told, in no words of the message's own.
            return Outgoing(**made)
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
