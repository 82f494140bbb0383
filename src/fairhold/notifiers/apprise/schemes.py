"""Which services of Apprise may be used: those that have one address of their own.

Most others go to any host that their address names, resolve it themselves and follow where it leads, so that
no guard of ours could keep them away from inner addresses. Who runs the service may allow them by scheme.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Final

ALL: Final = "*"
SCHEMES: Final = frozenset(
    {
        "dingtalk",
        "discord",
        "feishu",
        "flock",
        "gchat",
        "ifttt",
        "lark",
        "line",
        "opsgenie",
        "pagerduty",
        "pbul",
        "pover",
        "prowl",
        "signl4",
        "slack",
        "tgram",
        "threema",
        "twist",
        "webex",
        "wxteams",
    }
)


def allowed_besides(environment: Mapping[str, str] | None = None) -> frozenset[str]:
    """The schemes that FAIRHOLD_APPRISE_SCHEMES names, with commas between them."""
    env = os.environ if environment is None else environment
    said = env.get("FAIRHOLD_APPRISE_SCHEMES", "").split(",")
    return frozenset(scheme.strip().lower() for scheme in said if scheme.strip())


def may_use(scheme: str, also: Collection[str]) -> bool:
    return scheme.lower() in SCHEMES or scheme.lower() in also or ALL in also


def scheme_of(address: str) -> str:
    """What stands before the :// of an address; nothing if it has none."""
    scheme, there, _ = address.strip().partition("://")
    return scheme if there else ""
