"""Addresses of the REST API."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.urls import path, re_path
from rest_framework.request import Request

from dpgeo.api.base import ApiView
from dpgeo.api.budgets import BudgetsView
from dpgeo.api.campaigns import CampaignsView, CampaignView, PlanView
from dpgeo.api.catalogue import CatalogueView, StatementSchemaView
from dpgeo.api.datasets import DatasetsView, DatasetView
from dpgeo.api.documentation import SchemaView, docs
from dpgeo.api.files import ReleaseFileView
from dpgeo.api.jobs import JobView
from dpgeo.api.layers import LayersView, LayerView
from dpgeo.api.mechanisms import MechanismsView, MechanismView
from dpgeo.api.ranges import RangesView
from dpgeo.api.release_actions import (
    ACTION_VIEWS,
    QuoteView,
    RefuseView,
)
from dpgeo.api.releases import ReleasesView, ReleaseView
from dpgeo.api.tiles import TileJsonView, TileView
from dpgeo.api.tus import TusUploadsView, TusUploadView
from dpgeo.api.uploads import (
    UploadCompleteView,
    UploadConfirmView,
    UploadPreviewView,
    UploadsView,
    UploadView,
)

app_name = "api"


class NothingHere(ApiView):
    """Any other address: answers with a problem in JSON instead of a page."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Raise Http404 for any method."""
        raise Http404


urlpatterns = [
    path("v1/datasets", DatasetsView.as_view(), name="datasets"),
    path("v1/datasets/<slug:slug>", DatasetView.as_view(), name="dataset"),
    path("v1/datasets/<slug:slug>/uploads", UploadsView.as_view(), name="uploads"),
    path("v1/datasets/<slug:slug>/uploads/tus", TusUploadsView.as_view(), name="tus-uploads"),
    path("v1/uploads/<uuid:upload_id>/tus", TusUploadView.as_view(), name="tus-upload"),
    path("v1/datasets/<slug:slug>/layers", LayersView.as_view(), name="layers"),
    path("v1/datasets/<slug:slug>/layers/<slug:name>", LayerView.as_view(), name="layer"),
    path("v1/datasets/<slug:slug>/quote", QuoteView.as_view(), name="quote"),
    path("v1/uploads/<uuid:upload_id>", UploadView.as_view(), name="upload"),
    path(
        "v1/uploads/<uuid:upload_id>/complete",
        UploadCompleteView.as_view(),
        name="upload-complete",
    ),
    path("v1/uploads/<uuid:upload_id>/preview", UploadPreviewView.as_view(), name="upload-preview"),
    path("v1/uploads/<uuid:upload_id>/confirm", UploadConfirmView.as_view(), name="upload-confirm"),
    path("v1/jobs/<uuid:job_id>", JobView.as_view(), name="job"),
    path("v1/budgets", BudgetsView.as_view(), name="budgets"),
    path("v1/releases", ReleasesView.as_view(), name="releases"),
    path("v1/releases/<slug:release_id>", ReleaseView.as_view(), name="release"),
    path(
        "v1/releases/<slug:release_id>/files/<str:name>",
        ReleaseFileView.as_view(),
        name="release-file",
    ),
    path("v1/releases/<slug:release_id>/query", RangesView.as_view(), name="release-query"),
    path(
        "v1/releases/<slug:release_id>/tiles/<slug:layer>.json",
        TileJsonView.as_view(),
        name="tilejson",
    ),
    path(
        "v1/releases/<slug:release_id>/tiles/<slug:layer>/<int:z>/<int:x>/<int:y>.pbf",
        TileView.as_view(),
        name="tile",
    ),
    *(
        path(f"v1/releases/<slug:release_id>/{name}", view.as_view(), name=f"release-{name}")
        for name, view in ACTION_VIEWS.items()
    ),
    path("v1/releases/<slug:release_id>/refuse", RefuseView.as_view(), name="release-refuse"),
    path("v1/plan", PlanView.as_view(), name="plan"),
    path("v1/campaigns", CampaignsView.as_view(), name="campaigns"),
    path("v1/campaigns/<slug:campaign_id>", CampaignView.as_view(), name="campaign"),
    path("v1/mechanisms", MechanismsView.as_view(), name="mechanisms"),
    path("v1/mechanisms/<slug:key>", MechanismView.as_view(), name="mechanism"),
    path("v1/catalogue", CatalogueView.as_view(), name="catalogue"),
    path(
        "schemas/privacy-statement-<str:version>.json",
        StatementSchemaView.as_view(),
        name="statement-schema",
    ),
    path("schema", SchemaView.as_view(), name="schema"),
    path("docs", docs, name="docs"),
    re_path("", NothingHere.as_view()),
]
