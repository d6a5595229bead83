"""URLs of the REST API."""

from __future__ import annotations

from django.urls import path, re_path

from dpgeo.api.base import NothingHere
from dpgeo.api.budgets import BudgetsView
from dpgeo.api.campaigns import CampaignsView, CampaignView, PlanView
from dpgeo.api.catalogue import CatalogueView, StatementSchemaView
from dpgeo.api.datasets import DatasetsView, DatasetView
from dpgeo.api.documentation import SchemaView, docs
from dpgeo.api.files import ReleaseFileView
from dpgeo.api.jobs import JobView
from dpgeo.api.layers import LayersView, LayerView
from dpgeo.api.mechanisms import MechanismsView, MechanismView
from dpgeo.api.radius_maps import RadiusMapView
from dpgeo.api.ranges import RangesView
from dpgeo.api.release_actions import (
    ACTION_VIEWS,
    NotesView,
    QuoteView,
)
from dpgeo.api.releases import ReleasesView, ReleaseView
from dpgeo.api.series import (
    DatasetSeriesView,
    OneSeriesView,
    SeriesCompleteView,
    SeriesEndView,
    SeriesResumeView,
)
from dpgeo.api.series_maps import SeriesFileView, SeriesQueryView
from dpgeo.api.spreadsheets import SpreadsheetView
from dpgeo.api.tiles import StyleView, TileJsonView, TileView
from dpgeo.api.top import TopView
from dpgeo.api.tus import TusUploadsView, TusUploadView
from dpgeo.api.uploads import (
    UploadConfirmView,
    UploadPreviewView,
    UploadRetryView,
    UploadsView,
    UploadView,
)

app_name = "api"


DATASET = "v1/datasets/<slug:slug>"
UPLOAD = "v1/uploads/<uuid:upload_id>"
SERIES = "v1/series/<uuid:series_id>"
RELEASE = "v1/releases/<slug:release_id>"
TILES = f"{RELEASE}/tiles/<slug:layer>"
STATEMENT_SCHEMA = "schemas/privacy-statement-<str:version>.json"

urlpatterns = [
    path("v1/datasets", DatasetsView.as_view(), name="datasets"),
    path(DATASET, DatasetView.as_view(), name="dataset"),
    path(f"{DATASET}/uploads", UploadsView.as_view(), name="uploads"),
    path(f"{DATASET}/uploads/tus", TusUploadsView.as_view(), name="tus-uploads"),
    path(f"{UPLOAD}/tus", TusUploadView.as_view(), name="tus-upload"),
    path(f"{DATASET}/layers", LayersView.as_view(), name="layers"),
    path(f"{DATASET}/layers/<slug:name>", LayerView.as_view(), name="layer"),
    path(f"{DATASET}/quote", QuoteView.as_view(), name="quote"),
    path(f"{DATASET}/series", DatasetSeriesView.as_view(), name="series"),
    path(SERIES, OneSeriesView.as_view(), name="series-one"),
    path(f"{SERIES}/complete", SeriesCompleteView.as_view(), name="series-complete"),
    path(f"{SERIES}/end", SeriesEndView.as_view(), name="series-end"),
    path(f"{SERIES}/resume", SeriesResumeView.as_view(), name="series-resume"),
    path(f"{SERIES}/files/<str:name>", SeriesFileView.as_view(), name="series-file"),
    path(f"{SERIES}/query", SeriesQueryView.as_view(), name="series-query"),
    path(UPLOAD, UploadView.as_view(), name="upload"),
    path(f"{UPLOAD}/preview", UploadPreviewView.as_view(), name="upload-preview"),
    path(f"{UPLOAD}/confirm", UploadConfirmView.as_view(), name="upload-confirm"),
    path(f"{UPLOAD}/retry", UploadRetryView.as_view(), name="upload-retry"),
    path("v1/jobs/<uuid:job_id>", JobView.as_view(), name="job"),
    path("v1/budgets", BudgetsView.as_view(), name="budgets"),
    path("v1/releases", ReleasesView.as_view(), name="releases"),
    path(RELEASE, ReleaseView.as_view(), name="release"),
    path(f"{RELEASE}/files/<str:name>", ReleaseFileView.as_view(), name="release-file"),
    path(f"{RELEASE}/spreadsheet/<slug:layer>", SpreadsheetView.as_view(), name="spreadsheet"),
    path(f"{RELEASE}/query", RangesView.as_view(), name="release-query"),
    path(f"{RELEASE}/top", TopView.as_view(), name="release-top"),
    path(f"{TILES}.json", TileJsonView.as_view(), name="tilejson"),
    path(f"{RELEASE}/styles/<slug:layer>.json", StyleView.as_view(), name="style"),
    path(f"{TILES}/<int:z>/<int:x>/<int:y>.pbf", TileView.as_view(), name="tile"),
    *(
        path(f"{RELEASE}/{name}", view.as_view(), name=f"release-{name}")
        for name, view in ACTION_VIEWS.items()
    ),
    path(f"{RELEASE}/notes", NotesView.as_view(), name="release-notes"),
    path("v1/plan", PlanView.as_view(), name="plan"),
    path("v1/plan/radius", RadiusMapView.as_view(), name="plan-radius"),
    path("v1/campaigns", CampaignsView.as_view(), name="campaigns"),
    path("v1/campaigns/<slug:campaign_id>", CampaignView.as_view(), name="campaign"),
    path("v1/mechanisms", MechanismsView.as_view(), name="mechanisms"),
    path("v1/mechanisms/<slug:key>", MechanismView.as_view(), name="mechanism"),
    path("v1/catalogue", CatalogueView.as_view(), name="catalogue"),
    path(STATEMENT_SCHEMA, StatementSchemaView.as_view(), name="statement-schema"),
    path("schema", SchemaView.as_view(), name="schema"),
    path("docs", docs, name="docs"),
    re_path("", NothingHere.as_view()),
]
