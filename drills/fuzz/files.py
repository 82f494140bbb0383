"""What people fill in and bring along: CSV files, forms, and forms with files in them."""

from __future__ import annotations

import csv
import io
import json
from random import Random

from drills.fuzz.alive import Alive
from drills.fuzz.odd import CONDITIONS, TEMPLATES, Odd, broken

_HEADS = ("party_id", "name", "email", "phone", "contacts", "tags", "attributes", "locale", "quota",
"quantity", "units", "if_full", "confirmed")  # fmt: skip
_CELLS: dict[str, tuple[str, ...]] = {
    "email": ("ann@example.org", "", "@"),
    "phone": ("+358401234567", ""),
    "contacts": ("", "{}", '{"email": "ann@example.org"}', '{"email": 1}', "[", "{" * 3_000,
    '{"a":"\\ud800"}', '{"a": 1, "a": 2}'),
    "tags": ("", "crew", "a; b;;c", '["a"]', "[1]", "[" * 3_000, '["\\u0000"]'),
    "attributes": ("", '{"age": 18}', '{"age": NaN}', '{"age": 1e400}', '{"x": ' + "9" * 5_000 + "}",
    '{"a":' * 500 + "1" + "}" * 500, "null"),
    "locale": ("", "fi", "zz"),
    "quota": ("", "main", "x"),
    "quantity": ("", "1", "2", "0", "-1", "1.5", "999999999", "9999999999", "１"),
    "units": ("", "12A", "12A;12B", '["12A"]'),
    "if_full": ("", "wait", "refuse", "x"),
    "confirmed": ("", "yes", "no", "maybe"),
}  # fmt: skip
_WHOLE_FILES = (
    b"", b"\xef\xbb\xbf", b"party_id", b"party_id\n", b"party_id\r\n\r\n\r\n", b"party_id,party_id\na,b\n",
    b"name\nann\n", b'party_id\n"ann', b'party_id\n"an"n\n',
    b"party_id\n" + b"x" * 200_000, b"\xff\xfep\x00a\x00", b"party_id\na\x00b\n",
    b"party_id\n" + b"\n" * 50_000, b"party_id;name\nann;Ann\n", b"party_id\tname\nann\tAnn\n",
    b"PK\x03\x04" + bytes(range(256)), b"party_id\n" + b'"\n' * 999, b",".join([b"party_id"] * 5_000),
    b"party_id," + b"," * 9_000 + b"\n", b"party_id\r\rann\r", b"=party_id\nann\n",
)  # fmt: skip
_FILLED: dict[str, tuple[str, ...]] = {
    "name": ("Ann", ""), "email": ("ann@example.org", "x"), "quantity": ("1", "2", "0", "x",
    "99999999999999999999"), "quota": ("main", "x"), "minutes": ("5", "-1", "1e9", "9" * 30, "x"),
    "to": ("front", "back", "x"), "why": ("", "ill"), "key": ("yoga", "", "A B"), "title": ("Yoga",),
    "size": ("3", "", "-1"), "open_size": ("0", "9999999999", "x"),
    "time_zone": ("Europe/Helsinki", "Mars/X"), "price": ("5", "5.00", "5,001", "-1", "x", "9" * 40),
    "currency": ("EUR", "XXX", "eur"), "labels": ("12A\n12B", "a," * 3_000), "label": ("12A",),
    "text": TEMPLATES, "body": TEMPLATES, "subject": TEMPLATES, "sms": TEMPLATES, "role": ("admin", "staff",
    "read", "x"), "url": ("http://127.0.0.1:9/", "x"), "origin": ("https://example.org", "x"),
    "address": ("sam@example.org", "x"), "notifier": ("email", "sms", "apprise", "x"), "credential": ("{}",
    "[]", '{"id": "x", "response": {}}', "x"), "password": ("correct horse battery", "x"),
    "new_password": ("x", "correct horse battery staple"), "starts_at": ("2026-12-01T18:00",
    "2026-03-29T03:30", "x", "9999-12-31T23:59"), "opens_at": ("2026-01-01T10:00", "x"),
    "policy": ("{}", '{"offer_window": "15m"}', "[", "{" * 3_000), "questions": ("[]", "[",
    '[{"key": "a", "title": "A"}]'), "eligible": tuple(map(json.dumps, CONDITIONS)),
    "when": tuple(map(json.dumps, CONDITIONS)),
    "allow_demotion": ("1", ""), "once": ("x",), "back": ("/console", "//evil.example"), "do": ("look",
    "bring", "x"), "act": ("save", "preview", "reset", "bring_in", "x"), "lang": ("fi",), "org": ("default",
    "x"),
}  # fmt: skip


class Files:
    """Writes them."""

    def __init__(self, alive: Alive, odd: Odd) -> None:
        self._alive, self._odd = alive, odd

    def people(self, dice: Random, wild: int) -> bytes:
        """A CSV to bring in."""
        if wild == 2 and dice.random() < 0.4:
            return dice.choice(_WHOLE_FILES)
        heads = ["party_id", *dice.sample(_HEADS[1:], dice.randrange(6))]
        if wild and dice.random() < 0.2:
            heads.append(self._odd.name(dice))
        out = io.StringIO(newline="")
        # A lone surrogate is written as the bytes of one; the writer itself minds nothing.
        writer = csv.writer(out, delimiter=dice.choice(",;"), lineterminator=dice.choice(("\n", "\r\n")))
        writer.writerow(heads)
        for number in range(dice.choice((0, 1, 3, 8))):
            writer.writerow([self._cell(head, number, dice, wild) for head in heads])
        raw = out.getvalue().encode("utf-8", "surrogatepass")
        return broken(raw, dice) if wild == 2 and dice.random() < 0.5 else raw

    def _cell(self, head: str, number: int, dice: Random, wild: int) -> str:
        if wild and dice.random() < 0.3:
            return self._odd.text(dice)[:2_000]
        if head == "party_id":
            return f"{self._alive.one('party', dice)}-{dice.randrange(50)}-{number}"
        return dice.choice(_CELLS.get(head, ("Ann", "")))

    def fill_in(self, fields: dict[str, str], path: str, dice: Random, wild: int) -> None:
        """Fill in a form, or what might be one."""
        if not fields or dice.random() < 0.1:
            fields |= dict.fromkeys(dice.sample(sorted(_FILLED), 6), "")
        for name in list(fields):
            if name in ("csrf", "form") and dice.random() < 0.95:
                continue
            if dice.random() < 0.5:
                fields[name] = dice.choice(_FILLED.get(name.rpartition(".")[2], (fields[name], "1", "")))
            if wild and dice.random() < 0.3:
                fields[name] = self._odd.text(dice)[:5_000]
        if wild and dice.random() < 0.1 and fields:
            del fields[dice.choice(list(fields))]
        if path.endswith("/csv"):
            fields["file"] = self.people(dice, wild).decode("utf-8", "replace")

    def multipart(self, fields: dict[str, str], dice: Random, wild: int) -> tuple[bytes, bytes]:
        """The form as a browser sends it with a file: its content type, and its body."""
        edge = (
            dice.choice((b"xyz", b"xyz", b"xyz", b"", b"a b", b"x" * 300, b'"', b"\xff")) if wild else b"xyz"
        )
        parts = []
        for name, value in fields.items():
            head = b'Content-Disposition: form-data; name="%b"' % name.encode("utf-8", "replace")
            if name == "file":
                head += b'; filename="people.csv"\r\nContent-Type: text/csv'
            if wild and dice.random() < 0.2:
                head = dice.choice(_PART_HEADS)
            raw = value.encode("utf-8", "surrogatepass")
            parts.append(b"--" + edge + b"\r\n" + head + b"\r\n\r\n" + raw + b"\r\n")
        body = b"".join(parts) + b"--" + edge + b"--\r\n"
        kind = b"multipart/form-data; boundary=" + edge
        if wild == 2 and dice.random() < 0.5:
            body = broken(body, dice)
        if wild == 2 and dice.random() < 0.2:
            kind = dice.choice((b"multipart/form-data", b"multipart/form-data; boundary*=utf-8''xyz",
            b'multipart/form-data; boundary="x', b"multipart/mixed; boundary=xyz",
                                b"multipart/form-data; boundary=xyz; charset=\xff",
                                b"multipart/form-data;;;=;boundary=xyz"))  # fmt: skip
        return kind, body


_PART_HEADS = (
    b"", b"Content-Disposition: form-data", b"Content-Disposition: form-data; name",
    b"Content-Disposition: form-data; name*=utf-8''%00", b'Content-Disposition: form-data; name="a',
    b"Content-Disposition: ;;;",
    b"Content-Disposition: form-data; name=file\r\nContent-Transfer-Encoding: base64",
    b"Content-Disposition: form-data; name=file\r\nContent-Transfer-Encoding: x",
    b"Content-Disposition: form-data; name=x\r\nContent-Type: multipart/mixed; boundary=q",
    b"Content-Disposition: form-data; name=x\r\nContent-Type: message/rfc822", b"\xff: \xff",
    b"Content-Disposition: form-data; name=" + b"(" * 2_000,
    b"Content-Disposition: form-data; name=file\r\nContent-Transfer-Encoding: x-uuencode",
    b"Content-Disposition: form-data; name=file\r\nContent-Type: text/plain; charset=nope",
    b'Content-Disposition: form-data; name="=?utf-8?q?=00?="',
    b"Content-Disposition: form-data; name*0=a; name*1=b; name*3*=c",
    b"Content-Disposition: form-data; name=" + b"=?utf-8?b?" * 300,
)  # fmt: skip
