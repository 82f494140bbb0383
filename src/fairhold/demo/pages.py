"""The demo's own pages: a clock that can be moved, what comes of it, and everybody's mail."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, cast

from jinja2 import Environment, PackageLoader, StrictUndefined

from fairhold.cli.words import Times
from fairhold.clock import to_datetime
from fairhold.core.refusals import Refusal
from fairhold.demo import sights
from fairhold.http import cookies
from fairhold.http.from_here import is_from_here
from fairhold.http.problems import Problem, not_found
from fairhold.pages import answers, live, static
from fairhold.pages.answers import Answer, see_other
from fairhold.pages.calls import Call
from fairhold.pages.site import Page
from fairhold.pages.speech import PageSpeech

if TYPE_CHECKING:
    from fairhold.demo.service import DemoService

STEPS: Final = {"minute": 60, "ten": 600, "hour": 3_600, "day": 86_400}
_FILES: Final = {"demo.css": b"text/css; charset=utf-8", "demo.js": b"text/javascript; charset=utf-8"}
RULES: Final = {
    "pottery": "A class with a waitlist: the next in line has 24 hours to accept, and everyone gets one turn "
    "before anyone gets a second.",
    "algebra": "A course section: honours students stand first, and who says no leaves the line.",
    "flight-7": "A checkout: a seat and its price are held for 15 minutes; staff confirm it once it is paid. "
    "There is no line.",
    "spring-ball": "Two quotas and an open share: who confirms within 30 minutes keeps the place, and the "
    "first in line moves up at once.",
    "salon": "Last-minute chairs: ten minutes to tap the link, then the next; what nobody takes goes back to "
    "staff.",
}
_LETTERS: Final = 6
_LOOK_S: Final = 0.3
_BEAT_S: Final = 10.0


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("fairhold.demo"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _read(name: str) -> bytes:
    return (files("fairhold.demo") / "static" / name).read_bytes()


@cache
def _address(name: str) -> str:
    return f"/demo/static/{hashlib.sha256(_read(name)).hexdigest()[:12]}/{name}"


async def file(call: Call) -> Answer:
    name = call.path["name"]
    if name not in _FILES:
        raise not_found()
    return Answer(200, _read(name), _FILES[name], static.KEPT)


def _page(call: Call, template: str, **variables: Any) -> Answer:
    service = _service(call)
    speech = PageSpeech.of("en-GB", "en", service.scene.time_zone)
    body = (
        _environment()
        .get_template(template)
        .render(
            variables
            | {
                "speech": speech,
                "palette_css": static.address("palette.css"),
                "pages_css": static.address("pages.css"),
                "pages_js": static.address("pages.js"),
                "favicon": static.address("icon.svg"),
                "css": _address("demo.css"),
                "js": _address("demo.js"),
                "sign_in": f"/demo/sign-in/{service.scene.entrance}",
                "time_zone": service.scene.time_zone,
            }
        )
    )
    return Answer(200, body.encode(), answers.HTML, answers.guarded(private=True))


def _service(call: Call) -> DemoService:
    return cast("DemoService", call.service)


async def home(call: Call) -> Answer:
    return see_other("/demo")


async def look(call: Call) -> Answer:
    # First what is watched, then what is shown: a change in between is looked at once more, never missed.
    seen = await _seen(call)
    found = await sights.sights(call.hf)
    since = call.query.get("since", "")
    return _page(
        call,
        "demo.html",
        sights=found,
        due=sights.next_due(found),
        news=await sights.news(call.hf),
        since=to_datetime(int(since)) if since.isdecimal() and len(since) < 15 else None,
        letters=_service(call).scene.inbox.latest(_LETTERS),
        times=Times(_service(call).scene.time_zone, to_datetime(call.now)),
        now=to_datetime(call.now),
        now_ms=call.now,
        rules=RULES,
        seen=seen,
    )


async def _seen(call: Call) -> str:
    """As long as the logs stay and the clock is not moved, there is nothing new to see."""
    scene = _service(call).scene
    last = [await call.hf.reads.log_seq(pool_id) for pool_id in scene.pools]
    return live.digest(last, scene.moves, scene.inbox.count)


async def watch(call: Call) -> AsyncIterator[bytes]:
    return _told(call)


async def _told(call: Call) -> AsyncIterator[bytes]:
    """Few watch a demo, so that it may simply look again and again, also for clocks and letters."""
    seen, quiet_s = "", 0.0
    yield b"retry: 2000\n\n"
    while not call.service.watcher.closing:
        now = await _seen(call)
        if now != seen:
            seen, quiet_s = now, 0.0
            yield f"event: seen\ndata: {now}\n\n".encode()
        elif quiet_s > _BEAT_S:
            quiet_s = 0.0
            yield b": still here\n\n"
        await asyncio.sleep(_LOOK_S)
        quiet_s += _LOOK_S


async def move(call: Call) -> Answer:
    """Move the clock on; when this answers, all that fell due on the way has happened."""
    if not is_from_here(call.headers, call.settings.base_url):
        raise Problem("forbidden", "The clock is moved from the demo's own page.")
    since, step = call.now, call.form.get("step", "")
    if step == "next":
        due = sights.next_due(await sights.sights(call.hf))
        seconds = 60 if due is None else due.left_s + 1
    else:
        seconds = STEPS.get(step, 0)
    await _service(call).move(seconds)
    return see_other(f"/demo?since={since}")


async def letter(call: Call) -> Answer:
    number = call.path["number"]
    found = _service(call).scene.inbox.letter(int(number)) if number.isdecimal() and len(number) < 9 else None
    if found is None:
        raise not_found()
    return _page(call, "letter.html", letter=found, at=to_datetime(found.at))


async def sign_in(call: Call) -> Answer:
    """A ready-made sign-in to the console, for who has the link that this demo has printed."""
    scene = _service(call).scene
    if call.path["entrance"] != scene.entrance:
        raise not_found()
    started = await call.service.sessions.sign_in(call.hf.org, scene.email, scene.password)
    assert started is not None
    age_s = call.service.settings.session_max_s
    answer = see_other(await _led_to(call))
    return Answer(
        303, b"", answers.HTML, (*answer.headers, *cookies.kept(started.token, age_s, secure=False))
    )


async def _led_to(call: Call) -> str:
    """Where in the console the sign-in leads: to the pool that the page speaks of, its story, or all."""
    to, pool = call.query.get("to", ""), await call.hf.pool("pottery")
    if to == "happened":
        return "/console/happened?pool=pottery"
    return f"/console/pools/{pool.id}" if to == "pottery" and not isinstance(pool, Refusal) else "/console"


PAGES: Final = (
    Page("/", "demo_home", home),
    Page("/demo", "demo_page", look),
    Page("/demo/stream", "demo_stream", watch),
    Page("/demo/clock", "demo_clock", home, move),
    Page("/demo/letters/{number}", "demo_letter", letter),
    Page("/demo/sign-in/{entrance}", "demo_sign_in", sign_in),
    Page("/demo/static/{digest}/{name}", "demo_static", file),
)
