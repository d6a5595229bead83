from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpgeo.core.domain import Domain
from dpgeo.core.errors import Conflict, InvalidInput
from dpgeo.core.released import SlicesRelease
from dpgeo.mechanisms import time_slices
from dpgeo.postprocess.ranges import Ranges
from dpgeo.postprocess.tasks.surface import density_surface
from dpgeo.privacy.mechanism import run
from tests.randomness import ZeroNoise
from tests.unit.mechanisms.views import TRIANGLE
from tests.views import ArrayView

PARAMS = time_slices.Params(cells=8, slices="12 hours")


def commuters() -> ArrayView:
    """Return a view of fifty people who are in the south at night and in the north by day."""
    persons = np.repeat(np.arange(50), 2)
    west, south, east, north = TRIANGLE.bounds
    return ArrayView(
        area=TRIANGLE,
        longitude=np.full(100, west + 0.3 * (east - west)),
        latitude=np.tile([south + 0.1 * (north - south), south + 0.6 * (north - south)], 50),
        persons=persons,
        hours=np.tile([3, 15], 50),
        bound=2,
    )


def test_each_slice_has_the_people_of_its_time() -> None:
    released = run(time_slices.MECHANISM, commuters(), PARAMS, Fraction(1), ZeroNoise(), {})
    content = released.content
    assert isinstance(content, SlicesRelease)
    night, day = content.counts

    assert (night.max(), night.sum(), day.max(), day.sum()) == (50, 50, 50, 50)
    # rows are numbered from north to south, so the south has the higher numbers
    assert night.argmax() > day.argmax()
    assert (content.keys, content.time_zone) == (("00-12", "12-24"), "UTC")


def test_an_area_adds_up_the_requested_slices() -> None:
    released = run(time_slices.MECHANISM, commuters(), PARAMS, Fraction(1), ZeroNoise(), {})
    [whole] = Ranges(released).answer([TRIANGLE.shape])
    [night] = Ranges(released, layer="cells-00-12").answer([TRIANGLE.shape])
    assert (whole.estimate, night.estimate) == (100, 50)
    assert whole.areas == 2 * night.areas
    assert whole.exact
    assert night.margin < whole.margin


def test_tasks_are_planned_only_on_maps_of_all_times() -> None:
    released = run(time_slices.MECHANISM, commuters(), PARAMS, Fraction(1), ZeroNoise(), {})

    with pytest.raises(Conflict, match="of one time alone"):
        density_surface(released)


def test_without_times_the_error_names_a_remedy() -> None:
    domain = Domain(TRIANGLE)

    with pytest.raises(InvalidInput, match="no time column") as caught:
        time_slices.forecast(PARAMS, Fraction(1), 1, domain)
    assert caught.value.field == "slices"
