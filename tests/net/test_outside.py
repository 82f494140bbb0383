"""The command line and the service of the tree say what those of the reference say.

They need the reference, which a shallow clone has not.
"""

from __future__ import annotations

import pytest

from net import command_lines, over_http
from net.command_lines import PACKAGES
from net.command_list import LINES
from net.outside import Renaming, mapped, plain_json
from net.reference import NoReference, bring


@pytest.fixture(autouse=True)
def _reference() -> None:
    try:
        bring()
    except NoReference as error:
        pytest.skip(str(error))


def test_every_command_line_ends_and_answers_alike() -> None:
    assert command_lines.compare() == len(LINES)


async def test_the_same_requests_are_answered_alike() -> None:
    played = await over_http.compare(first=0, rounds=1, requests=150)
    assert played.faults == []
    assert played.statuses.total() > 150


def test_random_names_are_numbered_as_they_come() -> None:
    one, other = Renaming(), Renaming()
    said = '{{"id": "{id}", "pool": "p3nscwyc5v6jv3", "again": "{id}"}}'
    assert one(said.format(id="m7fa6b3004b34e86f")) == other(said.format(id="m0123456789abcdef"))
    assert one.translated("/v1/members/m7fa6b3004b34e86f", other) == "/v1/members/m0123456789abcdef"
    # Who mixes them up says something else.
    assert one("p3nscwyc5v6jv3 m7fa6b3004b34e86f") != other("m0123456789abcdef p3nscwyc5v6jv3")


def test_sentences_are_left_out_and_codes_are_not() -> None:
    problem = (
        '{"type": "/docs#unknown", "status": 404, "title": "No", "detail": "There is none.", "code": "x"}'
    )
    assert plain_json(problem) == {"type": "/docs#unknown", "status": 404, "code": "x"}
    assert plain_json('{"title": "Yoga", "facts": {"sentence": "No."}}') == {"title": "Yoga", "facts": {}}


def test_what_the_reference_calls_itself_is_mapped() -> None:
    assert mapped(f"{PACKAGES['reference']} 0.1.0") == f"{PACKAGES['tree']} 0.1.0"
