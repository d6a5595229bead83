"""The host that requests name, reduced to what this site is called.

Pages, feeds, the sitemap and the catalogue contain absolute URLs, and caches keep them. Django
checks the name of a request's host, but takes any port and a dot after the name, so that whoever
sends a request could choose where the links in its answer lead. The sites that DPGEO_HOSTS names
are all at the port of DPGEO_ORIGIN.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port

from dpgeo.accounts.site_links import LOCAL


def plain_host(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware that replaces the port and spelling of the host that a request names.

    Local hosts keep a port: nobody else can be led there, and a tunnel or container may have moved
    it. A host that cannot be read is left for Django to refuse.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        domain, port = split_domain_port(request.META.get("HTTP_HOST", ""))
        if domain and not (port and domain in LOCAL):
            own = urlsplit(settings.DPGEO_ORIGIN).port
            request.META["HTTP_HOST"] = f"{domain}:{own}" if own else domain
        return get_response(request)

    return middleware
