"""Nouns that files use for what is counted: people, sightings or the owner's rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpgeo.artefacts.own_wording import own_noun
from dpgeo.core.counted import Counted, counted_in_sum, counted_once
from dpgeo.core.guarantees import Notion
from dpgeo.core.nouns import REPORT, VISIT, choose_noun
from dpgeo.core.released import Released
from dpgeo.postprocess.layers import BoxLayer, Layer


@dataclass(frozen=True, slots=True)
class Nouns:
    """English nouns for a count in one place, for a sum over several places, and for rows."""

    one: str
    sum: str
    rows: str


def released_nouns(released: Released) -> Nouns:
    """Return the nouns for what a release counts."""
    default = REPORT if released.guarantee.notion is Notion.GEO_IND else VISIT
    rows = choose_noun(released.about.get("row_noun", ""), default).many
    one = counted_once(released.counting)
    several = counted_in_sum(released.counting, released.bound)
    words = {counted: counted.value for counted in Counted} | {Counted.VISITS: rows}
    if own := own_noun(released.content):
        words |= {Counted.SIGHTINGS: own.many, Counted.VISITS: own.many}
    return Nouns(one=words[one], sum=words[several], rows=rows)


def noun_of_layer(released: Released, layer: Layer) -> str:
    """Return the noun for the values of a layer.

    The result is the noun for sums if any of the values is a sum over several places.
    """
    nouns = released_nouns(released)
    boxes = isinstance(layer, BoxLayer) and bool((layer.cells > 1).any())
    return nouns.one if layer.features.once and not boxes else nouns.sum


def nouns_of_features(released: Released, layer: Layer, part: slice) -> NDArray[Any] | None:
    """Return an array (n,) with the noun for the value of each of the n features in `part`.

    Returns None if the values are not counts.
    """
    if layer.value is None or not layer.features.counts:
        return None
    nouns = released_nouns(released)
    if layer.features.once and isinstance(layer, BoxLayer):
        return np.where(layer.cells[part] > 1, nouns.sum, nouns.one).astype(object)
    count = len(range(*part.indices(len(layer))))
    return np.full(count, nouns.one if layer.features.once else nouns.sum, dtype=object)
