"""Security headers: pages load nothing from other sites and send nothing to them."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


def policy(*, frame_ancestors: str = "'none'") -> str:
    """Return the policy of what a page may load and who may frame it.

    Scripts come from this server's files alone, so that uploaded text cannot run as a script.
    Inline styles are allowed, because the map library and the charts set them.
    """
    return "; ".join(
        [
            "default-src 'self'",
            "img-src 'self' data: blob:",
            "style-src 'self' 'unsafe-inline'",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            f"frame-ancestors {frame_ancestors}",
        ]
    )


POLICY, FRAMABLE_POLICY = policy(), policy(frame_ancestors="*")

PERMISSIONS = "camera=(), microphone=(), geolocation=(), payment=(), usb=(), browsing-topics=()"


def content_security_policy(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware that sets the policy on every response that has none of its own.

    Pages that Django allows other sites to frame (`xframe_options_exempt`) get a policy that
    allows framing too.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        framable = getattr(response, "xframe_options_exempt", False)
        own = FRAMABLE_POLICY if framable else POLICY
        response.headers.setdefault("Content-Security-Policy", own)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        return response

    return middleware
