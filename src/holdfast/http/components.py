"""What runs beside the API in every process of the service, on the same database.

Each is made with the open Holdfast, started once the database is open, and closed before it is.
"""

from __future__ import annotations

from typing import Final

from holdfast.http.service import Make
from holdfast.outbox import Outbox

COMPONENTS: Final[tuple[Make, ...]] = (Outbox,)
