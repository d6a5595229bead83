"""URL configuration of the site."""

from collections.abc import Callable

from django.contrib import admin
from django.contrib.sitemaps.views import sitemap
from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver, include, path
from django.views.decorators.http import conditional_page, require_safe

from dpgeo.api.health import healthz, readyz
from dpgeo.api.metrics import metrics
from dpgeo.pages import feed, ground, oembed, seo


def conditional(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Return a view that only reads, and that answers 304 to who has its answer already."""
    return conditional_page(require_safe(view))


SERVICES: list[URLPattern | URLResolver] = [
    path("admin/", admin.site.urls),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("api/", include("dpgeo.api.urls")),
    path("ogc/", include("dpgeo.api.ogc.urls")),
    path("ground/<str:key>/outlines/<int:number>", ground.outline, name="ground-outline"),
    path("ground/<str:key>/<int:zoom>/<int:column>/<int:row>", ground.tile, name="ground-tile"),
    path("sitemap.xml", conditional(sitemap), {"sitemaps": seo.SITEMAPS}, name="sitemap"),
    path("robots.txt", seo.robots, name="robots"),
    path("feed.atom", conditional(feed.Maps()), name="feed"),
    path("series/<uuid:series_id>/feed.atom", conditional(feed.SeriesMaps()), name="series-feed"),
    path("series/<uuid:series_id>/feed.json", feed.series_json_feed, name="series-json-feed"),
    path("oembed", oembed.oembed, name="oembed"),
]
"""URLs that are the same in every language; `languages.py` adds the pages in each language."""

urlpatterns = [*SERVICES, path("", include("dpgeo.pages.urls"))]

handler404 = "dpgeo.api.outages.not_found"
handler500 = "dpgeo.api.outages.server_error"
