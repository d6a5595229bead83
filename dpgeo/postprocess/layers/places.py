"""Layers of a release that counts visits to declared places, such as stations.

The first layer has one count for each place. If the counts are divided by time or by category,
one more layer follows for each *context*, which is a slice of time, a value of the category, or
both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.noise import CountNoise
from dpgeo.core.released import PlacesRelease
from dpgeo.core.slices import UNDIVIDED
from dpgeo.phrases import translatable
from dpgeo.postprocess.areas import Areas
from dpgeo.postprocess.compared import Compared, table_of_all
from dpgeo.postprocess.empirical_bayes import noise_kind, posterior
from dpgeo.postprocess.layers.features import PLACES, RANKS
from dpgeo.postprocess.layers.layer import EXACT_NOISE, Layer, PointLayer, noise_columns
from dpgeo.postprocess.layers.registry import (
    can_compare,
    make_areas,
    make_compared,
    make_layers,
    select_slice,
)
from dpgeo.postprocess.layers.slices import index_of_slice
from dpgeo.postprocess.non_negative import non_negative
from dpgeo.postprocess.place_ranks import both_measured, rank_intervals
from dpgeo.postprocess.point_areas import PointAreas
from dpgeo.spatial.area import StudyArea

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MAX_COMPARED = 200_000
"""Largest number of places of a map that can be compared with other maps. A map of more places does
not store the counts of all of them.
"""

NAME, LIKELY = "places", "likely"

ALL_TIMES, ALL_VALUES = translatable("All times"), translatable("All values")

NEAR = "Rows within {reach:,} m of a place count at the nearest one."

NAMED = "Rows count at the place whose key they name."

NOTE = (
    " The margin is the exact 95 % "
    "quantile of the noise added to the place. rank_best and rank_worst are the ranks that the "
    "place may have, 1 the busiest; they hold for all places of the list at once, 95 times in 100, "
    "and are about counts as bounded. The highest of many noisy counts are on average a little too "
    "high; column likely takes that back."
)

BY_CONTEXT = " {context} Ranks hold for all places of this context at once."

ADDED_UP = " Column least_squares is the estimate from all measurements of the place together."


@make_layers.register
def _place_layers(content: PlacesRelease, area: StudyArea) -> list[Layer]:
    return list(context_layers(content))


def context_layers(content: PlacesRelease) -> list[PointLayer]:
    """Return the layer of all places, followed by one layer for each context."""
    matched = NEAR.format(reach=content.reach) if content.reach else NAMED
    note = matched + NOTE + (ADDED_UP if content.adds_up else "")
    likely = _likely(content.counts, content.noise)
    whole = _layer(content, content.counts, content.noise, likely, NAME, note)
    names = content.slices
    if not names:
        return [replace(whole, opens=True)]
    all_of = (ALL_VALUES, "") if names.values else ("", ALL_TIMES)
    divided = [f"{names.category}."] if names.values else []
    divided += [f"Local time ({names.time_zone})."] if names.times else []
    note += BY_CONTEXT.format(context=" ".join(divided))
    places, pairs = None, [None] * len(names)
    if content.adds_up:
        places, estimates = both_measured(
            content.counts, content.noise, content.pairs, content.pair_noise
        )
        pairs = list(estimates)
    total = max(float(content.counts.sum()), 1.0)
    contexts = [
        replace(
            _layer(
                content,
                counts,
                content.pair_noise,
                _likely(counts, content.pair_noise, likely * max(float(counts.sum()), 0.0) / total),
                name,
                note,
                estimate,
            ),
            title=title,
            sliced=True,
            of=parts,
        )
        for counts, name, title, parts, estimate in zip(
            content.pairs, _names(content)[1:], names.titles, names.parts, pairs, strict=True
        )
    ]
    columns = whole.columns if places is None else whole.columns | {"least_squares": places}
    title = all_of[0] or all_of[1]
    first = replace(whole, columns=columns, opens=True, sliced=True, of=all_of, title=title)
    return [first, *contexts]


def _names(content: PlacesRelease) -> list[str]:
    """Return the names of all layers, starting with the layer of all contexts together."""
    return [NAME, *(f"{NAME}-{key}" for key in content.slices.keys)]


def _layer(
    content: PlacesRelease,
    counts: Ints,
    noise: CountNoise,
    likely: Floats,
    name: str,
    note: str,
    estimate: Floats | None = None,
) -> PointLayer:
    margin, threshold = noise_columns(noise, counts.size)
    best, worst = rank_intervals(counts, noise)
    return PointLayer(
        name=name,
        title=translatable("Places"),
        kind="measured",
        margin_label=EXACT_NOISE,
        note=note,
        value=counts,
        margin=margin,
        threshold=threshold,
        features=PLACES,
        longitude=content.longitude,
        latitude=content.latitude,
        columns={
            "key": np.array(content.keys, dtype=object),
            "name": np.array(content.names, dtype=object),
            RANKS[0]: best,
            RANKS[1]: worst,
            LIKELY: likely,
            "non_negative": non_negative(counts, np.ones(counts.size)),
            **({} if estimate is None else {"least_squares": estimate}),
        },
    )


def _likely(counts: Ints, noise: CountNoise, guess: Floats | None = None) -> Floats:
    """Return empirical Bayes estimates (n,) of the true counts behind noisy ones.

    `guess` (n,) holds prior guesses of the true counts, by default the mean of the noisy ones.
    """
    scale = noise.scale
    if guess is None:
        guess = np.full(counts.size, max(float(counts.mean()), 0.0))
    return posterior(counts / scale, guess / scale, noise_kind(noise)).mean * scale


@make_areas.register
def _areas(content: PlacesRelease, area: StudyArea) -> Areas:
    return PointAreas(content.longitude, content.latitude, content.counts, content.noise)


@select_slice.register
def _slice(content: PlacesRelease, layer: str) -> PlacesRelease:
    index = index_of_slice(_names(content) if content.slices else [], layer) - 1
    whole = replace(content, slices=UNDIVIDED, pairs=content.pairs[:0], adds_up=False)
    if index < 0:
        return whole
    return replace(whole, counts=content.pairs[index], noise=content.pair_noise)


@can_compare.register
def _can_compare(content: PlacesRelease) -> bool:
    return len(content.keys) <= MAX_COMPARED


@make_compared.register
def _compared(
    first: PlacesRelease, contents: Sequence[PlacesRelease], area: StudyArea
) -> Compared | None:
    if len({(each.noise, each.counts.shape) for each in contents}) > 1:
        return None
    return Compared(table_of_all([each.counts for each in contents], first.noise))
