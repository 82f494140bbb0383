"""Webhooks, for admins: make, change, rotate, test, delete; what was sent to one, and sending it again."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from fairhold import records
from fairhold.core.refusals import Refusal, unknown
from fairhold.http.members import Removed
from fairhold.http.operations import ADMINS, Body, Call, Operation, Page, Paging, granted, page
from fairhold.http.pools import wrong_cursor
from fairhold.records import MessageFate, WebhookDelivery, WebhookTest

Url = Annotated[str, Meta(min_length=1, max_length=2_000)]
Payload = Literal["full", "thin"]
Kind = Literal[
    "offer",
    "confirmed",
    "promoted",
    "hold_ending",
    "lapsed",
    "attempts_used_up",
    "demoted",
    "put_back",
    "cancelled",
    "joined",
    "handed_back",
    "unreachable",
]


class NewWebhook(Body, kw_only=True):
    """Where to POST, how much to say, and of which kinds of messages: of none named, of all."""

    url: Url
    payload: Payload = "full"
    kinds: list[Kind] = field(default_factory=list)


class WebhookChanges(Body, kw_only=True):
    """What of a webhook is to be changed; what is not said stays."""

    url: Url | UnsetType = UNSET
    payload: Payload | UnsetType = UNSET
    kinds: list[Kind] | UnsetType = UNSET


class Webhook(msgspec.Struct, kw_only=True):
    """Where a program is told. `secret` is there once: when it is made, and when it is rotated."""

    id: str
    url: str
    payload: str
    kinds: tuple[str, ...]
    created_at: datetime
    secret: str | None = None


async def create(call: Call) -> Webhook | Refusal:
    body: NewWebhook = call.body
    made = await call.hf.add_webhook(
        body.url, payload=body.payload, kinds=body.kinds, idempotency_key=call.key
    )
    return _shape(made, secret=True)


async def every(call: Call) -> Page[Webhook]:
    return Page([granted(_shape(found)) for found in await call.hf.webhooks()])


async def one(call: Call) -> Webhook | Refusal:
    return _shape(await call.hf.webhook(call.path["webhook"]))


async def change(call: Call) -> Webhook | Refusal:
    said: dict[str, Any] = msgspec.to_builtins(call.body)
    return _shape(await call.hf.change_webhook(call.path["webhook"], **said, idempotency_key=call.key))


async def rotate(call: Call) -> Webhook | Refusal:
    turned = await call.hf.rotate_webhook(call.path["webhook"], idempotency_key=call.key)
    return _shape(turned, secret=True)


def _shape(found: records.Webhook | Refusal, *, secret: bool = False) -> Webhook | Refusal:
    if isinstance(found, Refusal):
        return found
    known = msgspec.structs.asdict(found)
    return Webhook(**known if secret else known | {"secret": None})


async def remove(call: Call) -> Removed | Refusal:
    name = call.path["webhook"]
    gone = granted(await call.hf.remove_webhook(name, idempotency_key=call.key))
    return Removed(name) if gone else unknown("webhook", name)


async def test(call: Call) -> WebhookTest | Refusal:
    return await call.hf.test_webhook(call.path["webhook"], idempotency_key=call.key)


async def deliveries(call: Call) -> Page[WebhookDelivery]:
    limit, after = call.limit(), call.query.cursor or None
    found = await call.hf.deliveries(call.path["webhook"], after=after, limit=limit + 1)
    if isinstance(found, Refusal) and found.field == "after":
        raise wrong_cursor()
    return page(granted(found), limit, lambda it: it.place)


async def replay(call: Call) -> MessageFate | Refusal:
    return await call.hf.replay_delivery(call.path["webhook"], call.path["message"], idempotency_key=call.key)


_WEBHOOK: Final = "/v1/webhooks/{webhook}"
OPERATIONS: Final = (
    Operation(
        "POST",
        "/v1/webhooks",
        "add_webhook",
        "Tell a program of messages; the secret that they are signed with is in this answer",
        create,
        ADMINS,
        Webhook,
        body=NewWebhook,
        status=201,
        codes=("invalid", "not_possible"),
        tag="webhooks",
        example={"url": "https://receiver.example/fairhold", "kinds": ["offer", "confirmed"]},
        idempotent=True,
    ),
    Operation(
        "GET",
        "/v1/webhooks",
        "list_webhooks",
        "List the webhooks of the org",
        every,
        ADMINS,
        Page[Webhook],
        tag="webhooks",
    ),
    Operation(
        "GET",
        _WEBHOOK,
        "get_webhook",
        "A webhook",
        one,
        ADMINS,
        Webhook,
        codes=("unknown",),
        tag="webhooks",
    ),
    Operation(
        "PATCH",
        _WEBHOOK,
        "change_webhook",
        "Change where a webhook goes, or what it is told; its secret stays",
        change,
        ADMINS,
        Webhook,
        body=WebhookChanges,
        codes=("unknown",),
        tag="webhooks",
        example={"payload": "thin"},
        idempotent=True,
    ),
    Operation(
        "DELETE",
        _WEBHOOK,
        "remove_webhook",
        "Tell this program no more",
        remove,
        ADMINS,
        Removed,
        codes=("unknown",),
        tag="webhooks",
        idempotent=True,
    ),
    Operation(
        "POST",
        f"{_WEBHOOK}/rotate",
        "rotate_webhook",
        "Give a webhook a new secret, which is in this answer; the old one ends at once",
        rotate,
        ADMINS,
        Webhook,
        codes=("unknown",),
        tag="webhooks",
        idempotent=True,
    ),
    Operation(
        "POST",
        f"{_WEBHOOK}/test",
        "test_webhook",
        "Send a test now, once",
        test,
        ADMINS,
        WebhookTest,
        codes=("unknown",),
        tag="webhooks",
        idempotent=True,
    ),
    Operation(
        "GET",
        f"{_WEBHOOK}/deliveries",
        "list_deliveries",
        "What was sent to a webhook, the latest first",
        deliveries,
        ADMINS,
        Page[WebhookDelivery],
        query=Paging,
        codes=("unknown",),
        tag="webhooks",
    ),
    Operation(
        "POST",
        f"{_WEBHOOK}/deliveries/{{message}}/replay",
        "replay_delivery",
        "Send a message to this webhook once more, and to nobody else",
        replay,
        ADMINS,
        MessageFate,
        codes=("unknown", "not_possible"),
        tag="webhooks",
        idempotent=True,
    ),
)
