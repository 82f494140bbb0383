"""What a person says of themselves: name, contacts, and the answers to what the pool asks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fairhold import tokens
from fairhold.contacts import is_email, is_phone
from fairhold.core.answers import Question, problem_of
from fairhold.core.refusals import Refusal
from fairhold.messages.languages import LANGUAGES, language_of
from fairhold.pages.calls import Call
from fairhold.shapes import Booking, PoolState

_NUMBER: Final = re.compile(r"-?[0-9]{1,15}([.,][0-9]{1,6})?")


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the form. `error` is a code that the page has words for."""

    name: str
    kind: str
    label: str
    value: str
    required: bool
    help: str = ""
    choices: tuple[str, ...] = ()
    min: Any = None
    max: Any = None
    error: str = ""


def missing(pool: PoolState, booking: Booking) -> bool:
    """Whether something is still to be said: how to reach them, or an answer that is needed."""
    unanswered = any(problem_of(it, booking.answers.get(it["key"])) for it in asked(pool))
    return not booking.party.contacts or unanswered


def asks_phone(call: Call, booking: Booking) -> bool:
    return bool(call.settings.sms_url) or "phone" in booking.party.contacts


def asked(pool: PoolState) -> list[Question]:
    return [question for question in pool.questions if "kind" in question]


def fields(
    pool: PoolState,
    booking: Booking,
    *,
    phone: bool,
    said: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> list[Field]:
    """The form, filled in with what is known, or with what was just said."""
    party, errors = booking.party, errors or {}
    others = set(party.contacts) - {"email"}
    known = {"name": party.name, "email": party.contacts.get("email", "")}
    known |= {"phone": party.contacts.get("phone", "")} if phone else {}
    known |= {f"q-{it['key']}": _shown(booking.answers.get(it["key"])) for it in asked(pool)}
    if said is not None:
        known = {name: said.get(name, "") for name in known}
    made = [Field("name", "name", "", known["name"], True, error=errors.get("name", ""))]
    made.append(Field("email", "email", "", known["email"], not others, error=errors.get("email", "")))
    if phone:
        made.append(Field("phone", "tel", "", known["phone"], False, error=errors.get("phone", "")))
    for it in asked(pool):
        name = f"q-{it['key']}"
        choices = tuple(it.get("choices", ()))
        limits = (it.get("min"), it.get("max"))
        made.append(
            Field(
                name,
                it["kind"],
                it["title"],
                known[name],
                it["required"],
                it["help"],
                choices,
                *limits,
                errors.get(name, ""),
            )
        )
    return made


def _shown(answer: object) -> str:
    if isinstance(answer, bool):
        return "yes" if answer else ""
    return "" if answer is None else str(answer)


def read(
    pool: PoolState, booking: Booking, said: Mapping[str, str], *, phone: bool
) -> tuple[dict[str, Any], dict[str, str]]:
    """What is to be kept, as the library takes it; and what is wrong, by field."""
    errors: dict[str, str] = {}
    name, email = said.get("name", "").strip(), said.get("email", "").strip()
    if not name or len(name) > 200:
        errors["name"] = "missing" if not name else "too_long"
    contacts = dict(booking.party.contacts)
    if email or not set(contacts) - {"email"}:
        contacts["email"] = email
        if not email:
            errors["email"] = "missing"
        elif not is_email(email):
            errors["email"] = "no_email"
    if phone and (number := said.get("phone", "").strip()):
        contacts["phone"] = number
        if not is_phone(number):
            errors["phone"] = "no_phone"
    elif phone:
        contacts.pop("phone", None)
    answers: dict[str, Any] = {}
    for question in asked(pool):
        answer = _answer(question, said.get(f"q-{question['key']}", "").strip())
        if problem := problem_of(question, answer):
            errors[f"q-{question['key']}"] = problem
        elif answer not in ("", None):
            answers[question["key"]] = answer
    kept: dict[str, Any] = {"name": name, "contacts": contacts}
    if asked(pool):
        kept["answers"] = answers
    return kept, errors


async def keep(call: Call, pool: PoolState, booking: Booking) -> dict[str, str] | Refusal:
    """Keep what the form says; what is wrong with it, by field, or why it can be changed no more."""
    said, errors = read(pool, booking, call.form, phone="phone" in call.form)
    if errors:
        return errors
    token = tokens.edit_token(call.hf.secret, booking.id)
    answer = await call.hf.change_booking(token, locale=_locale(call, booking), **said)
    if isinstance(answer, Refusal):
        return {_field(answer): "not_kept"} if answer.code == "invalid" else answer
    return {}


def _locale(call: Call, booking: Booking) -> str | None:
    """The language that was asked for, as the browser wants it written; None if it is known already."""
    lang = call.query.get("lang")
    if lang not in LANGUAGES or language_of(booking.party.locale) == lang:
        return None
    return call.speech().tag


def _field(refusal: Refusal) -> str:
    name = refusal.field or "name"
    return f"q-{name.removeprefix('answers.')}" if name.startswith("answers.") else name.split(".")[-1]


def _answer(question: Question, text: str) -> Any:
    """What was typed, as the kind of the question has it; what cannot be is left for the check to find."""
    if question["kind"] == "checkbox":
        return text == "yes"
    if question["kind"] == "number" and _NUMBER.fullmatch(text):
        number = text.replace(",", ".")
        return float(number) if "." in number else int(number)
    return text
