"""Links to this site for mail, identity providers and other places outside a page.

They begin with the setting DPGEO_ORIGIN, never with the host that a request names: whoever sends a
request chooses that host's port and spelling, and would choose where somebody else's link leads.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks

LOCAL = {"localhost", "127.0.0.1", "::1", "[::1]"}
"""Host names by which only programs on the same machine reach the site."""

ORIGIN = re.compile(r"https?://[a-z0-9.-]*[a-z0-9](:[0-9]{1,5})?|http://\[::1\](:[0-9]{1,5})?")


def site_link(path: str) -> str:
    """Return the absolute URL of a path on this site."""
    return f"{settings.DPGEO_ORIGIN}{path}"


def site_name() -> str:
    """Return the host name of this site, with its port unless that is the usual one."""
    return urlsplit(str(settings.DPGEO_ORIGIN)).netloc


@checks.register(checks.Tags.security)
def check_origin(**_: Any) -> list[checks.CheckMessage]:
    """Check that links to this site lead to it, where others can reach it."""
    origin = settings.DPGEO_ORIGIN
    if not ORIGIN.fullmatch(origin):
        return [_error("DPGEO_ORIGIN is not an origin.", "E006")]
    is_public = bool({*settings.ALLOWED_HOSTS} - LOCAL)
    if is_public and urlsplit(origin).hostname in LOCAL:
        return [_error("DPGEO_ORIGIN is missing, so links in mail lead nowhere.", "E007")]
    if is_public and settings.HTTPS and not origin.startswith("https://"):
        return [_error("DPGEO_ORIGIN does not begin with https://, as the site does.", "E008")]
    return []


def _error(text: str, number: str) -> checks.Error:
    hint = "Set it to what visitors see before the first slash, such as https://maps.example.org."
    return checks.Error(text, hint=hint, id=f"dpgeo.accounts.{number}")
