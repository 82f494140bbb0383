"""A running service for the stories, over either database, and the people who ask it."""

from __future__ import annotations

from tests.http.conftest import admin, module_url, public, server
from tests.pages.conftest import visitor

__all__ = ["admin", "module_url", "public", "server", "visitor"]
