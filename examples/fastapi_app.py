"""A class with a waitlist in a FastAPI app, on the library: there is no service to run beside it.

pip install '..[all]' fastapi uvicorn    # here, in a clone
uvicorn fastapi_app:app
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, HTTPException, Request
from pydantic import BaseModel

from fairhold import Booking, Fairhold, Refusal
from fairhold.outbox import Outbox


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """One open database for the life of the process; it does what falls due by itself."""
    async with Fairhold.open(os.environ.get("DATABASE_URL", "sqlite:///yoga.db")) as hf:
        # From the second start on, this is refused: it exists.
        await hf.create_pool("yoga", preset="class_waitlist", quotas={"main": 1}, title="Saturday yoga")
        # Sends offers and confirmations: by e-mail, if FAIRHOLD_SMTP_URL says how.
        outbox = Outbox(hf)
        await outbox.start()
        app.state.hf = hf
        yield
        await outbox.close()


app = FastAPI(lifespan=lifespan)


def seats(request: Request) -> Fairhold:
    hf: Fairhold = request.app.state.hf
    return hf


Seats = Annotated[Fairhold, Depends(seats)]
# A client that heard no answer asks again with the same key, and is not signed up twice.
Key = Annotated[str | None, Header(alias="Idempotency-Key")]


class Signup(BaseModel):
    who: str
    email: str


@app.post("/signups", status_code=201)
async def sign_up(signup: Signup, hf: Seats, key: Key = None) -> dict[str, Any]:
    party = {"id": signup.who, "contacts": {"email": signup.email}}
    return shown(await hf.book("yoga", party, idempotency_key=key))


@app.post("/signups/{booking}/confirm")
async def confirm(booking: str, hf: Seats) -> dict[str, Any]:
    return shown(await hf.confirm(booking))


@app.post("/signups/{booking}/cancel")
async def cancel(booking: str, hf: Seats) -> dict[str, Any]:
    return shown(await hf.cancel(booking))


@app.post("/offers/{token}/claim")
async def claim(token: str, hf: Seats) -> dict[str, Any]:
    """The token comes with the message that brings the offer."""
    return shown(await hf.claim(token))


@app.get("/class")
async def about(hf: Seats) -> dict[str, Any]:
    stats = await hf.stats("yoga")
    assert not isinstance(stats, Refusal)
    return {"room": stats.quotas["main"].room, "waiting": stats.waiting}


def shown(answer: Booking | Refusal) -> dict[str, Any]:
    """What everybody may see of a booking; a refusal becomes the status that it hints at."""
    if isinstance(answer, Refusal):
        raise HTTPException(answer.status, {"code": answer.code, "sentence": answer.sentence})
    return {
        "id": answer.id,
        "reference": answer.reference,
        "state": answer.state,
        "position": answer.position,
    }
