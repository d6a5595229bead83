"""Views that list, describe, declare and change datasets."""

from __future__ import annotations

from typing import ClassVar

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from rest_framework.request import Request

from dpgeo.accounts.models import Organisation, Scope
from dpgeo.api.access import own_dataset
from dpgeo.api.base import DocumentView
from dpgeo.api.dataset_writes import DatasetDeclaration, DatasetUpdate, change, declare
from dpgeo.api.openapi import BODY, linked, operation
from dpgeo.api.paging import Order, next_url, page
from dpgeo.api.public_answers import (
    DatasetListOut,
    DatasetOut,
    DeclaredOut,
    dataset_answer,
    declared_answer,
)
from dpgeo.api.queries import FoundQuery
from dpgeo.api.request_bodies import read_body
from dpgeo.datasets.selectors import (
    datasets_public,
    datasets_readable_by,
    datasets_visible_to,
    near,
)

BY_SLUG = Order(("slug",), descending=False)


WRITING = {"POST": Scope.DATASETS_WRITE, "PATCH": Scope.DATASETS_WRITE}


class DatasetsView(DocumentView):
    scopes: ClassVar = WRITING
    queries = FoundQuery

    @operation(
        "datasets",
        "List datasets",
        DatasetListOut,
        tag="datasets",
        links={"dataset": {"slug": f"{BODY}/results/0/slug"}},
    )
    def get(self, request: Request) -> HttpResponse:
        """List the datasets that have a published release.

        A request with an API key also lists the other datasets of the key's organisation.
        """
        personal = "Authorization" in request.headers
        datasets = datasets_readable_by(request.user) if personal else datasets_public()
        if slug := self.query.organisation:
            datasets = datasets.filter(organisation__in=Organisation.objects.filter(slug=slug))
        if box := self.query.bbox:
            datasets = datasets.filter(near(box))
        limit, cursor = self.query.limit, self.query.cursor
        found, cursor = page(datasets, BY_SLUG, limit=limit, cursor=cursor)
        results = [dataset_answer(dataset, request) for dataset in found]
        answer = DatasetListOut(next=next_url(request, cursor), results=results)
        return self.answer(answer, personal=personal)

    @operation(
        "dataset_create",
        "Declare a dataset",
        DeclaredOut,
        tag="datasets",
        status=201,
        body=DatasetDeclaration,
        links=linked(
            ["dataset", "dataset_update", "layers", "layer_add", "quote", "tus_create"],
            slug=f"{BODY}/slug",
        ),
    )
    def post(self, request: Request) -> HttpResponse:
        """Declare a dataset.

        All fields become public with the first map; none is derived from the data.
        """
        dataset = declare(self.actor, read_body(request, DatasetDeclaration).given())
        return self.created(declared_answer(dataset, request))


class DatasetView(DocumentView):
    scopes: ClassVar = WRITING

    @operation(
        "dataset",
        "Get a dataset",
        DatasetOut,
        tag="datasets",
    )
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Get what the publisher declared about a dataset. None of it depends on the rows."""
        dataset = datasets_public().filter(slug=slug).first()
        personal = dataset is None
        if dataset is None:
            dataset = get_object_or_404(datasets_visible_to(request.user), slug=slug)
        return self.answer(dataset_answer(dataset, request), personal=personal)

    @operation(
        "dataset_update",
        "Change a dataset",
        DeclaredOut,
        tag="datasets",
        body=DatasetUpdate,
        errors=[409],
    )
    def patch(self, request: Request, slug: str) -> HttpResponse:
        """Change what was declared.

        Texts can change at any time. The privacy unit, study area, time zone, public attributes and
        the days that the data cover can change only before the columns of the first file are
        confirmed. Once a file has been uploaded, the study area can only be replaced by another
        named place.
        """
        dataset = own_dataset(self.actor, slug, "edit")
        change(self.actor, dataset, read_body(request, DatasetUpdate).given())
        return self.answer(declared_answer(dataset, request), personal=True)
