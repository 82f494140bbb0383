"""Messages: what was told of a pool or a booking, how it fared, and sending again what was given up."""

from __future__ import annotations

from typing import Final

import msgspec

from fairhold.core.refusals import Refusal
from fairhold.http.operations import READERS, STAFFS, Call, Operation, Page, Paging, granted, page
from fairhold.http.pools import wrong_cursor
from fairhold.instants import in_utc
from fairhold.messages.notice import key_of
from fairhold.records import Message, MessageFate


async def of_pool(call: Call) -> Page[Message]:
    limit, after = call.limit(), _after(call)
    found = granted(await call.hf.messages(call.path["pool"], after=after, limit=limit + 1))
    return _page(found, limit)


async def of_booking(call: Call) -> Page[Message]:
    return Page(_told(granted(await call.hf.messages_about(call.path["booking"]))))


async def dead(call: Call) -> Page[Message]:
    limit, after = call.limit(), _after(call)
    return _page(granted(await call.hf.dead_letters(after=after, limit=limit + 1)), limit)


def _after(call: Call) -> str | None:
    cursor: str | None = call.query.cursor or None
    if cursor is not None and (len(cursor) > _CURSOR_MAX or key_of(cursor) is None):
        raise wrong_cursor()
    return cursor


def _page(found: list[Message], limit: int) -> Page[Message]:
    told = page(found, limit, lambda message: message.id)
    return Page(_told(told.items), told.next)


def _told(found: list[Message]) -> list[Message]:
    return msgspec.convert(in_utc(msgspec.to_builtins(found)), list[Message])


async def one(call: Call) -> MessageFate | Refusal:
    return await call.hf.message(call.path["message"])


async def replay(call: Call) -> MessageFate | Refusal:
    return await call.hf.replay(call.path["message"], idempotency_key=call.key)


async def dismiss(call: Call) -> MessageFate | Refusal:
    return await call.hf.dismiss(call.path["message"], by=call.by_staff, idempotency_key=call.key)


# As long as the longest id of a message.
_CURSOR_MAX: Final = 45
OPERATIONS: Final = (
    Operation(
        "GET",
        "/v1/pools/{pool}/messages",
        "list_messages",
        "What a pool has told, in order",
        of_pool,
        READERS,
        Page[Message],
        query=Paging,
        codes=("unknown",),
        tag="messages",
    ),
    Operation(
        "GET",
        "/v1/bookings/{booking}/messages",
        "messages_about",
        "What was told about a booking, in order",
        of_booking,
        READERS,
        Page[Message],
        codes=("unknown",),
        tag="messages",
    ),
    Operation(
        "GET",
        "/v1/dead-letters",
        "dead_letters",
        "The messages of the org that were given up and not dismissed",
        dead,
        READERS,
        Page[Message],
        query=Paging,
        tag="messages",
    ),
    Operation(
        "GET",
        "/v1/messages/{message}",
        "get_message",
        "A message, and how it fared at each of its targets",
        one,
        READERS,
        MessageFate,
        codes=("unknown",),
        tag="messages",
    ),
    Operation(
        "POST",
        "/v1/messages/{message}/replay",
        "replay_message",
        "Send a dead letter again, to those who were not reached",
        replay,
        STAFFS,
        MessageFate,
        codes=("unknown", "not_possible"),
        tag="messages",
        idempotent=True,
    ),
    Operation(
        "POST",
        "/v1/messages/{message}/dismiss",
        "dismiss_message",
        "Put a dead letter away: it stays as it is, with who dismissed it, and can still be replayed",
        dismiss,
        STAFFS,
        MessageFate,
        codes=("unknown", "not_possible"),
        tag="messages",
        idempotent=True,
    ),
)
