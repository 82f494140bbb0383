"""The drill in short: two kills on each store, and what must be noticed. `dev.py crash` is the long one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import drills.crash.run
from drills.crash.checker import judge
from drills.crash.receivers import Arrival
from drills.crash.run import Outcome, Plan, drill
from drills.crash.tables import Message
from testbed.postgres import fresh_database

CLIENTS = 8
ANSWERS = 10


def plan(url: str, folder: Path, nodes: int = 1) -> Plan:
    return Plan(url, folder, times=2, clients=CLIENTS, seed=1, nodes=nodes, answers_max=ANSWERS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("crash")


async def test_every_promise_outlives_kill_9_on_sqlite(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the judge who says so goes red for evidence that is spoilt, in whatever way."""
    given: list[tuple[Any, ...]] = []

    def noting(*evidence: Any, **options: Any) -> list[str]:
        given.append(evidence)
        return judge(*evidence, **options)

    monkeypatch.setattr(drills.crash.run, "judge", noting)
    async with drill(plan(f"sqlite:///{folder}/crash.db", folder)) as it:
        assert_went_well(await it.play())
    # The last is of the end, when all was settled.
    assert judge(*given[-1]) == []
    for spoil, sentence in SPOILT:
        assert sentence in "\n".join(judge(*spoil(*given[-1])))


async def test_and_on_postgres_with_two_nodes(folder: Path, postgres_server_url: str) -> None:
    with fresh_database(postgres_server_url) as url:
        async with drill(plan(url, folder, nodes=2)) as it:
            assert_went_well(await it.play())


def assert_went_well(outcome: Outcome) -> None:
    assert outcome.wrong == []
    assert outcome.kills.total() == 2
    assert outcome.figures["answered yes"] > 0
    assert outcome.figures["messages"] > 0


@pytest.mark.parametrize("what", ["book", "confirm"])
async def test_a_service_that_answers_before_it_commits_is_found_out(what: str, folder: Path) -> None:
    """Whoever books, or confirms, is told yes, and nothing is written."""
    async with drill(plan(f"sqlite:///{folder}/lies-to-{what}.db", folder)) as it:
        wrong = "\n".join(await it.catch("drills.crash.liar", what))
    assert re.search(rf"nothing_lost: {what} \S+ was answered yes, the log has only", wrong)


# Each takes something out of the evidence, or puts something in, and the judge must say so.


def _lost_message(tables: Any, asked: Any, arrivals: Any, *rest: Any) -> tuple[Any, ...]:
    gone = arrivals[0]
    return (tables, asked, [it for it in arrivals if (it.way, it.id) != (gone.way, gone.id)], *rest)


def _message_of_nothing(tables: Any, asked: Any, arrivals: Any, *rest: Any) -> tuple[Any, ...]:
    name = arrivals[0].id.rsplit("-", 2)[0]
    return (tables, asked, [*arrivals, Arrival("webhook", f"{name}-99999-0", "offer", "")], *rest)


def _other_words(tables: Any, asked: Any, arrivals: Any, *rest: Any) -> tuple[Any, ...]:
    return (tables, asked, [*arrivals, replace(arrivals[0], to="somebody@example.org")], *rest)


def _outbox_apart(tables: Any, asked: Any, arrivals: Any, names: Any, *rest: Any) -> tuple[Any, ...]:
    """As if messages were written by themselves, and what one of them tells of was rolled back."""
    pool, key = next(iter(tables.pools.items()))
    outbox = [*tables.outbox, Message(pool, 99_999, 0, "offer", "party", "sent")]
    came = [Arrival(way, f"{names[key]}-99999-0", "offer", "") for way in ("mail", "webhook")]
    return (tables._replace(outbox=outbox), asked, [*arrivals, *came], names, *rest)


def _unanswered(tables: Any, asked: Any, arrivals: Any, *rest: Any) -> tuple[Any, ...]:
    return (tables, [replace(asked[0], answers=[]), *asked[1:]], arrivals, *rest)


def _two_answers(tables: Any, asked: Any, arrivals: Any, *rest: Any) -> tuple[Any, ...]:
    one = next(it for it in asked if it.granted)
    twice = replace(one, answers=[*one.answers, {"code": "not_possible"}])
    return (tables, [twice, *asked], arrivals, *rest)


def _lost_booking(tables: Any, asked: Any, arrivals: Any, names: Any, seen: Any) -> tuple[Any, ...]:
    pool = next(key for key, shown in seen.items() if shown["bookings"])
    fewer = {**seen[pool], "bookings": seen[pool]["bookings"][1:]}
    return (tables, asked, arrivals, names, {**seen, pool: fewer})


SPOILT: list[tuple[Callable[..., tuple[Any, ...]], str]] = [
    (_lost_message, "never came by"),
    (_message_of_nothing, "which is not in the outbox"),
    (_other_words, "different messages"),
    (_outbox_apart, "of what never happened"),
    (_unanswered, "has no answer to this day"),
    (_two_answers, "was answered in two ways"),
    (_lost_booking, "the service shows other bookings than the log"),
]
