"""Putting back on real databases: what a booking had is known from the log, and verify follows it back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from fairhold import Fairhold, Refusal, granted
from fairhold.shapes import Outcome
from fairhold.verify.replay import Replay
from tests.database import opened
from tests.verified import assert_verified, verified


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        yield hf


async def yoga(hf: Fairhold, size: int = 1) -> dict[str, str]:
    """Olga has the seat; Ann, Bea and Cyd wait."""
    granted(await hf.create_pool("yoga", preset="class_waitlist", quotas={"main": size}))
    found = {"olga": granted(await hf.book("yoga", "olga", confirmed=True, by="staff")).id}
    return found | {name: granted(await hf.book("yoga", name)).id for name in ("ann", "bea", "cyd")}


async def line(hf: Fairhold) -> list[str]:
    return [booking.party.id for booking in granted(await hf.line("yoga"))]


async def test_it_is_the_same_booking_with_its_reference_answers_and_place(
    hf: Fairhold, database_url: str
) -> None:
    people = await yoga(hf)
    before = granted(await hf.change_booking(people["bea"], answers={"diet": "vegan"}))
    granted(await hf.cancel(people["bea"], by="staff:olga"))
    back = granted(await hf.put_back(people["bea"], why="wrong row", by="staff:olga"))
    assert (back.id, back.reference, back.answers) == (before.id, before.reference, before.answers)
    assert (back.state, back.position) == ("waiting", 2)
    assert await line(hf) == ["ann", "bea", "cyd"]
    said = granted(await hf.explain(people["bea"]))[-1]
    assert (said.code, said.reason, said.by) == ("put_back", "waiting", "staff:olga")
    assert said.sentence == "Staff put you back in line, as #2 (wrong row)."
    told = granted(await hf.messages("yoga"))[-1]
    assert (told.kind, told.booking, told.facts["position"]) == ("put_back", people["bea"], 2)
    await assert_verified(database_url)


async def test_a_unit_is_known_from_the_log_also_after_it_was_put_back_before(
    hf: Fairhold, database_url: str
) -> None:
    units = [{"label": label} for label in ("9 am", "2 pm", "5 pm")]
    granted(await hf.create_pool("salon", preset="last_minute", quotas=[{"key": "chair", "units": units}]))
    ann = granted(await hf.book("salon", "ann", units=["2 pm"], confirmed=True, by="staff")).id
    for _ in range(2):
        granted(await hf.cancel(ann))
        back = granted(await hf.put_back(ann))
        assert (back.state, back.units) == ("confirmed", ("2 pm",))
    granted(await hf.cancel(ann))
    granted(await hf.book("salon", "bea", units=["2 pm"], confirmed=True, by="staff"))
    # Another chair would not be what Ann had: she is first in line, and is asked.
    assert granted(await hf.put_back(ann)).state == "offered"
    await assert_verified(database_url)


async def test_a_part_and_its_rest_are_put_back_each_as_it_was(hf: Fairhold, database_url: str) -> None:
    granted(await hf.create_pool("yoga", preset="class_waitlist", quotas={"main": 1}))
    olga = granted(await hf.book("yoga", "olga")).id
    rest = granted(await hf.book("yoga", "ann", 2)).id
    granted(await hf.cancel(olga))
    offer = granted(await hf.booking(rest, secret=True)).offer
    assert offer is not None
    part = granted(await hf.claim(offer.token, 1)).id
    for booking in (rest, part):
        granted(await hf.cancel(booking))
    assert granted(await hf.put_back(part)).state == "confirmed"
    assert granted(await hf.put_back(rest)).state == "waiting"
    granted(await hf.change_pool("yoga", sizes={"main": 0}, allow_demotion=True))
    refused = await hf.put_back(part)
    assert isinstance(refused, Refusal)
    assert refused.code == "not_possible"
    await assert_verified(database_url)


@pytest.mark.parametrize(
    ("preset", "becomes"), [("class_waitlist", "offered"), ("checkout", "not_enough_room")]
)
async def test_a_quota_that_was_made_anew_by_units_gives_no_seat_without_one(
    hf: Fairhold, database_url: str, preset: str, becomes: str
) -> None:
    granted(await hf.create_pool("yoga", preset=preset, quotas={"main": 1}))
    ann = granted(await hf.book("yoga", "ann")).id
    granted(await hf.cancel(ann))
    for quota in ({"key": "spare", "size": 0}, {"key": "main", "units": []}):
        granted(await hf.change_pool("yoga", quotas=[quota]))
    granted(await hf.add_units("yoga", [{"label": "mat", "quota": "main"}]))
    answer = await hf.put_back(ann)
    assert (answer.code if isinstance(answer, Refusal) else answer.state) == becomes
    await assert_verified(database_url)


async def test_a_party_that_waits_again_is_named_by_the_refusal(hf: Fairhold) -> None:
    people = await yoga(hf)
    granted(await hf.cancel(people["ann"]))
    again = granted(await hf.book("yoga", "ann")).id
    refused = await hf.put_back(people["ann"])
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.facts["booking"]) == ("already_waiting", again)


async def test_a_dry_run_changes_nothing_and_a_key_counts_once(hf: Fairhold) -> None:
    people = await yoga(hf)
    granted(await hf.cancel(people["ann"]))
    would = await hf.dry_run(lambda rehearsal: rehearsal.put_back(people["ann"]))
    assert isinstance(would, Outcome)
    assert [event["event"] for event in would.events] == ["PutBack"]
    assert [message["kind"] for message in would.messages] == ["put_back"]
    assert await line(hf) == ["bea", "cyd"]
    first = granted(await hf.put_back(people["ann"], idempotency_key="k"))
    granted(await hf.cancel(people["ann"]))
    assert granted(await hf.put_back(people["ann"], idempotency_key="k")) == first
    assert await line(hf) == ["bea", "cyd"]


async def test_between_two_who_stand_close_there_is_still_a_place(hf: Fairhold, database_url: str) -> None:
    """Places are halved by moves until there is none between; the booking's own place is taken by then."""
    people = await yoga(hf)
    for _ in range(25):
        granted(await hf.move(people["bea"], after=people["ann"]))
        granted(await hf.cancel(people["bea"]))
        granted(await hf.move(people["cyd"], after=people["ann"]))
        granted(await hf.put_back(people["bea"]))
        assert await line(hf) == ["ann", "cyd", "bea"]
    await assert_verified(database_url)


async def test_a_person_who_was_forgotten_is_not_put_back(hf: Fairhold, database_url: str) -> None:
    people = await yoga(hf)
    granted(await hf.cancel(people["ann"]))
    granted(await hf.put_back(people["ann"], why="she rang"))
    granted(await hf.cancel(people["ann"]))
    granted(await hf.erase_person("ann"))
    refused = await hf.put_back(people["ann"])
    assert isinstance(refused, Refusal)
    assert refused.code == "not_possible"
    log: Any = granted(await hf.log("yoga", limit=1000))
    assert not [entry for entry in log if entry.facts.get("why") == "she rang"]
    await assert_verified(database_url)


async def test_verify_follows_it_back_however_little_it_reads_at_a_time(
    hf: Fairhold, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = await yoga(hf)
    granted(await hf.cancel(people["ann"]))
    granted(await hf.put_back(people["ann"]))
    for where in ("sqlite.transaction", "postgres.readers"):
        monkeypatch.setattr(f"fairhold.store.{where}._PAGE", 1)
    await assert_verified(database_url)
    # The control: a replay that does not know who comes back forgets them when they end.
    replayed = Replay._replay

    def replays(self: Replay, seq: int, event: Any) -> None:
        self._put_back.clear()
        replayed(self, seq, event)

    monkeypatch.setattr(Replay, "_replay", replays)
    assert not (await verified(database_url)).whole
