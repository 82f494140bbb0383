"""`fairhold demo`: the service with five lived-in pools, or five stories told in the terminal."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fairhold.cli import desk, options
from fairhold.cli.options import Json, examples
from fairhold.cli.words import hanging, style

if TYPE_CHECKING:
    from fairhold.cli.stage import Story
    from fairhold.demo.run import Links

NAMES: Final = ("class_waitlist", "course_section", "checkout", "event_signup", "last_minute")


def register(app: typer.Typer) -> None:
    app.command(
        epilog=examples("fairhold demo", "fairhold demo --stories", "fairhold demo --story last_minute")
    )(demo)


def demo(
    port: Annotated[
        int | None,
        typer.Option(
            "--port", min=1, max=65535, help="Port to serve at; if not said, 8000 or any that is free."
        ),
    ] = None,
    opened: Annotated[
        bool | None,
        typer.Option("--open/--no-open", help="Open it in a browser; if not said, where there is one."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0, help="Stop by itself after so many seconds.")
    ] = None,
    stories: Annotated[
        bool, typer.Option("--stories", help="Serve nothing: tell five stories here, in seconds.")
    ] = False,
    story: Annotated[
        str | None, typer.Option("--story", metavar="NAME", help=f"Only this one of: {', '.join(NAMES)}.")
    ] = None,
    as_json: Json = False,
) -> None:
    """See Fairhold at work, in your browser.

    Serves five pools with a past: pages for the people waiting, the console, and a page where you move the
    clock on and watch offers roll on to the next in line. The database is thrown away when you stop it with
    Ctrl-C; nobody is really written to.

    With --stories, five stories are told in the terminal instead, from the log of a real database.
    """
    if stories or story is not None or as_json:
        _stories(story, as_json=as_json)
    else:
        _serve(port, opened, seconds)


def _serve(port: int | None, opened: bool | None, seconds: float | None) -> None:
    from fairhold.errors import ExtraMissing
    from fairhold.extras import needs

    try:
        with needs("server", "the demo"):
            from fairhold.demo.run import run
    except ExtraMissing as error:
        desk.fail(str(error), desk.WRONG)

    def tell(links: Links) -> None:
        print(_told(links), flush=True)
        if opened if opened is not None else _has_browser():
            import webbrowser

            webbrowser.open(links.demo)

    print("Setting the scene: five pools, twelve days …", flush=True)
    try:
        run(port, tell, seconds=seconds)
    except BrokenPipeError:
        raise
    except OSError as error:
        desk.fail(f"the demo cannot be served there: {error}", desk.UNAVAILABLE)
    print("\nStopped, and nothing is left behind.")


def _has_browser() -> bool:
    """Whether somebody sits here who would see a window: a terminal, and a screen beside it."""
    screen = (
        sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
    return sys.stdout.isatty() and bool(screen)


def _told(links: Links) -> str:
    lines = (
        ("Start here", links.demo, "move the clock, and watch"),
        ("Sign up", links.pool, "a pool's page, for phones"),
        ("Ann waits", links.booking, "where she stands, live"),
        ("Nia is asked", links.offer, "an offer: claim it"),
        ("The console", links.console, "signed in as Quinn"),
        ("The API", links.docs, "to try everything"),
    )
    told = [
        f"  {style(f'{name:<13}', 'bold')}{link}\n{'':<15}{style(what, 'dim')}" for name, link, what in lines
    ]
    known = f"  To sign in by hand: {links.email}, {links.password}\n  Key of the API:     {links.key}"
    return "\n".join(["", *told, "", known, "", "Stop with Ctrl-C; then all of it is gone."])


def _stories(story: str | None, *, as_json: bool) -> None:
    """Days pass in seconds, with a clock that is moved."""
    if story is not None and story not in NAMES:
        raise options.bad("--story", f"There is no story {story!r}. There are: {', '.join(NAMES)}.")
    import asyncio

    from fairhold.cli.stories import STORIES

    told = [it for it in STORIES if story in (None, it.preset)]
    with tempfile.TemporaryDirectory(prefix="fairhold-demo-") as folder:
        logs = [asyncio.run(_play(it, Path(folder), quiet=as_json)) for it in told]
    if as_json:
        desk.say(desk.encoded({"stories": logs}))
    else:
        print(f"\n{_closing(logs)}")
    if not all(log["whole"] for log in logs):
        raise typer.Exit(desk.REFUSED)


async def _play(story: Story, folder: Path, *, quiet: bool) -> dict[str, Any]:
    """Play one story on a database of its own, and check afterwards that every promise was kept."""
    from fairhold.cli.stage import WIDTH, Stage, ruled
    from fairhold.clock import TestClock, from_datetime
    from fairhold.library import Fairhold, granted
    from fairhold.verify import verify

    say = _nothing if quiet else print
    say("\n" + style(ruled(f"{story.title} · {story.preset}"), "bold"))
    say(hanging("  ", story.sentence, WIDTH) + "\n")
    clock = TestClock(from_datetime(story.starts_at))
    key = story.preset.replace("_", "-")
    async with Fairhold.open(
        f"sqlite:///{folder / key}.db", clock=clock, secret=f"the demo of {story.preset}"
    ) as hf:
        await story.play(Stage(hf, key, say))
        log = granted(await hf.log(key, limit=1000))
        report = await verify(hf.store)
    return {
        "story": story.preset,
        "title": story.title,
        "log": log,
        "whole": report.whole,
        "report": str(report),
    }


def _nothing(text: str) -> None:
    pass


def _closing(logs: list[dict[str, Any]]) -> str:
    events = sum(len(log["log"]) for log in logs)
    wrong = [log["report"] for log in logs if not log["whole"]]
    if wrong:
        return style("verify: a promise is broken", "red") + "\n" + "\n".join(wrong)
    return style(f"verify: all promises hold over {events} events.", "green")
