"""What the client does with what callers say, and with what comes back that is not from Fairhold."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import httpx2 as httpx
import pytest

from fairhold import Refusal
from fairhold.client import AsyncClient, Client, ClientError, NotReached
from fairhold.client.sync import _Blocking
from fairhold.errors import SettingsWrong


def refused(answer: object) -> tuple[str, str | None, str]:
    assert isinstance(answer, Refusal)
    return answer.code, answer.field, answer.sentence


@pytest.fixture
def unheard() -> Client:
    """A client whose requests nobody may hear."""

    def hear(request: httpx.Request) -> httpx.Response:
        raise AssertionError(f"{request.method} {request.url} went out")

    return Client("http://service.invalid", "fh_x", transport=httpx.MockTransport(hear))


class Proxy:
    """Answers in place of the service, one thing after the other, the last again and again."""

    def __init__(self, *answers: httpx.Response) -> None:
        self.asked: list[httpx.Request] = []
        self._answers = answers

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        return self._answers[min(len(self.asked), len(self._answers)) - 1]

    def client(self) -> Client:
        return Client("http://service.invalid", "fh_x", transport=httpx.MockTransport(self))


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that a client makes, which take no time."""
    pauses: list[float] = []

    async def sleep(self: object, seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(_Blocking, "_sleep", sleep)
    monkeypatch.setattr(AsyncClient, "_sleep", sleep)
    return pauses


@pytest.mark.parametrize("endless", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize(
    ("ask", "field"),
    [
        (lambda hf, x: hf.change_pool("p", sizes={"main": x}), "sizes.main"),
        (lambda hf, x: hf.create_pool("p", quotas={"main": x}), "quotas[0].size"),
        (lambda hf, x: hf.create_pool("p", quotas={"main": 1}, open_size=x), "open_size"),
        (lambda hf, x: hf.book("p", "ann", x), "quantity"),
        (lambda hf, x: hf.change_booking("b", answers={"deep": [1, (x,)]}), "answers.deep[1][0]"),
    ],
)
def test_a_number_that_json_has_not_is_refused_and_never_becomes_no_limit(
    unheard: Client, ask: Callable[[Client, float], Any], field: str, endless: float
) -> None:
    assert refused(ask(unheard, endless)) == ("invalid", field, f"{field} must be a finite number.")


@pytest.mark.parametrize(
    "thing",
    [object(), b"bytes", {"x": [b""]}, "half a pair \ud800", pytest.param(10**5000, id="5,000 digits")],
)
def test_what_is_no_json_is_refused_by_its_field(unheard: Client, thing: object) -> None:
    answer = unheard.create_pool("p", quotas={"main": 1}, attributes={"a": thing})
    assert refused(answer) == ("invalid", "attributes", "attributes must be plain data.")


RETENTION = httpx.Response(
    200, json={"people_days": 30, "messages_days": None, "by": "staff:ops", "at": None}
)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_a_proxy_says_of_a_service_that_is_away_is_asked_again(status: int, slept: list[float]) -> None:
    away = httpx.Response(status, html="<h1>Bad gateway</h1>")
    proxy = Proxy(away, away, RETENTION)
    assert proxy.client().set_retention(people_days=30, messages_days=None)
    assert len({request.headers["idempotency-key"] for request in proxy.asked}) == 1
    assert (len(proxy.asked), len(slept)) == (3, 2)
    proxy = Proxy(away)
    with pytest.raises(NotReached, match=rf"^{status}: <h1>Bad gateway</h1>$"):
        proxy.client().retention()
    assert len(proxy.asked) == 6


def test_a_proxy_that_speaks_json_of_its_own_is_asked_again(slept: list[float]) -> None:
    for problem in ({"code": ["odd"]}, {"code": 5}, {"code": "gateway"}, [], "text", None):
        proxy = Proxy(httpx.Response(503, json=problem), RETENTION)
        assert proxy.client().retention()
        assert len(proxy.asked) == 2


@pytest.mark.parametrize(
    ("retry_after", "pause"),
    [
        ("3", 3.0),
        ("Wed, 21 Oct 2026 07:28:04 GMT", 4.0),
        ("Wed, 21 Oct 2026 07:27:00 GMT", 0.1),
        ("soon", 0.1),
        ("-5", 0.1),
        ("nan", 0.1),
        ("99 Oct", 0.1),
        ("", 0.1),
    ],
)
def test_a_pause_is_as_long_as_the_answer_says(retry_after: str, pause: float, slept: list[float]) -> None:
    headers = {"Retry-After": retry_after, "Date": "Wed, 21 Oct 2026 07:28:00 GMT"}
    proxy = Proxy(httpx.Response(503, headers=headers), RETENTION)
    assert proxy.client().retention()
    assert slept == [pytest.approx(pause, rel=0.5 if pause < 1 else 0)]


@pytest.mark.parametrize("retry_after", ["3600", "Wed, 21 Oct 2099 07:28:00 GMT"])
def test_who_is_told_to_come_back_much_later_is_told_so_at_once(retry_after: str, slept: list[float]) -> None:
    proxy = Proxy(httpx.Response(503, headers={"Retry-After": retry_after}))
    with pytest.raises(NotReached):
        proxy.client().retention()
    assert (len(proxy.asked), slept) == (1, [])


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, html="<title>Sign in</title>"),
        httpx.Response(200, json={"token": "theirs"}),
        httpx.Response(200, json=[]),
        httpx.Response(200, content=b"\xff\xfe"),
        httpx.Response(204),
        httpx.Response(302, headers={"Location": "https://login.invalid/"}),
    ],
)
def test_an_answer_that_is_not_fairholds_is_said_to_be_none(answer: httpx.Response) -> None:
    for ask in (lambda hf: hf.pool("p"), lambda hf: hf.export_line("p"), lambda hf: hf.book("p", "ann")):
        proxy = Proxy(answer)
        with pytest.raises(ClientError, match=f"^{answer.status_code}: not an answer of Fairhold"):
            ask(proxy.client())
        assert len(proxy.asked) == 1


def test_a_page_in_place_of_the_stream_is_said_to_be_none(slept: list[float]) -> None:
    proxy = Proxy(httpx.Response(200, content=iter([b"<title>Sign in</title>"])))
    with pytest.raises(ClientError, match=r"^200: not an answer of Fairhold's, but '<title>"):
        next(proxy.client().stream())
    assert len(proxy.asked) == 1


async def test_so_it_is_with_an_event_loop(slept: list[float]) -> None:
    async def page() -> AsyncIterator[bytes]:
        yield b"<title>Sign in</title>"

    proxy = Proxy(httpx.Response(200, content=page()), httpx.Response(200, html="<title>Sign in</title>"))
    async with AsyncClient("http://service.invalid", transport=httpx.MockTransport(proxy)) as hf:
        with pytest.raises(ClientError, match=r"^200: not an answer of Fairhold"):
            await anext(hf.stream())
        with pytest.raises(ClientError, match=r"^200: not an answer of Fairhold"):
            await hf.pools()


@pytest.mark.parametrize("key", ["", "é", 5, "a\nb", "a b", "x" * 201, b"key", True])
def test_a_key_that_the_service_would_not_take_is_refused_and_not_replaced(unheard: Client, key: Any) -> None:
    sentence = "idempotency_key must have 1 to 200 visible ASCII characters."
    for answer in (
        unheard.book("p", "ann", idempotency_key=key),
        unheard.cancel("b", idempotency_key=key),
        unheard.import_csv("p", "party_id\nann\n", idempotency_key=key),
    ):
        assert refused(answer) == ("invalid", "idempotency_key", sentence)


def test_a_key_goes_out_as_it_was_said() -> None:
    proxy = Proxy(RETENTION)
    with pytest.raises(ClientError):
        proxy.client().book("p", "ann", idempotency_key="x" * 200)
    assert proxy.asked[0].headers["idempotency-key"] == "x" * 200


@dataclass
class Thing:
    """Not a name, though it has one."""

    id: str = "b1"
    edit_token: str = "e.secret"


@pytest.mark.parametrize(
    ("ask", "field"),
    [
        (lambda hf, name: hf.confirm(name), "booking"),
        (lambda hf, name: hf.booking(name), "booking"),
        (lambda hf, name: hf.claim(name), "token"),
        (lambda hf, name: hf.decline(name), "token_or_booking"),
        (lambda hf, name: hf.pool(name), "pool"),
        (lambda hf, name: hf.close_unit("p", name), "label"),
        (lambda hf, name: hf.revoke_key(name), "key"),
        (lambda hf, name: hf.template("offer", "en", name), "part"),
        (lambda hf, name: hf.template(name, "en", "subject"), "kind"),
        (lambda hf, name: hf.bookings(party=name), "party"),
    ],
)
def test_a_name_that_is_none_is_refused_by_its_field(
    unheard: Client, ask: Callable[[Client, Any], Any], field: str
) -> None:
    must = f"{field} must be text."
    assert refused(ask(unheard, Thing())) == ("invalid", field, must)
    assert refused(ask(unheard, b"b1")) == ("invalid", field, must)
    half = f"{field} has a character that cannot be kept."
    assert refused(ask(unheard, "\ud800")) == ("invalid", field, half)
    assert refused(ask(unheard, "x" * 10_001))[:2] == ("invalid", field)


def test_a_booking_has_a_name_that_is_not_empty(unheard: Client) -> None:
    assert refused(unheard.booking("")) == ("invalid", "booking", "booking must have 1 to 500 characters.")


def test_text_in_place_of_a_list_is_not_taken_apart() -> None:
    proxy = Proxy(RETENTION)
    with pytest.raises(ClientError):
        proxy.client().add_units("p", "AB")
    assert proxy.asked[0].content == b'{"units":"AB"}'


def test_the_stream_of_a_pool_that_is_none_is_not_asked_for(unheard: Client) -> None:
    with pytest.raises(ClientError, match=r"^pool must be text\.$"):
        next(unheard.stream(pool=Thing()))  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [b"party_id\nann\n", None, 5, "party_id\n\ud800\n"])
def test_a_file_that_is_no_text_is_refused(unheard: Client, text: Any) -> None:
    assert refused(unheard.import_csv("p", text))[:2] == ("invalid", "text")


@pytest.mark.parametrize(
    "name", ["..", ".", "a/b", "../keys", "100%", "a b", "ä", "{part}", "a?b", "a#b", "...", "%2e"]
)
def test_a_name_is_one_part_of_the_path_whatever_it_is(name: str) -> None:
    proxy = Proxy(RETENTION)
    with pytest.raises(ClientError):
        proxy.client().template(name, "en", "subject")
    *_, last, language, part = proxy.asked[0].url.raw_path.decode().split("/")
    assert (unquote(last), language, part) == (name, "en", "subject")


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8000", "localhost:8000", "", "http://", "ftp://a", "http://a:b", 5]
)
def test_an_address_that_cannot_be_asked_is_said_at_once(url: Any) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(SettingsWrong, match=r"^an address such as http://127\.0\.0\.1:8000 is needed"):
            kind(url, "fh_x")


@pytest.mark.parametrize("key", ["fh_x\n", "é", "a b", 5])
def test_a_key_that_cannot_be_sent_is_said_at_once_and_not_shown(key: Any) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(SettingsWrong, match=r"^a key has visible ASCII characters alone$"):
            kind("http://service.invalid", key)


def test_a_client_that_is_closed_says_so(unheard: Client) -> None:
    unheard.close()
    unheard.close()
    for ask in (lambda: unheard.book("p", "ann"), unheard.pools, lambda: next(unheard.stream())):
        with pytest.raises(ClientError, match=r"^this client is closed$"):
            ask()


async def test_a_client_with_an_event_loop_that_is_closed_says_so() -> None:
    proxy = httpx.MockTransport(Proxy(httpx.Response(200, json={})))
    async with AsyncClient("http://service.invalid", transport=proxy) as hf:
        assert await hf.retention()
    with pytest.raises(ClientError, match=r"^this client is closed$"):
        await hf.retention()
    with pytest.raises(ClientError, match=r"^this client is closed$"):
        await anext(hf.stream())


@pytest.mark.parametrize("error", [httpx.ConnectError("nobody"), httpx.DecodingError("no gzip")])
def test_what_breaks_below_is_said_as_the_clients_own(error: Exception, slept: list[float]) -> None:
    def break_down(request: httpx.Request) -> httpx.Response:
        raise error

    hf = Client("http://service.invalid", transport=httpx.MockTransport(break_down))
    for ask in (hf.pools, lambda: next(hf.stream())):
        slept.clear()
        with pytest.raises(NotReached, match=f"^{type(error).__name__}: {error}$"):
            ask()
        assert len(slept) in (5, 6)
