"""Files and templates as nobody would write them: brought in or refused by a sentence, and never run."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairhold.http.problems import STATUSES
from tests.http.server import Client

HEADS = ("name", "email", "contacts", "tags", "attributes", "locale", "quota", "quantity", "if_full", "units")
FORMULAS = (
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "＝1",
    '=HYPERLINK("http://x.example","x")',
    "=cmd|'/C calc'!A0",
)
ODD = (
    "",
    "\x00",
    "a\x00b",
    "'",
    '"',
    '""',
    "x" * 140_000,
    "\u202e",
    "\ufeff",
    "1e400",
    "{",
    "[" * 3_000,
    '{"a":1}',
)
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1", "utf-7", "cp037")
CELLS = st.sampled_from(FORMULAS + ODD) | st.text(max_size=20)


@pytest.fixture(scope="module")
def pool(admin: Client) -> str:
    return f"/v1/pools/{admin.pool('any', 9_999)['key']}"


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """A table with headings of ours and anything below them; now and then it is hurt."""
    heads = ["party_id", *draw(st.lists(st.sampled_from(HEADS), unique=True, max_size=4))]
    if hurt := draw(st.integers(0, 3)) == 0:
        heads.append(draw(st.sampled_from(("name", "")) | st.text(max_size=5)))
    slip = draw(st.sampled_from((0, 0, 0, 1))) if hurt else 0
    rows = draw(st.lists(st.lists(CELLS, min_size=len(heads) - slip, max_size=len(heads)), max_size=4))
    out = io.StringIO(newline="")
    between, end = draw(st.sampled_from(",;\t" if hurt else ",;")), draw(st.sampled_from(("\n", "\r\n")))
    csv.writer(out, delimiter=between, lineterminator=end, quoting=csv.QUOTE_ALL).writerows([heads, *rows])
    raw = out.getvalue().encode(draw(st.sampled_from(ENCODINGS)) if hurt else "utf-8", "replace")
    cut = draw(st.none() | st.integers(0, len(raw))) if hurt else None
    return raw if cut is None else raw[:cut] + draw(st.binary(max_size=3))


def told(answer: Any, *codes: str) -> Any:
    """A yes, or a no with one of these codes; nothing else."""
    assert answer.status_code < 500, answer.text
    said = answer.json()
    if answer.status_code >= 400:
        assert said["code"] in codes
        assert STATUSES[said["code"]] == answer.status_code
        assert said["detail"]
    return said


@given(tables() | st.binary(max_size=200))
@example(b"party_id,name\nann,=1+1\n")
@settings(max_examples=120)
def test_any_file_is_brought_in_or_refused(admin: Client, pool: str, raw: bytes) -> None:
    kind = {"Content-Type": "text/csv"}
    said = told(admin.post(f"{pool}/import", content=raw, headers=kind), "invalid", "too_large")
    if "rows" in said:
        assert len(said["done"]) + len(said["errors"]) == said["rows"]
        assert all(it["sentence"] and it["code"] in STATUSES for it in said["errors"])
    handed_out = admin.get(f"{pool}/bookings.csv").content.decode()
    for row in csv.reader(io.StringIO(handed_out, newline="")):
        assert not [cell for cell in row if cell.lstrip(" ").startswith(tuple("=+-@\t\r\n＝＋－＠"))]


NAMES = ("name", "pool", "link", "time_left", "late", "position", "nobody")
EXPRESSIONS = (
    "1234567 * 7654321", "''.__class__.__mro__", "name.__init__.__globals__", "self", "range(9)", "cycler",
    "lipsum()", "name|attr('__class__')", "name|upper", "name|default('x')", "name|map('upper')", "[name]",
    "name if late else pool", "not name", "name == pool", "9 ** 9 ** 9", "'a' * 9999999999", "namespace()",
    "link.format(name)", "'%s' % name", "get_flashed_messages.__globals__", "'\\ud800'", "'\\u0000'",
)  # fmt: skip
STATEMENTS = ("if", "else", "endif", "for x in name", "endfor", "set x = 1", "include 'letter.txt'", "raw",
"endraw", "import 'os' as os", "macro m()", "call x()", "block a", "extends 'x'", "trans",
"do x", "if late")  # fmt: skip
PIECES = st.one_of(
    st.text(max_size=10),
    st.sampled_from(
        ("{{", "}}", "{%", "%}", "{#", "#}", "${7*7}", "<%= 7*7 %>", "{{ link }}", "\x00", "x" * 5_001)
    ),
    st.sampled_from(NAMES + EXPRESSIONS).map("{{{{ {} }}}}".format),
    st.sampled_from(STATEMENTS).map("{{% {} %}}".format),
)
# The product, and what Python says of things that are not words.
EVALUATED = (
    "9449772114007",
    "<class",
    "<function",
    "<built-in",
    "<bound method",
    "object at 0x",
    "<module",
    "387420489",
)


@given(st.lists(PIECES, min_size=1, max_size=6).map("".join), st.sampled_from(("subject", "body", "sms")))
@example("{{ 1234567 * 7654321 }} {{ link }}", "body")
@settings(max_examples=120)
def test_any_template_says_words_or_is_refused(admin: Client, text: str, part: str) -> None:
    raw = text.encode("utf-8", "replace").decode()
    kept = told(admin.put(f"/v1/templates/offer/en/{part}", json={"text": raw}), "invalid")
    shown = told(admin.post("/v1/previews/offer/en", json={part: raw}), "invalid")
    # What is kept can be shown, and what is refused cannot be tried out either.
    assert ("code" in kept) == ("code" in shown)
    if "items" in shown:
        said = "".join(it["subject"] + it["text"] + it["sms"] for it in shown["items"])
        assert not [word for word in EVALUATED if word in said and word not in raw]
