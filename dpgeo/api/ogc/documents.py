"""JSON documents of OGC API - Features.

Models declare their schemas for the OpenAPI description. Documents link to all of their forms, JSON
and HTML; the requested form is "self".
"""

# ruff: noqa: N815  The standard names the members of its documents in camel case.

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, time
from typing import Annotated
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.urls import reverse
from pydantic import Field, WithJsonSchema
from rest_framework.request import Request

from dpgeo.api.answers import Answer, AnyRequest, Json, address_of, optional
from dpgeo.api.ogc.collections import Collection, SeriesCollection
from dpgeo.api.ogc.systems import CRS84, SYSTEMS
from dpgeo.artefacts import statement
from dpgeo.artefacts.feature_pages import Feature, FeatureFile
from dpgeo.artefacts.series_files import LONG

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

Count = Annotated[int, Field(ge=0)]

AnyCollection = Collection | SeriesCollection

LAST_SECOND = time(23, 59, 59)


class LinkOut(Answer):
    """A link (RFC 8288)."""

    rel: str
    type: str = optional()
    href: str
    title: str = optional()
    length: Count = optional()


class LandingPageOut(Answer):
    """The landing page."""

    title: str = optional()
    description: str = optional()
    links: list[LinkOut]


def landing_page(request: Request, form: str) -> Json:
    description = reverse("ogc:api")
    return {
        "title": "Differentially private maps",
        "description": "Every published map of this server, layer by layer. Every count has noise, "
        "whose size is stated.",
        "links": [
            *themselves(request, form),
            link("service-desc", _absolute(request, description, "json"), OPENAPI, "For programs"),
            link("service-doc", _absolute(request, description, "html"), HTML, "For people"),
            link("conformance", address_of(request, "ogc:conformance"), JSON, "Conformance"),
            link("data", address_of(request, "ogc:collections"), JSON, "The collections"),
        ],
    }


class ConformanceOut(Answer):
    """The conformance classes that the server meets."""

    conformsTo: list[str]
    links: list[LinkOut] = optional()


class SpatialExtentOut(Answer):
    """The boxes around the features of a collection."""

    bbox: Annotated[
        list[Annotated[list[float], Field(min_length=4, max_length=6)]], Field(min_length=1)
    ]
    crs: str = optional()


class TemporalExtentOut(Answer):
    """The interval of time that the features of a collection cover."""

    interval: Annotated[
        list[Annotated[list[str], Field(min_length=2, max_length=2)]], Field(min_length=1)
    ]


class ExtentOut(Answer):
    """Where, and in a series when, the features of a collection lie."""

    spatial: SpatialExtentOut = optional()
    temporal: TemporalExtentOut = optional()


class CollectionOut(Answer):
    """A collection: one layer of a published release, or all maps of a series."""

    id: str
    title: str = optional()
    description: str = optional()
    attribution: str = optional()
    links: list[LinkOut]
    extent: ExtentOut = optional()
    itemType: str = optional()
    crs: list[str] = optional()
    storageCrs: str = optional()


class CollectionsOut(Answer):
    """One page of collections."""

    links: list[LinkOut]
    collections: list[CollectionOut]


def collection_document(request: Request, form: str, collection: AnyCollection) -> Json:
    release = collection.release
    return {
        "id": collection.id,
        "title": collection.title,
        "description": release.description,
        "attribution": release.dataset.attribution,
        "links": _collection_links(request, form, collection),
        "extent": _extent(collection),
        "itemType": "feature",
        "crs": list(SYSTEMS),
        "storageCrs": CRS84,
    }


def _collection_links(request: Request, form: str, collection: AnyCollection) -> list[Json]:
    here = reverse("ogc:collection", args=[collection.id])
    items = reverse("ogc:items", args=[collection.id])
    this, other = ("self", "alternate") if form == "json" else ("alternate", "self")
    schema_links = [
        link(f"{RELATIONS}/{name}", _absolute(request, path, "json"), SCHEMA, title)
        for name, path, title in (
            ("schema", reverse("ogc:schema", args=[collection.id]), "Its columns"),
            ("queryables", reverse("ogc:queryables", args=[collection.id]), "For filters"),
        )
    ]
    return [
        link(this, _absolute(request, here, "json"), JSON, "This collection as JSON"),
        link(other, _absolute(request, here, "html"), HTML, "This collection as a page"),
        link("items", _absolute(request, items, "json"), GEOJSON, "Its features"),
        link("items", _absolute(request, items, "html"), HTML, "Its features as a page"),
        *schema_links,
        *_described(request, collection),
    ]


def _extent(collection: AnyCollection) -> Json:
    """Return the bounds of the study area and, in a series, the interval its maps cover."""
    spatial = {"spatial": {"bbox": [list(collection.release.dataset.bounds)], "crs": CRS84}}
    if isinstance(collection, Collection):
        return spatial
    first, last = collection.days
    zone = ZoneInfo(collection.series.dataset.time_zone)
    ends = [datetime.combine(first, time.min, zone), datetime.combine(last, LAST_SECOND, zone)]
    moments = [f"{each.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" for each in ends]
    return {**spatial, "temporal": {"interval": [moments]}}


class FeatureOut(Answer):
    """A feature as GeoJSON. A feature in a list has no links."""

    type: Annotated[str, WithJsonSchema({"type": "string", "enum": ["Feature"]})]
    id: Count = optional()
    properties: Json
    links: list[LinkOut] = optional()
    geometry: Annotated[str, WithJsonSchema({"type": "object"})]


class FeatureCollectionOut(Answer):
    """One page of features as GeoJSON."""

    type: Annotated[str, WithJsonSchema({"type": "string", "enum": ["FeatureCollection"]})]
    links: list[LinkOut] = optional()
    numberReturned: Count = optional()
    numberMatched: Count = optional()
    features: list[FeatureOut]


def feature_document(feature: Feature, **links: list[Json]) -> Json:
    """Return a feature as GeoJSON, but for its geometry, which is GeoJSON text."""
    return {
        "type": "Feature",
        "id": feature.row,
        "properties": feature.properties,
        **links,
        "geometry": feature.geometry,
    }


def feature_links(request: Request, form: str, collection: AnyCollection) -> list[Json]:
    """Return links from one feature to itself and to its collection."""
    return [*themselves(request, form, GEOJSON), _parent(request, collection)]


def feature_page(
    request: Request,
    form: str,
    collection: AnyCollection,
    features: Sequence[Feature],
    *,
    following: int | None,
    matched: int | None,
) -> Json:
    """Return a page of a collection's features.

    `following` is the row at which the next page starts, or None on the last page. `matched` is the
    number of features in the collection, or None if the request selects only some of them by boxes
    or a filter.
    """
    links = themselves(request, form, GEOJSON)
    if following is not None:
        query = {**request.query_params.dict(), "start": str(following)}
        href = request.build_absolute_uri(f"{request.path}?{urlencode(query)}")
        links.append(link("next", href, GEOJSON if form == "json" else HTML, "Next page"))
    return {
        "type": "FeatureCollection",
        "links": [*links, _parent(request, collection)],
        "numberReturned": len(features),
        **({} if matched is None else {"numberMatched": matched}),
        "features": [feature_document(feature) for feature in features],
    }


def link(rel: str, href: str, media_type: str, title: str = "") -> Json:
    """Return a link (RFC 8288) as a JSON object; an empty title is left out."""
    document = {"rel": rel, "type": media_type, "href": href}
    return {**document, "title": title} if title else document


def themselves(request: Request, form: str, media_type: str = JSON) -> list[Json]:
    """Return the links to this document as JSON and as an HTML page.

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


def list_links(request: Request, form: str, next_url: str | None) -> Json:
    """Return the document for one page of collections, without the collections themselves.

    `next_url` is None on the last page.
    """
    links = themselves(request, form)
    if next_url:
        links.append(link("next", next_url, JSON if form == "json" else HTML, "Next page"))
    return {"links": links}


def schema(
    request: Request, collection: AnyCollection, features: FeatureFile, *, geometry: bool
) -> Json:
    """Return the JSON Schema of a collection's features (Part 5), or of its queryables (Part 3).

    The schema includes the geometry only if `geometry` is true.
    """
    kinds = column_kinds(features)
    properties: Json = {
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


def column_kinds(features: FeatureFile) -> dict[str, str]:
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


def geojson_text(document: Json) -> str:
    """Return a feature's or a feature collection's document as GeoJSON text."""
    members = dict(document)
    features, geometry = members.pop("features", None), members.pop("geometry", None)
    head = json.dumps(members, ensure_ascii=False, allow_nan=False)[:-1]
    if features is None:
        return f'{head}, "geometry": {geometry}}}'
    body = ",\n".join(map(geojson_text, features))
    return f'{head}, "features": [\n{body}\n]}}'


def _described(request: AnyRequest, collection: AnyCollection) -> list[Json]:
    """Return links to the page of a collection, to its files and to its privacy statement."""
    if isinstance(collection, Collection):
        page = address_of(request, "release", collection.release.pk)
        return [link("describedby", page, HTML, "The map"), *_files(request, collection)]
    series = collection.series
    page = address_of(request, "series", series.pk)
    return [
        link("describedby", page, HTML, "The series"),
        *(
            link(
                "enclosure",
                address_of(request, "api:series-file", series.pk, name),
                each.media_type,
                f"All periods: {name}",
            )
            for name, each in LONG.items()
        ),
    ]


def _files(request: AnyRequest, collection: Collection) -> list[Json]:
    """Return links to the whole layer in every format, and to the privacy statement."""
    links = []
    for file in collection.release.files.all():
        href = address_of(request, "api:release-file", collection.release.pk, file.name)
        if file.name == statement.NAME:
            links.append(link("describedby", href, file.media_type, "Its privacy statement"))
        elif file.name.startswith(f"{collection.layer}."):
            whole = link("enclosure", href, file.media_type, f"The whole layer: {file.name}")
            links.append(whole if file.size is None else {**whole, "length": file.size})
    return links


def _parent(request: AnyRequest, collection: AnyCollection) -> Json:
    href = _absolute(request, reverse("ogc:collection", args=[collection.id]), "json")
    return link("collection", href, JSON, collection.title)


def _absolute(request: AnyRequest, path: str, form: str) -> str:
    return request.build_absolute_uri(f"{path}?f={form}")
