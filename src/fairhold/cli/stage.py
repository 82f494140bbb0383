"""A story's stage: one pool and a clock that is moved. What it tells comes from the log and the answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from fairhold.cli import tell
from fairhold.cli.narrate import QUIET, Narrator, names_in, numbers_in
from fairhold.cli.words import clean, hanging, style, width_of
from fairhold.clock import to_datetime
from fairhold.core.refusals import Refusal
from fairhold.explain import explain
from fairhold.library import Fairhold, granted
from fairhold.records import LogEntry
from fairhold.shapes import Booking, Outcome
from fairhold.store.rows import event_of

_TONES: Final = {"good": ("green",), "bad": ("red",), "ask": ("yellow",), "plain": ()}
_INDENT: Final = 13
WIDTH: Final = 80


class Story(NamedTuple):
    """A preset at work."""

    preset: str
    title: str
    sentence: str
    starts_at: datetime
    play: Callable[[Stage], Awaitable[None]]


class Stage:
    """The pool of a story, the people in it by name, and how far its log has been told."""

    def __init__(self, hf: Fairhold, key: str, say: Callable[[str], None]) -> None:
        self.hf = hf
        self.key = key
        self.say = say
        self._log: list[LogEntry] = []
        self._bookings: dict[str, str] = {}
        self._last_at = ""

    # What stories ask -------------------------------------------------------------------------------

    async def pool(self, preset: str, **fields: Any) -> None:
        granted(await self.hf.create_pool(self.key, preset=preset, **fields))
        await self._tell("")

    async def book(self, name: str, quantity: int = 1, **asked: Any) -> Booking | None:
        """Somebody asks for seats."""
        party = {"id": name.lower(), "name": name, "tags": asked.pop("tags", [])}
        seats = "a seat" if quantity == 1 else f"{quantity} seats"
        answer = await self.hf.book(self.key, party, quantity, **asked)
        if isinstance(answer, Booking):
            self._bookings[name] = answer.id
        await self._tell(f"{name} asks for {seats}", answer)
        return answer if isinstance(answer, Booking) else None

    async def seated(self, *names: str, **asked: Any) -> None:
        """People who had their seats before the story begins."""
        for name in names:
            await self.book(name, confirmed=True, by="staff", **asked)

    async def confirm(self, name: str) -> None:
        await self._tell(f"{name} confirms", await self.hf.confirm(self._bookings[name]))

    async def cancel(self, name: str) -> None:
        await self._tell(f"{name} cancels", await self.hf.cancel(self._bookings[name]))

    async def decline(self, name: str) -> None:
        await self._tell(f"{name} declines", await self.hf.decline(self._bookings[name]))

    async def token(self, name: str) -> str:
        """The link in the message that somebody got."""
        found = granted(await self.hf.booking(self._bookings[name], secret=True))
        assert found.offer is not None, f"{name} has no offer"
        return found.offer.token

    async def claim(self, name: str, token: str | None = None) -> None:
        await self._tell(f"{name} taps the link", await self.hf.claim(token or await self.token(name)))

    async def change(self, ask: str, *, dry_run: bool = False, **fields: Any) -> None:
        await self._tell(ask, await self.hf.change_pool(self.key, dry_run=dry_run, **fields))

    async def ask(self, ask: str, answer: object) -> None:
        """Anything else; its answer is told."""
        await self._tell(ask, answer)

    async def after(self, **span: float) -> None:
        """Time passes, and what falls due happens."""
        s = span.get("minutes", 0) * 60 + span.get("hours", 0) * 3600
        await self.hf.advance(seconds=s)
        await self._tell("")

    # What is shown ----------------------------------------------------------------------------------

    async def line(self) -> None:
        """Who waits, in order."""
        found = granted(await self.hf.line(self.key))
        people = "   ".join(f"{b.position} {clean(b.party.name)}" for b in found) or "nobody"
        self.note(f"in line:  {people}")

    async def places(self) -> None:
        """Who is in which quota, in the open share, or in line."""
        where: dict[str, list[str]] = {}
        for b in granted(await self.hf.bookings(self.key)):
            if b.placement:
                where.setdefault(b.quota if b.placement == "quota" else b.placement, []).append(b.party.name)
        self.note("   ".join(f"{place}: {', '.join(names)}" for place, names in where.items()))

    async def figures(self) -> None:
        stats = granted(await self.hf.stats(self.key))
        self.note(
            f"holds: {stats.active_holds} active, {stats.holds_expiring_soon} expiring soon, "
            f"{stats.expired_holds} expired; seats held: {stats.total_held_seats}"
        )

    def note(self, text: str) -> None:
        self._print(to_datetime(self.hf.clock.now()), style(text, "cyan"))

    async def explain(self, name: str) -> None:
        """Why somebody is where they are."""
        found = granted(await self.hf.booking(self._bookings[name]))
        self.say(f"\n  {style(f'{await tell.standing(self.hf, found)} Why?', 'bold')}")
        self._last_at = ""
        for step in granted(await self.hf.explain(found.id)):
            self._print(step.at, step.sentence)

    # How it is told ---------------------------------------------------------------------------------

    async def _tell(self, ask: str, answer: object = None) -> None:
        """What the log has had to say since the last time; or the answer, where it had nothing to say."""
        told = len(self._log)
        self._log += granted(await self.hf.log(self.key, after=told, limit=1000))
        narrator = await self._narrator(entry.facts for entry in self._log)
        moments: dict[datetime, list[str]] = {}
        for index, entry in enumerate(self._log[told:], told):
            facts = {**entry.facts, **await self._passed_over(index)}
            it = narrator.tell(entry.event, facts, entry.by)
            if entry.event not in QUIET:
                moments.setdefault(entry.at, []).append(style(it.sentence, *_TONES[it.tone]))
        for at, sentences in moments.items():
            self._print(at, " → ".join(sentences))
        if ask and (isinstance(answer, Refusal | Outcome) or not moments):
            self._print(to_datetime(self.hf.clock.now()), f"{ask} → {await self._answered(answer)}")

    async def _narrator(self, facts: Iterable[Mapping[str, Any]]) -> Narrator:
        openings = {it.facts["opening"]: it.facts["unit"] for it in self._log if it.event == "OpeningStarted"}
        named = {number: unit for number, unit in openings.items() if unit}
        return Narrator(await names_in(self.hf, self.key, numbers_in(facts)), named)

    async def _passed_over(self, index: int) -> dict[str, Any]:
        """Whom an event passed over, one by one: the log names groups, `explain` knows who was in them."""
        if not self._log[index].facts.get("skipped"):
            return {}
        pool_id = await self.hf.reads.pool_id(self.key, self.hf.org)
        assert pool_id is not None
        policy = (await self.hf.reads.view(pool_id)).pool.policy
        rows = await self.hf.store.reader().rows("read_log", pool_id, 0, index + 1)
        log = [(row[1], row[4], event_of(row[2], row[5])) for row in rows]
        skipped = []
        for number in sorted({row[3] for row in rows if row[3] is not None} - {rows[index][3]}):
            before, steps = explain(number, log[:-1], policy), explain(number, log, policy)
            if len(steps) > len(before):
                skipped.append({"booking": number, "reason": steps[-1].reason})
        return {"skipped": skipped}

    async def _answered(self, answer: object) -> str:
        if isinstance(answer, Refusal):
            return style(f"refused: {answer.sentence}", "red")
        if isinstance(answer, Booking):
            where = f", #{answer.position} in line" if answer.state == "waiting" else ""
            return f"the same answer again: {answer.state}{where}"
        if isinstance(answer, Outcome):
            narrator = await self._narrator(answer.events)
            told = [
                narrator.tell(e["event"], e, e["by"]).sentence
                for e in answer.events
                if e["event"] not in QUIET
            ]
            return style("would happen: " + ", ".join(told[1:]), "blue")
        return "done"

    def _print(self, at: datetime, text: str) -> None:
        """A line of the story; the time stands only where it has changed."""
        clock = f"{at:%a %H:%M}"
        shown = "" if clock == self._last_at else clock
        gap = " " * (_INDENT - 2 - len(shown))
        self.say(hanging("  " + style(shown, "dim") + gap, _capital(text), WIDTH))
        self._last_at = clock


def _capital(text: str) -> str:
    """The first letter as a capital, behind what colours it."""
    start = text.index("m") + 1 if text.startswith("\x1b") else 0
    return text[:start] + text[start : start + 1].upper() + text[start + 1 :]


def ruled(title: str) -> str:
    return f"── {title} " + "─" * (WIDTH - 4 - width_of(title))
