"""What requests about pools and units may say."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from fairhold.http.operations import Body

Whole = Annotated[int, Meta(ge=0, le=10_000_000)]
Name = Annotated[str, Meta(max_length=500)]
Moment = Annotated[datetime, Meta(tz=True)]
Length = Annotated[int, Meta(ge=0)] | Annotated[str, Meta(pattern="^([0-9]{1,9}[smhd]){1,4}$")]
"""Whole seconds, or a text such as 15m or 1h30m."""
_TIME: Final = "([01][0-9]|2[0-3]):[0-5][0-9]"
TimesOfDay = Annotated[str, Meta(pattern=f"^{_TIME}-{_TIME}$")]
"""From when until when, such as 22:00-07:30."""
Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Choice = Literal["stay", "back", "leave"]


class PriceBody(Body, kw_only=True):
    """Per seat, in integer minor units of an ISO 4217 currency."""

    amount: Annotated[int, Meta(ge=0, le=10**12)]
    currency: Annotated[str, Meta(pattern="^[A-Z]{3}$")]


class PriorityRule(Body, kw_only=True):
    """Adds to the priority of a party for whom the condition holds."""

    when: dict[str, Any]
    add: Annotated[int, Meta(ge=-1_000, le=1_000)]


class PolicyBody(Body, kw_only=True):
    """A pool's rules: what is not said stays as the preset has it."""

    preset: str | UnsetType = UNSET
    if_full: Literal["refuse", "wait"] | UnsetType = UNSET
    hold_window: Length | UnsetType = UNSET
    hold_lifetime_max: Length | UnsetType = UNSET
    holds_per_party_max: Count | UnsetType | None = UNSET
    quantity_max: Count | UnsetType = UNSET
    party_quantity_max: Count | UnsetType = UNSET
    confirm_by: Literal["party", "staff"] | UnsetType | None = UNSET
    confirm_while_waiting: bool | UnsetType = UNSET
    promotion: Literal["auto", "offer"] | UnsetType | None = UNSET
    offer_window: Length | UnsetType | None = UNSET
    offers_live_max: Count | UnsetType | None = UNSET
    attempts_max: Count | UnsetType | None = UNSET
    turns: Literal["round", "opening"] | UnsetType | None = UNSET
    cooldown: Length | UnsetType = UNSET
    after_lapse: Choice | UnsetType | None = UNSET
    after_decline: Choice | UnsetType | None = UNSET
    tries_max: Count | UnsetType | None = UNSET
    hand_back: bool | UnsetType = UNSET
    offer_cutoff: Length | UnsetType = UNSET
    partial: Literal["all_or_nothing", "give_less"] | UnsetType = UNSET
    claim_to: Literal["confirmed", "held"] | UnsetType = UNSET
    hold_reminder: Length | UnsetType = UNSET
    quiet_hours: TimesOfDay | UnsetType | None = UNSET
    priority_rules: list[PriorityRule] | UnsetType = UNSET


class UnitBody(Body, kw_only=True):
    """One nameable piece: seat 12A, or the chair at 2 pm."""

    label: Annotated[str, Meta(min_length=1, max_length=100)]
    quota: str | UnsetType = UNSET
    starts_at: Moment | UnsetType | None = UNSET
    attributes: dict[str, Any] | UnsetType = UNSET


class QuotaBody(Body, kw_only=True):
    """A named share of a pool: of a size (null for unlimited), or of units."""

    key: Annotated[str, Meta(min_length=1, max_length=100)]
    title: Name | UnsetType = UNSET
    size: Whole | UnsetType | None = UNSET
    units: list[str | UnitBody] | UnsetType = UNSET
    eligible: dict[str, Any] | UnsetType | None = UNSET


class QuestionBody(Body, kw_only=True):
    """What is asked of those who sign up: `choices` of a choice, `min` and `max` of a number."""

    key: Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9_-]{0,49}$")]
    title: Annotated[str, Meta(min_length=1, max_length=500)]
    kind: Literal["text", "choice", "checkbox", "number"] = "text"
    required: bool = False
    help: Name | UnsetType = UNSET
    choices: Annotated[list[Name], Meta(min_length=2, max_length=100)] | UnsetType = UNSET
    min: int | float | UnsetType | None = UNSET
    max: int | float | UnsetType | None = UNSET


class PoolFields(Body, kw_only=True):
    """The fields of a pool that can be said when it is made and changed later."""

    title: Name | UnsetType = UNSET
    policy: PolicyBody | UnsetType = UNSET
    open_size: Whole | UnsetType = UNSET
    opens_at: Moment | UnsetType | None = UNSET
    closes_at: Moment | UnsetType | None = UNSET
    starts_at: Moment | UnsetType | None = UNSET
    time_zone: Annotated[str, Meta(min_length=1, max_length=100)] | UnsetType = UNSET
    price: PriceBody | UnsetType | None = UNSET
    questions: Annotated[list[QuestionBody], Meta(max_length=50)] | UnsetType = UNSET
    attributes: dict[str, Any] | UnsetType = UNSET
    page: bool | UnsetType = UNSET
    status: Literal["open", "paused", "closed", "cancelled"] | UnsetType = UNSET


class NewPool(PoolFields, kw_only=True):
    """A pool to be made."""

    key: Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9_-]{0,99}$")]
    preset: (
        Literal["checkout", "event_signup", "class_waitlist", "course_section", "last_minute"] | UnsetType
    ) = UNSET
    quotas: Annotated[list[QuotaBody], Meta(min_length=1, max_length=200)]


class PoolChanges(PoolFields, kw_only=True):
    """What is to change about a pool. `sizes` gives quotas new sizes by their keys."""

    quotas: Annotated[list[QuotaBody], Meta(min_length=1, max_length=200)] | UnsetType = UNSET
    sizes: dict[str, Whole | None] | UnsetType = UNSET
    allow_demotion: bool = False
    why: Name = ""


class NewUnits(Body, kw_only=True):
    """Units to be opened."""

    units: Annotated[list[str | UnitBody], Meta(min_length=1, max_length=10_000)]


class FillBody(Body, kw_only=True):
    """How far to go: all the way, or only so many steps."""

    steps: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None


class ResolveBody(Body, kw_only=True):
    """What staff decided about an opening that was handed back."""

    action: Literal["again", "free", "close"]
