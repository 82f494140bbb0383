"""Messages over HTTP: webhooks made, tested and told again; dead letters; own words; contacts of staff."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from fairhold import Fairhold, granted
from fairhold.http.webhooks import Kind
from fairhold.messages.wording import KINDS
from fairhold.webhook_commands import WEBHOOKS_MAX
from tests.database import ask
from tests.http.server import Client, Server, make_key, serving
from tests.notifiers.servers import MailServer, Receiver, mail_server, receiver
from tests.patience import wait_until

OFFER = "/v1/templates/offer/en/subject"


@pytest.fixture(scope="module")
def mail() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


@pytest.fixture(scope="module")
def server(module_url: str, mail: MailServer) -> Iterator[Server]:
    """The service with a mail server, and webhooks that may go to this machine."""
    environment = {
        "FAIRHOLD_SMTP_URL": mail.url,
        "FAIRHOLD_MAIL_FROM": "Seats <seats@example.org>",
        "FAIRHOLD_WEBHOOKS_TO_PRIVATE": "yes",
    }
    with serving(module_url, "--test-clock", **environment) as running:
        yield running


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.fixture
def webhook(admin: Client, hook: Receiver) -> Iterator[Any]:
    made = admin.ask("POST", "/v1/webhooks", {"url": hook.url}, expect=201)
    yield made
    admin.delete(f"/v1/webhooks/{made['id']}")


def keyed(key: str) -> dict[str, Any]:
    return {"headers": {"Idempotency-Key": key}}


def told(admin: Client, pool: str, name: str, **more: Any) -> Any:
    """A booking that is told at once."""
    admin.pool(pool, 5, "checkout")
    party = {"id": name, "name": name.title(), "contacts": {"email": f"{name}@example.org"}}
    made = admin.book(pool, party, confirmed=True, **more)
    tried(admin, made["id"])
    return made


def tried(admin: Client, booking: str, tries: int = 1) -> Any:
    """The one message about a booking, once it was tried so often everywhere."""
    (message,) = admin.ask("GET", f"/v1/bookings/{booking}/messages")["items"]

    def shown() -> Any:
        shown = admin.ask("GET", f"/v1/messages/{message['id']}")
        enough = shown["deliveries"] and max(it["attempts"] for it in shown["deliveries"]) >= tries
        done = shown["attempts"] and all(it["state"] != "pending" for it in shown["deliveries"])
        return shown if enough and (done or shown["error"]) else None

    return wait_until(shown)


def test_a_secret_is_shown_once(admin: Client, server: Server, hook: Receiver) -> None:
    body = {"url": hook.url, "payload": "thin", "kinds": ["offer"]}
    made = admin.ask("POST", "/v1/webhooks", body, expect=201, **keyed("w1"))
    assert admin.ask("POST", "/v1/webhooks", body, expect=201, **keyed("w1")) == made
    assert made["secret"].startswith("whsec_")
    other = admin.ask("POST", "/v1/webhooks", body | {"payload": "full"}, expect=422, **keyed("w1"))
    assert other["code"] == "idempotency_mismatch"
    path = f"/v1/webhooks/{made['id']}"
    hidden = made | {"secret": None}
    assert admin.ask("GET", path) == hidden
    assert hidden in admin.ask("GET", "/v1/webhooks")["items"]
    assert admin.ask("PATCH", path, {"kinds": []}) == hidden | {"kinds": []}
    turned = admin.ask("POST", f"{path}/rotate", **keyed("r1"))
    assert turned["secret"] not in (None, made["secret"])
    assert admin.ask("POST", f"{path}/rotate", **keyed("r1")) == turned
    dumped = str(asyncio.run(ask(server.url, "SELECT * FROM fairhold_webhooks")))
    dumped += str(asyncio.run(ask(server.url, "SELECT * FROM fairhold_requests")))
    assert made["id"] in dumped
    assert made["secret"] not in dumped
    assert admin.ask("DELETE", path, **keyed("d1")) == {"id": made["id"]}
    assert admin.ask("DELETE", path, **keyed("d1")) == {"id": made["id"]}
    assert admin.ask("DELETE", path, expect=404)["code"] == "unknown"


@pytest.mark.guarantee(
    "inner-address",
    "Where inner addresses are allowed, the receiver on loopback does hear from us.",
    control=True,
)
def test_a_test_is_signed_and_says_how_it_went(admin: Client, webhook: Any, hook: Receiver) -> None:
    path = f"/v1/webhooks/{webhook['id']}/test"
    went = admin.ask("POST", path, **keyed("t1"))
    assert (went["state"], went["error"]) == ("sent", "")
    (got,) = hook.received
    said = Webhook(webhook["secret"]).verify(got.body, got.headers)
    assert (said["type"], said["data"]) == ("test", {"webhook": webhook["id"]})
    assert said["timestamp"].endswith("Z"), "as in every other message"
    assert got.headers["webhook-id"] == went["id"]
    assert admin.ask("POST", path, **keyed("t1")) == went
    assert len(hook.received) == 1
    secret = admin.ask("POST", f"/v1/webhooks/{webhook['id']}/rotate")["secret"]
    hook.status = 500
    failed = admin.ask("POST", path, **keyed("t2"))
    assert (failed["state"], failed["error"]) == ("failed", "answered 500")
    assert admin.ask("POST", path, **keyed("t2")) == failed
    Webhook(secret).verify(hook.received[-1].body, hook.received[-1].headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(webhook["secret"]).verify(hook.received[-1].body, hook.received[-1].headers)


INNER = ("127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1", "169.254.169.254", "[::ffff:10.0.0.1]")


@pytest.mark.guarantee(
    "inner-address.refused",
    "Loopback in five spellings, link-local and private: neither taken nor, put there behind our back,"
    " gone to.",
)
def test_a_webhook_to_an_inner_address_is_neither_made_nor_told(
    sqlite_url: str, hook: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in any spelling, nor if it leads inside only later: nothing arrives."""
    port = hook.url.rpartition(":")[2]
    with serving(sqlite_url) as running, running.client(make_key(sqlite_url)) as admin:
        fine = admin.ask("POST", "/v1/webhooks", {"url": "https://receiver.invalid/"}, expect=201)
        path = f"/v1/webhooks/{fine['id']}"
        for url in (hook.url, *(f"https://{host}:{port}/" for host in INNER)):
            assert admin.ask("POST", "/v1/webhooks", {"url": url}, expect=422)["field"] == "url"
            assert admin.ask("PATCH", path, {"url": url}, expect=422)["field"] == "url"
        assert [it["url"] for it in admin.ask("GET", "/v1/webhooks")["items"]] == [fine["url"]]
        assert admin.ask("PATCH", path, {"payload": "thin"})["payload"] == "thin"
        monkeypatch.setenv("FAIRHOLD_WEBHOOKS_TO_PRIVATE", "yes")
        with Fairhold.open_sync(sqlite_url, ticker=False) as hf:
            inner = [granted(hf.add_webhook(f"https://{host}:{port}/")).id for host in INNER]
        for name in inner:
            went = admin.ask("POST", f"/v1/webhooks/{name}/test")
            assert (went["state"], went["error"]) == ("failed", "the address is not a public one")
    assert hook.received == []


def test_staff_are_told_by_apprise_only_where_it_goes_to_a_service_of_its_own(admin: Client) -> None:
    def add(address: str, expect: int) -> Any:
        body = {"notifier": "apprise", "address": address}
        return admin.ask("POST", "/v1/staff-contacts", body, expect=expect)

    for address in (
        "json://127.0.0.1:8000",
        "JSONS://example.org",
        "mailto://x:y@10.0.0.1",
        "//",
        "https://x",
    ):
        assert add(address, 422)["field"] == "address"
    made = add("slack://TokenA/TokenB/TokenC", 201)
    assert made["address"] == "slack://TokenA/TokenB/TokenC"
    admin.ask("DELETE", f"/v1/staff-contacts/{made['id']}")


def test_what_was_sent_is_listed_and_sent_again_to_nobody_else(
    admin: Client, webhook: Any, hook: Receiver, mail: MailServer
) -> None:
    path = f"/v1/webhooks/{webhook['id']}/deliveries"
    for number in range(3):
        told(admin, f"listed-{number}-{webhook['id'][-4:]}", "ann")
        admin.advance(1)
    letters = len(mail.letters)
    (latest, *_) = listed = admin.ask("GET", path)["items"]
    assert [it["state"] for it in listed] == ["sent"] * 3
    assert [it["at"] for it in listed] == sorted((it["at"] for it in listed), reverse=True)
    first = admin.ask("GET", f"{path}?limit=2")
    rest = admin.ask("GET", path, params={"limit": 2, "cursor": first["next"]})
    assert first["items"] + rest["items"] == listed
    assert rest["next"] is None
    assert admin.ask("GET", f"{path}?cursor=nonsense", expect=422)["field"] == "cursor"
    before = [got.headers["webhook-id"] for got in hook.received]
    assert before.count(latest["message"]) == 1
    again = admin.ask("POST", f"{path}/{latest['message']}/replay", **keyed(latest["message"]))
    assert again["id"] == latest["message"]
    assert admin.ask("POST", f"{path}/{latest['message']}/replay", **keyed(latest["message"]))
    shown = tried(admin, latest["booking"], 2)
    after = [got.headers["webhook-id"] for got in hook.received]
    assert after == [*before, latest["message"]]
    assert len(mail.letters) == letters
    assert {it["target"]: it["attempts"] for it in shown["deliveries"]} == {
        "email": 1,
        f"webhook:{webhook['id']}": 2,
    }
    assert shown["state"] == "sent"
    assert admin.ask("POST", f"{path}/p0000000000000-1-0/replay", expect=404)["field"] == "message"


def test_what_is_still_being_sent_is_not_sent_again(admin: Client, webhook: Any, hook: Receiver) -> None:
    hook.status = 500
    made = told(admin, f"pending-{webhook['id'][-4:]}", "ann")
    (message,) = admin.ask("GET", f"/v1/bookings/{made['id']}/messages")["items"]
    assert message["state"] == "pending"
    path = f"/v1/webhooks/{webhook['id']}/deliveries/{message['id']}/replay"
    assert admin.ask("POST", path, expect=409)["code"] == "not_possible"


def test_messages_are_listed_by_pool_and_by_booking(admin: Client, reader: Client) -> None:
    ann = told(admin, "told", "ann")
    bea = admin.book("told", {"id": "bea", "contacts": {"email": "bea@example.org"}}, confirmed=True)
    tried(admin, bea["id"])
    listed = reader.ask("GET", "/v1/pools/told/messages")["items"]
    assert [(it["kind"], it["booking"]) for it in listed] == [
        ("confirmed", ann["id"]),
        ("confirmed", bea["id"]),
    ]
    first = reader.ask("GET", "/v1/pools/told/messages?limit=1")
    assert first["items"] == listed[:1]
    path = "/v1/pools/told/messages"
    assert reader.ask("GET", path, params={"cursor": first["next"]})["items"] == listed[1:]
    assert reader.ask("GET", f"/v1/bookings/{bea['reference']}/messages")["items"] == listed[1:]
    shown = reader.ask("GET", f"/v1/messages/{listed[0]['id']}")
    assert [(it["target"], it["state"]) for it in shown["deliveries"]] == [("email", "sent")]
    assert "ann@example.org" not in str(shown)
    for wrong in (
        "nonsense",
        "p" + "9" * 13 + "-1-0",
        listed[0]["id"] + "0" * 30,
        f"{listed[0]['id'][:15]}١-0",
    ):
        assert reader.get(f"/v1/messages/{wrong}").status_code == 404
        assert reader.get(path, params={"cursor": f"{wrong}-"}).status_code == 422


@pytest.mark.guarantee(
    "post.failing",
    "Given up, a letter is listed; put away or sent again by hand, it arrives once.",
)
def test_a_dead_letter_is_listed_and_replayed(admin: Client, reader: Client, mail: MailServer) -> None:
    before = len(mail.to("dot@example.org"))
    mail.answers["dot@example.org"] = "550 5.1.1 no such mailbox"
    made = told(admin, "dead", "dot")
    (dead,) = reader.ask("GET", "/v1/dead-letters")["items"]
    assert (dead["booking"], dead["state"]) == (made["id"], "dead")
    path = f"/v1/messages/{dead['id']}/replay"
    assert reader.ask("POST", path, expect=403)
    mail.answers.clear()
    # Put away, it needs nobody any more; it stays what it is, with who did it, and can still be replayed.
    away = f"/v1/messages/{dead['id']}/dismiss"
    assert reader.ask("POST", away, expect=403)
    gone = admin.ask("POST", away, **keyed("dismiss"))
    assert (gone["state"], gone["dismissed"]["by"]) == ("dead", "staff:ops")
    assert gone["deliveries"][0]["error"].startswith("550")
    assert admin.ask("POST", away, **keyed("dismiss")) == admin.ask("POST", away) == gone
    assert reader.ask("GET", "/v1/dead-letters")["items"] == []
    assert dead in reader.ask("GET", "/v1/pools/dead/messages")["items"]
    again = admin.ask("POST", path, **keyed("replay"))
    assert (again["id"], again["dismissed"]) == (dead["id"], None)
    assert tried(admin, made["id"], 2)["state"] == "sent"
    assert len(mail.to("dot@example.org")) == before + 1
    assert admin.ask("POST", path, **keyed("replay"))["state"] == "sent"
    assert len(mail.to("dot@example.org")) == before + 1
    assert admin.ask("POST", path, expect=409)["code"] == "not_possible"
    assert admin.ask("POST", away, expect=409)["code"] == "not_possible"
    assert reader.ask("GET", "/v1/dead-letters")["items"] == []


@pytest.mark.guarantee(
    "injection.template",
    "Attributes, loops and unknown names in an org's own words are 422, tried or kept.",
)
def test_own_words_are_tried_set_read_and_dropped(admin: Client, staff: Client, reader: Client) -> None:
    own = {"text": "Quick, {{ name }}: {{ pool }}"}
    tried = staff.ask("POST", "/v1/previews/offer/en", {"subject": own["text"]})["items"]
    assert tried[0]["subject"].startswith("Quick, Ann")
    assert reader.ask("GET", OFFER, expect=404)["code"] == "unknown"
    made = staff.ask("PUT", OFFER, own)
    assert (made["text"], made["by"]) == (own["text"], "staff:a staff")
    assert reader.ask("GET", OFFER) == made
    assert made in reader.ask("GET", "/v1/templates")["items"]
    shown = staff.ask("POST", "/v1/previews/offer/en")["items"]
    assert shown[0]["subject"] == tried[0]["subject"]
    assert staff.ask("DELETE", OFFER) == {"id": "offer/en/subject"}
    assert staff.ask("DELETE", OFFER, expect=404)["code"] == "unknown"
    for wrong in ("{{ nmae }}", "{% for a in name %}x{% endfor %}", "{{ name", "{{ name.__class__ }}"):
        problem = staff.ask("PUT", OFFER, {"text": wrong}, expect=422)
        assert problem["code"] == "invalid"
        assert staff.ask("POST", "/v1/previews/offer/en", {"subject": wrong}, expect=422)
    for path in ("song/en/subject", "offer/xx/subject", "offer/en/song"):
        assert staff.ask("PUT", f"/v1/templates/{path}", own, expect=404)["code"] == "unknown"
    for body in ({}, {"text": ""}, {"text": 5}, {"text": "x" * 5_001}, {"text": "x", "by": "me"}):
        assert staff.ask("PUT", OFFER, body, expect=422)["code"] == "invalid"


def test_contacts_of_staff(admin: Client) -> None:
    body = {"notifier": "email", "address": "desk@example.org", "locale": "fi"}
    made = admin.ask("POST", "/v1/staff-contacts", body, expect=201, **keyed("c"))
    assert admin.ask("POST", "/v1/staff-contacts", body, expect=201, **keyed("c")) == made
    assert admin.ask("GET", "/v1/staff-contacts")["items"] == [made]
    assert admin.ask("DELETE", f"/v1/staff-contacts/{made['id']}") == {"id": made["id"]}
    assert admin.ask("DELETE", f"/v1/staff-contacts/{made['id']}", expect=404)
    wrongs: list[dict[str, Any]] = [
        {"notifier": "pigeon"},
        {"address": ""},
        {"address": "a\x00b"},
        {"locale": 5},
    ]
    wrongs += [{"address": "notmail"}, {"address": "two@a.example, b@a.example"}, {"locale": "zz"}]
    wrongs += [{"address": "y", "notifier": "sms"}, {"address": "desk@example.org", "notifier": "sms"}]
    for wrong in wrongs:
        assert admin.ask("POST", "/v1/staff-contacts", body | wrong, expect=422)["field"] == next(iter(wrong))
    assert admin.ask("GET", "/v1/staff-contacts")["items"] == []
    fine = {"notifier": "sms", "address": "+358 40 123 4567", "locale": "de-AT"}
    made = admin.ask("POST", "/v1/staff-contacts", fine, expect=201)
    admin.ask("DELETE", f"/v1/staff-contacts/{made['id']}")


WRONG: list[tuple[Any, str | None]] = [
    ({}, "url"),
    ({"url": ""}, "url"),
    ({"url": 5}, "url"),
    ({"url": "ftp://example.org"}, "url"),
    ({"url": "https://user:word@example.org"}, "url"),
    ({"url": "https://[broken"}, "url"),
    ({"url": "https://example.org/\ud800"}, None),
    ({"url": "https://example.org/a\x00b"}, "url"),
    ({"url": "https://" + "x" * 2_000}, "url"),
    ({"url": "https://example.org", "payload": "fat"}, "payload"),
    ({"url": "https://example.org", "kinds": "offer"}, "kinds"),
    ({"url": "https://example.org", "kinds": ["song"]}, "kinds[0]"),
    ({"url": "https://example.org", "secret": "mine"}, "secret"),
]


@pytest.mark.parametrize(("body", "field"), WRONG, ids=lambda it: repr(it)[:40])
def test_what_is_no_webhook_is_refused_and_makes_none(admin: Client, body: Any, field: str | None) -> None:
    before = admin.ask("GET", "/v1/webhooks")
    raw = json.dumps(body)
    answer = admin.post("/v1/webhooks", content=raw, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid"), answer.text
    assert answer.json().get("field", "").replace("[...]", "[0]") == (field or "")
    assert admin.ask("GET", "/v1/webhooks") == before


def test_an_org_has_only_so_many_webhooks(server: Server) -> None:
    with server.client(make_key(server.url, org="many")) as admin:
        body = {"url": "https://receiver.example/"}
        for _ in range(WEBHOOKS_MAX):
            admin.ask("POST", "/v1/webhooks", body, expect=201)
        assert admin.ask("POST", "/v1/webhooks", body, expect=409)["code"] == "not_possible"


def test_another_org_neither_sees_nor_changes_what_is_told(admin: Client, other_org: Client) -> None:
    """Beyond the walk over all paths: kinds of messages are everybody's, the words for them are not."""
    admin.ask("PUT", OFFER, {"text": "Ours"})
    assert other_org.ask("GET", OFFER, expect=404)
    assert other_org.ask("GET", "/v1/templates")["items"] == []
    assert other_org.ask("DELETE", OFFER, expect=404)
    other_org.ask("PUT", OFFER, {"text": "Theirs"})
    assert admin.ask("GET", OFFER)["text"] == "Ours"
    assert other_org.ask("POST", "/v1/previews/offer/en")["items"][0]["subject"] == "Theirs"
    for path in ("/v1/webhooks", "/v1/staff-contacts", "/v1/dead-letters"):
        assert other_org.ask("GET", path)["items"] == []
    admin.ask("DELETE", OFFER)


def test_the_kinds_in_the_document_are_all_there_are() -> None:
    assert get_args(Kind) == tuple(KINDS)
