"""What OGC API - Features answers, as documents for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import Http404
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
    """A layer of a published release, in the file that holds its features."""

    release: Release
    file: ReleaseFile

    @property
    def layer(self) -> str:
        """The layer's name."""
        return self.file.name.removesuffix(SUFFIX)

    @property
    def id(self) -> str:
        """The collection's id: the release's and the layer's."""
        return f"{self.release.pk}.{self.layer}"

    @property
    def title(self) -> str:
        """What it is, for a list of layers."""
        return f"{self.release.title}: {self.layer}"


def collections_of(release: Release) -> list[Collection]:
    """The layers of a release that can be read feature by feature."""
    files = [each for each in release.files.all() if each.public and each.name.endswith(SUFFIX)]
    return [Collection(release, file) for file in files]


def find_collection(collection_id: str) -> Collection:
    """A collection by its id. Raises Http404, and Gone where its release is withdrawn."""
    match = re.fullmatch(r"([\w-]{1,32})\.([\w-]{1,60})", collection_id, re.ASCII)
    if match is None:
        raise Http404
    release = Release.objects.filter(pk=match[1], state__in=KNOWN).select_related("dataset").first()
    if release is None:
        raise Http404
    check_served(release)
    file = release.files.filter(name=match[2] + SUFFIX, public=True).first()
    if file is None:
        raise Http404
    return Collection(release, file)


def link(rel: str, href: str, media_type: str, title: str = "") -> Document:
    """A link (RFC 8288) as JSON."""
    found = {"rel": rel, "type": media_type, "href": href}
    return {**found, "title": title} if title else found


def themselves(request: Request, form: str, media_type: str = JSON) -> list[Document]:
    """The links to this very answer and to it in the other form."""
    json_url, html_url = in_form(request, "json"), in_form(request, "html")
    here, other = ("self", "alternate") if form == "json" else ("alternate", "self")
    return [link(here, json_url, media_type, "As JSON"), link(other, html_url, HTML, "As a page")]


def in_form(request: Request, form: str) -> str:
    """The address of this answer in a form."""
    query = request._request.GET.copy()
    query["f"] = form
    return request.build_absolute_uri(f"{request.path}?{query.urlencode()}")


def landing(request: Request, form: str) -> Document:
    """Where clients begin."""
    description = reverse("ogc:api")
    return {
        "title": "Differentially private maps",
        "description": "Every published map of this server, layer by layer. Each count carries "
        "noise and says how much.",
        "links": [
            *themselves(request, form),
            link("service-desc", _absolute(request, description, "json"), OPENAPI, "For programs"),
            link("service-doc", _absolute(request, description, "html"), HTML, "For people"),
            link("conformance", address_of(request, "ogc:conformance"), JSON, "Conformance"),
            link("data", address_of(request, "ogc:collections"), JSON, "The collections"),
        ],
    }


def conformance(request: Request, form: str) -> Document:
    """The conformance classes that the tests of this project check."""
    return {"conformsTo": list(CONFORMANCE), "links": themselves(request, form)}


def collections(request: Request, form: str, next_url: str | None) -> Document:
    """The members of a page of collections but the collections themselves."""
    links = themselves(request, form)
    if next_url:
        links.append(link("next", next_url, JSON if form == "json" else HTML, "Further ones"))
    return {"links": links}


def collection(request: AnyRequest, found: Collection, form: str = "json") -> Document:
    """One collection; its content is the same in the list and by itself, but for its form."""
    release = found.release
    here = reverse("ogc:collection", args=[found.id])
    items = reverse("ogc:items", args=[found.id])
    this, other = ("self", "alternate") if form == "json" else ("alternate", "self")
    links = [
        link(this, _absolute(request, here, "json"), JSON, "This collection as JSON"),
        link(other, _absolute(request, here, "html"), HTML, "This collection as a page"),
        link("items", _absolute(request, items, "json"), GEOJSON, "Its features"),
        link("items", _absolute(request, items, "html"), HTML, "Its features as a page"),
        link("describedby", address_of(request, "release", release.pk), HTML, "The map"),
        *_files(request, found),
    ]
    return {
        "id": found.id,
        "title": found.title,
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
    found: Collection,
    features: Sequence[Feature],
    following: int | None,
) -> Document:
    """The members of a page of features but the features themselves."""
    links = themselves(request, form, GEOJSON)
    if following is not None:
        query = {**request.query_params.dict(), "start": str(following)}
        href = request.build_absolute_uri(f"{request.path}?{urlencode(query)}")
        links.append(link("next", href, GEOJSON if form == "json" else HTML, "Further features"))
    links.append(_parent(request, found))
    return {"links": links, "numberReturned": len(features)}


def item_links(request: Request, form: str, found: Collection) -> list[Document]:
    """The links of a feature by itself."""
    return [*themselves(request, form, GEOJSON), _parent(request, found)]


def feature_text(feature: Feature, links: Sequence[Document] = ()) -> str:
    """A feature as GeoJSON text."""
    members = {"type": "Feature", "id": feature.row, "properties": feature.properties}
    if links:
        members["links"] = list(links)
    text = json.dumps(members, ensure_ascii=False, allow_nan=False)
    return f'{text[:-1]}, "geometry": {feature.geometry}}}'


def collection_text(document: Document, features: Iterable[Feature]) -> str:
    """A FeatureCollection as GeoJSON text."""
    head = json.dumps({"type": "FeatureCollection", **document}, ensure_ascii=False)
    body = ",\n".join(map(feature_text, features))
    return f'{head[:-1]}, "features": [\n{body}\n]}}'


def _files(request: AnyRequest, found: Collection) -> list[Document]:
    """The whole layer in every format, and the privacy statement."""
    links = []
    for file in found.release.files.all():
        href = address_of(request, "api:release-file", found.release.pk, file.name)
        if file.name == statement.NAME:
            links.append(link("describedby", href, file.media_type, "Its privacy statement"))
        elif file.name.startswith(f"{found.layer}."):
            whole = link("enclosure", href, file.media_type, f"The whole layer: {file.name}")
            links.append({**whole, "length": file.size})
    return links


def _parent(request: AnyRequest, found: Collection) -> Document:
    href = _absolute(request, reverse("ogc:collection", args=[found.id]), "json")
    return link("collection", href, JSON, found.title)


def _absolute(request: AnyRequest, path: str, form: str) -> str:
    return request.build_absolute_uri(f"{path}?f={form}")
