"""Totals and sums by strip (profiles), estimated from all phases of a release together."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.evaluation.arrays import CountsView, drawn
from benchmarks.generated import generated
from dpgeo.core.released import PhasedRelease, Released
from dpgeo.mechanisms import auto
from dpgeo.postprocess.joint_sums import JointSums
from dpgeo.postprocess.layers import layers
from dpgeo.postprocess.summary import total
from dpgeo.privacy.mechanism import run
from tests.randomness import SeededEntropy
from tests.unit.artefacts.releases import phased_slices_release

PEOPLE, CELLS = 100_000, 32


def release(seed: int) -> Released:
    counts = drawn(generated("towns", CELLS, seed), PEOPLE)
    params = auto.Params(cells=CELLS)
    entropy = SeededEntropy(seed)
    return run(auto.MECHANISM, CountsView(counts=counts), params, Fraction(1, 10), entropy, {})


def sums_of(released: Released, layer: str = "") -> JointSums:
    sums = JointSums.of(released, layer)
    assert sums is not None
    return sums


def test_the_total_is_that_of_the_surface_and_narrower_than_that_of_the_last_counts() -> None:
    released = [release(seed) for seed in range(5)]
    found = [sums_of(each).total() for each in released]
    for each, whole in zip(released, found, strict=True):
        assert isinstance(each.content, PhasedRelease)
        assert whole.value == round(each.content.surface.sum())
        assert whole.margin < 0.5 * total(layers(each)[0]).margin
    assert sum(abs(whole.value - PEOPLE) <= whole.margin for whole in found) >= 4


def test_profiles_add_up_to_the_total_and_touch() -> None:
    released = release(1)
    found = sums_of(released).profiles()
    for strips in (found.eastward, found.northward):
        whole = sum(strip.value for strip in strips)
        assert round(whole) == sums_of(released).total().value
        assert all(one.high == pytest.approx(two.low) for one, two in pairwise(strips))
        assert all(strip.margin > 0 for strip in strips)


def test_slices_have_totals_of_their_own_that_add_up() -> None:
    released = phased_slices_release()
    night, day = (sums_of(released, f"estimate-{key}").total() for key in ("00-12", "12-24"))
    whole = sums_of(released).total()
    assert abs(whole.value - night.value - day.value) <= 1
    assert max(night.margin, day.margin) < whole.margin
    assert np.hypot(night.margin, day.margin) <= whole.margin + 1e-9
