"""Security headers that stop pages from loading from, or sending to, other sites."""

from __future__ import annotations

import re
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.signals import user_logged_out
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed

from dpgeo.pages.outside_ground import outside_ground

MAP_WORKER = "assets/map-worker-"
"""Beginning of the path, below STATIC_URL, of the script that fetches a map's tiles in a web
worker.
"""


def policy(*, framable: bool = False, tiles: str = "") -> str:
    """Return the Content-Security-Policy of a page, which may be framed only if `framable` is true.

    `tiles` is the one other origin from which a page may load data, for the basemap of its map.

    The policy of a framable page has no `frame-ancestors` at all. With `*`, pages that did not come
    from a network, such as a saved file or a notebook in an editor, could not frame it.

    Scripts come only from this server's files, so that uploaded text cannot run as a script. Inline
    styles are allowed, because the map library and the charts set them.
    """
    return "; ".join(
        [
            "default-src 'self'",
            *([f"connect-src 'self' {tiles}"] if tiles else []),
            "img-src 'self' data: blob:",
            "style-src 'self' 'unsafe-inline'",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            *([] if framable else ["frame-ancestors 'none'"]),
        ]
    )


MEMBERS_ONLY = re.compile(r"/([a-z]{2}/)?(desk|admin|accounts)/")
"""Matches the paths of pages for members, of which no cache may keep anything."""

PERMISSIONS = "camera=(), microphone=(), geolocation=(), payment=(), usb=(), browsing-topics=()"


@receiver(user_logged_out, dispatch_uid="clear-site-data")
def note_sign_out(request: HttpRequest | None, **_: object) -> None:
    """Mark a request that signs its user out: its response makes the browser drop stored pages."""
    if request is not None:
        request.has_signed_out = True  # type: ignore[attr-defined]


def content_security_policy(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware that sets the Content-Security-Policy of every response without one of its own.

    Browsers keep no page for members, and drop what they have of this site when somebody signs out.
    TRACE, which would repeat the headers of a request, is refused.

    Pages that Django allows other sites to frame (`xframe_options_exempt`) get a policy that allows
    framing too. Pages whose basemap comes from another server (`outside_origin`) may load data from
    that server, and so may the worker script that draws such maps.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.method == "TRACE":
            return HttpResponseNotAllowed(["GET", "HEAD", "OPTIONS", "POST"])
        response = get_response(request)
        framable = getattr(response, "xframe_options_exempt", False)
        tiles = getattr(request, "outside_origin", "") or _worker_origin(request)
        own = policy(framable=framable, tiles=tiles)
        response.headers.setdefault("Content-Security-Policy", own)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        if MEMBERS_ONLY.match(request.path):
            response.headers.setdefault("Cache-Control", "private, no-store")
        if getattr(request, "has_signed_out", False):
            # Do not clear cookies: the one that marks a known device lets the user sign in from it
            # even while sign-ins to the account from elsewhere are blocked.
            response.headers["Clear-Site-Data"] = '"cache", "storage"'
        return response

    return middleware


def _worker_origin(request: HttpRequest) -> str:
    """Return the origin whose tiles the requested worker script may fetch, or "".

    A worker has the policy with which its script file was sent. Browsers cache the file, with its
    policy, for a year, so maps with a basemap from another server request it by a URL of its own.
    """
    if not request.path.startswith(f"{settings.STATIC_URL}{MAP_WORKER}"):
        return ""
    outside = outside_ground() if "outside" in request.GET else None
    return outside.origin if outside else ""
