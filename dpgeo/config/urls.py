"""Every address of the site."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/", include("dpgeo.api.urls")),
    path("", include("dpgeo.pages.urls")),
]
