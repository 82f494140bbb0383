"""The demo serves what it promises, moves its clock, writes to nobody, and is gone when it is stopped."""

from __future__ import annotations

import re
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairhold.clock import DemoClock
from fairhold.demo.pools import KEYS
from tests.demo.demo import Demo, running
from tests.pages.visitor import Visitor, heading, plain
from tests.patience import PATIENCE_S


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with running(tmp_path_factory.mktemp("demo")) as found:
        yield found


@pytest.fixture
def visitor(demo: Demo) -> Iterator[Visitor]:
    with Visitor(base_url=demo.base) as found:
        yield found


def test_every_link_that_it_prints_leads_somewhere(demo: Demo, visitor: Visitor) -> None:
    links = demo.links
    assert list(links) == ["Start here", "Sign up", "Ann waits", "Nia is asked", "The console", "The API"]
    for name in ("Start here", "Sign up", "Ann waits", "Nia is asked", "The API"):
        assert visitor.get(links[name]).status_code == 200, name
    assert heading(visitor.look(links["Ann waits"])) == "You are #1 in line"
    assert heading(visitor.look(links["Nia is asked"])) == "A place is free for you"


def test_the_ready_made_sign_in_opens_the_console_and_a_guess_does_not(demo: Demo, visitor: Visitor) -> None:
    answer = visitor.get(demo.links["The console"])
    assert (answer.status_code, answer.headers["location"]) == (303, "/console")
    member = visitor.get("/v1/session").json()["member"]
    assert (member["name"], member["role"]) == ("Quinn", "admin")
    assert visitor.get(f"{demo.base}/demo/sign-in/guess").status_code == 404


def test_its_page_shows_all_five_pools_with_what_happened_in_them(visitor: Visitor) -> None:
    page = plain(visitor.look("/demo"))
    for words in ("Pottery on Thursdays", "Algebra II", "Flight 7", "Spring ball", "The salon"):
        assert words in page
    for words in ("offered", "held", "needs staff", "Handed back to staff", "did not answer in time"):
        assert words in page


@pytest.mark.parametrize("key", KEYS)
def test_every_pool_has_lived(demo: Demo, visitor: Visitor, key: str) -> None:
    told = re.search(r"fh_\S+", demo.told)
    assert told
    ask = {"authorization": f"Bearer {told[0]}"}
    log = visitor.get(f"/v1/pools/{key}/log?limit=200", headers=ask).json()["items"]
    assert len(log) > 20
    assert "Confirmed" in {entry["event"] for entry in log}
    assert log[0]["at"] < log[-1]["at"]


def test_who_moves_the_clock_sees_offers_roll_on(visitor: Visitor) -> None:
    before = visitor.look("/demo")
    assert "Nia offered" in plain(before)
    there = visitor.submit("/demo/clock", {"step": "day"})
    after = plain(visitor.look(there))
    assert "Nia did not answer in time and stays in line" in after
    assert "Oli offered" in after
    assert "new" in after


def test_the_clock_goes_to_what_is_due_next_and_takes_orders_from_its_own_page_alone(
    visitor: Visitor,
) -> None:
    before = _now(visitor)
    visitor.submit("/demo/clock", {"step": "next"})
    assert _now(visitor) > before
    before = _now(visitor)
    visitor.submit("/demo/clock", {"step": "day"}, expect=403, **{"sec-fetch-site": "cross-site"})
    visitor.submit("/demo/clock", {"step": "never"})
    assert _now(visitor) - before < 60_000


def test_time_goes_on_by_itself(visitor: Visitor) -> None:
    before = _now(visitor)
    time.sleep(0.01)
    assert _now(visitor) > before


def _now(visitor: Visitor) -> int:
    found = re.search(r'data-now="(\d+)"', visitor.look("/demo"))
    assert found
    return int(found[1])


def test_letters_can_be_read_and_their_links_lead_to_the_service(demo: Demo, visitor: Visitor) -> None:
    numbers = re.findall(r'href="(/demo/letters/\d+)"', visitor.look("/demo"))
    assert numbers
    assert demo.base in visitor.look(numbers[0])
    assert visitor.get("/demo/letters/999999").status_code == 404
    assert visitor.get("/demo/letters/x").status_code == 404


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_demo_that_is_stopped_leaves_nothing_behind(tmp_path: Path, number: int) -> None:
    with running(tmp_path) as demo:
        assert list(tmp_path.iterdir())
        with Visitor(base_url=demo.base) as visitor, visitor.stream("GET", "/demo/stream") as stream:
            # Somebody still looks on.
            assert next(stream.iter_lines()) == "retry: 2000"
            code, said, complained = demo.stop(number)
    assert (code, complained) == (0, "")
    assert said.strip() == "Stopped, and nothing is left behind."
    assert list(tmp_path.iterdir()) == []
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", demo.port))


def test_it_ends_by_itself_and_writes_to_nobody_whatever_is_set_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mail_server:
        mail_server.setblocking(False)
        where = f"smtp://127.0.0.1:{mail_server.getsockname()[1]}"
        database = f"sqlite:///{tmp_path}/real.db"
        settings = {"fairhold_smtp_url": where, "fairhold_mail_from": "seats@example.org"}
        with running(tmp_path, "--seconds", "0", fairhold_database_url=database, **settings) as demo:
            assert demo.process.wait(PATIENCE_S) == 0
        with pytest.raises(BlockingIOError):
            mail_server.accept()
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_is_said_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        demo = Demo(tmp_path, "--port", str(taken.getsockname()[1]))
        _, complained = demo.process.communicate(timeout=60)
    assert demo.process.returncode == 3
    assert complained.count("\n") == 1
    assert "cannot be served there" in complained


def test_the_clock_of_the_demo_stands_still_until_it_is_let_go() -> None:
    steady = 1_000
    clock = DemoClock(500, lambda: steady)
    steady = 2_000
    assert clock.now() == 500
    clock.let_go()
    steady = 2_300
    assert clock.now() == 800
    clock.move_to(10_000)
    steady = 2_400
    assert clock.now() == 10_100
    clock.move_to(5)
    assert clock.now() == 10_100
