"""Names of slices, and the divisions into slices that are refused."""

from __future__ import annotations

import pytest

from dpgeo.core.categories import Category
from dpgeo.core.errors import InvalidInput
from dpgeo.core.slices import ALL_TIMES, SliceNames, Slicing, slicing, value_key
from dpgeo.core.time_slices import TIME_SLICES

MODE = Category("mode", "Mode of transport", ("On foot", "Café: bike"))


def test_keys_of_values_are_fit_for_files_and_stay_apart() -> None:
    names = Slicing(category=MODE).names
    assert names.keys == ("1-on-foot", "2-cafe-bike", "3-other")
    assert names.titles == ("On foot", "Café: bike", "Other")
    assert value_key(1, "駅") == "1"
    assert value_key(2, "a" * 80) == "2-" + "a" * 30


def test_slices_of_both_are_ordered_by_value_and_time() -> None:
    names = Slicing(TIME_SLICES["12 hours"], "UTC", MODE).names
    assert names.titles[:2] == ("On foot, 00:00 to 12:00", "On foot, 12:00 to 24:00")
    assert names.parts[-1] == ("Other", "12:00 to 24:00")
    assert SliceNames.from_json(names.to_json()) == names


def test_what_divides_nothing_is_no_division() -> None:
    assert slicing(ALL_TIMES, None, "") is None
    assert slicing(ALL_TIMES, MODE, "") == Slicing(category=MODE)


def test_times_are_needed_and_slices_are_few() -> None:
    with pytest.raises(InvalidInput) as refused:
        slicing("6 hours", MODE, "")
    assert refused.value.field == "slices"
    with pytest.raises(InvalidInput, match="32 slices") as refused:
        slicing("6 hours", Category("a", "A", tuple("abcdefg")), "UTC")
    assert refused.value.field == "category"
