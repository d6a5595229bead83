from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.evaluation.arrays import CountsView
from dpgeo.core.guarantees import Counting, Notion
from dpgeo.core.released import PhasedRelease, Released
from dpgeo.mechanisms import auto, survey
from dpgeo.postprocess.node_measurements import NodeMeasurements
from dpgeo.postprocess.noise_sums import margin_of_sum
from dpgeo.postprocess.pyramid import padded
from dpgeo.postprocess.ranges import Ranges
from dpgeo.privacy.mechanism import forecast, run
from dpgeo.spatial.area import StudyArea
from tests.noise import gaussian
from tests.randomness import SeededEntropy, ZeroNoise
from tests.unit.mechanisms.views import view as people_at
from tests.views import ArrayView

TRIANGLE = StudyArea.from_geojson(
    {"type": "Polygon", "coordinates": [[[10, 50], [10.2, 50], [10, 50.1], [10, 50]]]}
)


def release(counts: NDArray[np.int64], epsilon: str, seed: int = 1) -> Released:
    params = auto.Params(cells=len(counts))
    view = CountsView(counts=counts)
    return run(auto.MECHANISM, view, params, Fraction(epsilon), SeededEntropy(seed), {})


def content(released: Released) -> PhasedRelease:
    assert isinstance(released.content, PhasedRelease)
    return released.content


@pytest.mark.parametrize("cells", [1, 2, 3, 5, 64, 100])
@pytest.mark.parametrize("signal", [0.0, 30.0, 1e3, 3e3, 3e4, 1e9])
def test_phases_cost_the_unallocated_epsilon_whatever_the_pilot(cells: int, signal: float) -> None:
    inside = padded(np.ones((cells, cells), dtype=np.bool_))

    phases = survey.phases_after(signal, inside)

    assert sum(phase.share for phase in phases) == 1 - survey.PILOT_SHARE
    assert phases[-1].share >= survey.LAST_SHARE
    depth = NodeMeasurements(inside).depth
    assert all(phase.level is None or 0 <= phase.level <= depth for phase in phases)


def test_every_phase_covers_the_study_area_once_and_counts_nothing_outside() -> None:
    random = np.random.default_rng(2)
    view = ArrayView(
        area=TRIANGLE,
        longitude=random.normal(10.05, 0.02, 3000),
        latitude=random.normal(50.03, 0.01, 3000),
        persons=np.arange(3000),
        bound=1,
    )
    params = auto.Params(cells=50)
    phases = content(run(auto.MECHANISM, view, params, Fraction(1), ZeroNoise(), {}))
    inside = phases.grid.inside(TRIANGLE)

    for phase in range(len(phases.noises)):
        covered = np.zeros(phases.grid.shape, dtype=np.int64)
        for top, bottom, left, right in phases.boxes[phases.phase == phase]:
            covered[top:bottom, left:right] += 1
            assert inside[top:bottom, left:right].any()
        assert (covered[inside] == 1).all()
        assert covered.max() == 1
        assert len({int(phases.counts[phases.phase == each].sum()) for each in (0, phase)}) == 1
    assert not phases.surface[~inside].any()


@pytest.mark.parametrize(("crowd", "phases"), [(False, [35, 15, 48]), (True, [35, 63])])
def test_counts_of_equal_squares_decide_how_often_areas_are_chosen(
    crowd: bool, phases: list[int]
) -> None:
    """How unevenly people are spread over equal squares decides how many phases there are.

    20,000 people are spread evenly or are all in one cell. Noise cannot blur this difference, since
    its scale is only some units.
    """
    counts = np.full((64, 64), 5)
    if crowd:
        counts[:], counts[20, 20] = 0, 20_000
    released = release(counts, "0.5")

    shares = [line.amount / Fraction(1, 2) * 100 for line in released.trace]
    assert shares == [2, *phases]
    labels = [line.label for line in released.trace[1:]]
    assert "even grid" in labels[0]
    assert all("areas split" in label for label in labels[1:])


@pytest.mark.parametrize(("bound", "squared"), [(3, 9), (4, 4), (20, 20)])
def test_under_zcdp_every_cell_is_counted_if_people_are_in_several(
    bound: int, squared: int
) -> None:
    """Under zCDP, every cell is counted by itself if people may be in several cells.

    If larger squares were counted, the variance of their noise would have to grow with the square
    of the bound.
    """
    params, rho = auto.Params(cells=16), Fraction(1, 50)
    seen, delta = people_at(300, bound), Fraction(1, 10**9)
    released = run(auto.MECHANISM, seen, params, rho, SeededEntropy(1), {}, delta=delta)

    content = released.content
    assert isinstance(content, PhasedRelease)
    pilot, *phases = (gaussian(line.noise) for line in released.trace)
    assert pilot.squared_sensitivity == bound**2
    assert {noise.squared_sensitivity for noise in phases} == {squared}
    assert sum(line.amount for line in released.trace) == rho
    announced = forecast(
        auto.MECHANISM, params, rho, bound, seen.domain, Counting.PEOPLE, Notion.ZCDP
    )
    if squared < bound**2:
        assert announced.noise == content.noises[-1] == phases[-1]
        last = content.boxes[content.phase == 1]
        assert len(last) == np.count_nonzero(content.grid.inside(TRIANGLE))
        assert np.all(last[:, 1] - last[:, 0] == 1)
        # The answer adds up the counts of these cells, so its margin is exactly that of the sum of
        # as many noise values.
        (whole,) = Ranges(released).answer([TRIANGLE.shape])
        assert whole.estimate == content.counts[content.phase == 1].sum()
        assert whole.margin == margin_of_sum({phases[-1]: len(last)})
