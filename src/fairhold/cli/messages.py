"""Messages: what was told, what could not be, what it looks like, and sending it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairhold.cli import desk, options
from fairhold.cli.options import By, Database, Json, Pool, examples
from fairhold.cli.words import clean, columns, count

if TYPE_CHECKING:
    from fairhold import records
    from fairhold.core.refusals import Refusal
    from fairhold.library import Fairhold

app = typer.Typer(
    callback=options.common,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="What was told, dead letters, and the wording.",
    epilog=examples("fairhold message dead", "fairhold message replay --all"),
)

Message = Annotated[str, typer.Argument(metavar="MESSAGE", help="The message's id.")]
Kind = Annotated[str, typer.Argument(metavar="KIND", help="offer, confirmed, joined and so on.")]
Language = Annotated[str, typer.Option("--language", metavar="CODE", help="en, fi or de.")]


def register(parent: typer.Typer) -> None:
    parent.add_typer(app, name="message")
    parent.command(epilog=examples("fairhold outbox", "fairhold outbox --once"))(outbox)


def outbox(
    once: Annotated[bool, typer.Option("--once", help="Send what is due now, and stop.")] = False,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Send messages, by e-mail, text, webhook and chat.

    It runs until it is stopped; any number may run side by side. Without FAIRHOLD_SMTP_URL and
    FAIRHOLD_SMS_URL nobody is told: their letters are not sent, and offers pass those by who could only be
    told by one.
    """
    if once:
        desk.serve(database, as_json, _send_once, _sent)
    else:
        desk.run(database, _send_until_stopped)


async def _send_once(hf: Fairhold) -> dict[str, int]:
    from fairhold.outbox import Outbox

    sending = Outbox(hf)
    try:
        return {"tried": await sending.send_due()}
    finally:
        await sending.close()


async def _sent(hf: Fairhold, found: dict[str, int]) -> str:
    return f"{count(found['tried'], 'message')} tried."


async def _send_until_stopped(hf: Fairhold) -> None:
    import asyncio
    import signal

    from fairhold.outbox import Outbox

    stop, sending = asyncio.Event(), Outbox(hf)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await sending.start()
    try:
        await stop.wait()
    finally:
        await sending.close()


@app.command("list", epilog=examples("fairhold message list yoga"))
def listing(
    pool: Pool,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many at most.")] = 100,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """List what a pool has put into the outbox, in order."""
    desk.serve(database, as_json, lambda hf: hf.messages(pool, limit=limit), _table)


@app.command(epilog=examples("fairhold message dead"))
def dead(database: Database = None, as_json: Json = False) -> None:
    """List the dead letters: messages that were given up."""
    desk.serve(database, as_json, lambda hf: hf.dead_letters(limit=1_000), _table)


async def _table(hf: Fairhold, messages: list[records.Message]) -> str:
    rows = [
        (it.id, it.kind, it.to, _fate(it.state), count(it.attempts, "try", "tries"), _why(it))
        for it in messages
    ]
    return columns(rows, ("message", "kind", "to", "", "", "")) if rows else "No messages."


def _fate(state: str) -> str:
    return state.replace("_", " ")


def _why(message: records.Message | records.MessageFate) -> str:
    """Say why a message did not go out, or has not yet."""
    return "it had become pointless" if message.state == "dropped" else clean(message.error)


@app.command(epilog=examples("fairhold message show p0c3k9m2v7h1zq-12-0"))
def show(message: Message, database: Database = None, as_json: Json = False) -> None:
    """Show one message, and how it fared with each receiver."""

    async def said(hf: Fairhold, it: records.MessageFate) -> str:
        head = f"{it.kind} to {it.to}: {_fate(it.state)}, {count(it.attempts, 'try', 'tries')}"
        if (why := _why(it)) and not it.deliveries:
            head += f": {why}"
        rows = [
            (told.target, told.state, count(told.attempts, "try", "tries"), clean(told.error))
            for told in it.deliveries
        ]
        if it.dismissed is not None:
            head += f", dismissed by {clean(it.dismissed.by)}"
        return "\n".join([head, *([columns(rows)] if rows else [])])

    desk.serve(database, as_json, lambda hf: hf.message(message), said)


@app.command(epilog=examples("fairhold message replay p0c3k9m2v7h1zq-12-0", "fairhold message replay --all"))
def replay(
    message: Annotated[str | None, typer.Argument(metavar="MESSAGE", help="The message's id.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All dead letters.")] = False,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Send a message again that was given up or not sent."""
    if every == (message is not None):
        raise options.bad("MESSAGE", "Name one message, or say --all.")

    async def ask(hf: Fairhold) -> list[records.MessageFate] | Refusal:
        from fairhold.core.refusals import Refusal

        if message is not None:
            one = await hf.replay(message)
            return one if isinstance(one, Refusal) else [one]
        return await _replay_all(hf)

    async def said(hf: Fairhold, found: list[records.MessageFate]) -> str:
        return f"{count(len(found), 'message')} will be sent again."

    desk.serve(database, as_json, ask, said)


@app.command(epilog=examples("fairhold message dismiss p0c3k9m2v7h1zq-12-0 --staff Olga"))
def dismiss(message: Message, staff: By = None, database: Database = None, as_json: Json = False) -> None:
    """Put a dead letter away; it can still be replayed."""

    async def said(hf: Fairhold, it: records.MessageFate) -> str:
        return "Dismissed. It stays among the pool's messages, and can still be replayed."

    desk.serve(database, as_json, lambda hf: hf.dismiss(message, by=options.member(staff)), said)


async def _replay_all(hf: Fairhold) -> list[records.MessageFate]:
    from fairhold.core.refusals import Refusal

    found: list[records.MessageFate] = []
    after: str | None = None
    while True:
        # From behind the last one: what is not kept any more cannot be sent again, and stays where it is.
        page = await hf.dead_letters(after=after, limit=1_000)
        if isinstance(page, Refusal) or not page:
            return found
        after = page[-1].id
        again = [await hf.replay(it.id) for it in page]
        found += [it for it in again if not isinstance(it, Refusal)]


@app.command(
    epilog=examples("fairhold message preview offer", "fairhold message preview offer --language de --html")
)
def preview(
    kind: Kind,
    language: Language = "en",
    html: Annotated[bool, typer.Option("--html", help="The HTML of the first case, for a browser.")] = False,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Show how a kind of message reads, with invented people."""

    async def said(hf: Fairhold, cases: list[records.Preview]) -> str:
        if html:
            return cases[0].html
        return "\n\n".join(f"Subject: {it.subject}\n\n{it.text}\nSMS: {it.sms}" for it in cases)

    desk.serve(database, as_json, lambda hf: hf.preview(kind, language), said)


@app.command(
    epilog=examples("fairhold message say offer subject 'Quick, {{ name }}: {{ pool }}' --language en")
)
def say(
    kind: Kind,
    part: Annotated[str, typer.Argument(metavar="subject|body|sms", help="What of the message.")],
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="Your words; without them, Fairhold's come back.")
    ] = None,
    language: Language = "en",
    staff: By = None,
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Say a part of a message in your own words."""

    async def ask(hf: Fairhold) -> records.Template | dict[str, bool] | Refusal:
        if text is not None:
            return await hf.set_template(kind, language, part, text, by=options.member(staff))
        from fairhold.core.refusals import Refusal

        dropped = await hf.drop_template(kind, language, part)
        return dropped if isinstance(dropped, Refusal) else {"dropped": dropped}

    async def said(hf: Fairhold, found: Any) -> str:
        if text is not None:
            return f"{kind} has its {part} in your words. Look: fairhold message preview {kind}"
        return "Back to Fairhold's words." if found["dropped"] else "These were Fairhold's words already."

    desk.serve(database, as_json, ask, said)
