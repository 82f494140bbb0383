"""Fills a database with one of everything, and notes what people were answered.

It speaks to the library as it was in the first version, so that any version can run it; what came later is
filled where it is there. The clock stands still and ids are counted, so that two runs differ little.
"""

from __future__ import annotations

import asyncio
import importlib
import itertools
import os
import sys
from typing import Any

import msgspec

from fairhold import Fairhold, TestClock, granted, ids, tokens
from fairhold.core.refusals import Refusal

START = 1_800_000_000_000
SECRET = "a secret of the tests"
PASSWORD = "correct horse battery"


async def fill(url: str) -> dict[str, Any]:
    """What was told: tokens, keys, and the answer under each idempotency key."""
    told: dict[str, Any] = {"answers": {}}
    # No address here is asked for by anybody.
    os.environ["FAIRHOLD_WEBHOOKS_TO_PRIVATE"] = "yes"
    numbers = itertools.count(2**40)
    ids.new_pool_id = lambda: next(numbers)
    async with Fairhold.open(url, clock=TestClock(START), secret=SECRET) as hf:
        await _receivers(hf)
        await _pools(hf)
        await _people(hf, told)
        await _letters(hf)
        await _accounts(hf, told)
        await _more_people(hf, told)
    return told


async def _pools(hf: Fairhold) -> None:
    wanted: dict[str, dict[str, Any]] = {
        "flight": {"preset": "checkout", "quotas": [{"key": "seat", "units": ["1A", "1B", "1C", "2A"]}]},
        "party": {"preset": "event_signup", "quotas": {"a": 1}, "open_size": 1},
        "yoga": {"preset": "class_waitlist", "quotas": {"main": 1}},
        "course": {
            "preset": "course_section",
            "quotas": {"all": 1},
            "policy": {"priority_rules": [{"when": {"tag": "honours"}, "add": 5}]},
        },
        "salon": {"preset": "last_minute", "quotas": {"main": 1}, "policy": {"tries_max": 1}},
        "choir": {"preset": "class_waitlist", "quotas": {"a": 1, "b": 1}, "policy": {"cooldown": "0s"}},
    }
    for key, pool in wanted.items():
        granted(await hf.create_pool(key, **pool))


async def _people(hf: Fairhold, told: dict[str, Any]) -> None:
    """Bookings that come to every state there is."""
    ann = await _book(hf, told, "flight", "Ann", units=["1A"])
    granted(await hf.confirm(ann, idempotency_key="Ann confirms"))
    await _book(hf, told, "flight", "Bea", units=["1B"])
    for who, quota in (("Ann", "a"), ("Bea", "a"), ("Cyd", "a")):
        await _book(hf, told, "party", who, quota=quota)
    for who in ("Ann", "Bea", "Cyd"):
        await _book(hf, told, "yoga", who)
    for who in ("Ann", "Bea"):
        await _book(hf, told, "salon", who)
        await _book(hf, told, "course", who, tags=["honours"] if who == "Bea" else [])
    first = {pool: (await hf.bookings(pool))[0].id for pool in ("yoga", "salon", "course")}
    for pool in first:
        granted(await hf.confirm(first[pool]))
    # A freed seat is offered: declined here, lapsed there, and open still at the end.
    granted(await hf.cancel(first["course"]))
    await hf.decline((await _offered(hf, "course")).id)
    granted(await hf.cancel(first["salon"]))
    await _second_round(hf)
    await hf.advance(seconds=700)


async def _second_round(hf: Fairhold) -> None:
    """In one of two quotas everyone in line was asked, and is asked again."""
    olga, _ = [granted(await hf.book("choir", who, quota="a")) for who in ("Olga", "Bea")]
    granted(await hf.cancel(olga.id))
    granted(await hf.decline((await _offered(hf, "choir")).id))


async def _more_people(hf: Fairhold, told: dict[str, Any]) -> None:
    """Last of all, so that there are holds and an offer to be answered by who comes later."""
    granted(await hf.cancel((await hf.bookings("yoga"))[0].id))
    offer = await _offered(hf, "yoga")
    assert offer.offer is not None
    told["offer_token"] = tokens.offer_token(hf.secret, offer.id, offer.offer.seq)
    told["offered_to"] = offer.id
    held = granted(
        await hf.book("flight", _party("Fay", []), units=["1C"], idempotency_key="Fay books flight")
    )
    told["edit_token"], told["held"] = held.edit_token, held.id
    told["answers"]["Fay books flight"] = msgspec.to_builtins(held)
    await _from_somewhere(hf, told)
    refused = await hf.book(
        "flight", _party("Gus", []), quota="seat", quantity=9, idempotency_key="Gus books flight"
    )
    assert isinstance(refused, Refusal)
    told["answers"]["Gus books flight"] = {"code": refused.code, "sentence": refused.sentence}
    last = (await hf.line("yoga"))[-1]
    granted(await hf.move(last.id, "front", why="asked"))
    told["now"] = hf.clock.now()


async def _book(hf: Fairhold, told: dict[str, Any], pool: str, who: str, **more: Any) -> str:
    key = f"{who} books {pool}"
    party = _party(who, more.pop("tags", []))
    made = granted(await hf.book(pool, party, idempotency_key=key, **more))
    if key == "Cyd books yoga":
        told["answers"][key] = msgspec.to_builtins(made)
    return str(made.id)


def _party(who: str, tags: list[str]) -> dict[str, Any]:
    return {"id": who, "name": who, "contacts": {"email": f"{who.lower()}@example.org"}, "tags": tags}


async def _offered(hf: Fairhold, pool: str) -> Any:
    found = [it for it in await hf.bookings(pool) if it.state == "offered"]
    return granted(await hf.booking(found[0].id))


# What later versions brought.


async def _receivers(hf: Any) -> None:
    if hasattr(hf, "set_template"):
        granted(await hf.add_webhook("https://192.0.2.1/fairhold"))
        granted(await hf.add_staff_contact("email", "desk@example.org"))
        granted(await hf.set_template("offer", "en", "subject", "A seat for you"))
    if hasattr(hf, "allow_origin"):
        granted(await hf.allow_origin("https://example.org"))
    if hasattr(hf, "set_retention"):
        granted(await hf.set_retention(people_days=400, messages_days=None))


async def _from_somewhere(hf: Any, told: dict[str, Any]) -> None:
    """A hold by a public key, whose address is counted."""
    try:
        source = importlib.import_module("fairhold.hoarding").Source("somewhere", 1, 1)
    except ImportError:
        return
    granted(await hf.book("flight", _party("Hal", []), units=["2A"], source=source))
    told["source"] = "somewhere"


async def _letters(hf: Any) -> None:
    """What is due is sent, some of it in vain; the rest is left for later."""
    if not hasattr(hf, "set_template"):
        return
    outbox = importlib.import_module("fairhold.outbox")
    base = importlib.import_module("fairhold.notifiers.base")

    class Post:
        async def send(self, message: Any) -> None:
            if message.address == "bea@example.org":
                raise base.Permanent("550 no such mailbox")
            if message.address == "cyd@example.org":
                raise base.Temporary("451 not now")

    notifiers = {"email": Post(), "webhook": Post(), "log": Post()}
    await outbox.Outbox(hf, outbox.MessageSettings(), notifiers, dice=lambda: 0.5).send_due()
    if hasattr(hf, "dismiss"):
        granted(await hf.dismiss((await hf.dead_letters())[0].id))


async def _accounts(hf: Any, told: dict[str, Any]) -> None:
    try:
        keys = importlib.import_module("fairhold.keys")
    except ImportError:
        return
    told["key"] = granted(
        await keys.Keys(hf.store, hf.clock, hf.secret).create("default", "staff", "desk")
    ).secret
    try:
        members = importlib.import_module("fairhold.accounts.members")
    except ImportError:
        return
    sessions = importlib.import_module("fairhold.accounts.sessions")
    passwords = importlib.import_module("fairhold.accounts.passwords")
    olga = granted(
        await members.Members(hf.store, hf.clock, hf.secret).add(
            "default", "olga@example.org", "Olga", "admin"
        )
    )
    signing_in = sessions.Sessions(hf.store, hf.clock, hf.secret, passwords.Passwords())
    started = await signing_in.accept(olga.invitation.token, PASSWORD)
    try:
        ways_in = importlib.import_module("tests.store.upgrades.ways_in")
    except ImportError:
        return
    await ways_in.fill(hf, started, signing_in, told)


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(fill(sys.argv[1]))))
