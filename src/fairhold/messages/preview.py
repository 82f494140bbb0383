"""What a message would look like, to the eye of staff: every case of a kind, with invented people."""

from __future__ import annotations

import base64

from fairhold.messages import letter
from fairhold.messages.attachments import attachments
from fairhold.messages.context import Speech
from fairhold.messages.letter import CODE_CID, Overrides
from fairhold.messages.notice import Notice
from fairhold.messages.sample import NOW, samples
from fairhold.records import Preview


def preview(kind: str, language: str, overrides: Overrides) -> list[Preview]:
    """Subject, text, HTML and SMS of each case. The HTML can be shown as it is: its picture is inside."""
    found = []
    for notice in samples(kind):
        speech = Speech.of(language, language, notice.pool.time_zone)
        words = letter.email(notice, speech, overrides, NOW)
        found.append(
            Preview(
                words.subject,
                words.text,
                _with_picture(words.html, notice),
                letter.sms(notice, speech, overrides, NOW),
            )
        )
    return found


def _with_picture(html: str, notice: Notice) -> str:
    for it in attachments(notice, "https://seats.example.org"):
        if it.cid == CODE_CID:
            picture = base64.b64encode(it.content).decode()
            return html.replace(f"cid:{CODE_CID}", f"data:{it.media_type};base64,{picture}")
    return html
