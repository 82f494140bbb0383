"""The audit of packages: what is unsafe is found, and who cannot ask is told so."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from testbed import audit

Answer = Callable[[Any], Any]


@contextmanager
def database(answer: Answer) -> Iterator[str]:
    """A database of vulnerabilities on loopback, with this answer to each request."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            body = json.dumps(answer(asked)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1/querybatch"
        finally:
            server.shutdown()
            thread.join()


def unsafe(*names: str) -> Answer:
    """As OSV answers: in the order of what was asked, and with nothing where nothing is known."""

    def answer(asked: Any) -> Any:
        assert all(it["package"]["ecosystem"] == "PyPI" and it["version"] for it in asked["queries"])
        bad = [it["package"]["name"] in names for it in asked["queries"]]
        return {"results": [{"vulns": [{"id": "GHSA-test"}]} if it else {} for it in bad]}

    return answer


@pytest.mark.parametrize(
    ("names", "code", "line"),
    [
        ((), 0, "none that ships is known to be unsafe"),
        (("jinja2",), 1, "audit: jinja2 "),
        (("pytest",), 0, " (not shipped): GHSA-test"),
    ],
)
def test_what_is_unsafe_and_ships_fails(
    names: tuple[str, ...],
    code: int,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with database(unsafe(*names)) as url:
        monkeypatch.setenv("FAIRHOLD_AUDIT_URL", url)
        assert audit.main() == code
    assert line in capsys.readouterr().out


def test_what_was_accepted_is_not_told_again(capsys: pytest.CaptureFixture[str]) -> None:
    pin = ("jinja2", "1.0")
    assert audit.told({pin: ["A-1"]}, {pin}, {"A-1"}, 1) == 0
    assert audit.told({pin: ["A-1", "A-2"]}, {pin}, {"A-1"}, 1) == 1
    assert "jinja2 1.0: A-2\n" in capsys.readouterr().out


@pytest.mark.parametrize("required", ["", "required"])
def test_who_cannot_ask_is_told_in_one_line(
    required: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setenv("FAIRHOLD_AUDIT_URL", f"http://127.0.0.1:{nobody.getsockname()[1]}/")
        monkeypatch.setenv("FAIRHOLD_AUDIT", required)
        assert audit.main() == bool(required)
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("audit: nothing was checked")


def test_who_never_answers_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(audit.Unreachable):
        audit.known([("jinja2", "1.0")], f"http://127.0.0.1:{silent.getsockname()[1]}/", 0.2)


STRANGE = [None, [], {}, {"results": []}, {"results": [None]}, {"results": [{"vulns": [1]}]}]


@pytest.mark.parametrize("answer", STRANGE)
def test_an_answer_of_another_form_checks_nothing(answer: Any) -> None:
    with database(lambda _: answer) as url, pytest.raises(audit.Unreachable):
        audit.known([("jinja2", "1.0")], url)


def test_every_pinned_package_is_asked_for() -> None:
    text = "aa==1.0 \\\n    --hash=sha256:00\nBb.c==2.0rc1 ; sys_platform != 'win32' \\\n    # via aa\n"
    assert audit.pins(text) == [("aa", "1.0"), ("bb.c", "2.0rc1")]
    assert len(audit.pins((audit.ROOT / "requirements/run.txt").read_text())) > 30
