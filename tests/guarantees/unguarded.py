"""What comes in is not looked at, and what goes out is not: these protections taken away, one by one."""

from __future__ import annotations

import json
import logging
import re
from typing import Any

import msgspec
from jinja2 import Environment

from fairhold import command_words, keys
from fairhold.core import book, obey
from fairhold.core import commands as c
from fairhold.core.refusals import Refusal
from fairhold.door import Door
from fairhold.http import bodies
from fairhold.http.bodies_of_bookings import NewBooking
from fairhold.http.service import Service
from fairhold.ids import booking_number
from fairhold.messages import own_words, wording
from fairhold.notifiers.email import EmailNotifier
from fairhold.outbox import loop
from fairhold.pages import site
from fairhold.reads import Reads
from tests.guarantees.switches import instead


def one_effect() -> None:
    """Without it a key means nothing, and nobody looks who is in line."""

    def keyless(submit: Any, self: Door, pool_id: int, command: c.Command, _: Any = None, **how: Any) -> Any:
        return submit(self, pool_id, command, None, **how)

    instead(Door, "submit", "no keys", keyless)
    instead(book, "_already_there", "no one place", lambda *_: None)


def asking_first() -> None:
    """Without it staff never hear who would lose their place."""

    def unasked(submit: Any, self: Door, pool_id: int, command: c.Command, *args: Any, **how: Any) -> Any:
        if isinstance(command, c.ChangePool):
            command = command._replace(allow_demotion=True)
        return submit(self, pool_id, command, *args, **how)

    instead(Door, "submit", "no asking first", unasked)


def quantities() -> None:
    """Without it a quantity goes as far as the database, whatever it is."""

    def with_any_quantity(decoded: Any, body: bytes, decoder: Any) -> Any:
        if decoder.type is not NewBooking:
            return decoded(body, decoder)
        fields = json.loads(body)
        quantity = fields.pop("quantity", 1)
        found = decoder.decode(json.dumps(fields))
        found.quantity = quantity
        return found

    instead(bodies, "decoded", "no quantities", with_any_quantity)
    instead(command_words, "said", "no quantities", lambda *_: None)
    instead(book, "is_whole", "no quantities", lambda *_: True)


def strictness() -> None:
    """Without it a body is read as the standard library reads it, however long it is."""

    def leniently(_: Any, body: bytes, decoder: Any) -> Any:
        return msgspec.convert(json.loads(body or b"{}"), decoder.type)

    instead(bodies, "decoded", "no strictness", leniently)
    instead(bodies, "read", "no strictness", lambda read, receive, headers, *_: read(receive, {}, 1 << 30))


def same_words() -> None:
    """Without it somebody is told that a booking is there, but another's."""

    async def telling_apart(booking_key: Any, self: Reads, name: object, org: str) -> Any:
        found = await booking_key(self, name, org)
        named = booking_number(name) if isinstance(name, str) else None
        if isinstance(found, Refusal) and named and await self.reader().rows("pool_org", named[0]):
            return Refusal("unknown", "This booking is another's.", "booking")
        return found

    instead(Reads, "booking_key", "no same words", telling_apart)


def secrecy() -> None:
    """Without it a key is kept as it is, and requests are logged by their paths."""
    instead(keys, "_digest", "no hashes", lambda _, secret: secret.encode())

    def named_by_path(serve: Any, self: Service, scope: Any, *rest: Any) -> Any:
        logging.getLogger("fairhold.http").info("asked", extra={"path": scope["path"]})
        return serve(self, scope, *rest)

    instead(Service, "_serve", "logged paths", named_by_path)


def sandbox() -> None:
    """Without it an org's own words are a program."""
    instead(own_words, "problem", "no sandbox", lambda *_: None)
    instead(wording, "own", "no sandbox", lambda _, language, text: Environment().from_string(text))


def confirm_by() -> None:
    """Without it whoever has the edit token confirms, whatever is to be paid."""
    instead(obey, "staff_confirm", "no confirm_by", lambda *_: False)


def party_limit() -> None:
    """Without it strangers may ask for as many seats as staff."""
    instead(book, "quantity_max", "no party limit", lambda _, policy, door: policy.quantity_max)


def telling() -> None:
    """Without it an offer runs and lapses, whether or not a channel has taken its letter."""
    instead(obey, "was_never_told", "no telling", lambda *_: False)
    instead(loop, "news_of", "no telling", lambda *_: None)


def mail_types() -> None:
    """Without them a subject is written into the head of a letter as it is."""

    def pasted(letter: Any, self: EmailNotifier, message: Any) -> Any:
        made, subject = letter(self, message), f"Subject: {message.subject}\r\n".encode()
        content = re.sub(rb"Subject: .*?\r\n(?! )", lambda _: subject, made.content, count=1, flags=re.DOTALL)
        return made._replace(content=content)

    instead(EmailNotifier, "letter", "no mail types", pasted)


def acting_by_post() -> None:
    """Without it a page acts when it is opened, as if its button had been pressed."""

    async def pressed(reply_to: Any, self: site.Address, call: Any, scope: Any, receive: Any) -> Any:
        if scope["method"] == "GET" and self.page.send is not None:
            return await self.page.send(call)
        return await reply_to(self, call, scope, receive)

    instead(site.Address, "reply_to", "opening acts", pressed)


UNGUARDED = (
    acting_by_post,
    one_effect,
    asking_first,
    quantities,
    strictness,
    same_words,
    secrecy,
    sandbox,
    confirm_by,
    party_limit,
    telling,
    mail_types,
)
