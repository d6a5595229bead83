"""The OpenAPI 3.0 description of OGC API - Features, which the standard requires."""

from __future__ import annotations

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry
from rest_framework.views import APIView

from dpgeo.api.answers import SUFFIX, Answer, Json, ProblemOut
from dpgeo.api.ogc.documents import (
    GEOJSON,
    HTML,
    JSON,
    OPENAPI,
    SCHEMA,
    CollectionOut,
    CollectionsOut,
    ConformanceOut,
    FeatureCollectionOut,
    FeatureOut,
    LandingPageOut,
)
from dpgeo.api.ogc.query_parameters import (
    CollectionsQuery,
    FormQuery,
    ItemQuery,
    ItemsQuery,
    openapi_parameters,
)
from dpgeo.api.problem_kinds import MEDIA_TYPE
from dpgeo.api.problems import of_status
from dpgeo.core.declared import Declared

DOCUMENTS = (
    LandingPageOut,
    ConformanceOut,
    CollectionsOut,
    FeatureCollectionOut,
    ProblemOut,
)
"""Models of the documents in the description, which also contains the schemas of all documents
nested in these."""

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


def description(address: str) -> Json:
    """Return the OpenAPI document of a server whose base URL is `address`, ending in /ogc."""
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
            "/": _get("getLandingPage", "Landing page", LandingPageOut),
            "/conformance": _get("getConformance", "Conformance classes", ConformanceOut),
            "/api": _get("getApi", "This description", None, media_type=OPENAPI),
            "/collections": _get(
                "getCollections", "List the collections", CollectionsOut, queries=CollectionsQuery
            ),
            "/collections/{collectionId}": _get(
                "describeCollection", "Get a collection", CollectionOut, keys=[COLLECTION_ID]
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
                FeatureCollectionOut,
                queries=ItemsQuery,
                keys=[COLLECTION_ID],
                media_type=GEOJSON,
            ),
            "/collections/{collectionId}/items/{featureId}": _get(
                "getFeature",
                "Get one feature",
                FeatureOut,
                queries=ItemQuery,
                keys=[COLLECTION_ID, FEATURE_ID],
                media_type=GEOJSON,
            ),
        },
        "components": {"schemas": _schemas()},
    }


def _get(
    name: str,
    summary: str,
    document: type[Answer] | None,
    *,
    queries: type[Declared] = FormQuery,
    keys: list[Json] | None = None,
    media_type: str = JSON,
) -> Json:
    keys = keys or []
    body = _reference(document) if document else {"type": "object"}
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


def _problem(status: int) -> Json:
    content = {MEDIA_TYPE: {"schema": _reference(ProblemOut)}}
    return {"description": of_status(status).title, "content": content}


def _reference(document: type[Answer]) -> Json:
    name = document.__name__.removesuffix(SUFFIX)
    return {"$ref": f"#/components/schemas/{name}"}


def _schemas() -> Json:
    """Return, by name, the JSON Schemas of DOCUMENTS and of the models nested in them."""
    mapping = AutoSchema()
    mapping.registry = ComponentRegistry()
    mapping.view, mapping.method = APIView(request=None), "GET"
    for document in DOCUMENTS:
        mapping.resolve_serializer(document, "response")  # type: ignore[arg-type]
    schemas: Json = mapping.registry.build({})["schemas"]
    return schemas
