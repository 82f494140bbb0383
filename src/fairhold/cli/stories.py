"""The five presets' stories: what people do. What comes of it is Fairhold's to say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from fairhold.cli.stage import Stage, Story

_MONDAY: Final = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_SATURDAY: Final = datetime(2026, 3, 7, 11, 0, tzinfo=UTC)


async def class_waitlist(stage: Stage) -> None:
    await stage.pool("class_waitlist", title="Pottery on Thursdays", quotas={"main": 1})
    await stage.seated("Olga")
    for name in ("Ann", "Bea", "Cyd"):
        await stage.book(name)
    await stage.cancel("Olga")
    await stage.line()
    await stage.after(hours=24)
    await stage.after(hours=9)
    await stage.decline("Bea")
    await stage.line()
    await stage.after(hours=24)
    await stage.after(hours=2)
    await stage.claim("Ann")
    await stage.line()
    await stage.explain("Ann")


async def course_section(stage: Stage) -> None:
    honours = {"when": {"tag": "honours"}, "add": 10}
    await stage.pool(
        "course_section", title="Algebra II", quotas={"main": 2}, policy={"priority_rules": [honours]}
    )
    await stage.seated("Olga", "Eve")
    await stage.book("Ann")
    await stage.book("Bea")
    await stage.book("Cyd", tags=["honours"])
    await stage.line()
    await stage.book("Bea")
    await stage.book("Bea", 2)
    await stage.after(hours=1)
    await stage.cancel("Olga")
    await stage.cancel("Ann")
    await stage.line()
    await stage.after(hours=3)
    await stage.decline("Cyd")
    await stage.claim("Bea")
    await stage.explain("Bea")


async def checkout(stage: Stage) -> None:
    price = {"amount": 15_000, "currency": "EUR"}
    row = ["12A", "12B", "12C", "12D"]
    await stage.pool("checkout", title="Flight 7", quotas={"economy": row}, price=price)
    await stage.book("Ann", 2)
    await stage.book("Bea", 10)
    await stage.book("Bea")
    await stage.after(minutes=4)
    await stage.confirm("Ann")
    await stage.book("Cyd", 2)
    await stage.book("Cyd", units=["12D"])
    await stage.after(minutes=7)
    await stage.figures()
    await stage.book("Dan")
    await stage.after(minutes=4)
    await stage.confirm("Bea")
    await stage.book("Dan")
    await stage.confirm("Cyd")
    await stage.explain("Bea")


async def event_signup(stage: Stage) -> None:
    await stage.pool("event_signup", title="Spring ball", quotas={"members": 2, "guests": 1}, open_size=1)
    for name, quota in (("Ann", "members"), ("Bea", "members"), ("Cyd", "members"), ("Dan", "guests")):
        await stage.book(name, quota=quota)
    await stage.book("Eve", quota="guests")
    await stage.book("Olga", quota="guests")
    await stage.places()
    await stage.after(minutes=10)
    for name in ("Ann", "Cyd", "Dan", "Eve", "Olga"):
        await stage.confirm(name)
    await stage.after(minutes=20)
    await stage.places()
    await stage.after(hours=1)
    await stage.change("staff ask about one more open seat", open_size=2, dry_run=True)
    await stage.change("staff open one more seat", open_size=2)
    await stage.explain("Eve")


async def last_minute(stage: Stage) -> None:
    two = {"label": "2 pm", "starts_at": _SATURDAY + timedelta(hours=3)}
    five = {"label": "5 pm", "starts_at": _SATURDAY + timedelta(hours=6)}
    await stage.pool("last_minute", title="The salon", quotas=[{"key": "chair", "units": [two]}])
    await stage.seated("Olga", units=["2 pm"])
    await stage.book("Dan", wants={"from_at": _SATURDAY + timedelta(hours=5)})
    for name in ("Ann", "Bea", "Cyd"):
        await stage.book(name)
    await stage.after(minutes=10)
    await stage.cancel("Olga")
    await stage.after(minutes=3)
    await stage.decline("Ann")
    late = await stage.token("Bea")
    await stage.after(minutes=10)
    await stage.after(minutes=1)
    await stage.claim("Bea", late)
    link = await stage.token("Cyd")
    await stage.claim("Cyd", link)
    await stage.claim("Cyd", link)
    await stage.line()
    await stage.after(hours=1)
    await stage.ask("staff open a chair", await stage.hf.add_units(stage.key, [five]))
    await stage.decline("Dan")
    await stage.after(minutes=25)
    opening = (await stage.hf.reads.openings(await _pool_id(stage)))[0].number
    await stage.book("Eve", opening=opening, by="staff")
    await stage.explain("Dan")


async def _pool_id(stage: Stage) -> int:
    found = await stage.hf.reads.pool_id(stage.key, stage.hf.org)
    assert found is not None
    return found


STORIES: Final = (
    Story(
        "class_waitlist",
        "A class with a waitlist",
        "Everyone in line gets 24 hours in turn, and nobody a second offer before all had a first.",
        _MONDAY,
        class_waitlist,
    ),
    Story(
        "course_section",
        "A course section",
        "Honours students come first, positions have no gaps, and who declines leaves the line.",
        _MONDAY,
        course_section,
    ),
    Story(
        "checkout",
        "Seats on a flight",
        "A seat and its price are held for 15 minutes while the traveller pays.",
        _MONDAY,
        checkout,
    ),
    Story(
        "event_signup",
        "Signing up for a ball",
        "Two quotas and an open share; who does not confirm within 30 minutes makes room.",
        _MONDAY,
        event_signup,
    ),
    Story(
        "last_minute",
        "A chair that came free today",
        "Ten minutes to tap the link, then the next; what nobody takes goes back to staff.",
        _SATURDAY,
        last_minute,
    ),
)
