"""URL configuration of the site."""

from django.contrib import admin
from django.urls import include, path

from dpgeo.api.health import healthz, readyz

urlpatterns = [
    path("admin/", admin.site.urls),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("api/", include("dpgeo.api.urls")),
    path("ogc/", include("dpgeo.api.ogc.urls")),
    path("", include("dpgeo.pages.urls")),
]

handler500 = "dpgeo.api.outages.server_error"
