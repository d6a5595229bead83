"""dpgeo's own mechanisms, run on the data of the comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.evaluation.arrays import CountsView, coarsened, drawn
from benchmarks.evaluation.ranges import spread
from benchmarks.generated import generated
from dpgeo.core.measures import NUMBER_STEPS
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.parameters import parse_parameters
from dpgeo.core.spend import Spend
from dpgeo.mechanisms.registry import find_mechanism
from dpgeo.postprocess.layers import BoxLayer, box_layers
from dpgeo.privacy.mechanism import run
from dpgeo.privacy.meter import Meter
from dpgeo.privacy.sampler import sample
from dpgeo.privacy.value_shares import PrivateShares
from dpgeo.spatial.boxes import box_image
from tests.randomness import SeededEntropy

Floats = NDArray[np.float64]

MAP_SEED = 11
"""Seed of the generated maps; no rule or constant was chosen on these maps."""


def counts_of(file: Path | None, cells: int, people: int) -> NDArray[np.int64]:
    """Return random counts (cells, cells) of people, spread as in a file or a generated city."""
    return drawn(chances_of(file, cells), people)


def chances_of(file: Path | None, cells: int) -> Floats:
    """Return each cell's share (cells, cells) of all people in a .npy file or a generated city."""
    if file is None:
        return np.asarray(generated("city", cells, MAP_SEED))
    counts = coarsened(np.load(file, allow_pickle=False).astype(np.int64), cells)
    return np.asarray(counts / counts.sum())


def measured(counts: NDArray[np.int64], epsilon: Fraction, random: Generator) -> Floats:
    """Return counts of disjoint regions with dpgeo's exact noise, as grids and zones publish them.

    Each person is in one region.
    """
    stream = SeededEntropy(int(random.integers(1 << 32))).stream()
    noise = sample(DiscreteLaplace(epsilon, 1), counts.size, stream).reshape(counts.shape)
    return np.asarray(counts + noise, dtype=np.float64)


def measured_shares(
    sums: NDArray[np.int64], numbers: NDArray[np.int64], epsilon: Fraction, random: Generator
) -> NDArray[np.int64]:
    """Return the noisy sums (2, n) of regions from which `averages` computes means.

    For each region, one sum adds up the values' distances from the lowest value, the other those
    from the highest. `sums` (n,) are the true sums of values, each of them a whole number from 0 to
    NUMBER_STEPS, over `numbers` (n,) records; each person has one record.
    """
    shares = PrivateShares(numbers, sums, steps=NUMBER_STEPS, bound=1)
    entropy = SeededEntropy(int(random.integers(1 << 32)))
    meter = Meter([Spend(label="sums", epsilon=epsilon)], entropy)
    return meter.measure("sums", shares)


def heatmap(
    mechanism: str, counts: NDArray[np.int64], epsilon: Fraction, random: Generator
) -> Floats:
    """Return the inferred counts of square cells from a release of a heatmap mechanism."""
    return spread(_layers(mechanism, counts, epsilon, random)[-1])


def partitioned(
    mechanism: str, counts: NDArray[np.int64], epsilon: Fraction, random: Generator
) -> tuple[NDArray[np.int64], Floats]:
    """Return the partition of every cell, as a number, and the measured counts (k,) of partitions.

    Every cell is in one partition.
    """
    layer = _layers(mechanism, counts, epsilon, random)[0]
    label = box_image(layer.boxes, layer.grid.shape).astype(np.int64)
    return label, np.asarray(layer.value, dtype=np.float64)


def _layers(
    mechanism: str, counts: NDArray[np.int64], epsilon: Fraction, random: Generator
) -> Sequence[BoxLayer]:
    chosen = find_mechanism(mechanism)
    params = parse_parameters(chosen.params, {"cells": len(counts)})
    entropy = SeededEntropy(int(random.integers(1 << 32)))
    return box_layers(run(chosen, CountsView(counts=counts), params, epsilon, entropy, {}))
