"""A class with a waitlist in a Flask app, on the library: no event loop, any number of threads.

pip install '..[all]' flask                     # here, in a clone
flask --app flask_app run --port 8000
fairhold outbox --database sqlite:///yoga.db    # beside it: without an event loop, nobody sends messages here
"""

import atexit
import os
from contextlib import ExitStack
from typing import Any

from flask import Flask, abort, jsonify, make_response, request

from fairhold import Booking, Fairhold, Refusal

app = Flask(__name__)

# One open database for the life of the process; it does what falls due by itself.
closing = ExitStack()
atexit.register(closing.close)
hf = closing.enter_context(Fairhold.open_sync(os.environ.get("DATABASE_URL", "sqlite:///yoga.db")))
# From the second start on, this is refused: it exists.
hf.create_pool("yoga", preset="class_waitlist", quotas={"main": 1}, title="Saturday yoga")


@app.post("/signups")
def sign_up() -> Any:
    said = request.get_json()
    party = {"id": said["who"], "contacts": {"email": said["email"]}}
    # A client that heard no answer asks again with the same key, and is not signed up twice.
    return shown(hf.book("yoga", party, idempotency_key=request.headers.get("Idempotency-Key"))), 201


@app.post("/signups/<booking>/confirm")
def confirm(booking: str) -> Any:
    return shown(hf.confirm(booking))


@app.post("/signups/<booking>/cancel")
def cancel(booking: str) -> Any:
    return shown(hf.cancel(booking))


@app.post("/offers/<token>/claim")
def claim(token: str) -> Any:
    """The token comes with the message that brings the offer."""
    return shown(hf.claim(token))


@app.get("/class")
def about() -> Any:
    stats = hf.stats("yoga")
    assert not isinstance(stats, Refusal)
    return {"room": stats.quotas["main"].room, "waiting": stats.waiting}


def shown(answer: Booking | Refusal) -> dict[str, Any]:
    """What everybody may see of a booking; a refusal becomes the status that it hints at."""
    if isinstance(answer, Refusal):
        abort(
            make_response(jsonify(detail={"code": answer.code, "sentence": answer.sentence}), answer.status)
        )
    return {
        "id": answer.id,
        "reference": answer.reference,
        "state": answer.state,
        "position": answer.position,
    }
