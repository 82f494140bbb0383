"""The drills that are run by hand forget nothing, and would see what is wrong."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from drills.fuzz import commands, malformed
from drills.fuzz.alive import Alive
from drills.fuzz.asking import Asking
from drills.fuzz.judge import Judge
from drills.fuzz.odd import Odd, broken, written
from drills.fuzz.state import addresses
from drills.fuzz.wire import Answer, Asked
from drills.soak import bounds, fit
from drills.soak import page as soak_page
from drills.soak.chart import Line, svg
from fairhold.http.openapi import document
from fairhold.http.service import Service, operations_of
from fairhold.http.settings import Settings
from testbed.guarantees.evidence import EVIDENCE

SOURCE = Path(__file__).parents[2] / "src" / "fairhold"
ROLES = ("admin", "staff", "read", "public")
PROBLEM = {"type": "/docs#invalid", "title": "No", "status": 422, "code": "invalid", "detail": "No."}


@pytest.fixture(scope="module")
def asking() -> Asking:
    described = document(operations_of(Settings(database="", test_clock=True)))
    return Asking(described, addresses(), dict.fromkeys(ROLES, "fh_x"), Alive(), Odd(1, 30))


def test_every_operation_and_every_page_is_asked(asking: Asking) -> None:
    """The list is made of the service's own; a route of which it knows nothing would be seen here."""
    service = Service(Settings(database="", test_clock=True))
    ours = {route.path.replace(":path}", "}") for route in service._router.routes}  # type: ignore[attr-defined]
    named = {path for _, path, _ in asking.operations} | {path for path, _, _ in asking.pages}
    assert ours == named
    asked = Counter(asking.next(Random(f"{number}")).name for number in range(4_000))
    for method, path, _ in asking.operations:
        assert asked[f"{method} {path}"], (method, path)
    unseen = [path for path, _, _ in asking.pages if not asked[f"GET {path}"] + asked[f"POST {path}"]]
    assert len(unseen) < len(asking.pages) / 10, unseen
    assert sum(asked[f"POST {path}"] > 0 for path, _, _ in asking.pages) > 20


def test_the_same_seed_asks_the_same(asking: Asking) -> None:
    raw = [asking.next(Random("1/sqlite/0/7")).raw() for _ in range(2)]
    assert raw[0] == raw[1]
    assert asking.next(Random("1/sqlite/0/8")).as_curl("http://127.0.0.1:1").startswith("curl ")


def test_what_is_kept_in_memory_has_bounds_and_the_page_says_them() -> None:
    """A cache without a bound fails here, as does a bound that was changed."""
    page = (EVIDENCE.parent / "concepts" / "long-run.md").read_text(encoding="utf-8")
    assert bounds.table() in page
    assert page == soak_page.text(EVIDENCE), "run: python3 -m drills.soak.page"
    cached = [path for path in SOURCE.rglob("*.py") if "@cache\n" in path.read_text(encoding="utf-8")]
    # These are asked about what the program has: names of its queries, commands and files.
    assert {path.relative_to(SOURCE).as_posix() for path in cached} <= {
        "accounts/common_passwords.py",
        "command_words.py",
        "demo/pages.py",
        "http/docs.py",
        "pages/static.py",
        "store/queries.py",
        "store/sqlite/bulk.py",
        "store/sqlite/together.py",
    }


def test_every_command_is_known_to_the_drill() -> None:
    assert {"book", "pool create", "import", "message say", "retention set"} <= set(commands.tree())


def answer(status: int, kind: str, body: bytes, **headers: str) -> Answer:
    given = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    return Answer(status, {b"content-type": kind.encode(), **given}, body, 0.1)


def problem(status: int = 422, **fields: object) -> Answer:
    return answer(
        status, "application/problem+json", json.dumps({**PROBLEM, "status": status, **fields}).encode()
    )


WRONG = {
    "a mistake of ours": problem(500, code="failed"),
    "a code that nobody knows": problem(code="oops"),
    "a code of another status": problem(404),
    "a no without a word": problem(detail=""),
    "a no that is no problem": answer(422, "application/json", b"{}"),
    "a problem that is no JSON": answer(422, "application/problem+json", b"{"),
    "not available, and not when": problem(503, code="unavailable"),
    "a traceback": answer(200, "text/html", b"Traceback (most recent call last):"),
    "no answer": Answer(0, {}, b"", 0.1, "closed"),
    "refused as no HTTP": answer(400, "text/plain", b"Invalid HTTP request received."),
}
FINE = {
    "yes": answer(200, "application/json", b"{}"),
    "a well-formed no": problem(),
    "not available just now": answer(
        503,
        "application/problem+json",
        json.dumps({**PROBLEM, "status": 503, "code": "unavailable"}).encode(),
        retry_after="1",
    ),
}


@pytest.mark.parametrize("given", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_seen(given: Answer) -> None:
    assert Judge("").wrong(Asked("", b"GET", b"/v1/pools"), given)


@pytest.mark.parametrize("given", FINE.values(), ids=FINE)
def test_what_is_right_is_left_alone(given: Answer) -> None:
    assert not Judge("").wrong(Asked("", b"GET", b"/v1/pools"), given)


def test_an_error_in_the_log_is_seen() -> None:
    judge = Judge("")
    judge.read('{"level":"warning","message":"x"}\n{"level":"error","message":"a request failed"}\n')
    assert len(judge.faults) == 1


def test_odd_values_are_written_as_they_are() -> None:
    odd, dice = Odd(1, 30), Random(1)
    for _ in range(500):
        broken(written(odd.value(dice)), dice)
        malformed.one(dice)


def test_growth_is_that_of_a_line_and_flat_is_flat() -> None:
    at = [float(n) for n in range(0, 3_600, 10)]
    assert fit.growth(at, [100.0 + n % 3 for n in range(len(at))])[1] == pytest.approx(0, abs=0.2)
    assert fit.growth(at, [2 * second for second in at])[1] == pytest.approx(7_200)
    # What fills in the beginning and then stays is no growth.
    assert fit.growth(at, [min(second, 600.0) for second in at]) == (0, 0)
    assert fit.quantile([3.0, 1.0, 2.0], 0.5) == 2.0


def test_a_chart_is_svg(tmp_path: Path) -> None:
    drawn = svg("A & B", [("Memory", [Line("MiB", [0, 1], [5, 6])])])
    assert "A &amp; B" in drawn
    assert drawn.count("<polyline") == 1
