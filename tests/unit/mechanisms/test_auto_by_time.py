from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from dpgeo.core.categories import Category
from dpgeo.core.errors import InvalidInput
from dpgeo.core.noise import DiscreteLaplace
from dpgeo.core.released import PhasedSlicesRelease, Released
from dpgeo.mechanisms import auto_by_time, survey
from dpgeo.postprocess.layers import layers
from dpgeo.postprocess.ranges import Ranges
from dpgeo.privacy.mechanism import run
from tests.noise import laplace
from tests.randomness import SeededEntropy, ZeroNoise
from tests.unit.mechanisms.views import TRIANGLE
from tests.views import ArrayView

PARAMS = auto_by_time.Params(cells=32, slices="12 hours")


def commuters(people: int = 4000, seed: int = 1) -> ArrayView:
    """Return people who are around one place at night and around another by day."""
    random = np.random.default_rng(seed)
    west, south, east, north = TRIANGLE.bounds
    place = np.tile([[0.3, 0.1], [0.3, 0.6]], (people, 1)) + random.normal(0, 0.04, (2 * people, 2))
    return ArrayView(
        area=TRIANGLE,
        longitude=west + place[:, 0] * (east - west),
        latitude=south + place[:, 1] * (north - south),
        persons=np.repeat(np.arange(people), 2),
        hours=np.tile([3, 15], people),
        bound=2,
    )


def release(view: ArrayView, epsilon: str = "1", seed: int | None = 1) -> Released:
    entropy = ZeroNoise() if seed is None else SeededEntropy(seed)
    return run(auto_by_time.MECHANISM, view, PARAMS, Fraction(epsilon), entropy, {})


def content_of(released: Released) -> PhasedSlicesRelease:
    assert isinstance(released.content, PhasedSlicesRelease)
    return released.content


def true_counts(view: ArrayView) -> np.ndarray:
    sliced = auto_by_time.counted(PARAMS, view.domain)
    return view.sliced_histogram(sliced)._read_by_meter()


@pytest.mark.parametrize("people", [0, 60, 4000])
def test_one_division_of_epsilon_pays_for_all_slices(people: int) -> None:
    released = release(commuters(people), "0.7")

    assert sum(line.amount for line in released.trace) == Fraction("0.7")
    assert released.trace[0].label == auto_by_time.PILOT
    assert released.trace[-1].amount >= survey.LAST_SHARE * Fraction("0.7")
    # The epsilon is charged for all slices together, not for each of them.
    for line in released.trace:
        assert isinstance(line.noise, DiscreteLaplace)
        assert line.noise.sensitivity == released.bound


def test_counts_are_those_of_their_own_slice() -> None:
    view = commuters()
    content, truth = content_of(release(view, seed=None)), true_counts(view)
    for box, number, count in zip(content.boxes, content.slice_number, content.counts, strict=True):
        top, bottom, left, right = box
        assert truth[number, top:bottom, left:right].sum() == count
    assert content.surfaces.sum(axis=(1, 2)) == pytest.approx(truth.sum(axis=(1, 2)), rel=0.01)


def test_removing_a_person_changes_a_phase_by_at_most_the_bound() -> None:
    """Without noise, both datasets give the same squares here, so counts can be compared."""
    view = commuters()
    without = dataclasses.replace(
        view,
        longitude=np.asarray(view.longitude)[2:],
        latitude=np.asarray(view.latitude)[2:],
        persons=np.asarray(view.persons)[2:],
        hours=np.asarray(view.hours)[2:],
    )
    one, two = (content_of(release(each, seed=None)) for each in (view, without))
    for phase in (0, 1):
        first, second = (each.counts[each.phase == phase] for each in (one, two))
        assert np.array_equal(one.boxes[one.phase == phase], two.boxes[two.phase == phase])
        assert 0 < np.abs(first - second).sum() <= view.bound


def test_an_area_adds_up_the_requested_slices() -> None:
    released = release(commuters())
    content = content_of(released)
    [whole] = Ranges(released).answer([TRIANGLE.shape])
    parts = [
        Ranges(released, layer=f"estimate-{key}").answer([TRIANGLE.shape])[0]
        for key in content.keys
    ]
    assert whole.estimate == pytest.approx(sum(part.estimate for part in parts))
    assert whole.estimate == pytest.approx(content.surfaces.sum())
    assert max(part.margin for part in parts) < whole.margin < sum(part.margin for part in parts)
    [measured] = Ranges(released, layer="partitions-00-12").answer([TRIANGLE.shape])
    own = (content.slice_number == 0) & (content.phase == content.phase[-1])
    assert measured.estimate == content.counts[own].sum()
    with pytest.raises(InvalidInput, match="estimate-00-12"):
        Ranges(released, layer="cells-00-12")


def test_values_of_a_category_and_times_divide_together() -> None:
    """A map can be divided by a category and by time together.

    Walkers and riders swap places at noon, and each slice shows only its own people.
    """
    mode = Category("mode", "Mode of transport", ("walk", "bike"))
    view = dataclasses.replace(
        commuters(), categories=(mode,), codes=np.repeat(np.arange(4000) % 2, 2)
    )
    params = dataclasses.replace(PARAMS, category="mode")
    released = run(auto_by_time.MECHANISM, view, params, Fraction(4), SeededEntropy(3), {})
    content = content_of(released)
    assert content.names.values == ("walk", "bike", "Other")
    assert len(content.keys) == 3 * 2
    sliced = auto_by_time.counted(params, view.domain)
    truth = view.sliced_histogram(sliced)._read_by_meter()
    assert content.surfaces.sum(axis=(1, 2)) == pytest.approx(truth.sum(axis=(1, 2)), abs=150)
    assert truth[4:].sum() == 0
    shown = [layer.of for layer in layers(released) if layer.sliced]
    assert shown == list(content.names.parts)
    for line in released.trace:
        assert line.noise is None or laplace(line.noise).sensitivity == view.bound
    with pytest.raises(InvalidInput):
        run(auto_by_time.MECHANISM, commuters(9), params, Fraction(1), ZeroNoise(), {})
