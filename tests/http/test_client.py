"""The client: typed answers, refusals as values, and retries that are the same request."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from fairhold import Refusal, client, granted
from fairhold.changes import BookingChange
from fairhold.client import AsyncClient, Client, ClientError, Forbidden, NotReached
from testbed.ports import free_port
from tests.http.server import Client as Admin
from tests.http.server import Server
from tests.patience import PATIENCE_S, until


def key_of(admin: Admin) -> str:
    return str(admin.headers["authorization"].removeprefix("Bearer "))


def test_a_program_without_an_event_loop(server: Server, admin: Admin) -> None:
    with Client(server.base, key_of(admin)) as hf:
        pool = granted(hf.create_pool("plain", preset="class_waitlist", quotas={"main": 1}))
        assert pool.quotas[0].room == 1
        ann = granted(hf.book("plain", {"id": "ann", "name": "Ann"}))
        assert (ann.state, ann.party.name, ann.seconds_left) == ("held", "Ann", 900)
        assert ann.expires_at is not None
        assert ann.expires_at.tzinfo is not None
        refused = hf.book("plain", "ann")
        assert isinstance(refused, Refusal)
        assert (refused.code, refused.facts["booking"]) == ("already_holding", ann.id)
        bea = granted(hf.book("plain", "bea"))
        assert [b.id for b in granted(hf.line("plain")).items] == [bea.id]
        granted(hf.cancel(ann.id, why="ill"))
        offer = granted(hf.booking(bea.id)).offer
        assert offer is not None
        assert granted(hf.offer_of(offer.token)).outcome == "live"
        assert granted(hf.claim(offer.token)).state == "confirmed"
        assert granted(hf.explain(bea.reference)).items[0].code == "joined"
        assert granted(hf.stats("plain")).waiting == 0
        assert granted(hf.log("plain", limit=2)).next is not None
        granted(hf.change_booking(bea.id, answers={"diet": "none"}))
        assert granted(hf.booking(bea.id)).answers == {"diet": "none"}
        assert granted(hf.change_booking(bea.id, told_by_staff=True)).reach == "staff"
        assert granted(hf.change_booking(bea.id, told_by_staff=False)).reach == ""
        assert isinstance(hf.pool("nowhere"), Refusal)
        made = granted(hf.create_key("read", "a reader"))
        assert made.secret is not None
        with Client(server.base, made.secret) as reader:
            assert granted(reader.pool("plain")).key == "plain"
            with pytest.raises(Forbidden):
                reader.book("plain", "eve")
        granted(hf.revoke_key(made.id))


def test_both_clients_have_the_same_methods() -> None:
    public = {name for name in dir(AsyncClient) if not name.startswith("_")}
    assert public <= {name for name in dir(Client) if not name.startswith("_")}
    assert len(public) > 25


def test_every_operation_has_a_method(admin: Admin) -> None:
    """Each is asked for by some method: its path stands in the client, and its verb beside it."""
    sources = Path(client.__file__).parent.glob("*.py")
    text = "".join(f"{path.read_text()}\n\n" for path in sources)
    asked = {
        (found["verb"], re.sub(r"\{[^}]*\}", "{}", found["path"]))
        for found in re.finditer(r'"(?P<verb>GET|POST|PUT|PATCH|DELETE)",\s*f?"(?P<path>/v1/[^"?]*)"', text)
    }
    named = re.finditer(r'path = f?"(?P<path>/v1/[^"?]*)"(?P<rest>.*?)\n\n', text, re.DOTALL)
    for found in named:
        verbs = re.findall(r'"(GET|POST|PUT|PATCH|DELETE)", path', found["rest"])
        asked |= {(verb, re.sub(r"\{[^}]*\}", "{}", found["path"])) for verb in verbs}
    asked |= {("POST", f"/v1/bookings/{{}}/{act}") for act in re.findall(r'_act\(booking, "([\w-]+)"', text)}
    asked |= {("POST", f"/v1/{noun}/{{}}/decline") for noun in ("offers", "bookings")} | {
        ("GET", "/v1/stream")
    }
    there = {
        (verb.upper(), re.sub(r"\{\w+\}", "{}", path))
        for path, verbs in admin.ask("GET", "/openapi.json")["paths"].items()
        if path.startswith("/v1/")
        for verb in verbs
    }
    assert there - asked == set()


def test_a_program_keeps_and_tells(server: Server, admin: Admin) -> None:
    """Everything about messages and files that the client has, once."""
    with Client(server.base, key_of(admin)) as hf:
        granted(hf.create_pool("kept", preset="class_waitlist", quotas={"main": 1}))
        assert granted(hf.import_csv("kept", "party_id\nann\n", dry_run=True)).dry_run
        came = granted(hf.import_csv("kept", "party_id,name\nann,Ann\ndora,Dora\n,none\n"))
        assert [row.state for row in came.done] == ["held", "waiting"]
        assert [row.row for row in came.errors] == [4]
        assert granted(hf.export_bookings("kept")).count("\r\n") == 3
        assert "dora" in granted(hf.export_line("kept"))
        assert granted(hf.org_stats()).pools >= 1
        newest = granted(hf.history("kept", topic="signups", limit=1))
        assert (newest.items[0].event, newest.next) == ("Joined", str(newest.items[0].seq))
        assert granted(hf.history("kept", cursor=str(newest.next))).items[0].event == "Held"
        assert granted(hf.numbers("kept", days=1)).points[-1].waiting == 1
        assert granted(hf.set_retention(people_days=30, messages_days=None)).by == "staff:ops"
        assert granted(hf.retention()).people_days == 30
        (told,) = granted(hf.messages("kept")).items
        assert told.booking == came.done[1].booking
        assert granted(hf.messages_about(told.booking)).items[0].id == told.id
        assert granted(hf.message(told.id)).kind == "joined"
        # She has given no address: her letter was not sent, and can be tried again, or put away.
        granted(hf.advance(seconds=1))
        assert granted(hf.message(told.id)).state == "not_sent"
        assert granted(hf.replay(told.id)).id == told.id
        granted(hf.advance(seconds=1))
        assert granted(hf.dismiss(told.id)).dismissed is not None
        assert isinstance(hf.replay("nonsense"), Refusal)
        assert isinstance(hf.dismiss("nonsense"), Refusal)
        assert granted(hf.dead_letters()).items == []
        webhook = granted(hf.add_webhook("https://receiver.invalid/", kinds=["offer"]))
        assert granted(hf.webhook(webhook.id)).secret is None
        assert granted(hf.change_webhook(webhook.id, payload="thin", kinds=[])).kinds == ()
        assert granted(hf.rotate_webhook(webhook.id)).secret != webhook.secret
        origin = granted(hf.allow_origin("https://example.org"))
        assert [it.origin for it in granted(hf.origins()).items] == ["https://example.org"]
        assert granted(hf.remove_origin(origin.id)) == origin
        assert granted(hf.test_webhook(webhook.id)).state == "failed"
        assert granted(hf.deliveries(webhook.id)).items == []
        assert isinstance(hf.replay_delivery(webhook.id, told.id), Refusal)
        assert [one.id for one in granted(hf.webhooks()).items] == [webhook.id]
        assert granted(hf.remove_webhook(webhook.id)).id == webhook.id
        granted(hf.set_template("offer", "en", "subject", "Quick, {{ name }}"))
        assert granted(hf.template("offer", "en", "subject")).by == "staff:ops"
        assert granted(hf.preview("offer")).items[0].subject == "Quick, Ann"
        assert granted(hf.preview("offer", own={"subject": "Now"})).items[0].subject == "Now"
        assert len(granted(hf.templates()).items) == 1
        granted(hf.drop_template("offer", "en", "subject"))
        contact = granted(hf.add_staff_contact("email", "desk@example.org"))
        assert granted(hf.staff_contacts()).items == [contact]
        granted(hf.remove_staff_contact(contact.id))
        assert granted(hf.export_party("dora")).bookings[0].pool == "kept"
        assert isinstance(hf.erase_party("dora"), Refusal)
        assert granted(hf.erase_party("dora", cancel=True, dry_run=True)).dry_run
        assert granted(hf.erase_party("dora", cancel=True)).bookings == 1


def test_a_unit_may_be_called_what_one_likes(server: Server, admin: Admin) -> None:
    labels = ["..", ".", "a/b", "100%", "{label}", "%2e", "a b"]
    with Client(server.base, key_of(admin)) as hf:
        granted(hf.create_pool("oddly-named", quotas=[{"key": "main", "units": labels}]))
        for label in labels:
            granted(hf.close_unit("oddly-named", label))
        assert granted(hf.units("oddly-named")).items == []


def test_a_member_signs_in_with_the_client(server: Server, admin: Admin) -> None:
    with Client(server.base, key_of(admin)) as hf:
        olga = granted(hf.add_member("olga@example.org", "Olga", "admin"))
        assert olga.invitation is not None
        assert [member.id for member in granted(hf.members()).items] == [olga.id]
    with Client(server.base) as hf:
        begun = granted(hf.accept_invitation(olga.invitation.token, "correct horse battery"))
        assert begun.member.state == "active"
        granted(hf.create_pool("by-a-member", quotas={"main": 1}))
        assert granted(hf.log("by-a-member")).items[0].by == "staff:Olga"
        eve = granted(hf.add_member("eve@example.org", "Eve", "read"))
        assert granted(hf.change_member(eve.id, role="staff")).role == "staff"
        assert granted(hf.invite_member(eve.id)).invitation != eve.invitation
        assert granted(hf.sign_out_member(eve.id)).ended == 0
        assert granted(hf.remove_member(eve.id)).id == eve.id
        assert isinstance(hf.member(eve.id), Refusal)
        granted(hf.change_password("correct horse battery", "quite another password"))
        assert granted(hf.session()).csrf_token == begun.csrf_token
        assert granted(hf.sign_out(everywhere=True)).ended == 1
        with pytest.raises(Forbidden):
            hf.session()
        with pytest.raises(Forbidden):
            hf.sign_in("olga@example.org", "correct horse battery")
        assert granted(hf.sign_in("olga@example.org", "quite another password")).member.id == olga.id


async def test_an_answer_that_was_lost_is_asked_for_again_and_done_once(server: Server, admin: Admin) -> None:
    """The connection breaks after the request has gone out, again and again: there is one booking."""
    admin.pool("lossy", 50, "checkout")
    port = free_port()
    lost = 0

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal lost
        there = await asyncio.open_connection("127.0.0.1", server.port)
        request = await reader.readuntil(b"\r\n\r\n")
        length = int(request.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        there[1].write(request + await reader.readexactly(length))
        answer = await there[0].readuntil(b"\r\n\r\n")
        length = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        answer += await there[0].readexactly(length)
        if lost < 3:
            lost += 1
        else:
            writer.write(answer)
            await writer.drain()
        there[1].close()
        writer.close()

    async with (
        await asyncio.start_server(pass_on, "127.0.0.1", port),
        AsyncClient(f"http://127.0.0.1:{port}", key_of(admin)) as hf,
    ):
        made = granted(await hf.book("lossy", "ann"))
    assert lost == 3
    assert [b["id"] for b in admin.ask("GET", "/v1/bookings?pool=lossy")["items"]] == [made.id]


async def test_nobody_there_is_said_when_patience_ends() -> None:
    async with AsyncClient(f"http://127.0.0.1:{free_port()}", "fh_x", tries_max=2) as hf:
        with pytest.raises(NotReached):
            await hf.pools()
    assert issubclass(NotReached, ClientError)


async def test_the_stream_goes_on_after_a_break(server: Server, admin: Admin) -> None:
    admin.pool("watched", None, "checkout")
    async with AsyncClient(server.base, key_of(admin)) as hf:
        seen: list[str] = []

        async def watch() -> None:
            async for change in hf.stream(pool="watched"):
                if isinstance(change, BookingChange):
                    seen.append(change.booking.party.id)
                    if change.booking.party.id == "bea":
                        return

        watching = asyncio.create_task(watch())
        booked: list[str] = []

        async def book(party: str) -> None:
            booked.append(party)
            granted(await hf.book("watched", party))

        async def heard() -> bool:
            await book(f"knock {len(booked)}")
            return bool(seen)

        # It is told of whatever happens once it is there.
        await until(heard)
        await book("ann")
        await book("bea")
        await asyncio.wait_for(watching, PATIENCE_S)
    assert seen == booked[-len(seen) :]


def test_the_stream_without_an_event_loop(server: Server, admin: Admin) -> None:
    admin.pool("watched-too", None, "checkout")
    heard = threading.Event()

    def knock() -> None:
        numbers = count()
        while not heard.wait(0.05):
            admin.book("watched-too", f"ann {next(numbers)}")

    with Client(server.base, key_of(admin)) as hf:
        knocking = threading.Thread(target=knock)
        knocking.start()
        try:
            change: Any = next(change for change in hf.stream(pool="watched-too") if change is not None)
        finally:
            heard.set()
            knocking.join()
        assert change.booking.party.id.startswith("ann ")
    with contextlib.suppress(RuntimeError):
        hf.close()
