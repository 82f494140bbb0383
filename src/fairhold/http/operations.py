"""An operation: one method at one path, as data. Routing, checks and the OpenAPI document come from it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, NamedTuple, TypeVar, overload

import msgspec
from msgspec import Meta

from fairhold.core.model import PUBLIC_KEY, SECRET_KEY
from fairhold.core.refusals import Refusal
from fairhold.http.bodies import BODY_MAX
from fairhold.http.problems import Problem, of_refusal
from fairhold.keys import ADMIN, PUBLIC, READ, STAFF, Access

if TYPE_CHECKING:
    from fairhold.http.service import Service
    from fairhold.library import Fairhold

T = TypeVar("T")

ADMINS: Final = frozenset({ADMIN})
STAFFS: Final = frozenset({ADMIN, STAFF})
READERS: Final = frozenset({ADMIN, STAFF, READ})
ASKERS: Final = frozenset({ADMIN, STAFF, PUBLIC})
EVERYONE: Final = frozenset({ADMIN, STAFF, READ, PUBLIC})
# Who has neither key nor session, and asks for one.
NOBODY: Final = Access("", "", "nobody", "")
ANYBODY: Final = frozenset({NOBODY.role})

LIMIT_MAX: Final = 500
IDEMPOTENCY_KEY: Final = re.compile(r"[\x21-\x7e]{1,200}")


class Body(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a request's body may say."""


class Query(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """What a request's query may say."""


class Nothing(Body, kw_only=True):
    """A body that says nothing."""


class Paging(Query, frozen=True):
    """Which page of a list."""

    cursor: str = ""
    limit: Annotated[int, Meta(ge=1, le=LIMIT_MAX)] = 100


class DryRun(Query, frozen=True):
    """Whether to only say what would happen."""

    dry_run: bool = False


class Page(msgspec.Struct, Generic[T]):
    """A page of a list. `next` is the cursor of the next one, null at the end."""

    items: list[T]
    next: str | None = None

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: int | slice) -> T | list[T]:
        return self.items[index]


class Told(NamedTuple):
    """An answer that comes with headers; bytes go out as they are."""

    answer: Any
    headers: tuple[tuple[bytes, bytes], ...]


@dataclass(slots=True)
class Call:
    """One request on its way through an operation."""

    service: Service
    hf: Fairhold
    access: Access
    path: Mapping[str, str]
    query: Any
    body: Any
    address: str
    key: str | None
    last_event_id: str = ""
    secure: bool = False

    @property
    def is_staff(self) -> bool:
        return self.access.role in STAFFS

    @property
    def door(self) -> str:
        """The door that the request comes by: what its key is says whether staff ask."""
        return PUBLIC_KEY if self.access.role == PUBLIC else SECRET_KEY

    @property
    def by_staff(self) -> str:
        """Who asks, where only staff may."""
        return f"staff:{self.access.name}"

    def by(self) -> str:
        """Who asks, where it is usually the person concerned: staff say so, and may."""
        if not getattr(self.body, "as_staff", False):
            return "party"
        self.must_be_staff("as_staff")
        return self.by_staff

    def must_be_staff(self, name: str) -> None:
        if not self.is_staff:
            raise Problem("forbidden", f"Only staff may say {name}.", name)

    def limit(self) -> int:
        """How long a page is to be; one more is read, to see whether another follows."""
        asked: int = self.query.limit
        return asked

    def on(self, hf: Fairhold) -> Call:
        return replace(self, hf=hf)


Handler = Callable[[Call], Awaitable[Any]]


@dataclass(slots=True, frozen=True)
class Operation:
    """One method at one path."""

    method: str
    path: str
    name: str
    summary: str
    handle: Handler
    roles: frozenset[str]
    answer: Any
    body: type[Body] | None = None
    query: type[Query] | None = None
    status: int = 200
    codes: tuple[str, ...] = ()
    tag: str = "service"
    example: Any = None
    body_max: int = BODY_MAX
    media_type: str = "application/json"
    takes: str = ""
    """What kind of text a body is, where it is no JSON."""
    idempotent: bool = field(default=False)
    """Whether the same request may be made twice with an Idempotency-Key and is done once."""

    @property
    def is_for_anybody(self) -> bool:
        return self.roles is ANYBODY

    @property
    def may_rehearse(self) -> bool:
        return self.query is not None and issubclass(self.query, DryRun)


def page(found: list[T], limit: int, cursor: Callable[[T], str]) -> Page[T]:
    """A page out of one more than fit into it."""
    shown = found[:limit]
    return Page(shown, cursor(shown[-1]) if len(found) > limit else None)


def granted(answer: T | Refusal) -> T:
    """The answer; a refusal goes out as a problem."""
    if isinstance(answer, Refusal):
        raise of_refusal(answer)
    return answer
