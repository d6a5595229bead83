"""Simulated map that shows the expected noise before any budget is spent.

The browser draws it. Its counts are invented, or come from the dataset's last public map. The
private table is not read.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from dpgeo.core.noise import CountNoise, DiscreteGaussian, PlanarLaplace
from dpgeo.datasets.models import Dataset
from dpgeo.mechanisms.registry import MECHANISMS
from dpgeo.pages.basemap import basemap, basemap_names
from dpgeo.pages.desk.access import dataset_for
from dpgeo.pages.desk.figures import mesh_of, outline_of
from dpgeo.releases.models import Release
from dpgeo.releases.services import Quote
from dpgeo.releases.states import PUBLIC
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.grid import Grid

MOST_ACROSS = 1024
"""Largest number of cells along a side; more would be too slow to redraw as the user types."""

INVENTED_PEOPLE = 100_000
"""Number of invented people if the publisher has not entered an estimate."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A simulated map: a grid, and the noise that the browser adds to each cell's count."""

    quote: Quote
    grid: Grid
    noise: CountNoise
    last: Release | None
    """The newest public map with counts of cells; None before there is one."""

    @property
    def people(self) -> int:
        """Return the number of invented people, used if there is no public map."""
        return self.quote.guess.people if self.quote.guess else INVENTED_PEOPLE

    @property
    def document(self) -> str:
        """Return what the browser needs to draw the simulated map, as JSON."""
        noise = (
            {"deviation": math.sqrt(self.noise.variance)}
            if isinstance(self.noise, DiscreteGaussian)
            else {"rate": float(self.noise.rate)}
        )
        facts = {
            "grid": self.grid.to_json(),
            **noise,
            "margin": self.noise.margin(),
            "threshold": self.noise.threshold(),
            "counting": self.quote.request.counting.value,
            "people": self.people,
        }
        return json.dumps(facts)


def rehearsal_of(dataset: Dataset, quote: Quote) -> Rehearsal | None:
    """Return the simulated map for a quote, or None if it cannot be shown.

    It can be shown for maps of cells, at most MOST_ACROSS of them along a side.
    """
    noise = quote.forecast.noise
    if not quote.mechanism.kind.cells or isinstance(noise, PlanarLaplace):
        return None
    across = cells_across(dataset.area, quote.forecast.ground_metres)
    if across > MOST_ACROSS:
        return None
    return Rehearsal(quote, Grid.over(dataset.area, across), noise, last_public_map(dataset, quote))


def cells_across(area: StudyArea, ground_metres: float) -> int:
    """Return the number of cells along the longer side of the area, at least 1."""
    return max(1, mesh_of(area, outline_of(area), ground_metres).across)


def last_public_map(dataset: Dataset, quote: Quote) -> Release | None:
    """Return the dataset's newest published map of cells, or None.

    Only maps are considered that count the same as the quoted map: people or visits.
    """
    drawn = [key for key, mechanism in MECHANISMS.items() if mechanism.kind.cells]
    published = dataset.releases.filter(
        state__in=PUBLIC, mechanism__in=drawn, request__counting=quote.request.counting.value
    )
    return published.order_by("-published_at").first()


@login_required
@require_safe
def ground(request: HttpRequest, slug: str) -> JsonResponse:
    """Return a dataset's basemap as JSON with the keys basemap, area and bounds."""
    area = dataset_for(request, slug).area
    shapes = basemap(area) | basemap_names(area)
    answer = JsonResponse({"basemap": shapes, "area": area.to_geojson(), "bounds": area.bounds})
    answer["Cache-Control"] = "private, max-age=600"
    return answer
