"""Drawings on the desk: budget bars, study areas, grids and error charts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import shapely
from django.db.models import Q
from django.utils.translation import gettext
from numpy.typing import NDArray

from dpgeo.budgets.models import Ledger, NotionChoice
from dpgeo.datasets.models import Dataset
from dpgeo.jobs.models import UNFINISHED, Job
from dpgeo.releases.quotes import Advice
from dpgeo.spatial.area import StudyArea
from dpgeo.spatial.projection import ground_scale, to_mercator

MOST_FUTURE_RELEASES = 12
"""Largest number of future releases shown as dashes in a budget bar; more would blur together."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A ledger drawn as a bar: widths in per cent of the total epsilon, and the exact epsilons."""

    total: Fraction
    left: Fraction
    spent: list[float]
    held: float
    held_epsilon: Fraction
    future: list[float]
    more: int | None
    """How many more releases like the last one the budget pays for; None before the first."""

    @property
    def more_words(self) -> str:
        """Return a phrase that says how many more releases like the last one fit."""
        if not self.total:
            return gettext("no budget yet")
        if self.more is None:
            return gettext("the whole budget") if self.left == self.total else gettext("no map yet")
        if self.more == 0:
            return gettext("too little for one like the last")
        return gettext("about {number} more like the last").format(number=self.more)

    @property
    def short(self) -> bool:
        """Whether too little budget is left for another release like the last one."""
        return self.more == 0


def budget_of(dataset: Dataset, ledger: Ledger | None = None) -> Budget:
    """Return the bar for a dataset's budget, by default for its ledger for counts.

    For a shared ledger, the bar shows the spending of all its datasets. The number of further
    releases that fit is computed from the last release of `dataset`.
    """
    ledger = ledger or dataset.ledger
    paid = net_by_job(ledger)
    running = set(
        Job.objects.filter(id__in=paid, state__in=UNFINISHED).values_list("id", flat=True)
    )
    # A budget for counts pays for all releases but points. If it is in rho, it pays for releases
    # with a pure epsilon, too.
    points = ledger.radius is not None
    notion = Q(notion=NotionChoice.GEO_IND)
    last = dataset.releases.filter(notion if points else ~notion).order_by("-created_at").first()
    price = ledger.price(last.cost) if last else 0
    more = ledger.left_units // price if price else None
    held_units = sum(units for job, units in paid.items() if job in running)

    def width(units: int) -> float:
        return round(100 * units / max(ledger.lifetime_units, 1), 3)

    return Budget(
        total=ledger.total,
        left=ledger.epsilon_left(),
        spent=[width(units) for job, units in paid.items() if job not in running],
        held=width(held_units),
        held_epsilon=ledger.epsilon_of(held_units),
        future=[width(price)] * min(more or 0, MOST_FUTURE_RELEASES),
        more=more,
    )


def net_by_job(ledger: Ledger) -> dict[object, int]:
    """Return what each job spent after refunds, in the ledger's units, oldest first.

    Jobs that were refunded in full are left out.
    """
    entries = ledger.entries.order_by("id").values_list("job", "units")
    net: dict[object, int] = {}
    for job, units in entries:
        net[job] = net.get(job, 0) + units
    return {job: units for job, units in net.items() if units > 0}


@dataclass(frozen=True, slots=True)
class Outline:
    """A study area as an SVG path in a box of `width` by `height` units."""

    path: str
    width: float
    height: float

    @property
    def view_box(self) -> str:
        """Return the SVG view box, with space for a frame around the outline."""
        return f"-6 -6 {self.width + 12:.1f} {self.height + 12:.1f}"


OUTLINE_WIDTH = 360.0
OUTLINE_HEIGHT = 300.0
FINEST_MESH = 1.5
"""Smallest visible cell, in units of the drawing; smaller cells would blur into solid black."""


def outline_of(area: StudyArea) -> Outline:
    """Draw a study area in Web Mercator, simplified to a quarter of a unit of the drawing."""
    west, south, east, north = area.mercator_bounds
    scale = min(OUTLINE_WIDTH / (east - west), OUTLINE_HEIGHT / (north - south))

    def project(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
        x, y = to_mercator(degrees[:, 0], degrees[:, 1])
        return np.column_stack([(x - west) * scale, (north - y) * scale])

    shape = shapely.simplify(shapely.transform(area.shape, project), 0.25)
    polygons = getattr(shape, "geoms", [shape])
    rings = [ring for polygon in polygons for ring in (polygon.exterior, *polygon.interiors)]
    path = "".join(
        "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in ring.coords[:-1]) + "Z" for ring in rings
    )
    return Outline(path, round((east - west) * scale, 1), round((north - south) * scale, 1))


@dataclass(frozen=True, slots=True)
class Mesh:
    """A grid drawn over an outline: cell size and top left corner, in the outline's units."""

    cell: float
    left: float
    top: float
    across: int

    @property
    def visible(self) -> bool:
        """Whether the grid lines can be told apart."""
        return self.cell >= FINEST_MESH


def mesh_of(area: StudyArea, outline: Outline, ground_metres: float) -> Mesh:
    """Return the grid over an outline, with cells of `ground_metres` on the ground."""
    west, _, east, _ = area.mercator_bounds
    scale = outline.width / (east - west)
    _, low, _, high = area.bounds
    cell = ground_metres / ground_scale((low + high) / 2) * scale
    longer = max(outline.width, outline.height)
    return Mesh(
        cell=cell,
        left=(outline.width - longer) / 2,
        top=(outline.height - longer) / 2,
        across=round(longer / cell),
    )


@dataclass(frozen=True, slots=True)
class Circles:
    """Two circles around a position inside the area that show how far noise moves a point there.

    Centre and radii are in the units of the drawn `Outline`.
    """

    x: float
    y: float
    near: float
    far: float


def circles_of(
    area: StudyArea, outline: Outline, radii: tuple[float, float] | None
) -> Circles | None:
    """Return circles of two `radii` in metres around a position inside the area."""
    if radii is None:
        return None
    west, _, east, north = area.mercator_bounds
    scale = outline.width / (east - west)
    place = area.shape.representative_point()
    x, y = to_mercator(place.x, place.y)
    metre = scale / ground_scale(place.y)
    near, far = (round(radius * metre, 2) for radius in radii)
    return Circles(round(float(x - west) * scale, 1), round(float(north - y) * scale, 1), near, far)


@dataclass(frozen=True, slots=True)
class Chart:
    """Chart of the expected error by contribution bound, of size CHART_WIDTH x CHART_HEIGHT.

    `best` and `chosen` are the positions (x, y) of the best and the chosen bound; `chosen` is None
    if it lies outside the chart.
    """

    line: str
    best: tuple[float, float]
    chosen: tuple[float, float] | None
    most: float
    last: int


CHART_WIDTH = 320.0
CHART_HEIGHT = 96.0


def chart_of(advice: Advice, bound: int) -> Chart:
    """Draw the expected error by contribution bound; its axis runs from 0 to the largest error."""
    most, last = max(advice.errors), advice.bounds[-1]

    def place(at: int, error: float) -> tuple[float, float]:
        across = CHART_WIDTH * (at - 1) / max(last - 1, 1)
        return round(across, 1), round(CHART_HEIGHT * (1 - error / most), 1)

    points = [place(at, error) for at, error in zip(advice.bounds, advice.errors, strict=True)]
    return Chart(
        line="M" + "L".join(f"{x} {y}" for x, y in points),
        best=place(advice.best, advice.error_at_best),
        chosen=place(bound, advice.error) if bound <= last else None,
        most=most,
        last=last,
    )
