"""What runs beside the API in every process of the service, on the same database.

Each is made with the open Holdfast, started once the database is open, and closed before it is. Add what
delivers messages here; it then starts and stops with `holdfast serve`.
"""

from __future__ import annotations

from typing import Final

from holdfast.http.service import Make

COMPONENTS: Final[tuple[Make, ...]] = ()
