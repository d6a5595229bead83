"""Atom feed of the published maps, newest first (RFC 4287).

An entry is dated only by the day of publication, as on every public page, because a time of day
could reveal how long a job took.
"""

from __future__ import annotations

from xml.etree import ElementTree

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from dpgeo.releases.models import Release
from dpgeo.releases.promises import promise_of
from dpgeo.releases.selectors import releases_public

ATOM = "http://www.w3.org/2005/Atom"

MOST_ENTRIES = 50

EARLIEST = "1970-01-01"
"""Date in a feed without entries, because Atom requires one."""


@require_safe
def feed(request: HttpRequest) -> HttpResponse:
    """List the newest published maps, each with its privacy promise."""
    ElementTree.register_namespace("", ATOM)
    root = ElementTree.Element(f"{{{ATOM}}}feed")
    releases = list(releases_public()[:MOST_ENTRIES])
    address = request.build_absolute_uri(reverse("feed"))
    _add(root, "id", address)
    _add(root, "title", gettext("Maps"))
    _add(root, "link", rel="self", href=address)
    _add(root, "link", rel="alternate", href=request.build_absolute_uri("/"))
    _add(root, "updated", max(map(_day, releases), default=f"{EARLIEST}T00:00:00Z"))
    for release in releases:
        _add_entry(root, request, release)
    text = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return HttpResponse(text, content_type="application/atom+xml; charset=utf-8")


def _add_entry(root: ElementTree.Element, request: HttpRequest, release: Release) -> None:
    entry = ElementTree.SubElement(root, f"{{{ATOM}}}entry")
    address = request.build_absolute_uri(reverse("release", args=[release.pk]))
    _add(entry, "id", address)
    _add(entry, "title", release.title)
    _add(entry, "link", rel="alternate", type="text/html", href=address)
    _add(entry, "updated", _day(release))
    _add(entry, "published", _day(release))
    author = ElementTree.SubElement(entry, f"{{{ATOM}}}author")
    _add(author, "name", release.dataset.organisation.name)
    _add(entry, "rights", release.dataset.licence)
    summary = " ".join(filter(None, (release.description, promise_of(release).sentence)))
    _add(entry, "summary", summary)


def _add(parent: ElementTree.Element, name: str, text: str = "", **attributes: str) -> None:
    # XML 1.0 cannot represent most control characters, so leave them out.
    plain = "".join(sign for sign in text if sign.isprintable() or sign in "\n\t")
    ElementTree.SubElement(parent, f"{{{ATOM}}}{name}", attributes).text = plain or None


def _day(release: Release) -> str:
    day = release.published_at.date().isoformat() if release.published_at else EARLIEST
    return f"{day}T00:00:00Z"
