"""What callers give, made into the core's values: checked strictly, refused by field, never guessed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fairhold import local_times, questions
from fairhold.clock import from_datetime
from fairhold.core.conditions import problem as condition_problem
from fairhold.core.model import (
    CONFIRMED,
    DOORS,
    ENDED,
    ERASED,
    HELD,
    OFFERED,
    WAITING,
    Instant,
    Party,
    Price,
    Quota,
    Wants,
)
from fairhold.core.policy import Policy
from fairhold.core.refusals import Refusal, in_short
from fairhold.policy_document import as_document

TEXT_MAX: Final = 10_000
NAME_MAX: Final = 500
STATES: Final = (WAITING, OFFERED, HELD, CONFIRMED, *sorted(ENDED))
KEY: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_ATTRIBUTES_MAX: Final = 100
# Deep enough for conditions of several levels in a rule of a policy.
_DEPTH_MAX: Final = 16
# Within these every sum of an instant and a length is an instant that can be shown.
_YEARS: Final = (1900, 9900)


Details = tuple[str | None, Mapping[str, str] | None, str | None, Mapping[str, Any] | None]


class Bad(Exception):  # never leaves the package: `refused` makes it a value
    """Input that is refused."""

    def __init__(self, field: str, sentence: str, code: str = "invalid") -> None:
        self.refusal = Refusal(code, sentence, field)
        super().__init__(sentence)


def text(value: object, field: str, maximum: int = NAME_MAX, *, empty: bool = True) -> str:
    """Text that both databases can keep as it is."""
    if isinstance(value, str) and 0 < len(value) <= maximum and value.isprintable():
        # So is nearly everything; what is printable has no half of a pair and no NUL in it.
        return value
    if not isinstance(value, str):
        raise Bad(field, f"{field} must be text.")
    if len(value) > maximum or (not value and not empty):
        raise Bad(field, f"{field} must have {0 if empty else 1} to {maximum} characters.")
    if "\x00" in value or not _encodes(value):
        raise Bad(field, f"{field} has a character that cannot be kept.")
    return value


def _encodes(value: str) -> bool:
    """Whether it is proper Unicode; half a surrogate pair is not."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def whole(value: object, field: str, least: int = 0, most: int = 2**31 - 1) -> int:
    """A whole number: not true, not 1.0, not "1"."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise Bad(field, f"{field} must be a whole number from {least} to {most}.")
    return value


def flag(value: object, field: str) -> bool:
    if not isinstance(value, bool):
        raise Bad(field, f"{field} must be true or false.")
    return value


def door(value: object) -> str:
    """Return the door that a booking comes by, if it is one."""
    if value not in DOORS:
        raise Bad("door", f"door must be one of: {', '.join(DOORS)}.")
    return str(value)


def state(value: object, field: str = "state") -> str | None:
    """The state of bookings to look for."""
    if value is not None and (not isinstance(value, str) or value not in STATES):
        raise Bad(field, f"{field} must be one of {', '.join(STATES)}.")
    return value


def length_s(value: object, field: str) -> float:
    """A number of seconds, whole or not."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 10**9:
        raise Bad(field, f"{field} must be a number of seconds from 0 to {10**9}.")
    return value


def instant(value: object, field: str) -> Instant | None:
    """An aware datetime, or text of one in ISO 8601."""
    if value is None:
        return None
    value = _parsed(value, field, "an instant in ISO 8601")
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise Bad(field, f"{field} must be an instant with a time zone.")
    if not _YEARS[0] <= value.year <= _YEARS[1]:
        raise Bad(field, f"{field} must be in the years {_YEARS[0]} to {_YEARS[1]}.")
    try:
        if not local_times.exists(value):
            raise Bad(field, f"In {field}: {local_times.problem(value, value.tzinfo)}")
    except OverflowError:
        raise Bad(field, f"{field} is too far away.") from None
    return from_datetime(value)


def local_instant(value: object, zone_name: object, field: str) -> datetime | None:
    """A datetime, or text of one in ISO 8601; what comes without an offset is meant in the time zone."""
    if value is None:
        return None
    value = _parsed(value, field, "a date and time in ISO 8601, such as 2026-03-07T14:00")
    if not isinstance(value, datetime):
        raise Bad(field, f"{field} must be a date and time.")
    if value.tzinfo is None:
        there = ZoneInfo(zone(zone_name))
        if found := local_times.problem(value, there):
            raise Bad(field, f"In {field}: {found}")
        value = value.replace(tzinfo=there)
    return value


def _parsed(value: object, field: str, wanted: str) -> object:
    if not isinstance(value, str):
        return value
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        raise Bad(field, f"{field} must be {wanted}.") from None


def plain(value: object, field: str, depth: int = 1) -> Any:
    """Plain data: texts, numbers, true and false, null, lists and objects of them."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return text(value, field, TEXT_MAX)
    if isinstance(value, int) and abs(value) >= 2**53:
        raise Bad(field, f"{field} must be a number from {1 - 2**53} to {2**53 - 1}.")
    if isinstance(value, int | float) and value == value and abs(value) != float("inf"):
        return value
    if depth > _DEPTH_MAX:
        raise Bad(field, f"{field} is nested too deep.")
    if isinstance(value, list | tuple) and len(value) <= 1_000:
        return [plain(item, field, depth + 1) for item in value]
    if isinstance(value, Mapping) and len(value) <= _ATTRIBUTES_MAX:
        if not all(isinstance(name, str) for name in value):
            raise Bad(field, f"The names in {field} must be text.")
        return {text(name, field): plain(item, f"{field}.{name}", depth + 1) for name, item in value.items()}
    raise Bad(field, f"{field} must be plain data.")


def mapping(value: object, field: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise Bad(field, f"{field} must be an object.")
    return plain(value, field)  # type: ignore[no-any-return]


def party(value: Party | Mapping[str, Any] | str) -> Party:
    """A party, from its id alone, an object, or a Party."""
    if isinstance(value, str):
        if value.startswith(ERASED):
            raise _like_the_forgotten()
        return Party(text(value, "party.id", empty=False))
    if isinstance(value, Party):
        value = {name: getattr(value, name) for name in Party.__slots__}
    known = _fields(value, "party", {"id", "name", "contacts", "tags", "attributes", "locale"})
    tags = known.get("tags", ())
    if not isinstance(tags, list | tuple) or len(tags) > _ATTRIBUTES_MAX:
        raise Bad("party.tags", "party.tags must be a list of texts.")
    found = text(known.get("id"), "party.id", empty=False)
    if found.startswith(ERASED):
        raise _like_the_forgotten()
    return Party(
        found,
        text(known.get("name", ""), "party.name"),
        _contacts(known.get("contacts", {}), "party.contacts"),
        tuple(text(tag, "party.tags") for tag in tags),
        mapping(known.get("attributes", {}), "party.attributes"),
        text(known.get("locale", ""), "party.locale", 35),
    )


def _like_the_forgotten() -> Bad:
    return Bad("party.id", f"party.id must not begin with {ERASED!r}: so are the forgotten called.")


def details(name: object, contacts: object, locale: object, answers: object) -> Details:
    """What a party says of itself; None where it says nothing."""
    return (
        None if name is None else text(name, "name"),
        None if contacts is None else _contacts(contacts, "contacts"),
        None if locale is None else text(locale, "locale", 35),
        None if answers is None else mapping(answers, "answers"),
    )


def _contacts(value: object, field: str) -> dict[str, str]:
    return {kind: text(to, f"{field}.{kind}") for kind, to in mapping(value, field).items()}


def price(value: Price | Mapping[str, Any] | None, field: str = "price") -> Price | None:
    if value is None:
        return None
    if isinstance(value, Price):
        value = {"amount": value.amount, "currency": value.currency}
    known = _fields(value, field, {"amount", "currency"})
    currency = text(known.get("currency"), f"{field}.currency")
    if not re.fullmatch(r"[A-Z]{3}", currency):
        raise Bad(f"{field}.currency", "A currency is three capital letters, as in ISO 4217.")
    return Price(whole(known.get("amount"), f"{field}.amount", most=10**12), currency)


def wants(value: Wants | Mapping[str, Any] | None) -> Wants | None:
    if value is None:
        return None
    if isinstance(value, Wants):
        times = [(name, getattr(value, name)) for name in ("from_at", "until_at")]
        at = {name: None if at is None else whole(at, f"wants.{name}", most=2**53) for name, at in times}
        condition = value.attributes
    else:
        known = _fields(value, "wants", {"attributes", "from_at", "until_at"})
        at = {name: instant(known.get(name), f"wants.{name}") for name in ("from_at", "until_at")}
        condition = known.get("attributes")
    if condition is not None and (found := condition_problem(condition, of_unit=True)):
        raise Bad("wants.attributes", f"In wants: {found}.")
    return Wants(None if condition is None else mapping(condition, "wants.attributes"), **at)


def as_list(quotas: object) -> object:
    """Quotas as a list of objects; a mapping of key to size, or to units, is short for one."""
    if not isinstance(quotas, Mapping):
        return quotas
    return [
        {"key": key, "units" if isinstance(size, list | tuple) else "size": size}
        for key, size in quotas.items()
    ]


def quotas(value: object) -> tuple[tuple[Quota, ...], list[dict[str, Any]]]:
    """Quotas, and the units that stand in them: a mapping of key to size, or a list of objects."""
    value = as_list(value)
    if not isinstance(value, list | tuple) or not 0 < len(value) <= 200:
        raise Bad("quotas", "quotas must be a list of 1 to 200 quotas.")
    found, listed = [], []
    for index, item in enumerate(value):
        where = f"quotas[{index}]"
        known = _fields(item, where, {"key", "title", "size", "units", "eligible"})
        key = text(known.get("key"), f"{where}.key", 100, empty=False)
        by_units = known.get("units") is not None
        if by_units and known.get("size") is not None:
            raise Bad(where, "A quota is sized by a number or by its units, not both.")
        if not by_units and "size" not in known:
            raise Bad(f"{where}.size", "A quota needs a size (null for unlimited) or units.")
        size = known.get("size")
        eligible = known.get("eligible")
        found.append(
            Quota(
                key,
                text(known.get("title", ""), f"{where}.title"),
                0 if by_units else None if size is None else whole(size, f"{where}.size", most=10_000_000),
                by_units,
                None if eligible is None else mapping(eligible, f"{where}.eligible"),
            )
        )
        if by_units:
            listed += units(known["units"], key, f"{where}.units")
    return tuple(found), listed


def units(value: object, quota: str | None = None, field: str = "units") -> list[dict[str, Any]]:
    """Units: labels, or objects of label, quota (if there are several), starts_at and attributes."""
    if not isinstance(value, list | tuple) or len(value) > 100_000:
        raise Bad(field, f"{field} must be a list.")
    found = []
    for index, item in enumerate(value):
        where = f"{field}[{index}]"
        known = {"label": item} if isinstance(item, str) else item
        known = _fields(known, where, {"label", "quota", "starts_at", "attributes"})
        named = known.get("quota", quota)
        found.append(
            {
                "label": text(known.get("label"), f"{where}.label", 100, empty=False),
                "quota": None if named is None else text(named, f"{where}.quota", 100, empty=False),
                "starts_at": instant(known.get("starts_at"), f"{where}.starts_at"),
                "attributes": mapping(known.get("attributes", {}), f"{where}.attributes"),
            }
        )
    return found


def pool_fields(
    fields: Mapping[str, Any], *, with_policy: bool
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The fields of a pool that were given, made into the core's values; and the units among the quotas.

    Changes of a policy are judged under the pool's lock, by the policy that there is then.
    """
    made: dict[str, Any] = {}
    listed: list[dict[str, Any]] = []
    for name, value in fields.items():
        if name in _READ:
            made[name] = _READ[name](value, name)
        elif name == "quotas":
            made[name], listed = quotas(value)
        elif name == "policy" and with_policy:
            made[name] = mapping(as_document(value) if isinstance(value, Policy) else value, "policy")
        else:
            raise Bad(name, f"A pool has no field {in_short(name)}.")
    return made, listed


def _questions(value: object, field: str) -> tuple[dict[str, Any], ...]:
    found = questions.checked(value)
    if isinstance(found, Refusal):
        raise Bad(found.field or field, found.sentence)
    return tuple(mapping(item, f"{field}[{index}]") for index, item in enumerate(found))


# The fields of a pool that are read by themselves, and how.
_READ: Final[Mapping[str, Callable[[Any, str], Any]]] = {
    "opens_at": instant,
    "closes_at": instant,
    "starts_at": instant,
    "title": text,
    "open_size": lambda value, field: whole(value, field, most=10_000_000),
    "status": lambda value, field: text(value, field, 20),
    "time_zone": lambda value, field: zone(value),
    "price": price,
    "questions": _questions,
    "attributes": mapping,
    "page": flag,
}


def zone(value: object) -> str:
    """The name of a time zone that there is."""
    name = text(value, "time_zone", 100, empty=False)
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Bad("time_zone", f"There is no time zone {name!r}.") from None
    return name


def _fields(value: object, where: str, allowed: set[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Bad(where, f"{where} must be an object.")
    for name in value:
        if name not in allowed:
            raise Bad(f"{where}.{name}", f"There is no field {in_short(name)} here.")
    return value


def labels(value: Sequence[str]) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise Bad("units", "units must be a list of labels.")
    return tuple(text(label, "units", 100, empty=False) for label in value)
