"""Where staff are told what needs them, and which web sites may show the org's pages in a frame."""

from __future__ import annotations

from typing import Final

from fairhold.console import tabs
from fairhold.console.calls import Call
from fairhold.console.page import ADMINS, Page
from fairhold.core.refusals import Refusal
from fairhold.http.operations import granted
from fairhold.http.problems import not_found
from fairhold.pages.answers import Answer

HERE: Final = f"{tabs.HOME}/places"


async def look(call: Call) -> Answer:
    return await _show(call)


async def _show(call: Call, refused: Refusal | None = None) -> Answer:
    return await tabs.show(
        call,
        "places.html",
        "places",
        here=HERE,
        refused=refused,
        said=call.form,
        contacts=await call.hf.staff_contacts(),
        origins=await call.hf.origins(),
    )


async def act(call: Call) -> Answer:
    hf, form, what = call.hf, call.form, call.path["act"]
    if what == "add-contact":
        answer: object = await hf.add_staff_contact(
            form.get("notifier", ""),
            form.get("address", "").strip(),
            locale=form.get("locale", ""),
            idempotency_key=tabs.once(call),
        )
    elif what == "remove-contact":
        answer = await hf.remove_staff_contact(form.get("id", ""))
    elif what == "add-origin":
        answer = await hf.allow_origin(form.get("origin", ""))
    elif what == "remove-origin":
        answer = granted(await hf.remove_origin(form.get("id", "")))
    else:
        raise not_found()
    return await _show(call, answer) if isinstance(answer, Refusal) else call.to(HERE, told="saved")


async def back(call: Call) -> Answer:
    return call.to(HERE)


PAGES: Final = (
    Page(HERE, "console_places", look, None, ADMINS, ADMINS),
    Page(f"{HERE}/{{act}}", "console_places_act", back, act, ADMINS, ADMINS),
)
