"""Facts and figures of a release for the public pages, read only from its blob."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction

from django.core.cache import cache

from dpgeo.artefacts import preview
from dpgeo.artefacts.declarations import change_words, choice_words, layer_words, layers_used
from dpgeo.artefacts.promises import Promise
from dpgeo.artefacts.statement import promise_of
from dpgeo.artefacts.statement_schema import LayerUsed
from dpgeo.artefacts.table import extent
from dpgeo.artefacts.wording import CHOICE
from dpgeo.core.counted import Counted, counted_in_sum, counted_once, people_between
from dpgeo.core.guarantees import ZCDP, Counting, Guarantee, Unit
from dpgeo.core.noise import DiscreteGaussian, DiscreteLaplace, PlanarLaplace
from dpgeo.core.nouns import REPORT, ROW, TRIP, VISIT, choose_noun
from dpgeo.core.released import Released
from dpgeo.core.series import Part
from dpgeo.core.spend import Measured
from dpgeo.core.window import Window
from dpgeo.core.zcdp import delta_text
from dpgeo.mechanisms.registry import MECHANISMS, find_kind
from dpgeo.pages.flow_rows import Flows, listed_flows
from dpgeo.pages.largest_rows import Row, rows_of
from dpgeo.pages.mean_table import MeanTable, mean_table
from dpgeo.pages.moved_points import Moved, describe_moved
from dpgeo.pages.place_rows import PlaceList, place_lists
from dpgeo.pages.privacy_diagrams import Chart, Range, chart, ranges
from dpgeo.pages.trip_tables import TripTables, trip_tables
from dpgeo.phrases import Phrase, translatable
from dpgeo.postprocess.joint_sums import JointSums
from dpgeo.postprocess.layers import BoxLayer, Layer, ShapeLayer, layers
from dpgeo.postprocess.layers.features import CELLS, Features
from dpgeo.postprocess.layers.profile_tables import Profile, zone_profile
from dpgeo.postprocess.layers.slices import stacked
from dpgeo.postprocess.opening import Opening, coloured, opening_layer, opening_view
from dpgeo.postprocess.profiles import Profiles, profiles
from dpgeo.postprocess.scaling import Scaling, array_scaling
from dpgeo.postprocess.summary import counted, size, standing_out, total
from dpgeo.releases.models import Release
from dpgeo.releases.selectors import load_released
from dpgeo.spatial.area import ground_square_kilometres

BARS = 8
"""Number of zones or clusters in the chart next to the map."""

FOR_EVER = None
"""Timeout of cached summaries, which never expire because a blob never changes."""


@dataclass(frozen=True, slots=True)
class Band:
    """The area between the contours of two densities, in people per square kilometre.

    In the last band, `high` is the highest density of the map.
    """

    low: float
    high: float
    square_kilometres: float


@dataclass(frozen=True, slots=True)
class LayerName:
    """A layer, described for the map's layer switch."""

    name: str
    title: str
    measured: bool
    look: str
    """Key of the layer's renderer in `frontend/src/layers/registry.ts`."""
    adds_up: bool
    """Whether the layer's features are shapes with counts, which can be summed over an area."""
    size: int
    """The number of features in the layer, such as zones."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar in a chart, with its margin of error, for a slice of time, a zone or a cluster."""

    title: str
    value: float
    margin: float
    range: Range


@dataclass(frozen=True, slots=True)
class SpendLine:
    """One paid measurement; `share` is its part of the release's cost in per cent.

    `amount` is an epsilon or, under zCDP, a rho. `drawn` says whether the measurement drew noise;
    for counts, `scale` is the noise scale, and `sensitivity` the sum of the changes that one unit
    makes (for Laplace noise) or of their squares (for Gaussian noise). A measurement that drew no
    noise decided where to divide the map (`splits`), replaced private places by public ones
    (`choices`), chose the contribution bound (`bound`), or was paid for but not needed.
    """

    label: str
    amount: Fraction
    share: float
    sensitivity: int
    scale: float
    margin: int
    drawn: bool
    splits: bool
    choices: bool
    bound: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Measured counts of a layer's features, such as boxes of cells, zones or clusters.

    `counts` is the number of features, `size` the number of cells, zones or clusters in them, and
    `standing` the number of these that stand out clearly from the noise. `together` is true if no
    count stands out from the noise on its own, but sums of neighbouring counts do, and the map
    colours these. `cell_metres` is 0 if there are no cells. `counted` says what the sum of all
    counts is a number of, such as visits, and `each` the same of a single count. `people` is the
    smallest and the largest number of people that the total can stand for, if the same people may
    be in several counts. If `listed`, the release lists only counts from a threshold on, so nothing
    is said about all features together.
    """

    features: Features
    counted: Counted
    each: Counted
    people: tuple[int, int] | None
    listed: bool
    total: int
    total_margin: float
    count_margin: float
    counts: int
    boxes: bool
    size: int
    standing: int
    together: bool
    cell_metres: float
    rows: tuple[Row, ...]

    @property
    def total_low(self) -> float:
        """Return the lower end of the total's 95 % interval."""
        return self.total - self.total_margin

    @property
    def total_high(self) -> float:
        """Return the upper end of the total's 95 % interval."""
        return self.total + self.total_margin


@dataclass(frozen=True, slots=True)
class TotalLine:
    """A noisy total of all the data that the release paid for; one person adds at most `most` to
    it.
    """

    counted: Counted
    value: int
    margin: int
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Facts and figures of one release; `unit` and `counting` are values of Unit and Counting."""

    unit: str
    counting: str
    noun: str
    """The owner's word for a row; "" if the owner chose none."""
    promise: Promise
    """What can be guessed about a person from this map alone."""
    bound: int
    household: int
    choice: str
    cost: Guarantee
    mechanism: str
    kind: str
    """The title of the kind of release."""
    software: str
    public_layers: tuple[tuple[LayerUsed, tuple[Phrase, ...]], ...]
    """The public layers used by the release, with sentences on where they come from."""
    window: Window | None
    """The days whose rows are counted; None for all rows."""
    series: Part | None
    """The map's position in its series; None if it is in no series."""
    time_zone: str
    """The time zone of the window, or ""."""
    area_chosen: list[Phrase]
    """Sentences on how the study area was chosen, and changed after the first upload."""
    square_kilometres: float
    layers: tuple[LayerName, ...]
    opening: Opening
    bounds: tuple[float, ...]
    """West, south, east and north, in degrees, of the part of the map that is shown first."""
    pictured: tuple[float, ...]
    """West, south, east and north, in degrees, of the static picture without its margin."""
    in_picture: tuple[float, ...]
    """Position in the static picture, in pixels, of the box `bounds`: x and y of its middle, its
    width and its height.
    """
    spends: tuple[SpendLine, ...]
    figures: Figures | None
    """Measured counts; None for releases without counts."""
    totals: tuple[TotalLine, ...]
    """Noisy totals of all the data, if the release paid for any; else empty."""
    scaling: Scaling | None
    """How counts are scaled to one of the noisy totals; None if they are not scaled."""
    bands: tuple[Band, ...]
    """Contour bands, lowest first."""
    flows: Flows | None
    """The flows as tables, or None for releases without flows."""
    made_up: TripTables | None
    """Tables of made-up trips, or None for releases without made-up trips."""
    places: tuple[PlaceList, ...]
    """Rankings of places, for all contexts together and for each; () for releases without places.
    """
    moved: Moved | None
    """How points were perturbed, or None for releases without points."""
    slices: tuple[Bar, ...]
    """Total of each slice, in the order of the slices; empty except for sliced maps of counts."""
    values: tuple[str, ...]
    """Titles of the values of the category by which the map is divided, or ()."""
    times: tuple[str, ...]
    """Titles of the times by which the map is divided, or ()."""
    means: MeanTable | None
    """Means or medians of zones, highest first; None for all other releases."""
    profile: Profile | None
    """Counts of each zone by hour and day of the week; None for releases without such counts."""
    ranking: tuple[Bar, ...]
    """The largest zones or clusters, largest first."""
    profiles: tuple[Chart, ...]
    """Charts of a grid map's counts in strips, from west to east and from south to north."""

    @property
    def looks(self) -> str:
        """Return the renderer key of each layer, as JSON for the map's script."""
        return json.dumps({layer.name: layer.look for layer in self.layers})

    @property
    def opens(self) -> str:
        """Return the layer, unit and colour classes that a map shows first, as JSON for scripts."""
        edges = {
            name: [float(f"{edge:.6g}") for edge in each]
            for name, each in self.opening.edges.items()
        }
        return json.dumps(asdict(self.opening) | {"edges": edges}, separators=(",", ":"))

    @property
    def squares(self) -> tuple[LayerName, ...]:
        """Return the layers if the reader can choose between several grids; () otherwise."""
        alike = all(layer.look == CELLS.look for layer in self.layers)
        return self.layers if alike and len(self.layers) > 1 and not self.divided else ()

    @property
    def kinds_of_layers(self) -> tuple[LayerName, ...]:
        """Return the layers to choose from if their kinds differ, the initial layer first."""
        if self.squares or self.divided or len(self.layers) == 1:
            return ()
        return tuple(sorted(self.layers, key=lambda layer: layer.name != self.opening.layer))

    @property
    def divided(self) -> bool:
        """Whether the map is divided into slices of time or of a category."""
        return bool(self.values or self.times)

    @property
    def can_add_up(self) -> bool:
        """Whether there are counts that can be summed over areas drawn by the reader."""
        return (
            self.flows is not None or self.has_cells or any(layer.adds_up for layer in self.layers)
        )

    @property
    def has_cells(self) -> bool:
        """Whether cells or boxes of cells were counted."""
        return self.figures is not None and self.figures.cell_metres > 0

    @property
    def by_person(self) -> bool:
        """Whether the privacy unit is a person rather than a record."""
        return self.unit == Unit.PERSON.value

    @property
    def counts_people(self) -> bool:
        """Whether each person adds at most 1 to a cell."""
        return self.counting == Counting.PEOPLE.value

    @property
    def rows(self) -> str:
        """The plural word for the rows of the data, such as "visits" or "reports"."""
        return choose_noun(self.noun, REPORT if self.moved else VISIT).many

    @property
    def contour_word(self) -> str:
        """The word for what the contours' densities count, such as "people"."""
        return self.word(counted_in_sum(Counting(self.counting), self.bound))

    @property
    def promised_rows(self) -> str:
        """The plural word for rows in the privacy promise."""
        return choose_noun(self.noun, REPORT if self.moved else ROW).many

    def word(self, counted: Counted) -> str:
        """Return the plural word for what is counted, such as "people", "trips" or "visits"."""
        if self.flows and counted is not Counted.PEOPLE:
            return TRIP.many
        return self.rows if counted is Counted.VISITS else counted.value

    @property
    def total_lines(self) -> tuple[tuple[str, TotalLine], ...]:
        """Return the noisy totals to show, each with the word for what it counts.

        Beside the map's own sum, a total that says no more than it would only raise the question
        which of both is right: one that is lost in its noise, one of the same noun that is no more
        exact, and one from which it is not clear that the map leaves anything out.
        """
        figures = self.figures
        return tuple(
            (self.word(line.counted), line)
            for line in self.totals
            if not figures
            or (
                line.margin < line.value
                and (line.counted != figures.counted or line.margin < figures.total_margin)
                and (self.is_scaled or not self.scaling or line.counted != self.scaling.counted)
            )
        )

    @property
    def is_scaled(self) -> bool:
        """Whether counts are offered scaled: the map leaves something out, beyond the noise."""
        return self.scaling is not None and self.scaling.known and self.scaling.low > 1

    @property
    def scaled_word(self) -> str:
        """The word for what scaled counts are numbers of, such as "visits"."""
        return self.word(self.scaling.counted) if self.scaling else self.rows

    @property
    def scales(self) -> str:
        """Return the scaling of a grid map as JSON for the map's script; "" if it is not scaled."""
        scaling = self.scaling
        if (
            not scaling
            or not self.is_scaled
            or any(each.look != CELLS.look for each in self.layers)
        ):
            return ""
        spread = max(scaling.high - scaling.factor, scaling.factor - scaling.low) / scaling.factor
        return json.dumps({"factor": scaling.factor, "spread": spread})

    @property
    def flow_word(self) -> str:
        """The word for what one flow counts: "people" if each counts once in it, or "trips"."""
        return self.word(counted_once(Counting(self.counting)))

    @property
    def each_word(self) -> str:
        """The word for what a single count counts, such as "people"."""
        return self.word(self.figures.each) if self.figures else self.rows

    @property
    def total_word(self) -> str:
        """The word for what the sum of all counts counts, such as "visits"."""
        return self.word(self.figures.counted) if self.figures else self.rows

    @property
    def epsilon(self) -> Fraction:
        """The release's epsilon; at `delta` if its cost is a rho."""
        return self.cost.epsilon

    @property
    def rho(self) -> Fraction | None:
        """The rho that the release costs; None if it costs an epsilon."""
        return self.cost.rho if isinstance(self.cost, ZCDP) else None

    @property
    def delta(self) -> str:
        """The delta at which a rho is stated as an epsilon; "" without a rho."""
        return delta_text(self.cost.delta) if isinstance(self.cost, ZCDP) else ""

    @property
    def shift_of_one(self) -> float:
        """Return how far one privacy unit can shift a figure, in noise scales; at most epsilon.

        A cell's count shifts by at most 1 if people are counted, and other counts by at most the
        bound. A figure that is computed from several noisy counts, such as a mean, a flow, or the
        estimate of an inferred layer, may shift by the epsilon of all of them. It is 0 under zCDP,
        because pages then draw no curves of the noise.
        """
        if self.rho is not None:
            return 0.0
        whole = float(self.epsilon)
        if self.moved:
            return 0.0  # The noise moves points instead of being added to counts.
        if not self.figures or self.flows or not all(layer.measured for layer in self.layers):
            return whole
        in_cells = self.has_cells and not self.figures.boxes
        most = 1 if self.counts_people and in_cells else self.bound
        drawn = [spend for spend in self.spends if spend.scale]
        shifts = [min(most, spend.sensitivity) / spend.scale for spend in drawn]
        return min(whole, max(shifts, default=0.0))


def build_summary(release: Release) -> Summary:
    """Return the summary of a drawn release, cached under the checksum of its blob.

    Raises Conflict if the release has no blob yet.
    """
    key = f"dpgeo.pages.summary.{release.blob_sha256}"
    cached = cache.get(key) if release.blob_sha256 else None
    if isinstance(cached, Summary):
        return cached
    summary = summarise(load_released(release))
    cache.set(key, summary, FOR_EVER)
    return summary


def summarise(released: Released) -> Summary:
    """Compute the summary of a release from its blob alone."""
    drawn_layers = layers(released)
    counts = [
        layer
        for layer in drawn_layers
        if layer.kind == "measured" and layer.value is not None and layer.features.counts
    ]
    slices = [each for each in drawn_layers if isinstance(each, BoxLayer) and each.sliced]
    flows = listed_flows(released.content, drawn_layers)
    places = place_lists(released.content)
    joint = JointSums.of(released)
    if slices:
        counts = [stacked([each for each in counts if isinstance(each, BoxLayer)])]
    opening = opening_view(drawn_layers)
    opened = next(layer for layer in drawn_layers if layer.name == opening.layer)
    grids = [layer.grid for layer in drawn_layers if isinstance(layer, BoxLayer)]
    mechanism = MECHANISMS.get(released.mechanism)
    kind = find_kind(released.mechanism)
    bounds = tuple(grids[0].bounds if grids else released.area.bounds)
    pictured = tuple(extent(released, opened))
    return Summary(
        unit=released.guarantee.unit.value,
        counting=released.counting.value,
        noun=released.about.get("row_noun", ""),
        promise=promise_of(released),
        bound=released.bound,
        household=released.request.household,
        choice=CHOICE[released.bounding],
        cost=released.guarantee,
        mechanism=mechanism.title if mechanism else released.mechanism,
        kind=kind.title if kind else translatable("Map"),
        software=released.software,
        public_layers=tuple((layer, tuple(layer_words(layer))) for layer in layers_used(released)),
        window=released.request.window,
        series=released.series,
        time_zone=released.about.get("time_zone", ""),
        area_chosen=[*choice_words(released), *change_words(released)],
        square_kilometres=released.area.ground_square_kilometres,
        layers=tuple(
            LayerName(
                layer.name,
                layer.title,
                layer.kind == "measured",
                layer.features.look,
                isinstance(layer, ShapeLayer) and layer.features.counts,
                len(layer),
            )
            for layer in drawn_layers
            if layer.on_map
        ),
        opening=opening,
        bounds=bounds,
        pictured=pictured,
        in_picture=preview.position(bounds, pictured),
        spends=tuple(_spend(line, released.guarantee.amount) for line in released.trace),
        flows=flows,
        made_up=trip_tables(released.content, drawn_layers),
        places=places,
        moved=describe_moved(released.content, released, drawn_layers),
        figures=_figures(counts[0], released, drawn_layers, joint) if counts else None,
        totals=tuple(
            TotalLine(counted, each.count, each.margin, each.most)
            for counted, each in (released.totals.each() if released.totals else {}).items()
        ),
        scaling=array_scaling(released, drawn_layers),
        bands=_bands(drawn_layers),
        slices=_flow_times(flows) if flows else _slice_totals(slices, released),
        values=_titles(each.of[0] for each in drawn_layers if each.sliced),
        times=_titles(each.of[1] for each in drawn_layers if each.sliced),
        means=mean_table(drawn_layers),
        profile=zone_profile(released.content),
        ranking=_ranking(counts[0]) if counts and not places else (),
        profiles=_profiles(counts[0], joint) if counts and not slices else (),
    )


def _titles(titles: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, titles)))


def _slice_totals(slices: Sequence[Layer], released: Released) -> tuple[Bar, ...]:
    joints = [JointSums.of(released, layer.name) for layer in slices]
    totals = [
        joint.total() if joint else total(layer)
        for layer, joint in zip(slices, joints, strict=True)
    ]
    named = [
        (layer.title, each.value, each.margin) for layer, each in zip(slices, totals, strict=True)
    ]
    return _bars(named)


def _flow_times(flows: Flows) -> tuple[Bar, ...]:
    return _bars([(each.title, each.value, each.margin) for each in flows.times])


def _ranking(layer: Layer) -> tuple[Bar, ...]:
    """Return bars of the largest zones or clusters; () for cells, which `_profiles` draws."""
    if isinstance(layer, BoxLayer):
        return ()
    return _bars([(row.name, row.value, row.margin) for row in rows_of(layer, BARS)])


def _bars(named: Sequence[tuple[str, float, float]]) -> tuple[Bar, ...]:
    drawn = ranges([(value, margin) for _, value, margin in named])
    return tuple(Bar(*each, range=place) for each, place in zip(named, drawn, strict=True))


def _profiles(layer: Layer, joint: JointSums | None) -> tuple[Chart, ...]:
    if joint:
        strips: Profiles | None = joint.profiles()
    else:
        strips = profiles(layer) if isinstance(layer, BoxLayer) else None
    return (chart(strips.eastward, "EW"), chart(strips.northward, "NS")) if strips else ()


def _figures(
    measured: Layer, released: Released, shown: Sequence[Layer], joint: JointSums | None
) -> Figures:
    """Return the figures of measured counts; the total is computed from all phases.

    If the layer that the map shows first has estimates for the same number of cells, `standing` is
    the number of cells that it colours, provided that any measured count stands out.
    """
    whole, clear = (joint.total() if joint else total(measured)), standing_out(measured)
    seen = opening_layer(shown)
    if clear and isinstance(seen, BoxLayer) and seen.told is None and size(seen) == size(measured):
        clear = int(seen.cells[coloured(seen)].sum()) or clear
    boxes = isinstance(measured, BoxLayer) and bool((measured.cells > 1).any())
    of_sum = counted_in_sum(released.counting, released.bound)
    once = measured.features.once and not boxes
    listed = measured.least_listed is not None
    low, high = whole.value - whole.margin, whole.value + whole.margin
    people = people_between(low, high, released.guarantee.unit, released.bound)
    return Figures(
        features=measured.features,
        counted=of_sum,
        each=counted_once(released.counting) if once else of_sum,
        people=None if listed or of_sum is Counted.PEOPLE else people,
        listed=listed,
        total=whole.value,
        total_margin=whole.margin,
        count_margin=float(counted(measured)[1].max(initial=0.0)),
        counts=len(measured),
        boxes=boxes,
        size=size(measured),
        standing=clear,
        together=not clear
        and any(bool(coloured(each).any()) for each in shown if each.coloured_from is not None),
        cell_metres=measured.grid.ground_cell_metres if isinstance(measured, BoxLayer) else 0.0,
        rows=rows_of(measured),
    )


def _bands(drawn_layers: list[Layer]) -> tuple[Band, ...]:
    for layer in drawn_layers:
        if isinstance(layer, ShapeLayer) and layer.name == "bands":
            columns = layer.columns["from_people_per_km2"], layer.columns["to_people_per_km2"]
            ground = ground_square_kilometres(layer.shapes)
            return tuple(
                Band(float(low), float(high), float(people))
                for low, high, people in zip(*columns, ground, strict=True)
                if people > 0
            )
    return ()


def _spend(line: Measured, whole: Fraction) -> SpendLine:
    noise = line.noise
    counts = None if isinstance(noise, PlanarLaplace) else noise
    if isinstance(noise, DiscreteGaussian):
        sensitivity, scale = noise.squared_sensitivity, math.sqrt(noise.square_scale)
    elif isinstance(noise, DiscreteLaplace):
        sensitivity, scale = noise.sensitivity, float(1 / noise.rate)
    else:
        sensitivity, scale = noise.sensitivity if noise else 0, 0.0
    return SpendLine(
        label=line.label,
        amount=line.amount,
        share=float(100 * line.amount / whole),
        sensitivity=sensitivity,
        scale=scale,
        margin=counts.margin() if counts else 0,
        drawn=noise is not None,
        splits=line.splits,
        choices=line.choices,
        bound=line.bound,
    )
