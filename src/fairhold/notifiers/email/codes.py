"""Which answers of a mail server mean that this address never will get this message."""

from __future__ import annotations

import re
from typing import Final

# No such mailbox (550), not here (551), not allowed as a name (553), a syntax that is none (501), no such
# domain or a host that takes no mail (510 to 521, 556), and a message that is not taken (554).
PERMANENT_CODES: Final = frozenset({501, 510, 511, 512, 521, 550, 551, 553, 554, 556})
_ENHANCED: Final = re.compile(r"\b5\.(\d{1,3})\.(\d{1,3})\b")


def is_permanent(code: int, answer: str) -> bool:
    """Whether it is no use trying again.

    What a server says about us (5.7, a policy such as "relaying denied") or about a full mailbox (5.2.2) can
    be mended; giving up on people for it would take seats from many who could be reached.
    """
    if code not in PERMANENT_CODES:
        return False
    found = _ENHANCED.search(answer)
    return found is None or not (found[1] == "7" or found.groups() == ("2", "2"))
