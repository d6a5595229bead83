"""Addresses of the REST API."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.urls import path, re_path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from dpgeo.api.base import ApiView
from dpgeo.api.datasets import DatasetsView, DatasetView
from dpgeo.api.documentation import SchemaView, docs
from dpgeo.api.files import ReleaseFileView
from dpgeo.api.mechanisms import MechanismsView, MechanismView
from dpgeo.api.releases import ReleasesView, ReleaseView

app_name = "api"


@extend_schema(exclude=True)
class NothingHere(ApiView):
    """Every address that is not one: a problem in JSON rather than a page."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse, whatever the method. Raises Http404."""
        raise Http404


urlpatterns = [
    path("v1/datasets", DatasetsView.as_view(), name="datasets"),
    path("v1/datasets/<slug:slug>", DatasetView.as_view(), name="dataset"),
    path("v1/releases", ReleasesView.as_view(), name="releases"),
    path("v1/releases/<slug:release_id>", ReleaseView.as_view(), name="release"),
    path(
        "v1/releases/<slug:release_id>/files/<str:name>",
        ReleaseFileView.as_view(),
        name="release-file",
    ),
    path("v1/mechanisms", MechanismsView.as_view(), name="mechanisms"),
    path("v1/mechanisms/<slug:key>", MechanismView.as_view(), name="mechanism"),
    path("schema", SchemaView.as_view(), name="schema"),
    path("docs", docs, name="docs"),
    re_path("", NothingHere.as_view()),
]
