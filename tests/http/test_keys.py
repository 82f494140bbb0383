"""Keys: who may come in, and what each may do."""

from __future__ import annotations

import asyncio
import itertools
import re
from typing import Any

import pytest

from fairhold.cli.main import app
from fairhold.keys import with_checksum
from tests.database import ask
from tests.http.hidden import MASTER, dump, found_in, used
from tests.http.server import Client, Server, serving

# It has the form of a key, and nobody was given it.
NOBODYS = with_checksum("fh_" + "A" * 43)
ROUTES = [
    ("POST", "/v1/pools"),
    ("GET", "/v1/pools"),
    ("GET", "/v1/pools/{pool}"),
    ("PATCH", "/v1/pools/{pool}"),
    ("GET", "/v1/pools/{pool}/line"),
    ("GET", "/v1/pools/{pool}/stats"),
    ("GET", "/v1/pools/{pool}/log"),
    ("POST", "/v1/pools/{pool}/fill"),
    ("GET", "/v1/pools/{pool}/openings"),
    ("POST", "/v1/pools/{pool}/openings/{opening}/resolve"),
    ("POST", "/v1/pools/{pool}/units"),
    ("DELETE", "/v1/pools/{pool}/units/{label}"),
    ("POST", "/v1/pools/{pool}/bookings"),
    ("GET", "/v1/bookings"),
]


def test_without_a_key_nobody_comes_in(server: Server) -> None:
    with server.client() as nobody:
        answer = nobody.get("/v1/pools")
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
        assert answer.headers["www-authenticate"] == "Bearer"
        for said in ("Bearer fh_wrong", f"Bearer {NOBODYS}", "Basic YTpi", "Bearer", "fh_x", "Bearer é"):
            answer = nobody.get("/v1/pools", headers={"Authorization": said.encode("latin-1")})  # type: ignore[dict-item]
            assert answer.status_code == 401
        assert nobody.get("/healthz").status_code == 200


def test_a_mistyped_key_is_told_so_and_refused_as_an_unknown_one(server: Server, admin: Client) -> None:
    good = admin.ask("POST", "/v1/keys", {"role": "read", "name": "typed"}, expect=201)["secret"]
    with server.client() as client:
        keys = {"good": good, "mistyped": f"{good[:9]}{'x' if good[9] != 'x' else 'y'}{good[10:]}"}
        keys |= {"cut off": good[:-1], "unknown": NOBODYS}
        shown = {name: {"Authorization": f"Bearer {key}"} for name, key in keys.items()}
        answers = {name: client.get("/v1/pools", headers=headers) for name, headers in shown.items()}
    assert answers.pop("good").status_code == 200
    problems = {name: answer.json() for name, answer in answers.items()}
    assert {(it["status"], it["code"]) for it in problems.values()} == {(401, "unauthenticated")}
    told = {name: problem["detail"].partition(":")[0] for name, problem in problems.items()}
    assert told["mistyped"] == told["cut off"] == "This is no key"
    assert told["unknown"] == "This key is not known, or it was revoked."


def test_a_public_key_lists_open_pools_signs_up_and_no_more(admin: Client, public: Client) -> None:
    admin.pool("open-house", 1)
    admin.pool("shut", 1, status="closed")
    keys = {pool["key"] for pool in public.ask("GET", "/v1/pools?limit=500")["items"]}
    assert "open-house" in keys
    assert "shut" not in keys
    # Nor one by one: it is answered as a pool that is not there.
    assert public.ask("GET", "/v1/pools/open-house")["key"] == "open-house"
    hidden = public.ask("GET", "/v1/pools/shut", expect=404)
    nowhere = public.ask("GET", "/v1/pools/nowhere", expect=404)
    assert hidden == {**nowhere, "detail": nowhere["detail"].replace("nowhere", "shut")}
    mine = public.book("open-house", "ann")
    assert public.booking(mine["edit_token"])["state"] == "held"
    for name in (mine["id"], mine["reference"]):
        assert public.ask("GET", f"/v1/bookings/{name}", expect=404)["code"] == "unknown"
        public.act(name, "cancel", expect=404)
    assert public.act(mine["edit_token"], "confirm")["state"] == "confirmed"
    for field, value in {
        "price": {"amount": 1, "currency": "EUR"},
        "confirmed": True,
        "as_staff": True,
    }.items():
        problem = public.book("open-house", "bea", expect=403, **{field: value})
        assert (problem["code"], problem["field"]) == ("forbidden", field)
    for field, said in {"tags": ["member"], "attributes": {"member": True}}.items():
        problem = public.book("open-house", {"id": "bea", field: said}, expect=403)
        assert (problem["code"], problem["field"]) == ("forbidden", f"party.{field}")
    path = f"/v1/bookings/{mine['edit_token']}/cancel?dry_run=true"
    assert public.ask("POST", path, expect=403)["field"] == "dry_run"
    waiting = public.book("open-house", "bea")
    admin.act(mine["id"], "cancel")
    assert public.booking(waiting["edit_token"])["offer"] is None
    token = admin.booking(waiting["id"])["offer"]["token"]
    claimed = public.ask("POST", f"/v1/offers/{token}/claim")
    assert (claimed["state"], claimed["edit_token"]) == ("confirmed", None)
    public.book("open-house", {"id": "cyd", "attributes": {"time_zone": "Europe/Helsinki"}})


def test_who_says_to_be_somebody_does_not_get_their_booking(admin: Client, public: Client) -> None:
    """A public key is everybody's, and says of nobody who they are."""
    admin.pool("in-line", 1)
    admin.book("in-line", "olga")
    contacts = {"email": "ann@example.org"}
    keyed = {"Idempotency-Key": "ann-joins"}
    body = {"party": {"id": "ann", "contacts": contacts}}
    path = "/v1/pools/in-line/bookings"
    ann = public.ask("POST", path, body, expect=201, headers=keyed)
    problem = public.book("in-line", "ann", expect=409)
    assert (problem["code"], problem["booking"]) == ("already_waiting", ann["id"])
    assert "ann@example.org" not in str(problem)
    assert "token" not in str(problem)
    # Who made it can ask again, and staff know whom they speak with.
    assert public.ask("POST", path, body, expect=201, headers=keyed) == ann
    assert admin.book("in-line", "ann")["id"] == ann["id"]


@pytest.mark.parametrize(
    ("method", "path", "roles"),
    [
        ("GET", "/v1/pools", {"admin", "staff", "read", "public"}),
        ("GET", "/v1/pools/any/line", {"admin", "staff", "read"}),
        ("GET", "/v1/pools/any/log", {"admin", "staff", "read"}),
        ("GET", "/v1/pools/any/history", {"admin", "staff", "read"}),
        ("GET", "/v1/pools/any/numbers", {"admin", "staff", "read"}),
        ("GET", "/v1/bookings", {"admin", "staff", "read"}),
        ("GET", "/v1/stats", {"admin", "staff", "read"}),
        ("GET", "/v1/stream", {"admin", "staff", "read"}),
        ("POST", "/v1/pools", {"admin", "staff"}),
        ("PATCH", "/v1/pools/any", {"admin", "staff"}),
        ("POST", "/v1/pools/any/units", {"admin", "staff"}),
        ("POST", "/v1/pools/any/fill", {"admin", "staff"}),
        ("POST", "/v1/bookings/any/move", {"admin", "staff"}),
        ("POST", "/v1/bookings/any/offer", {"admin", "staff"}),
        ("POST", "/v1/pools/any/bookings", {"admin", "staff", "public"}),
        ("POST", "/v1/bookings/any/cancel", {"admin", "staff", "public"}),
        ("POST", "/v1/clock", {"admin", "staff"}),
        ("GET", "/v1/keys", {"admin"}),
        ("POST", "/v1/keys", {"admin"}),
        ("DELETE", "/v1/keys/any", {"admin"}),
        ("GET", "/v1/pools/any/bookings.csv", {"admin", "staff", "read"}),
        ("GET", "/v1/pools/any/line.csv", {"admin", "staff", "read"}),
        ("POST", "/v1/pools/any/import", {"admin", "staff"}),
        ("GET", "/v1/parties/any", {"admin", "staff"}),
        ("DELETE", "/v1/parties/any", {"admin"}),
        ("GET", "/v1/webhooks", {"admin"}),
        ("POST", "/v1/webhooks", {"admin"}),
        ("GET", "/v1/webhooks/any", {"admin"}),
        ("PATCH", "/v1/webhooks/any", {"admin"}),
        ("DELETE", "/v1/webhooks/any", {"admin"}),
        ("POST", "/v1/webhooks/any/rotate", {"admin"}),
        ("POST", "/v1/webhooks/any/test", {"admin"}),
        ("GET", "/v1/webhooks/any/deliveries", {"admin"}),
        ("POST", "/v1/webhooks/any/deliveries/any/replay", {"admin"}),
        ("GET", "/v1/pools/any/messages", {"admin", "staff", "read"}),
        ("GET", "/v1/bookings/any/messages", {"admin", "staff", "read"}),
        ("GET", "/v1/messages/any", {"admin", "staff", "read"}),
        ("GET", "/v1/dead-letters", {"admin", "staff", "read"}),
        ("POST", "/v1/messages/any/replay", {"admin", "staff"}),
        ("POST", "/v1/messages/any/dismiss", {"admin", "staff"}),
        ("GET", "/v1/retention", {"admin"}),
        ("PUT", "/v1/retention", {"admin"}),
        ("GET", "/v1/templates", {"admin", "staff", "read"}),
        ("GET", "/v1/templates/offer/en/sms", {"admin", "staff", "read"}),
        ("PUT", "/v1/templates/offer/en/sms", {"admin", "staff"}),
        ("DELETE", "/v1/templates/offer/en/sms", {"admin", "staff"}),
        ("POST", "/v1/previews/offer/en", {"admin", "staff"}),
        ("GET", "/v1/staff-contacts", {"admin"}),
        ("POST", "/v1/staff-contacts", {"admin"}),
        ("DELETE", "/v1/staff-contacts/any", {"admin"}),
        ("GET", "/v1/members", {"admin"}),
        ("POST", "/v1/members", {"admin"}),
        ("GET", "/v1/members/any", {"admin"}),
        ("PATCH", "/v1/members/any", {"admin"}),
        ("DELETE", "/v1/members/any", {"admin"}),
        ("POST", "/v1/members/any/invite", {"admin"}),
        ("DELETE", "/v1/members/any/sessions", {"admin"}),
    ],
)
def test_each_role_may_do_what_it_may(
    admin: Client, staff: Client, reader: Client, public: Client, method: str, path: str, roles: set[str]
) -> None:
    clients = {"admin": admin, "staff": staff, "read": reader, "public": public}
    for role, client in clients.items():
        if path == "/v1/stream":
            with client.stream(method, path) as answer:
                status = answer.status_code
        else:
            status = client.request(method, path, json=None if method == "GET" else {}).status_code
        assert (status == 403) == (role not in roles), role


@pytest.mark.guarantee(
    "enumeration.same-no",
    "Every operation of the API with any name of another org's says the very words of what is not there.",
)
@pytest.mark.guarantee(
    "other-org.nothing",
    "Every operation in the document with names of ours and a key of theirs is `unknown`, and the log "
    "is as before.",
)
def test_another_org_finds_nothing_anywhere(admin: Client, other_org: Client, server: Server) -> None:
    """Every path of the API with names of ours and a key of theirs: unknown, and nothing changed."""
    pool = admin.pool("secret-gig")
    olga, ann = admin.book("secret-gig", "olga"), admin.book("secret-gig", "ann")
    admin.act(olga["id"], "cancel")
    token = admin.booking(ann["id"])["offer"]["token"]
    key = admin.ask("GET", "/v1/keys")["items"][0]["id"]
    member = {"email": "wei@example.org", "name": "Wei", "role": "staff"}
    member = admin.ask("POST", "/v1/members", member, expect=201)
    # It is told of nothing that happens here: a try that failed meanwhile would be an entry in the log.
    webhook = {"url": "https://receiver.example/", "kinds": ["confirmed"]}
    webhook = admin.ask("POST", "/v1/webhooks", webhook, expect=201)
    contact = {"notifier": "email", "address": "desk@example.org"}
    contact = admin.ask("POST", "/v1/staff-contacts", contact, expect=201)
    origin = admin.ask("PUT", "/v1/origins", {"origin": "https://example.org"})
    names = {
        "pool": [pool["id"], pool["key"]],
        "booking": [ann["id"], ann["reference"], ann["edit_token"]],
        "token": [token],
        "key": [key],
        "member": [member["id"]],
        "origin": [origin["id"]],
        "message": [admin.ask("GET", f"/v1/bookings/{ann['id']}/messages")["items"][0]["id"]],
        "webhook": [webhook["id"]],
        "contact": [contact["id"]],
        "party": ["ann"],
        # These are of no org: see test_messages for whose words they are said in.
        "kind": ["nonsense"],
        "language": ["en"],
        "part": ["subject"],
        "opening": ["1"],
        "label": ["a"],
    }
    bodies: dict[str, Any] = {
        "book": {"party": "eve"},
        "add_units": {"units": ["a"]},
        "resolve": {"action": "free"},
        "move_booking": {"to": "front"},
        "change_booking": {"answers": {"a": 1}},
        "set_template": {"text": "x"},
    }
    kept = admin.ask("PUT", "/v1/retention", {"people_days": 400, "messages_days": None})
    before = admin.ask("GET", "/v1/pools/secret-gig/log?limit=500")
    document = admin.ask("GET", "/openapi.json")
    asked = 0
    for path, operations in document["paths"].items():
        if not path.startswith("/v1/") or "{" not in path:
            continue
        # What is not named here is not looked for there.
        assert set(re.findall(r"\{(\w+)\}", path)) <= set(names), path
        for method, operation in operations.items():
            for spelled in spellings(path, names):
                body = bodies.get(operation["operationId"], {}) if method != "get" else None
                sent: dict[str, Any] = {"json": body}
                if operation["operationId"] == "import_csv":
                    sent = {"content": b"party_id\neve\n", "headers": {"Content-Type": "text/csv"}}
                answer = other_org.request(method.upper(), spelled, **sent)
                assert (answer.status_code, answer.json()["code"]) == (404, "unknown"), (method, spelled)
                nowhere = other_org.request(method.upper(), made_up(spelled, names), **sent)
                assert without(answer.text, names) == without(nowhere.text, names), (method, spelled)
                asked += 1
    assert asked > 40
    for path in ("/v1/pools", "/v1/bookings"):
        assert other_org.ask("GET", path)["items"] == []
    assert other_org.ask("GET", "/v1/stats")["pools"] == 0
    assert other_org.ask("GET", f"/v1/bookings?pool={pool['id']}", expect=404)
    assert other_org.ask("GET", f"/v1/bookings?cursor={ann['id']}")["items"] == []
    assert key not in [one["id"] for one in other_org.ask("GET", "/v1/keys")["items"]]
    assert other_org.ask("GET", "/v1/origins")["items"] == []
    theirs = other_org.ask("PUT", "/v1/retention", {"people_days": None, "messages_days": 1})
    assert (kept["people_days"], theirs["people_days"]) == (400, None)
    assert admin.ask("GET", "/v1/retention")["messages_days"] is None
    for path in ("/v1/members", "/v1/webhooks", "/v1/staff-contacts", "/v1/dead-letters", "/v1/templates"):
        assert other_org.ask("GET", path)["items"] == []
    assert admin.ask("GET", f"/v1/webhooks/{webhook['id']}") == webhook | {"secret": None}
    assert admin.ask("GET", "/v1/staff-contacts")["items"] == [contact]
    shown = admin.ask("GET", f"/v1/members/{member['id']}")
    assert shown == member | {"invitation": None}
    assert admin.ask("GET", "/v1/pools/secret-gig/log?limit=500") == before
    assert admin.ask("POST", f"/v1/offers/{token}/claim")["state"] == "confirmed"


def made_up(text: str, names: dict[str, list[str]]) -> str:
    """With names of what is not there, of the same form."""
    for name in itertools.chain(*names.values()):
        if len(name) > 5:
            text = text.replace(name, other(name))
    return text


def other(name: str) -> str:
    return name[:-1] + (
        "3" if name[-1] == "2" else "2" if name[-1].isdigit() else "b" if name[-1] == "a" else "a"
    )


def without(text: str, names: dict[str, list[str]]) -> str:
    """What is said, but for what somebody has said themselves."""
    for name in itertools.chain(*names.values()):
        if len(name) > 5:
            text = text.replace(name, "…").replace(other(name), "…")
    return text


def spellings(path: str, names: dict[str, list[str]]) -> list[str]:
    found = [path]
    for name, values in names.items():
        found = [one.replace(f"{{{name}}}", value) for one in found for value in values]
    return list(dict.fromkeys(found))


def test_a_revoked_key_is_turned_away_at_once_and_its_last_use_is_shown(
    server: Server, admin: Client
) -> None:
    made = admin.ask("POST", "/v1/keys", {"role": "read", "name": "short-lived"}, expect=201)
    assert made["secret"].startswith("fh_")
    with server.client(made["secret"]) as client:
        client.ask("GET", "/v1/pools")
        gone = admin.ask("DELETE", f"/v1/keys/{made['id']}")
        assert gone["revoked_at"] is not None
        assert client.ask("GET", "/v1/pools", expect=401)["code"] == "unauthenticated"
    listed = {key["id"]: key for key in admin.ask("GET", "/v1/keys?limit=500")["items"]}
    assert listed[made["id"]]["secret"] is None
    assert listed[made["id"]]["hint"] == "…" + made["secret"][-4:]


def test_making_a_key_twice_by_one_request_makes_one(admin: Client) -> None:
    asked = {"role": "read", "name": "once"}
    headers = {"Idempotency-Key": "make-once"}
    first = admin.ask("POST", "/v1/keys", asked, expect=201, headers=headers)
    assert admin.ask("POST", "/v1/keys", asked, expect=201, headers=headers) == first
    other = {"role": "admin", "name": "once"}
    assert admin.ask("POST", "/v1/keys", other, expect=422, headers=headers)["code"] == "idempotency_mismatch"


@pytest.mark.guarantee(
    "tokens.nowhere",
    "With FAIRHOLD_SECRET set, after people and staff used the service: no key, link, session, invitation or "
    "webhook secret is in any row of any table, or in any line of the log.",
)
def test_no_key_and_no_token_is_in_the_database_or_the_log(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRHOLD_SECRET", MASTER)
    with serving(database_url, "--test-clock") as server:
        hidden, ann = used(server)
        assert "kept in the database" not in server.log("claim_offer")
        assert found_in(server, [ann, "claim_offer", *hidden]) == [ann, "claim_offer"]


@pytest.mark.guarantee(
    "tokens",
    "PostgreSQL keeps the secret where no other is set: a dump of it would be noticed.",
    control=True,
)
def test_control_a_secret_that_the_database_keeps_is_in_the_dump_and_the_service_warns(
    postgres_url: str,
) -> None:
    with serving(postgres_url, "--test-clock") as server:
        hidden, _ = used(server)
        (row,) = asyncio.run(ask(server.url, "SELECT value FROM fairhold_secrets"))
        assert row[0] in dump(server.url)
        assert not any(it in dump(server.url) for it in hidden if it != MASTER), "links are made from it"
        assert server.log("set FAIRHOLD_SECRET").count("the secret for links is kept in the database") == 1


def test_nobody_is_warned_of_a_secret_beside_sqlite(sqlite_url: str) -> None:
    with serving(sqlite_url) as server:
        assert "FAIRHOLD_SECRET" not in server.log("ready to serve")


def test_the_command_line_makes_lists_and_revokes_keys(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    def fairhold(*words: str) -> str:
        capsys.readouterr()
        app([*words, "--database", server.url], standalone_mode=False)
        return capsys.readouterr().out

    last = fairhold("key", "create", "--role", "staff", "--name", "desk", "--org", "cli").splitlines()[-1]
    with server.client(last) as client:
        assert client.ask("GET", "/v1/pools")["items"] == []
        (listed,) = fairhold("key", "list", "--org", "cli").splitlines()[1:]
        assert "desk" in listed
        fairhold("key", "revoke", listed.split()[0], "--org", "cli")
        assert "revoked" in fairhold("key", "list", "--org", "cli")
