"""The DCAT-AP catalogue, and the JSON Schema of privacy statements."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from dpgeo.api import dcat
from dpgeo.api.base import DocumentView
from dpgeo.api.cached_lists import harvest_texts, listed
from dpgeo.api.openapi import in_path, operation
from dpgeo.api.paging import CURSOR, next_url, page
from dpgeo.api.queries import LIMIT
from dpgeo.api.releases import NEWEST_FIRST
from dpgeo.artefacts.statement_schema import VERSIONS, statement_schema
from dpgeo.releases.list_cache import release_rows
from dpgeo.releases.selectors import releases_public


class CatalogueView(DocumentView):
    """Every published release, for harvesters."""

    queries = (LIMIT, CURSOR)

    @operation(
        "catalogue",
        "Harvest the catalogue",
        tag="catalogue",
        responses={
            (200, dcat.MEDIA_TYPE): OpenApiResponse(OpenApiTypes.OBJECT, "DCAT-AP as JSON-LD"),
        },
        errors=[400, 429],
        usual=False,
    )
    def get(self, request: Request) -> HttpResponse:
        """List published releases as DCAT-AP, newest day first.

        The Hydra view links to the next page.
        """
        limit, cursor = self.query["limit"], self.query["cursor"]
        rows, following = page(
            release_rows(releases_public()), NEWEST_FIRST, limit=limit, cursor=cursor
        )
        document = dcat.catalogue(request, next_url(request._request, following))
        texts = harvest_texts(request, rows)
        return self.text(listed(document, "dcat:dataset", texts), media_type=dcat.MEDIA_TYPE)


class StatementSchemaView(DocumentView):
    """The JSON Schema of privacy statements."""

    @operation(
        "statement_schema",
        "Get the schema of privacy statements",
        tag="catalogue",
        parameters=[in_path("version", "The version named in a statement.")],
        responses={
            (200, "application/json"): OpenApiResponse(OpenApiTypes.OBJECT, "JSON Schema"),
        },
        errors=[400, 404, 429],
        usual=False,
    )
    def get(self, request: Request, version: str) -> Response:
        """Get the JSON Schema (2020-12) of one version of the privacy statement."""
        if version not in VERSIONS:
            raise Http404
        return self.answer(statement_schema(version))
