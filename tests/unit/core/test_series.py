"""What the maps of a year spend together, and the calendar of periods."""

from __future__ import annotations

from datetime import date
from itertools import pairwise

import pytest

from dpgeo.core.series import Period, period_window


@pytest.mark.parametrize("period", list(Period))
def test_no_year_has_more_periods_than_are_stated(period: Period) -> None:
    starts = [period_window(period, date(2023, 1, 1), number).first for number in range(1, 1200)]
    days = [start for start in starts if start.year < 2025 and (start.month, start.day) != (2, 29)]
    years = [(day, day.replace(year=day.year + 1)) for day in days]
    most = max(sum(day <= start < end for start in starts) for day, end in years)
    assert most == period.in_a_year


@pytest.mark.parametrize("period", list(Period))
@pytest.mark.parametrize("zone", ["America/New_York", "Pacific/Apia", "America/Havana", "UTC"])
def test_periods_meet_without_gap_or_overlap(period: Period, zone: str) -> None:
    windows = [period_window(period, date(2011, 1, 28), number) for number in range(1, 400)]
    seconds = [each.seconds(zone) for each in windows]
    for before, after in pairwise(seconds):
        assert before[0] <= before[1] == after[0]
