"""What is no HTTP, or hardly: it is answered with 400 or not at all, and nobody else notices."""

from __future__ import annotations

from random import Random

from drills.fuzz.odd import broken

_HOST = b"Host: x\r\n"
_POST = b"POST /v1/pools HTTP/1.1\r\n" + _HOST + b"Content-Type: application/json\r\n"
REQUESTS = (
    b"\r\n\r\n", b"\x00" * 100, b"GET\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/9.9\r\n" + _HOST + b"\r\n", b"GET / HTTP/1.0\r\n\r\n", b"GET  / HTTP/1.1\r\n\r\n",
    b"GET / FTP/1.1\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(200)), b"GET http://x HTTP/1.1\r\n\r\n",
    b"GET http:// HTTP/1.1\r\n\r\n", b"CONNECT x:80 HTTP/1.1\r\n\r\n",
    b"GET * HTTP/1.1\r\n\r\n", b"OPTIONS * HTTP/1.1\r\n" + _HOST + b"\r\n",
    b"GET /%zz HTTP/1.1\r\n" + _HOST + b"\r\n", b"GET /\xff\xfe HTTP/1.1\r\n" + _HOST + b"\r\n",
    b"GET /a b HTTP/1.1\r\n" + _HOST + b"\r\n",
    b"GET ?x HTTP/1.1\r\n\r\n", b"GET /#x HTTP/1.1\r\n" + _HOST + b"\r\n",
    b"GET //////// HTTP/1.1\r\n" + _HOST + b"\r\n", b"GET /v1/pools HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
    b"GET / HTTP/1.1\r\nNo colon\r\n\r\n",
    b"GET / HTTP/1.1\r\n: x\r\n\r\n", b"GET / HTTP/1.1\r\nA\x00B: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nA: x\x00y\r\n\r\n", b"GET / HTTP/1.1\r\n folded: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nA: x\r\n\ty\r\n\r\n", b"GET / HTTP/1.1\nHost: x\n\n",
    _POST + b"Content-Length: -1\r\n\r\n", _POST + b"Content-Length: x\r\n\r\n",
    _POST + b"Content-Length: 1, 1\r\n\r\n{",
    _POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}{}{}",
    _POST + b"Content-Length: 99999999999999999999\r\n\r\n",
    _POST + b"Content-Length: 100\r\n\r\n{}",
    _POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    _POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    _POST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
    _POST + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    _POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}",
    _POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", _POST + b"Transfer-Encoding: x\r\n\r\n{}",
    _POST + b"Transfer-Encoding: chunked\r\n\r\n2;" + b"x" * 9_000 + b"\r\n{}\r\n0\r\n\r\n",
    _POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n",
    _POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n",
    b"GET /v1/stream HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\n\r\n",
    b"POST /v1/pools HTTP/1.1\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 2\r\n\r\n{}",
    b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 5_000 + b"\r\n",
    b"GET / HTTP/1.1\r\nA: " + b"x" * 400_000 + b"\r\n\r\n",
    b"GET /" + b"x" * 400_000 + b" HTTP/1.1\r\n\r\n", b"X" * 400_000,
    b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 300,
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /",
    b"GET / HTTP/1.1\r\nConnection: \xff\r\n\r\n", b"HEAD /v1/stream HTTP/1.1\r\n\r\n",
    b"TRACE / HTTP/1.1\r\n\r\n",
)  # fmt: skip


def one(dice: Random) -> bytes:
    """A request that is none, or one of the few that look so."""
    raw = dice.choice(REQUESTS)
    return broken(raw, dice) if dice.random() < 0.5 else raw
