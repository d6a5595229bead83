from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.evaluation.arrays import CountsView
from dpgeo.core.released import PhasedRelease
from dpgeo.mechanisms import auto
from dpgeo.postprocess.layers import (
    CALIBRATED,
    EXACT_NOISE,
    BoxLayer,
    box_layers,
)
from dpgeo.postprocess.opening import coloured, standing
from dpgeo.privacy.mechanism import run
from tests.randomness import SeededEntropy

CELLS = 64


def empty() -> NDArray[np.int64]:
    return np.zeros((CELLS, CELLS), dtype=np.int64)


def flat() -> NDArray[np.int64]:
    return np.random.default_rng(1).poisson(5.0, (CELLS, CELLS))


def clustered() -> NDArray[np.int64]:
    random = np.random.default_rng(2)
    row, column = np.mgrid[0:CELLS, 0:CELLS]
    hills = [np.exp(-((row - r) ** 2 + (column - c) ** 2) / 30) for r, c in ((15, 20), (45, 40))]
    expected = 60 * np.sum(hills, axis=0) * random.gamma(1, 1, (CELLS, CELLS))
    return np.asarray(random.poisson(expected), dtype=np.int64)


MAPS = {"empty": empty, "flat": flat, "clustered": clustered}


def shown(counts: NDArray[np.int64], seed: int) -> tuple[PhasedRelease, BoxLayer, BoxLayer]:
    params, entropy = auto.Params(cells=CELLS), SeededEntropy(seed)
    view = CountsView(counts=counts)
    released = run(auto.MECHANISM, view, params, Fraction(1, 2), entropy, {})
    assert isinstance(released.content, PhasedRelease)
    partitions, estimate = box_layers(released)
    return released.content, partitions, estimate


def test_the_measured_layer_is_the_last_phase_with_exact_margins() -> None:
    content, partitions, estimate = shown(clustered(), 1)
    last = content.phase == content.phase.max()

    assert (partitions.kind, partitions.margin_label) == ("measured", EXACT_NOISE)
    assert partitions.value.tolist() == content.counts[last].tolist()
    assert set(partitions.margin) == {content.noises[-1].margin()}
    assert (estimate.kind, estimate.margin_label) == ("inferred", CALIBRATED)
    assert estimate.value.sum() == pytest.approx(content.surface.sum())
    raw = partitions.value[estimate.columns["partition"]]
    assert estimate.columns["noisy_count"].tolist() == raw.tolist()


@pytest.mark.parametrize("name", MAPS)
def test_margins_and_thresholds_of_the_surface_hold_on_generated_maps(name: str) -> None:
    counts = MAPS[name]()
    covered, passed, vacant = 0, 0, 0
    for seed in range(4):
        _, _, estimate = shown(counts, seed)
        truth = counts[estimate.boxes[:, 0], estimate.boxes[:, 2]]
        covered += int(np.count_nonzero(np.abs(estimate.value - truth) <= estimate.margin))
        passed += int(np.count_nonzero((estimate.value >= estimate.threshold) & (truth == 0)))
        vacant += int(np.count_nonzero(truth == 0))

    assert covered >= 0.95 * 4 * CELLS**2
    assert passed <= max(1e-3 * vacant, 1)


def test_the_map_colours_the_surface_inside_boxes_that_stand_out() -> None:
    _, partitions, estimate = shown(clustered(), 1)
    assert estimate.coloured_from is not None
    loud = (partitions.value >= partitions.threshold)[estimate.columns["partition"]]
    seen, alone = coloured(estimate), standing(estimate)
    assert seen.sum() > 1.1 * alone.sum()
    assert (seen >= alone).all()
    # The count of a coloured cell, of its box, or of several boxes together reaches a threshold.
    together = estimate.coloured_from < estimate.threshold
    assert (loud | alone | together)[seen].all(), "none in a box that may be empty"
    true = clustered()[estimate.columns["row"], estimate.columns["column"]]
    assert true[seen & ~loud].mean() > 3 * true[~seen].mean()
    each = np.bincount(estimate.columns["partition"], weights=seen, minlength=len(partitions))
    assert (each > 0)[partitions.value >= partitions.threshold].mean() > 0.9
    assert (estimate.threshold == estimate.threshold[0]).all(), "files keep each cell's own"
