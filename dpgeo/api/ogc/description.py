"""The OpenAPI 3.0 description of OGC API - Features, which the standard requires."""

from __future__ import annotations

from typing import Any

from dpgeo.api.ogc.documents import GEOJSON, HTML, JSON, OPENAPI, SCHEMA
from dpgeo.api.ogc.query_parameters import COLLECTIONS, FORM, ITEM, ITEMS, openapi_parameters
from dpgeo.api.problem_kinds import MEDIA_TYPE
from dpgeo.api.problems import of_status
from dpgeo.api.queries import Query

Document = dict[str, Any]

COLLECTION_ID = {
    "name": "collectionId",
    "in": "path",
    "required": True,
    "description": "The collection's id, as the list of collections gives it.",
    "schema": {"type": "string"},
}
FEATURE_ID = {
    "name": "featureId",
    "in": "path",
    "required": True,
    "description": "The feature's id.",
    "schema": {"type": "integer", "minimum": 0},
}


def description(address: str) -> Document:
    """Return the description for a server with the base URL `address`, which ends in /ogc."""
    return {
        "openapi": "3.0.3",
        "info": {
            "title": "dpgeo: OGC API - Features",
            "description": "Every published map of this server, layer by layer.",
            "version": "1",
        },
        "servers": [{"url": address}],
        "tags": [{"name": "Capabilities"}, {"name": "Data"}],
        "paths": {
            "/": _get("getLandingPage", "Landing page", "LandingPage"),
            "/conformance": _get("getConformance", "Conformance classes", "Conformance"),
            "/api": _get("getApi", "This description", None, media_type=OPENAPI),
            "/collections": _get(
                "getCollections", "List the collections", "Collections", queries=COLLECTIONS
            ),
            "/collections/{collectionId}": _get(
                "describeCollection", "Get a collection", "Collection", keys=[COLLECTION_ID]
            ),
            "/collections/{collectionId}/schema": _get(
                "getSchema",
                "Get the JSON Schema of a collection's features",
                None,
                keys=[COLLECTION_ID],
                media_type=SCHEMA,
            ),
            "/collections/{collectionId}/queryables": _get(
                "getQueryables",
                "Get the columns that filters may compare",
                None,
                keys=[COLLECTION_ID],
                media_type=SCHEMA,
            ),
            "/collections/{collectionId}/items": _get(
                "getFeatures",
                "Get features",
                "FeatureCollection",
                queries=ITEMS,
                keys=[COLLECTION_ID],
                media_type=GEOJSON,
            ),
            "/collections/{collectionId}/items/{featureId}": _get(
                "getFeature",
                "Get one feature",
                "Feature",
                queries=ITEM,
                keys=[COLLECTION_ID, FEATURE_ID],
                media_type=GEOJSON,
            ),
        },
        "components": {"schemas": SCHEMAS},
    }


def _get(
    name: str,
    summary: str,
    schema: str | None,
    *,
    queries: tuple[Query, ...] = (FORM,),
    keys: list[Document] | None = None,
    media_type: str = JSON,
) -> Document:
    keys = keys or []
    body = {"$ref": f"#/components/schemas/{schema}"} if schema else {"type": "object"}
    content = {media_type: {"schema": body}, HTML: {"schema": {"type": "string"}}}
    statuses = (400, 404, 410, 414, 429, 500) if keys else (400, 414, 429, 500)
    return {
        "get": {
            "operationId": name,
            "summary": summary,
            "tags": ["Data" if keys else "Capabilities"],
            "parameters": [*keys, *openapi_parameters(queries)],
            "responses": {
                "200": {"description": summary, "content": content},
                "304": {"description": "Your copy is current"},
                **{str(status): _problem(status) for status in statuses},
            },
        }
    }


def _problem(status: int) -> Document:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": of_status(status).title, "content": {MEDIA_TYPE: {"schema": schema}}}


def _object(required: list[str], **properties: Any) -> Document:
    return {"type": "object", "required": required, "properties": properties}


def _list(name: str) -> Document:
    return {"type": "array", "items": {"$ref": f"#/components/schemas/{name}"}}


TEXT = {"type": "string"}
WHOLE = {"type": "integer", "minimum": 0}
NUMBERS = {"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 6}

SPATIAL = _object(["bbox"], bbox={"type": "array", "minItems": 1, "items": NUMBERS}, crs=TEXT)

SCHEMAS: Document = {
    "Link": _object(["href", "rel"], href=TEXT, rel=TEXT, type=TEXT, title=TEXT, length=WHOLE),
    "LandingPage": _object(["links"], title=TEXT, description=TEXT, links=_list("Link")),
    "Conformance": _object(["conformsTo"], conformsTo={"type": "array", "items": TEXT}),
    "Collections": _object(
        ["links", "collections"], links=_list("Link"), collections=_list("Collection")
    ),
    "Collection": _object(
        ["id", "links"],
        id=TEXT,
        title=TEXT,
        description=TEXT,
        attribution=TEXT,
        links=_list("Link"),
        extent=_object([], spatial=SPATIAL),
        itemType=TEXT,
        crs={"type": "array", "items": TEXT},
        storageCrs=TEXT,
    ),
    "FeatureCollection": _object(
        ["type", "features"],
        type={"type": "string", "enum": ["FeatureCollection"]},
        features=_list("Feature"),
        links=_list("Link"),
        numberMatched=WHOLE,
        numberReturned=WHOLE,
    ),
    "Feature": _object(
        ["type", "geometry", "properties"],
        type={"type": "string", "enum": ["Feature"]},
        id=WHOLE,
        geometry={"type": "object"},
        properties={"type": "object", "nullable": True},
        links=_list("Link"),
    ),
    "Problem": _object(
        ["type", "title", "status", "detail"],
        type=TEXT,
        title=TEXT,
        status={"type": "integer"},
        detail=TEXT,
        field=TEXT,
    ),
}
