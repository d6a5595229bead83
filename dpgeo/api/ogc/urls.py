"""URLs of OGC API - Features."""

from __future__ import annotations

from django.urls import path, re_path

from dpgeo.api.base import NothingHere
from dpgeo.api.ogc import views

app_name = "ogc"

COLLECTION = "collections/<str:collection_id>"

urlpatterns = [
    path("", views.LandingView.as_view(), name="landing"),
    path("conformance", views.ConformanceView.as_view(), name="conformance"),
    path("api", views.DescriptionView.as_view(), name="api"),
    path("collections", views.CollectionsView.as_view(), name="collections"),
    path(COLLECTION, views.CollectionView.as_view(), name="collection"),
    path(f"{COLLECTION}/schema", views.SchemaView.as_view(), name="schema"),
    path(f"{COLLECTION}/queryables", views.QueryablesView.as_view(), name="queryables"),
    path(f"{COLLECTION}/items", views.ItemsView.as_view(), name="items"),
    path(f"{COLLECTION}/items/<int:feature_id>", views.ItemView.as_view(), name="item"),
    re_path("", NothingHere.as_view()),
]
