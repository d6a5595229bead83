"""Addresses of the pages."""

from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("", include("dpgeo.pages.desk.urls")),
]
