"""Odd values: those that are known to hurt, and those that Hypothesis thinks of."""

from __future__ import annotations

import copy
import json
from functools import cache
from random import Random
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

# So many values of Hypothesis' own are thrown among the known ones.
THOUGHTS = 400


class Raw(str):
    """A piece of JSON as it is to be written, although it may be none."""


TEXTS = (
    "", " ", "\t\n", "\x00", "a\x00b", "\x1b[2J", "\x7f", "\u202e", "\u200b", "\ufeff", "\ud800", "\udc00x",
    "🎉👩‍👩‍👧",
    "ﷺ", "ß", "İ", "ﬀ", "e\u0301" * 30, "x" * 501, "x" * 70_000, "é" * 35_000, "null", "true", "NaN", "-0",
    "0x10", "１２",
    "1e400", "9" * 5_000, "../../etc/passwd", "..%2f", "%00", "%ff", "%", "a/b", "a\\b", "'", '"',
    "';drop table bookings;--",
    "<script>alert(1)</script>", "{{ 7*7 }}", "{% raw %}", "${7*7}", "=1+1", "@SUM(A1)", "-", "staff:olga",
    "party",
    "default", "new", "stream", "b" * 20, "p" + "z" * 13, "b" + "0" * 19, "K7PM2X", "fh_x", "a@b",
    "a@b@c.example", "ann@例え.jp",
    "a" * 64 + "@example.org", "\"a b\"@example.org", "ann@example.org\r\nBcc: bea@example.org",
    "+358401234567", "+" * 20,
    "2026-03-07T14:00:00Z", "2026-03-29T02:30:00+02:00", "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999Z", "2026-02-30T00:00:00Z",
    "0000-00-00", "15m", "999999999d", "0s", "22:00-07:30", "24:00-25:00", "Europe/Helsinki", "Mars/X",
    "../UTC", "EUR", "eur", "XXX",
    "en", "fi", "de-AT", "zz", "en\x00", "x-" * 18, "http://127.0.0.1:9/", "http://[::1", "http://a b/",
    "ftp://x/", "https://user:pw@h/", "https://x.example:99999/",
    "http://169.254.169.254/", "//evil.example", "javascript:alert(1)", "https://" + "a." * 200 + "example",
    "https://xn--a/", "https://☃.example/",
)  # fmt: skip
NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 1.5, 1.0, -0.0, 1e-300, 1e300, 2**31 - 1, 2**31, 2**32, 2**53, 2**53 + 1, 2**63 - 1,
    2**63, -(2**63) - 1,
    2**64, 10**30, Raw("1e400"), Raw("-1e400"), Raw("NaN"), Raw("Infinity"), Raw("-Infinity"),
    Raw("9" * 5_000), Raw("01"), Raw("1."), Raw("+1"),
    Raw("0.1e-99999"), 10_000_000, 10_000_001, 1_000_001,
)  # fmt: skip
OTHERS: tuple[Any, ...] = (
    None, True, False, [], {}, [[]], {"": ""}, [None], Raw(json.dumps([0] * 300)), {"a": {"a": {"a": {}}}},
    Raw(json.dumps(["x"] * 15_000)), Raw(json.dumps({str(n): n for n in range(3_000)})),
    Raw("[" * 30 + "]" * 30), Raw("[" * 20_000 + "]" * 20_000), Raw('{"a":' * 2_000 + "1" + "}" * 2_000),
    Raw('{"a":1,"a":2}'), Raw('"\\ud800"'), Raw('"\\u0000"'),
    Raw('"\\x"'), Raw("'a'"), Raw("undefined"), Raw(""), Raw("//"), Raw('"\xff"'),
)  # fmt: skip
CONDITIONS: tuple[Any, ...] = (
    {"tag": "crew"}, {"all": []}, {"any": []}, {"not": {"tag": "x"}}, {"all": [{"tag": "a"},
    {"not": {"any": [{"tag": "b"}]}}]},
    {"attribute": "age", "at_least": 18}, {"attribute": "age", "is": None}, {"attribute": "a.b", "in": [1,
    "x", None]}, {"attribute": "age", ">=": "x"},
    {"tag": ""}, {"tag": 1}, {"not": []}, {"all": {}}, {"any": [{}]}, {"tag": "a", "not": {"tag": "b"}},
    {"all": [{"tag": "x"}] * 201},
    {"not": {"not": {"not": {"not": {"not": {"not": {"not": {"not": {"tag": "a"}}}}}}}}},
)  # fmt: skip
TEMPLATES = (
    "Hello {{ name }}, {{ pool }}: {{ link }}",
    "{% if late %}Late{% else %}{{ time_left }}{% endif %} {{ link }}", "{{ name|upper }} {{ link }}",
    "{{ name|default('x') }}", "{{ ''.__class__.__mro__ }}", "{{ name.__init__.__globals__ }}",
    "{{ self }}", "{{ range(10**9)|list }}", "{% for i in range(10**9) %}x{% endfor %}",
    "{{ 'a' * 10**10 }}", "{{ 9**9**9 }}", "{{ name|format }}", "{% include 'letter.txt' %}",
    "{% import 'x' as y %}", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{% set x = 1 %}{{ x }}", "{% call x() %}{% endcall %}", "{% filter upper %}x{% endfilter %}",
    "{% trans %}x{% endtrans %}", "{{ _('x') }}", "{{ gettext }}",
    "{{", "{%", "{#", "{{ }}", "{% if %}", "{% endif %}", "{{ name",
    "{{ " + "(" * 2_000 + "1" + ")" * 2_000 + " }}", "{{ " + "not " * 1_100 + "name }}",
    "{{ " + "-" * 4_000 + "1 }}", "{% if name %}" * 120 + "x" + "{% endif %}" * 120,
    "{% if name %}" * 200 + "{{ link }}" + "{% endif %}" * 200,
    "{{ " + "9" * 4_900 + " }}", "{{ 1e400 }}", "{{ 1e999 ~ 1 }}", "{{ '\\ud800' }} {{ link }}",
    "{{ '\\N{x}' }}", "{{ '\\x' }}", "{{ '\\u0000' }} {{ link }}", "{{ name" + "|upper" * 800 + " }}",
    "{{ 1 if 1 else " * 300 + "1" + " }}" , "{{ name" + " if name" * 500 + " }}",
    "{{ name == name == name }}", "{{ position > 'a' }}", "{{ position < name }}", "{{ name in 5 }}",
    "{{ 5 in name }}",
    "{{ position in name }}", "{{ name and " * 100, "{{ name or name " * 2,
    "{{ name|default(position, name, 1, 2) }}", "{{ name|default(x=1) }}", "{{ name|title(1) }}",
    "{{ name|trim(5) }}", "{{ name|upper() }} {{ link }}",
    "{{ name|trim('\\ud800') }}", "{{ true }} {{ none }} {{ link }}", "{{ [1] }}", "{{ {1:2} }}",
    "{{ name[0] }}", "{{ name.x }}", "{{ name is defined }}", "{{ 1 is divisibleby 0 }}", "{{ 1//0 }}",
    "{{ x:=1 }}",
    "{{ link }}" * 500, "{%- if name -%}{{- link -}}{%- endif -%}",
    "{% raw %}{{ x }}{% endraw %} {{ link }}", "{{ link|lower }}",
    "{{ name }}\n\n\n{{ link }}\r\n\x0b\x0c\u2028", "{{ \x00 }}",
)  # fmt: skip

_scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()


def _nested(inner: Any) -> Any:
    return st.lists(inner) | st.dictionaries(st.text(), inner)


_json = st.recursive(_scalars, _nested, max_leaves=8)


@cache
def thought_of(seed: int, count: int) -> list[Any]:
    """Values that Hypothesis makes of this seed: the same every time."""
    found: list[Any] = []

    @hypothesis.seed(seed)
    @settings(
        max_examples=count,
        database=None,
        phases=[Phase.generate],
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(_json)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return found


class Odd:
    """Throws the dice among all of them."""

    def __init__(self, seed: int, count: int = THOUGHTS) -> None:
        self._thought_of = thought_of(seed, count)
        self._texts = [value for value in self._thought_of if isinstance(value, str)]

    def value(self, dice: Random) -> Any:
        found = dice.choice(dice.choice((TEXTS, NUMBERS, OTHERS, CONDITIONS, self._thought_of)))
        # What is put into something else is changed there.
        return copy.deepcopy(found) if isinstance(found, dict | list) else found

    def text(self, dice: Random) -> str:
        if dice.random() < 0.1:
            return dice.choice(TEMPLATES)
        return dice.choice(TEXTS if dice.random() < 0.7 else self._texts)

    def name(self, dice: Random) -> str:
        """A text that may be wrong, and is not long."""
        return self.text(dice)[:300]


def written(value: Any) -> bytes:
    """As JSON, where pieces that are none stay as they are."""
    return _written(value).encode("utf-8", "surrogatepass")


def _written(value: Any) -> str:
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(str(name))}:{_written(it)}" for name, it in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_written, value)) + "]"
    if isinstance(value, str) and len(value) % 3 == 0:
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value)


def broken(raw: bytes, dice: Random) -> bytes:
    """The same bytes, hurt: cut, flipped, doubled, or in another encoding."""
    way = dice.randrange(8)
    at = dice.randrange(len(raw) + 1)
    if way == 0:
        return raw[:at]
    if way == 1:
        return raw[:at] + bytes([dice.randrange(256)]) + raw[at + 1 :]
    if way == 2:
        return raw[:at] + raw[at:] * 2
    if way == 3:
        return b"\xef\xbb\xbf" + raw
    if way == 4:
        return raw.decode("utf-8", "replace").encode(dice.choice(("utf-16", "utf-32", "latin-1")), "replace")
    if way == 5:
        return raw[:at] + dice.choice((b"\x00", b"\xff", b"\\", b'"', b"{", b"]", b",", b"\n")) + raw[at:]
    if way == 6:
        return raw + raw
    return raw[at:]
