"""Who else is told: webhooks of programs, and contacts of staff."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairhold.cli import desk, options
from fairhold.cli.options import Database, Json, Limit, examples
from fairhold.cli.words import clean, columns, count

if TYPE_CHECKING:
    from fairhold.core.refusals import Refusal
    from fairhold.library import Fairhold
    from fairhold.records import MessageFate, StaffContact, Webhook, WebhookDelivery, WebhookTest

webhook_app = typer.Typer(
    callback=options.common,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Tell programs of messages, by signed webhooks.",
    epilog=examples("fairhold webhook add https://example.org/fairhold --kind offer"),
)
contact_app = typer.Typer(
    callback=options.common,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Tell staff what needs them.",
    epilog=examples("fairhold staff-contact add email desk@example.org --locale fi"),
)

Id = Annotated[str, typer.Argument(metavar="ID", help="Its id, from the list.")]


def register(parent: typer.Typer) -> None:
    parent.add_typer(webhook_app, name="webhook")
    parent.add_typer(contact_app, name="staff-contact")


@webhook_app.command("add", epilog=examples("fairhold webhook add https://example.org/in --thin"))
def add_webhook(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where to POST: an https address.")],
    thin: Annotated[bool, typer.Option("--thin", help="Only ids, no names or links.")] = False,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help="Only this kind of message. Repeatable."),
    ] = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Tell a program too. Its secret is on the last line."""

    async def said(hf: Fairhold, it: Webhook) -> str:
        return f"Made {it.id}. Messages to it are signed with:\n{it.secret}"

    payload = "thin" if thin else "full"
    desk.serve(
        database, as_json, lambda hf: hf.add_webhook(url, payload=payload, kinds=tuple(kind or ())), said
    )


@webhook_app.command("list", epilog=examples("fairhold webhook list"))
def list_webhooks(database: Database = None, as_json: Json = False) -> None:
    """List the webhooks."""

    async def said(hf: Fairhold, found: list[Webhook]) -> str:
        rows = [(it.id, clean(it.url), it.payload, ", ".join(it.kinds) or "all kinds") for it in found]
        return columns(rows) if rows else "No webhooks."

    desk.serve(database, as_json, lambda hf: hf.webhooks(), said)


@webhook_app.command("rotate", epilog=examples("fairhold webhook rotate wh0123456789abcdef"))
def rotate_webhook(webhook: Id, database: Database = None, as_json: Json = False) -> None:
    """Give a webhook a new secret, on the last line."""

    async def said(hf: Fairhold, it: Webhook) -> str:
        return f"Messages to {it.id} are now signed with:\n{it.secret}"

    desk.serve(database, as_json, lambda hf: hf.rotate_webhook(webhook), said)


@webhook_app.command(
    "change", epilog=examples("fairhold webhook change wh0123456789abcdef --full --kind offer")
)
def change_webhook(
    webhook: Id,
    url: Annotated[str | None, typer.Option("--url", metavar="URL", help="Another address.")] = None,
    thin: Annotated[bool | None, typer.Option("--thin/--full", help="Only ids, or all.")] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help="Only this kind of message; 'all' for all. Repeatable."),
    ] = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Change where a webhook goes, or what it is told. Its secret stays."""

    async def said(hf: Fairhold, it: Webhook) -> str:
        kinds = ", ".join(it.kinds) or "all kinds"
        return f"{it.id} goes to {clean(it.url)}: {it.payload}, {kinds}."

    payload = None if thin is None else "thin" if thin else "full"
    asked: dict[str, Any] = {"url": url, "payload": payload, "kinds": [] if kind == ["all"] else kind}
    desk.serve(database, as_json, lambda hf: hf.change_webhook(webhook, **asked), said)


@webhook_app.command("test", epilog=examples("fairhold webhook test wh0123456789abcdef"))
def try_webhook(webhook: Id, database: Database = None, as_json: Json = False) -> None:
    """Send a test now, once, and say how it went. The exit code is 1 if it failed."""
    failed = False

    async def ask(hf: Fairhold) -> WebhookTest | Refusal:
        from fairhold.records import WebhookTest

        nonlocal failed
        answer = await hf.test_webhook(webhook)
        failed = isinstance(answer, WebhookTest) and answer.state != "sent"
        return answer

    async def said(hf: Fairhold, it: WebhookTest) -> str:
        return f"{it.id}: {it.state}{': ' + clean(it.error) if it.error else '.'}"

    desk.serve(database, as_json, ask, said)
    if failed:
        raise typer.Exit(desk.REFUSED)


@webhook_app.command("deliveries", epilog=examples("fairhold webhook deliveries wh0123456789abcdef"))
def list_deliveries(
    webhook: Id, limit: Limit = 100, database: Database = None, as_json: Json = False
) -> None:
    """List what was sent there, the latest first."""

    async def said(hf: Fairhold, found: list[WebhookDelivery]) -> str:
        rows = [
            (it.message, it.kind, it.state, count(it.attempts, "try", "tries"), clean(it.error))
            for it in found
        ]
        return columns(rows) if rows else "Nothing was sent there."

    desk.serve(database, as_json, lambda hf: hf.deliveries(webhook, limit=limit), said)


@webhook_app.command(
    "replay", epilog=examples("fairhold webhook replay wh0123456789abcdef p0c3k9m2v7h1zq-12-0")
)
def replay_delivery(
    webhook: Id,
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="The message's id.")],
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Send a message there once more, and to nobody else."""

    async def said(hf: Fairhold, found: MessageFate) -> str:
        return f"{found.id} will be sent to {webhook} again."

    desk.serve(database, as_json, lambda hf: hf.replay_delivery(webhook, message), said)


@webhook_app.command("remove", epilog=examples("fairhold webhook remove wh0123456789abcdef"))
def remove_webhook(webhook: Id, database: Database = None, as_json: Json = False) -> None:
    """Tell this program no more."""
    desk.serve(database, as_json, lambda hf: _removed(hf.remove_webhook(webhook)), _said_removed)


@contact_app.command("add", epilog=examples("fairhold staff-contact add email desk@example.org"))
def add_contact(
    notifier: Annotated[str, typer.Argument(metavar="email|sms|apprise", help="How they are told.")],
    address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="An e-mail, a number, or an address of Apprise.")
    ],
    locale: Annotated[str, typer.Option("--locale", metavar="LOCALE", help="en, fi or de-AT.")] = "",
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Tell someone of staff what needs them."""

    async def said(hf: Fairhold, it: StaffContact) -> str:
        return f"{clean(address)} is told what needs staff ({it.id})."

    desk.serve(database, as_json, lambda hf: hf.add_staff_contact(notifier, address, locale=locale), said)


@contact_app.command("list", epilog=examples("fairhold staff-contact list"))
def list_contacts(database: Database = None, as_json: Json = False) -> None:
    """List who of staff is told."""

    async def said(hf: Fairhold, found: list[StaffContact]) -> str:
        rows = [(it.id, it.notifier, clean(it.address), clean(it.locale)) for it in found]
        return columns(rows) if rows else "Nobody of staff is told."

    desk.serve(database, as_json, lambda hf: hf.staff_contacts(), said)


@contact_app.command("remove", epilog=examples("fairhold staff-contact remove sc0123456789abcdef"))
def remove_contact(contact: Id, database: Database = None, as_json: Json = False) -> None:
    """Tell them no more."""
    desk.serve(database, as_json, lambda hf: _removed(hf.remove_staff_contact(contact)), _said_removed)


async def _removed(asked: Any) -> dict[str, bool]:
    return {"removed": await asked}


async def _said_removed(hf: Fairhold, found: dict[str, bool]) -> str:
    return "Removed." if found["removed"] else "There was no such."
