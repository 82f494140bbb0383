"""What a scenario's lines do. Each verb is one function: the line becomes commands, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, Final

from fairhold.core import commands as c
from fairhold.core import policy as policies
from fairhold.core.model import DEAD_CONTACT, LIBRARY, WAITING, Party, Pool, Quota
from fairhold.core.policy import Policy
from fairhold.core.refusals import Refusal
from fairhold.testing import values
from fairhold.testing.facts import refusal_fact
from fairhold.testing.language import Line
from fairhold.testing.stage import Stage

_POLICY: Final = frozenset(field.name for field in fields(Policy))
_TIMES: Final = {"opens": "opens_at", "closes": "closes_at", "starts": "starts_at"}


def pool(stage: Stage, line: Line) -> None:
    """Options that are none of a pool's or a policy's fields are quotas."""
    options = dict(line.options)
    preset = options.pop("preset", None)
    made = policies.make(preset, _policy_fields(options))
    if isinstance(made, Refusal):
        stage.refusal = made
        stage.facts.append(refusal_fact(made, stage))
        return
    changes = _pool_fields(options, stage.world.now)
    eligible = {k[9:]: values.condition(options.pop(k)) for k in list(options) if k.startswith("eligible:")}
    quotas, units = [], list[Mapping[str, Any]]()
    for key, text in options.items():
        by_units = text.startswith("units(")
        if by_units:
            units += [{"label": label, "quota": key} for label in text[6:-1].split(",") if label]
        size = 0 if by_units else values.value(text)
        quotas.append(Quota(key, size=size, by_units=by_units, eligible=eligible.get(key)))
    changes |= {"quotas": tuple(quotas), "policy": made}
    blank = Pool(1, "org", line.words[0], "", made, ())
    stage.run(c.CreatePool(replace(blank, **changes), tuple(units)))


def _policy_fields(options: dict[str, str]) -> dict[str, Any]:
    """Takes the fields of a policy out of the options. `priority:100=tag:honours` is a priority rule."""
    found = {name: values.value(options.pop(name)) for name in list(options) if name in _POLICY}
    rules = [
        {"when": values.condition(options.pop(name)), "add": int(name[9:])}
        for name in list(options)
        if name.startswith("priority:")
    ]
    return found | ({"priority_rules": rules} if rules else {})


def _pool_fields(options: dict[str, str], now: int) -> dict[str, Any]:
    """Takes the fields of a pool out of the options."""
    found: dict[str, Any] = {}
    for name in list(options):
        if name in _TIMES:
            text = options.pop(name)
            found[_TIMES[name]] = None if text == "none" else values.instant(text, now)
        elif name == "open":
            found["open_size"] = values.value(options.pop(name))
        elif name == "price":
            found["price"] = values.price(options.pop(name))
        elif name == "title":
            found["title"] = options.pop(name)
    return found


def book(stage: Stage, line: Line) -> None:
    people, flags = _flagged(line, "confirmed", "opening")
    for name, quantity in people.names:
        stage.run(_book(stage, line, name, quantity, flags), line.options.get("as", name))


def _flagged(line: Line, *known: str) -> tuple[Line, set[str]]:
    """The line without these words, and those of them that it has."""
    flags = {word for item in line.items for word in item[1:]} & set(known)
    people = tuple(tuple(word for word in item if word not in flags) for item in line.items)
    return replace(line, items=people), flags


def _book(stage: Stage, line: Line, name: str, quantity: int | None, flags: set[str]) -> c.Book:
    options, now = line.options, stage.world.now
    units = tuple(options["units"].split(",")) if "units" in options else ()
    tags = tuple(options["tags"].split(",")) if "tags" in options else ()
    party = Party(
        name.lower(),
        name,
        {"email": f"{name.lower()}@example.org"},
        tags,
        values.attributes(options.get("attributes", "")),
    )
    return c.Book(
        party,
        quantity=quantity if quantity is not None else len(units) or 1,
        quota=options.get("quota"),
        units=units,
        if_full=options.get("if_full"),
        price=values.price(options["price"]) if "price" in options else None,
        wants=values.wants(options, now),
        opening=stage.handed_back[-1] if "opening" in flags else None,
        confirmed="confirmed" in flags,
        by=line.by or "party",
        door=options.get("door", LIBRARY),
    )


def wait(stage: Stage, line: Line) -> None:
    for name, quantity in line.names:
        outcome = stage.run(_book(stage, line, name, quantity, set()), name)
        if isinstance(outcome.answer, Refusal):
            raise line.error(f"{name} was refused: {outcome.answer.sentence}")
        if not line.dry and (state := stage.find(name).state) != WAITING:
            raise line.error(f"{name} is {state}, not waiting")


def confirm(stage: Stage, line: Line) -> None:
    for name, _ in line.names:
        door = line.options.get("door", LIBRARY)
        stage.run(c.Confirm(stage.find(name).number, line.by or "party", door))


def cancel(stage: Stage, line: Line) -> None:
    for name, _ in line.names:
        stage.run(c.Cancel(stage.find(name).number, line.options.get("why", ""), line.by or "party"))


def extend(stage: Stage, line: Line) -> None:
    name, *more = line.words
    window = values.length(more[0]) if more else None
    stage.run(c.Extend(stage.find(name).number, window, line.by or "party"))


def claim(stage: Stage, line: Line) -> None:
    for name, quantity in line.names:
        booking = stage.find(name)
        seq = int(line.options.get("offer", booking.offer_seq))
        stage.run(c.Claim(booking.number, seq, quantity, line.by or "party"))


def decline(stage: Stage, line: Line) -> None:
    for name, _ in line.names:
        seq = int(line.options["offer"]) if "offer" in line.options else None
        stage.run(c.Decline(stage.find(name).number, seq, line.by or "party"))


def unreachable(stage: Stage, line: Line) -> None:
    for name, _ in line.names:
        booking = stage.find(name)
        seq, reason = (
            int(line.options.get("offer", booking.offer_seq)),
            line.options.get("reason", DEAD_CONTACT),
        )
        stage.run(c.Unreachable(booking.number, seq, reason, "no such mailbox"))


def sent(stage: Stage, line: Line) -> None:
    """A channel takes the letter about the last offer; with the word `other`, one that brings no offer."""
    people, flags = _flagged(line, "other")
    for name, _ in people.names:
        booking = stage.find(name)
        stage.run(c.NoteTold(booking.number, None if flags else booking.offer_seq))


def delayed(stage: Stage, line: Line) -> None:
    for name, _ in line.names:
        booking = stage.find(name)
        stage.run(c.NoteDelayed(booking.number, booking.offer_seq))


def reachable(stage: Stage, line: Line) -> None:
    for name, _ in line.names:
        stage.run(c.NoteReachable(stage.find(name).number))


def details(stage: Stage, line: Line) -> None:
    """What a party says of itself: `name`, `email`, `locale`; whatever else is said is an answer."""
    said = dict(line.options)
    name, email, locale = (said.pop(key, None) for key in ("name", "email", "locale"))
    contacts = {"email": email} if email is not None else None
    number, by = stage.find(line.words[0]).number, line.by or "party"
    staff_tell = {"told_by_staff": True, "told_by_channels": False}
    told = next((said for word, said in staff_tell.items() if word in line.words), None)
    stage.run(c.ChangeBooking(number, name, contacts, locale, said or None, by, told))


def offer(stage: Stage, line: Line) -> None:
    people, flags = _flagged(line, "opening")
    opening = stage.handed_back[-1] if flags else None
    why, by = line.options.get("why", ""), line.by or "staff"
    for name, _ in people.names:
        stage.run(c.GiveOffer(stage.find(name).number, why, opening, by))


def move(stage: Stage, line: Line) -> None:
    name, to, *other = line.words
    after = stage.find(other[0]).number if other else None
    why, by = line.options.get("why", ""), line.by or "staff"
    stage.run(c.Move(stage.find(name).number, to, after, why, by))


def put_back(stage: Stage, line: Line) -> None:
    for name, _ in line.names:
        stage.run(c.PutBack(stage.find(name).number, line.options.get("why", ""), line.by or "staff"))


def fill(stage: Stage, line: Line) -> None:
    stage.run(c.Fill(int(line.words[0]) if line.words else None))


def tick(stage: Stage, line: Line) -> None:
    stage.run(c.Tick())


def after(stage: Stage, line: Line) -> None:
    stage.pass_time(stage.world.now + values.length(line.words[0]))


def at(stage: Stage, line: Line) -> None:
    until = values.instant(line.words[0], stage.world.now)
    if until < stage.world.now:
        raise line.error(f"it is {values.clock(stage.world.now)} already")
    stage.pass_time(until)


def asleep(stage: Stage, line: Line) -> None:
    stage.world.now += values.length(line.words[0])


def size(stage: Stage, line: Line) -> None:
    sizes = {key: values.value(text) for key, text in line.options.items() if key != "open"}
    _change(stage, line, _pool_fields(dict(line.options), stage.world.now), sizes)


def open_size(stage: Stage, line: Line) -> None:
    _change(stage, line, {"open_size": values.value(line.words[0])})


def change(stage: Stage, line: Line) -> None:
    options = dict(line.options)
    made = policies.changed(stage.world.pool().policy, _policy_fields(options))
    if isinstance(made, Refusal):
        stage.refusal = made
        stage.facts.append(refusal_fact(made, stage))
        return
    changes = _pool_fields(options, stage.world.now) | {"policy": made}
    if options:
        raise line.error(f"a pool has no {', '.join(options)}")
    _change(stage, line, changes)


def _change(
    stage: Stage, line: Line, changes: Mapping[str, Any], sizes: Mapping[str, int | None] | None = None
) -> None:
    stage.run(c.ChangePool(changes, sizes or {}, "demote" in line.words, by=line.by or "staff"))


def _status(status: str) -> Callable[[Stage, Line], None]:
    return lambda stage, line: _change(stage, line, {"status": status})


def units(stage: Stage, line: Line) -> None:
    what, *more = line.words
    labels = [label for word in more for label in word.split(",") if label]
    if what == "close":
        for label in labels:
            stage.run(c.CloseUnit(label))
        return
    if what != "add":
        raise line.error("units are added or closed: units add …, units close …")
    options, now = line.options, stage.world.now
    quota = options.get("quota", stage.world.pool().quotas[0].key)
    starts_at = values.instant(options["starts"], now) if "starts" in options else None
    about = values.attributes(options.get("attributes", ""))
    made = ({"label": x, "quota": quota, "starts_at": starts_at, "attributes": about} for x in labels)
    stage.run(c.AddUnits(tuple(made)))


def resolve(stage: Stage, line: Line) -> None:
    opening = stage.handed_back[-1] if stage.handed_back else 0
    stage.run(c.Resolve(opening, line.words[0]))


ACTIONS: Final[dict[str, Callable[[Stage, Line], None]]] = {
    "pool": pool,
    "book": book,
    "wait": wait,
    "confirm": confirm,
    "cancel": cancel,
    "extend": extend,
    "claim": claim,
    "decline": decline,
    "unreachable": unreachable,
    "sent": sent,
    "delayed": delayed,
    "reachable": reachable,
    "details": details,
    "offer": offer,
    "move": move,
    "put_back": put_back,
    "fill": fill,
    "tick": tick,
    "after": after,
    "at": at,
    "asleep": asleep,
    "size": size,
    "open_size": open_size,
    "change": change,
    "units": units,
    "resolve": resolve,
    "pause": _status("paused"),
    "open": _status("open"),
    "close": _status("closed"),
    "cancel_pool": _status("cancelled"),
}
