"""`holdfast demo`: the five presets' stories, played on a database that is thrown away."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from holdfast.cli import desk, options
from holdfast.cli.options import Json, examples
from holdfast.cli.words import hanging, style

if TYPE_CHECKING:
    from holdfast.cli.stage import Story

NAMES: Final = ("class_waitlist", "course_section", "checkout", "event_signup", "last_minute")


def register(app: typer.Typer) -> None:
    app.command(epilog=examples("holdfast demo", "holdfast demo --story last_minute"))(demo)


def demo(
    story: Annotated[
        str | None, typer.Option("--story", metavar="NAME", help=f"Only this one of: {', '.join(NAMES)}.")
    ] = None,
    as_json: Json = False,
) -> None:
    """See Holdfast at work, in five stories.

    Days pass in seconds, with a clock that is moved. What is told comes from the log of a real database,
    which is thrown away afterwards.
    """
    if story is not None and story not in NAMES:
        raise options.bad("--story", f"There is no story {story!r}. There are: {', '.join(NAMES)}.")
    import asyncio

    from holdfast.cli.stories import STORIES

    told = [it for it in STORIES if story in (None, it.preset)]
    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as folder:
        logs = [asyncio.run(_play(it, Path(folder), quiet=as_json)) for it in told]
    if as_json:
        desk.say(desk.encoded({"stories": logs}))
    else:
        print(f"\n{_closing(logs)}")
    if not all(log["whole"] for log in logs):
        raise typer.Exit(desk.REFUSED)


async def _play(story: Story, folder: Path, *, quiet: bool) -> dict[str, Any]:
    """Play one story on a database of its own, and check afterwards that every promise was kept."""
    from holdfast.cli.stage import WIDTH, Stage, ruled
    from holdfast.clock import TestClock, from_datetime
    from holdfast.library import Holdfast, granted
    from holdfast.verify import verify

    say = _nothing if quiet else print
    say("\n" + style(ruled(f"{story.title} · {story.preset}"), "bold"))
    say(hanging("  ", story.sentence, WIDTH) + "\n")
    clock = TestClock(from_datetime(story.starts_at))
    key = story.preset.replace("_", "-")
    async with Holdfast.open(f"sqlite:///{folder / key}.db", clock=clock, secret=story.preset) as hf:
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
