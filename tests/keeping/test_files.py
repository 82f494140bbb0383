"""Bookings as CSV: safe in a spreadsheet, the same when read back; and rows brought in, one by one."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairhold import Fairhold, Refusal, granted
from fairhold.keeping import table
from fairhold.keeping.exports import HEADS, listed
from fairhold.keeping.imports import Imported
from tests.database import dump, opened
from tests.verified import assert_verified


@pytest.fixture
async def hf(database_url: str) -> AsyncIterator[Fairhold]:
    async with opened(database_url) as hf:
        granted(await hf.create_pool("yoga", preset="class_waitlist", quotas={"main": 2}))
        yield hf
    await assert_verified(database_url)


def rows_of(text: str) -> list[dict[str, str]]:
    """As any program reads it, without taking apostrophes away."""
    return list(csv.DictReader(io.StringIO(text, newline="")))


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "＝1", "'=1", "'", "''=1"]


@pytest.mark.parametrize("text", [*FORMULAS, "plain", "", "it's", "5", "O'Hara"])
def test_no_cell_is_a_formula_and_all_are_read_back(text: str) -> None:
    safe = table.cell(text)
    assert not safe.lstrip(" ").startswith(tuple("=+-@\t\r\n＝＋－＠"))
    assert table.plain(safe) == text


TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=20)


@given(st.lists(st.lists(TEXTS, min_size=2, max_size=2)))
def test_a_table_is_read_back_as_it_was_written(rows: list[list[str]]) -> None:
    rows = [[cell.strip(" ") for cell in row] for row in rows]
    kept = [row for row in rows if any(table.cell(cell).strip() for cell in row)]
    found = [cells for _, cells in table.read(table.written(["a", "b"], rows))]
    assert found == [["a", "b"], *kept]


async def test_bookings_and_the_line_are_handed_out(hf: Fairhold) -> None:
    ann = {"id": "ann", "name": "=HYPERLINK(1)", "contacts": {"phone": "+49 30", "fax": "1"}}
    granted(await hf.book("yoga", ann | {"tags": ["a", "b;c"]}, 2))
    bea, cyd = [granted(await hf.book("yoga", who)) for who in ("bea", "cyd")]
    granted(await hf.move(cyd.id, "front"))
    everyone = rows_of(granted(await hf.export_csv("yoga")))
    assert [row["party_id"] for row in everyone] == ["ann", "bea", "cyd"]
    assert [row["position"] for row in everyone] == ["", "2", "1"]
    first = everyone[0]
    assert (first["name"], first["phone"], first["contacts"]) == ("'=HYPERLINK(1)", "'+49 30", '{"fax":"1"}')
    assert (first["state"], first["quantity"], first["tags"]) == ("held", "2", '["a","b;c"]')
    assert first["created_at"] == "2027-01-15T08:00:00Z"
    line = rows_of(granted(await hf.export_csv("yoga", "line")))
    assert [row["position"] for row in line] == ["1", "2"]
    assert [row["reference"] for row in line] == [cyd.reference, bea.reference]
    assert list(line[0]) == list(HEADS)


async def test_while_a_long_list_is_handed_out_others_are_answered(
    hf: Fairhold, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where in ("sqlite.transaction", "postgres.readers"):
        monkeypatch.setattr(f"fairhold.store.{where}._PAGE", 2)
    made = [granted(await hf.book("yoga", f"party {n}")) for n in range(12)]
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    for what, expected in (("bookings", made), ("line", made[2:])):
        turns, asking = 0, asyncio.create_task(others())
        listed = rows_of(granted(await hf.export_csv("yoga", what)))
        asking.cancel()
        assert turns >= len(expected) // 2
        assert [row["reference"] for row in listed] == [it.reference for it in expected]
        assert [row["position"] for row in listed][-10:] == [str(n) for n in range(1, 11)]


async def test_an_empty_pool_has_headings_alone(hf: Fairhold) -> None:
    assert granted(await hf.export_csv("yoga")).strip() == ",".join(HEADS)
    for wrong in ("people", "", 5, None):
        refused = await hf.export_csv("yoga", wrong)  # type: ignore[arg-type]
        assert isinstance(refused, Refusal)
        assert (refused.code, refused.field) == ("invalid", "what")


async def brought(hf: Fairhold, text: str, **options: Any) -> Imported:
    return granted(await hf.import_csv("yoga", text, **options))


async def test_rows_are_booked_in_order_and_wrong_ones_are_told_by_their_line(hf: Fairhold) -> None:
    text = (
        "party_id,name,email,quantity,tags,attributes,confirmed\n"
        'ann,Ann,ann@example.org,1,vip;early,"{""row"": 1}",yes\n'
        "\n"
        'bea,"Bea\nof two lines",,1,,,\n'
        ",Nobody,,1,,,\n"
        "cyd,Cyd,,many,,,\n"
        "dan,Dan,,1,,{,\n"
        "eve,Eve,,1,,,maybe\n"
        "fay,Fay,,1\n"
        "gus,Gus,,1,,,\n"
        "hal,Hal,,1,,,\n"
    )
    found = await brought(hf, text, by="staff:olga")
    assert [(it.row, it.party, it.state) for it in found.done] == [
        (2, "ann", "confirmed"),
        (4, "bea", "held"),
        (11, "gus", "waiting"),
        (12, "hal", "waiting"),
    ]
    assert [(it.row, it.field, it.code) for it in found.errors] == [
        (6, "party.id", "invalid"),
        (7, "quantity", "invalid"),
        (8, "attributes", "invalid"),
        (9, "confirmed", "invalid"),
        (10, "text", "invalid"),
    ]
    assert found.rows == 9
    ann = granted(await hf.bookings("yoga", party="ann"))[0]
    assert (ann.party.name, ann.party.tags, ann.party.attributes) == ("Ann", ("vip", "early"), {"row": 1})
    assert [b.party.id for b in granted(await hf.line("yoga"))] == ["gus", "hal"]


async def test_a_dry_run_tells_and_changes_nothing(hf: Fairhold, database_url: str) -> None:
    granted(await hf.book("yoga", "bea", 2))
    before = await dump(database_url)
    text = "party_id;if_full\nann;\nbea;\ncyd;refuse\n;\ndan;nonsense\n"
    found = await brought(hf, text, dry_run=True)
    assert [(it.party, it.state, it.booking) for it in found.done] == [("ann", "waiting", None)]
    codes = [(it.row, it.code) for it in found.errors]
    assert codes == [(3, "already_holding"), (4, "not_enough_room"), (6, "invalid")]
    assert found.dry_run
    assert await hf.dry_run(lambda hf: hf.import_csv("yoga", text)) == found
    assert await dump(database_url) == before


async def test_a_file_that_is_brought_in_again_with_its_key_books_nobody_twice(
    hf: Fairhold, database_url: str
) -> None:
    text = "party_id\n" + "".join(f"p{n}\n" for n in range(450))
    first = await brought(hf, text, idempotency_key="spring")
    assert len(first.done) == 450
    before = await dump(database_url)
    assert await brought(hf, text, idempotency_key="spring") == first
    assert await dump(database_url) == before
    assert [b.party.id for b in granted(await hf.line("yoga", limit=3))] == ["p2", "p3", "p4"]


async def test_another_file_under_the_same_key_is_refused_whole(hf: Fairhold, database_url: str) -> None:
    await brought(hf, "party_id\nann\n", idempotency_key="spring")
    before = await dump(database_url)
    refused = await hf.import_csv("yoga", "party_id\nann\nbea\n", idempotency_key="spring")
    assert isinstance(refused, Refusal)
    assert refused.code == "idempotency_mismatch"
    assert await dump(database_url) == before


async def test_what_is_handed_out_can_be_brought_in(hf: Fairhold) -> None:
    ann = {"id": "=ann", "name": "-Ann", "contacts": {"email": "a@b.example", "x": "y"}, "tags": ["q;r", "s"]}
    granted(await hf.book("yoga", ann | {"attributes": {"a": [1]}, "locale": "de"}))
    granted(await hf.create_pool("other", preset="class_waitlist", quotas={"main": 2}))
    text = granted(await hf.export_csv("yoga"))
    granted(await hf.import_csv("other", text))
    there = [granted(await hf.bookings(pool))[0].party for pool in ("yoga", "other")]
    assert there[0] == there[1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "needs a row of headings"),
        ("name\nAnn\n", "among them party_id"),
        ("party_id,shoe size\nann,5\n", "There is no column 'shoe_size'"),
        ("party_id,party_id\nann,ann\n", "is there twice"),
        ('party_id\n"ann\n', "The file is no CSV"),
        (5, "must be text"),
        ("party_id\n" + "x\n" * 100_001, "at most 100,000 rows"),
    ],
)
async def test_a_file_that_is_none_is_refused_whole(hf: Fairhold, text: Any, said: str) -> None:
    refused = await hf.import_csv("yoga", text)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.field) == ("invalid", "text")
    assert said in refused.sentence


def test_words_are_listed_so_that_they_can_be_told_apart() -> None:
    assert listed(("a", "b")) == "a;b"
    assert listed(("a;b", "c")) == '["a;b","c"]'
    assert listed(("[a",)) == '["[a"]'
    assert listed(()) == ""
