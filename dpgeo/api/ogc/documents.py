"""JSON documents of OGC API - Features."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework.request import Request

from dpgeo.api.access import check_served
from dpgeo.api.documents import AnyRequest, address_of
from dpgeo.artefacts import statement
from dpgeo.artefacts.feature_pages import Feature
from dpgeo.releases.models import Release, ReleaseFile
from dpgeo.releases.states import KNOWN

CRS84 = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"

CONFORMANCE = tuple(
    f"http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/{name}"
    for name in ("core", "oas30", "html", "geojson")
)

JSON = "application/json"
GEOJSON = "application/geo+json"
HTML = "text/html"
OPENAPI = "application/vnd.oai.openapi+json;version=3.0"

SUFFIX = ".parquet"

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Collection:
    """A layer of a published release, and the file with the layer's features."""

    release: Release
    file: ReleaseFile

    @property
    def layer(self) -> str:
        """Return the layer's name."""
        return self.file.name.removesuffix(SUFFIX)

    @property
    def id(self) -> str:
        """Return the collection's id: the release's id, a dot and the layer's name."""
        return f"{self.release.pk}.{self.layer}"

    @property
    def title(self) -> str:
        """Return the release's title with the layer's name."""
        return f"{self.release.title}: {self.layer}"


def collections_of(release: Release) -> list[Collection]:
    """Return the layers of a release that have a public file of features."""
    files = [each for each in release.files.all() if each.public and each.name.endswith(SUFFIX)]
    return [Collection(release, file) for file in files]


def find_collection(collection_id: str) -> Collection:
    """Return a collection by its id.

    Raises Http404 if there is none, and Gone if its release is withdrawn.
    """
    match = re.fullmatch(r"([\w-]{1,32})\.([\w-]{1,60})", collection_id, re.ASCII)
    if match is None:
        raise Http404
    known = Release.objects.filter(state__in=KNOWN).select_related("dataset")
    release = get_object_or_404(known, pk=match[1])
    check_served(release)
    file = get_object_or_404(release.files, name=match[2] + SUFFIX, public=True)
    return Collection(release, file)


def link(rel: str, href: str, media_type: str, title: str = "") -> Document:
    """Return a link (RFC 8288) as a JSON object; an empty title is left out."""
    document = {"rel": rel, "type": media_type, "href": href}
    return {**document, "title": title} if title else document


def themselves(request: Request, form: str, media_type: str = JSON) -> list[Document]:
    """Return the links to this document as JSON and as a page; that in `form` is "self"."""
    json_url, html_url = in_form(request, "json"), in_form(request, "html")
    here, other = ("self", "alternate") if form == "json" else ("alternate", "self")
    return [link(here, json_url, media_type, "As JSON"), link(other, html_url, HTML, "As a page")]


def in_form(request: Request, form: str) -> str:
    """Return the URL of this document in the given form, json or html."""
    query = request._request.GET.copy()
    query["f"] = form
    return request.build_absolute_uri(f"{request.path}?{query.urlencode()}")


def landing(request: Request, form: str) -> Document:
    """Return the landing page."""
    description = reverse("ogc:api")
    return {
        "title": "Differentially private maps",
        "description": "Every published map of this server, layer by layer. Every count has "
        "noise, whose size is stated.",
        "links": [
            *themselves(request, form),
            link("service-desc", _absolute(request, description, "json"), OPENAPI, "For programs"),
            link("service-doc", _absolute(request, description, "html"), HTML, "For people"),
            link("conformance", address_of(request, "ogc:conformance"), JSON, "Conformance"),
            link("data", address_of(request, "ogc:collections"), JSON, "The collections"),
        ],
    }


def conformance(request: Request, form: str) -> Document:
    """Return the document of the conformance classes; the tests check that they are met."""
    return {"conformsTo": list(CONFORMANCE), "links": themselves(request, form)}


def collections(request: Request, form: str, next_url: str | None) -> Document:
    """Return the document of a page of collections, without its collections.

    `next_url` is None on the last page.
    """
    links = themselves(request, form)
    if next_url:
        links.append(link("next", next_url, JSON if form == "json" else HTML, "Next page"))
    return {"links": links}


def collection_document(
    request: AnyRequest, collection: Collection, form: str = "json"
) -> Document:
    """Return a collection's document; its link "self" is the one to `form`, json or html."""
    release = collection.release
    here = reverse("ogc:collection", args=[collection.id])
    items = reverse("ogc:items", args=[collection.id])
    this, other = ("self", "alternate") if form == "json" else ("alternate", "self")
    links = [
        link(this, _absolute(request, here, "json"), JSON, "This collection as JSON"),
        link(other, _absolute(request, here, "html"), HTML, "This collection as a page"),
        link("items", _absolute(request, items, "json"), GEOJSON, "Its features"),
        link("items", _absolute(request, items, "html"), HTML, "Its features as a page"),
        link("describedby", address_of(request, "release", release.pk), HTML, "The map"),
        *_files(request, collection),
    ]
    return {
        "id": collection.id,
        "title": collection.title,
        "description": release.description,
        "attribution": release.dataset.attribution,
        "links": links,
        "extent": {"spatial": {"bbox": [list(release.dataset.bounds)], "crs": CRS84}},
        "itemType": "feature",
        "crs": [CRS84],
    }


def items(
    request: Request,
    form: str,
    collection: Collection,
    features: Sequence[Feature],
    following: int | None,
) -> Document:
    """Return the document of a page of features, without its features.

    `following` is the row at which the next page starts; None on the last page.
    """
    links = themselves(request, form, GEOJSON)
    if following is not None:
        query = {**request.query_params.dict(), "start": str(following)}
        href = request.build_absolute_uri(f"{request.path}?{urlencode(query)}")
        links.append(link("next", href, GEOJSON if form == "json" else HTML, "Next page"))
    links.append(_parent(request, collection))
    return {"links": links, "numberReturned": len(features)}


def item_links(request: Request, form: str, collection: Collection) -> list[Document]:
    """Return the links of a single feature."""
    return [*themselves(request, form, GEOJSON), _parent(request, collection)]


def feature_text(feature: Feature, links: Sequence[Document] = ()) -> str:
    """Return a feature as GeoJSON text."""
    members = {"type": "Feature", "id": feature.row, "properties": feature.properties}
    if links:
        members["links"] = list(links)
    text = json.dumps(members, ensure_ascii=False, allow_nan=False)
    return f'{text[:-1]}, "geometry": {feature.geometry}}}'


def collection_text(document: Document, features: Iterable[Feature]) -> str:
    """Return `document` and its features as the GeoJSON text of a FeatureCollection."""
    head = json.dumps({"type": "FeatureCollection", **document}, ensure_ascii=False)
    body = ",\n".join(map(feature_text, features))
    return f'{head[:-1]}, "features": [\n{body}\n]}}'


def _files(request: AnyRequest, collection: Collection) -> list[Document]:
    """Return links to the whole layer in every format, and to the privacy statement."""
    links = []
    for file in collection.release.files.all():
        href = address_of(request, "api:release-file", collection.release.pk, file.name)
        if file.name == statement.NAME:
            links.append(link("describedby", href, file.media_type, "Its privacy statement"))
        elif file.name.startswith(f"{collection.layer}."):
            whole = link("enclosure", href, file.media_type, f"The whole layer: {file.name}")
            links.append({**whole, "length": file.size})
    return links


def _parent(request: AnyRequest, collection: Collection) -> Document:
    href = _absolute(request, reverse("ogc:collection", args=[collection.id]), "json")
    return link("collection", href, JSON, collection.title)


def _absolute(request: AnyRequest, path: str, form: str) -> str:
    return request.build_absolute_uri(f"{path}?f={form}")
