"""Security headers that keep pages from loading from, or sending to, other sites."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from dpgeo.pages.outside_ground import outside_ground

MAP_WORKER = "assets/map-worker-"
"""How the file of the map's worker begins below STATIC_URL; the worker fetches the tiles."""


def policy(*, framable: bool = False, tiles: str = "") -> str:
    """Return the policy of what a page may load, and that nobody may frame it unless `framable`.

    `tiles` is the one other origin that a page may ask, for the ground of its map.

    A framable page names no ancestors at all: `*` would leave out pages that came from no network,
    such as a saved file or a notebook in an editor.

    Scripts come from this server's files alone, so that uploaded text cannot run as a script.
    Inline styles are allowed, because the map library and the charts set them.
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


PERMISSIONS = "camera=(), microphone=(), geolocation=(), payment=(), usb=(), browsing-topics=()"


def content_security_policy(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware that sets the policy on every response that has none of its own.

    Pages that Django allows other sites to frame (`xframe_options_exempt`) get a policy that
    allows framing too. Pages whose map lies on another server's ground (`outside_origin`) may ask
    that server, and so may the script that draws such maps.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        framable = getattr(response, "xframe_options_exempt", False)
        tiles = getattr(request, "outside_origin", "") or _worker_origin(request)
        own = policy(framable=framable, tiles=tiles)
        response.headers.setdefault("Content-Security-Policy", own)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        return response

    return middleware


def _worker_origin(request: HttpRequest) -> str:
    """Return whose tiles the requested worker may fetch; a worker's policy comes with its file.

    Maps on another server's ground ask for the file by an address of its own, since browsers keep
    it, with its policy, for a year.
    """
    if not request.path.startswith(f"{settings.STATIC_URL}{MAP_WORKER}"):
        return ""
    outside = outside_ground() if "outside" in request.GET else None
    return outside.origin if outside else ""
