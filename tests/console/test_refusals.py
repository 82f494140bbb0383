"""What was refused is said over the form, about its field, in the language of the page: never in another."""

from __future__ import annotations

from typing import Any

import pytest

from fairhold.console import uploads
from fairhold.console.wording import environment
from fairhold.core.refusals import CODES, Refusal
from fairhold.http.problems import Problem
from fairhold.messages.languages import LANGUAGES
from tests.console.desk import Desk, Forms
from tests.console.stage import gala, yoga
from tests.http.server import Client
from tests.pages.visitor import plain

DEEP = '{"all": [{"tag": "crew"}, {"not": {"attribute": "credits", "about": 90}}]}'
# What is filled in wrongly in the form of a pool, and a word of what is then said in German.
WRONG: list[tuple[dict[str, str], str]] = [
    ({"closes_at": "2026-03-01T10:00", "opens_at": "2026-03-02T10:00"}, "Die Anmeldung muss"),
    ({"starts_at": "2026-02-30T10:00"}, "Beginn: Diesen Zeitpunkt"),
    ({"starts_at": "2026-03-29T03:30"}, "Diesen Zeitpunkt gibt es in dieser Zeitzone nicht"),
    ({"time_zone": "Mars/Olympus"}, "Diese Zeitzone gibt es nicht"),
    ({"open_size": "many"}, "Der offene Anteil ist eine ganze Zahl"),
    ({"price": "cheap"}, "Ein Preis ist eine Zahl"),
    ({"currency": "E1"}, "Ein Preis ist eine Zahl"),
    ({"quota-1-size": "x"}, "Kontingent 2: Die Plätze"),
    ({"quota-0-title": "", "quota-0-key": ""}, "Ein Pool hat mindestens ein Kontingent"),
    ({"question-1-choices": "one"}, "Frage 2: Eine Auswahl braucht"),
    ({"question-3-min": "9", "question-3-max": "1"}, "Frage 4: Mindestens und höchstens"),
    ({"p-hold_window": ""}, "Wie lange ein Platz reserviert ist"),
    ({"p-quantity_max": "0"}, "Plätze auf einmal"),
    ({"p-hold_lifetime_max": "1"}, "Längste Reservierung"),
    ({"quota-2-when": '{"tag": "crew"'}, "Zeile 1, Spalte 15"),
    ({"quota-2-when": DEEP}, "Kontingent 3, die genauere Regel: bei all[2].not"),
    ({"quota-2-when": r'{"tag": "\ud800"}'}, "Kontingent 3, die genauere Regel: bei tag"),
    ({"quota-2-when": '{"attribute": "x", "is": NaN}'}, "Kontingent 3, die genauere Regel: bei is"),
    ({"rule-0-when": "[]", "rule-0-add": "1"}, "Vorrang, Regel 1: eine Bedingung ist"),
    ({"rule-0-tag": "honours", "rule-0-add": "much"}, "Vorrang"),
]


def pool_of(admin: Client, key: str) -> str:
    return f"/console/pools/{admin.ask('GET', f'/v1/pools/{key}')['id']}"


def in_english(text: str) -> int:
    """How much of a page is marked as English; the link to the English page does not count."""
    return text.count(' lang="en"') - text.count(' lang="en" hreflang')


def test_what_is_wrong_in_the_form_of_a_pool_is_said_in_its_language(sam: Desk, admin: Client) -> None:
    there = pool_of(admin, gala(admin))
    before = admin.ask("GET", f"/v1/pools/{there.rpartition('/')[2]}")
    for fields, word in WRONG:
        form = sam.look(f"{there}/edit?lang=de")
        text = sam.press_on(form, f"{there}/edit", expect=422, act="save", **fields)
        said = plain(text[text.index('id="errors"') :][:1500])
        assert word in said.partition("Was es ist")[0], (fields, said[:300])
        assert in_english(text) == 0, fields
        # What was typed is still there.
        kept = next(it for _, action, it in Forms(text).forms if action.partition("?")[0] == f"{there}/edit")
        assert {name: kept[name] for name in fields} == fields
    assert admin.ask("GET", f"/v1/pools/{there.rpartition('/')[2]}") == before


def test_other_forms_speak_the_language_of_the_page_too(olga: Desk, admin: Client) -> None:
    there = pool_of(admin, gala(admin))
    none = {"name": "Zoe", "quota": "crew", "quantity": "1"}
    home = "/console/settings"
    wrong: list[tuple[str, str, dict[str, str], int, str]] = [
        (f"{there}/add", f"{there}/add", none, 403, "Tämä ei ole heille"),
        (
            f"{there}/add",
            f"{there}/add",
            none | {"quota": "guests", "quantity": "500"},
            422,
            "Montako paikkaa?",
        ),
        (f"{there}/csv", f"{there}/csv", {"text": "nobody\n1"}, 422, "party_id"),
        (f"{home}/members", f"{home}/members", {"name": "S", "email": "sam@example.org"}, 422, "on jo jäsen"),
        (f"{home}/webhooks", f"{home}/webhooks", {"url": "ftp://x"}, 422, "https-osoitteen"),
        (f"{home}/places", f"{home}/places/add-origin", {"origin": "x"}, 422, "vain alku"),
        (
            home,
            f"{home}/password",
            {"password": "no", "new_password": "longer than that"},
            422,
            "ei ole salasanasi",
        ),
    ]
    for page, action, fields, status, word in wrong:
        text = olga.press_on(olga.look(f"{page}?lang=fi"), action, expect=status, **fields)
        assert word in plain(text), (action, plain(text)[:600])
        # What a file's maker must know goes along as the library says it.
        assert in_english(text) == (1 if action.endswith("/csv") else 0), action
    text = olga.press_on(
        olga.look(f"{there}/csv?lang=fi"), f"{there}/csv", expect=200, text="party_id,quantity\nz1,x\n,1\n"
    )
    assert "Montako paikkaa?" in plain(text)
    assert "Jokaisella on oltava party_id" in plain(text)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("code", [code for code in CODES if code != "too_many_requests"])
def test_every_code_has_words(language: str, code: str) -> None:
    context: dict[str, Any] = {"section": "", "said": {}, "refused": None, "conditions": {}}
    words = environment(language).get_template("refusals.html").make_module(context).words  # type: ignore[attr-defined]
    refused = Refusal(code, "In English.", None, {"requested": 10, "available": 3, "units": ["12A"]})
    assert str(words(refused)).strip()
    assert "In English" not in str(words(refused))


def test_a_fine_condition_is_said_in_words_edited_and_never_lost(sam: Desk, admin: Client) -> None:
    key = yoga(admin, size=1, waiting=0)
    there = pool_of(admin, key)
    fine = {"any": [{"not": {"tag": "late"}}, {"all": [{"tag": "vip"}, {"attribute": "n", "in": [1, True]}]}]}
    rules = [{"when": fine, "add": 5}, {"when": {"tag": "honours"}, "add": 2}]
    quota = {"key": "main", "title": "", "size": 1, "eligible": fine}
    body = {"quotas": [quota], "policy": {"priority_rules": rules}}
    admin.ask("PATCH", f"/v1/pools/{key}", body)
    form = sam.look(f"{there}/edit")
    assert "In words: not (tag late) or (tag vip and n one of: 1, yes)." in plain(form)
    assert "only: not (tag late) or" in plain(sam.look(there))
    preview = sam.press_on(form, f"{there}/edit", expect=200, act="preview", title="Other yoga")
    sam.press_on(preview, f"{there}/edit", act="save")
    kept = admin.ask("GET", f"/v1/pools/{key}")
    assert (kept["title"], kept["policy"]["priority_rules"], kept["quotas"][0]["eligible"]) == (
        "Other yoga",
        rules,
        fine,
    )
    other = '{"attribute": "credits", "at_least": 90}'
    fields = {"quota-0-when": other, "rule-0-when": "", "rule-4-when": other, "rule-4-add": "-1"}
    sam.press_on(sam.look(f"{there}/edit"), f"{there}/edit", act="save", **fields)
    kept = admin.ask("GET", f"/v1/pools/{key}")
    ninety = {"attribute": "credits", "at_least": 90}
    assert kept["quotas"][0]["eligible"] == ninety
    assert kept["policy"]["priority_rules"] == [
        {"when": {"tag": "honours"}, "add": 2},
        {"when": ninety, "add": -1},
    ]


ODD_FORMS = {
    "a name of brackets": b"--x\r\nContent-Disposition: form-data; name="
    + b"(" * 5_000
    + b"\r\n\r\na\r\n--x--",
    "no name": b"--x\r\n\r\na\r\n--x--",
    "forms in forms": b"".join(
        b"--x%d\r\nContent-Type: multipart/mixed; boundary=x%d\r\n\r\n" % (n, n + 1) for n in range(1_500)
    ),
    "no parts": b"",
}


@pytest.mark.parametrize("body", ODD_FORMS.values(), ids=ODD_FORMS)
def test_a_form_that_cannot_be_read_is_refused(body: bytes) -> None:
    edge = b"x0" if body.startswith(b"--x0") else b"x"
    with pytest.raises(Problem) as refused:
        uploads.filled_in(body, b"multipart/form-data; boundary=" + edge)
    assert refused.value.code == "invalid"


def test_a_form_with_a_file_is_read() -> None:
    head = b'Content-Disposition: form-data; name="file"; filename="a.csv"'
    body = b"--x\r\n" + head + b"\r\n\r\n\xef\xbb\xbfa\r\nb\r\n--x--"
    assert uploads.filled_in(body, b"multipart/form-data; boundary=x") == {"file": "a\nb"}
