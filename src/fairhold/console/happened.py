"""What happened: the log as a story, of all pools, a pool, a seat or a person; and whether it is whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from fairhold import ids
from fairhold.console import chooser, find, tale
from fairhold.console.calls import Call
from fairhold.console.page import READERS, Page
from fairhold.core.refusals import Refusal
from fairhold.finding import TEXT_MAX
from fairhold.history import ACTORS, TOPICS
from fairhold.http.operations import granted
from fairhold.keeping.persons import bookings_of
from fairhold.pages.answers import Answer
from fairhold.pages.speech import PageSpeech
from fairhold.shapes import Booking, PoolName, PoolState

HERE: Final = "/console/happened"
_SHOWN: Final = 50
# Over all pools: so many pools at most, the latest of each.
_POOLS_MAX: Final = 50
_EACH: Final = 12
_BOOKINGS_MAX: Final = 50


async def look(call: Call) -> Answer:
    query = call.query
    if person := query.get("person") or query.get("booking"):
        return await _person(call, person.strip())
    if query.get("pool"):
        return await _pool(call, query["pool"])
    return await _everything(call)


async def _show(
    call: Call,
    *,
    here: str,
    pool: PoolState | None,
    speech: PageSpeech,
    latest: Sequence[PoolName] | None = None,
    **shown: Any,
) -> Answer:
    query = call.query
    asked = {name: query.get(name, "") for name in ("topic", "actor", "unit")}
    known = asked["topic"] in TOPICS or not asked["topic"]
    return await call.show(
        "happened.html",
        "happened",
        here=here,
        speech=speech,
        pools=chooser.options(latest if latest is not None else await chooser.names(call), pool),
        pool=pool,
        topics=list(TOPICS),
        actors=ACTORS,
        asked=asked if known else {"topic": "", "actor": "", "unit": ""},
        **{"person": None, "earlier": None, "report": None, "labels": [], "titles": {}, **shown},
    )


async def _everything(call: Call) -> Answer:
    """The latest of the pools with the latest news, in one order."""
    told, titles = list[dict[str, Any]](), dict[str, str]()
    latest = await chooser.names(call)
    speech = call.speech(chooser.usual_zone(latest[:_POOLS_MAX]))
    for pool in latest[:_POOLS_MAX]:
        # Nothing in this pool, and in those behind it, is newer than its latest news.
        if sum(it["at"] >= pool.updated_at for it in told) >= _SHOWN:
            break
        for it in await _entries(call, pool, speech):
            told.append(it | {"pool": pool.key})
            titles[pool.key] = pool.title or pool.key
    told.sort(key=lambda it: it["at"], reverse=True)
    shown = {"told": told[:_SHOWN], "titles": titles}
    return await _show(call, here=HERE, pool=None, speech=speech, latest=latest, **shown)


async def _entries(call: Call, pool: PoolName, speech: PageSpeech) -> list[dict[str, Any]]:
    page = granted(await call.hf.history(pool.id, limit=_EACH))
    return await _told(call, pool, page.entries, speech)


async def _told(
    call: Call, pool: PoolName | PoolState, entries: Any, speech: PageSpeech
) -> list[dict[str, Any]]:
    pool_id = ids.pool_number(pool.id)
    assert pool_id is not None
    people = await tale.people_in(call.hf, pool_id, entries)
    units = tale.opening_units(entries)
    units |= {it.number: it.unit for it in await call.hf.reads.openings(pool_id) if it.unit}
    return [tale.of_entry(it, people, units, speech) for it in entries if it.event not in tale.UNTOLD]


async def _pool(call: Call, name: str, report: Any = None) -> Answer:
    """A pool, or a seat of it."""
    pool, query = granted(await call.hf.pool(name)), call.query
    speech = call.speech(pool.time_zone)
    page = granted(
        await call.hf.history(
            pool.id,
            before=tale.number(query.get("before", "")),
            limit=_SHOWN,
            topic=_one_of(query.get("topic"), TOPICS),
            actor=_one_of(query.get("actor"), ACTORS),
            unit=query.get("unit") or None,
        )
    )
    return await _show(
        call,
        here=HERE,
        pool=pool,
        speech=speech,
        told=await _told(call, pool, page.entries, speech),
        earlier=page.earlier,
        report=report,
        labels=await _labels(call, pool),
    )


def _one_of(asked: str | None, known: Any) -> str | None:
    return asked if asked in known else None


async def _labels(call: Call, pool: PoolState) -> list[str]:
    """The units that one may ask about."""
    if not any(quota.by_units for quota in pool.quotas):
        return []
    pool_id = ids.pool_number(pool.id)
    assert pool_id is not None
    view = await call.hf.reads.view(pool_id, units=True)
    return [unit.label for unit in sorted(view.units.values(), key=lambda it: it.ordinal)][:1_000]


async def _person(call: Call, name: str) -> Answer:
    """Everything that was decided about a person, in all pools: by reference, id, or name if one has it."""
    found = await call.hf.booking(name)
    party = name if isinstance(found, Refusal) else found.party.id
    bookings, alike = await bookings_of(call.hf.store, call.hf.org, party), list[Booking]()
    if not bookings:
        alike = await _alike(call, name)
        if len(alike) == 1:
            bookings, alike = await bookings_of(call.hf.store, call.hf.org, alike[0].party.id), []
    found_in, titles, person = list[tuple[PoolState, Booking, Any]](), dict[str, str](), None
    for pool_id, number in bookings[:_BOOKINGS_MAX]:
        async with call.hf.reads.at_one_moment() as reads:
            booking, pool = await reads.booking(pool_id, number), await reads.pool(pool_id)
            steps = await reads.explain(pool_id, number)
        assert booking is not None
        person = booking
        titles[pool.key] = pool.title or pool.key
        found_in.append((pool, booking, steps))
    speech = call.speech(chooser.usual_zone(pool for pool, _, _ in found_in))
    told = [
        tale.of_step(step, booking, speech) | {"pool": pool.key}
        for pool, booking, steps in found_in
        for step in steps
    ]
    told.sort(key=lambda it: it["at"], reverse=True)
    return await _show(
        call,
        here=HERE,
        pool=None,
        speech=speech,
        told=told,
        titles=titles,
        person={"asked": name, "booking": person, "alike": alike},
    )


async def _alike(call: Call, name: str) -> list[Booking]:
    """A booking of each whom these words fit, by name, address or phone."""
    fitting = await find.by(call, name[:TEXT_MAX])
    return list({it.party.id: it for it in reversed(fitting)}.values())


async def check(call: Call) -> Answer:
    """Check every promise on a pool. It changes nothing, but it costs: so it is asked by a form."""
    pool = call.form.get("pool", "")
    return await _pool(call, pool, granted(await call.hf.verify(pool)))


async def back(call: Call) -> Answer:
    return call.to(HERE)


PAGES: Final = (
    Page(HERE, "console_happened", look),
    Page(f"{HERE}/check", "console_check", back, check, READERS, READERS),
)
