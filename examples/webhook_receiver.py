"""A program that is told by webhook, and checks that it was Fairhold who told it.

pip install standardwebhooks
python webhook_receiver.py whsec_… 9000        # the secret that `fairhold webhook add` has printed

On one machine, Fairhold must be let: FAIRHOLD_WEBHOOKS_TO_PRIVATE=yes, for `webhook add` and where it sends.

It needs no Fairhold itself. The proof is `webhook-signature`: it is made of the id, the time and the very
bytes of the body, with a secret that only the two of us know. So a body that was changed, another sender and
an old message that somebody sends again are all refused.
"""

import logging
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

LARGEST = 1_000_000
log = logging.getLogger("receiver")


# A message comes at least once, always with the same id. Keep these in your database.
seen: set[str] = set()


def work(message: dict[str, Any]) -> None:
    """What you do with a message. What `fairhold webhook test` sends is about no booking."""
    print(message["type"], message["data"].get("booking"), flush=True)


class Receiver(BaseHTTPRequestHandler):
    secret = ""

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        if length > LARGEST:
            return self.answer(413)
        body = self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            # Of the bytes as they came: decoding and encoding them again may change them.
            message = Webhook(self.secret).verify(body, headers)
        except WebhookVerificationError:
            return self.answer(401)
        if headers["webhook-id"] not in seen:
            try:
                work(message)
            except Exception:
                log.exception("this message will come again")
                # Anything but a 2xx means: not taken, send it again later.
                return self.answer(500)
            # Only when the work is done: what failed must not count as seen when it comes again.
            seen.add(headers["webhook-id"])
        return self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Say nothing of each request."""


def main(secret: str, port: int) -> None:
    Receiver.secret = secret
    with ThreadingHTTPServer(("127.0.0.1", port), Receiver) as server:
        server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 9000)
