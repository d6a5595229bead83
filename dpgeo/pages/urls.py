"""URL configuration of the pages."""

from django.urls import URLPattern, URLResolver, include, path

from dpgeo.pages import embedding, file_page, ground, planner, public_views, series, series_calendar

urlpatterns: list[URLPattern | URLResolver] = [
    path("", public_views.catalogue, name="catalogue"),
    path("maps/<str:release_id>/", public_views.release, name="release"),
    path("maps/<str:release_id>/privacy/", public_views.release_privacy, name="release-privacy"),
    path("maps/<str:release_id>/files/<str:name>", file_page.file, name="file"),
    path("maps/<str:release_id>/basemap.json", public_views.basemap_json, name="release-basemap"),
    path(
        "datasets/<slug:slug>/data-protection/",
        public_views.data_protection,
        name="data-protection",
    ),
    path("series/<uuid:series_id>/", series.series, name="series"),
    path("series/<uuid:series_id>/embed/", embedding.embed_series, name="embed-series"),
    path(
        "series/<uuid:series_id>/calendar.ics",
        series_calendar.series_calendar,
        name="series-calendar",
    ),
    path("embed/<str:release_id>/", embedding.embed, name="embed"),
    path("embed/<str:release_id>/still/", embedding.still, name="embed-still"),
    path("places/", ground.places, name="places"),
    path("plan/", planner.plan, name="plan"),
    path("about/privacy/", public_views.about_privacy, name="about-privacy"),
    path("about/words/", public_views.about_words, name="about-words"),
    path("", include("dpgeo.pages.desk.urls")),
]
