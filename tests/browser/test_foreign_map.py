"""A published map drawn by MapLibre on another site, from its TileJSON."""

from __future__ import annotations

from typing import Any

import geopandas
import numpy as np
import pytest
from django.conf import settings
from django.core.cache import cache

from dpgeo.datasets.storage import public_storage
from dpgeo.spatial.area import StudyArea
from tests.browser.opening import Open
from tests.browser.pixels import screenshot
from tests.maps import BOUNDS, grid_release, install
from tests.web.test_tools import typed

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

LOW, HIGH = np.array([0xF1, 0xEA, 0xB2]), np.array([0x11, 0x1B, 0x47])
"""The colours of the counts 0 and 500 in the example of a style in docs/tools.md."""

TOLERANCE = 8
"""Largest difference in a colour channel that counts as equal, to allow for rounding in drawing."""

PAGE = """<!doctype html><body style="margin: 0">
<div id="map" style="width: 1000px; height: 700px; background: #fff"></div>
<script type="module">
import * as maplibregl from "/elsewhere/maplibre-gl.mjs";
maplibregl.setWorkerUrl("/elsewhere/maplibre-gl-worker.mjs");
const map = window.map = new maplibregl.Map({
  container: "map", style: { version: 8, sources: {}, layers: [] }, fadeDuration: 0,
  bounds: BOUNDS, attributionControl: false,
});
map.on("load", () => {
  WORDS
  map.on("idle", () => { document.getElementById("map").dataset.state = "idle"; });
});
</script>"""

PLACES = "(places) => places.map((each) => { const at = map.project(each); return [at.x, at.y]; })"


def elsewhere(page: Any, words: str) -> None:
    """Serve, as if from another site, a page with this body, and MapLibre's files."""
    package = settings.BASE_DIR / "frontend/node_modules/maplibre-gl/dist"
    text = PAGE.replace("WORDS", words).replace("BOUNDS", repr(list(BOUNDS)))

    def answer(route: Any) -> None:
        name = route.request.url.rpartition("/")[2]
        if name == "page.html":
            route.fulfill(body=text, content_type="text/html")
        else:
            route.fulfill(path=package / name, content_type="text/javascript")

    page.route("**/elsewhere/*", answer)


def test_maplibre_draws_each_cell_in_the_colour_of_its_count(
    open_page: Open, live_server: Any
) -> None:
    cache.clear()
    release = install(grid_release(StudyArea.from_bounds(*BOUNDS), 16), "Where people are")
    words = typed("js", release, live_server.url)
    page = open_page("/elsewhere/page.html", prepare=lambda page: elsewhere(page, words))
    picture = screenshot(page, "#map").astype(float)
    cells = geopandas.read_parquet(
        public_storage().path(release.files.get(name="cells.parquet").stored_name)
    )
    middles = cells.geometry.representative_point()
    places = page.evaluate(PLACES, np.column_stack([middles.x, middles.y]).tolist())
    column, row = np.array(places).astype(int).T
    seen = picture[row, column]
    share = np.clip(cells["estimate"].to_numpy() / 500, 0, 1)[:, None]
    shown = (cells["estimate"] >= cells["threshold"]).to_numpy()
    assert shown.sum() > 20
    expected = np.where(shown[:, None], LOW + (HIGH - LOW) * share, 255)
    np.testing.assert_allclose(seen, expected, atol=TOLERANCE)
