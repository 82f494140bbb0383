"""Seeds of the simulator hold; the same seed does the same; and what breaks a promise is found."""

from __future__ import annotations

import dataclasses
import logging
import re
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import sim.run
from sim.cast import Cast
from sim.faults import FaultyTransaction
from sim.recording import add
from sim.records import Asked, Carried, Entry
from sim.run import Outcome, run_seed
from testbed.guarantees.evidence import read_drills
from testbed.postgres import fresh_database

STEPS = 100
_PARTY = re.compile(r'"party":"party-\d+"')


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


def test_a_seed_replays_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(sim.run, "audit", lambda *given: seen.append(given) or [])
        run_seed(7, 60)
        run_seed(7, 60)
    assert seen[0] == seen[1]
    assert len(list(seen[0][0])) > 50


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


def test_a_client_that_asks_again_under_another_key_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = count()
    monkeypatch.setattr(Cast, "_key", lambda cast, it: f"another-{next(keys)}")
    assert "in two ways" in broken([1, 2])


def _with(entry: Entry, old: str, new: str) -> Entry:
    return dataclasses.replace(entry, body=entry.body.replace(old, new))


def _all_one(log: list[Entry]) -> list[Entry]:
    """As if everybody were the same person."""
    return [dataclasses.replace(it, body=_PARTY.sub('"party":"party-1"', it.body)) for it in log]


@pytest.mark.parametrize(
    ("promise", "spoil"),
    [
        ("no_oversell", lambda log: [_with(it, '"quantity":1', '"quantity":9') for it in log]),
        ("contiguous", lambda log: [_with(it, '"position":2', '"position":3') for it in log]),
        ("log_tells_all", lambda log: [it for it in log if it.seq != 3]),
        ("log_tells_all", lambda log: [dataclasses.replace(it, by="nobody") for it in log]),
        ("one_place_in_line", _all_one),
        ("nothing_lost", lambda log: [it for it in log if it.kind != "Cancelled"]),
        ("told_once", lambda log: [it for it in log if it.kind != "Offered"]),
        (
            "it was confirmed, and",
            lambda log: [_with(it, '"confirmed":false', '"confirmed":true') for it in log],
        ),
    ],
)
def test_spoilt_evidence_is_found(promise: str, spoil: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read = sim.run.read_log

    async def spoilt(url: str) -> list[Entry]:
        return list(spoil(await read(url)))

    monkeypatch.setattr(sim.run, "read_log", spoilt)
    assert promise in broken([4])


def test_a_message_about_nothing_and_an_answer_in_two_ways_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = sim.run.audit

    def spoilt(log: Any, asked: list[Asked], carried: list[Carried], shown: Any) -> list[str]:
        carried.append(dataclasses.replace(carried[0], id=carried[0].id.rsplit("-", 2)[0] + "-99999-0"))
        one = next(it for it in asked if it.granted)
        one.answers.append({"code": "not_possible"})
        return judge(log, asked, carried, shown)

    monkeypatch.setattr(sim.run, "audit", spoilt)
    found = broken([4])
    assert "never happened" in found
    assert "in two ways" in found


def test_what_runs_have_survived_is_added_up_until_one_breaks_a_promise(tmp_path: Path) -> None:
    (tmp_path / "tests.json").write_text("{}")
    for _ in range(2):
        add({"seeds": 2, "commands": 700}, held=True, root=tmp_path)
    (told,) = read_drills(tmp_path)
    assert (told.outcome, told.figures) == ("passed", {"seeds": 4, "commands": 1_400})
    add({"seeds": 1, "commands": 300}, held=False, root=tmp_path)
    (told,) = read_drills(tmp_path)
    assert (told.outcome, told.shown, told.figures) == ("failed", [], {"seeds": 1, "commands": 300})
