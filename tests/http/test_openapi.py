"""The OpenAPI document is true: a program that only knows the document finds no lie and no server error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fairhold.core.refusals import CODES
from fairhold.http.problems import STATUSES, TITLES
from tests.http.server import Client, Server
from tests.patience import PATIENCE_S


@pytest.fixture(scope="module")
def document(admin: Client) -> Any:
    return admin.ask("GET", "/openapi.json")


def test_every_example_is_accepted(admin: Client, document: Any) -> None:
    sent = 0
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            if "example" in content and "{" not in path:
                answer = admin.request(method.upper(), path, json=content["example"])
                assert answer.status_code < 300, answer.text
                sent += 1
    admin.ask("POST", "/v1/pools/yoga/bookings", example(document, "/v1/pools/{pool}/bookings"), expect=201)
    assert sent >= 3


def signed_in(admin: Client, member: Client) -> None:
    """Let somebody sign in, and say what a page of ours would say."""
    body = {"email": "pia@example.org", "name": "Pia", "role": "read"}
    token = admin.ask("POST", "/v1/members", body, expect=201)["invitation"]["token"]
    body = {"token": token, "password": "correct horse battery"}
    begun = member.ask("POST", "/v1/session/invitation", body, expect=201)
    member.headers["X-CSRF-Token"] = begun["csrf_token"]
    member.headers["Cookie"] = f"fairhold_session={member.cookies['fairhold_session']}"


def names_there(admin: Client) -> dict[str, str]:
    """Names of what is really there."""
    admin.pool("there")
    olga = admin.book("there", "olga")
    ann = admin.book("there", "ann")
    admin.act(olga["id"], "cancel")
    return {
        "pool": "there",
        "booking": ann["id"],
        "token": admin.booking(ann["id"])["offer"]["token"],
        "label": "a",
        "opening": "1",
        "key": "none",
        "member": "none",
        "message": admin.ask("GET", "/v1/pools/there/messages")["items"][0]["id"],
        "webhook": "none",
        "party": "olga",
        "contact": "none",
        "kind": "offer",
        "language": "en",
        "part": "subject",
    }


# On however slow a machine.
SLOWLY = f'request-timeout = {PATIENCE_S}\nsuppress-health-check = ["too_slow"]'


# A stream goes on for ever: what it says at first is enough.
NOT_FOR_EVER = ["[[operations]]", 'include-operation-id = "stream"', "request-timeout = 10"]

# What it says when nothing but 401 and 403 came back from an operation.
KEPT_OUT = "Authentication failed"


def schemathesis(
    server: Server, client: Client, tmp_path: Path, document: Any, names: dict[str, str], *options: str
) -> Any:
    """Run it against the service, as this client would ask."""
    config = tmp_path / "schemathesis.toml"
    lines = [f'"path.{name}" = {json.dumps(value)}' for name, value in names.items()]
    config.write_text("\n".join([SLOWLY, "[parameters]", *lines, *NOT_FOR_EVER]) + "\n")
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(document))
    command = [
        str(Path(sys.executable).parent / "schemathesis"),
        "--config-file",
        str(config),
        "run",
        str(file),
    ]
    command += ["--url", server.base]
    for header in ("Authorization", "Cookie", "X-CSRF-Token"):
        if header in client.headers:
            command += ["-H", f"{header}: {client.headers[header]}"]
    command += [
        "--checks",
        "all",
        "--exclude-checks",
        "positive_data_acceptance",
        "--seed",
        "1",
        "--no-color",
    ]
    return subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True)


def test_no_lie_in_the_document_and_no_server_error(
    server: Server, admin: Client, document: Any, tmp_path: Path
) -> None:
    names = names_there(admin)
    # Every boundary that the document speaks of on one database, and anything at all on the other.
    phases = "coverage" if server.url.startswith("sqlite") else "fuzzing"
    # A few of each: `python3 dev.py fuzz` asks for more, on both.
    options = ("--phases", phases, "--max-examples", "2")
    found = schemathesis(server, admin, tmp_path, document, names, *options, "--exclude-tag", "session")
    assert found.returncode == 0, found.stdout
    assert KEPT_OUT not in found.stdout
    # Who has a key has no session: these are asked by somebody who signed in, until they sign out.
    with server.client() as member:
        signed_in(admin, member)
        found = schemathesis(server, member, tmp_path, document, names, *options, "--include-tag", "session")
    assert found.returncode == 0, found.stdout
    assert '"level":"error"' not in server.log()
    assert admin.ask("GET", "/readyz")["status"] == "ready"


def test_a_lie_would_be_found(server: Server, admin: Client, document: Any, tmp_path: Path) -> None:
    """A negative control: a document that says that a size is a text."""
    admin.pool("there-too")
    lying = json.loads(json.dumps(document))
    lying["paths"] = {"/v1/pools": {"get": lying["paths"]["/v1/pools"]["get"]}}
    lying["components"]["schemas"]["PoolState"]["properties"]["open_size"] = {"type": "string"}
    options = ("--phases", "fuzzing", "--max-examples", "3")
    found = schemathesis(server, admin, tmp_path, lying, {}, *options)
    assert found.returncode == 1
    assert "open_size" in found.stdout


def test_who_is_kept_out_would_be_noticed(server: Server, document: Any, tmp_path: Path) -> None:
    """A negative control: a key that nobody gave out."""
    paths = {"/v1/pools": {"get": document["paths"]["/v1/pools"]["get"]}}
    with server.client("fh_nobody_gave_this_out") as stranger:
        options = ("--phases", "fuzzing", "--max-examples", "3")
        found = schemathesis(server, stranger, tmp_path, {**document, "paths": paths}, {}, *options)
    assert KEPT_OUT in found.stdout


def example(document: Any, path: str) -> Any:
    return document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["example"]


def test_every_operation_says_what_it_does_and_every_code_is_told(document: Any) -> None:
    told = json.dumps(document)
    for code in STATUSES:
        assert code in TITLES
        assert f'"{code}"' in told
    assert set(CODES) <= set(STATUSES)
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert len(operations) > 30
    assert all(operation["summary"] for operation in operations)
    posts = [path["post"] for path in document["paths"].values() if "post" in path]
    for operation in posts:
        assert "Idempotency-Key" in [parameter["name"] for parameter in operation["parameters"]]


def test_the_page_is_whole_and_asks_no_other_host(admin: Client) -> None:
    page = admin.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    for rule in ("default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"):
        assert rule in page.headers["content-security-policy"]
    for address in ("/docs/docs.js", "/docs/docs.css"):
        assert address in page.text
        assert admin.get(address).status_code == 200
    for text in (page.text, admin.get("/docs/docs.js").text, admin.get("/docs/docs.css").text):
        assert "http://" not in text
        assert "https://" not in text
