"""The planting of faults: what each operator changes, what is left alone, and that nothing stays behind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from trials.faults.draw import draw, files_of, find_spots
from trials.faults.in_python import count_python_lines, spots_in_python
from trials.faults.in_sql import spots_in_sql
from trials.faults.in_templates import spots_in_template
from trials.faults.judge import Judge, NotGreenError, Runner
from trials.faults.results import Results
from trials.faults.rooms import ROOMS, Room
from trials.faults.spot import planted
from trials.faults.suite import Run, run_tests

ROOT = Path(__file__).parent.parent.parent


def python(line: str, *, returns: str = "int") -> set[str]:
    """Return what the faults make of one line in a function, and of the line after it."""
    head, tail = f"def f(self, a, b) -> {returns}:\n    ", "\n    g()\n"
    text = f"{head}{line}{tail}"
    spots = spots_in_python("a.py", text)
    faulty = {spot.applied_to(text) for spot in spots if spot.start < len(text) - len(tail)}
    return {it.removeprefix(head).removesuffix(tail).replace("\n    ", "\n") for it in faulty}


@pytest.mark.parametrize(
    ("line", "faults"),
    [
        ("x = a < b", {"x = a <= b"}),
        ("x = a >= b", {"x = a > b"}),
        ("x = a == b", {"x = a != b"}),
        ("x = a is not None", {"x = a is None"}),
        ("x = a not in b", {"x = a in b"}),
        ("x = a and b", {"x = a or b", "x = b"}),
        ("x = not a", {"x = (a)"}),
        ("x = 7", {"x = 8", "x = 6"}),
        ("x = True", {"x = False"}),
        ("x = a + b", {"x = a - b"}),
        ("x = min(a, b)", {"x = max(a, b)"}),
        ("x = all(a)", {"x = any(a)"}),
        ("x = g(a, b)", {"x = g(b, a)"}),
        ("x = g(self, a, b)", {"x = g(self, b, a)"}),
        ("self.x = a", {"pass"}),
        ("a.append(b)", {"pass"}),
        ("await a.b()", {"pass"}),
        ("x = [y for y in a if y]", {
            "x = [y for y in list(a)[1:] if y]",
            "x = [y for y in list(a)[:-1] if y]",
            "x = [y for y in a if True]",
        }),
        ("for x in a:\n        b = x", {
            "for x in list(a)[1:]:\n    b = x",
            "for x in list(a)[:-1]:\n    b = x",
            "for x in a:\n    break\n    b = x",
        }),
        ("if a:\n        return b", {"if a:\n    pass"}),
    ],
)  # fmt: skip
def test_each_operator_changes_one_thing(line: str, faults: set[str]) -> None:
    assert python(line) == faults


def test_a_function_that_may_return_none_does() -> None:
    assert python("if a:\n        return b", returns="int | None") == {
        "if a:\n    pass",
        "if a:\n    return None",
    }


@pytest.mark.parametrize(
    "text",
    [
        'def f() -> "list[1]":\n    """Return 1 < 2."""\n',
        "_BATCH_MAX: Final = 512\n",
        "def f(a):\n    log.info('so many', 1 < a)\n",
        "def f(a):\n    raise ValueError(f'{a + 1} is not 7')\n",
        "def f(a):\n    assert 1 < a\n",
        "@dataclass(slots=True)\nclass A(frozen=True):\n    a: Literal[1]\n",
        "if TYPE_CHECKING:\n    a = 1 < 2\n",
        "class A:\n    def __repr__(self):\n        return 'a' * 7\n",
        "class A:\n    def __init__(self, a):\n        self.a = a\n",
        "def f(a):\n    return isinstance(a, A)\n",
        "def f(a):\n    return max(a.b, a.c)\n",
        "x = 86_400\n",
    ],
)
def test_what_no_test_should_notice_is_left_alone(text: str) -> None:
    assert {spot.operator for spot in spots_in_python("a.py", text)} <= {"min max"}


def test_umlauts_before_a_spot_do_not_move_it() -> None:
    text = "x = ('äöü', 1 < 2)\n"
    faulty = {spot.applied_to(text) for spot in spots_in_python("a.py", text)}
    assert "x = ('äöü', 1 <= 2)\n" in faulty


def test_lines_of_code_are_counted() -> None:
    assert count_python_lines('"""Two\nlines."""\n\n# A comment.\nx = 1\nif x:\n    y = 2\n') == 3


def sql(text: str) -> set[str]:
    return {spot.applied_to(text) for spot in spots_in_sql("a.sql", text)}


def test_queries_lose_conditions_boundaries_and_order() -> None:
    assert sql("SELECT a FROM t WHERE a = ?1 AND b <= $2 ORDER BY a DESC LIMIT 1;") == {
        "SELECT a FROM t WHERE (a = ?1 OR TRUE) AND b <= $2 ORDER BY a DESC LIMIT 1;",
        "SELECT a FROM t WHERE a = ?1 AND (b <= $2 OR TRUE) ORDER BY a DESC LIMIT 1;",
        "SELECT a FROM t WHERE a = ?1 AND b < $2 ORDER BY a DESC LIMIT 1;",
        "SELECT a FROM t WHERE a = ?1 AND b <= $2 ORDER BY a ASC LIMIT 1;",
        "SELECT a FROM t WHERE a = ?1 AND b <= $2 LIMIT 1;".replace("$2 LIMIT", "$2  LIMIT"),
    }


@pytest.mark.parametrize(
    "text",
    [
        "-- Those WHERE a < b ORDER BY c.\nSELECT 'a < b WHERE c';",
        "SELECT a ->> 'b', c <> d, e -> f FROM t;",
        "SELECT id FROM pools ORDER BY id FOR UPDATE;",
        "SELECT a FROM t WHERE a = 1 OR b = 2;",
    ],
)
def test_what_is_no_condition_of_a_query_is_left_alone(text: str) -> None:
    assert sql(text) == set()


def test_a_condition_in_brackets_is_one_of_its_own() -> None:
    assert sql("SELECT a FROM t WHERE (a = 1 OR b = 2) AND c BETWEEN 1 AND 2;") == {
        "SELECT a FROM t WHERE ((a = 1 OR b = 2) OR TRUE) AND c BETWEEN 1 AND 2;",
        "SELECT a FROM t WHERE (a = 1 OR b = 2) AND (c BETWEEN 1 AND 2 OR TRUE);",
    }


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("{% if a.b %}x{% endif %}", {"{% if true %}x{% endif %}", "{% if false %}x{% endif %}"}),
        ("{{ ' x' if a }}", {"{{ ' x' if true }}", "{{ ' x' if false }}"}),
        ("{% for a in b %}x{% endfor %}", {"{% for a in (b|list)[1:] %}x{% endfor %}"}),
        ('<p><input name="{{ a }}" value="{{ b > c }}"></p>', {"<p></p>"}),
        ("{{ hidden() }}", {""}),
        ("<p>{{ a.b }}</p><p>{{ a.c }}</p>", {
            "<p>{{ a.c }}</p><p>{{ a.c }}</p>",
            "<p>{{ a.b }}</p><p>{{ a.b }}</p>",
        }),
        ('<button value="yes">', {'<button value="yes-">'}),
        ("{# {% if a %} #}", set()),
    ],
)  # fmt: skip
def test_pages_lose_conditions_fields_and_values(text: str, faults: set[str]) -> None:
    assert {spot.applied_to(text) for spot in spots_in_template("a.html", text)} >= faults
    assert bool(spots_in_template("a.html", text)) == bool(faults)


SMALL = {
    "src/small.py": (
        "from __future__ import annotations\n\n\n"
        "def is_due(at: int, now: int) -> bool:\n    return at <= now\n\n\n"
        "def has_room(size: int, taken: int) -> bool:\n    return taken < size\n"
    ),
    "tests/test_due.py": (
        "from small import is_due\n\n\n"
        "def test_what_is_due_now_is_due() -> None:\n    assert is_due(1, 1)\n    assert not is_due(2, 1)\n"
    ),
    "tests/test_room.py": (
        "from small import has_room\n\n\n"
        "def test_an_empty_room_has_room() -> None:\n    assert has_room(2, 0)\n"
    ),
}
DUE = "tests/test_due.py::test_what_is_due_now_is_due"
ROOM = "tests/test_room.py::test_an_empty_room_has_room"
ALONE = Room(sources=("src/*.py",), tests=("tests",))
TOGETHER = Room(sources=("src/*.py",), tests=("tests",), alone=("-k", "nothing"), alone_s=60)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A tree with two rules; of one of them no test looks at the boundary."""
    for name, text in SMALL.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_faults_are_planted_together_and_files_are_as_they_were_before(small: Path) -> None:
    path = small / "src/small.py"
    spots = [spot for spot in find_spots(small, "src/small.py") if spot.operator == "boundary"]
    with suppress(KeyError), planted(small, spots):
        assert "at < now" in path.read_text()
        assert "taken <= size" in path.read_text()
        raise KeyError
    assert path.read_text() == SMALL["src/small.py"]


def run_small(tree: Path, tests: Sequence[str], arguments: Sequence[str], **options: Any) -> Run:
    """Run the tests of the small tree without a process, which takes a hundredth of the time."""
    rules: dict[str, Any] = {}
    exec((tree / "src/small.py").read_text(), rules)
    held = {
        DUE: rules["is_due"](1, 1) and not rules["is_due"](2, 1),
        ROOM: rules["has_room"](2, 0),
    }
    if "nothing" in arguments:
        held = {}
    passed = [test for test, is_so in held.items() if is_so and test not in options.get("passed", ())]
    failed = [test for test, is_so in held.items() if not is_so]
    return Run(tuple(failed), tuple(passed), 1.0, dict.fromkeys(held, 1.0), code=1 if failed else 0)


@pytest.mark.parametrize(
    ("room", "runner"), [(ALONE, run_tests), (TOGETHER, run_small)], ids=["alone", "together"]
)
def test_the_fault_that_no_test_holds_is_named(
    small: Path, tmp_path: Path, room: Room, runner: Runner
) -> None:
    results = Results(tmp_path / "results.jsonl")
    judge = Judge(small, room, results, print, runner)
    judge.must_be_green()
    judge.judge(draw(small, "small", room, 2, seed=1))

    missed = "src/small.py:9 boundary\n  -     return taken < size\n  +     return taken <= size"
    kept = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert {it["place"]: it["by"] for it in kept} == {"src/small.py:5": DUE, "src/small.py:9": ""}
    assert results.summary().startswith("small: 1 of 2 noticed (50%), 0 of them by a time-out\n\n")
    assert results.summary().endswith(missed)
    assert (small / "src/small.py").read_text() == SMALL["src/small.py"]
    # A trial that is begun again judges nothing twice.
    assert Results(tmp_path / "results.jsonl").summary() == results.summary()


def test_nothing_is_judged_by_tests_that_fail_anyhow(small: Path, tmp_path: Path) -> None:
    (small / "tests/test_due.py").write_text("def test_false() -> None:\n    raise AssertionError\n")
    with pytest.raises(NotGreenError, match="test_false"):
        Judge(small, ALONE, Results(tmp_path / "results.jsonl"), print).must_be_green()


@pytest.mark.parametrize("name", sorted(ROOMS))
def test_every_room_has_source_and_tests_and_draws_the_same_faults_again(name: str) -> None:
    room = ROOMS[name]
    for pattern in room.sources:
        assert any(ROOT.glob(pattern)), f"{pattern} names nothing"
    assert all((ROOT / tests).is_dir() for tests in room.tests)
    drawn = draw(ROOT, name, room, 12, seed=5)
    assert drawn == draw(ROOT, name, room, 12, seed=5)
    assert len({(fault.spot.path, fault.spot.start) for fault in drawn}) == 12
    assert {fault.spot.path for fault in drawn} <= set(files_of(ROOT, room))
