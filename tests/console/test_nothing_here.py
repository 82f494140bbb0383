"""An address where nothing is: a browser gets a calm page, a program the problem as ever."""

from __future__ import annotations

import pytest

from tests.console.desk import Desk
from tests.pages.visitor import heading, plain

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.mark.parametrize("path", ["/", "/nope", "/p", "/b/a/b/c", "/consol", "/v1x"])
def test_a_browser_is_told_in_words(stranger: Desk, path: str) -> None:
    answer = stranger.get(path, headers=BROWSER)
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert heading(answer.text) == "There is nothing here"
    assert stranger.head(path, headers=BROWSER).status_code == 404
    finnish = stranger.get(path, headers=BROWSER | {"accept-language": "fi"})
    assert "Täällä ei ole mitään" in plain(finnish.text)


def test_a_member_of_staff_is_told_in_the_console(sam: Desk, stranger: Desk) -> None:
    for desk in (sam, stranger):
        answer = desk.get("/console/nope/nowhere", headers=BROWSER)
        assert answer.status_code == 404
        assert answer.headers["content-type"].startswith("text/html")
        assert "/console/pools" in answer.text


@pytest.mark.parametrize("accept", ["*/*", "application/json", ""])
def test_a_program_gets_the_problem(stranger: Desk, accept: str) -> None:
    for path in ("/nope", "/console/nope/nowhere", "/v1/nope"):
        answer = stranger.get(path, headers={"accept": accept})
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown")


def test_the_api_answers_browsers_as_it_answers_all(stranger: Desk) -> None:
    answer = stranger.get("/v1/nope", headers=BROWSER)
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown")
