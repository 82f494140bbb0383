"""Keeps webhooks away from inner addresses, in whatever spelling.

A name is resolved once, every address it has must be a public one, and the connection goes to the very
address that was looked at: a name that points elsewhere a moment later changes nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlsplit

from fairhold.notifiers.base import Permanent, Temporary

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Awaitable[list[str]]]

# All of IPv6 that is given out to the open internet; what lies outside of it leads inside, or nowhere.
_UNICAST: Final = ipaddress.ip_network("2000::/3")
# Addresses of IPv6 that lead on to an IPv4 address written into them.
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")


async def look_up(host: str, port: int) -> list[str]:
    """All addresses of a host, as the system knows them."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Guard:
    """Says which address to connect to; `allows_private` is for receivers on one's own network."""

    def __init__(self, *, allows_private: bool = False, resolve: Resolve = look_up) -> None:
        self.allows_private = allows_private
        self._resolve = resolve

    async def resolve(self, url: str) -> str:
        """The address to connect to. Raises Permanent where we do not go, Temporary if it is not known."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise Permanent("this is no address of a webhook") from error
        if parts.scheme not in ("http", "https") or not host or parts.username is not None:
            raise Permanent("this is no address of a webhook")
        try:
            found = await self._resolve(host, port or (443 if parts.scheme == "https" else 80))
        except (OSError, UnicodeError) as error:
            raise Temporary(f"the name cannot be resolved: {error}") from error
        if not found:
            raise Temporary("the name has no address")
        for address in found:
            if not self.allows_private and not is_public(address):
                raise Permanent("the address is not a public one")
        return found[0]


def is_public(text: str) -> bool:
    """Whether an address is one of the open internet, and so is every address written into it."""
    address: IPAddress = ipaddress.ip_address(text.partition("%")[0])
    if address.version == 6 and address not in _UNICAST and address not in _NAT64:
        return False
    return all(it.is_global and not it.is_multicast for it in (address, *_inside(address)))


def _inside(address: IPAddress) -> list[IPAddress]:
    if isinstance(address, ipaddress.IPv4Address):
        return []
    found: list[IPAddress | None] = [address.ipv4_mapped, address.sixtofour]
    if address.teredo is not None:
        found += address.teredo
    if address in _NAT64:
        found.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return [it for it in found if it is not None]
