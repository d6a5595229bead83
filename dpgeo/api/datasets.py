"""Datasets of which something is published: what their publishers declared."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from dpgeo.accounts.models import Organisation
from dpgeo.api.base import DocumentView
from dpgeo.api.describing import describe
from dpgeo.api.documents import dataset_document
from dpgeo.api.paging import CURSOR, Order, next_url, page
from dpgeo.api.places import datasets_near
from dpgeo.api.queries import BBOX, LIMIT, ORGANISATION
from dpgeo.api.serializers import DatasetListSerializer, DatasetSerializer
from dpgeo.datasets.selectors import datasets_public

BY_SLUG = Order(("slug",), descending=False)


class DatasetsView(DocumentView):
    """Every dataset with a published release, by slug."""

    queries = (ORGANISATION, BBOX, LIMIT, CURSOR)

    @describe("datasets", "List datasets", DatasetListSerializer, queries=queries)
    def get(self, request: Request) -> Response:
        """Only datasets of which something is published are listed."""
        found = datasets_public()
        if slug := self.asked["organisation"]:
            found = found.filter(organisation__in=Organisation.objects.filter(slug=slug))
        if box := self.asked["bbox"]:
            found = found.filter(pk__in=datasets_near(found, box))
        rows, cursor = page(found, BY_SLUG, limit=self.asked["limit"], cursor=self.asked["cursor"])
        document: dict[str, Any] = {
            "results": [dataset_document(request, dataset) for dataset in rows],
            "next": next_url(request, cursor),
        }
        return self.answer(DatasetListSerializer(document).data)


class DatasetView(DocumentView):
    """One dataset with a published release."""

    @describe(
        "dataset",
        "Get a dataset",
        DatasetSerializer,
        key=("slug", "The dataset's short name, as lists give it."),
    )
    def get(self, request: Request, slug: str) -> Response:
        """What its publisher declared. Nothing is said of its rows."""
        dataset = datasets_public().filter(slug=slug).first()
        if dataset is None:
            raise Http404
        return self.answer(DatasetSerializer(dataset_document(request, dataset)).data)
