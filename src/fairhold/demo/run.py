"""Set the scene, serve it, and leave nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fairhold import ids
from fairhold.accounts.members import Members
from fairhold.accounts.passwords import Passwords
from fairhold.clock import DemoClock, SystemClock
from fairhold.demo import cast
from fairhold.demo.inbox import Inbox
from fairhold.demo.past import Past
from fairhold.demo.pools import KEYS, lived_in
from fairhold.demo.service import DemoService, Scene
from fairhold.http import logs
from fairhold.http.serve import run_fast, serve_it
from fairhold.http.settings import Settings
from fairhold.keys import Keys
from fairhold.library import ORG, Fairhold, granted
from fairhold.outbox import MessageSettings
from fairhold.shapes import with_tokens

HOST: Final = "127.0.0.1"
# However far the clock is moved, nobody is signed out by it.
_FOR_EVER_S: Final = 400 * 86_400
_TRIES: Final = 1_200


class Links(NamedTuple):
    """Where to look."""

    demo: str
    pool: str
    booking: str
    offer: str
    console: str
    email: str
    password: str
    key: str
    docs: str

    @property
    def pages(self) -> tuple[str, ...]:
        return self.demo, self.pool, self.booking, self.offer, self.console, self.docs


Told = Callable[[Links], None]


def run(port: int | None, tell: Told, *, seconds: float | None = None) -> None:
    """Serve the demo until somebody stops it, or for so long."""
    with _settings_of_its_own(), tempfile.TemporaryDirectory(prefix="fairhold-demo-") as folder:
        logs.set_up("warning")
        run_fast(_serve(Path(folder), _port(port), tell, seconds))


@contextmanager
def _settings_of_its_own() -> Iterator[None]:
    """Whatever is set up for the real service is not for the demo: it must write to nobody."""
    kept = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("FAIRHOLD_")}
    try:
        yield
    finally:
        os.environ.update(kept)


def _port(wanted: int | None) -> int:
    """The port that was asked for; else 8000, or any other if that is taken. Raises OSError."""
    for port in (8000, 0) if wanted is None else (wanted,):
        with socket.socket() as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind((HOST, port))
            except OSError:
                if wanted is not None:
                    raise
                continue
            return int(trial.getsockname()[1])
    raise OSError("no port is free")


async def _serve(folder: Path, port: int, tell: Told, seconds: float | None) -> None:
    base, database = f"http://{HOST}:{port}", f"sqlite:///{folder / 'demo.db'}"
    # The pages read where they are from the environment, as they do in earnest.
    os.environ["FAIRHOLD_BASE_URL"] = base
    scene = await _set(database, base)
    settings = Settings(
        database=database,
        host=HOST,
        port=port,
        test_clock=True,
        graceful_stop_s=1,
        session_idle_s=_FOR_EVER_S,
        session_max_s=_FOR_EVER_S,
        base_url=base,
        log_level="warning",
    )
    service = DemoService(settings, scene)
    async with _beside(_once_ready(service, base, tell, seconds)):
        await serve_it(service)


async def _set(database: str, base: str) -> Scene:
    """Five pools with a past, a member who can sign in, and a key."""
    zone = _time_zone()
    past = Past(SystemClock().now())
    lived_in(past, zone)
    clock = DemoClock(past.begins_at)
    scene = Scene(
        clock=clock,
        inbox=Inbox(clock),
        messages=MessageSettings(base_url=base),
        time_zone=zone,
        email=cast.MEMBER[0],
        password=secrets.token_urlsafe(9),
        entrance=secrets.token_urlsafe(12),
    )
    async with Fairhold.open(database, clock=clock) as hf:
        outbox = scene.outbox(hf)
        outbox.attach()
        granted(await hf.add_staff_contact("email", scene.email))
        await past.live(hf)
        await _staff(hf, scene)
        await outbox.close()
        scene.pools = [ids.pool_number(granted(await hf.pool(key)).id) or 0 for key in KEYS]
    clock.let_go()
    return scene


async def _staff(hf: Fairhold, scene: Scene) -> None:
    members = Members(hf.store, hf.clock, hf.secret)
    granted(await members.add(ORG, *cast.MEMBER, "admin"))
    granted(await members.add(ORG, *cast.COLLEAGUE, "staff"))
    granted(await members.set_password(ORG, scene.email, scene.password, Passwords()))
    made = granted(await Keys(hf.store, hf.clock, hf.secret).create(ORG, "admin", "demo"))
    scene.key = made.secret or ""


@asynccontextmanager
async def _beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _once_ready(service: DemoService, base: str, tell: Told, seconds: float | None) -> None:
    for _ in range(_TRIES):
        if await _answers(service):
            break
        await asyncio.sleep(0.05)
    try:
        tell(await _links(service, base))
        if seconds is None:
            return
        await asyncio.sleep(seconds)
    except Exception:
        # Whoever started it does not listen any more, say: a demo that nobody knows of must not stay.
        service.end()
        raise
    service.end()


async def _answers(service: DemoService) -> bool:
    if service.hf is None:
        return False
    try:
        _, writer = await asyncio.open_connection(HOST, service.settings.port)
    except OSError:
        return False
    writer.close()
    return True


async def _links(service: DemoService, base: str) -> Links:
    hf, scene = service.open_hf(), service.scene
    waiting = granted(await hf.line("pottery", limit=1))[0]
    offered = granted(await hf.bookings("pottery", state="offered", limit=1))[0]
    offer = with_tokens(offered, hf.secret).offer
    assert offer is not None
    return Links(
        demo=f"{base}/demo",
        pool=f"{base}/p/spring-ball",
        booking=f"{base}/b/{with_tokens(waiting, hf.secret).edit_token}",
        offer=f"{base}/o/{offer.token}",
        console=f"{base}/demo/sign-in/{scene.entrance}",
        email=scene.email,
        password=scene.password,
        key=scene.key,
        docs=f"{base}/docs",
    )


def _time_zone() -> str:
    """The zone that this machine is in, where it says so by name; else UTC."""
    names = [os.environ.get("TZ", "")]
    with contextlib.suppress(OSError):
        names.append(str(Path("/etc/localtime").resolve()).partition("zoneinfo/")[2])
    for name in filter(None, names):
        with contextlib.suppress(ZoneInfoNotFoundError, ValueError, OSError):
            return ZoneInfo(name).key
    return "UTC"
