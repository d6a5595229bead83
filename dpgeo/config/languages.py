"""Languages of the pages: chosen in the address (`/de/...`), or else the browser's wish.

An address without a language belongs to no language: it is what API documents, citations and
files give. Links on a page behind a language stay behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, include, path
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language_from_request, get_language_info, override

from dpgeo.config.urls import SERVICES, handler500

PREFIXES = {code.removesuffix("-gb"): code for code, _ in settings.LANGUAGES}
"""The languages' names in addresses, with their codes."""

NOT_PAGES = (
    "/admin/",
    "/api/",
    "/ground/",
    "/healthz",
    "/ogc/",
    "/readyz",
    f"/{settings.STATIC_URL}",
)
"""Where the addresses begin that answer in the language of the site."""


class PagesBehind:
    """A URL configuration with the pages behind the name of a language."""

    handler500 = handler500

    def __init__(self, prefix: str) -> None:
        self.urlpatterns: list[URLPattern | URLResolver] = [
            *SERVICES,
            path(f"{prefix}/", include("dpgeo.pages.urls")),
        ]


URLCONFS = {prefix: PagesBehind(prefix) for prefix in PREFIXES}


@dataclass(frozen=True, slots=True)
class Version:
    """A page in another language; `code` is "" for the address without a language."""

    code: str
    name: str
    address: str


def page_language(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware that chooses the language of pages; sets `request.versions` for their links."""

    def answer(request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith(NOT_PAGES):
            return get_response(request)
        prefix, rest = _divide(request.path_info)
        code = PREFIXES[prefix] if prefix else get_language_from_request(request)
        if prefix:
            request.urlconf = URLCONFS[prefix]  # type: ignore[attr-defined]
        request.versions = _versions(request, rest)  # type: ignore[attr-defined]
        with override(code):
            response = get_response(request)
        if response.get("Content-Type", "").startswith("text/html"):
            response.setdefault("Content-Language", code)
            if not prefix:
                patch_vary_headers(response, ("Accept-Language",))
        return response

    return answer


def _divide(address: str) -> tuple[str, str]:
    """Divide a path into the name of its language, or "", and the rest."""
    prefix, _, rest = address.removeprefix("/").partition("/")
    return (prefix, f"/{rest}") if prefix in PREFIXES else ("", address)


def _versions(request: HttpRequest, rest: str) -> list[Version]:
    query = request.META.get("QUERY_STRING")
    page = f"{rest}?{query}" if query else rest
    versions = [
        Version(code, get_language_info(prefix)["name_local"], f"/{prefix}{page}")
        for prefix, code in PREFIXES.items()
    ]
    return [*versions, Version("", "", page)]
