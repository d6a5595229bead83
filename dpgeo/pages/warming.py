"""Warm-up of a new process, so that its first visitors do not have to wait."""

from __future__ import annotations

import gc

from django.conf import settings
from django.template.loader import get_template
from django.urls import reverse
from django.utils import translation

from dpgeo.datasets.dry_land import land_file
from dpgeo.datasets.names_on_maps import world_names
from dpgeo.spatial.land import land_polygons

PAGES = ("catalogue", "release", "release_privacy", "series", "embed", "about_privacy")


def warm() -> None:
    """Load land polygons, city names, translations, URLs and the public pages' templates.

    Objects loaded here are excluded from garbage collection: going through them would add 0.1 s of
    processor time to each request that triggers a collection. Loading takes more than a second of
    processor time. The database is not queried, because a process must be able to start while the
    database is down.
    """
    land_polygons(land_file())
    world_names()
    for code, _ in settings.LANGUAGES:
        with translation.override(code):
            reverse("catalogue")
    for name in PAGES:
        get_template(f"public/{name}.html")
    gc.collect()
    gc.freeze()
