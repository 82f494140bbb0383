"""The promises hold after every step of random histories, with every command and every kind of policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from fairhold.core import commands as c
from fairhold.core.model import (
    CANCELLED,
    CLOSED,
    CONFIRMED,
    DECLINED,
    ENDED,
    EXPIRED,
    HELD,
    OFFERED,
    UNREACHABLE,
    WAITING,
    Party,
    Pool,
    Price,
    Wants,
)
from tests.core.drawn import (
    any_policy,
    any_pool,
    attributes,
    doors,
    flags,
    parties,
    picks,
    quantities,
    quotas,
    requests,
    sizes,
    starts,
)
from tests.core.history import HOUR, MINUTE, SECOND, History, live_seq

Rule = TypeVar("Rule", bound=Callable[..., Any])


def some(*states: str) -> Callable[[Rule], Rule]:
    """A precondition: somebody is in one of these states."""
    return precondition(lambda self: any(b.state in states for b in self.history.view.bookings.values()))


def handed_back(self: Any) -> bool:
    return any(opening.state == "handed_back" for opening in self.history.view.openings.values())


class Histories(RuleBasedStateMachine):
    """Every rule is one command; `History.do` checks what must be true after it."""

    @initialize(
        pool=any_pool(),
        units=st.lists(st.tuples(attributes, starts), max_size=4),
        crowd=st.lists(requests, max_size=10),
    )
    def create(self, pool: Pool, units: list[tuple[dict[str, Any], int | None]], crowd: list[Any]) -> None:
        keys = [quota.key for quota in pool.quotas if quota.by_units]
        self.made = 0
        self.history = History(pool, self.units_for(keys[0], units) if keys else ())
        for request in crowd:
            self.ask(*request)

    def ask(self, party: Party, quantity: int, quota: int, wants: Wants | None, door: str) -> None:
        pool = self.history.view.pool
        chosen = pool.quotas[quota % len(pool.quotas)]
        wants = wants if chosen.by_units else None
        self.history.do(c.Book(party, quantity, chosen.key, wants=wants, door=door))

    def units_for(self, quota: str, units: list[tuple[dict[str, Any], int | None]]) -> tuple[Any, ...]:
        made = []
        for has, starts_at in units:
            self.made += 1
            made.append({"label": f"u{self.made}", "quota": quota, "attributes": has, "starts_at": starts_at})
        return tuple(made)

    # People.

    @rule(request=requests)
    def book(self, request: Any) -> None:
        self.ask(*request)

    @rule(crowd=st.lists(requests, min_size=2, max_size=4))
    def book_many(self, crowd: list[Any]) -> None:
        for request in crowd:
            self.ask(*request)

    @rule(party=parties, quota=picks, if_full=st.sampled_from([None, "refuse", "wait"]), confirmed=flags)
    def book_by_staff(self, party: Party, quota: int, if_full: str | None, confirmed: bool) -> None:
        key = self.history.quota(quota)
        price = Price(500, "EUR") if confirmed else None
        by = "staff:Ida"
        self.history.do(c.Book(party, 1, key, if_full=if_full, price=price, confirmed=confirmed, by=by))

    @precondition(lambda self: self.history.view.units)
    @rule(party=parties, units=st.lists(picks, min_size=1, max_size=2, unique=True))
    def book_named_units(self, party: Party, units: list[int]) -> None:
        labels = tuple(self.history.unit(pick) for pick in units)
        self.history.do(c.Book(party, len(labels), units=labels))

    @some(HELD, WAITING)
    @rule(pick=picks, door=doors)
    def confirm(self, pick: int, door: str) -> None:
        self.history.do(c.Confirm(self.history.booking(pick, (HELD, WAITING)), door=door))

    @some(WAITING, OFFERED)
    @rule(pick=picks)
    def leave_the_line(self, pick: int) -> None:
        self.history.do(c.Cancel(self.history.booking(pick, (WAITING, OFFERED))))

    @some(HELD, CONFIRMED)
    @rule(pick=picks)
    def cancel(self, pick: int) -> None:
        self.history.do(c.Cancel(self.history.booking(pick, (HELD, CONFIRMED))))

    @some(HELD)
    @rule(
        pick=picks,
        window=st.none() | st.sampled_from([-1, 0, MINUTE]),
        by=st.sampled_from(["party", "staff"]),
    )
    def extend(self, pick: int, window: int | None, by: str) -> None:
        self.history.do(c.Extend(self.history.booking(pick, (HELD,)), window, by=by))

    @some(OFFERED)
    @rule(
        pick=picks, off_by=st.sampled_from([0, 0, 0, -1, 1]), quantity=st.sampled_from([None, None, 0, 1, 2])
    )
    def claim(self, pick: int, off_by: int, quantity: int | None) -> None:
        number = self.history.booking(pick, (OFFERED,))
        self.history.do(c.Claim(number, live_seq(self.history.view, number) + off_by, quantity))

    @some(OFFERED)
    @rule(pick=picks)
    def claim_what_is_offered(self, pick: int) -> None:
        number = self.history.booking(pick, (OFFERED,))
        self.history.do(c.Claim(number, live_seq(self.history.view, number)))

    @some(OFFERED)
    @rule(pick=picks, named=flags)
    def decline(self, pick: int, named: bool) -> None:
        number = self.history.booking(pick, (OFFERED,))
        self.history.do(c.Decline(number, live_seq(self.history.view, number) if named else None))

    @some(WAITING, OFFERED, HELD, CONFIRMED)
    @rule(pick=picks, name=st.sampled_from([None, "", "Ann"]), diet=st.sampled_from([None, "", "vegan"]))
    def change_details(self, pick: int, name: str | None, diet: str | None) -> None:
        answers = None if diet is None else {"diet": diet}
        self.history.do(c.ChangeBooking(self.history.booking(pick), name, answers=answers))

    # The outbox.

    @some(OFFERED)
    @rule(pick=picks, reason=st.sampled_from(sorted(UNREACHABLE)))
    def cannot_be_told(self, pick: int, reason: str) -> None:
        number = self.history.booking(pick, (OFFERED,))
        self.history.do(c.Unreachable(number, live_seq(self.history.view, number), reason))

    @some(WAITING, OFFERED, HELD, CONFIRMED)
    @rule(pick=picks, how=st.sampled_from(["told", "delayed", "late", "other"]))
    def is_told(self, pick: int, how: str) -> None:
        number = self.history.booking(pick, (OFFERED,) if how != "other" else (WAITING, HELD, CONFIRMED))
        seq = live_seq(self.history.view, number)
        if how in ("delayed", "late"):
            self.history.do(c.NoteDelayed(number, seq))
        if how != "delayed":
            self.history.do(c.NoteTold(number, None if how == "other" else seq))

    @some(WAITING, OFFERED, HELD, CONFIRMED)
    @rule(pick=picks, how=st.sampled_from(["channel", "address", "staff", "channels"]))
    def can_be_told_again(self, pick: int, how: str) -> None:
        number = self.history.booking(pick, (WAITING,))
        contacts = {"email": f"person{len(self.history.log)}@example.org"} if how == "address" else None
        told = {"staff": True, "channels": False}.get(how)
        change = c.ChangeBooking(number, contacts=contacts, told_by_staff=told, by="staff:Ida")
        self.history.do(c.NoteReachable(number) if how == "channel" else change)

    # Staff.

    @rule(
        kind=st.sampled_from(
            [
                c.Confirm,
                c.Cancel,
                c.Extend,
                c.Decline,
                c.GiveOffer,
                c.PutBack,
                partial(c.ChangeBooking, name="X"),
                partial(c.Unreachable, seq=1),
                partial(c.NoteTold, seq=1),
                partial(c.NoteDelayed, seq=1),
                c.NoteReachable,
                partial(c.Move, to="up"),
            ]
        ),
        number=st.integers(0, 12),
    )
    def ask_for_nonsense(self, kind: Any, number: int) -> None:
        """Of any booking there is or is not, in whatever state it is."""
        self.history.do(kind(number))
        self.history.do(c.Claim(number, 1))

    @some(WAITING)
    @rule(pick=picks)
    def give_offer(self, pick: int) -> None:
        self.history.do(c.GiveOffer(self.history.booking(pick, (WAITING,))))

    @some(WAITING)
    @rule(pick=picks, to=st.sampled_from(["front", "back", "after"]), after=picks)
    def move(self, pick: int, to: str, after: int) -> None:
        waiting = (WAITING,)
        booking, other = self.history.booking(pick, waiting), self.history.booking(after, waiting)
        self.history.do(c.Move(booking, to, other if to == "after" else None))

    @some(DECLINED, EXPIRED, CANCELLED, CLOSED)
    @rule(pick=picks)
    def put_back(self, pick: int) -> None:
        self.history.do(c.PutBack(self.history.booking(pick, ENDED), "by mistake"))

    @rule(quota=picks, size=sizes, open_size=st.none() | st.integers(0, 3), demote=flags)
    def change_sizes(self, quota: int, size: int | None, open_size: int | None, demote: bool) -> None:
        changes = {} if open_size is None else {"open_size": open_size}
        self.history.do(c.ChangePool(changes, {self.history.quota(quota): size}, demote))

    @precondition(lambda self: len(self.history.log) > 20)
    @rule(book=requests)
    def pause_for_a_while(self, book: Any) -> None:
        self.history.do(c.ChangePool({"status": "paused"}))
        self.ask(*book)
        self.history.do(c.Book(replace(book[0], id="Z"), 1, self.history.quota(book[2]), by="staff:Ida"))
        self.history.do(c.Cancel(self.history.booking(book[2])))
        self.history.do(c.ChangePool({"status": "open"}))

    @precondition(lambda self: len(self.history.log) > 30)
    @rule(status=st.sampled_from(["closed", "cancelled"]), open_again=flags)
    def close(self, status: str, open_again: bool) -> None:
        self.history.do(c.ChangePool({"status": status}))
        if open_again:
            self.history.do(c.ChangePool({"status": "open"}))

    @precondition(lambda self: len(self.history.log) > 15)
    @rule(change=st.tuples(st.just("policy"), any_policy()) | st.tuples(st.just("quota"), quotas))
    def change_rules(self, change: tuple[str, Any]) -> None:
        """Another policy; or the last quota goes and another comes, which is refused while it is in use."""
        kind, value = change
        if kind == "policy":
            self.history.do(c.ChangePool({"policy": value}))
        else:
            kept = self.history.view.pool.quotas[:-1]
            keys = {old.key for old in kept}
            key = next(f"q{index}" for index in range(9) if f"q{index}" not in keys)
            self.history.do(c.ChangePool({"quotas": (*kept, replace(value, key=key))}))

    @precondition(lambda self: any(quota.by_units for quota in self.history.view.pool.quotas))
    @rule(quota=picks, units=st.lists(st.tuples(attributes, starts), min_size=1, max_size=2))
    def add_units(self, quota: int, units: list[tuple[dict[str, Any], int | None]]) -> None:
        keys = [one.key for one in self.history.view.pool.quotas if one.by_units]
        self.history.do(c.AddUnits(self.units_for(keys[quota % len(keys)], units)))

    @precondition(lambda self: self.history.view.units)
    @rule(pick=picks, again=flags)
    def close_unit(self, pick: int, again: bool) -> None:
        unit = self.history.view.units[self.history.unit(pick)]
        self.history.do(c.CloseUnit(unit.label))
        if again:
            self.history.do(c.AddUnits(({"label": unit.label, "quota": unit.quota},)))

    @precondition(handed_back)
    @rule(pick=picks, action=st.sampled_from(["again", "free", "close", "shrug"]))
    def resolve(self, pick: int, action: str) -> None:
        self.history.do(c.Resolve(self.history.opening(pick), action))

    @precondition(handed_back)
    @rule(pick=picks, party=parties, quantity=quantities)
    def book_what_was_handed_back(self, pick: int, party: Party, quantity: int) -> None:
        opening = self.history.view.openings.get(self.history.opening(pick))
        assert opening is not None
        self.history.do(c.Book(party, quantity, opening.quota, opening=opening.number, by="staff:Ida"))

    @precondition(handed_back)
    @some(WAITING)
    @rule(pick=picks, opening=picks)
    def offer_what_was_handed_back(self, pick: int, opening: int) -> None:
        booking, came_back = self.history.booking(pick, (WAITING,)), self.history.opening(opening)
        self.history.do(c.GiveOffer(booking, "it came back", came_back))

    @rule(steps=st.sampled_from([None, 0, 1, 2]))
    def fill(self, steps: int | None) -> None:
        self.history.do(c.Fill(steps))

    # Time.

    @rule(by=st.sampled_from([SECOND, MINUTE, MINUTE, 10 * MINUTE, 24 * HOUR]))
    def time_passes(self, by: int) -> None:
        self.history.now += by

    @rule()
    def tick(self) -> None:
        self.history.do(c.Tick())

    @precondition(lambda self: self.history.view.due_at is not None)
    @rule(early=st.sampled_from([0, 0, 1]))
    def tick_when_due(self, early: int) -> None:
        """The clock jumps to the next due instant, or to just before it."""
        self.history.now = max(self.history.now, (self.history.view.due_at or 0) - early)
        self.history.do(c.Tick())


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=2 * settings().max_examples, stateful_step_count=50)
