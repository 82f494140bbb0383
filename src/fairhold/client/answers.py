"""What comes back: the answer that was asked for, a refusal, or neither.

FairholdError
└── ClientError         the service could not be asked as it should
    ├── NotReached      nobody answered, or nobody who could, until patience ended
    └── Forbidden       the key is not known, or may not do that
"""

from __future__ import annotations

from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any, Final, TypeVar

import msgspec

from fairhold.clock import SystemClock, from_datetime
from fairhold.core.refusals import CODES, Refusal
from fairhold.errors import FairholdError

T = TypeVar("T")

_AGAIN: Final = frozenset({"unavailable", "outcome_unknown", "idempotency_in_flight", "too_many_requests"})
# What these say passes, whoever stands between us and the service and says so.
_PASSING: Final = frozenset({429, 502, 503, 504})
_PLAIN: Final = frozenset({"type", "title", "status", "code", "detail", "field"})


class ClientError(FairholdError):
    """The service could not be asked as it should."""


class NotReached(ClientError):
    """Nobody answered who could."""


class Forbidden(ClientError):
    """The key is not known, or may not do that."""


def read(answer: Any, kind: type[T]) -> T:
    """The answer as it was asked for; what is asked for as text is CSV, all else JSON."""
    try:
        if kind is not str:
            return msgspec.json.decode(answer.content, type=kind)
        if is_a("text/csv", answer):
            return answer.content.decode()  # type: ignore[no-any-return]
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    raise failure_of(answer)


def is_a(media_type: str, answer: Any) -> bool:
    """Whether it is what was asked for, and no page to sign in at of somebody who stands in between."""
    said: str = answer.headers.get("content-type", "")
    return answer.status_code == 200 and said.startswith(media_type)


def may_pass(answer: Any) -> bool:
    """Whether the same request may be answered otherwise a little later."""
    code = _problem(answer).get("code")
    return code in _AGAIN or (code not in CODES and answer.status_code in _PASSING)


def wait_s(answer: Any) -> float:
    """How long to wait before asking again: Retry-After in seconds or as a date; nonsense says nothing."""
    said = answer.headers.get("retry-after", "")
    if said.isdecimal() and len(said) < 10:
        return float(said)
    now = _date(answer.headers.get("date", "")) or SystemClock().now()
    return max(0, (_date(said) or now) - now) / 1000


def _date(text: str) -> int | None:
    with suppress(ValueError, OverflowError):
        return from_datetime(parsedate_to_datetime(text))
    return None


def refusal_of(answer: Any) -> Refusal:
    """A well-formed no as the library gives it; anything else is raised."""
    problem = _problem(answer)
    if problem.get("code") not in CODES:
        raise failure_of(answer)
    facts = {name: value for name, value in problem.items() if name not in _PLAIN}
    return Refusal(problem["code"], problem.get("detail", ""), problem.get("field"), facts)


def broken(error: Exception) -> NotReached:
    return NotReached(f"{type(error).__name__}: {error}")


def failure_of(answer: Any) -> ClientError:
    status, problem = answer.status_code, _problem(answer)
    if problem:
        said = f"{status} {problem['code']}: {problem.get('detail', '')}"
    elif status in _PASSING:
        said = f"{status}: {answer.text[:200]}"
    else:
        said = f"{status}: not an answer of Fairhold's, but {answer.text[:200]!r}"
    if status in (401, 403):
        return Forbidden(said)
    return NotReached(said) if status in _PASSING else ClientError(said)


def _problem(answer: Any) -> dict[str, Any]:
    """The problem that the service speaks of; none, if others speak."""
    with suppress(msgspec.DecodeError):
        found = msgspec.json.decode(answer.content)
        if answer.status_code >= 400 and isinstance(found, dict) and isinstance(found.get("code"), str):
            return found
    return {}
