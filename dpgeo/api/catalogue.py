"""Views of the DCAT-AP catalogue and of the JSON Schema for privacy statements."""

from __future__ import annotations

from typing import Annotated

from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request

from dpgeo.api import dcat
from dpgeo.api.base import DocumentView
from dpgeo.api.openapi import operation
from dpgeo.api.paging import next_url, page
from dpgeo.api.queries import PageQuery, choice, schema
from dpgeo.api.rdf import SYNTAXES
from dpgeo.api.releases import NEWEST_FIRST
from dpgeo.artefacts.statement_schema import VERSIONS, statement_schema
from dpgeo.core.declared import fact
from dpgeo.releases.selectors import listed, releases_public

JSON_LD = "json-ld"


class CatalogueQuery(PageQuery):
    syntax: Annotated[str, choice([*SYNTAXES]), schema(enum=[*SYNTAXES])] = fact(
        "The syntax of RDF; CKAN and others also read turtle and rdf-xml.", JSON_LD
    )


class CatalogueView(DocumentView):
    queries = CatalogueQuery

    @operation(
        "catalogue",
        "Harvest the catalogue",
        tag="catalogue",
        responses={
            (200, syntax.media_type.partition(";")[0]): OpenApiResponse(
                OpenApiTypes.OBJECT if name == JSON_LD else OpenApiTypes.STR,
                f"DCAT-AP as {syntax.title}",
            )
            for name, syntax in SYNTAXES.items()
        },
        errors=[400, 429],
        usual=False,
    )
    def get(self, request: Request) -> HttpResponse:
        """List published releases as DCAT-AP 3, sorted by day, newest first.

        The Hydra view links to the next page, in the same syntax.
        """
        limit, cursor = self.query.limit, self.query.cursor
        releases, following = page(
            listed(releases_public()), NEWEST_FIRST, limit=limit, cursor=cursor
        )
        syntax = SYNTAXES[self.query.syntax]
        node = dcat.catalogue(request, next_url(request._request, following))
        members = [dcat.reference(request, release.pk) for release in releases]
        texts = [syntax.write(dcat.dataset(request, release)) for release in releases]
        body = syntax.page(node, "dcat:dataset", members, texts)
        return self.text(body, media_type=syntax.media_type)


class StatementSchemaView(DocumentView):
    @operation(
        "statement_schema",
        "Get the schema of privacy statements",
        tag="catalogue",
        responses={
            (200, "application/json"): OpenApiResponse(OpenApiTypes.OBJECT, "JSON Schema"),
        },
        errors=[400, 404, 429],
        usual=False,
    )
    def get(self, request: Request, version: str) -> HttpResponse:
        """Get the JSON Schema (2020-12) of one version of the privacy statement."""
        if version not in VERSIONS:
            raise Http404
        return self.answer(statement_schema(version))
