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
from dpgeo.api.ogc.systems import CRS84, SYSTEMS
from dpgeo.artefacts import statement
from dpgeo.artefacts.feature_pages import Feature, FeatureFile
from dpgeo.releases.models import Release, ReleaseFile
from dpgeo.releases.states import KNOWN

CONFORMANCE = tuple(
    f"http://www.opengis.net/spec/{name}"
    for name in (
        "ogcapi-features-1/1.0/conf/core",
        "ogcapi-features-1/1.0/conf/oas30",
        "ogcapi-features-1/1.0/conf/html",
        "ogcapi-features-1/1.0/conf/geojson",
        "ogcapi-features-2/1.0/conf/crs",
        "ogcapi-features-3/1.0/conf/queryables",
        "ogcapi-features-3/1.0/conf/filter",
        "ogcapi-features-3/1.0/conf/features-filter",
        "ogcapi-features-5/1.0/conf/schemas",
        "cql2/1.0/conf/cql2-text",
        "cql2/1.0/conf/basic-cql2",
        "cql2/1.0/conf/advanced-comparison-operators",
        "cql2/1.0/conf/property-property",
    )
)

JSON = "application/json"
GEOJSON = "application/geo+json"
HTML = "text/html"
SCHEMA = "application/schema+json"
OPENAPI = "application/vnd.oai.openapi+json;version=3.0"

RELATIONS = "http://www.opengis.net/def/rel/ogc/1.0"

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
        """Return the release's title followed by the layer's name."""
        return f"{self.release.title}: {self.layer}"


def collections_of(release: Release) -> list[Collection]:
    """Return the layers of a release that have a public file of features."""
    files = [
        each
        for each in release.files.all()
        if each.public and each.kind.layer and each.name.endswith(SUFFIX)
    ]
    return [Collection(release, file) for file in files]


def find_collection(collection_id: str) -> Collection:
    """Return the collection with this id.

    Raises Http404 if there is none, or Gone if its release is withdrawn.
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
    """Return the links to this document as JSON and as a page.

    The link in the requested form `form` has the relation "self".
    """
    json_url, html_url = in_form(request, "json"), in_form(request, "html")
    here, other = ("self", "alternate") if form == "json" else ("alternate", "self")
    return [link(here, json_url, media_type, "As JSON"), link(other, html_url, HTML, "As a page")]


def in_form(request: Request, form: str) -> str:
    """Return the URL of this document in the given form, json or html."""
    query = request._request.GET.copy()
    query["f"] = form
    return request.build_absolute_uri(f"{request.path}?{query.urlencode()}")


def landing(request: Request, form: str) -> Document:
    """Return the JSON document of the landing page."""
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
    """Return the document that lists the conformance classes; tests check that they are met."""
    return {"conformsTo": list(CONFORMANCE), "links": themselves(request, form)}


def collections(request: Request, form: str, next_url: str | None) -> Document:
    """Return the document for one page of collections, without the collections themselves.

    `next_url` is None on the last page.
    """
    links = themselves(request, form)
    if next_url:
        links.append(link("next", next_url, JSON if form == "json" else HTML, "Next page"))
    return {"links": links}


def collection_document(
    request: AnyRequest, collection: Collection, form: str = "json"
) -> Document:
    """Return a collection's document, with the link "self" in the form `form`, json or html."""
    release = collection.release
    here = reverse("ogc:collection", args=[collection.id])
    items = reverse("ogc:items", args=[collection.id])
    this, other = ("self", "alternate") if form == "json" else ("alternate", "self")
    links = [
        link(this, _absolute(request, here, "json"), JSON, "This collection as JSON"),
        link(other, _absolute(request, here, "html"), HTML, "This collection as a page"),
        link("items", _absolute(request, items, "json"), GEOJSON, "Its features"),
        link("items", _absolute(request, items, "html"), HTML, "Its features as a page"),
        *(
            link(f"{RELATIONS}/{name}", _absolute(request, path, "json"), SCHEMA, title)
            for name, path, title in (
                ("schema", reverse("ogc:schema", args=[collection.id]), "Its columns"),
                ("queryables", reverse("ogc:queryables", args=[collection.id]), "For filters"),
            )
        ),
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
        "crs": list(SYSTEMS),
        "storageCrs": CRS84,
    }


def schema(
    request: Request, collection: Collection, features: FeatureFile, *, geometry: bool
) -> Document:
    """Return the JSON Schema of a collection's features (Part 5), or of its queryables (Part 3)."""
    kinds = kinds_of(features)
    properties: Document = {
        name: {
            "title": name,
            "type": {"number": "number", "text": "string"}[kind],
            "x-ogc-propertySeq": number,
        }
        for number, (name, kind) in enumerate(kinds.items(), 1)
    }
    if geometry:
        properties["geometry"] = {
            "x-ogc-role": "primary-geometry",
            "format": geometry_format(features.geometry_types),
        }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": request.build_absolute_uri(request.path),
        "type": "object",
        "title": collection.title,
        "properties": properties,
        "additionalProperties": False,
    }


def kinds_of(features: FeatureFile) -> dict[str, str]:
    """Return whether each property is a "number" or a "text", by its name.

    Released features have no date columns, and the times of slices are texts.
    """
    import pyarrow as pa

    texts = (pa.string(), pa.large_string())
    return {each.name: "text" if each.type in texts else "number" for each in features.schema}


def geometry_format(kinds: Sequence[str]) -> str:
    """Return the OGC schema format for these geometry types, such as "geometry-polygon"."""
    single = {kind.removeprefix("Multi").lower() for kind in kinds}
    if len(single) != 1:
        return "geometry-any"
    (name,) = single
    if len(kinds) == 1:
        return f"geometry-{kinds[0].lower()}"
    return f"geometry-{name}-or-multi{name}"


def items(
    request: Request,
    form: str,
    collection: Collection,
    features: Sequence[Feature],
    following: int | None,
) -> Document:
    """Return the document for one page of features, without the features themselves.

    `following` is the row at which the next page starts, or None on the last page.
    """
    links = themselves(request, form, GEOJSON)
    if following is not None:
        query = {**request.query_params.dict(), "start": str(following)}
        href = request.build_absolute_uri(f"{request.path}?{urlencode(query)}")
        links.append(link("next", href, GEOJSON if form == "json" else HTML, "Next page"))
    links.append(_parent(request, collection))
    return {"links": links, "numberReturned": len(features)}


def item_links(request: Request, form: str, collection: Collection) -> list[Document]:
    """Return the links for a page that shows a single feature."""
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
