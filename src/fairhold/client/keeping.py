"""What can be asked about files and people: CSV out and in, all about one party, forgetting them."""

from __future__ import annotations

from fairhold.client.asking import Asking
from fairhold.core.refusals import Refusal
from fairhold.keeping.imports import Imported
from fairhold.keeping.persons import PersonRecord
from fairhold.keeping_commands import Erasure
from fairhold.retention_commands import Retention

Key = str | None


class KeepingMethods(Asking):
    """Files and people."""

    async def export_bookings(self, pool: str) -> str | Refusal:
        """All bookings of a pool, as CSV that is safe in a spreadsheet."""
        return await self._ask(str, "GET", "/v1/pools/{pool}/bookings.csv", pool=pool)

    async def export_line(self, pool: str) -> str | Refusal:
        """The line of a pool in order, as CSV that is safe in a spreadsheet."""
        return await self._ask(str, "GET", "/v1/pools/{pool}/line.csv", pool=pool)

    async def import_csv(
        self, pool: str, text: str, *, dry_run: bool = False, idempotency_key: Key = None
    ) -> Imported | Refusal:
        """Book for every row of a CSV, in order; what came of each row."""
        path = "/v1/pools/{pool}/import"
        query = {"dry_run": "true" if dry_run else None}
        return await self._ask(
            Imported, "POST", path, csv=text, query=query, idempotency_key=idempotency_key, pool=pool
        )

    async def retention(self) -> Retention | Refusal:
        """For how long the org keeps what is over."""
        return await self._ask(Retention, "GET", "/v1/retention")

    async def set_retention(
        self, *, people_days: int | None, messages_days: int | None
    ) -> Retention | Refusal:
        """Say for how many days; None is for ever."""
        body = {"people_days": people_days, "messages_days": messages_days}
        return await self._ask(Retention, "PUT", "/v1/retention", body)

    async def export_party(self, party: str) -> PersonRecord | Refusal:
        """All about one party, over all pools."""
        return await self._ask(PersonRecord, "GET", "/v1/parties/{party}", party=party)

    async def erase_party(
        self, party: str, *, cancel: bool = False, dry_run: bool = False, idempotency_key: Key = None
    ) -> Erasure | Refusal:
        """Forget a party for good; `cancel` cancels first what still waits for an answer."""
        path = "/v1/parties/{party}"
        said = {"cancel": "true" if cancel else None, "dry_run": "true" if dry_run else None}
        return await self._ask(
            Erasure, "DELETE", path, query=said, idempotency_key=idempotency_key, party=party
        )
