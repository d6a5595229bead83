"""Layers of flows: departures and arrivals of regions, and the flows that stand out as lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from dpgeo.core.errors import InvalidInput
from dpgeo.core.released import Content, FlowsRelease
from dpgeo.phrases import listed as listed_words
from dpgeo.phrases import translatable
from dpgeo.postprocess.areas import Areas
from dpgeo.postprocess.compared import Compared, table_of_all, table_of_lists
from dpgeo.postprocess.empirical_bayes import noise_kind, posterior
from dpgeo.postprocess.flow_estimate import least_squares
from dpgeo.postprocess.layers.features import ARRIVALS, DEPARTURES, FLOWS, Features
from dpgeo.postprocess.layers.layer import EXACT_NOISE, Layer, ShapeLayer, same
from dpgeo.postprocess.layers.registry import (
    can_compare,
    make_areas,
    make_compared,
    make_layers,
    select_slice,
    slim,
)
from dpgeo.postprocess.layers.sparse import selected_margin
from dpgeo.postprocess.noise_sums import margin_of_sum
from dpgeo.postprocess.non_negative import non_negative
from dpgeo.postprocess.zone_areas import ZoneAreas
from dpgeo.spatial.area import StudyArea

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SLICE_MARGIN, SLICE_THRESHOLD = "slice_margin", "slice_threshold"
"""Names of the columns with the margin and threshold of a count in one slice."""

FLOWS_NAME, LEAVING_NAME, ARRIVING_NAME = "flows", "departures", "arrivals"

FLOW_NOTE = (
    "Only flows whose noisy count reached {least:,} are listed, between regions whose departures "
    "and arrivals reached {ends:,}: in 19 of 20 maps, none of them is of noise alone. The margin "
    "allows for that choice: at least 95 of 100 listed flows are within it. Listed counts are on "
    "average a little too high; column likely takes that back, and column least_squares is the "
    "estimate from pairs, departures and arrivals together."
)

SPARSE_NOTE = (
    "Only flows whose noisy count reached {least:,} were drawn. Those between regions whose "
    "departures and arrivals reached {ends:,} are listed: in 19 of 20 maps, none of them is of "
    "noise alone. The margin allows for that choice: at least 95 of 100 listed flows are within "
    "it. Listed counts are on average a little too high."
)

SUM_NOTE = (
    "The margin is the exact 95 % quantile of the noise. Column other holds the trips of the "
    "region that are in no listed flow, as estimated, with a nominal margin."
)

LOCAL_TIME = " Trips count where they begin, in local time ({time_zone})."


@dataclass(frozen=True, eq=False)
class Slice:
    """The flows of one slice: noisy counts of pairs, and estimates computed from them.

    `pair`, int64 (m,) ascending, holds the numbers of the pairs whose counts were released, origin
    * n + destination, and `count` (m,) their noisy counts. `leaving` and `arriving` (n,) are the
    noisy numbers of departures and arrivals.
    """

    content: FlowsRelease
    pair: Ints
    count: Ints
    leaving: Ints
    arriving: Ints

    @property
    def n(self) -> int:
        """Number of regions."""
        return len(self.content.zones)

    @cached_property
    def listed(self) -> Ints:
        """Positions (k,) in `pair` of the listed flows between different regions."""
        origin, destination = np.divmod(self.pair, self.n)
        least = self.content.ends_threshold
        ends = (self.leaving[origin] >= least) & (self.arriving[destination] >= least)
        stands_out = ends & (self.count >= self.content.threshold)
        return np.flatnonzero(stands_out & (origin != destination))

    @cached_property
    def estimates(self) -> Floats | None:
        """Return the least-squares estimates (n, n) of all pairs' counts, or None if not all pairs
        were released.
        """
        content = self.content
        if content.sparse:
            return None
        ratio = content.sum_noise.variance / content.noise.variance
        return least_squares(
            self.count.reshape(self.n, self.n).astype(np.float64),
            self.leaving.astype(np.float64),
            self.arriving.astype(np.float64),
            (ratio, ratio),
            within=content.within,
        )

    @cached_property
    def likely(self) -> Floats:
        """Return posterior means (m,) of the counts of the pairs in `pair`.

        The prior guess for a pair assumes that destinations do not depend on origins, and is
        computed from noisy departures and arrivals.
        """
        noise = self.content.noise
        scale = noise.scale
        leaving, arriving = (np.maximum(each, 0.0) for each in (self.leaving, self.arriving))
        total = max(float(leaving.sum() + arriving.sum()) / 2, 1.0)
        guess = leaving[self.pair // self.n] * arriving[self.pair % self.n] / total
        return posterior(self.count / scale, guess / scale, noise_kind(noise)).mean * scale

    def other(self, *, arriving: bool) -> tuple[Floats, Floats]:
        """Return each region's trips (n,) that are in no listed flow, and their margins (n,).

        These are arrivals if `arriving` is true, otherwise departures.
        """
        ends = self.pair % self.n if arriving else self.pair // self.n
        sums = (self.arriving if arriving else self.leaving).astype(np.float64)
        if self.estimates is not None:
            sums = self.estimates.sum(axis=0 if arriving else 1)
        places, content = self.listed, self.content
        number = np.bincount(ends[places], minlength=self.n)
        told = np.bincount(ends[places], self.count[places], minlength=self.n)
        margins = {
            k: margin_of_sum({content.sum_noise: 1, content.noise: k}) for k in set(number.tolist())
        }
        return sums - told, np.array([margins[k] for k in number.tolist()], dtype=np.float64)


def slices_of(content: FlowsRelease) -> list[Slice]:
    """Return the flows of each slice."""
    n = len(content.zones)
    if content.sparse:
        ends = np.searchsorted(content.listed, np.arange(len(content.keys) + 1) * n * n)
        parts = [
            (content.listed[start:end] - number * n * n, content.pairs[start:end])
            for number, (start, end) in enumerate(pairwise(ends.tolist()))
        ]
    else:
        every = np.arange(n * n, dtype=np.int64)
        parts = [(every, counts) for counts in content.pairs.reshape(-1, n * n)]
    return [
        Slice(content, pair, count, leaving, arriving)
        for (pair, count), leaving, arriving in zip(
            parts, content.leaving, content.arriving, strict=True
        )
    ]


@make_layers.register
def _flow_layers(content: FlowsRelease, area: StudyArea) -> list[Layer]:
    slices = slices_of(content)
    flows = [_lines(part, number) for number, part in enumerate(slices)]
    fullest = max(range(len(flows)), key=lambda at: int(slices[at].arriving.sum()))
    return [
        _sums(content, slices, arriving=False),
        _sums(content, slices, arriving=True),
        *(replace(layer, opens=at == fullest) for at, layer in enumerate(flows)),
    ]


def layer_name(key: str) -> str:
    """Return the name of the layer with a slice's flows."""
    return f"{FLOWS_NAME}-{key}" if key else FLOWS_NAME


def _time_words(content: FlowsRelease) -> str:
    return LOCAL_TIME.format(time_zone=content.time_zone) if content.time_zone else ""


def _lines(part: Slice, number: int) -> ShapeLayer:
    """Return the listed flows of a slice as lines from a point in the origin to one in the
    destination.
    """
    content, zones, listed = part.content, part.content.zones, part.listed
    origin, destination = part.pair[listed] // part.n, part.pair[listed] % part.n
    count = part.count[listed]
    points = shapely.get_coordinates(shapely.point_on_surface(zones.shapes))
    lines = shapely.linestrings(np.stack([points[origin], points[destination]], axis=1))
    keys, names = (np.array(each, dtype=object) for each in (zones.keys, zones.names))
    estimates = {}
    if part.estimates is not None:
        estimates = {
            "least_squares": part.estimates[origin, destination],
            "likely": part.likely[listed],
        }
    note = (SPARSE_NOTE if content.sparse else FLOW_NOTE).format(
        least=content.threshold, ends=content.ends_threshold
    )
    title = content.titles[number]
    return ShapeLayer(
        name=layer_name(content.keys[number]),
        title=title or translatable("Flows"),
        kind="measured",
        shapes=lines,
        value=count,
        margin=selected_margin(count, content.threshold, content.noise),
        margin_label=EXACT_NOISE,
        note=note + _time_words(content),
        threshold=same(float(content.threshold), count.size),
        least_listed=content.threshold,
        sliced=len(content.keys) > 1,
        of=content.names.parts[number],
        features=FLOWS,
        columns={
            "origin": keys[origin],
            "origin_name": names[origin],
            "destination": keys[destination],
            "destination_name": names[destination],
            **{
                f"{end}_{axis}": points[number, column]
                for end, number in (("origin", origin), ("destination", destination))
                for column, axis in enumerate(("longitude", "latitude"))
            },
            **estimates,
        },
    )


def _sums(content: FlowsRelease, slices: list[Slice], *, arriving: bool) -> ShapeLayer:
    """Return a layer of each region's departures, added up over all slices.

    With `arriving`, these are arrivals.
    """
    zones, n = content.zones, len(content.zones)
    counts = (content.arriving if arriving else content.leaving).sum(axis=0)
    terms = {content.sum_noise: len(slices)}
    others = [part.other(arriving=arriving) for part in slices]
    of_slices: dict[str, NDArray[Any]] = {}
    if len(slices) > 1:
        of_slices = {
            SLICE_MARGIN: same(float(margin_of_sum({content.sum_noise: 1})), n),
            SLICE_THRESHOLD: same(float(content.sum_noise.sum_threshold(1)), n),
        }
        ends = content.arriving if arriving else content.leaving
        for key, values, (rest, margin) in zip(content.keys, ends, others, strict=True):
            of_slices |= {
                f"count_{key}": values,
                f"other_{key}": rest,
                f"other_margin_{key}": margin,
            }
    other = np.sum([value for value, _ in others], axis=0)
    other_margin = np.sqrt(np.sum([margin**2 for _, margin in others], axis=0))
    within = {}
    if content.within and not content.sparse:
        every = np.arange(n) * (n + 1)
        within = {
            "within": np.sum([part.count[every] for part in slices], axis=0),
            "within_margin": same(float(margin_of_sum({content.noise: len(slices)})), n),
        }
    features: Features = ARRIVALS if arriving else DEPARTURES
    return ShapeLayer(
        name=ARRIVING_NAME if arriving else LEAVING_NAME,
        title=translatable("Arrivals") if arriving else translatable("Departures"),
        kind="measured",
        shapes=shapely.orient_polygons(zones.shapes),
        value=counts,
        margin=same(float(margin_of_sum(terms)), n),
        margin_label=EXACT_NOISE,
        note=SUM_NOTE + _time_words(content),
        threshold=same(float(content.sum_noise.sum_threshold(len(slices))), n),
        features=features,
        columns={
            "key": np.array(zones.keys, dtype=object),
            "name": np.array(zones.names, dtype=object),
            "non_negative": non_negative(counts, np.ones(n)),
            **within,
            "other": other,
            "other_margin": other_margin,
            **of_slices,
        },
    )


@make_areas.register
def _areas(content: FlowsRelease, area: StudyArea) -> Areas:
    return ZoneAreas(content.zones, list(content.leaving), content.sum_noise, area)


@select_slice.register
def _slice(content: FlowsRelease, layer: str) -> Content:
    names = [layer_name(key) for key in content.keys]
    if layer not in names:
        raise InvalidInput(
            "There is no slice {layer!r}; choose from {known}.",
            layer=layer,
            known=listed_words(names),
            field="layer",
        )
    return content_of(content, names.index(layer))


def content_of(content: FlowsRelease, number: int) -> FlowsRelease:
    """Return the content with only the flows of slice `number`, like that of a release without
    slices.
    """
    part, one = slices_of(content)[number], slice(number, number + 1)
    return replace(
        content,
        keys=content.keys[one],
        titles=content.titles[one],
        values=(),
        times=(),
        listed=part.pair if content.sparse else content.listed,
        pairs=part.count,
        leaving=content.leaving[one],
        arriving=content.arriving[one],
    )


@can_compare.register
def _can_compare(content: FlowsRelease) -> bool:
    return len(content.keys) == 1


@slim.register
def _slim(content: FlowsRelease) -> Content:
    """Leave out the many counts of pairs below the threshold, which maps do not list."""
    if content.sparse or not can_compare(content):
        return content
    (part,) = slices_of(content)
    pair = part.pair[part.count >= content.threshold]
    return replace(content, sparse=True, listed=pair, pairs=content.pairs[pair])


@make_compared.register
def _compared(
    first: FlowsRelease, contents: Sequence[FlowsRelease], area: StudyArea
) -> Compared | None:
    n = len(first.zones)
    if len({(each.noise, each.sum_noise, len(each.zones)) for each in contents}) > 1:
        return None
    # Below the highest of the thresholds, some of the maps say nothing about a pair.
    least = max(each.threshold for each in contents)
    pairs = []
    for each in contents:
        (part,) = slices_of(each)
        shown = part.listed[part.count[part.listed] >= least]
        pairs.append((part.pair[shown], part.count[shown]))
    return Compared(
        main=table_of_all([each.arriving[0] for each in contents], first.sum_noise),
        departures=table_of_all([each.leaving[0] for each in contents], first.sum_noise),
        pairs=table_of_lists(pairs, first.noise, n * (n - 1), least),
    )
