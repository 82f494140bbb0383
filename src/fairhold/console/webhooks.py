"""Webhooks: where programs of the org are told, how that went, and telling them once more."""

from __future__ import annotations

from typing import Any, Final

from fairhold.console import tabs
from fairhold.console.calls import Call
from fairhold.console.page import ADMINS, Page
from fairhold.core.refusals import Refusal
from fairhold.http.operations import granted
from fairhold.http.problems import not_found
from fairhold.messages.wording import KINDS
from fairhold.pages.answers import Answer
from fairhold.records import Webhook
from fairhold.webhook_commands import PAYLOADS

HERE: Final = f"{tabs.HOME}/webhooks"
_SHOWN: Final = 30


async def look(call: Call) -> Answer:
    return await _list(call)


async def _list(call: Call, refused: Refusal | None = None) -> Answer:
    return await tabs.show(
        call,
        "webhooks.html",
        "webhooks",
        here=HERE,
        refused=refused,
        said=call.form,
        webhooks=await call.hf.webhooks(),
        kinds=list(KINDS),
        payloads=PAYLOADS,
    )


async def add(call: Call) -> Answer:
    form = call.form
    answer = await call.hf.add_webhook(
        form.get("url", "").strip(),
        payload=form.get("payload", ""),
        kinds=_kinds(call),
        idempotency_key=tabs.once(call),
    )
    if isinstance(answer, Refusal):
        return await _list(call, answer)
    return call.to(f"{HERE}/{answer.id}", told="webhook_added")


def _kinds(call: Call) -> list[str]:
    return [kind for kind in KINDS if call.form.get(f"kind-{kind}") == "yes"]


async def one(call: Call) -> Answer:
    return await _one(call, granted(await call.hf.webhook(call.path["webhook"])))


async def _one(call: Call, webhook: Webhook, refused: object = None, tested: Any = None) -> Answer:
    found = granted(
        await call.hf.deliveries(webhook.id, after=call.query.get("after") or None, limit=_SHOWN + 1)
    )
    return await tabs.show(
        call,
        "webhook.html",
        "webhooks",
        here=f"{HERE}/{webhook.id}",
        refused=refused,
        webhook=webhook,
        kinds=list(KINDS),
        payloads=PAYLOADS,
        deliveries=found[:_SHOWN],
        earlier=found[_SHOWN - 1].place if len(found) > _SHOWN else "",
        tested=tested,
    )


async def act(call: Call) -> Answer:
    """Change, try, give a new secret, remove, or send a message once more."""
    hf, form, key = call.hf, call.form, tabs.once(call)
    webhook = granted(await hf.webhook(call.path["webhook"]))
    what, there = call.path["act"], f"{HERE}/{webhook.id}"
    if what == "change":
        url, payload = form.get("url", "").strip(), form.get("payload", "")
        answer: object = await hf.change_webhook(webhook.id, url=url, payload=payload, kinds=_kinds(call))
    elif what == "test":
        answer = await hf.test_webhook(webhook.id, idempotency_key=key)
    elif what == "rotate":
        answer = await hf.rotate_webhook(webhook.id, idempotency_key=key)
    elif what == "remove":
        answer = await hf.remove_webhook(webhook.id, idempotency_key=key)
    elif what == "replay":
        answer = await hf.replay_delivery(webhook.id, form.get("message", ""), idempotency_key=key)
    else:
        raise not_found()
    if isinstance(answer, Refusal):
        return await _one(call, webhook, answer)
    if what == "test":
        return await _one(call, webhook, tested=answer)
    told = {"change": "changed", "rotate": "rotated", "remove": "removed", "replay": "replayed"}[what]
    return call.to(HERE if what == "remove" else there, told=f"webhook_{told}")


async def back(call: Call) -> Answer:
    return call.to(f"{HERE}/{call.path['webhook']}")


PAGES: Final = (
    Page(HERE, "console_webhooks", look, add, ADMINS, ADMINS),
    Page(f"{HERE}/{{webhook}}", "console_webhook", one, None, ADMINS, ADMINS),
    Page(f"{HERE}/{{webhook}}/{{act}}", "console_webhook_act", back, act, ADMINS, ADMINS),
)
