"""What the client does with what callers say, and with what comes back that is not from Holdfast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2 as httpx
import pytest

from holdfast import Refusal
from holdfast.client import Client


def refused(answer: object) -> tuple[str, str | None, str]:
    assert isinstance(answer, Refusal)
    return answer.code, answer.field, answer.sentence


@pytest.fixture
def unheard() -> Client:
    """A client whose requests nobody may hear."""

    def hear(request: httpx.Request) -> httpx.Response:
        raise AssertionError(f"{request.method} {request.url} went out")

    return Client("http://service.invalid", "hf_x", transport=httpx.MockTransport(hear))


@pytest.mark.parametrize("endless", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize(
    ("ask", "field"),
    [
        (lambda hf, x: hf.change_pool("p", sizes={"main": x}), "sizes.main"),
        (lambda hf, x: hf.create_pool("p", quotas={"main": x}), "quotas[0].size"),
        (lambda hf, x: hf.create_pool("p", quotas={"main": 1}, open_size=x), "open_size"),
        (lambda hf, x: hf.book("p", "ann", x), "quantity"),
        (lambda hf, x: hf.change_booking("b", answers={"deep": [1, (x,)]}), "answers.deep[1][0]"),
    ],
)
def test_a_number_that_json_has_not_is_refused_and_never_becomes_no_limit(
    unheard: Client, ask: Callable[[Client, float], Any], field: str, endless: float
) -> None:
    assert refused(ask(unheard, endless)) == ("invalid", field, f"{field} must be a finite number.")


@pytest.mark.parametrize(
    "thing",
    [object(), b"bytes", {"x": [b""]}, "half a pair \ud800", pytest.param(10**5000, id="5,000 digits")],
)
def test_what_is_no_json_is_refused_by_its_field(unheard: Client, thing: object) -> None:
    answer = unheard.create_pool("p", quotas={"main": 1}, attributes={"a": thing})
    assert refused(answer) == ("invalid", "attributes", "attributes must be plain data.")
