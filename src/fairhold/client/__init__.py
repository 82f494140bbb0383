"""A typed client of the HTTP service: `async with AsyncClient(url, key) as hf`, or without async: `Client`.

Methods mostly carry the names of the library's, and answer as it does: with what is now true, or with a
Refusal; docs/howto/http.md says what differs. Both clients are one implementation. What could not be
delivered is asked again, with the same idempotency key.
"""

from fairhold.client.answers import ClientError, Forbidden, NotReached
from fairhold.extras import needs

with needs("client", "the client"):
    from fairhold.client.methods import AsyncClient
    from fairhold.client.sync import Client

__all__ = ["AsyncClient", "Client", "ClientError", "Forbidden", "NotReached"]
