"""Choice of a page's language: by its URL (`/de/...`), or else by the browser.

A URL without a language prefix serves every language; API documents, citations and files use such
URLs. Links on a page with a language in its URL keep that language.
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
"""The language code for each language prefix in URLs."""

NOT_PAGES = (
    "/admin/",
    "/api/",
    "/ground/",
    "/healthz",
    "/ogc/",
    "/readyz",
    f"/{settings.STATIC_URL}",
)
"""Beginnings of URL paths whose responses are always in the site's default language."""


class PagesBehind:
    """URL configuration that puts all pages behind one language prefix, such as `/de/`."""

    handler500 = handler500

    def __init__(self, prefix: str) -> None:
        self.urlpatterns: list[URLPattern | URLResolver] = [
            *SERVICES,
            path(f"{prefix}/", include("dpgeo.pages.urls")),
        ]


URLCONFS = {prefix: PagesBehind(prefix) for prefix in PREFIXES}


@dataclass(frozen=True, slots=True)
class Version:
    """A link to a page in one language; `code` is "" if the URL has no language prefix."""

    code: str
    name: str
    address: str


def page_language(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Return a middleware that chooses the language of each page.

    It also sets `request.versions`, links to the page in each language and without a language
    prefix.
    """

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
        elif response.status_code == 304 and not prefix:
            patch_vary_headers(response, ("Accept-Language",))
        return response

    return answer


def _divide(address: str) -> tuple[str, str]:
    """Split a path into its language prefix, or "", and the rest."""
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
