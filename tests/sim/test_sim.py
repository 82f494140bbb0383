"""Seeds of the simulator hold; the same seed does the same; and what breaks a promise is found."""

from __future__ import annotations

import dataclasses
import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import sim.run
from fairhold.core import fill, search
from fairhold.engine.batch import Batch, Flight
from fairhold.store.base import Reader
from sim.auditor import audit
from sim.cast import Cast
from sim.faults import FaultyTransaction
from sim.recording import Seeds, add, next_seed
from sim.records import Asked, Carried, Entry
from sim.run import Outcome, run_seed
from testbed.guarantees.evidence import read_drills
from testbed.postgres import fresh_database

STEPS = 100
# These have everything in them that is spoilt below.
SPOILT = (2, 4, 7, 21, 32, 38)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """What fails is made to fail: nobody needs to be told of each."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("seed", range(1, 9))
def test_every_promise_holds_whatever_fails(seed: int) -> None:
    assert run_seed(seed, STEPS).wrong == []


@pytest.mark.parametrize("seed", [101, 102, 103])
def test_and_on_postgres(seed: int, postgres_server_url: str) -> None:
    with fresh_database(postgres_server_url) as url:
        assert run_seed(seed, 40, url).wrong == []


def test_the_seeds_have_everything_in_them() -> None:
    played = [run_seed(seed, 60) for seed in range(30, 34)]
    assert sum(it.kills for it in played) > 5
    assert len({what for it in played for what in it.faults}) >= 10
    assert sum(it.commands for it in played) > 1_000


def test_batches_follow_each_other_and_some_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only then something is decided on what is still being written, and on what never came to be."""
    decide, below = Batch.decide, list[Flight]()

    async def noted(batch: Batch, reader: Reader, in_flight: Flight | None = None) -> None:
        await decide(batch, reader, in_flight)
        if in_flight is not None:
            below.append(in_flight)

    monkeypatch.setattr(Batch, "decide", noted)
    for seed in (906, 917):
        run_seed(seed, 60)
    # Those of a node that was killed have come to no end.
    written = Counter(it.written.result() for it in below if it.written.done() and not it.written.cancelled())
    assert written[True] > 10
    assert written[False]


def test_a_seed_replays_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(sim.run, "audit", lambda *given: seen.append(given) or [])
        run_seed(7, 60)
        run_seed(7, 60)
    assert seen[0] == seen[1]
    assert len(list(seen[0][0])) > 50


def test_the_cast_asks_for_all_that_there_is_under_all_rules() -> None:
    logs = [entry for seed in SPOILT for entry in evidence(seed)[0]]
    granted = {it.what for seed in SPOILT for it in evidence(seed)[1] if it.granted}
    assert granted == {
        *("book", "confirm", "cancel", "extend", "change", "claim", "decline"),
        *("move", "put back", "offer", "resolve", "resize", "status", "open unit", "close unit"),
    }
    facts = [json.loads(it.body) for it in logs]
    assert {it["wants"] is None for it in facts if "wants" in it} == {True, False}
    policies = [it["pool"]["policy"] for it in facts if "pool" in it]
    varied = {name for name in policies[0] if len({str(it[name]) for it in policies}) > 1}
    assert {it for it in policies[0] if it not in varied} == {"quantity_max", "hold_reminder", "quiet_hours"}


# Controls: each takes a protection away, or spoils the evidence, and the auditor must say so.


def broken(seeds: Sequence[int]) -> str:
    found: list[Outcome] = [run_seed(seed, STEPS) for seed in seeds]
    return "\n".join(sentence for it in found for sentence in it.wrong)


def test_a_commit_that_lies_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    commit = FaultyTransaction.commit

    async def lying(self: FaultyTransaction) -> None:
        if self._store.faults.strikes("a lie"):
            await self._inner.rollback()
        else:
            await commit(self)

    monkeypatch.setattr(FaultyTransaction, "commit", lying)
    assert "nothing_lost" in broken(range(1, 4))


def test_a_line_that_is_not_served_in_its_order_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "heappop", lambda heap: heap.pop(heap.index(max(heap))))
    assert re.search(r"nobody_jumps: .*\(Offered\): booking \d+ stood before it", broken([7, 8]))


def test_a_turn_that_comes_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_was_offered", lambda *_: False)
    assert re.search(r"nobody_jumps: .*\(Offered\): it was not its turn", broken([8, 11]))


def test_a_round_of_all_quotas_at_once_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_all(work: Any, keys: set[str]) -> None:
        started(work, {quota.key for quota in work.view.pool.quotas})

    started = fill._start_rounds
    monkeypatch.setattr(fill, "_start_rounds", of_all)
    assert re.search(r"nobody_jumps: .*\(RoundStarted\): nothing of", broken([1]))


def test_a_client_that_asks_again_under_another_key_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = count()
    monkeypatch.setattr(Cast, "_key", lambda cast, it: f"another-{next(keys)}")
    assert "in two ways" in broken([1, 2])


Evidence = tuple[list[Entry], list[Asked], list[Carried], Any]


@cache
def evidence(seed: int) -> Evidence:
    """What the auditor is given in the end of a seed."""
    seen: list[Evidence] = []
    judge, sim.run.audit = sim.run.audit, lambda *given: seen.append(given) or []  # type: ignore[assignment]
    try:
        run_seed(seed, STEPS)
    finally:
        sim.run.audit = judge
    assert audit(*seen[0]) == []
    return seen[0]


def is_found(sentence: str, spoil: Callable[..., Any]) -> bool:
    """Whether something like this is found in the evidence of some seed, once it is spoilt."""
    return any(re.search(sentence, "\n".join(audit(*spoil(*evidence(seed))))) for seed in SPOILT)


def _changed(old: str, new: Any, *kinds: str) -> Any:
    """Such entries, or all, with other facts."""

    def spoil(log: list[Entry]) -> list[Entry]:
        return [
            dataclasses.replace(it, body=re.sub(old, new, it.body)) if it.kind in kinds or not kinds else it
            for it in log
        ]

    return spoil


def _sooner_or_later(ms: int) -> Any:
    return lambda found: f'"expires_at":{int(found[1]) + ms}'


def _without(*kinds: str) -> Any:
    return lambda log: [it for it in log if it.kind not in kinds]


def _one_less(kind: str) -> Any:
    """Without the second such entry of those bookings that have two."""

    def spoil(log: list[Entry]) -> list[Entry]:
        seen: Counter[tuple[int, int | None]] = Counter()
        kept = []
        for it in log:
            seen[it.pool, it.booking] += it.kind == kind
            if it.kind != kind or seen[it.pool, it.booking] != 2:
                kept.append(it)
        return kept

    return spoil


@pytest.mark.parametrize(
    ("found", "spoil"),
    [
        ("no_oversell: .* beyond the quotas", _changed('"quantity":1', '"quantity":9')),
        (r"no_oversell: .*\(Held\): unit s\d cannot be given", _without("UnitsAdded")),
        ("no_oversell: .* cannot be given", _changed('"quota":"chair"', '"quota":"sofa"', "UnitsAdded")),
        (r"no_oversell: .*\(Held\): . beyond", _changed('"quantity":\\d', '"quantity":9', "HandedBack")),
        (r"no_oversell: .*\(UnitClosed\): somebody has it", _without("Cancelled", "Expired", "Lapsed")),
        ("contiguous", _changed('"position":2', '"position":3')),
        ("log_tells_all", lambda log: [it for it in log if it.seq != 3]),
        ("log_tells_all", lambda log: [dataclasses.replace(it, by="nobody") for it in log]),
        # As if everybody were the same person.
        ("one_place_in_line", _changed(r'"party":"party-\d+"', '"party":"party-1"')),
        (r"one_live_offer: .*\(Offered\): it has 1", _without("Lapsed")),
        (r"one_live_offer: .*\(Claimed\): answers offer", _changed('"seq":1', '"seq":2', "Claimed")),
        # As if all had come in the opposite order.
        (
            r"nobody_jumps: .*\(Offered\): booking \d+ stood before it",
            _changed(r'"place":(\d+)', lambda it: f'"place":{2**63 - int(it[1])}', "Joined"),
        ),
        (
            r"nobody_jumps: .*\(Promoted\): booking \d+ stood before it",
            _changed(r'"place":(\d+)', lambda it: f'"place":{2**63 - int(it[1])}', "Joined"),
        ),
        (r"nobody_jumps: .*\(Held\): .* got room past", _without("Offered", "Promoted")),
        (r"nobody_jumps: .*\(Offered\): it was not its turn", _without("RoundStarted")),
        (
            "nobody_jumps: .* waits, though there is room",
            _changed('"size":2', '"size":99', "PoolCreated", "PoolChanged"),
        ),
        (
            r"deadlines_kept: .*\(Claimed\): its time was over",
            _changed(r'"expires_at":(\d+)', _sooner_or_later(-(10**8)), "Offered"),
        ),
        (
            r"deadlines_kept: .*\(Confirmed\): its time was over",
            _changed(r'"expires_at":(\d+)', _sooner_or_later(-(10**8)), "Held"),
        ),
        (
            r"deadlines_kept: .*\(Lapsed\): it had time",
            _changed(r'"expires_at":(\d+)', _sooner_or_later(10**8), "Offered"),
        ),
        (
            r"deadlines_kept: .*\(Expired\): it had time",
            _changed(r'"expires_at":(\d+)', _sooner_or_later(10**8), "Held"),
        ),
        ("deadlines_kept: .* is held beyond its time", _without("Expired")),
        ("nothing_lost: confirm .* was answered yes, the log has only", _without("Confirmed")),
        ("nothing_lost: cancel .* was answered yes, the log has only", _without("Cancelled")),
        ("nothing_lost: put back .* which never was so", _without("PutBack")),
        ("nothing_lost: resize .* was answered yes, version", _without("PoolChanged")),
        ("nothing_lost: status .* was answered yes, version", _without("PoolChanged")),
        ("nothing_lost: resolve .* was answered yes, the log has only", _without("OpeningEnded")),
        ("nothing_lost: change .* was answered yes, the log has only", _without("BookingChanged")),
        ("nothing_lost: close unit .* was answered yes, the log has only", _without("UnitClosed")),
        ("nothing_lost: extend .* was answered yes to 2, the log has 1", _one_less("Extended")),
        ("nothing_lost: move .* was answered yes to 2, the log has 1", _one_less("Moved")),
        ("it was confirmed, and", _changed('"confirmed":false', '"confirmed":true')),
    ],
)
def test_spoilt_evidence_is_found(found: str, spoil: Any) -> None:
    assert is_found(found, lambda log, *rest: (spoil(log), *rest))


TOLD = ("joined", "offer", "promoted", "confirmed", "lapsed", "attempts_used_up", "demoted", "put_back")


@pytest.mark.parametrize("kind", [*TOLD, "cancelled", "handed_back", "unreachable"])
def test_what_is_never_told_and_what_is_told_twice_are_found(kind: str) -> None:
    def never(log: Any, asked: Any, carried: list[Carried], shown: Any) -> Any:
        return log, asked, [it for it in carried if it.kind != kind], shown

    def twice(log: Any, asked: Any, carried: list[Carried], shown: Any) -> Any:
        again = [dataclasses.replace(it, id=f"{it.id}9") for it in carried if it.kind == kind]
        return log, asked, [*carried, *again[:1]], shown

    assert is_found(f"told_once: {kind} .* 0 times, and happened", never)
    assert is_found(f"told_once: {kind} .* 2 times, and happened 1 ", twice)


def test_a_letter_to_the_wrong_person_is_found() -> None:
    def spoil(log: Any, asked: Any, carried: list[Carried], shown: Any) -> Any:
        astray = [
            dataclasses.replace(it, address="ann@example.org") if it.kind == "offer" else it for it in carried
        ]
        return log, asked, astray, shown

    assert is_found("whom it is none of the business of", spoil)


def test_a_message_about_nothing_is_found() -> None:
    def spoil(log: Any, asked: Any, carried: list[Carried], shown: Any) -> Any:
        nothing = dataclasses.replace(carried[0], id=carried[0].id.rsplit("-", 2)[0] + "-99999-0")
        return log, asked, [*carried, nothing], shown

    assert is_found("never happened", spoil)


@pytest.mark.parametrize(
    ("found", "change"),
    [
        ("in two ways", lambda answer: [answer, {"code": "not_possible"}]),
        ("which never was so", lambda answer: [answer | {"expires_at": "2027-02-01T00:00:00Z"}]),
        ("has no answer to this day", lambda answer: []),
    ],
)
def test_a_wrong_answer_is_found(found: str, change: Any) -> None:
    def spoil(log: Any, asked: list[Asked], carried: Any, shown: Any) -> Any:
        one = next(it for it in asked if it.what == "book" and it.granted)
        told = dataclasses.replace(one, answers=change(one.granted))
        return log, [told if it is one else it for it in asked], carried, shown

    assert is_found(found, spoil)


def test_what_runs_have_survived_is_added_up_until_one_breaks_a_promise(tmp_path: Path) -> None:
    (tmp_path / "tests.json").write_text("{}")
    for store, first in [("sqlite", 1), ("sqlite", 3), ("postgres", 1)]:
        add({"seeds": 2, "commands": 700}, Seeds(first, first + 1, store, "c0de"), held=True, root=tmp_path)
    (told,) = read_drills(tmp_path)
    seeds = {"seeds on sqlite": "1 to 2 of c0de; 3 to 4 of c0de", "seeds on postgres": "1 to 2 of c0de"}
    assert (told.outcome, told.figures) == ("passed", {"seeds": 6, "commands": 2_100, **seeds})
    add({"seeds": 1, "commands": 300}, Seeds(5, 5, "sqlite", "c0de"), held=False, root=tmp_path)
    (told,) = read_drills(tmp_path)
    figures = {"seeds": 1, "commands": 300, "seeds on sqlite": "5 to 5 of c0de"}
    assert (told.outcome, told.shown, told.figures) == ("failed", [], figures)


def test_no_seed_counts_twice_on_one_store_and_of_one_code(tmp_path: Path) -> None:
    (tmp_path / "tests.json").write_text("{}")
    add({"seeds": 9}, Seeds(1, 9, "sqlite", "c0de"), held=True, root=tmp_path)
    assert next_seed("sqlite", "c0de", tmp_path) == 10
    assert next_seed("postgres", "c0de", tmp_path) == next_seed("sqlite", "0ther", tmp_path) == 1
    with pytest.raises(AssertionError, match="no seed counts twice"):
        add({"seeds": 2}, Seeds(9, 10, "sqlite", "c0de"), held=True, root=tmp_path)
