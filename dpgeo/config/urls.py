"""URL configuration of the site."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from dpgeo.api.health import healthz, readyz
from dpgeo.api.metrics import metrics
from dpgeo.pages import feed, ground, oembed, seo

SERVICES: list[URLPattern | URLResolver] = [
    path("admin/", admin.site.urls),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("api/", include("dpgeo.api.urls")),
    path("ogc/", include("dpgeo.api.ogc.urls")),
    path("ground/<str:key>/outlines/<int:number>", ground.outline, name="ground-outline"),
    path("ground/<str:key>/<int:zoom>/<int:column>/<int:row>", ground.tile, name="ground-tile"),
    path("sitemap.xml", seo.sitemap, name="sitemap"),
    path("robots.txt", seo.robots, name="robots"),
    path("feed.atom", feed.feed, name="feed"),
    path("series/<uuid:series_id>/feed.atom", feed.series_feed, name="series-feed"),
    path("series/<uuid:series_id>/feed.json", feed.series_json_feed, name="series-json-feed"),
    path("oembed", oembed.oembed, name="oembed"),
]
"""URLs that are the same in every language; `languages.py` adds the pages in each language."""

urlpatterns = [*SERVICES, path("", include("dpgeo.pages.urls"))]

handler404 = "dpgeo.api.outages.not_found"
handler500 = "dpgeo.api.outages.server_error"
