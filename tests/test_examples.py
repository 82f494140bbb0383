"""The examples are run as a reader would run them: real processes on loopback, asked and told for real."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import httpx2 as httpx
import pytest
from standardwebhooks.webhooks import Webhook as Signer

from fairhold import Fairhold, granted
from fairhold.clock import to_datetime
from fairhold.outbox import MessageSettings, Outbox
from fairhold.records import Webhook
from testbed.ports import free_port
from tests.http.server import Plain
from tests.patience import PATIENCE_S, wait_until

EXAMPLES = Path(__file__).parent.parent / "examples"
RUN = {
    "fastapi_app.py": ["-m", "uvicorn", "fastapi_app:app", "--port"],
    "flask_app.py": ["-m", "flask", "--app", "flask_app", "run", "--port"],
}


class Process:
    """An example as a process."""

    def __init__(self, folder: Path, *words: str, **environment: str) -> None:
        self.output = folder / "output.txt"
        with self.output.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, *words],
                cwd=EXAMPLES,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", **environment},
            )

    def until(self, ready: Callable[[], bool]) -> None:
        """Wait for this, as long as the example runs."""

        def ready_while_it_runs() -> bool:
            assert self.process.poll() is None, self.output.read_text()
            return ready()

        wait_until(ready_while_it_runs)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE_S)


@contextlib.contextmanager
def running(process: Process, base: str) -> Iterator[None]:
    def answers() -> bool:
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(base, timeout=5, verify=False).status_code < 600
        return False

    try:
        process.until(answers)
        yield
    finally:
        process.stop()


def test_every_example_is_run_here() -> None:
    there = {path.name for path in EXAMPLES.glob("*.py")}
    assert there == {"script.py", "webhook_receiver.py", *RUN}
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"({name})" in listed for name in there)


def test_the_script_tells_its_story(sqlite_url: str) -> None:
    told = subprocess.run(
        [sys.executable, "script.py", sqlite_url], cwd=EXAMPLES, capture_output=True, text=True, check=True
    )
    assert told.stdout.splitlines() == [
        "Ann: held, 900 s to confirm",
        "Cyd: not_enough_room. Not enough seats available. Requested: 1, Available: 0",
        "Bea: waiting, position 1",
        "Bea: confirmed",
        "  You joined the line as #1.",
        "  You were #1 and were offered a seat for 24 h.",
        "  You accepted a seat.",
    ]


@pytest.mark.parametrize("name", RUN)
def test_an_app_gives_out_its_seat_fairly(name: str, database_url: str, tmp_path: Path) -> None:
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    environment = {"DATABASE_URL": database_url, "FAIRHOLD_SECRET": "a secret of the tests"}

    def start() -> Process:
        return Process(tmp_path, *RUN[name], str(port), **environment)

    with running(start(), f"{base}/class"), Plain(base_url=base) as client:
        assert client.get("/class").json() == {"room": 1, "waiting": 0}
        ann, again = (sign_up(client, "ann", "once") for _ in range(2))
        assert (ann["state"], again) == ("held", ann)
        assert client.post(f"/signups/{ann['id']}/confirm").json()["state"] == "confirmed"
        with ThreadPoolExecutor(8) as people:
            waiting = list(people.map(lambda n: sign_up(client, f"party-{n}"), range(8)))
        assert sorted(it["position"] for it in waiting) == list(range(1, 9))
        first = min(waiting, key=lambda it: it["position"])
        assert client.post(f"/signups/{ann['id']}/cancel").json()["state"] == "cancelled"
        token = asyncio.run(offered(database_url, first["id"]))
        assert client.post(f"/offers/{token}/claim").json()["state"] == "confirmed"
        refused = client.post(f"/signups/{ann['id']}/confirm")
        assert (refused.status_code, refused.json()["detail"]["code"]) == (409, "not_possible")
        assert client.post("/offers/nonsense.x/claim").status_code == 404
    # Started again, it knows what it promised.
    with running(start(), f"{base}/class"), Plain(base_url=base) as client:
        assert client.get("/class").json() == {"room": 0, "waiting": 7}
        assert client.post(f"/offers/{token}/claim").json()["state"] == "confirmed"


def sign_up(client: httpx.Client, who: str, key: str | None = None) -> Any:
    said = {"who": who, "email": f"{who}@example.org"}
    answer = client.post("/signups", json=said, headers={"Idempotency-Key": key} if key else {})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def offered(url: str, booking: str) -> str:
    """The token as the message to the party brings it."""
    async with Fairhold.open(url, ticker=False, secret="a secret of the tests") as hf:
        offer = granted(await hf.booking(booking, secret=True)).offer
        assert offer is not None
        return offer.token


@pytest.fixture
async def told(sqlite_url: str) -> AsyncIterator[tuple[Fairhold, Outbox]]:
    async with Fairhold.open(sqlite_url, ticker=False) as hf:
        outbox = Outbox(hf, MessageSettings(webhooks_to_private=True))
        yield hf, outbox
        await outbox.close()


class Receiver(NamedTuple):
    """The example that receives webhooks, as it runs."""

    process: Process
    base: str
    webhook: Webhook

    def post(self, message: str, body: str, at: datetime, secret: str = "", sent: str = "") -> int:
        """Send it something signed, as a service would; `sent` if something else than was signed arrives."""
        headers = {
            "webhook-id": message,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": Signer(secret or self.webhook.secret or "").sign(message, at, body),
        }
        return httpx.post(self.base, content=sent or body, headers=headers, verify=False).status_code


@pytest.fixture
async def receiver(
    told: tuple[Fairhold, Outbox], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Receiver]:
    monkeypatch.setenv("FAIRHOLD_WEBHOOKS_TO_PRIVATE", "yes")
    port = free_port()
    base = f"http://127.0.0.1:{port}"
    webhook = granted(await told[0].add_webhook(f"{base}/in"))
    process = Process(tmp_path, "webhook_receiver.py", webhook.secret, str(port))
    with running(process, base):
        yield Receiver(process, base, webhook)


async def test_the_receiver_takes_what_is_ours_once_and_nothing_else(
    told: tuple[Fairhold, Outbox], receiver: Receiver
) -> None:
    hf, outbox = told
    process = receiver.process
    granted(await hf.create_pool("yoga", preset="class_waitlist", quotas={"main": 0}))
    ann = granted(await hf.book("yoga", "ann"))
    await outbox.send_due()
    process.until(lambda: process.output.read_text() == f"joined {ann.id}\n")
    (message,) = granted(await hf.messages("yoga"))
    assert granted(await hf.message(message.id)).deliveries[-1].state == "sent"

    body, now = '{"type": "joined", "data": {"booking": "forged"}}', to_datetime(hf.clock.now())
    changed, ours = body.replace("forged", "changed"), body.replace("forged", "ours")
    assert receiver.post("m1", body, now, "whsec_" + "A" * 32) == 401, "another secret"
    assert receiver.post("m1", body, now, sent=changed) == 401, "another body"
    assert receiver.post("m1", body, now - timedelta(hours=1)) == 401, "an old one, sent again"
    assert httpx.post(receiver.base, content=body, verify=False).status_code == 401, "none at all"
    assert process.output.read_text() == f"joined {ann.id}\n"
    # Control: what is ours is taken, and told of once though it comes twice.
    assert [receiver.post("m1", ours, now) for _ in range(2)] == [204, 204]
    process.until(lambda: process.output.read_text() == f"joined {ann.id}\njoined ours\n")


async def test_the_receiver_takes_a_test_and_loses_nothing_that_it_failed_at(
    told: tuple[Fairhold, Outbox], receiver: Receiver
) -> None:
    hf, _ = told
    process = receiver.process
    went = granted(await hf.test_webhook(receiver.webhook.id))
    assert (went.state, went.error) == ("sent", "")
    process.until(lambda: process.output.read_text() == "test None\n")

    def post(body: str) -> int:
        return receiver.post("m2", body, to_datetime(hf.clock.now()))

    assert [post('{"type": "joined", "data": null}') for _ in range(2)] == [500, 500]
    assert post('{"type": "joined", "data": {"booking": "ours"}}') == 204
    process.until(lambda: process.output.read_text().endswith("joined ours\n"))
