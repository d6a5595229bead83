"""What the public pages say of a release in words and figures, all from its Released blob."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction

from django.core.cache import cache

from dpgeo.artefacts.statement import cost_words
from dpgeo.artefacts.wording import CHOICE
from dpgeo.core.guarantees import Counting, Unit
from dpgeo.core.kinds import Kind
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.released import PointsRelease, Released
from dpgeo.core.spend import Measured
from dpgeo.mechanisms.registry import MECHANISMS, kind_of
from dpgeo.postprocess.layers import BoxLayer, Layer, ShapeLayer, layers
from dpgeo.postprocess.summary import cells_standing_out, largest, total
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import released_of

TABLE_ROWS = 20
"""Counts in the table that stands behind every map."""

FOR_EVER = None
"""A blob never changes, so neither does what is said of it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One large count: where its box has its middle (degrees), and how sure it is."""

    latitude: float
    longitude: float
    value: float
    margin: float
    cells: int


@dataclass(frozen=True, slots=True)
class LayerName:
    """A layer as the map's switch offers it."""

    name: str
    title: str
    measured: bool
    look: str
    """The key of what draws it in `frontend/src/layer-registry.ts`."""


@dataclass(frozen=True, slots=True)
class SpendLine:
    """One measurement that was paid for; `share` is its part of the whole in per cent.

    `drawn` counts carry noise of `scale`; `splits` are decisions where to cut, `choices`
    of places; they have none.
    """

    label: str
    epsilon: Fraction
    share: float
    sensitivity: int
    scale: float
    margin: int
    drawn: bool
    splits: bool
    choices: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Counts of boxes of cells, as they were measured."""

    total: int
    total_margin: float
    count_margin: float
    counts: int
    boxes: bool
    cells: int
    cells_standing_out: int
    cell_metres: float
    rows: tuple[Row, ...]

    @property
    def total_low(self) -> float:
        """Lower end of the total's 95 % interval."""
        return self.total - self.total_margin

    @property
    def total_high(self) -> float:
        """Upper end of the total's 95 % interval."""
        return self.total + self.total_margin


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Points as they were moved; `near` and `far` hold half and 95 % of them, in metres."""

    points: int
    cost: str
    level: str
    radius: int
    near: float
    far: float
    step: int
    time: str
    updates: int
    cell_metres: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The figures of one release. `unit` and `counting` are the values of their enumerations."""

    unit: str
    counting: str
    bound: int
    choice: str
    epsilon: Fraction
    mechanism: str
    kind: str
    """What kind of release it is, in words."""
    software: str
    square_kilometres: float
    layers: tuple[LayerName, ...]
    spends: tuple[SpendLine, ...]
    figures: Figures | None
    """Of what was measured in boxes of cells; None of releases that hold no such counts."""
    moved: Moved | None
    """Of points that were moved; None of releases that hold none."""

    @property
    def looks(self) -> str:
        """What draws each layer, as JSON for the map."""
        return json.dumps({layer.name: layer.look for layer in self.layers})

    @property
    def can_add_up(self) -> bool:
        """Whether there are counts that an area of the reader's can be added up from."""
        return self.figures is not None or any(layer.look == "zones" for layer in self.layers)

    @property
    def by_person(self) -> bool:
        """Whether a whole person is hidden, rather than one record."""
        return self.unit == Unit.PERSON.value

    @property
    def counts_people(self) -> bool:
        """Whether each person adds at most 1 to a cell."""
        return self.counting == Counting.PEOPLE.value

    @property
    def shift_of_one(self) -> float:
        """How far one unit can move one published count, in scales of that count's noise.

        Somebody who is counted once in each of several cells of a box moves its count by as many.
        """
        drawn = [spend for spend in self.spends if spend.scale]
        in_cells = self.figures is not None and not self.figures.boxes
        most = 1 if self.counts_people and in_cells else self.bound
        return max((most / spend.scale for spend in drawn), default=0.0)


def summary_of(release: Release) -> Summary:
    """The summary of a release that has been drawn; kept by the checksum of its blob.

    Raises Conflict before there is a blob.
    """
    key = f"dpgeo.pages.summary.{release.blob_sha256}"
    kept = cache.get(key) if release.blob_sha256 else None
    if isinstance(kept, Summary):
        return kept
    summary = summarise(released_of(release))
    cache.set(key, summary, FOR_EVER)
    return summary


def summarise(released: Released) -> Summary:
    """The figures of a release; a function of the Released alone."""
    shown = layers(released)
    boxes = [layer for layer in shown if isinstance(layer, BoxLayer)]
    mechanism = MECHANISMS.get(released.mechanism)
    kind = kind_of(released.mechanism)
    return Summary(
        unit=released.guarantee.unit.value,
        counting=released.counting.value,
        bound=released.bound,
        choice=CHOICE[released.bounding],
        epsilon=released.guarantee.epsilon,
        mechanism=mechanism.title if mechanism else released.mechanism,
        kind=kind.words if kind else "Map",
        software=released.software,
        square_kilometres=released.area.ground_square_kilometres,
        layers=tuple(
            LayerName(layer.name, layer.title, layer.kind == "measured", _look(layer, kind))
            for layer in shown
        ),
        spends=tuple(_spend(line, released.guarantee.epsilon) for line in released.trace),
        moved=_moved(released),
        figures=_figures(boxes[0]) if boxes and boxes[0].kind == "measured" else None,
    )


def _look(layer: Layer, kind: Kind | None) -> str:
    """Shapes and points are drawn by what they stand for."""
    if isinstance(layer, BoxLayer):
        return "heatmap"
    if isinstance(layer, ShapeLayer):
        return "contours" if kind is Kind.CONTOURS else "zones"
    return "clusters" if kind is Kind.CLUSTERS and layer.value is not None else "points"


def _figures(measured: BoxLayer) -> Figures:
    whole = total(measured)
    return Figures(
        total=whole.value,
        total_margin=whole.margin,
        count_margin=float(measured.margin.max()) if measured.margin.size else 0.0,
        counts=whole.counts,
        boxes=bool((measured.cells > 1).any()),
        cells=int(measured.cells.sum()),
        cells_standing_out=cells_standing_out(measured),
        cell_metres=measured.grid.ground_cell_metres,
        rows=_rows(measured),
    )


def _rows(layer: BoxLayer) -> tuple[Row, ...]:
    chosen = largest(layer, TABLE_ROWS)
    bounds = layer.grid.box_bounds(layer.boxes[chosen])
    return tuple(
        Row(
            latitude=float((south + north) / 2),
            longitude=float((west + east) / 2),
            value=float(layer.value[index]),
            margin=float(layer.margin[index]),
            cells=int(layer.cells[index]),
        )
        for index, (west, south, east, north) in zip(chosen, bounds, strict=True)
    )


def _spend(line: Measured, whole: Fraction) -> SpendLine:
    noise = line.noise
    counts = noise if isinstance(noise, DiscreteLaplace) else None
    return SpendLine(
        label=line.label,
        epsilon=line.epsilon,
        share=float(100 * line.epsilon / whole),
        sensitivity=noise.sensitivity if noise else 0,
        scale=float(1 / counts.rate) if counts else 0.0,
        margin=counts.margin() if counts else 0,
        drawn=noise is not None,
        splits=line.splits,
        choices=line.choices,
    )


def _moved(released: Released) -> Moved | None:
    content = released.content
    if not isinstance(content, PointsRelease):
        return None
    noise = content.noise
    return Moved(
        points=len(content.longitude),
        cost=cost_words(released),
        level=str(released.parameters["level"]),
        radius=int(released.parameters["radius"]),
        near=noise.radius(0.5),
        far=noise.radius(0.95),
        step=noise.step,
        time=str(released.parameters["time"]),
        updates=content.updates,
        cell_metres=content.grid.ground_cell_metres,
    )
