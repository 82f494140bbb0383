"""What the edges of the service keep out and keep in, seen by taking each of these protections away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fairhold.keys import with_checksum
from tests.console.desk import PASSWORD
from tests.guarantees.broken import broken
from tests.http.hidden import found_in
from tests.http.server import Client, Server
from tests.http.test_log_hygiene import SECRETS
from tests.http.test_strictness import BODIES, QUANTITIES, sent
from tests.notifiers.servers import MailServer
from tests.patience import wait_until


@pytest.mark.guarantee(
    "quantities",
    "Nobody looks: none of them is told 422, and somebody has 2³¹ seats. What is less than one is kept by "
    "neither database.",
    control=True,
)
def test_control_without_a_look_at_quantities_somebody_has_them(admin: Client, place: Path) -> None:
    admin.pool("unlooked", None, "checkout")
    path, told = "/v1/pools/unlooked/bookings", {}
    with broken(place, "no quantities"):
        for number, raw in enumerate(QUANTITIES):
            body = f'{{"party": "p{number}", "quantity": {raw}}}'.encode()
            told[raw] = sent(admin, body, path).status_code
    assert 422 not in told.values()
    kept = [it["quantity"] for it in admin.ask("GET", "/v1/bookings?pool=unlooked")["items"]]
    assert max(kept) == 2**31
    assert min(kept) >= 1
    assert min(told["0"], told["-1"]) >= 500


@pytest.mark.guarantee(
    "bodies",
    "Read as the standard library reads it, a body that names two people books one of them, a deep one is an "
    "error of ours, and five megabytes are read to their end.",
    control=True,
)
def test_control_without_strictness_a_body_means_what_it_does_not_say(admin: Client, place: Path) -> None:
    admin.pool("lenient", 99, "checkout")
    path, large = "/v1/pools/lenient/bookings", json.dumps({"party": "x" * 5_000_000}).encode()
    with broken(place, "no strictness"):
        assert sent(admin, BODIES["a name twice"], path).json()["party"]["id"] == "bea"
        assert sent(admin, BODIES["deep nesting"], path).status_code == 500
        assert sent(admin, large, path).status_code != 413
    assert sent(admin, large, path).status_code == 413


@pytest.mark.guarantee(
    "enumeration.same-no",
    "A key that was revoked, a session that has ended and an invitation that was taken get the very words of "
    "made-up ones.",
)
def test_what_is_over_is_told_as_what_never_was(server: Server, admin: Client) -> None:
    key = admin.ask("POST", "/v1/keys", {"role": "read", "name": "over"}, expect=201)
    admin.ask("DELETE", f"/v1/keys/{key['id']}")
    keys = (key["secret"], with_checksum("fh_" + "A" * 43))
    assert alike(server, *({"headers": {"Authorization": f"Bearer {it}"}} for it in keys))
    member = {"email": "over@example.org", "name": "Over", "role": "read"}
    invitation = admin.ask("POST", "/v1/members", member, expect=201)["invitation"]["token"]
    path = "/v1/session/invitation"
    with server.client() as browser:
        begun = browser.ask("POST", path, {"token": invitation, "password": PASSWORD}, expect=201)
        ((name, cookie),) = browser.cookies.items()
        browser.ask("DELETE", "/v1/session", headers={"X-CSRF-Token": begun["csrf_token"]})
    # With another password, for who sends the same form twice is signed in twice.
    bodies = ({"token": it, "password": f"{PASSWORD}!"} for it in (invitation, "A" * len(invitation)))
    assert alike(server, *({"method": "POST", "url": path, "json": it} for it in bodies))
    cookies = (cookie, "A" * len(cookie))
    assert alike(server, *({"headers": {"Cookie": f"{name}={it}"}} for it in cookies))


def alike(server: Server, *requests: dict[str, Any]) -> bool:
    """Whether both are told 401 in the same words."""
    said = set()
    for request in requests:
        with server.client() as client:
            answer = client.request(**{"method": "GET", "url": "/v1/pools", **request})
        assert answer.status_code == 401, answer.text
        said.add(answer.text)
    return len(said) == 1


@pytest.mark.guarantee(
    "enumeration.ids",
    "Twenty of each, made one after the other: their ids stand in no order, and differ in every place.",
)
def test_no_id_comes_after_another(admin: Client) -> None:
    pools = [admin.pool(f"random-{n}")["id"] for n in range(20)]
    bookings = [admin.book("random-0", f"p{n}") for n in range(20)]
    keys = [admin.ask("POST", "/v1/keys", {"role": "read", "name": "n"}, expect=201)["id"] for _ in range(20)]
    for made in (
        [it[2:] for it in pools],
        [it["reference"] for it in bookings],
        [it["id"][-6:] for it in bookings],
        [it[1:] for it in keys],
    ):
        assert made not in (sorted(made), sorted(made, reverse=True))
        assert min(len(set(letters)) for letters in zip(*made, strict=True)) > 2


@pytest.mark.guarantee(
    "enumeration", "Somebody of another org is told that this booking is there.", control=True
)
def test_control_without_the_same_words_a_booking_is_told_from_none(
    admin: Client, other_org: Client, place: Path
) -> None:
    admin.pool("counted", 1)
    there, nowhere = admin.book("counted", "ann")["id"], "b" + "0" * 13 + "zzzzzz"

    def words() -> set[str]:
        return {other_org.get(f"/v1/bookings/{name}").text.replace(name, "…") for name in (there, nowhere)}

    assert len(words()) == 1
    with broken(place, "no same words"):
        assert len(words()) == 2


@pytest.mark.guarantee(
    "tokens", "A key that is kept as it is, is found in the dump of the database.", control=True
)
def test_control_without_hashes_a_key_is_in_the_database(server: Server, admin: Client, place: Path) -> None:
    def made() -> str:
        return str(admin.ask("POST", "/v1/keys", {"role": "read", "name": "kept"}, expect=201)["secret"])

    assert found_in(server, [made()]) == []
    with broken(place, "no hashes"):
        secret = made()
    assert found_in(server, [secret]) == [secret]


@pytest.mark.guarantee(
    "tokens",
    "Where requests are logged by their paths, the token of an offer is found in the log.",
    control=True,
)
def test_control_with_paths_in_the_log_a_token_is_found(server: Server, admin: Client, place: Path) -> None:
    token = "0123456789abcdef" * 3
    admin.get(f"/v1/offers/{token}")
    assert found_in(server, [token]) == []
    before = len(server.log())
    with broken(place, "logged paths"):
        admin.get(f"/v1/offers/{token}")
    logged = server.log("/v1/offers/")[before:]
    assert SECRETS.search(logged)
    assert found_in(server, [token]) == [token]


@pytest.mark.guarantee(
    "injection", "An org's own words run as a program: they tell the number of our process.", control=True
)
def test_control_without_a_sandbox_words_are_a_program(server: Server, admin: Client, place: Path) -> None:
    assert server.process is not None
    words = {"subject": "{{ cycler.__init__.__globals__.os.getpid() }}"}
    tried = ("POST", "/v1/previews/offer/en", words)
    assert admin.ask(*tried, expect=422)["field"] == "text"
    with broken(place, "no sandbox"):
        assert admin.ask(*tried)["items"][0]["subject"] == str(server.process.pid)


@pytest.mark.guarantee("injection", "A title writes a header of its own: there is a Bcc.", control=True)
def test_control_without_the_mail_types_a_title_writes_headers(
    admin: Client, mail: MailServer, place: Path, url: str
) -> None:
    pool = f"pasted-{url[:5]}"
    admin.pool(pool, 5, "checkout", title="Gala\r\nBcc: eve@example.org\r\nX-Rest: ")
    with broken(place, "no mail types"):
        party = {"id": "ann", "contacts": {"email": f"{pool}@example.org"}}
        admin.book(pool, party, confirmed=True)
        (letter,) = wait_until(lambda: mail.to(f"{pool}@example.org"))
    assert letter["Bcc"] == "eve@example.org"
