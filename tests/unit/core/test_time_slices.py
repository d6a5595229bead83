from __future__ import annotations

import pytest

from dpgeo.core.time_slices import HOURS_A_WEEK, TIME_SLICES, TimeSlices


@pytest.mark.parametrize("name", TIME_SLICES)
def test_every_hour_of_the_week_is_in_one_slice(name: str) -> None:
    slices = TIME_SLICES[name]

    assert len(slices) == len(slices.keys) == len(slices.titles) == len(set(slices.keys))
    sizes = [slices.of_hour.count(number) for number in range(len(slices))]
    assert sum(sizes) == HOURS_A_WEEK
    assert min(sizes) > 0


@pytest.mark.parametrize(
    "of_hour", [(0,) * 167, (0,) * HOURS_A_WEEK, (0, 1, 2) * 56], ids=["short", "none", "many"]
)
def test_slices_that_do_not_cover_the_week_are_refused(of_hour: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="hour"):
        TimeSlices(("a", "b"), ("A", "B"), of_hour)
