"""Views of OGC API - Features; each responds with JSON or with an HTML page."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import conditional_page
from rest_framework.request import Request

from dpgeo.api.answers import Json
from dpgeo.api.base import ApiView
from dpgeo.api.heavy_work import heavy
from dpgeo.api.ogc import documents, query_parameters
from dpgeo.api.ogc.collections import (
    Collection,
    SeriesCollection,
    find_collection,
    release_collections,
    series_collections,
)
from dpgeo.api.ogc.cql2 import Filter, parse, within
from dpgeo.api.ogc.description import description
from dpgeo.api.ogc.query_parameters import Days
from dpgeo.api.ogc.systems import in_system
from dpgeo.api.paging import next_url, page
from dpgeo.api.releases import NEWEST_FIRST
from dpgeo.artefacts.feature_pages import Box, Feature, FeatureFile
from dpgeo.core.declared import Declared
from dpgeo.core.errors import InvalidInput
from dpgeo.releases.selectors import listed, releases_public


class OgcView(ApiView):
    queries: ClassVar[type[Declared]] = query_parameters.FormQuery

    @property
    def form(self) -> str:
        if self.query.f:
            return str(self.query.f)
        choices = [documents.JSON, documents.GEOJSON, documents.OPENAPI, documents.HTML]
        wanted = self.request._request.get_preferred_type(choices)
        return "html" if wanted == documents.HTML else "json"

    def answer(
        self,
        document: Json,
        *,
        title: str,
        media_type: str = documents.JSON,
        text: Callable[[], str | bytes] | None = None,
        **context: Any,
    ) -> HttpResponse:
        """Return a response in the requested form, with `title` as the title of an HTML page.

        The body of a JSON response, of type `media_type`, is what `text` returns, or `document` if
        `text` is None. `context` is used only by the HTML page.
        """
        if self.form == "json":
            body = text() if text else json.dumps(document, ensure_ascii=False)
            answer = HttpResponse(body, content_type=media_type)
            answer["Cache-Control"] = "public, no-cache"
        else:
            known = {"title": title, "document": document, "section": "api", **context}
            answer = render(self.request._request, "ogc/page.html", known)
            answer["Cache-Control"] = "no-cache"
        answer["Vary"] = "Accept"
        return answer

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        return conditional_page(super().as_view(**initkwargs))


class LandingView(OgcView):
    def get(self, request: Request) -> HttpResponse:
        """Respond with links to the other parts of OGC API - Features."""
        document = documents.landing_page(request, self.form)
        return self.answer(document, title=document["title"])


class ConformanceView(OgcView):
    def get(self, request: Request) -> HttpResponse:
        """Respond with the list of conformance classes."""
        links = documents.themselves(request, self.form)
        document = {"conformsTo": list(documents.CONFORMANCE), "links": links}
        return self.answer(document, title="Conformance")


class DescriptionView(OgcView):
    def get(self, request: Request) -> HttpResponse:
        """Respond with the OpenAPI 3.0 description."""
        document = description(request.build_absolute_uri("/ogc"))
        return self.answer(
            document,
            title="OGC API - Features",
            media_type=documents.OPENAPI,
            operations={path: methods["get"] for path, methods in document["paths"].items()},
            links=documents.themselves(request, self.form, documents.OPENAPI),
        )


class CollectionsView(OgcView):
    queries = query_parameters.CollectionsQuery

    @heavy
    def get(self, request: Request) -> HttpResponse:
        """Respond with a page of collections, newest release first.

        The parameter `limit` is the number of releases on the page. A release may have several
        collections or none. Series come first.
        """
        limit, cursor = self.query.limit, self.query.cursor
        releases, following = page(
            listed(releases_public()), NEWEST_FIRST, limit=limit, cursor=cursor
        )
        further = next_url(request._request, following)
        document = documents.list_links(request, self.form, further)
        collections: list[Collection | SeriesCollection] = []
        if cursor is None:
            collections += series_collections()
        collections += [each for release in releases for each in release_collections(release)]
        document["collections"] = [
            documents.collection_document(request, "json", each) for each in collections
        ]
        return self.answer(document, title="Collections")


class CollectionView(OgcView):
    def get(self, request: Request, collection_id: str) -> HttpResponse:
        """Respond with the collection's description and a link to its features."""
        collection = find_collection(collection_id)
        document = documents.collection_document(request, self.form, collection)
        return self.answer(document, title=collection.title)


class SchemaView(OgcView):
    geometry: ClassVar[bool] = True

    def get(self, request: Request, collection_id: str) -> HttpResponse:
        """Respond with the JSON Schema of the collection's features, or of its queryables."""
        collection = find_collection(collection_id)
        with collection.open() as features:
            document = documents.schema(request, collection, features, geometry=self.geometry)
        return self.answer(
            {"links": documents.themselves(request, self.form, documents.SCHEMA)},
            title=collection.title,
            media_type=documents.SCHEMA,
            text=lambda: json.dumps(document, ensure_ascii=False),
            properties=document["properties"],
        )


class QueryablesView(SchemaView):
    geometry = False


class ItemsView(OgcView):
    queries = query_parameters.ItemsQuery

    @heavy
    def get(self, request: Request, collection_id: str) -> HttpResponse:
        """Respond with a page of features."""
        collection = find_collection(collection_id)
        boxes = self._boxes()
        with collection.open() as features:
            where = self._filter(features)
            if days := self._days(collection):
                where = within(where, *days)
            page = features.page(self.query.start, self._limit(), boxes, where)
            matched = None if boxes or where else len(features)
        shown = in_system(page.features, self.query.crs)
        document = documents.feature_page(
            request, self.form, collection, shown, following=page.next_row, matched=matched
        )
        answer = self.answer(
            document,
            title=collection.title,
            media_type=documents.GEOJSON,
            text=lambda: documents.geojson_text(document),
            table=table(shown) if self.form == "html" else None,
        )
        answer["Content-Crs"] = f"<{self.query.crs}>"
        return answer

    def _limit(self) -> int:
        """Return the maximum number of features in the response; HTML pages have fewer."""
        limit: int = self.query.limit
        return min(limit, query_parameters.MAX_ON_A_PAGE) if self.form == "html" else limit

    def _boxes(self) -> list[Box]:
        if self.query.bbox is None:
            return []
        try:
            return query_parameters.read_boxes(self.query.bbox, self.query.bbox_crs)
        except InvalidInput as error:
            raise InvalidInput(error.phrase, field="bbox") from None

    def _days(self, collection: Collection | SeriesCollection) -> Days | None:
        """Return the requested days, or None if none are requested or the features have no days."""
        if self.query.datetime is None or not isinstance(collection, SeriesCollection):
            return None
        zone = collection.series.dataset.time_zone
        return query_parameters.local_days(self.query.datetime, zone)

    def _filter(self, features: FeatureFile) -> Filter | None:
        if self.query.filter is None:
            return None
        try:
            return parse(self.query.filter, documents.column_kinds(features))
        except InvalidInput as error:
            raise InvalidInput(error.phrase, field="filter") from None


class ItemView(OgcView):
    queries = query_parameters.ItemQuery

    def get(self, request: Request, collection_id: str, feature_id: int) -> HttpResponse:
        """Respond with one feature, identified by its row in the layer's files, counted from 0."""
        collection = find_collection(collection_id)
        with collection.open() as features:
            feature = features.feature(feature_id)
        if feature is None:
            raise Http404
        (feature,) = in_system([feature], self.query.crs)
        links = documents.feature_links(request, self.form, collection)
        document = documents.feature_document(feature, links=links)
        answer = self.answer(
            document,
            title=f"{collection.title}, {feature.row}",
            media_type=documents.GEOJSON,
            text=lambda: documents.geojson_text(document),
            table=table([feature]),
        )
        answer["Content-Crs"] = f"<{self.query.crs}>"
        return answer


def table(features: Sequence[Feature]) -> dict[str, Any]:
    """Return the features as a table: column names, and rows that end with the geometry."""
    names = list(features[0].properties) if features else []
    return {
        "names": ["id", *names, "geometry"],
        "rows": [
            [str(each.row), *map(_cell, each.properties.values()), each.geometry]
            for each in features
        ],
    }


def _cell(value: Any) -> str:
    return "" if value is None else str(value)
